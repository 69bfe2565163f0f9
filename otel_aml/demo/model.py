"""A scripted model: it writes the query, asks for tools and drafts the report, from what it is given.

It never sees a label. What it does wrong comes from its `Habits`, which are real behaviour: a model that drops a field
really leaves it out of the JSON.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from otel_aml.demo.cases import Typology
from otel_aml.demo.rules import runner_up, typology_of
from otel_aml.demo.signs import PHRASES, Sign, signs_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otel_aml.demo.cases import CaseFile, Transaction
    from otel_aml.demo.notes import Note
    from otel_aml.demo.rules import Assessment

NOTICE: Final = "DRAFT - an officer must review this before anything is filed."
ATTENTION: Final = 3
"""So many notes the model reads; what comes after them it does not."""
CITATIONS: Final = 12
"""So many transactions a draft cites at most."""
WINDOW_DAYS: Final = 90


class SarDraft(BaseModel):
    """The answer's contract: the five Ws and the how, a typology, the transactions that show it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    notice: str = Field(min_length=1)
    who: str = Field(min_length=1)
    what: str = Field(min_length=1)
    when: str = Field(min_length=1)
    where: str = Field(min_length=1)
    why: str = Field(min_length=1)
    how: str = Field(min_length=1)
    typology: Typology
    cited_tx_ids: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How the model misbehaves; by default it does not.

    Args:
        follows_notes: It takes the typology from the notes it read, else from the signs. Both agree on a good day.
        vague_query: It asks the retriever in words that fit every case.
        bad_arguments: So many times it writes arguments that do not fit the rule engine's schema.
        pages_on: It asks for page after page of the account's history instead of drafting.
        dropped_field: A field of the draft that it leaves out.
        writes_prose: It answers in prose instead of JSON.
        broken_drafts: So many drafts suffer from the two above.
        invents: It adds a citation that continues the series of ids, in so many drafts.
        invents_when_blind: It does so whenever it has no assessment to cite from.
        misreads: It settles for the runner-up among the typologies.
    """

    follows_notes: bool = False
    vague_query: bool = False
    bad_arguments: int = 0
    pages_on: bool = False
    dropped_field: str = ""
    writes_prose: bool = False
    broken_drafts: int = 0
    invents: int = 0
    invents_when_blind: bool = False
    misreads: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """All that the model has when it drafts.

    Args:
        signs: What the agent saw at first glance.
        notes: As retrieved, best first.
        assessment: The rule engine's word; None if it gave none.
        drafts_before: How many drafts were rejected already.
    """

    file: CaseFile
    signs: tuple[Sign, ...]
    notes: tuple[Note, ...]
    assessment: Assessment | None
    drafts_before: int

    @property
    def size(self) -> int:
        """Its length in words, about what a provider counts."""
        words = sum(len(note.text.split()) for note in self.notes)
        return words + 6 * len(self.file.transactions)


PARAPHRASES: Final[Mapping[Sign, tuple[str, str]]] = MappingProxyType(
    {
        Sign.NEAR_LIMIT: (
            "cash pieces slightly beneath the ten thousand threshold",
            "sums of cash a little short of the threshold that triggers a report",
        ),
        Sign.MANY_BRANCHES: (
            "the customer changes counters and offices in turn",
            "handed over at different offices, sometimes two on one afternoon",
        ),
        Sign.SHORT_WINDOW: ("all in haste", "a larger sum broken up in haste"),
        Sign.ONE_AREA_CASH: (
            "banknotes taken in at nearby counters of a region",
            "modest sums of banknotes, counters close to each other",
        ),
        Sign.DRAWN_ELSEWHERE: (
            "cash withdrawal in another region a day later",
            "the holder takes the value out near a border in another region",
        ),
        Sign.SAME_DAY_FORWARD: (
            "incoming wires go to an onward beneficiary within hours",
            "large wires arrive and are passed onward in hours",
        ),
        Sign.NEARLY_EMPTY: ("only a small cut stayed", "the account is a corridor and keeps a small cut"),
        Sign.MANY_SENDERS: (
            "strangers with no common employer fund the holder",
            "remitters who share no surname or address pay in",
        ),
        Sign.STAYS_PUT: ("the pooled balance grows", "the balance grows and is not passed on yet"),
        Sign.MANY_RECEIVERS: (
            "divided among recipients who were never paid earlier",
            "portions for recipients nobody paid earlier",
        ),
        Sign.ONE_LARGE_CREDIT: (
            "the portions use up an incoming lump",
            "an incoming lump is divided in two or three days",
        ),
        Sign.COLLECT_THEN_SPREAD: (
            "the account is a hub, pooling and then distribution",
            "a hub with strangers on both sides, totals nearly agree",
        ),
        Sign.COMMON_DESTINATION: (
            "parallel intermediaries whose paths converge",
            "intermediaries feed a final account, paths converge",
        ),
        Sign.RETURNS: ("a chain of legs that ends at the first payer", "a round trip through a handful of accounts"),
        Sign.SHRINKING: ("a fee taken at each station of the loop", "amounts fall leg by leg along the loop"),
        Sign.STEADY_TAKINGS: (
            "revenue banked evening after evening near the till",
            "a retailer banks revenue on business days",
        ),
        Sign.SOME_ABOVE: ("larger when business is good", "a good business day brings more"),
        Sign.SAME_PAYEES: ("a constant list of employees", "employees receive a salary, constant over a quarter"),
        Sign.PAY_DAY: ("staff paid from revenue of clients", "an employer pays staff"),
        Sign.SAME_PAYERS: ("tenants whose amounts hardly change", "tenants pay for flats, amounts hardly change"),
        Sign.RENT_DAY: ("a landlord collects", "a housing association or landlord collects"),
        Sign.LIVING_COSTS: ("a salary, groceries and insurance", "salary in, groceries and a holiday out"),
    },
)
"""What the model calls a sign when it writes a query: never the name of a note."""

VAGUE: Final = "Review the activity of the customer account for the period and say what should be reported."


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """The model itself: three things it can be asked for."""

    habits: Habits

    def query(self, file: CaseFile, signs: tuple[Sign, ...]) -> str:
        """Write the query for the retriever: the signs in its own words."""
        if self.habits.vague_query:
            return VAGUE
        variant = zlib.crc32(file.case_id.encode()) % 2
        return "; ".join(PARAPHRASES[sign][variant] for sign in signs)

    def rule_arguments(self, file: CaseFile, *, calls_before: int) -> dict[str, Any]:
        """Write the arguments of the rule engine."""
        window: Any = "the whole quarter" if calls_before < self.habits.bad_arguments else WINDOW_DAYS
        return {"case_id": file.case_id, "window_days": window}

    def draft(self, prompt: Prompt) -> str:
        """Draft the report as JSON."""
        habits, is_broken = self.habits, prompt.drafts_before < self.habits.broken_drafts
        note = read(prompt)
        fields = {
            "notice": NOTICE,
            **narrative(prompt, note),
            "typology": str(self._typology(prompt, note)),
            "cited_tx_ids": list(self._citations(prompt)),
        }
        if is_broken and habits.writes_prose:
            return f"{NOTICE} {fields['why']} {fields['how']}"
        if is_broken:
            fields.pop(habits.dropped_field, None)
        return json.dumps(fields)

    def _typology(self, prompt: Prompt, note: Note | None) -> Typology:
        if self.habits.misreads:
            return runner_up(prompt.signs)
        if self.habits.follows_notes and prompt.notes:
            return Typology.NONE if note is None or note.typology is None else note.typology
        return typology_of(prompt.signs) if prompt.assessment is None else prompt.assessment.typology

    def _citations(self, prompt: Prompt) -> tuple[str, ...]:
        is_blind = prompt.assessment is None
        seen = _largest(prompt.file.transactions) if prompt.assessment is None else prompt.assessment.tx_ids
        cited = seen[:CITATIONS]
        if prompt.drafts_before < self.habits.invents or (is_blind and self.habits.invents_when_blind):
            return (*cited, _next_in_series(prompt.file.tx_ids[-1]))
        return cited


def read(prompt: Prompt) -> Note | None:
    """Pick the note to reason from: of the first few, the one whose signs fit best. None if none names a typology."""
    attended = [note for note in prompt.notes[:ATTENTION] if note.typology is not None]
    seen = frozenset(prompt.signs)
    return max(attended, key=lambda note: len(signs_in(note.text) & seen), default=None)


def narrative(prompt: Prompt, note: Note | None) -> dict[str, str]:
    """Write who, what, when, where, why and how."""
    rows = prompt.file.transactions
    first, last = rows[0].tran_timestamp.date(), rows[-1].tran_timestamp.date()
    return {
        "who": f"The holder of account {prompt.file.subject}.",
        "what": f"{len(rows)} transactions worth {sum(row.base_amt for row in rows):,.2f} US dollars.",
        "when": f"From {first.isoformat()} to {last.isoformat()}.",
        "where": f"Counterparties: {', '.join(sorted(_counterparties(prompt.file))[:8])}.",
        "why": _why(prompt, note),
        "how": _how(prompt, note),
    }


def _why(prompt: Prompt, note: Note | None) -> str:
    if note is not None:
        return f"The activity is read by note {note.note_id}."
    source = "the first look at the account" if prompt.assessment is None else "the rule engine"
    return f"No note on a typology was at hand; the activity is read by {source}."


def _how(prompt: Prompt, note: Note | None) -> str:
    signs = frozenset(prompt.signs) if note is None else signs_in(note.text)
    phrases = "; ".join(PHRASES[sign] for sign in Sign if sign in signs)
    return f"Method of operation: {phrases or 'nothing out of the ordinary'}."


def _counterparties(file: CaseFile) -> set[str]:
    return {account for row in file.transactions for account in (row.orig_acct, row.bene_acct)} - {file.subject}


def _largest(transactions: tuple[Transaction, ...]) -> tuple[str, ...]:
    by_amount = sorted(transactions, key=lambda row: (-row.base_amt, row.tran_id))
    return tuple(row.tran_id for row in by_amount[:CITATIONS])


def _next_in_series(tx_id: str) -> str:
    stem, _, number = tx_id.rpartition("-")
    return f"{stem}-{int(number) + 1:03d}"
