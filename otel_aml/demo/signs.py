"""The signs an AML analyst looks for, and the words that name each of them.

Rules see signs in transactions; the scripted model and the judge see them in texts. This is the one lexicon that
both sides share, so that a note, a draft and a finding of the rule engine can be compared.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Sign(StrEnum):
    """One thing that can be seen in the activity of an account."""

    NEAR_LIMIT = "near_limit"
    MANY_BRANCHES = "many_branches"
    SHORT_WINDOW = "short_window"
    ONE_AREA_CASH = "one_area_cash"
    DRAWN_ELSEWHERE = "drawn_elsewhere"
    SAME_DAY_FORWARD = "same_day_forward"
    NEARLY_EMPTY = "nearly_empty"
    MANY_SENDERS = "many_senders"
    STAYS_PUT = "stays_put"
    MANY_RECEIVERS = "many_receivers"
    ONE_LARGE_CREDIT = "one_large_credit"
    COLLECT_THEN_SPREAD = "collect_then_spread"
    COMMON_DESTINATION = "common_destination"
    RETURNS = "returns"
    SHRINKING = "shrinking"
    STEADY_TAKINGS = "steady_takings"
    SOME_ABOVE = "some_above"
    SAME_PAYEES = "same_payees"
    PAY_DAY = "pay_day"
    SAME_PAYERS = "same_payers"
    RENT_DAY = "rent_day"
    LIVING_COSTS = "living_costs"
    OTHER_DEPOSITORS = "other_depositors"
    RECRUITED_HOLDER = "recruited_holder"
    INVOICE_MISMATCH = "invoice_mismatch"
    PHANTOM_SHIPMENT = "phantom_shipment"
    NO_PREMISES = "no_premises"
    HIDDEN_OWNER = "hidden_owner"
    NEW_HABIT = "new_habit"
    DORMANT_BEFORE = "dormant_before"


PHRASES: Final[Mapping[Sign, str]] = MappingProxyType(
    {
        Sign.NEAR_LIMIT: "just under the reporting limit",
        Sign.MANY_BRANCHES: "at several branches",
        Sign.SHORT_WINDOW: "within a few days",
        Sign.ONE_AREA_CASH: "paid in across one area",
        Sign.DRAWN_ELSEWHERE: "drawn in a distant area",
        Sign.SAME_DAY_FORWARD: "sent on the same day",
        Sign.NEARLY_EMPTY: "almost nothing is left behind",
        Sign.MANY_SENDERS: "many unrelated senders",
        Sign.STAYS_PUT: "the money then rests",
        Sign.MANY_RECEIVERS: "many first-time receivers",
        Sign.ONE_LARGE_CREDIT: "one large credit beforehand",
        Sign.COLLECT_THEN_SPREAD: "collected first and spread afterwards",
        Sign.COMMON_DESTINATION: "meets again in one account",
        Sign.RETURNS: "comes back to where it began",
        Sign.SHRINKING: "a little smaller at every hop",
        Sign.STEADY_TAKINGS: "a steady trading rhythm",
        Sign.SOME_ABOVE: "some deposits exceed the limit",
        Sign.SAME_PAYEES: "the same payees every month",
        Sign.PAY_DAY: "on the usual pay day",
        Sign.SAME_PAYERS: "the same payers every month",
        Sign.RENT_DAY: "on the first days of the month",
        Sign.LIVING_COSTS: "ordinary living costs",
        Sign.OTHER_DEPOSITORS: "deposited by different people",
        Sign.RECRUITED_HOLDER: "holder was recruited",
        Sign.INVOICE_MISMATCH: "invoices do not match the goods",
        Sign.PHANTOM_SHIPMENT: "no cargo ever moved",
        Sign.NO_PREMISES: "neither staff nor premises",
        Sign.HIDDEN_OWNER: "owner cannot be traced",
        Sign.NEW_HABIT: "breaks with the account's history",
        Sign.DORMANT_BEFORE: "long asleep before",
    },
)

_DENIAL: Final = r"\b(?:no|not|never|without)\s+(?:any\s+)?(?:signs?\s+(?:of|that)\s+)?"


@lru_cache(maxsize=256)
def signs_in(text: str) -> frozenset[Sign]:
    """Find the signs that a text affirms."""
    folded = " ".join(text.casefold().split())
    return frozenset(sign for sign, phrase in PHRASES.items() if _affirms(folded, phrase))


def signs_denied_in(text: str) -> frozenset[Sign]:
    """Find the signs that a text denies: "no sign of ...", "without ..."."""
    folded = " ".join(text.casefold().split())
    return frozenset(
        sign for sign, phrase in PHRASES.items() if phrase in folded and re.search(_DENIAL + re.escape(phrase), folded)
    )


def _affirms(folded: str, phrase: str) -> bool:
    return phrase in folded and phrase in re.sub(_DENIAL + re.escape(phrase), " ", folded)
