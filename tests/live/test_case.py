"""A case: its span is the run root, and what the app tells stays in the process."""

import concurrent.futures
import json

import pytest
from opentelemetry import trace
from pydantic import BaseModel

from otel_aml.conventions import Contract
from otel_aml.live import case as module
from otel_aml.live.case import case
from tests.live.agents import AGENT, RETRIEVER, call, run


class Draft(BaseModel):
    typology: str
    cited_tx_ids: list[str]
    narrative: str


CONTRACT = Contract(answer=Draft, cited_ids="cited_tx_ids", typology="typology")
GOOD = {"typology": "structuring", "cited_tx_ids": ["TXN-1"], "narrative": "Secret narrative of the subject."}


@pytest.fixture
def banked(make):
    return make(contract=CONTRACT)


def opened(made, **declared):
    return case("C-17", evidence_ids=["TXN-1", "TXN-2"], tracer_provider=made.provider, **declared)


def test_the_case_is_the_run_root(banked):
    """Agents inside it are one run, whatever their number."""
    with opened(banked):
        run(banked.tracer)
        run(banked.tracer)
    assert list(banked.verdicts()) == ["case"]
    assert banked.verdict()["aml.case.id"] == "C-17"


@pytest.mark.parametrize(
    ("answer", "findings"),
    [
        pytest.param(Draft(**GOOD), (), id="a good draft as a model"),
        pytest.param(GOOD, (), id="a good draft as a dict"),
        pytest.param(json.dumps(GOOD), (), id="a good draft as text"),
        pytest.param("```json\n" + json.dumps(GOOD) + "\n```", (), id="a good draft in a fence"),
        pytest.param(GOOD | {"cited_tx_ids": ["TXN-9"]}, ("hallucination",), id="an invented transaction"),
        pytest.param({"typology": "structuring"}, ("format_violation",), id="fields are missing"),
        pytest.param("I cannot answer.", ("format_violation",), id="no JSON"),
    ],
)
def test_what_the_handle_is_told_decides(banked, answer, findings):
    with opened(banked) as told:
        run(banked.tracer)
        told.answer(answer)
    assert banked.verdict()["failure.findings"] == findings


def test_with_content_off_no_byte_of_content_leaves(banked):
    """A bank's default: hallucination, format_violation and retrieval_miss are decided all the same."""
    with opened(banked, relevant_doc_ids=["typ-structuring"]) as told:
        with banked.tracer.start_as_current_span("retrieval", attributes=RETRIEVER):
            told.retrieved(["typ-structuring", "typ-layering"])
        run(banked.tracer)
        told.answer(GOOD | {"cited_tx_ids": ["TXN-1", "TXN-99"]})
    verdict = banked.verdict()
    assert verdict["failure.class"] == "hallucination"
    assert set(verdict["failure.unchecked"]) == {"context_pollution", "typology_misjudge"}
    exported = "\n".join(span.to_json() for span in banked.spans())
    for content in ("TXN-1", "TXN-99", "Secret narrative", "typ-structuring"):
        assert content not in exported


def test_a_needed_note_that_was_not_retrieved_is_a_miss(banked):
    with opened(banked, relevant_doc_ids=["typ-structuring"]) as told:
        told.retrieved(["typ-layering"])
        told.answer(GOOD)
    assert banked.verdict()["failure.findings"] == ("retrieval_miss",)


def test_one_of_several_alternatives_is_enough(banked):
    with opened(banked, relevant_any_of=[["a", "b"]]) as told:
        told.retrieved(["b"])
        told.answer(GOOD)
    assert banked.verdict()["failure.class"] == "pass"
    assert "retrieval_miss" not in banked.verdict()["failure.unchecked"]


def test_a_lucky_retry_does_not_take_the_review_away(banked):
    """An invented citation in an answer that was silently replaced is kept: the class stays, a person looks."""
    with opened(banked) as told:
        run(banked.tracer)
        told.answer(GOOD | {"cited_tx_ids": ["TXN-9"]})
        told.answer({"typology": "structuring"})
        told.answer(GOOD)
    verdict = banked.verdict()
    assert verdict["failure.class"] == "pass"
    assert verdict["failure.findings"] == ("format_violation:recovered", "hallucination:superseded")
    assert verdict["failure.severity"] == "critical"
    assert verdict["recovery.path"] == "human_takeover"


def test_a_pause_is_no_failure(banked):
    with opened(banked) as told:
        run(banked.tracer)
        told.paused()
    assert banked.verdict()["failure.class"] == "pass"
    assert banked.verdict()["failure.paused"] is True


def test_the_contract_applies_inside_a_case_and_to_the_agents_it_names_only(make):
    """A helper or a chat turn elsewhere in the process is not measured by it."""
    text = {"gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"hello"}]}]'}
    made = make(contract=CONTRACT)
    run(made.tracer, **text)
    assert made.verdict()["failure.class"] == "pass"
    named = make(contract=Contract(answer=Draft, agents=["copilot"]))
    run(named.tracer, **text)
    assert named.verdict()["failure.class"] == "format_violation"


def test_a_case_may_bring_its_own_contract(banked):
    with opened(banked, contract=Contract(answer=int)) as told:
        told.answer("7")
    assert banked.verdict()["failure.class"] == "pass"


def test_a_case_inside_an_agent_is_a_run_of_its_own(banked):
    """An orchestrator that works through cases is not their run."""
    with banked.tracer.start_as_current_span("orchestrator", attributes=AGENT):
        with opened(banked):
            call(banked.tracer, TimeoutError("x"))
    found = {name: each["failure.class"] for name, each in banked.verdicts().items()}
    assert found == {"case": "tool_failure", "orchestrator": "pass"}


def test_cases_side_by_side_do_not_mix(banked):
    def one(number):
        with case(f"C-{number}", evidence_ids=[f"T-{number}"], tracer_provider=banked.provider) as told:
            run(banked.tracer)
            told.answer(GOOD | {"cited_tx_ids": [f"T-{number}" if number % 2 else "T-other"]})

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(40)))
    found = {
        span.attributes["aml.case.id"]: span.attributes["failure.class"]
        for span in banked.spans()
        if span.attributes.get("failure.verdict")
    }
    assert found == {f"C-{n}": "pass" if n % 2 else "hallucination" for n in range(40)}


def test_an_exception_goes_through_and_marks_the_run(banked):
    with pytest.raises(LookupError), opened(banked):
        raise LookupError("the app's own")
    assert banked.verdict()["failure.class"] == "unclassified"


@pytest.mark.parametrize("odd", ["TXN-1", 7, [None, 3], object()])
def test_odd_ids_never_raise(banked, odd):
    with case("C", evidence_ids=odd, relevant_doc_ids=odd, tracer_provider=banked.provider) as told:
        told.retrieved(odd)
        told.answer(odd)
    assert banked.verdict()["failure.class"] in {"pass", "format_violation"}


def test_without_a_recording_span_the_handle_works():
    with case("C-1") as told:
        told.answer("x")
        told.retrieved(["y"])
        told.paused()


def test_without_anything_installed_one_warning_says_so(monkeypatch, caplog):
    """Else a case that nobody watches would look like one without a failure."""
    module._warn_once.cache_clear()
    monkeypatch.setattr(module, "_PROVIDERS", {})
    monkeypatch.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)
    for _ in range(3):
        with case("C-1"):
            pass
    assert [record.getMessage() for record in caplog.records].count(caplog.records[0].getMessage()) == 1
    assert "otel_aml.install()" in caplog.text


def test_the_answer_of_a_graph_is_read_though_it_calls_itself_a_chain(banked):
    """Its outermost span is the agent that the case called; what it calls itself, only a replay would ask."""
    graph = banked.provider.get_tracer("openinference.instrumentation.langchain")
    answer = json.dumps({**GOOD, "cited_tx_ids": ["TXN-9"]})
    with opened(banked), graph.start_as_current_span("graph") as outer:
        with graph.start_as_current_span("node") as inner:
            call(banked.tracer)
            inner.set_attributes({"openinference.span.kind": "CHAIN", "output.value": json.dumps(GOOD)})
        outer.set_attributes({"openinference.span.kind": "CHAIN", "output.value": answer})
    assert banked.verdict()["failure.class"] == "hallucination"
