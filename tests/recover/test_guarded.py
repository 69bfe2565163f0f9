"""A guard notes, plans, waits, tries again or hands over; what is raised goes on, what happened is on the verdict."""

import asyncio
import concurrent.futures
import contextlib
import json
import logging
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import otel_aml
from otel_aml.core.circuit import Acquire, CircuitPolicy
from otel_aml.core.recovery import RetryPolicy
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.errors import ConfigurationError
from otel_aml.offline import reports
from otel_aml.offline.analysis import Given, analysed
from otel_aml.recover import guarded as module
from otel_aml.recover.breaker import CircuitBreaker, CircuitOpen
from otel_aml.recover.budget import AT_LEAST, MOST, SHARE, RetryBudget, budget_of
from otel_aml.recover.guarded import guarded
from otel_aml.recover.keys import key_of
from otel_aml.recover.takeover.task import ResumePlan
from tests.live.agents import AGENT, TOOL

AT_ONCE = RetryPolicy(base_ms=0)


@pytest.fixture
def waits(monkeypatch):
    """The waits, in seconds, none of which takes any time."""
    found = []
    monkeypatch.setattr(module.time, "sleep", found.append)

    async def sleep(seconds):
        found.append(seconds)

    monkeypatch.setattr(module.asyncio, "sleep", sleep)
    return found


@pytest.fixture(autouse=True)
def own_budget(request):
    """Each test has a budget of its own."""
    from otel_aml.recover import budget

    budget._budgets.clear()


class Script:
    """Raises or returns what it is told to, in order; the last one for ever."""

    def __init__(self, *answers):
        self.answers = answers
        self.calls = 0

    def __call__(self, *args):
        answer = self.answers[min(self.calls, len(self.answers) - 1)]
        self.calls += 1
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def in_a_task(self, *args):
        return self(*args)


def run(form, script, *args, **settings):
    """Run a script under a guard, in one of its forms, and give what came of it."""
    if form == "sync":
        return guarded("fetch", **settings)(script)(*args)
    if form == "async":
        return asyncio.run(guarded("fetch", **settings)(script.in_a_task)(*args))
    if form == "loop":
        for attempt in guarded("fetch", **settings):
            with attempt:
                return script(*args)
    return asyncio.run(_loop_async(script, args, settings))


async def _loop_async(script, args, settings):
    async for attempt in guarded("fetch", **settings):
        async with attempt:
            return await script.in_a_task(*args)
    return None


FORMS = ["sync", "async", "loop", "async loop"]
TRANSIENT = {"execute": "transient", "idempotent": True}


# --- what is run, and what is not -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_what_passes_by_itself_is_tried_again(form, waits):
    """After a wait, and as often as the policy says."""
    script = Script(TimeoutError("x"), ConnectionError("x"), "rows")
    assert run(form, script, **TRANSIENT) == "rows"
    assert script.calls == 3
    assert len(waits) == 2
    assert all(0 <= wait <= cap for wait, cap in zip(waits, (0.5, 1.0), strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_by_default_nothing_is_run(form, waits):
    """It recommends; the app decides."""
    script = Script(TimeoutError("x"))
    with pytest.raises(TimeoutError):
        run(form, script)
    assert (script.calls, waits) == (1, [])


NEVER = [
    pytest.param(TimeoutError("x"), {"execute": "transient", "idempotent": False}, id="a step that is done once"),
    pytest.param(RuntimeError("x"), TRANSIENT, id="an unknown error"),
    pytest.param(PermissionError("x"), TRANSIENT, id="no permission"),
    pytest.param(json.JSONDecodeError("x", "y", 0), TRANSIENT, id="a broken format, which is repaired by the agent"),
    pytest.param(TimeoutError("x"), TRANSIENT | {"policy": RetryPolicy(retries=0)}, id="a policy of no retries"),
    *(
        pytest.param(TimeoutError("x"), TRANSIENT | {"classify": lambda error, each=each: each}, id=f"{each}")
        for each in FAILURES[1:]
    ),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("error", "settings"), NEVER)
def test_what_could_do_harm_is_never_run(error, settings, form, waits):
    """Above all a critical class."""
    script = Script(error)
    with pytest.raises(type(error)):
        run(form, script, **settings)
    assert (script.calls, waits) == (1, [])


@pytest.mark.parametrize("form", FORMS)
def test_after_the_last_retry_what_was_raised_goes_on(form, waits):
    """The very exception, with its traceback."""
    errors = [TimeoutError(n) for n in range(9)]
    script = Script(*errors)
    with pytest.raises(TimeoutError) as raised:
        run(form, script, **TRANSIENT)
    assert script.calls == 4
    assert raised.value is errors[3]
    assert len(waits) == 3


def test_a_wait_that_the_server_asks_for_is_kept(waits):
    """And what is drawn comes on top."""
    error = type("Busy", (Exception,), {"status_code": 429, "headers": {"Retry-After": "7"}})("x")
    assert run("sync", Script(error, "rows"), **TRANSIENT) == "rows"
    assert 7 <= waits[0] <= 7.5


def test_a_block_is_not_run_again(waits):
    """It cannot be; its guard notes and plans."""
    with pytest.raises(TimeoutError), guarded("fetch", **TRANSIENT) as step:
        raise TimeoutError
    assert waits == []
    assert (step.failure.plan.path, step.failure.outcome) == ("auto_retry", "none")


def test_a_block_of_a_task_is_not_run_again_either(waits):
    """As `async with`."""

    async def work():
        async with guarded("fetch", **TRANSIENT) as step:
            assert step.failure is None
            assert step.number == 0
            with contextlib.suppress(TimeoutError):
                async with guarded("inner") as inner:
                    raise TimeoutError
        return step.failure, inner.failure

    outer, inner = asyncio.run(work())
    assert outer is None
    assert inner.error.step_id == "inner"


def test_guards_of_blocks_nest():
    """Each ends its own."""
    guard = guarded("fetch")
    with guard as outer:
        with pytest.raises(KeyError), guard as inner:
            {}["x"]
    assert (outer.failure, inner.failure.error.error_type) == (None, "KeyError")


def test_an_attempt_that_nobody_enters_ends_the_loop():
    """Else it would spin."""
    assert len(list(guarded("fetch", **TRANSIENT))) == 1


@pytest.mark.parametrize("form", ["sync", "async"])
def test_a_fallback_stands_in_for_what_failed(form, waits):
    """A degraded answer; it sees what failed and what to do."""
    seen = []

    def fallback(failure):
        seen.append(failure)
        return "cached"

    assert run(form, Script(TimeoutError("x")), fallback=fallback, **TRANSIENT) == "cached"
    assert (seen[0].attempts, seen[0].outcome, seen[0].plan.path) == (3, "exhausted", "human_takeover")


def test_a_fallback_may_be_a_coroutine():
    """In a task."""

    async def fallback(failure):
        return failure.error.error_type

    assert run("async", Script(TimeoutError("x")), fallback=fallback) == "timeout"


def test_a_loop_of_the_app_says_which_attempt_it_is():
    """Then the plan knows, and the guard's own tries are counted apart."""
    with pytest.raises(TimeoutError), guarded("fetch", attempt=3) as step:
        raise TimeoutError
    assert (step.failure.plan.reason, step.failure.attempts) == ("retries_used_up", 0)


# --- what goes through ----------------------------------------------------------------------------------------------


class GraphInterrupt(Exception):
    """As in LangGraph."""


GraphInterrupt.__module__ = "langgraph.errors"
THROUGH = [
    KeyboardInterrupt(),
    GeneratorExit(),
    SystemExit(3),
    concurrent.futures.CancelledError(),
    GraphInterrupt("x"),
    BaseExceptionGroup("g", [KeyboardInterrupt(), TimeoutError()]),
]


@pytest.mark.parametrize("error", THROUGH, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("form", ["sync", "loop"])
def test_cuts_and_control_flow_go_through_untouched(error, form, simple):
    """Not classified, not noted, not handed over, not replaced."""
    asked = []
    settings = {"fallback": asked.append, "classify": asked.append, "tracer_provider": simple.provider}
    try:
        run(form, Script(error), **TRANSIENT, **settings)
    except BaseException as raised:
        assert raised is error
    else:
        raise AssertionError("it was swallowed")
    assert asked == []
    (span,) = simple.spans()
    assert "failure.step.class" not in span.attributes
    assert not span.events


@pytest.mark.parametrize("form", ["async", "async loop"])
def test_a_cancelled_task_is_cancelled(form):
    """Also while it waits to try again."""

    async def cut(script):
        task = asyncio.ensure_future(script)
        await asyncio.tasks.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    class Slow(Script):
        async def in_a_task(self, *args):
            await asyncio.sleep(30)

    slow_policy = RetryPolicy(base_ms=60_000, cap_ms=60_000)
    for script in (Slow(), Script(type("Busy", (TimeoutError,), {"headers": {"Retry-After": "60"}})("x"))):
        settings = TRANSIENT | {"policy": slow_policy}
        work = (
            guarded("fetch", **settings)(script.in_a_task)() if form == "async" else _loop_async(script, (), settings)
        )
        assert asyncio.run(cut(work))


def test_the_app_may_name_what_is_no_failure():
    """Its own control flow."""
    with pytest.raises(KeyError), guarded("fetch", passes_on=(KeyError,)) as step:
        raise KeyError
    assert step.failure is None


# --- the breaker ----------------------------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def breaker(clock=None, **policy):
    return CircuitBreaker("bank", policy=CircuitPolicy(consecutive_failures=2, **policy), clock=clock or Clock())


@pytest.mark.parametrize("form", FORMS)
def test_an_open_circuit_is_not_asked_again(form, waits):
    """The call is not made; a person is told when it is of use."""
    guarding = breaker()
    script = Script(TimeoutError("x"))
    with pytest.raises(TimeoutError):
        run(form, script, breaker=guarding, **TRANSIENT)
    assert script.calls == 2, "the second failure opened the circuit"
    with pytest.raises(CircuitOpen) as refused:
        run(form, script, breaker=guarding, **TRANSIENT)
    assert script.calls == 2
    assert refused.value.retry_after == 30
    assert len(waits) == 1


def test_a_refusal_is_a_failure_like_any(simple):
    """Noted, planned, and answered by a fallback; never by another call."""
    guarding = breaker()
    for _ in range(2):
        guarding.allow().failure()
    failures = []
    settings = {"breaker": guarding, "fallback": failures.append, "tracer_provider": simple.provider}
    guarded("fetch", **settings)(Script("rows"))()
    assert (failures[0].plan.reason, failures[0].error.error_type) == ("circuit_open", "circuit_open")
    assert failures[0].plan.retry_after_ms == 30_000
    (span,) = simple.spans()
    assert span.attributes["recovery.circuit_state"] == "open"
    assert span.attributes["failure.dependency"] == "bank"


def test_what_is_no_fault_of_the_dependency_opens_nothing():
    """Our own bad arguments, a broken format, a cut."""
    guarding = breaker()
    for error in (ValueError("x"), json.JSONDecodeError("x", "y", 0), KeyboardInterrupt(), GraphInterrupt("x")) * 3:
        with contextlib.suppress(BaseException), guarded("fetch", breaker=guarding):
            raise error
    assert guarding.circuit.state == "closed"


def test_no_probe_is_lost(waits):
    """A cut while the probe is out gives its place back."""
    clock = Clock()
    guarding = breaker(clock)
    for _ in range(2):
        guarding.allow().failure()
    clock.now = 31
    with pytest.raises(KeyboardInterrupt), guarded("fetch", breaker=guarding):
        raise KeyboardInterrupt
    assert guarded("fetch", breaker=guarding)(Script("rows"))() == "rows"
    assert guarding.circuit.state == "closed"


# --- the retry budget -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_dependency_that_is_down_gets_a_tenth_more_at_most(waits):
    """10,000 calls that all fail."""
    calls = []

    @guarded("fetch", **TRANSIENT, fallback=lambda failure: None)
    def fetch():
        calls.append(1)
        raise TimeoutError

    for _ in range(10_000):
        fetch()
    assert 10_900 < len(calls) <= 11_000


def test_every_dependency_has_a_budget_of_its_own(waits):
    """Shared by all its guards, whichever step they guard."""
    first, second, other = Script(TimeoutError("x")), Script(TimeoutError("x")), Script(TimeoutError("x"))
    for name, script, dependency in (("a", first, "bank"), ("b", second, "bank"), ("c", other, "registry")):
        with contextlib.suppress(TimeoutError):
            guarded(name, dependency=dependency, **TRANSIENT)(script)()
    assert (first.calls, second.calls, other.calls) == (1 + AT_LEAST, 1, 1 + AT_LEAST)


def test_without_a_budget_a_person_has_it():
    """And the plan says why."""
    budget = budget_of("fetch")
    while budget.take():
        pass
    with pytest.raises(TimeoutError):
        for attempt in guarded("fetch", **TRANSIENT, policy=AT_ONCE):
            with attempt:
                raise TimeoutError
    assert (attempt.failure.plan.path, attempt.failure.plan.reason) == ("human_takeover", "budget_used_up")
    assert not attempt.failure.plan.automatic


@given(st.lists(st.booleans(), max_size=2_000))
def test_a_budget_is_never_overdrawn(calls):
    """At any time."""
    budget, made, retried = RetryBudget(), 0, 0
    for is_call in calls:
        if is_call:
            budget.call()
            made += 1
        else:
            retried += budget.take()
        assert retried <= max(AT_LEAST, made / SHARE)


def test_a_long_calm_does_not_pay_for_a_storm():
    """What is saved up is bounded."""
    budget = RetryBudget()
    for _ in range(10 * MOST * SHARE):
        budget.call()
    assert sum(budget.take() for _ in range(10 * MOST)) == MOST


def test_budgets_are_counted_right_by_many_threads():
    """No token is spent twice."""
    budget, taken = RetryBudget(), []

    def work():
        for _ in range(1_000):
            budget.call()
            taken.append(budget.take())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) <= 800


def test_there_are_only_so_many_budgets():
    """A name that is not of low cardinality must not fill the memory, nor borrow three retries again and again."""
    from otel_aml.recover import budget

    taken = 0
    for n in range(9_000):
        found = budget_of(f"user {n % 3_000}")
        found.call()
        while found.take():
            taken += 1
    assert len(budget._budgets) <= 1_000
    assert taken <= 3 * 1_000 + 9_000 / 10


def test_a_budget_is_asked_in_the_middle_of_being_asked():
    """By a signal's handler, or by the garbage collector: on the same thread, where another lock would hang."""
    from otel_aml.recover import budget

    found = budget_of("tool")
    with budget._lock, found._lock:
        budget_of("tool").call()
        assert found.take()


def test_blocks_of_generators_end_in_any_order():
    """Each ends as itself: here the first fails while the second goes on."""

    def block(name):
        with guarded(name) as attempt:
            yield attempt

    first, second = block("first"), block("second")
    failing, going_on = next(first), next(second)
    with pytest.raises(TimeoutError):
        first.throw(TimeoutError("x"))
    second.close()
    assert failing.failure is not None
    assert going_on.failure is None


def test_a_block_may_be_left_in_another_context():
    """As a framework does that runs each half on a thread of its pool; and leaving twice does nothing."""
    import contextvars

    guard = guarded("tool")
    attempt = contextvars.copy_context().run(guard.__enter__)
    error = TimeoutError("x")
    assert not contextvars.copy_context().run(guard.__exit__, TimeoutError, error, None)
    assert attempt.failure is not None
    assert attempt.failure.raised is error
    assert not guard.__exit__(None, None, None)


def test_an_object_with_a_call_that_is_awaited_is_guarded():
    """Its call alone would always go well."""

    class Tool:
        async def __call__(self):
            raise TimeoutError

    breaker = CircuitBreaker("tool", policy=CircuitPolicy(consecutive_failures=1))
    assert (
        asyncio.run(guarded("tool", breaker=breaker, fallback=lambda failure: failure.error.error_type)(Tool())())
        == "timeout"
    )
    assert breaker.circuit.state == "open"


@pytest.mark.parametrize("guard", [guarded("tool"), CircuitBreaker("tool")])
def test_an_object_with_a_call_that_yields_is_refused(guard):
    """As a generator is."""

    class Tool:
        def __call__(self):
            yield 1

    with pytest.raises(ConfigurationError, match="is a generator, whose call ends before its work begins"):
        guard(Tool())


def test_what_passes_on_is_looked_at_at_once():
    """Not when the step fails, where it would take the place of the app's error."""
    with pytest.raises(
        ConfigurationError, match=r"passes_on=.* holds something else than exceptions; give their classes"
    ):
        guarded("tool", passes_on=("TimeoutError",))
    with pytest.raises(TimeoutError), guarded("tool", passes_on=TimeoutError) as attempt:
        raise TimeoutError
    assert attempt.failure is None


def test_what_has_no_end_tells_no_call_apart():
    """A list that holds itself; the guard gives up, and the step is done."""
    endless = []
    endless.extend([endless] * 64)
    assert guarded("tool")(len)(endless) == 64
    assert key_of((endless,), {}) == ""
    assert key_of(({"a": 1},), {}) != key_of(({"a": 2},), {})


@pytest.mark.parametrize("told", [float("nan"), float("inf"), None, "noon", OSError("no clock")], ids=repr)
def test_a_broken_clock_stands_still(told):
    """The calls go on; the circuit counts them."""

    def clock():
        if isinstance(told, Exception):
            raise told
        return told

    breaker = CircuitBreaker("tool", policy=CircuitPolicy(consecutive_failures=1), clock=clock)
    assert guarded("tool", breaker=breaker)(lambda: "done")() == "done"
    breaker.allow().failure()
    assert not breaker.allow()


@pytest.mark.parametrize("said", [None, "failure", int, Acquire], ids=repr)
def test_a_judge_that_says_nothing_of_use_has_not_cleared_the_dependency(said):
    """And the app's error goes on."""
    breaker = CircuitBreaker("tool", policy=CircuitPolicy(consecutive_failures=1), judge=lambda _: said)
    with pytest.raises(KeyError), breaker.call():
        raise KeyError
    assert breaker.circuit.state == "open"


# --- handing over ---------------------------------------------------------------------------------------------------


class Queue:
    """Takes tasks, or raises."""

    def __init__(self, error=None):
        self.tasks = []
        self.error = error

    def submit(self, task):
        if self.error is not None:
            raise self.error
        self.tasks.append(task)
        return task.id


@pytest.mark.parametrize("form", FORMS)
def test_what_a_person_must_take_over_is_handed_over(form, simple, waits):
    """With the work as it stands; the app's error goes on."""
    queue = Queue()
    script = Script(RuntimeError("secret"))
    settings = {
        "takeover": queue,
        "freeze": lambda: {
            "state": {"evidence": ["TXN-1"]},
            "case_id": "C-17",
            "plan": ResumePlan(done=("evidence",), left=("fetch", "draft")),
        },
        "tracer_provider": simple.provider,
    }
    with pytest.raises(RuntimeError):
        run(form, script, **settings)
    (task,) = queue.tasks
    (span,) = simple.spans()
    assert (task.kind, task.step_id, task.case_id) == ("error_review", "fetch", "C-17")
    assert task.plan.enter_at == "fetch"
    assert json.loads(task.state_json) == {"evidence": ["TXN-1"]}
    assert task.trace_id == f"{span.context.trace_id:032x}"
    assert span.attributes["recovery.outcome"] == "handed_over"
    assert "secret" not in f"{task}{task.user_message}{task.state_json}"


def test_what_may_be_tried_again_is_not_handed_over():
    """A person is asked when a person is needed."""
    queue = Queue()
    with pytest.raises(TimeoutError), guarded("fetch", takeover=queue) as step:
        raise TimeoutError
    assert (queue.tasks, step.failure.task_id) == ([], None)


@pytest.mark.parametrize("failure_class", [FailureClass.HALLUCINATION, FailureClass.TYPOLOGY_MISJUDGE])
def test_a_critical_class_is_handed_over_at_once(failure_class, waits):
    """Without one more try."""
    queue, script = Queue(), Script(TimeoutError("x"))
    with pytest.raises(TimeoutError):
        run("sync", script, takeover=queue, classify=lambda error: failure_class, **TRANSIENT)
    assert script.calls == 1
    assert queue.tasks[0].failure_class is failure_class


BROKEN = [
    pytest.param({"takeover": Queue(OSError("disk full: secret"))}, id="a queue that raises"),
    pytest.param({"takeover": Queue(), "freeze": lambda: 1 / 0}, id="a state that cannot be had"),
    pytest.param({"takeover": Queue(), "freeze": lambda: {"state": object()}}, id="a state that is no JSON"),
    pytest.param({"classify": lambda error: 1 / 0}, id="a classifier that raises"),
    pytest.param({"classify": lambda error: "nonsense"}, id="a class that is none"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("settings", BROKEN)
def test_a_fault_on_the_way_never_replaces_the_apps_error(settings, form, caplog):
    """It is logged by its kind."""
    caplog.set_level(logging.WARNING, "otel_aml")
    with pytest.raises(RuntimeError, match=r"^mine$"):
        run(form, Script(RuntimeError("mine")), **settings)
    assert "secret" not in caplog.text


@pytest.mark.parametrize("freeze", [lambda: 1 / 0, lambda case_id: {}, lambda: {"state": object()}, lambda: None])
def test_a_state_that_cannot_be_had_takes_no_case_away(freeze, caplog):
    """The person is asked all the same, and the log says what was wrong with it."""
    queue = Queue()
    with pytest.raises(PermissionError), guarded("fetch", takeover=queue, freeze=freeze) as step:
        raise PermissionError
    assert [task.step_id for task in queue.tasks] == ["fetch"]
    assert step.failure.outcome == "handed_over"
    assert "freeze=, called without arguments, gave nothing to keep" in caplog.text


def test_a_span_that_cannot_be_had_is_no_matter_of_the_apps(waits):
    """The step runs without."""

    class Provider:
        def get_tracer(self, *args, **kwargs):
            raise RuntimeError("no")

    assert run("sync", Script(TimeoutError("x"), "rows"), tracer_provider=Provider(), **TRANSIENT) == "rows"


# --- what is written ------------------------------------------------------------------------------------------------


def verdict_and_replay(made, tmp_path):
    """The verdict as it was written live; the exported spans alone must tell the same."""
    found = dict(made.verdict())
    replayed = replay(made.spans(), tmp_path)
    assert (replayed.failure_class, replayed.path, replayed.outcome) == (
        found["failure.class"],
        found.get("recovery.path"),
        found["recovery.outcome"],
    )
    assert replayed.recovered == found["failure.recovered"]
    return found


def replay(spans, folder):
    """Classify exported spans anew, without what the processor wrote on the root."""
    exporting = pytest.importorskip("opentelemetry.exporter.otlp.json.file.trace_exporter", reason="needs SDK 1.44")
    exporter = exporting.FileSpanExporter(str(folder / "live.jsonl"))
    exporter.export(spans)
    exporter.shutdown()
    kept = []
    for line in (folder / "live.jsonl").read_text(encoding="utf-8").splitlines():
        found = json.loads(line)
        for scope in (scope for resource in found["resourceSpans"] for scope in resource["scopeSpans"]):
            for span in scope["spans"]:
                if any(each["key"] == "failure.verdict" for each in span.get("attributes", [])):
                    span["attributes"] = [
                        each for each in span["attributes"] if not each["key"].startswith(("failure.", "recovery."))
                    ]
        kept.append(json.dumps(found))
    (folder / "stripped.jsonl").write_text("\n".join(kept), encoding="utf-8")
    with analysed(Given(files=[str(folder / "stripped.jsonl")])) as analysis:
        (run,) = reports.runs(analysis)
    return run


def beside_the_detail(span):
    """All that a span holds but the redacted detail, which is where an exception's words belong."""
    found = json.loads(span.to_json())
    found["attributes"].pop("failure.technical_detail")
    return json.dumps(found)


def test_a_step_has_a_span_of_its_own(simple, waits):
    """With an event for each try, and nothing of the exception's text but in the detail."""
    settings = {"tracer_provider": simple.provider, "breaker": breaker(), **TRANSIENT}
    with simple.tracer.start_as_current_span("run", attributes=AGENT):
        run("sync", Script(TimeoutError("secret"), "rows"), **settings)
    step, _ = simple.spans()
    assert step.name == "fetch"
    written = {key: value for key, value in step.attributes.items() if key != "failure.technical_detail"}
    assert written.pop("aml.step.key")
    assert written == {
        "aml.step.id": "fetch",
        "error.type": "timeout",
        "failure.step.class": "tool_failure",
        "failure.step_id": "fetch",
        "failure.dependency": "bank",
        "failure.retriable": True,
        "failure.attempt": 0,
        "failure.user_message": step.attributes["failure.user_message"],
        "recovery.path": "auto_retry",
        "recovery.backoff_ms": 500,
        "recovery.outcome": "recovered",
        "recovery.attempts": 1,
        "recovery.circuit_state": "closed",
    }
    assert [(event.name, dict(event.attributes)) for event in step.events] == [
        ("recovery", {"recovery.path": "auto_retry", "failure.attempt": 0, "recovery.backoff_ms": 500})
    ]
    assert step.status.is_ok
    assert "secret" not in beside_the_detail(step)


def test_a_step_that_went_well_says_nothing(simple):
    """But that it was there."""
    run("sync", Script("rows"), tracer_provider=simple.provider)
    (span,) = simple.spans()
    assert set(span.attributes) == {"aml.step.id", "aml.step.key"}
    assert not span.events


def test_a_step_that_failed_for_good_is_an_error_without_its_words(simple):
    """The status names the kind."""
    with pytest.raises(RuntimeError):
        run("sync", Script(RuntimeError("secret")), tracer_provider=simple.provider)
    (span,) = simple.spans()
    assert (span.status.is_ok, span.status.description) == (False, "RuntimeError")
    assert "secret" not in beside_the_detail(span)


WELL = ("pass", "auto_retry", "recovered")
GONE = ("tool_failure", "human_takeover", "exhausted")
VERDICTS = [
    pytest.param([TimeoutError("x"), TimeoutError("x"), "rows"], TRANSIENT, (*WELL, 2, 2), id="the third try worked"),
    pytest.param([TimeoutError("x")], TRANSIENT, (*GONE, 3, 0), id="no try worked"),
    pytest.param([TimeoutError("x")], {}, ("tool_failure", "auto_retry", "none", 0, 0), id="a recommendation"),
    pytest.param(
        [RuntimeError("x")], TRANSIENT, ("tool_failure", "human_takeover", "none", 0, 0), id="nothing could be tried"
    ),
    pytest.param(
        [TimeoutError("x")], TRANSIENT | {"policy": RetryPolicy(retries=1)}, (*GONE, 1, 0), id="a policy of one retry"
    ),
    pytest.param(
        [TimeoutError("x")],
        {"idempotent": False},
        ("tool_failure", "human_takeover", "none", 0, 0),
        id="a step that is done once",
    ),
    pytest.param(
        [RuntimeError("x")],
        {"takeover": Queue()},
        ("tool_failure", "human_takeover", "handed_over", 0, 0),
        id="handed over",
    ),
    pytest.param(["rows"], TRANSIENT, ("pass", None, "none", 0, 0), id="nothing happened"),
]


@pytest.mark.parametrize("with_tool_spans", [False, True], ids=["bare", "with tool spans"])
@pytest.mark.parametrize(("answers", "settings", "expected"), VERDICTS)
def test_the_verdict_says_what_happened(answers, settings, expected, with_tool_spans, simple, waits, tmp_path):
    """Path, outcome, attempts and errors made good; also where each try has a span of an instrumentation."""
    script = Script(*answers)

    def work():
        if not with_tool_spans:
            return script()
        attributes = TOOL | {"gen_ai.tool.call.arguments": '{"account": "A-1"}'}
        with simple.tracer.start_as_current_span("execute_tool", attributes=attributes):
            return script()

    with simple.tracer.start_as_current_span("run", attributes=AGENT):
        with simple.tracer.start_as_current_span("other", attributes=TOOL | {"gen_ai.tool.name": "other"}):
            pass
        with contextlib.suppress(Exception):
            guarded("fetch", tracer_provider=simple.provider, **settings)(work)()
    found = verdict_and_replay(simple, tmp_path)
    assert (
        found["failure.class"],
        found.get("recovery.path"),
        found["recovery.outcome"],
        found["recovery.attempts"],
        found["failure.recovered"],
    ) == expected


TRIED = [
    pytest.param([TimeoutError("x"), TimeoutError("x"), "rows"], (*WELL, 2, 2), id="the third try worked"),
    pytest.param([TimeoutError("x")] * 3, ("tool_failure", "auto_retry", "exhausted", 2, 0), id="no try worked"),
]


@pytest.mark.parametrize(("answers", "expected"), TRIED)
def test_what_a_framework_tried_again_is_told_alike(answers, expected, simple, tmp_path):
    """Without a guard: three calls of one tool, as an instrumentation records them."""
    with simple.tracer.start_as_current_span("run", attributes=AGENT):
        for answer in answers:
            with (
                contextlib.suppress(TimeoutError),
                simple.tracer.start_as_current_span("execute_tool", attributes=TOOL),
            ):
                Script(answer)()
    found = verdict_and_replay(simple, tmp_path)
    assert (
        found["failure.class"],
        found["recovery.path"],
        found["recovery.outcome"],
        found["recovery.attempts"],
        found["failure.recovered"],
    ) == expected


@pytest.mark.parametrize("with_tool_spans", [False, True], ids=["bare", "with tool spans"])
def test_the_verdict_says_how_the_circuit_stood(with_tool_spans, simple, waits, tmp_path):
    """Of the dependency that failed."""
    guarding = breaker()

    def work():
        spans = (
            simple.tracer.start_as_current_span("execute_tool", attributes=TOOL)
            if with_tool_spans
            else contextlib.nullcontext()
        )
        with spans:
            raise TimeoutError

    with simple.tracer.start_as_current_span("run", attributes=AGENT), contextlib.suppress(TimeoutError):
        guarded("fetch", tracer_provider=simple.provider, breaker=guarding, **TRANSIENT)(work)()
    found = verdict_and_replay(simple, tmp_path)
    assert found["recovery.circuit_state"] == "open"
    assert found["recovery.path"] == "human_takeover"
    assert found["recovery.attempts"] == 1
    assert found["failure.dependency"] == ("get_transactions" if with_tool_spans else "bank")


def test_a_critical_answer_that_was_handed_over_is_told_so(simple, tmp_path):
    """The check of the answer names the class, the guard what became of it."""
    queue = Queue()
    with otel_aml.case("C-1", evidence_ids=["TXN-1"], tracer_provider=simple.provider) as told:
        told.answer({"cited_tx_ids": ["TXN-9"]})
        settings = {"takeover": queue, "classify": lambda error: FailureClass.HALLUCINATION}
        with contextlib.suppress(ValueError), guarded("draft", tracer_provider=simple.provider, **settings):
            raise ValueError("an invented citation")
    found = simple.verdict()
    assert (found["failure.class"], found["recovery.outcome"]) == ("hallucination", "handed_over")
    assert len(queue.tasks) == 1


def test_another_account_makes_nothing_good(simple, waits):
    """A step that is run for one account after the other: the second's success is not the first's."""
    fetch = guarded("fetch", tracer_provider=simple.provider, fallback=lambda failure: [], **TRANSIENT)(
        lambda account: ["row"] if account == "B" else (_ for _ in ()).throw(PermissionError("x"))
    )
    with simple.tracer.start_as_current_span("run", attributes=AGENT):
        for account in ("A", "B"):
            fetch(account)
    assert simple.verdict()["failure.class"] == "tool_failure"


def test_the_same_account_again_does(simple):
    """A loop of the app around the guard."""
    script = Script(TimeoutError("x"), "rows")
    fetch = guarded("fetch", tracer_provider=simple.provider, fallback=lambda failure: None)(script)
    with simple.tracer.start_as_current_span("run", attributes=AGENT):
        for _ in range(2):
            fetch("A")
    found = simple.verdict()
    assert (found["failure.class"], found["failure.recovered"], found["recovery.attempts"]) == ("pass", 1, 1)


def test_without_a_provider_the_notes_go_on_the_span_that_is_current(simple):
    """As those of `step_error` do."""
    with simple.tracer.start_as_current_span("assess") as span:
        with pytest.raises(TimeoutError), guarded("fetch"):
            raise TimeoutError
        assert span.is_recording()
    (found,) = simple.spans()
    assert found.attributes["failure.step.class"] == "tool_failure"
    assert "recovery.outcome" not in found.attributes


def test_the_work_is_below_the_steps_span(simple):
    """And what follows it is not."""
    with simple.tracer.start_as_current_span("run"):
        with guarded("fetch", tracer_provider=simple.provider), simple.tracer.start_as_current_span("call"):
            pass
        with simple.tracer.start_as_current_span("next"):
            pass
    spans = {span.name: span for span in simple.spans()}
    assert spans["call"].parent.span_id == spans["fetch"].context.span_id
    assert spans["next"].parent.span_id == spans["run"].context.span_id


# --- how it is set --------------------------------------------------------------------------------------------------


def test_to_run_something_it_must_be_known_whether_that_does_harm():
    """Nobody finds out by chance."""
    with pytest.raises(ConfigurationError, match="say idempotent=True if that does no harm"):
        guarded("file_report", execute="transient")
    with pytest.raises(ConfigurationError, match="give 'recommend' or 'transient'"):
        guarded("fetch", execute="all")


def test_a_decorator_without_its_parentheses_is_said_where_it_stands():
    """Not at the first call, in words of Python's own."""
    said = r"the function .*fetch for the name of its step; give a text: @guarded\('get_transactions'\)"
    with pytest.raises(ConfigurationError, match=said):

        @guarded
        def fetch():
            return 1

    with pytest.raises(ConfigurationError, match="got a NoneType for the name"):
        guarded(None)


def test_a_generator_cannot_be_guarded():
    """Its call ends before its work begins."""

    def rows():
        yield 1

    async def more():
        yield 1

    for function in (rows, more):
        with pytest.raises(ConfigurationError, match="is a generator"):
            guarded("fetch")(function)


def test_a_guarded_function_is_still_itself():
    """Its name, its words, and whether it is a coroutine function."""

    @guarded("fetch")
    async def fetch(case_id):
        """Fetch."""

    assert (fetch.__name__, fetch.__doc__) == ("fetch", "Fetch.")
    assert asyncio.iscoroutinefunction(fetch)


KEYS = [
    pytest.param(("A",), {}, ("A",), {}, True, id="the same"),
    pytest.param(("A",), {}, ("B",), {}, False, id="another account"),
    pytest.param((1,), {}, ("1",), {}, False, id="a number and its words"),
    pytest.param((), {"a": [1, {"b": 2}]}, (), {"a": [1, {"b": 3}]}, False, id="deep within"),
    pytest.param((["a"], "b"), {}, (["a", "b"],), {}, False, id="in another place"),
    pytest.param((object(),), {}, (object(),), {}, True, id="objects of one type"),
    pytest.param((), {"a": 1, "b": 2}, (), {"b": 2, "a": 1}, True, id="in another order"),
]


@pytest.mark.parametrize(("args", "kwargs", "other_args", "other_kwargs", "same"), KEYS)
def test_calls_are_told_apart_by_what_they_were_given(args, kwargs, other_args, other_kwargs, same):
    """By a digest, which tells nothing else."""
    assert (key_of(args, kwargs) == key_of(other_args, other_kwargs)) is same
    assert len(key_of(args, kwargs)) == 16


def test_what_cannot_be_told_apart_has_no_key():
    """Then the name of the step must do."""

    class Odd(dict):
        def items(self):
            raise RuntimeError

    assert key_of((Odd(a=1),), {}) == ""
    assert key_of(("\ud800",), {}) != ""


@given(
    answers=st.lists(
        st.sampled_from([TimeoutError("x"), ConnectionError("x"), KeyError("x"), PermissionError("x"), "rows"]),
        min_size=1,
        max_size=8,
    ),
    failure_class=st.sampled_from([None, *FAILURES]),
    retries=st.integers(0, 4),
    execute=st.sampled_from(["recommend", "transient"]),
    idempotent=st.booleans(),
)
def test_the_laws_of_a_guard(answers, failure_class, retries, execute, idempotent):
    """Whatever happens, in whatever order."""
    from otel_aml.recover import budget

    budget._budgets.clear()
    script = Script(*answers)
    policy = RetryPolicy(retries=retries, base_ms=0)
    guard = guarded(
        "fetch", execute=execute, idempotent=idempotent, policy=policy, classify=lambda error: failure_class
    )
    error = None
    try:
        answer = guard(script)()
    except Exception as raised:
        error = raised
    tries = script.calls - 1
    assert tries <= min(retries, AT_LEAST)
    if execute == "recommend" or not idempotent or failure_class not in {None, FailureClass.TOOL_FAILURE}:
        assert tries == 0
    assert all(isinstance(answer, TimeoutError | ConnectionError) for answer in answers[:tries])
    last = answers[min(tries, len(answers) - 1)]
    assert last is (answer if error is None else error)


def test_it_is_public():
    """At the root."""
    assert otel_aml.guarded is guarded
