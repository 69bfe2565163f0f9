"""Where a run begins, and which spans are one run."""

from __future__ import annotations

import random
from functools import partial

import effort
import pytest
from building import span

from otel_aml.conventions import is_case, is_run, read, runs, says_agent
from otel_aml.spans import attributes as names

AGENT = {names.GEN_AI_OPERATION: "invoke_agent"}
CHAT = {names.GEN_AI_OPERATION: "chat"}
FRAMEWORK = "pydantic-ai"
CASE = "otel_aml"


def test_what_began_in_the_time_of_a_case_is_part_of_it():
    """The agent in between never ended: its spans name a parent that is in no file."""
    case = span("c", scope=CASE, started_at=0, ended_at=100)
    lost = span("l", "never", CHAT, started_at=10, ended_at=20)
    (run,) = runs([case, lost])
    assert (run.root_id, run.incomplete, len(run.spans)) == ("c", True, 2)
    assert parted([case, span("l", "never", CHAT, started_at=101)]) == {"c": "c", "never": "l"}
    other = span("d", scope=CASE, started_at=5, ended_at=50)
    assert parted([case, other, lost]) == {"c": "c", "d": "d", "never": "l"}, "nobody knows which"
    assert parted([span("c", scope=CASE, started_at=0, ended_at=None), lost]) == {"c": "cl"}
    framework = span("l", "never", scope=FRAMEWORK, started_at=10, ended_at=20)
    assert parted([case, framework, span("m", "l", AGENT, started_at=11)]) == {"c": "clm"}


def parted(spans, **more):
    """Part spans into runs: `{root: its spans}`."""
    return {run.root_id: "".join(sorted(each.span_id for each in run.spans)) for run in runs(spans, **more)}


PARTS = [
    pytest.param([], {}, id="no span"),
    pytest.param([span("a"), span("b", "a")], {"a": "ab"}, id="a local root"),
    pytest.param(
        [span("a", scope="web", server=True), span("b", "a", AGENT), span("c", "b", CHAT)],
        {"a": "a", "b": "bc"},
        id="an agent under a web span",
    ),
    pytest.param(
        [span("a", scope="web"), span("b", "a", AGENT), span("c", "a", AGENT)],
        {"a": "a", "b": "b", "c": "c"},
        id="two agents under one web span are two runs",
    ),
    pytest.param(
        [span("a", scope=FRAMEWORK), span("b", "a", AGENT), span("c", "a", AGENT)],
        {"a": "abc"},
        id="agents side by side under a framework's own root are one",
    ),
    pytest.param(
        [span("a", scope="web"), span("b", "a", scope=FRAMEWORK), span("c", "b", AGENT)],
        {"a": "a", "b": "bc"},
        id="the outermost span of a framework",
    ),
    pytest.param([span("a", attributes=AGENT), span("b", "a", AGENT)], {"a": "ab"}, id="an agent that calls another"),
    pytest.param(
        [span("a", attributes={names.OPENINFERENCE_KIND: "AGENT"}), span("b", "a", AGENT)],
        {"a": "ab"},
        id="an agent in the words of OpenInference",
    ),
    pytest.param(
        [span("a", attributes=AGENT), span("b", "a", scope=CASE), span("c", "b")],
        {"a": "a", "b": "bc"},
        id="a case within an agent is a run of its own",
    ),
    pytest.param(
        [span("a", scope=CASE), span("b", "a", AGENT)], {"a": "ab"}, id="an agent within a case is part of it"
    ),
    pytest.param(
        [span("a", attributes=AGENT), span("b", "a", {names.VERDICT: "true"}), span("c", "b")],
        {"a": "a", "b": "bc"},
        id="a span that carries a verdict",
    ),
    pytest.param([span("b", "lost"), span("c", "lost")], {"lost": "bc"}, id="a root that was never exported"),
    pytest.param(
        [span("b", "lost"), span("c", "gone", started_at=1)], {"lost": "bc"}, id="two lost parents are one lost run"
    ),
    pytest.param(
        [span("b", "lost", scope=FRAMEWORK), span("c", "b", AGENT)], {"lost": "bc"}, id="a framework with a lost root"
    ),
    pytest.param([span("b", "lost", AGENT), span("c", "b")], {"b": "bc"}, id="an agent with a lost parent is a root"),
    pytest.param([span("b", "far", remote_parent=True)], {"b": "b"}, id="a parent in another process"),
    pytest.param([span("b", "far", server=True)], {"b": "b"}, id="a call that came in"),
    pytest.param([span("a", "b"), span("b", "a")], {"a": "ab"}, id="a circle"),
]


@pytest.mark.parametrize(("spans", "parts"), PARTS)
def test_spans_are_parted_into_runs(spans, parts):
    """By the rule that fixes the run root when a span starts; no later attribute moves it."""
    assert parted(spans) == parts
    random.Random(3).shuffle(spans)
    assert parted(spans) == parts


def test_a_run_is_incomplete_while_its_root_is_not_there():
    """Or never ended."""
    assert [run.incomplete for run in runs([span("b", "lost")])] == [True]
    assert [run.incomplete for run in runs([span("a", ended_at=None)])] == [True]
    assert [run.incomplete for run in runs([span("a")])] == [False]


def test_an_app_can_name_its_own_framework():
    """By the scope of its instrumentation."""
    spans = [span("a", scope="web"), span("b", "a", scope="ours"), span("c", "b")]
    assert parted(spans) == {"a": "abc"}
    assert parted(spans, frameworks=["ours"]) == {"a": "a", "b": "bc"}


SAYS = [
    pytest.param(FRAMEWORK, {}, True, id="by its scope"),
    pytest.param("opentelemetry.instrumentation.httpx", {}, False, id="a client"),
    pytest.param("opentelemetry.instrumentation.openai", CHAT, False, id="a client of a model"),
    pytest.param("any", AGENT, True, id="by its attributes"),
    pytest.param("ours", {}, True, id="by the app"),
]


@pytest.mark.parametrize(("scope", "attributes", "says"), SAYS)
def test_what_says_agent(scope, attributes, says):
    """Clients of models, HTTP and databases do not."""
    assert says_agent(scope, attributes, ["ours"]) is says


def test_only_our_own_scope_is_a_case():
    """The name is exact."""
    assert is_case(CASE)
    assert not is_case("otel_aml.demo")


RUNS = [
    pytest.param(AGENT, True, id="an agent"),
    pytest.param(CHAT, True, id="a model"),
    pytest.param({names.GEN_AI_OPERATION: "execute_tool"}, True, id="a tool"),
    pytest.param({names.GEN_AI_OPERATION: "retrieval"}, True, id="a retriever"),
    pytest.param({names.GEN_AI_OPERATION: "embeddings"}, False, id="an embedding"),
    pytest.param({names.GEN_AI_OPERATION: "create_agent"}, False, id="the creation of an agent"),
    pytest.param({}, False, id="a health check"),
]


@pytest.mark.parametrize(("attributes", "makes"), RUNS)
def test_what_makes_a_run(attributes, makes):
    """A trace without any of these is none, and gets nothing."""
    assert is_run([read(span()), read(span("b", "s1", attributes))]) is makes


SIZE = 20_000


@pytest.mark.parametrize(
    "parent",
    [
        pytest.param(lambda number: f"s{number - 1}" if number else None, id="a deep chain"),
        pytest.param(lambda number: f"s{(number + 1) % SIZE}", id="a circle"),
        pytest.param(lambda number: f"lost{number}", id="each of another lost parent"),
    ],
)
def test_a_large_trace_is_safe_and_fast(parent):
    """No recursion and nothing quadratic."""

    def spans(size):
        return [span(f"s{number}", parent(number)) for number in range(size)]

    assert sum(len(run.spans) for run in runs(spans(SIZE))) == SIZE
    assert effort.grows_as_fast_as_its_input(lambda size: partial(runs, spans(size)))
