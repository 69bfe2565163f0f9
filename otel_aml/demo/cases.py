"""Seeded AML cases: eight typologies and four ordinary customers, drawn as accounts and transactions.

Everything comes from one `random.Random(seed)`; there is no clock and no other dice. Columns are those of AMLSim.
Amounts near the reporting limit alone are no typology: a shop's takings lie there every day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

REPORTING_LIMIT: Final = 10_000.0
"""Cash above this is reported as a matter of course (31 CFR 1010.311), in US dollars."""

EPOCH: Final = datetime(2026, 3, 2)  # noqa: DTZ001 - AMLSim's stamps carry no zone
AREAS: Final = ("EAST", "WEST", "NORTH", "SOUTH")


class TxType(StrEnum):
    """How the money moved."""

    CASH_DEPOSIT = "CASH-DEPOSIT"
    CASH_WITHDRAWAL = "CASH-WITHDRAWAL"
    TRANSFER = "TRANSFER"


class Typology(StrEnum):
    """What an activity can be an instance of; `none` is the label of an ordinary one."""

    STRUCTURING = "structuring"
    FUNNEL_ACCOUNT = "funnel_account"
    RAPID_MOVEMENT = "rapid_movement"
    FAN_IN = "fan_in"
    FAN_OUT = "fan_out"
    CYCLE = "cycle"
    GATHER_SCATTER = "gather_scatter"
    SCATTER_GATHER = "scatter_gather"
    SMURFING = "smurfing"
    MONEY_MULE = "money_mule"
    TRADE_BASED = "trade_based"
    SHELL_COMPANY = "shell_company"
    BEHAVIOUR_CHANGE = "behaviour_change"
    NONE = "none"


class CaseKind(StrEnum):
    """What the generator can draw: eight suspicious kinds, then four ordinary ones."""

    STRUCTURING = "structuring"
    FUNNEL_ACCOUNT = "funnel_account"
    RAPID_MOVEMENT = "rapid_movement"
    FAN_IN = "fan_in"
    FAN_OUT = "fan_out"
    CYCLE = "cycle"
    GATHER_SCATTER = "gather_scatter"
    SCATTER_GATHER = "scatter_gather"
    SHOP_TAKINGS = "shop_takings"
    PAYROLL = "payroll"
    RENT_ROLL = "rent_roll"
    HOUSEHOLD = "household"


@dataclass(frozen=True, slots=True)
class Transaction:
    """One row, in AMLSim's columns.

    Args:
        orig_acct: Who pays; for a cash deposit the branch, like `BR-EAST-02`.
        bene_acct: Who is paid; for a cash withdrawal the branch.
        base_amt: US dollars.
        tran_timestamp: Local time, without a zone.
    """

    tran_id: str
    orig_acct: str
    bene_acct: str
    tx_type: TxType
    base_amt: float
    tran_timestamp: datetime


@dataclass(frozen=True, slots=True)
class CaseFile:
    """What the agent gets to see of a case.

    Args:
        case_id: Like `C-7-013`: the seed, then the number.
        subject: The account under review.
        transactions: In order of time.
    """

    case_id: str
    subject: str
    transactions: tuple[Transaction, ...]

    @property
    def tx_ids(self) -> tuple[str, ...]:
        """Every transaction id of the case: its evidence."""
        return tuple(transaction.tran_id for transaction in self.transactions)


@dataclass(frozen=True, slots=True)
class SeededCase:
    """A case with the labels that only its generator knows.

    Args:
        needed_notes: Ids of the notes without which the case cannot be judged; empty where it needs none.
    """

    file: CaseFile
    kind: CaseKind
    typology: Typology
    needed_notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """The gold label of one kind of case."""

    typology: Typology
    needed_notes: tuple[str, ...]


LABELS: Final[Mapping[CaseKind, Label]] = MappingProxyType(
    {
        CaseKind.STRUCTURING: Label(Typology.STRUCTURING, ("typ-structuring",)),
        CaseKind.FUNNEL_ACCOUNT: Label(Typology.FUNNEL_ACCOUNT, ("typ-funnel-account",)),
        CaseKind.RAPID_MOVEMENT: Label(Typology.RAPID_MOVEMENT, ("typ-rapid-movement",)),
        CaseKind.FAN_IN: Label(Typology.FAN_IN, ("typ-fan-in",)),
        CaseKind.FAN_OUT: Label(Typology.FAN_OUT, ("typ-fan-out",)),
        CaseKind.CYCLE: Label(Typology.CYCLE, ("typ-cycle",)),
        CaseKind.GATHER_SCATTER: Label(Typology.GATHER_SCATTER, ("typ-gather-scatter",)),
        CaseKind.SCATTER_GATHER: Label(Typology.SCATTER_GATHER, ("typ-scatter-gather",)),
        CaseKind.SHOP_TAKINGS: Label(Typology.NONE, ("ord-shop-takings",)),
        CaseKind.PAYROLL: Label(Typology.NONE, ("ord-payroll",)),
        CaseKind.RENT_ROLL: Label(Typology.NONE, ("ord-rent-roll",)),
        CaseKind.HOUSEHOLD: Label(Typology.NONE, ()),
    },
)

CASE_TYPOLOGIES: Final = tuple(Typology(kind) for kind in CaseKind if LABELS[kind].typology is not Typology.NONE)
"""The eight typologies that cases are drawn from."""

_SUSPICIOUS_WEIGHT, _ORDINARY_WEIGHT = 3, 2
_WEIGHTS: Final = tuple(
    _ORDINARY_WEIGHT if label.typology is Typology.NONE else _SUSPICIOUS_WEIGHT for label in LABELS.values()
)


@dataclass(frozen=True, slots=True)
class Movement:
    """A transaction before it has an id."""

    at: datetime
    origin: str
    beneficiary: str
    tx_type: TxType
    amount: float


class Sketch:
    """The movements of one case while they are being drawn."""

    def __init__(self, rng: Random, *, stem: str) -> None:
        self.rng = rng
        self.subject = self.account()
        self.movements: list[Movement] = []
        self._stem = stem

    def account(self) -> str:
        """Open an account number."""
        return f"AC{self.rng.randrange(10**9, 10**10)}"

    def accounts(self, fewest: int, most: int) -> tuple[str, ...]:
        """Open between `fewest` and `most` accounts."""
        return tuple(self.account() for _ in range(self.rng.randint(fewest, most)))

    def amount(self, lowest: float, highest: float) -> float:
        """Draw an amount in dollars and cents."""
        return round(self.rng.uniform(lowest, highest), 2)

    def moment(self, day: float, *, spread_hours: float = 8.0) -> datetime:
        """Draw a time on or after a day, counted from the epoch's nine o'clock."""
        hours = 9 + day * 24 + self.rng.uniform(0, spread_hours)
        return EPOCH + timedelta(seconds=round(hours * 3600))

    def transfer(self, at: datetime, origin: str, beneficiary: str, amount: float) -> None:
        """Move money from account to account."""
        self.movements.append(Movement(at, origin, beneficiary, TxType.TRANSFER, amount))

    def deposit(self, at: datetime, branch: str, amount: float) -> None:
        """Pay cash in at a branch."""
        self.movements.append(Movement(at, branch, self.subject, TxType.CASH_DEPOSIT, amount))

    def withdraw(self, at: datetime, branch: str, amount: float) -> None:
        """Draw cash at a branch."""
        self.movements.append(Movement(at, self.subject, branch, TxType.CASH_WITHDRAWAL, amount))

    def branches(self, area: str, count: int) -> tuple[str, ...]:
        """Name branches of an area."""
        numbers = self.rng.sample(range(1, 30), count)
        return tuple(f"BR-{area}-{number:02d}" for number in numbers)

    def transactions(self) -> tuple[Transaction, ...]:
        """Number the movements in order of time."""
        ordered = sorted(self.movements, key=lambda movement: (movement.at, movement.origin, movement.beneficiary))
        return tuple(
            Transaction(f"{self._stem}-{number:03d}", move.origin, move.beneficiary, move.tx_type, move.amount, move.at)
            for number, move in enumerate(ordered, start=1)
        )


def _structuring(sketch: Sketch) -> None:
    branches = sketch.branches(sketch.rng.choice(AREAS), sketch.rng.randint(3, 5))
    for number in range(sketch.rng.randint(6, 10)):
        at = sketch.moment(3 + number * 0.8, spread_hours=6)
        sketch.deposit(at, branches[number % len(branches)], sketch.amount(8_700, 9_950))


def _funnel_account(sketch: Sketch) -> None:
    here, there = sketch.rng.sample(AREAS, 2)
    branches, far = sketch.branches(here, sketch.rng.randint(3, 5)), sketch.branches(there, 2)
    for number in range(sketch.rng.randint(5, 8)):
        paid_in = sketch.amount(2_000, 6_500)
        at = sketch.moment(4 + number * 1.5, spread_hours=4)
        sketch.deposit(at, branches[number % len(branches)], paid_in)
        drawn_at = at + timedelta(hours=sketch.rng.randint(14, 30))
        sketch.withdraw(drawn_at, sketch.rng.choice(far), round(paid_in * sketch.rng.uniform(0.9, 0.97), 2))


def _rapid_movement(sketch: Sketch) -> None:
    onward = sketch.account()
    for number in range(sketch.rng.randint(2, 4)):
        received = sketch.amount(18_000, 60_000)
        at = sketch.moment(4 + number * 4, spread_hours=5)
        sketch.transfer(at, sketch.account(), sketch.subject, received)
        sent_at = at + timedelta(minutes=sketch.rng.randint(40, 600))
        sketch.transfer(sent_at, sketch.subject, onward, round(received * sketch.rng.uniform(0.95, 0.99), 2))


def _fan_in(sketch: Sketch) -> None:
    for sender in sketch.accounts(8, 14):
        sketch.transfer(sketch.moment(sketch.rng.uniform(5, 10)), sender, sketch.subject, sketch.amount(900, 4_800))


def _fan_out(sketch: Sketch) -> None:
    receivers = sketch.accounts(8, 14)
    shares = [sketch.amount(1_500, 4_500) for _ in receivers]
    credit = round(sum(shares) * sketch.rng.uniform(1.02, 1.1), 2)
    sketch.transfer(sketch.moment(5), sketch.account(), sketch.subject, credit)
    for receiver, share in zip(receivers, shares, strict=True):
        sketch.transfer(sketch.moment(sketch.rng.uniform(6, 8)), sketch.subject, receiver, share)


def _cycle(sketch: Sketch) -> None:
    ring = (sketch.subject, *sketch.accounts(2, 4), sketch.subject)
    amount = sketch.amount(20_000, 70_000)
    for hop, (origin, beneficiary) in enumerate(pairwise(ring)):
        sketch.transfer(sketch.moment(4 + hop * 1.5), origin, beneficiary, amount)
        amount = round(amount * sketch.rng.uniform(0.95, 0.99), 2)


def _gather_scatter(sketch: Sketch) -> None:
    gathered = 0.0
    for sender in sketch.accounts(7, 11):
        share = sketch.amount(1_200, 4_800)
        gathered += share
        sketch.transfer(sketch.moment(sketch.rng.uniform(4, 8)), sender, sketch.subject, share)
    receivers = sketch.accounts(7, 11)
    for receiver in receivers:
        share = gathered / len(receivers) * sketch.rng.uniform(0.85, 0.98)
        sketch.transfer(sketch.moment(sketch.rng.uniform(9, 13)), sketch.subject, receiver, round(share, 2))


def _scatter_gather(sketch: Sketch) -> None:
    destination = sketch.account()
    for middle in sketch.accounts(6, 9):
        share = sketch.amount(2_000, 7_500)
        at = sketch.moment(sketch.rng.uniform(4, 7))
        sketch.transfer(at, sketch.subject, middle, share)
        gathered_at = at + timedelta(hours=sketch.rng.randint(20, 60))
        sketch.transfer(gathered_at, middle, destination, round(share * sketch.rng.uniform(0.94, 0.99), 2))


def _shop_takings(sketch: Sketch) -> None:
    """Pay in a shop's takings: near the limit on most evenings, and above it when business is good."""
    branches = sketch.branches(sketch.rng.choice(AREAS), sketch.rng.randint(1, 2))
    days = [day for day in range(sketch.rng.randint(24, 36)) if day % 7 not in {5, 6}]
    good_days = set(sketch.rng.sample(days, 3))
    for day in days:
        takings = sketch.amount(10_050, 11_400) if day in good_days else sketch.amount(8_600, 9_950)
        sketch.deposit(sketch.moment(day, spread_hours=3), sketch.rng.choice(branches), takings)
    supplier = sketch.account()
    for week in range(4):
        sketch.transfer(sketch.moment(3 + week * 7), sketch.subject, supplier, sketch.amount(18_000, 26_000))


def _payroll(sketch: Sketch) -> None:
    """Pay the same staff three months running, which looks like a fan-out once a month."""
    client, staff = sketch.account(), sketch.accounts(8, 12)
    wages = [sketch.amount(2_100, 4_400) for _ in staff]
    for month in range(3):
        sketch.transfer(sketch.moment(20 + month * 30), client, sketch.subject, round(sum(wages) * 1.2, 2))
        for payee, wage in zip(staff, wages, strict=True):
            sketch.transfer(sketch.moment(23 + month * 30), sketch.subject, payee, wage)


def _rent_roll(sketch: Sketch) -> None:
    """Collect the same rents three months running, which looks like a fan-in once a month."""
    tenants = sketch.accounts(8, 12)
    rents = [sketch.amount(800, 2_200) for _ in tenants]
    for month in range(3):
        for tenant, rent in zip(tenants, rents, strict=True):
            sketch.transfer(sketch.moment(1 + month * 30 + sketch.rng.uniform(0, 2)), tenant, sketch.subject, rent)


def _household(sketch: Sketch) -> None:
    grocer = sketch.account()
    for week in range(5):
        sketch.transfer(sketch.moment(2 + week * 7), sketch.subject, grocer, sketch.amount(40, 310))


_DRAW: Final[Mapping[CaseKind, Callable[[Sketch], None]]] = MappingProxyType(
    {
        CaseKind.STRUCTURING: _structuring,
        CaseKind.FUNNEL_ACCOUNT: _funnel_account,
        CaseKind.RAPID_MOVEMENT: _rapid_movement,
        CaseKind.FAN_IN: _fan_in,
        CaseKind.FAN_OUT: _fan_out,
        CaseKind.CYCLE: _cycle,
        CaseKind.GATHER_SCATTER: _gather_scatter,
        CaseKind.SCATTER_GATHER: _scatter_gather,
        CaseKind.SHOP_TAKINGS: _shop_takings,
        CaseKind.PAYROLL: _payroll,
        CaseKind.RENT_ROLL: _rent_roll,
        CaseKind.HOUSEHOLD: _household,
    },
)


def _everyday(sketch: Sketch) -> None:
    """Add what every account shows: a wage, a rent, a few purchases."""
    employer, landlord = sketch.account(), sketch.account()
    for month in range(2):
        sketch.transfer(sketch.moment(25 + month * 30), employer, sketch.subject, sketch.amount(1_900, 3_400))
        sketch.transfer(sketch.moment(27 + month * 30), sketch.subject, landlord, sketch.amount(800, 1_500))
    for _ in range(sketch.rng.randint(1, 3)):
        at = sketch.moment(sketch.rng.uniform(28, 56))
        sketch.transfer(at, sketch.subject, sketch.account(), sketch.amount(15, 240))


def draw_case(rng: Random, *, seed: int, number: int) -> SeededCase:
    """Draw one case.

    Args:
        rng: Where all chance comes from.
        seed: Only names the case.
        number: Only names the case, from 1.
    """
    kind = rng.choices(tuple(LABELS), weights=_WEIGHTS)[0]
    sketch = Sketch(rng, stem=f"TX-{seed}-{number:03d}")
    _DRAW[kind](sketch)
    _everyday(sketch)
    file = CaseFile(f"C-{seed}-{number:03d}", sketch.subject, sketch.transactions())
    return SeededCase(file, kind, LABELS[kind].typology, LABELS[kind].needed_notes)


def draw_cases(rng: Random, *, seed: int, count: int) -> tuple[SeededCase, ...]:
    """Draw `count` cases, numbered from 1."""
    return tuple(draw_case(rng, seed=seed, number=number) for number in range(1, count + 1))
