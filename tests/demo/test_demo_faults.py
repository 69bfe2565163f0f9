"""Faults: each acts through the thing that it breaks, and they are dealt as the truth says."""

import asyncio
from collections import Counter
from itertools import combinations
from math import comb

import pytest

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.demo import DEFAULT_CASES, DEFAULT_SEED
from otel_aml.demo.agent import STEP_BUDGET, StepBudgetSpent, is_valid
from otel_aml.demo.cases import CaseKind, Typology
from otel_aml.demo.faults import (
    DROPPABLE,
    NOISE,
    RETRIEVER_RATES,
    SEEDED_CASCADES,
    SIMULATED,
    Ending,
    FormFault,
    ProviderFault,
    RetrieverFault,
    RulesFault,
    deal,
    misleading,
)
from otel_aml.demo.judge import context_used
from otel_aml.demo.model import NOTICE
from otel_aml.demo.notes import BY_ID
from otel_aml.demo.provider import FALLBACK_MODEL, MODEL, RateLimitError
from otel_aml.demo.truth import truth

RULES = "execute_tool rule_engine"
RETRIEVAL = "retrieval typology-notes"


def statuses(spans):
    return [span.status.is_ok or span.status.is_unset for span in spans]


@pytest.mark.parametrize("kind", CaseKind)
@pytest.mark.parametrize("follows_notes", [True, False], ids=["by the notes", "by the rules"])
def test_without_a_fault_the_draft_is_right(travel, kind, follows_notes):
    """Right typology, real citations, a use of the note, and every span well."""
    trip = travel(kind=kind, follows_notes=follows_notes, invents_when_blind=True)
    assert trip.draft["typology"] == trip.case.typology
    assert set(trip.draft["cited_tx_ids"]) <= set(trip.case.file.tx_ids)
    assert all(context_used(BY_ID[note], trip.outcome.answer) for note in trip.case.needed_notes)
    assert is_valid(trip.outcome.answer)
    assert all(statuses(trip.spans))


def test_a_draft_says_that_it_is_one(travel):
    """Nothing that the demo writes can be taken for a filing."""
    assert travel().draft["notice"] == NOTICE


def test_a_rule_engine_that_is_down_exhausts_its_retries(travel):
    """Four calls, all timed out, none made good."""
    trip = travel(rules=RulesFault.DOWN)
    calls = trip.named(RULES)
    assert statuses(calls) == [False] * 4
    assert {call.attributes["error.type"] for call in calls} == {"TimeoutError"}


def test_its_retries_use_up_the_window_of_the_model(travel):
    """The model is asked about every timeout; when it should draft, its provider refuses, and a smaller one drafts."""
    trip = travel(rules=RulesFault.DOWN)
    refused = [span for span in trip.named(f"chat {MODEL}") if not span.status.is_unset]
    assert len(refused) == 1
    assert refused[0].attributes["error.type"].endswith("RateLimitError")
    assert statuses(trip.named(f"chat {FALLBACK_MODEL}")) == [True]


def test_a_model_without_an_assessment_invents(travel):
    """The cascade's last link: it continues the series of ids."""
    trip = travel(rules=RulesFault.DOWN, invents_when_blind=True)
    assert len(set(trip.draft["cited_tx_ids"]) - set(trip.case.file.tx_ids)) == 1
    assert not set(travel(rules=RulesFault.DOWN).draft["cited_tx_ids"]) - set(trip.case.file.tx_ids)


def test_a_rule_engine_that_is_down_once_is_asked_again(travel):
    """A retry makes it good."""
    trip = travel(rules=RulesFault.DOWN_ONCE, invents_when_blind=True)
    assert statuses(trip.named(RULES)) == [False, True]
    assert set(trip.draft["cited_tx_ids"]) <= set(trip.case.file.tx_ids)


def test_bad_arguments_are_refused_before_the_engine_runs(travel):
    """The schema refuses them, and the model writes better ones."""
    refused, accepted = travel(rules=RulesFault.BAD_ARGUMENTS_ONCE).named(RULES)
    assert refused.attributes["error.type"].endswith("ValidationError")
    assert accepted.status.is_unset


def test_a_retriever_that_is_down_is_done_without(travel):
    """Three calls fail; the draft rests on the rule engine."""
    trip = travel(retriever=RetrieverFault.DOWN)
    assert statuses(trip.named(RETRIEVAL)) == [False] * 3
    assert trip.outcome.retrieved is None
    assert trip.handle.ids is None
    assert trip.draft["typology"] == trip.case.typology


def test_a_retriever_that_is_down_once_is_asked_again(travel):
    """A retry makes it good."""
    trip = travel(retriever=RetrieverFault.DOWN_ONCE)
    assert statuses(trip.named(RETRIEVAL)) == [False, True]
    assert set(trip.case.needed_notes) <= set(trip.outcome.retrieved)


MISSES = [
    pytest.param(RetrieverFault.STALE_INDEX, kind, id=f"stale index, {kind}")
    for kind in CaseKind
    if kind is not CaseKind.HOUSEHOLD
] + [pytest.param(RetrieverFault.VAGUE_QUERY, kind, id=f"vague query, {kind}") for kind in list(CaseKind)[:8]]


@pytest.mark.parametrize(("fault", "kind"), MISSES)
def test_a_missed_note_leads_to_a_wrong_typology(travel, fault, kind):
    """The retriever really returns other notes; a model that follows them goes wrong, one that does not stays right."""
    misled, steady = (travel(retriever=fault, kind=kind, follows_notes=follows) for follows in (True, False))
    assert not set(misled.case.needed_notes) & set(misled.outcome.retrieved)
    assert misled.draft["typology"] != misled.case.typology
    assert steady.draft["typology"] == steady.case.typology


@pytest.mark.parametrize("kind", [kind for kind in CaseKind if kind is not CaseKind.HOUSEHOLD])
def test_noise_drowns_the_needed_note(travel, kind):
    """The note is in the top-k, below the noise; the judge sees that the answer does not use it."""
    readings = misleading(travel(kind=kind).case)[:NOISE]
    misled, steady = (
        travel(retriever=RetrieverFault.POLLUTED_INDEX, readings=readings, kind=kind, follows_notes=follows)
        for follows in (True, False)
    )
    needed = misled.case.needed_notes[0]
    assert needed in misled.outcome.retrieved[NOISE:]
    assert not context_used(BY_ID[needed], misled.outcome.answer)
    assert not context_used(BY_ID[needed], steady.outcome.answer)
    assert misled.draft["typology"] in readings
    assert steady.draft["typology"] == steady.case.typology


def test_a_provider_that_is_down_ends_the_run(travel):
    """Four refusals, no draft, and the error goes through the agent's span."""
    trip = travel(provider=ProviderFault.DOWN)
    assert isinstance(trip.error, RateLimitError)
    assert trip.outcome.answer is None
    assert sum(not span.status.is_unset for span in trip.spans if span.name.startswith("chat")) == 4


def test_a_busy_provider_is_waited_for(travel):
    """One refusal, a short wait on the virtual clock, then a draft of the same model."""
    trip = travel(provider=ProviderFault.BUSY_ONCE)
    assert statuses(trip.named(f"chat {MODEL}")) == [True, False, True]
    assert trip.desk.clock.now_seconds == 2.0


@pytest.mark.parametrize("field", DROPPABLE)
def test_a_model_that_drops_a_field_drops_it_in_every_repair(travel, field):
    """Three drafts, all without the field; the last one is handed in."""
    trip = travel(form=FormFault.DROPS_FIELD, dropped_field=field)
    assert len(trip.handle.answers) == 3
    assert field not in trip.draft
    assert not is_valid(trip.outcome.answer)


def test_a_model_that_writes_prose_writes_no_json(travel):
    """Nothing can be read from it by code."""
    trip = travel(form=FormFault.PROSE)
    assert len(trip.handle.answers) == 3
    with pytest.raises(ValueError, match="Expecting value"):
        _ = trip.draft


def test_a_broken_draft_is_repaired(travel):
    """The second draft fits."""
    first, second = travel(form=FormFault.REPAIRED).handle.answers
    assert not is_valid(first)
    assert is_valid(second)


def test_a_lucky_repair_hides_an_invention(travel):
    """The first draft cited what is not there, the second does not."""
    trip = travel(form=FormFault.LUCKY_REPAIR)
    first, second = trip.handle.answers
    invented = f"{trip.case.file.tx_ids[-1][:-3]}{len(trip.case.file.tx_ids) + 1:03d}"
    assert invented in first
    assert invented not in second


def test_a_model_can_invent_and_misread_by_itself(travel):
    """Not every failure has a cause outside the model."""
    trip = travel(invents=True, misreads=True)
    assert set(trip.draft["cited_tx_ids"]) - set(trip.case.file.tx_ids)
    assert trip.draft["typology"] not in {trip.case.typology, Typology.NONE}
    assert context_used(BY_ID[trip.case.needed_notes[0]], trip.outcome.answer)


@pytest.mark.parametrize(
    ("ending", "cut"),
    [(Ending.CANCELLED, asyncio.CancelledError), (Ending.INTERRUPTED, KeyboardInterrupt)],
)
def test_a_cut_goes_through_the_run(travel, ending, cut):
    """No span shows it as an error; it is marked, so that a real interrupt is not swallowed."""
    trip = travel(ending=ending)
    assert type(trip.error) is cut
    assert trip.error.args == (SIMULATED,)
    assert all(statuses(trip.spans))


def test_an_approval_pauses_the_run(travel):
    """A person is asked before the draft; the run ends well, without an answer."""
    trip = travel(ending=Ending.APPROVAL)
    assert trip.handle.is_paused
    assert trip.outcome.answer is None
    assert trip.error is None


def test_an_agent_that_goes_in_circles_stops_itself(travel):
    """Its own error, and not one call failed."""
    trip = travel(ending=Ending.PAGES_ON)
    assert isinstance(trip.error, StepBudgetSpent)
    assert statuses(trip.named("execute_tool list_transactions")) == [True] * STEP_BUDGET
    assert [span.name for span in trip.spans if not span.status.is_unset] == ["invoke_agent aml-copilot"]


def test_faults_are_dealt_the_same_for_the_same_seed():
    """Cases and faults alike."""
    assert deal(7, 60) == deal(7, 60)


@pytest.mark.parametrize("seed", range(12))
def test_every_outcome_occurs_in_two_hundred_cases(seed):
    """All nine classes, pauses and recovered errors."""
    truths = [truth(demo_case) for demo_case in deal(seed, 200)]
    assert {each.failure_class for each in truths} == set(FailureClass)
    assert sum(each.paused for each in truths) >= 5
    assert sum(each.recovered for each in truths) >= 20
    assert any("hallucination:superseded" in each.findings for each in truths)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("cause", "effect"), SEEDED_CASCADES)
def test_seeded_cascades_are_seen_often_enough(seed, cause, effect):
    """Eight runs at least, or no test could tell them from chance."""
    findings = [truth(demo_case).findings for demo_case in deal(seed, 200)]
    assert sum(cause in found and effect in found for found in findings) >= 8


def upper_tail(runs, causes, effects, both):
    """Fisher's one-sided p: how likely so many go together by chance."""
    ways = (comb(causes, k) * comb(runs - causes, effects - k) for k in range(both, min(causes, effects) + 1))
    return sum(ways) / comb(runs, effects)


def test_only_the_seeded_pairs_go_together():
    """All other faults are dealt independently, so that a report has something to leave out."""
    findings = [
        set(truth(demo_case).findings)
        for demo_case in deal(DEFAULT_SEED, DEFAULT_CASES)
        if demo_case.plan.ending is None and demo_case.plan.provider is not ProviderFault.DOWN
    ]
    for one, other in combinations(FAILURES, 2):
        both = sum({one, other} <= found for found in findings)
        p = upper_tail(len(findings), sum(one in f for f in findings), sum(other in f for f in findings), both)
        assert (p < 0.001) is ((one, other) in SEEDED_CASCADES), (one, other, p)
        assert p < 0.001 or p > 0.05


def test_each_fault_gets_its_share():
    """Rates are met exactly: the faults come from a deck, not from a coin."""
    dealt = Counter(demo_case.plan.retriever for demo_case in deal(3, 200))
    shares = {fault: dealt[fault] for fault in RETRIEVER_RATES}
    assert shares == {fault: round(200 * rate) for fault, rate in RETRIEVER_RATES.items()}


def test_a_small_demo_still_shows_every_fault():
    """Each is dealt once at least."""
    assert {demo_case.plan.retriever for demo_case in deal(3, 40)} == {None, *RetrieverFault}
