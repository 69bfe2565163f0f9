"""Notes and retriever: the needed note is found by a query that does not name it."""

import re
from random import Random

import pytest

from otel_aml.demo.cases import CASE_TYPOLOGIES, LABELS, CaseKind, draw_cases
from otel_aml.demo.model import ATTENTION, PARAPHRASES, VAGUE, Habits, Prompt, ScriptedModel, read
from otel_aml.demo.notes import BY_ID, NOTES
from otel_aml.demo.retriever import TOP_K, Retriever, match_expression
from otel_aml.demo.rules import RULES, observe
from otel_aml.demo.signs import PHRASES, signs_in

CASES = [case for seed in range(10) for case in draw_cases(Random(seed), seed=seed, count=60)]
LEADING = ("typ", "ord", "how")


def query_of(case):
    return ScriptedModel(Habits()).query(case.file, observe(case.file))


def stems(text):
    """Fold words as a leakage check does: lower case, no punctuation, no simple endings."""
    return {re.sub(r"(ing|ed|es|s|e)$", "", word) for word in re.findall(r"[a-z]+", text.casefold())}


def test_there_are_about_twenty_notes_of_readable_length():
    """Enough that top-k is a choice."""
    assert len(NOTES) >= 20
    assert len(BY_ID) == len(NOTES)
    assert all(30 <= len(note.text.split()) <= 120 for note in NOTES)


@pytest.mark.parametrize("kind", [kind for kind in CaseKind if LABELS[kind].needed_notes])
def test_the_needed_note_is_among_those_the_model_reads(kind):
    """On a day without faults nothing is missed, and nothing is drowned."""
    for case in (case for case in CASES if case.kind is kind):
        found = [hit.note.note_id for hit in Retriever(NOTES).search(query_of(case))]
        assert set(case.needed_notes) <= set(found[:ATTENTION])
        assert len(found) <= TOP_K


@pytest.mark.parametrize("kind", CaseKind)
def test_the_model_reasons_from_the_needed_note(kind):
    """Of the notes that it reads, it is the one whose signs fit."""
    case = next(case for case in CASES if case.kind is kind)
    notes = tuple(hit.note for hit in Retriever(NOTES).search(query_of(case)))
    signs = observe(case.file)
    note = read(Prompt(file=case.file, signs=signs, notes=notes, assessment=None, drafts_before=0))
    assert note.typology is case.typology


def test_queries_do_not_contain_the_answer():
    """High recall on queries that name the note is structure, not retrieval."""
    for case in CASES:
        query = stems(query_of(case))
        for note_id in case.needed_notes:
            slug = stems(note_id.replace("-", " ")) - set(LEADING)
            assert not slug <= query
            assert not stems(BY_ID[note_id].title) <= query


def test_queries_are_paraphrases():
    """No query repeats a phrase of the lexicon, which the notes are written in."""
    assert not any(
        phrase in variant.casefold()
        for variants in PARAPHRASES.values()
        for variant in variants
        for phrase in PHRASES.values()
    )


def test_a_vague_query_finds_no_note_on_a_typology():
    """It fits every case, and so it finds the notes on duties."""
    assert {hit.note.typology for hit in Retriever(NOTES).search(VAGUE)} == {None}


@pytest.mark.parametrize("typology", CASE_TYPOLOGIES)
def test_a_note_names_the_signs_that_the_rule_engine_looks_for(typology):
    """Rules and notes say the same in their own words."""
    note = next(note for note in NOTES if note.typology is typology)
    rule = next(rule for rule in RULES if rule.typology is typology)
    assert signs_in(note.text) == rule.signs


def test_better_matches_come_first_and_ties_have_an_order():
    """Two runs of the same query give the same list."""
    hits = Retriever(NOTES).search("strangers fund the holder of a hub")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits == Retriever(NOTES).search("strangers fund the holder of a hub")


@pytest.mark.parametrize("query", ["", "the of and", '" OR *', "näher; drop table"])
def test_odd_queries_are_searched_and_not_executed(query):
    """The query is text of a model: it must not be able to break the expression."""
    assert isinstance(Retriever(NOTES).search(query), tuple)
    assert '""' not in match_expression(query)
