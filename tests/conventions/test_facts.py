"""What all spans of a run add up to: its answer, the earlier ones, what was retrieved, how it ended."""

from __future__ import annotations

import json
from functools import partial

import effort
import pytest
from building import span

from otel_aml.conventions import NOTHING_DECLARED, Contract, Declared, facts, read
from otel_aml.core.facts import Ending
from otel_aml.spans import attributes as names

AGENT = {names.GEN_AI_OPERATION: "invoke_agent"}
CHAT = {names.GEN_AI_OPERATION: "chat"}
TOOL = {names.GEN_AI_OPERATION: "execute_tool", names.GEN_AI_TOOL: "search"}
RETRIEVAL = {names.GEN_AI_OPERATION: "retrieval"}
OWING = {**AGENT, names.PYDANTIC_AI_MESSAGES: '[{"content": "x"}]'}


def draft(typology="structuring", *cited):
    """Build an answer."""
    return json.dumps({"typology": typology, "cited_tx_ids": cited})


def answered(answer, of=AGENT):
    """Build the attributes of a span that gave an answer."""
    return {**of, names.OPENINFERENCE_OUTPUT: answer}


def of(*spans, **more):
    """Fold spans whose root is `r`."""
    return facts([read(each) for each in spans], "r", **more)


ANSWERS = [
    pytest.param([span("r", attributes=answered(draft("a")))], "a", "r", id="the root's"),
    pytest.param(
        [span("r", attributes=answered(draft("a"))), span("m", "r", answered(draft("b"), CHAT))],
        "a",
        "r",
        id="root first",
    ),
    pytest.param(
        [span("r"), span("g", "r", answered(draft("a"))), span("m", "g", answered(draft("b"), CHAT), ended_at=20)],
        "a",
        "g",
        id="an agent's before a model's",
    ),
    pytest.param(
        [
            span("r"),
            span("g", "r", answered(draft("a")), ended_at=5),
            span("h", "r", answered(draft("b")), ended_at=9),
            span("i", "g", answered(draft("c")), ended_at=99),
        ],
        "b",
        "h",
        id="of agents the outermost, then the last",
    ),
    pytest.param(
        [
            span("r"),
            span("m", "r", answered(draft("a"), CHAT)),
            span("n", "r", answered(draft("b"), CHAT), ended_at=20),
        ],
        "b",
        "n",
        id="the last model's",
    ),
    pytest.param(
        [span("r"), span("t", "r", TOOL), span("m", "t", answered(draft("a"), CHAT))],
        None,
        "r",
        id="not a tool's model",
    ),
    pytest.param(
        [span("r", attributes=answered("None")), span("m", "r", answered(draft("a"), CHAT))],
        None,
        "r",
        id="it says none",
    ),
    pytest.param([span("r"), span("t", "r", answered(draft("a"), TOOL))], None, "r", id="not a tool's result"),
    pytest.param(
        [span("r"), span("g", "r", answered("null")), span("m", "g", answered(draft("a"), CHAT))],
        "a",
        "m",
        id="an agent that says none is passed over",
    ),
    pytest.param(
        [span("g", "r", answered("null")), span("m", "g", answered(draft("a"), CHAT))], "a", "m", id="its root is lost"
    ),
]


@pytest.mark.parametrize(("spans", "typology", "span_id"), ANSWERS)
def test_the_answer_is_the_outermost_and_last(spans, typology, span_id):
    """The nearer to the root, the more it is the run's own."""
    found = of(*spans)
    assert (found.typology, found.answer_span_id) == (typology, span_id)


def test_the_app_s_own_word_wins():
    """Over attributes, those over the spans' answers, the contract last."""
    root = span("r", attributes={**answered(draft("a", "1")), names.ANSWER_TYPOLOGY: "B", names.EVIDENCE_IDS: ["2"]})
    contract = Contract(evidence_ids=["3"], relevant_doc_ids=["N"])
    found = of(root, contract=contract, told=Declared(answer=draft("c", "4"), gold_typology="G"))
    assert (found.typology, found.cited_ids, found.answer_span_id) == ("b", {"4"}, "r")
    assert (found.evidence_ids, found.needed_notes, found.gold_typology) == ({"2"}, (frozenset({"n"}),), "g")
    assert of(root, told=Declared(evidence_ids=frozenset({"5"}))).evidence_ids == {"5"}
    assert of(root, told=Declared(cited_ids=frozenset({"X"}))).cited_ids == {"x"}


def test_attributes_may_stand_below_the_root():
    """The root knows best, then the spans that ended last."""
    early = span("a", "r", {names.ANSWER_TYPOLOGY: "early", names.GOLD_TYPOLOGY: "early"}, ended_at=1)
    late = span("b", "r", {names.ANSWER_TYPOLOGY: "late"}, ended_at=2)
    assert of(span("r"), early, late).typology == "late"
    assert of(span("r"), late, early).gold_typology == "early"
    assert of(span("r", attributes={names.ANSWER_TYPOLOGY: "root"}), late).typology == "root"


def test_what_was_told_is_laid_over_what_was_told_before():
    """Known wins over unknown, later over earlier, and a pause stays."""
    early = Declared(case_id="1", typology="a", paused=True)
    late = Declared(typology="b", context_used=False, synthetic=True)
    both = Declared(case_id="1", typology="b", context_used=False, paused=True, synthetic=True)
    assert late.over(early) == both
    assert late.over(NOTHING_DECLARED) is late
    assert NOTHING_DECLARED.over(late) is late


SCHEMA = Contract(answer={"type": "object", "required": ["typology", "cited_tx_ids"]})
VALID = [
    pytest.param([span("r", attributes=answered(draft()))], {}, True, id="it fits"),
    pytest.param([span("r", attributes=answered("{}"))], {}, False, id="it does not"),
    pytest.param(
        [span("r", attributes=answered("{}"))], {"told": Declared(schema_valid=True)}, True, id="the app knows"
    ),
    pytest.param([span("r", attributes=AGENT)], {}, None, id="no answer to look at"),
]


@pytest.mark.parametrize(("spans", "more", "is_valid"), VALID)
def test_the_answer_is_checked_against_the_contract(spans, more, is_valid):
    """Or the app has checked it itself."""
    assert of(*spans, contract=SCHEMA, **more).answer_valid is is_valid


def models(*answers, of=CHAT):
    """Build a run whose model answered several times."""
    return [span("r"), *(span(f"m{at}", "r", answered(each, of), ended_at=at) for at, each in enumerate(answers))]


def test_an_earlier_answer_is_kept():
    """A lucky retry must not take the review away."""
    found = of(*models(draft("a", "1"), draft("b", "2"), draft("c", "3")))
    assert (found.typology, found.cited_ids) == ("c", {"3"})
    assert found.superseded_ids == {"1", "2"}
    assert found.superseded_typologies == {"a", "b"}


def test_an_earlier_answer_that_broke_the_contract_was_replaced():
    """If the last one fits."""
    found = of(*models("{}", draft("b", "2")), contract=SCHEMA)
    assert [(each.error_type, each.attempts) for each in found.recovered_outputs] == [("invalid_answer", 1)]
    assert of(*models("{}", "{}"), contract=SCHEMA).recovered_outputs == ()
    assert of(*models(draft("a"), draft("b")), contract=SCHEMA).recovered_outputs == ()


def test_a_model_that_thinks_aloud_has_not_answered():
    """Only where a text ends the agent's loop is one an answer."""
    found = of(*models("Let me see.", draft("b", "2")), contract=SCHEMA)
    assert found.recovered_outputs == ()


def test_the_app_tells_of_earlier_answers_itself():
    """Where the framework does not record them."""
    told = Declared(answer=draft("b", "2"), earlier_answers=(draft("a", "1"),))
    found = of(span("r"), told=told)
    assert (found.superseded_ids, found.superseded_typologies) == ({"1"}, {"a"})


def retrieval(span_id, *found, **more):
    """Build a retrieval; without documents they are not recorded."""
    recorded = {names.GEN_AI_DOCUMENTS: json.dumps([{"id": each} for each in found])} if found else {}
    return span(span_id, "r", {**RETRIEVAL, **recorded}, **more)


RETRIEVED = [
    pytest.param([], {}, None, "r", id="no retrieval"),
    pytest.param([retrieval("a", "N1"), retrieval("b", "n2", ended_at=20)], {}, {"n1", "n2"}, "b", id="all joined"),
    pytest.param([retrieval("a")], {}, None, "a", id="ids not recorded"),
    pytest.param([retrieval("a", "n1"), retrieval("b", ended_at=20)], {}, {"n1"}, "b", id="one hidden, none needed"),
    pytest.param([retrieval("a", "n1"), retrieval("b", ended_at=20)], {"n1"}, {"n1"}, "b", id="one hidden, all found"),
    pytest.param(
        [retrieval("a", "n1"), retrieval("b", ended_at=20)], {"n2"}, {"n1"}, "b", id="one hidden, one missing"
    ),
    pytest.param([retrieval("a", "n1"), retrieval("b", error="x", ended_at=20)], {"n2"}, {"n1"}, "b", id="one failed"),
    pytest.param([span("a", "r", TOOL)], {}, None, "r", id="a tool is no retriever"),
]


@pytest.mark.parametrize(("spans", "needed", "found", "span_id"), RETRIEVED)
def test_what_was_retrieved_is_joined(spans, needed, found, span_id):
    """What is hidden is noted beside: the needed note may be among it."""
    known = of(span("r"), *spans, told=Declared(needed_notes=tuple(frozenset({each}) for each in needed)))
    assert (known.retrieved_ids, known.retrieval_span_id) == (found, span_id)


@pytest.mark.parametrize(
    ("spans", "hides"),
    [
        pytest.param([retrieval("a", "n1")], False, id="all told"),
        pytest.param([retrieval("a", "n1"), retrieval("b")], True, id="one hidden"),
        pytest.param([retrieval("a", "n1"), retrieval("b", error="x")], False, id="one failed"),
        pytest.param([span("a", "r", TOOL)], False, id="no retrieval"),
    ],
)
def test_a_retrieval_that_does_not_tell_what_it_found_is_noted(spans, hides):
    assert of(span("r"), *spans).hides_documents is hides
    assert not of(span("r"), *spans, told=Declared(retrieved_ids=frozenset({"n1"}))).hides_documents


def test_the_app_may_say_what_was_retrieved():
    """With content capture off."""
    found = of(span("r"), retrieval("a"), told=Declared(retrieved_ids=frozenset({"N1"})))
    assert (found.retrieved_ids, found.retrieval_span_id) == ({"n1"}, "a")


CUT = ("asyncio.CancelledError", "")
ENDINGS = [
    pytest.param([span("r", attributes=AGENT)], {}, Ending.ANSWERED, None, id="nothing says that it should answer"),
    pytest.param([span("r", attributes=AGENT, error="x")], {}, Ending.BROKEN, "r", id="the root broke"),
    pytest.param([span("r", attributes=OWING)], {}, Ending.BROKEN, "r", id="it owed an answer"),
    pytest.param([span("r", attributes=answered(draft(), OWING))], {}, Ending.ANSWERED, None, id="it gave it"),
    pytest.param([span("r", attributes=OWING)], {"told": Declared(paused=True)}, Ending.ANSWERED, None, id="it waits"),
    pytest.param(
        [span("r", attributes=OWING)], {"told": Declared(answer="x")}, Ending.ANSWERED, None, id="the app knows"
    ),
    pytest.param(
        [span("r", attributes={**OWING, names.ANSWER_TYPOLOGY: "a"})], {}, Ending.ANSWERED, None, id="half known"
    ),
    pytest.param([span("r"), span("g", "r", OWING)], {}, Ending.BROKEN, "r", id="its agent owed one"),
    pytest.param(
        [span("r", attributes=AGENT), span("g", "r", OWING)], {}, Ending.ANSWERED, None, id="an agent of its own agent"
    ),
    pytest.param([span("r"), span("n", "r"), span("g", "n", OWING)], {}, Ending.ANSWERED, None, id="one further down"),
    pytest.param([span("r", attributes=answered(" None ", AGENT))], {}, Ending.BROKEN, "r", id="it says none"),
    pytest.param([span("r", attributes=AGENT, exception=CUT, error="")], {}, Ending.CANCELLED, None, id="it was cut"),
    pytest.param(
        [span("r", attributes=answered("x"), exception=("GeneratorExit", ""), error="")],
        {},
        Ending.ANSWERED,
        None,
        id="its reader left after the answer",
    ),
    pytest.param(
        [span("r", attributes=AGENT, exception=("GeneratorExit", ""), error="")],
        {},
        Ending.CANCELLED,
        None,
        id="its reader left before",
    ),
    pytest.param(
        [span("r", attributes=answered("x")), span("t", "r", TOOL, exception=CUT, error="")],
        {},
        Ending.ANSWERED,
        None,
        id="a cut call in a run that answered",
    ),
    pytest.param(
        [span("r", attributes={**OWING, names.ANSWER_TYPOLOGY: "a"}), span("t", "r", TOOL, exception=CUT, error="")],
        {},
        Ending.ANSWERED,
        None,
        id="a cut call in a run of which only the typology is known",
    ),
    pytest.param(
        [span("r", attributes=OWING), span("t", "r", TOOL, exception=CUT, error="")],
        {},
        Ending.CANCELLED,
        None,
        id="a cut call in one that did not",
    ),
]


@pytest.mark.parametrize(("spans", "more", "ending", "broken_at"), ENDINGS)
def test_how_a_run_ended(spans, more, ending, broken_at):
    """Without an answer it is only bad where one would have been recorded."""
    found = of(*spans, **more)
    assert (found.ending, found.broken_at and found.broken_at.span_id) == (ending, broken_at)


def test_unknown_tools_are_told_by_the_call_alone():
    """Where content is off: the failed call is of a tool that no model was offered."""

    def offering(*tools):
        return {**CHAT, names.GEN_AI_TOOLS_OFFERED: json.dumps([{"name": name} for name in tools])}

    call = span("t", "r", TOOL, error="x")
    assert [each.error_type for each in of(span("r"), span("m", "r", offering("other")), call).broken_outputs] == [
        "unknown_tool"
    ]
    for models in ([offering("search")], [offering("other"), offering("search")], [offering("other"), CHAT], []):
        spans = [span(f"m{number}", "r", each) for number, each in enumerate(models)]
        found = of(span("r"), *spans, call)
        assert (len(found.failed_calls), found.broken_outputs) == (1, ())


def test_a_literal_contract_counts_what_was_made_good():
    """`recovered="failure"`: any tool error, in the order of time."""
    spans = [
        span("r"),
        span("a", "r", TOOL, error="x", ended_at=5),
        span("b", "r", TOOL, started_at=6, ended_at=7),
        span("c", "r", {**TOOL, names.GEN_AI_TOOL: "other"}, error="y", ended_at=3),
    ]
    usual, literal = of(*spans), of(*spans, contract=Contract(recovered="failure"))
    assert [each.span_id for each in usual.failed_calls] == ["c"]
    assert [each.span_id for each in usual.recovered_calls] == ["a"]
    assert [each.span_id for each in literal.failed_calls] == ["c", "a"]
    assert literal.recovered_calls == ()


KNOWN = [
    pytest.param({}, [span("r", attributes=TOOL)], True, id="all was seen"),
    pytest.param({"more_calls": True}, [span("r")], True, id="calls beside these were seen"),
    pytest.param({}, [span("r")], False, id="no call was recorded"),
    pytest.param({}, [span("r"), span("a", "r", client=True)], True, id="a client's call was recorded"),
    pytest.param(
        {"more_calls": True}, [span("r"), span("a", "r", error="x")], False, id="an error nobody marked as a call"
    ),
    pytest.param({"incomplete": True}, [span("r", attributes=TOOL)], False, id="the root ended early"),
    pytest.param({"unseen": True}, [span("r", attributes=TOOL)], False, id="a limit was hit"),
    pytest.param(
        {}, [span("r", attributes={**TOOL, names.GEN_AI_RESULT: "{" + " " * 40_000})], False, id="a result was cut"
    ),
]


@pytest.mark.parametrize(("more", "spans", "is_known"), KNOWN)
def test_an_absence_of_errors_proves_something_only_if_all_was_seen(more, spans, is_known):
    """Else the check is unchecked."""
    found = of(*spans, **more)
    assert found.calls_known is is_known
    assert found.incomplete is more.get("incomplete", False)


@pytest.mark.slow
def test_a_deep_run_is_safe_and_fast():
    """No recursion and nothing quadratic."""

    def readings(size):
        spans = [span("r")] + [span(f"s{at}", f"s{at - 1}" if at else "r", answered("x")) for at in range(size)]
        return [read(each) for each in spans]

    assert facts(readings(20_000), "r").answer_span_id == "s0"
    assert effort.grows_as_fast_as_its_input(lambda size: partial(facts, readings(size), "r"))


GRAPH = "openinference.instrumentation.langchain"
CHAIN = {names.OPENINFERENCE_KIND: "CHAIN"}
CUT = {names.ERROR_TYPE: "asyncio.CancelledError"}


def in_case(*spans, **more):
    """Fold spans below a case that ended well."""
    return of(span("r", scope=names.OUR_SCOPE, ended_at=100), *spans, **more)


def test_the_outermost_span_of_a_framework_is_the_case_s_agent():
    """A graph's root calls itself a chain, and alone holds the structured answer."""
    known = in_case(
        span("web", "r", ended_at=90),
        span("g", "web", answered(draft("a", "T-1"), CHAIN), scope=GRAPH, ended_at=80),
        span("n", "g", answered(draft("b"), CHAIN), scope=GRAPH, ended_at=70),
    )
    assert (known.typology, known.cited_ids, known.answer_span_id) == ("a", frozenset({"t-1"}), "g")


@pytest.mark.parametrize(
    ("attributes", "more", "ending"),
    [
        (CHAIN, {}, Ending.ANSWERED),
        ({**CHAIN, **CUT}, {"error": ""}, Ending.CANCELLED),
        (CHAIN, {"error": "recursion limit"}, Ending.BROKEN),
    ],
)
def test_how_it_ends_is_how_the_run_ends(attributes, more, ending):
    """The app looked after it, so that the case itself ended well."""
    assert in_case(span("g", "r", attributes, scope=GRAPH, **more)).ending is ending


def test_an_answer_counts_as_accepted_only_where_the_agent_ended_well():
    """Else a refused answer would count as repaired by nothing."""
    refused = span("m", "g", CHAT, exception=("langchain.OutputParserException", "no"), error="no", ended_at=5)
    assert in_case(span("g", "r", CHAIN, scope=GRAPH, error="gave up"), refused).broken_outputs
    assert in_case(span("g", "r", CHAIN, scope=GRAPH), refused).recovered_outputs


def test_below_a_span_that_never_ended_nothing_is_the_case_s_agent():
    """Nobody knows what it was; a step of it is no answer."""
    assert in_case(span("s", "never", answered(draft("a"), CHAIN), scope=GRAPH)).typology is None


def test_a_list_of_calls_that_wait_for_a_person_is_no_answer():
    """pydantic-ai gives it as the final result."""
    waiting = {**AGENT, names.PYDANTIC_AI_FINAL: '{"calls": [], "approvals": [{"tool": "x"}], "metadata": {}}'}
    known = of(span("r", attributes=waiting), contract=Contract(answer=dict[str, int]))
    assert (known.answer_valid, known.paused) == (None, True)


def test_an_answer_that_the_framework_refused_is_counted_once():
    """By the framework's own word, though it breaks the contract too."""
    said = [{"role": "assistant", "parts": [{"type": "tool_call", "name": "Draft", "arguments": {"typology": "x"}}]}]
    contract = Contract(answer={"title": "Draft", "type": "object", "required": ["cited_tx_ids"]})
    spans = [
        span("r", attributes=answered(draft("a", "T-1")), ended_at=100),
        span("m", "r", {**CHAT, names.GEN_AI_OUTPUT: json.dumps(said)}, ended_at=5),
        span("s", "r", exception=("langchain.OutputParserException", "no"), error="no", ended_at=6),
        span("n", "r", answered(draft("a", "T-1"), CHAT), started_at=7, ended_at=9),
    ]
    readings = [read(each, contract) for each in spans]
    assert len(facts(readings, "r", contract=contract).recovered_outputs) == 1
    assert len(facts(readings[:2] + readings[3:], "r", contract=contract).recovered_outputs) == 1


def test_a_last_word_before_an_error_was_never_accepted():
    """The run died before the framework had looked at it: what it refused until then was not made good."""
    refused = span("t", "r", TOOL, exception=("langchain.OutputParserException", "no"), error="no", ended_at=5)
    last = span("m", "r", answered(draft("a"), CHAT), ended_at=9)
    assert of(span("r", attributes=AGENT, ended_at=10, error="limit"), refused, last).broken_outputs
    assert of(span("r", attributes=AGENT, ended_at=10), refused, last).recovered_outputs
