"""How often does the gate stop a merge that changed nothing, and how often does it see a regression?

    python benchmarks/gate_alarms.py [--seeds 500] [--cases 200]

The demo's copilot, the same but for its seed: three seeds are the baselines, every further seed a merge that changed
nothing. The gate compares all six classes with its default settings (rise above 2 points, p below 0.05 over all
classes by Holm, above the band of the baselines). Faults are dealt here from each case alone, so that counts scatter
like those of real runs; the demo's own decks have fixed shares and would flatter the figure. Then the same with a
share of one kind of fault raised by some points. Verdicts are the generator's (`otel_aml.demo.truth`), which the
tests of the demo hold equal to those drawn from spans. Leaves with 1 where more than 5 % of the alarms are false.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from random import Random

from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.demo.faults import (
    FORM_RATES,
    INVENTS_RATE,
    MISREADS_RATE,
    PROVIDER_RATES,
    RETRIEVER_RATES,
    RULES_RATES,
    DemoCase,
    FaultPlan,
    FormFault,
    RetrieverFault,
    RulesFault,
    deal,
)
from otel_aml.demo.truth import truth
from otel_aml.evals.agreement import Proportion, wilson
from otel_aml.evals.gate import Counts, decide
from otel_aml.evals.limits import GateConfig
from otel_aml.evals.measures import ClassTally, Measures

CONFIG = GateConfig.model_validate({"baseline": ["a", "b", "c"]})
BASELINES = 3
RISES = (0.05, 0.10, 0.20)
FAULTS = {
    FailureClass.TOOL_FAILURE: {"rules": RulesFault.DOWN, "invents_when_blind": False},
    FailureClass.FORMAT_VIOLATION: {"form": FormFault.DROPS_FIELD},
    FailureClass.HALLUCINATION: {"invents": True},
    FailureClass.RETRIEVAL_MISS: {"retriever": RetrieverFault.STALE_INDEX, "follows_notes": False},
    FailureClass.CONTEXT_POLLUTION: {"retriever": RetrieverFault.POLLUTED_INDEX, "follows_notes": False},
    FailureClass.TYPOLOGY_MISJUDGE: {"misreads": True},
}


def one_of(rng: Random, rates):
    """Draw one fault of a group, or none."""
    drawn = rng.random()
    for fault, rate in rates.items():
        drawn -= rate
        if drawn < 0:
            return fault
    return None


def planned(rng: Random) -> FaultPlan:
    """Draw what goes wrong in one case, from this case alone."""
    return FaultPlan(
        retriever=one_of(rng, RETRIEVER_RATES),
        rules=one_of(rng, RULES_RATES),
        provider=one_of(rng, PROVIDER_RATES),
        form=one_of(rng, FORM_RATES),
        invents=rng.random() < INVENTS_RATE,
        misreads=rng.random() < MISREADS_RATE,
        invents_when_blind=rng.random() < 0.8,
        follows_notes=rng.random() < 0.8,
    )


def run(cases: tuple[DemoCase, ...], seed: str, *, raised: FailureClass | None = None, by: float = 0.0) -> Measures:
    """Give what a gate would count, over cases with faults of their own."""
    rng = Random(seed)
    measures = Measures(runs=len(cases), classes={each: ClassTally() for each in FAILURES})
    for case in cases:
        plan = planned(rng)
        if raised is not None and rng.random() < by:
            plan = replace(plan, **FAULTS[raised])
        found = truth(replace(case, plan=plan)).findings
        for failure_class in FAILURES:
            tally = measures.classes[failure_class]
            tally.decided += 1
            tally.fired += any(finding in found for finding in (failure_class, f"{failure_class}:superseded"))
    return measures


def counted(measures: Measures) -> Counts:
    return {each: tally.rate for each, tally in measures.classes.items()}


def shown(stopped: int, of: int) -> str:
    interval = wilson(stopped, of)
    around = "" if interval is None else f" ({interval.low:.1%} to {interval.high:.1%})"
    return f"{Proportion(stopped, of).value:.1%}{around}, n = {of}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--cases", type=int, default=200)
    asked = parser.parse_args()
    cases = deal(7, asked.cases)
    false_alarms = 0
    seen = {(each, by): 0 for each in FAILURES for by in RISES}
    for seed in range(asked.seeds):
        baselines = [counted(run(cases, f"{seed}:before:{each}")) for each in range(BASELINES)]
        unchanged = decide(run(cases, f"{seed}:now"), CONFIG, baselines=baselines, calibrated=True)
        false_alarms += not unchanged.passed
        for failure_class, by in seen:
            worse = run(cases, f"{seed}:now", raised=failure_class, by=by)
            decision = decide(worse, CONFIG, baselines=baselines, calibrated=True)
            seen[failure_class, by] += failure_class in {row.name for row in decision.stopping}
    print(f"{asked.cases} runs against {BASELINES} times {asked.cases}, {asked.seeds} seeds")
    print(f"nothing changed, and the gate stopped: {shown(false_alarms, asked.seeds)}")
    for failure_class in FAILURES:
        found = "; ".join(f"+{by:.0%} {seen[failure_class, by] / asked.seeds:.1%}" for by in RISES)
        print(f"{failure_class} got worse in so many more runs, and was named: {found}")
    if false_alarms > 0.05 * asked.seeds:
        sys.exit("more than 5 % of merges that changed nothing were stopped")


if __name__ == "__main__":
    main()
