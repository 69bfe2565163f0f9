"""A rule engine that reads signs off the transactions and names the typology that they make.

It sees accounts, amounts and times, never a label. Counterparties that come back month after month are ordinary
ones and take no part in a fan; amounts near the limit count only with several branches and few days.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel, ConfigDict, Field

from otel_aml.demo.cases import REPORTING_LIMIT, CaseFile, Transaction, TxType, Typology
from otel_aml.demo.signs import Sign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

NEAR: Final = 0.85
"""From this share of the limit on an amount is near it."""
FAN: Final = 6
"""So many counterparties make a fan."""
LARGE: Final = 5_000.0
"""From here on a transfer is large, in US dollars."""
MONTHS_OF_HABIT: Final = 3
"""Who was paid, or paid, in so many months is a regular."""
MANY_BRANCHES: Final = 3
NEAR_DEPOSITS: Final = 5
"""So many deposits near the limit are a sign; by itself it makes no typology."""
MIDDLEMEN: Final = 4
TRADING_DAYS: Final = 12
FEW_PAYERS: Final = 2
LONGEST_RING: Final = 6


class RuleArguments(BaseModel):
    """What the rule engine takes; the model writes it, so it is checked before the engine runs."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    case_id: str
    window_days: int = Field(ge=1, le=366)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the rule engine says.

    Args:
        signs: Every sign seen, in the order of the lexicon.
        tx_ids: The transactions that show it; for an ordinary account those that were reviewed.
    """

    typology: Typology
    signs: tuple[Sign, ...]
    tx_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Activity:
    """The transactions of a case, sorted by what they do to the subject."""

    subject: str
    all: tuple[Transaction, ...]
    deposits: tuple[Transaction, ...]
    withdrawals: tuple[Transaction, ...]
    received: tuple[Transaction, ...]
    sent: tuple[Transaction, ...]

    @classmethod
    def of(cls, file: CaseFile) -> Activity:
        """Sort the transactions of a case."""
        subject, rows = file.subject, file.transactions
        return cls(
            subject=subject,
            all=rows,
            deposits=tuple(row for row in rows if row.tx_type is TxType.CASH_DEPOSIT),
            withdrawals=tuple(row for row in rows if row.tx_type is TxType.CASH_WITHDRAWAL),
            received=tuple(row for row in rows if row.tx_type is TxType.TRANSFER and row.bene_acct == subject),
            sent=tuple(row for row in rows if row.tx_type is TxType.TRANSFER and row.orig_acct == subject),
        )

    @property
    def near_limit(self) -> tuple[Transaction, ...]:
        """Cash deposits near the reporting limit and below it."""
        return tuple(row for row in self.deposits if NEAR * REPORTING_LIMIT <= row.base_amt < REPORTING_LIMIT)

    @property
    def fan_in(self) -> tuple[Transaction, ...]:
        """Transfers from the most first-time senders within ten days."""
        return _widest_fan(self.received, _origin)

    @property
    def fan_out(self) -> tuple[Transaction, ...]:
        """Transfers to the most first-time receivers within ten days."""
        return _widest_fan(self.sent, _beneficiary)


def _origin(row: Transaction) -> str:
    return row.orig_acct


def _beneficiary(row: Transaction) -> str:
    return row.bene_acct


def _area(branch: str) -> str:
    return branch.split("-")[1]


def _within(rows: Sequence[Transaction], *, days: float) -> bool:
    if not rows:
        return False
    stamps = [row.tran_timestamp for row in rows]
    return max(stamps) - min(stamps) <= timedelta(days=days)


def _regulars(rows: Sequence[Transaction], counterparty: Callable[[Transaction], str]) -> frozenset[str]:
    """Name the counterparties of three transfers that lie about a month apart."""
    spaced: dict[str, list[Transaction]] = defaultdict(list)
    for row in rows:
        kept = spaced[counterparty(row)]
        if not kept or row.tran_timestamp - kept[-1].tran_timestamp >= timedelta(days=20):
            kept.append(row)
    return frozenset(account for account, kept in spaced.items() if len(kept) >= MONTHS_OF_HABIT)


def _widest_fan(
    rows: Sequence[Transaction],
    counterparty: Callable[[Transaction], str],
) -> tuple[Transaction, ...]:
    regulars = _regulars(rows, counterparty)
    fresh = [row for row in rows if counterparty(row) not in regulars]
    widest: tuple[Transaction, ...] = ()
    for start in fresh:
        window = tuple(
            row for row in fresh if timedelta(0) <= row.tran_timestamp - start.tran_timestamp <= timedelta(days=10)
        )
        if len({counterparty(row) for row in window}) > len({counterparty(row) for row in widest}):
            widest = window
    return widest if len({counterparty(row) for row in widest}) >= FAN else ()


def _is_near_limit(activity: Activity) -> bool:
    return len(activity.near_limit) >= NEAR_DEPOSITS


def _is_at_many_branches(activity: Activity) -> bool:
    return len({row.orig_acct for row in activity.near_limit}) >= MANY_BRANCHES


def _is_in_short_window(activity: Activity) -> bool:
    return _within(activity.near_limit, days=14)


def _is_paid_in_across_one_area(activity: Activity) -> bool:
    branches = {row.orig_acct for row in activity.deposits}
    return len(branches) >= MANY_BRANCHES and len({_area(branch) for branch in branches}) == 1


def _is_drawn_elsewhere(activity: Activity) -> bool:
    paid_in = {_area(row.orig_acct) for row in activity.deposits}
    drawn = {_area(row.bene_acct) for row in activity.withdrawals}
    return bool(paid_in) and len(activity.withdrawals) > 1 and not paid_in & drawn


def forwarded(activity: Activity) -> tuple[tuple[Transaction, Transaction], ...]:
    """Pair each large credit with the transfer that sends it on within a day."""
    return tuple(
        (credit, debit)
        for credit in activity.received
        for debit in activity.sent
        if credit.base_amt >= LARGE
        and timedelta(0) < debit.tran_timestamp - credit.tran_timestamp <= timedelta(days=1)
        and NEAR * credit.base_amt <= debit.base_amt <= credit.base_amt
    )


def _is_sent_on_same_day(activity: Activity) -> bool:
    return len(forwarded(activity)) > 1


def _is_nearly_empty(activity: Activity) -> bool:
    pairs = forwarded(activity)
    large = sum(row.base_amt for row in activity.received if row.base_amt >= LARGE)
    return bool(pairs) and sum(debit.base_amt for _, debit in pairs) >= 0.9 * large


def _has_many_senders(activity: Activity) -> bool:
    return bool(activity.fan_in)


def _has_many_receivers(activity: Activity) -> bool:
    return bool(activity.fan_out)


def _stays_put(activity: Activity) -> bool:
    gathered = activity.fan_in
    if not gathered:
        return False
    last = max(row.tran_timestamp for row in gathered)
    onward = sum(
        row.base_amt for row in activity.sent if timedelta(0) < row.tran_timestamp - last <= timedelta(days=14)
    )
    return onward < 0.5 * sum(row.base_amt for row in gathered)


def _large_credit(activity: Activity) -> Transaction | None:
    spread = activity.fan_out
    total = sum(row.base_amt for row in spread)
    start = min((row.tran_timestamp for row in spread), default=None)
    credits_before = (
        row
        for row in activity.received
        if start is not None
        and row.base_amt >= 0.8 * total
        and timedelta(days=-1) <= start - row.tran_timestamp <= timedelta(days=5)
    )
    return next(credits_before, None)


def _has_one_large_credit(activity: Activity) -> bool:
    return _large_credit(activity) is not None


def _collects_then_spreads(activity: Activity) -> bool:
    if not activity.fan_in or not activity.fan_out:
        return False
    collected = median(row.tran_timestamp.timestamp() for row in activity.fan_in)
    return collected < median(row.tran_timestamp.timestamp() for row in activity.fan_out)


def gathered_again(activity: Activity) -> tuple[Transaction, ...]:
    """Find the transfers by which the subject's receivers feed one account, four of them at least."""
    middles = {row.bene_acct for row in activity.sent}
    by_destination: dict[str, list[Transaction]] = defaultdict(list)
    for row in activity.all:
        if row.orig_acct in middles and row.bene_acct != activity.subject:
            by_destination[row.bene_acct].append(row)
    fullest = max(by_destination.values(), key=len, default=list[Transaction]())
    return tuple(fullest) if len({row.orig_acct for row in fullest}) >= MIDDLEMEN else ()


def _meets_again(activity: Activity) -> bool:
    return bool(gathered_again(activity))


def ring(activity: Activity) -> tuple[Transaction, ...]:
    """Find a chain of transfers that leaves the subject and comes back, each hop later and not larger."""
    for first in activity.sent:
        found = _follow((first,), activity)
        if found:
            return found
    return ()


def _follow(chain: tuple[Transaction, ...], activity: Activity) -> tuple[Transaction, ...]:
    last = chain[-1]
    if last.bene_acct == activity.subject:
        return chain
    if len(chain) == LONGEST_RING:
        return ()
    for row in activity.all:
        is_next = row.orig_acct == last.bene_acct and row.tran_timestamp > last.tran_timestamp
        if is_next and NEAR * last.base_amt <= row.base_amt <= last.base_amt:
            found = _follow((*chain, row), activity)
            if found:
                return found
    return ()


def _comes_back(activity: Activity) -> bool:
    return bool(ring(activity))


def _shrinks(activity: Activity) -> bool:
    chain = ring(activity)
    return bool(chain) and chain[-1].base_amt < chain[0].base_amt


def _is_steady(activity: Activity) -> bool:
    days = {row.tran_timestamp.date() for row in activity.deposits}
    branches = {row.orig_acct for row in activity.deposits}
    return len(days) >= TRADING_DAYS and len(branches) < MANY_BRANCHES


def _is_sometimes_above(activity: Activity) -> bool:
    return any(row.base_amt >= REPORTING_LIMIT for row in activity.deposits)


def _has_same_payees(activity: Activity) -> bool:
    return len(_regulars(activity.sent, _beneficiary)) >= FAN


def _has_same_payers(activity: Activity) -> bool:
    return len(_regulars(activity.received, _origin)) >= FAN


def _only_lives(activity: Activity) -> bool:
    is_small = all(row.base_amt < LARGE for row in activity.all)
    counterparties = {row.orig_acct for row in activity.received}
    return is_small and not activity.deposits and len(counterparties) <= FEW_PAYERS and not activity.fan_out


_SEES: Final[Mapping[Sign, Callable[[Activity], bool]]] = MappingProxyType(
    {
        Sign.NEAR_LIMIT: _is_near_limit,
        Sign.MANY_BRANCHES: _is_at_many_branches,
        Sign.SHORT_WINDOW: _is_in_short_window,
        Sign.ONE_AREA_CASH: _is_paid_in_across_one_area,
        Sign.DRAWN_ELSEWHERE: _is_drawn_elsewhere,
        Sign.SAME_DAY_FORWARD: _is_sent_on_same_day,
        Sign.NEARLY_EMPTY: _is_nearly_empty,
        Sign.MANY_SENDERS: _has_many_senders,
        Sign.STAYS_PUT: _stays_put,
        Sign.MANY_RECEIVERS: _has_many_receivers,
        Sign.ONE_LARGE_CREDIT: _has_one_large_credit,
        Sign.COLLECT_THEN_SPREAD: _collects_then_spreads,
        Sign.COMMON_DESTINATION: _meets_again,
        Sign.RETURNS: _comes_back,
        Sign.SHRINKING: _shrinks,
        Sign.STEADY_TAKINGS: _is_steady,
        Sign.SOME_ABOVE: _is_sometimes_above,
        Sign.SAME_PAYEES: _has_same_payees,
        Sign.PAY_DAY: _has_same_payees,
        Sign.SAME_PAYERS: _has_same_payers,
        Sign.RENT_DAY: _has_same_payers,
        Sign.LIVING_COSTS: _only_lives,
    },
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A typology, the signs that make it, and the transactions that show it."""

    typology: Typology
    signs: frozenset[Sign]
    shown_by: Callable[[Activity], Iterable[Transaction]]


def _fans(activity: Activity) -> Iterable[Transaction]:
    return (*activity.fan_in, *activity.fan_out)


def _scatter_and_gather(activity: Activity) -> Iterable[Transaction]:
    return (*activity.fan_out, *gathered_again(activity))


def _cash(activity: Activity) -> Iterable[Transaction]:
    return (*activity.deposits, *activity.withdrawals)


def _pass_through(activity: Activity) -> Iterable[Transaction]:
    return (row for pair in forwarded(activity) for row in pair)


def _credit_and_fan(activity: Activity) -> Iterable[Transaction]:
    credit = _large_credit(activity)
    return activity.fan_out if credit is None else (credit, *activity.fan_out)


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        Typology.SCATTER_GATHER,
        frozenset({Sign.MANY_RECEIVERS, Sign.COMMON_DESTINATION}),
        _scatter_and_gather,
    ),
    Rule(
        Typology.GATHER_SCATTER,
        frozenset({Sign.MANY_SENDERS, Sign.MANY_RECEIVERS, Sign.COLLECT_THEN_SPREAD}),
        _fans,
    ),
    Rule(Typology.CYCLE, frozenset({Sign.RETURNS, Sign.SHRINKING}), ring),
    Rule(
        Typology.STRUCTURING,
        frozenset({Sign.NEAR_LIMIT, Sign.MANY_BRANCHES, Sign.SHORT_WINDOW}),
        lambda activity: activity.near_limit,
    ),
    Rule(Typology.FUNNEL_ACCOUNT, frozenset({Sign.ONE_AREA_CASH, Sign.DRAWN_ELSEWHERE}), _cash),
    Rule(Typology.RAPID_MOVEMENT, frozenset({Sign.SAME_DAY_FORWARD, Sign.NEARLY_EMPTY}), _pass_through),
    Rule(Typology.FAN_OUT, frozenset({Sign.MANY_RECEIVERS, Sign.ONE_LARGE_CREDIT}), _credit_and_fan),
    Rule(Typology.FAN_IN, frozenset({Sign.MANY_SENDERS, Sign.STAYS_PUT}), lambda activity: activity.fan_in),
)
"""From the most particular to the most general; the first whose signs are all seen gives the typology."""


def observe(file: CaseFile) -> tuple[Sign, ...]:
    """See the signs in a case, in the order of the lexicon."""
    activity = Activity.of(file)
    return tuple(sign for sign, sees in _SEES.items() if sees(activity))


def typology_of(signs: Iterable[Sign]) -> Typology:
    """Name the typology that signs make; `none` if no rule is met."""
    seen = frozenset(signs)
    return next((rule.typology for rule in RULES if rule.signs <= seen), Typology.NONE)


def runner_up(signs: Iterable[Sign]) -> Typology:
    """Name the typology that comes nearest without being the right one."""
    seen = frozenset(signs)
    others = [rule for rule in RULES if rule.typology is not typology_of(seen)]
    return max(others, key=lambda rule: len(rule.signs & seen) / len(rule.signs)).typology


def assess(file: CaseFile) -> Assessment:
    """Assess a case from its transactions alone."""
    activity, signs = Activity.of(file), observe(file)
    typology = typology_of(signs)
    shown_by = next((rule.shown_by for rule in RULES if rule.typology is typology), None)
    rows = activity.all if shown_by is None else shown_by(activity)
    return Assessment(typology, signs, tuple(sorted({row.tran_id for row in rows})))
