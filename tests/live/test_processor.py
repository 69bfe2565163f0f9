"""How the processor attaches the verdict: each rule of the contract, on real providers."""

import asyncio
import concurrent.futures
import contextlib
import gc
import itertools
import logging
import os
import signal
import threading
import time

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, Sampler, SamplingResult
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags

from otel_aml.conventions import Contract
from otel_aml.live import processor as processor_module
from otel_aml.live.case import case
from otel_aml.live.install import install
from otel_aml.live.processor import FailureSpanProcessor
from otel_aml.live.runs import Limits
from tests.live.agents import AGENT, MODEL, RETRIEVER, TOOL, call, run
from tests.random_runs import RandomRuns

ANSWER = '[{"role":"assistant","parts":[{"type":"text","content":"{}"}]}]'
FIRST_LIMITED = ("failure.class", "failure.unchecked")


def balance(stats):
    return stats["runs_classified"] + sum(stats["runs_dropped"].values()) + stats["runs_open"]


class TestTheVerdictSpan:
    def test_the_verdict_is_on_what_is_exported(self, arranged):
        """Before and after Simple and Batch, under both multi-processors: the order of processors does not matter."""
        run(arranged.tracer, TimeoutError("upstream"))
        verdict = arranged.verdict()
        assert verdict["failure.class"] == "tool_failure"
        assert verdict["failure.findings"] == ("tool_failure",)
        assert verdict["failure.severity"] == "high"
        assert verdict["failure.dependency"] == "get_transactions"
        assert verdict["failure.error_type"] == "timeout"
        assert verdict["recovery.path"] == "auto_retry"
        assert verdict["failure.schema_version"] == "1"

    def test_two_runs_under_one_web_span_are_two_verdicts(self, arranged):
        """A request may hold several runs, also at the same time: the web span itself is none."""
        with arranged.tracer.start_as_current_span("POST /cases", kind=SpanKind.SERVER) as web:
            context = trace.set_span_in_context(web)
            together = threading.Barrier(2)

            def one(name, error):
                with arranged.tracer.start_as_current_span(name, context=context, attributes=AGENT):
                    together.wait(5)
                    call(arranged.tracer, error)
                    together.wait(5)

            with concurrent.futures.ThreadPoolExecutor() as pool:
                list(pool.map(one, ("first", "second"), (TimeoutError("x"), None)))
        verdicts = arranged.verdicts()
        assert {name: found["failure.class"] for name, found in verdicts.items()} == {
            "first": "tool_failure",
            "second": "pass",
        }

    def test_two_requests_of_one_remote_trace_are_two_runs(self, simple):
        """State is keyed by the run root, not by the trace: neither gets the class of the other."""
        remote = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        context = trace.set_span_in_context(trace.NonRecordingSpan(remote))
        one = simple.tracer.start_span("one", context=context)
        two = simple.tracer.start_span("two", context=context)
        with trace.use_span(one):
            call(simple.tracer, ConnectionError("x"))
        with trace.use_span(two):
            call(simple.tracer)
        two.end()
        one.end()
        found = {name: each["failure.class"] for name, each in simple.verdicts().items()}
        assert found == {"one": "tool_failure", "two": "pass"}

    def test_agents_side_by_side_under_a_frameworks_root_are_one_run(self, make):
        """A hand-over is one run: the framework's own outermost span is the root."""
        made = make()
        tracer = made.provider.get_tracer("openinference.instrumentation.openai_agents")
        with tracer.start_as_current_span("workflow"):
            for name in ("triage", "copilot"):
                with tracer.start_as_current_span(name, attributes=AGENT):
                    call(tracer)
        assert list(made.verdicts()) == ["workflow"]

    def test_an_agent_called_by_an_agent_is_a_part_of_its_run(self, simple):
        with simple.tracer.start_as_current_span("outer", attributes=AGENT):
            with simple.tracer.start_as_current_span("tool", attributes=TOOL):
                run(simple.tracer, TimeoutError("x"), name="inner")
        assert list(simple.verdicts()) == ["outer"]
        assert simple.verdict()["failure.class"] == "tool_failure"

    def test_no_later_attribute_moves_the_root(self, simple):
        """The run root is fixed when a span starts, though the kind is known only later."""
        with simple.tracer.start_as_current_span("root"), simple.tracer.start_as_current_span("late agent") as late:
            late.set_attributes(AGENT)
            call(simple.tracer, TimeoutError("x"))
        assert list(simple.verdicts()) == ["root"]

    def test_a_trace_without_agent_tool_retriever_or_model_gets_nothing(self, simple):
        with simple.tracer.start_as_current_span("GET /health") as span:
            with simple.tracer.start_as_current_span("SELECT 1", kind=SpanKind.CLIENT):
                pass
            span.set_attribute("http.route", "/health")
        assert not simple.verdicts()
        assert all("failure.class" not in span.attributes for span in simple.spans())
        assert simple.processor.stats()["runs_started"] == 0

    def test_only_the_run_root_is_written_on(self, simple):
        run(simple.tracer, TimeoutError("x"))
        touched = [span.name for span in simple.spans() if any(key.startswith("failure.") for key in span.attributes)]
        assert touched == ["investigate"]

    def test_the_kind_is_decided_when_a_span_ends(self, simple):
        """Some instrumentations set no attribute at the start."""
        with simple.tracer.start_as_current_span("root") as root:
            with contextlib.suppress(TimeoutError), simple.tracer.start_as_current_span("call") as step:
                step.set_attributes(TOOL)
                raise TimeoutError
            root.set_attributes(AGENT)
        assert simple.verdict()["failure.class"] == "tool_failure"

    def test_our_work_is_not_in_the_spans_duration(self, make):
        """The time of the end is fixed first."""
        made = make(contract=Contract(answer=lambda _: time.sleep(0.2), agents=["copilot"]))
        with made.tracer.start_as_current_span("investigate", attributes=AGENT) as span:
            span.set_attribute("gen_ai.output.messages", '[{"parts":[{"type":"text","content":"x"}]}]')
        (ended,) = made.spans()
        assert ended.attributes["failure.verdict"]
        assert ended.end_time - ended.start_time < 150_000_000

    def test_an_end_time_that_the_app_gives_is_kept(self, simple):
        span = simple.tracer.start_span("investigate", attributes=AGENT, start_time=1_000)
        span.end(end_time=2_000)
        assert simple.spans()[0].end_time == 2_000

    def test_ending_twice_is_the_sdks_business(self, simple, caplog):
        span = simple.tracer.start_span("investigate", attributes=AGENT)
        span.end()
        with caplog.at_level(logging.WARNING, "opentelemetry.sdk.trace"):
            span.end()
        assert "ended span" in caplog.text
        assert len(simple.spans()) == 1
        assert simple.processor.stats()["runs_classified"] == 1

    def test_a_span_to_which_nothing_refers_ends(self, simple):
        simple.tracer.start_span("investigate", attributes=AGENT).end()
        assert list(simple.verdicts()) == ["investigate"]


class TestBlindness:
    """A check whose facts are missing is never passed."""

    def test_an_error_on_a_span_that_says_nothing_is_not_passed_over(self, simple):
        """It may have been a call; without its kind nobody knows."""
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            call(simple.tracer)
            with contextlib.suppress(TimeoutError), simple.tracer.start_as_current_span("get_transactions"):
                raise TimeoutError
        assert simple.verdict()["failure.class"] == "pass"
        assert "tool_failure" in simple.verdict()["failure.unchecked"]

    def test_a_run_that_shows_none_of_its_calls_leaves_them_open(self, simple):
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            pass
        assert simple.verdict()["failure.coverage"] == "none"


class TestStrangers:
    """A span whose parent is not known is charged to nobody, whoever else is open in its trace."""

    def test_what_a_run_left_running_is_not_the_next_ones(self, simple):
        remote = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        context = trace.set_span_in_context(trace.NonRecordingSpan(remote))
        first = simple.tracer.start_span("first", context=context, attributes=AGENT)
        left = simple.tracer.start_span("left", context=trace.set_span_in_context(first))
        first.end()
        second = simple.tracer.start_span("second", context=context, attributes=AGENT)
        with trace.use_span(left, end_on_exit=True):
            call(simple.tracer, TimeoutError("x"))
        second.end()
        assert simple.verdicts()["second"]["failure.findings"] == ()

    def test_a_sibling_below_a_span_from_before_is_not_the_agents(self):
        provider = TracerProvider(shutdown_on_exit=False)
        exporter = InMemorySpanExporter()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("app")
        with tracer.start_as_current_span("web"):
            added = FailureSpanProcessor()
            provider.add_span_processor(added)
            agent = tracer.start_span("agent", attributes=AGENT)
            call(tracer, TimeoutError("x"))
            agent.end()
        (verdict,) = [span.attributes for span in exporter.get_finished_spans() if "failure.class" in span.attributes]
        assert verdict["failure.findings"] == ()

    def test_what_a_run_has_no_room_for_is_not_charged_to_the_run_around_it(self, make):
        made = make(limits=Limits(steps=3))
        with made.tracer.start_as_current_span("outer", attributes=AGENT):
            with case("C-1", tracer_provider=made.provider):
                spans = [made.tracer.start_span(f"step {n}") for n in range(4)]
                with trace.use_span(spans[3]):
                    call(made.tracer, TimeoutError("x"))
                for span in spans:
                    span.end()
        found = made.verdicts()
        assert found["outer"]["failure.findings"] == ()
        assert "tool_failure" in found["case"]["failure.unchecked"]

    def test_a_call_without_a_result_left_nothing_hanging_if_others_came_after_it(self, simple):
        """Also where those were healthy and passed over."""
        given = {"gen_ai.tool.call.arguments": "{}"}
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            with simple.tracer.start_as_current_span("slow", attributes=TOOL | given):
                time.sleep(0.02)
            call(simple.tracer, **given, **{"gen_ai.tool.call.result": "fine"})
        assert simple.verdict()["failure.class"] == "pass"


class TestCancellation:
    @pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
    def test_a_run_that_is_cut_is_cancelled(self, arranged, error):
        """The SDK leaves its status empty: only the exception in flight shows it."""
        with contextlib.suppress(BaseException), arranged.tracer.start_as_current_span("run", attributes=AGENT):
            call(arranged.tracer)
            raise error
        assert arranged.verdict()["failure.class"] == "cancelled"
        assert "recovery.path" not in arranged.verdict()

    def test_a_cancelled_task_is_cancelled(self, simple):
        async def agent():
            with simple.tracer.start_as_current_span("run", attributes=AGENT):
                await asyncio.sleep(60)

        async def main():
            task = asyncio.create_task(agent())
            await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        asyncio.run(main())
        assert simple.verdict()["failure.class"] == "cancelled"

    def test_a_run_inside_an_except_block_is_not_cancelled_by_what_was_in_flight_before(self, simple):
        """A fallback agent starts while another's cancellation is handled."""
        try:
            raise asyncio.CancelledError
        except asyncio.CancelledError:
            run(simple.tracer)
        assert simple.verdict()["failure.class"] == "pass"

    def test_a_tool_that_a_deadline_cut_is_the_tool_that_failed(self, simple):
        """`wait_for` cancels the tool and raises TimeoutError in the agent: the tool span itself ends unset."""

        async def tool():
            with simple.tracer.start_as_current_span("execute_tool slow", attributes=TOOL):
                await asyncio.sleep(60)

        async def agent():
            with simple.tracer.start_as_current_span("run", attributes=AGENT):
                await asyncio.wait_for(tool(), 0.01)

        with contextlib.suppress(TimeoutError):
            asyncio.run(agent())
        assert simple.verdict()["failure.class"] == "tool_failure"
        assert simple.verdict()["failure.error_type"] == "timeout"
        assert simple.verdict()["failure.dependency"] == "get_transactions"

    def test_a_stream_that_was_closed_early_without_an_answer_is_cancelled(self, simple):
        def stream():
            with simple.tracer.start_as_current_span("run", attributes=AGENT):
                yield 1
                yield 2

        parts = stream()
        next(parts)
        parts.close()
        assert simple.verdict()["failure.class"] == "cancelled"


class TestIncomplete:
    def test_a_root_that_ends_before_its_spans_says_so(self, simple):
        """What ends later is counted, and the replay has the last word."""
        root = simple.tracer.start_span("run", attributes=AGENT)
        child = simple.tracer.start_span("tool", attributes=TOOL, context=trace.set_span_in_context(root))
        root.end()
        child.end()
        verdict = simple.verdict()
        assert verdict["failure.incomplete"] is True
        assert {"tool_failure", "format_violation"} <= set(verdict["failure.unchecked"])
        assert simple.processor.stats()["spans_late"] == 1

    def test_a_span_that_started_under_an_ended_parent_still_belongs_to_the_run(self, simple):
        """Background work: its parent ended, the run did not."""
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            with simple.tracer.start_as_current_span("step") as step:
                pass
            with trace.use_span(step):
                call(simple.tracer, TimeoutError("x"))
        assert simple.verdict()["failure.class"] == "tool_failure"

    def test_added_in_the_middle_of_a_trace_it_does_not_crash(self):
        """Spans that started before are unknown: counted as late, given no verdict."""
        provider = TracerProvider(shutdown_on_exit=False)
        exporter = InMemorySpanExporter()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("app")
        with tracer.start_as_current_span("before", attributes=AGENT):
            added = FailureSpanProcessor()
            provider.add_span_processor(added)
            call(tracer, TimeoutError("x"))
        assert len(exporter.get_finished_spans()) == 2
        assert added.stats()["spans_late"] == 2
        assert not any("failure.class" in span.attributes for span in exporter.get_finished_spans())


class TestReentrancy:
    def test_a_span_that_ends_inside_our_own_lock_is_no_dead_lock(self, simple):
        """The garbage collector, or a signal, may end another run's root wherever Python allocates."""
        other = simple.tracer.start_span("other", attributes=AGENT)
        done = threading.Event()

        def inside():
            with simple.processor._registry._lock:
                other.end()
                run(simple.tracer)
            done.set()

        threading.Thread(target=inside, daemon=True).start()
        assert done.wait(10)
        assert set(simple.verdicts()) == {"other", "investigate"}

    @pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
    def test_a_signal_handler_that_traces_is_no_fault(self):
        """It runs between any two steps of ours, on the same thread. (The SDK's own exporters could not bear it.)"""
        provider = TracerProvider(shutdown_on_exit=False)
        processor, tracer = install(provider, limits=Limits(runs=5)), provider.get_tracer("app")

        def traced(*_):
            run(tracer)
            signal.setitimer(signal.ITIMER_REAL, 0.001)

        before = signal.signal(signal.SIGALRM, traced)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        try:
            for _ in range(1_000):
                run(tracer)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        stats = processor.stats()
        assert stats["faults"] == 0
        assert stats["runs_started"] == balance(stats) > 1_000

    def test_abandoned_streams_in_cycles_end_whenever_they_are_collected(self, make):
        made = make(limits=Limits(runs=5))

        def stream():
            span = made.tracer.start_span("stream", context=Context(), attributes=AGENT)
            try:
                yield
            finally:
                span.end()

        gc.collect()
        for _ in range(300):
            holder = [stream()]
            next(holder[0])
            holder.append(holder)
            del holder
            made.tracer.start_span("run", context=Context(), attributes=AGENT).end()
        gc.collect()
        stats = made.processor.stats()
        assert stats["runs_started"] == balance(stats) == 600

    def test_the_sum_of_all_runs_is_exact_at_any_moment(self, make):
        made, stop, wrong = make(), threading.Event(), []

        def watch():
            while not stop.is_set():
                stats = made.processor.stats()
                if stats["runs_started"] != balance(stats):
                    wrong.append(stats)

        watcher = threading.Thread(target=watch)
        watcher.start()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: [run(made.tracer) for _ in range(100)], range(4)))
        stop.set()
        watcher.join()
        assert wrong == []


class Hostile(Exception):
    def __str__(self):
        raise RuntimeError("no message")


class TestNothingRaises:
    def test_a_fault_of_ours_never_reaches_the_app(self, arranged, monkeypatch, caplog):
        """The app sees its own exception, later processors get their spans, the fault is counted and logged once."""

        def broken(*_, **__):
            raise MemoryError("ours")

        monkeypatch.setattr(processor_module.conventions, "read", broken)
        monkeypatch.setattr(processor_module, "glance", broken)
        with caplog.at_level(logging.WARNING, "otel_aml"):
            for _ in range(3):
                with pytest.raises(ValueError, match="the app's own"), arranged.tracer.start_as_current_span("x"):
                    call(arranged.tracer)
                    raise ValueError("the app's own")
        assert len(arranged.spans()) == 6
        assert not arranged.verdicts()
        stats = arranged.processor.stats()
        assert stats["faults"] == 6
        assert stats["runs_started"] == balance(stats) == stats["runs_dropped"]["fault"] == 3
        assert len(caplog.records) == 2

    def test_a_broken_log_handler_is_no_way_out_either(self, simple, monkeypatch):
        def broken(*_, **__):
            raise OSError("the log is full")

        monkeypatch.setattr(processor_module.conventions, "says_agent", broken)
        monkeypatch.setattr(logging.getLogger("otel_aml"), "handle", broken)
        run(simple.tracer)
        assert len(simple.spans()) == 2

    def test_an_exception_that_cannot_be_printed_ends_as_without_us(self, simple):
        def seen(tracer):
            try:
                with tracer.start_as_current_span("run", attributes=AGENT):
                    raise Hostile
            except Exception as error:
                return type(error)

        bare = TracerProvider(shutdown_on_exit=False).get_tracer("app")
        assert seen(simple.tracer) is seen(bare)

    def test_a_contract_whose_check_is_broken_leaves_its_question_open(self, make):
        made = make(contract=Contract(answer=lambda _: 1 / 0, agents=["copilot"]))
        answer = '[{"role":"assistant","parts":[{"type":"text","content":"{}"}]}]'
        run(made.tracer, **{"gen_ai.output.messages": answer})
        assert made.verdict()["failure.class"] == "pass"
        assert "format_violation" in made.verdict()["failure.unchecked"]
        assert made.processor.stats()["faults"] == 1

    @pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError, GeneratorExit, MemoryError])
    def test_a_check_that_wants_to_end_the_app_does_not(self, make, error):
        def check(_):
            raise error

        made = make(contract=Contract(answer=check, agents=["copilot"]))
        run(made.tracer, TimeoutError("x"), **{"gen_ai.output.messages": ANSWER})
        assert made.verdict()["failure.class"] == "tool_failure"

    def test_an_answer_that_cannot_be_read_leaves_its_questions_open(self, simple):
        """And only those: the rest of the verdict stands."""

        class Answer:
            @property
            def cited_tx_ids(self):
                raise RuntimeError("no")

        with case("C-1", evidence_ids=["TXN-1"], tracer_provider=simple.provider) as told:
            call(simple.tracer, TimeoutError("x"))
            told.answer(Answer())
        assert simple.verdict()["failure.class"] == "tool_failure"
        assert "hallucination" in simple.verdict()["failure.unchecked"]
        assert simple.processor.stats()["faults"] == 1

    def test_an_interrupt_inside_our_work_goes_through_and_leaves_no_run_open(self, simple, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(processor_module.stamp, "verdict_on", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(simple.tracer)
        stats = simple.processor.stats()
        assert stats["runs_open"] == 0
        assert stats["runs_started"] == balance(stats) == 1
        assert len(simple.spans()) == 2

    def test_the_apps_check_may_make_spans_and_is_not_called_from_within_itself(self, make):
        calls = []

        def check(_):
            calls.append(1)
            run(made.tracer, name="check", **{"gen_ai.output.messages": answer})

        answer = '[{"role":"assistant","parts":[{"type":"text","content":"{}"}]}]'
        made = make(contract=Contract(answer=check, agents=["copilot"]))
        run(made.tracer, **{"gen_ai.output.messages": answer})
        assert len(calls) == 1
        assert set(made.verdicts()) == {"investigate", "check"}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_forked_child_works_though_another_thread_held_the_lock(self, simple):
        """Locks are made anew, and the open runs are the parent's."""
        root = simple.tracer.start_span("run", attributes=AGENT)
        with simple.processor._registry._lock:
            pid = os.fork()
            if pid == 0:
                with contextlib.suppress(BaseException):
                    run(simple.tracer, TimeoutError("x"), name="in the child")
                    root.end()
                    stats = simple.processor.stats()
                    verdicts = simple.verdicts()
                    right = (
                        list(verdicts) == ["in the child"]
                        and stats["runs_dropped"]["forked"] == 1
                        and stats["runs_started"] == balance(stats)
                    )
                    os._exit(0 if right else 1)
                os._exit(2)
        _, status = os.waitpid(pid, 0)
        root.end()
        assert os.waitstatus_to_exitcode(status) == 0
        assert list(simple.verdicts()) == ["run"]


class TestBounds:
    def test_open_runs_are_bounded_and_the_least_recently_used_goes_first(self, make):
        made = make(limits=Limits(runs=2))
        first, second = (made.tracer.start_span(name, attributes=AGENT) for name in ("first", "second"))
        with trace.use_span(first):
            call(made.tracer)
        third = made.tracer.start_span("third", attributes=AGENT)
        for span in (first, second, third):
            span.end()
        stats = made.processor.stats()
        assert set(made.verdicts()) == {"first", "third"}
        assert stats["runs_dropped"]["evicted"] == 1
        assert stats["spans_late"] == 1
        assert stats["runs_started"] == balance(stats) == 3
        assert len(made.spans()) == 4

    def test_an_idle_run_is_dropped_when_another_starts(self, make):
        """By a clock that only goes forward: what a span says of its own start does not age the others."""
        now = [0]
        made = make(limits=Limits(idle_seconds=10))
        made.processor._registry._clock = lambda: now[0]
        old = made.tracer.start_span("old", attributes=AGENT)
        made.tracer.start_span("far in the future", attributes=AGENT, start_time=2**62).end(2**62)
        now[0] = 9_000_000_000
        made.tracer.start_span("in time", attributes=AGENT).end()
        assert made.processor.stats()["runs_dropped"]["expired"] == 0
        now[0] = 11_000_000_000
        made.tracer.start_span("new", attributes=AGENT).end()
        old.end()
        assert list(made.verdicts()) == ["far in the future", "in time", "new"]
        assert made.processor.stats()["runs_dropped"]["expired"] == 1

    def test_a_dropped_run_lets_no_child_pass_for_a_run_of_its_own(self, make):
        made = make(limits=Limits(runs=1))
        dropped = made.tracer.start_span("dropped", attributes=AGENT)
        made.tracer.start_span("other", attributes=AGENT).end()
        kept = made.tracer.start_span("kept", attributes=AGENT)
        with trace.use_span(dropped):
            call(made.tracer, TimeoutError("x"))
        dropped.end()
        kept.end()
        assert set(made.verdicts()) == {"other", "kept"}

    def test_facts_of_a_run_are_bounded_and_failed_ones_are_kept_longest(self, make):
        """Beyond the limit an absence of errors proves nothing."""
        made = make(limits=Limits(steps=3))
        with made.tracer.start_as_current_span("long", attributes=AGENT):
            with made.tracer.start_as_current_span("retrieval", attributes=RETRIEVER):
                pass
            for _ in range(6):
                call(made.tracer)
        assert "tool_failure" in made.verdict()["failure.unchecked"]
        with made.tracer.start_as_current_span("long and dull", attributes=AGENT):
            for _ in range(6):
                call(made.tracer)
        assert "tool_failure" not in made.verdicts()["long and dull"]["failure.unchecked"]
        with made.tracer.start_as_current_span("long and bad", attributes=AGENT):
            for _ in range(6):
                call(made.tracer)
            call(made.tracer, TimeoutError("x"), name="other_tool")
        assert made.verdicts()["long and bad"]["failure.class"] == "tool_failure"

    def test_runs_that_never_end_are_not_held_for_ever(self, make):
        made = make(limits=Limits(runs=10))
        for _ in range(100):
            made.tracer.start_span("forgotten", attributes=AGENT)
        gc.collect()
        stats = made.processor.stats()
        assert stats["runs_open"] == 10
        assert stats["runs_started"] == balance(stats) == 100

    def test_a_long_lived_root_with_many_children_stays_small(self, make):
        """A worker that never ends: what it did long ago is not remembered span by span."""
        made = make(limits=Limits(steps=50))
        with made.tracer.start_as_current_span("worker"):
            for _ in range(500):
                made.tracer.start_span("job").end()
            run(made.tracer)
            assert len(made.processor._registry.by_span) <= 60
        assert made.verdicts()["investigate"]["failure.class"] == "pass"
        assert made.processor._registry.by_span == {}

    def test_long_arguments_are_kept_as_digests(self, simple):
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            call(simple.tracer, TimeoutError("x"))
            call(simple.tracer, **{"gen_ai.tool.call.arguments": '{"a":"' + "x" * 100_000 + '"}'})
            (open_run,) = simple.processor._registry._runs.values()
            assert len(str(open_run.sketches)) < 1_000

    def test_a_mark_beyond_the_bytes_scanned_is_unchecked(self, simple):
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            call(simple.tracer, **{"gen_ai.tool.call.result": '{"pad":"' + "x" * 40_000 + '","isError":true}'})
        assert "tool_failure" in simple.verdict()["failure.unchecked"]

    def test_an_answer_beyond_the_bytes_read_is_unchecked(self, make):
        made = make(contract=Contract(answer=dict, agents=["copilot"]))
        answer = '[{"role":"assistant","parts":[{"type":"text","content":"' + "x" * 300_000 + '"}]}]'
        run(made.tracer, **{"gen_ai.output.messages": answer})
        assert made.verdict()["failure.class"] == "pass"
        assert {"format_violation", "hallucination"} <= set(made.verdict()["failure.unchecked"])

    @pytest.mark.parametrize("limits", [{"runs": 0}, {"steps": 0}, {"idle_seconds": 0}])
    def test_limits_are_positive(self, limits):
        with pytest.raises(ValueError, match="positive"):
            Limits(**limits)

    def test_the_sum_of_all_runs_is_exact_under_threads(self, make):
        made = make(limits=Limits(runs=20))

        def work(seed):
            for i in range(50):
                if (seed + i) % 7:
                    run(made.tracer, TimeoutError("x") if i % 3 == 0 else None)
                else:
                    made.tracer.start_span("forgotten", attributes=AGENT)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        stats = made.processor.stats()
        assert stats["runs_started"] == balance(stats) == 400
        assert stats["runs_classified"] == len([1 for span in made.spans() if "failure.class" in span.attributes])
        assert stats["faults"] == 0


class TestAttributeLimits:
    def limited(self, make, limit):
        return make(span_limits=SpanLimits(max_span_attributes=limit))

    @pytest.mark.parametrize("room", [1, 2, 5])
    def test_the_users_attributes_are_never_evicted(self, make, room):
        """What fits is written, the class and the unchecked first."""
        users = AGENT | {f"user.{i}": i for i in range(8)}
        made = self.limited(make, len(users) + room)
        run(made.tracer, TimeoutError("x"), **{f"user.{i}": i for i in range(8)})
        (root,) = [span for span in made.spans() if span.name == "investigate"]
        assert users.items() <= dict(root.attributes).items()
        ours = [key for key in root.attributes if key not in users]
        assert len(ours) == room
        assert set(ours) >= set(FIRST_LIMITED[:room])

    def test_a_root_without_room_is_counted_as_unstamped(self, make):
        made = self.limited(make, len(AGENT))
        run(made.tracer, TimeoutError("x"))
        (root,) = [span for span in made.spans() if span.name == "investigate"]
        assert dict(root.attributes) == AGENT
        assert made.processor.stats()["unstamped"] == 1
        assert made.processor.stats()["runs_classified"] == 1

    def test_a_span_kind_that_the_limit_evicts_is_caught_at_the_start(self, make):
        made = self.limited(make, 8)
        with made.tracer.start_as_current_span("run", attributes=AGENT):
            with contextlib.suppress(TimeoutError), made.tracer.start_as_current_span("tool", attributes=TOOL) as span:
                for i in range(20):
                    span.set_attribute(f"user.{i}", i)
                raise TimeoutError
        assert made.verdict()["failure.class"] == "tool_failure"

    def test_a_class_that_the_length_limit_would_cut_is_not_written(self, make):
        """Half a class is none: the run is counted as unstamped, and the replay has the word."""
        made = make(span_limits=SpanLimits(max_span_attribute_length=12))
        run(made.tracer, TypeError("got an unexpected keyword argument 'x'"))
        assert not made.verdicts()
        assert made.processor.stats()["unstamped"] == 1
        longer = make(span_limits=SpanLimits(max_span_attribute_length=20))
        run(longer.tracer, TimeoutError("x"))
        assert longer.verdict()["failure.class"] == "tool_failure"
        assert "failure.technical_detail" not in longer.verdict()

    def test_what_stood_under_our_names_before_does_not_stay_beside_the_verdict(self, simple):
        stale = {"failure.severity": "critical", "failure.paused": True, "failure.span_id": "f" * 16}
        with simple.tracer.start_as_current_span("run", attributes=AGENT | stale):
            call(simple.tracer)
        verdict = simple.verdict()
        assert (verdict["failure.severity"], verdict["failure.span_id"], verdict["failure.paused"]) == ("", "", False)

    def test_no_limit_is_no_limit(self, make):
        made = make(span_limits=SpanLimits(max_span_attributes=SpanLimits.UNSET))
        run(made.tracer, TimeoutError("x"))
        assert made.verdict()["failure.class"] == "tool_failure"

    def test_what_is_written_is_small(self, simple):
        """At most 20 keys and 2 KiB beside the detail, whatever the names."""
        with simple.tracer.start_as_current_span("run", attributes=AGENT | {"aml.step.id": "s" * 5_000}):
            call(simple.tracer, TimeoutError("x"), name="t" * 5_000)
        ours = {key: value for key, value in simple.verdict().items() if key not in AGENT and key != "aml.step.id"}
        assert len(ours) <= 20
        assert len(ours.pop("failure.technical_detail")) <= 2_048
        assert sum(len(key) + len(str(value)) for key, value in ours.items()) <= 2_048

    def test_a_text_that_utf_8_cannot_write_does_not_lose_the_span(self, simple):
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            call(simple.tracer, TimeoutError("x"), name="tool\ud800")
        simple.verdict()["failure.dependency"].encode("utf-8")


class TestTechnicalDetail:
    def test_it_holds_type_message_and_frames(self, simple):
        """The message is nowhere else of ours."""
        run(simple.tracer, ConnectionError("customer 4711 at upstream"))
        verdict = dict(simple.verdict())
        detail = verdict.pop("failure.technical_detail")
        assert detail.startswith("ConnectionError: customer 4711 at upstream at live/agents.py:")
        assert not [value for value in verdict.values() if "4711" in str(value)]

    def test_no_secret_is_exported(self, simple):
        """Neither in the message of an exception, nor in a name that the app made up from a URL."""
        secrets = ("s3cr3t-pw", "jane.doe@example.com", "DE89370400440532013000", "4111111111111111", "hunter2")
        message = "postgres://app:{}@db said no to {}, {}, {} and password={}".format(*secrets)
        with simple.tracer.start_as_current_span("run", attributes=AGENT | {"aml.step.id": "for jane.doe@example.com"}):
            call(simple.tracer, ConnectionError(message), name="https://u:hunter2@svc/tool")
        ours = {
            key: value
            for key, value in simple.verdict().items()
            if key.startswith(("failure.", "recovery.", "aml.citations."))
        }
        assert not [key for key, value in ours.items() for secret in secrets if secret in str(value)]
        assert ours["failure.dependency"] == "https://u:[redacted:url_password]@svc/tool"
        assert "[redacted:iban]" in ours["failure.technical_detail"]

    def test_a_message_stays_out_where_it_quotes_the_model(self, simple):
        """A schema that was broken prints the answer that broke it."""
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            call(simple.tracer, type("ToolInvocationError", (Exception,), {})("the draft says: Jane"))
        assert simple.verdict()["failure.class"] == "format_violation"
        assert "Jane" not in str(dict(simple.verdict()))


class RecordOnly(Sampler):
    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, links=None, trace_state=None):
        return SamplingResult(Decision.RECORD_ONLY, attributes)

    def get_description(self):
        return "record only"


class TestSampling:
    def test_dropped_spans_are_no_state(self, make):
        made = make(sampler=ALWAYS_OFF)
        run(made.tracer, TimeoutError("x"))
        assert made.processor.stats()["runs_started"] == 0

    def test_recorded_spans_are_classified_and_never_exported(self, make):
        made = make(sampler=RecordOnly())
        root = run(made.tracer, TimeoutError("x"))
        assert root.attributes["failure.class"] == "tool_failure"
        assert made.spans() == ()


class TestRegistration:
    def test_the_same_processor_twice_is_once(self, simple):
        simple.provider.add_span_processor(simple.processor)
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            call(simple.tracer, TimeoutError("x"))
            call(simple.tracer, TimeoutError("x"))
        assert simple.verdict()["recovery.attempts"] == 1
        assert simple.processor.stats()["runs_classified"] == 1

    def test_two_processors_on_one_provider_leave_no_run_open(self, simple):
        """Each does its work, and they say the same."""
        other = FailureSpanProcessor()
        simple.provider.add_span_processor(other)
        run(simple.tracer, TimeoutError("x"))
        assert simple.verdict()["failure.class"] == "tool_failure"
        for processor in (simple.processor, other):
            assert processor.stats()["runs_classified"] == 1
            assert processor.stats()["runs_open"] == 0

    def test_after_shutdown_it_is_a_counted_no_op(self, simple):
        root = simple.tracer.start_span("run", attributes=AGENT)
        simple.provider.shutdown()
        root.end()
        run(simple.tracer)
        stats = simple.processor.stats()
        assert stats["runs_dropped"]["shutdown"] == 1
        assert stats["runs_classified"] == stats["runs_open"] == 0
        assert stats["spans_late"] >= 1
        simple.processor.shutdown()

    def test_flushing_holds_nothing_back(self, simple):
        assert simple.processor.force_flush()

    def test_every_span_goes_on_untouched(self, make):
        """What is exported with us is what is exported without us, but for the verdict."""
        bare = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(bare))
        made = make()
        for tracer in (provider.get_tracer("app"), made.tracer):
            run(tracer, TimeoutError("x"))

        def shape(spans):
            def theirs(span):
                return {key for key in span.attributes if not key.startswith(("failure.", "recovery."))}

            return [(span.name, span.status.status_code, len(span.events), theirs(span)) for span in spans]

        assert shape(made.spans()) == shape(bare.get_finished_spans())

    def test_a_sdk_whose_last_hook_can_write_is_used_that_way(self, make, monkeypatch):
        """The end hook steps aside once `_on_ending` can write: nothing replaces `end` then."""
        monkeypatch.setattr("otel_aml.live.end_hook.on_ending_writes", lambda: True)
        made = make()
        span = made.tracer.start_span("run", attributes=AGENT)
        assert "end" not in vars(span)
        written = {}
        monkeypatch.setattr(type(span), "set_attributes", lambda _, found: written.update(found))
        made.processor._on_ending(span)
        assert written["failure.class"] == "pass"


def test_a_retrieval_and_its_answer_are_checked_live(simple):
    """Evidence, notes and labels on the root decide all but the judge's question."""
    facts = {
        "aml.case.evidence_ids": ["TXN-1"],
        "aml.gold.doc_ids": ["N-1"],
        "aml.gold.typology": "structuring",
        "aml.answer.schema_valid": True,
        "output.value": '{"typology": "layering", "cited_tx_ids": ["TXN-9"]}',
    }
    with simple.tracer.start_as_current_span("run", attributes=AGENT | facts):
        documents = {"gen_ai.retrieval.documents": '[{"id": "N-2"}]'}
        with simple.tracer.start_as_current_span("retrieval", attributes=RETRIEVER | documents):
            pass
        with simple.tracer.start_as_current_span("chat", attributes=MODEL):
            pass
    verdict = simple.verdict()
    assert verdict["failure.class"] == "hallucination"
    assert verdict["failure.findings"] == ("hallucination", "retrieval_miss", "typology_misjudge")
    assert verdict["failure.unchecked"] == ("context_pollution",)
    assert (verdict["aml.citations.cited"], verdict["aml.citations.unresolved"]) == (1, 1)
    assert verdict["recovery.path"] == "human_takeover"


class LongWay(FailureSpanProcessor):
    """As on an SDK that keeps things elsewhere: every span is asked through its properties."""

    def on_start(self, span, parent_context=None):
        self._start(span)

    def on_end(self, span):
        self._spans_seen += 1
        self._end(span)


class TestTheShortWay:
    """The hooks read a span where the SDK keeps things, and go the long way where it does not."""

    @staticmethod
    def decided(processor):
        provider, memory = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
        provider.add_span_processor(processor)
        provider.add_span_processor(SimpleSpanProcessor(memory))
        maker = RandomRuns(provider, seed=11)
        for _ in range(300):
            maker.make()
        roots = [span.attributes for span in memory.get_finished_spans() if span.attributes.get("failure.verdict")]
        keys = ("failure.class", "failure.findings", "failure.unchecked", "failure.incomplete", "recovery.attempts")
        return [tuple(root.get(key) for key in keys) for root in roots], processor.stats()

    def test_it_decides_as_the_long_way(self, monkeypatch):
        """By a clock that ticks alike for both: whether a call was left at work is a question of time."""

        def decided(processor):
            ticks = itertools.count(1_000, 1_000)
            for module in ("opentelemetry.sdk.trace", "otel_aml.live.end_hook"):
                monkeypatch.setattr(f"{module}.time_ns", lambda: next(ticks))
            return self.decided(processor)

        assert decided(FailureSpanProcessor()) == decided(LongWay())

    def test_a_span_that_keeps_its_attributes_elsewhere_goes_the_long_way(self, simple):
        class Elsewhere:
            def __init__(self, span):
                self.__dict__.update(name=span.name, attributes=span.attributes, context=span.context)
                self.__dict__.update(status=span.status, events=span.events, kind=span.kind, parent=span.parent)
                self.__dict__.update(start_time=span.start_time, end_time=span.end_time, dropped_attributes=0)
                self.__dict__.update(instrumentation_scope=span.instrumentation_scope)

        on_end = simple.processor.on_end
        simple.processor.on_end = lambda span: on_end(Elsewhere(span))
        with simple.tracer.start_as_current_span("run", attributes=AGENT):
            call(simple.tracer)
            call(simple.tracer, TimeoutError("x"), name="screen")
        assert simple.verdict()["failure.class"] == "tool_failure"
        assert simple.processor.stats()["faults"] == 0
