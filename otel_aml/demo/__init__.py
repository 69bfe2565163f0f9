"""A small AML copilot that fails in all six ways, from a seed and without a network.

`write_demo` runs it and writes its traces; `truth` says what the verdict on each of its cases must be.
"""

from otel_aml.demo.faults import SEEDED_CASCADES, DemoCase, deal
from otel_aml.demo.model import SarDraft
from otel_aml.demo.run import CONTRACT, DEFAULT_CASES, DEFAULT_SEED, CaseRun, DemoResult, run_demo, write_demo
from otel_aml.demo.truth import Truth, truth

__all__ = [
    "CONTRACT",
    "DEFAULT_CASES",
    "DEFAULT_SEED",
    "SEEDED_CASCADES",
    "CaseRun",
    "DemoCase",
    "DemoResult",
    "SarDraft",
    "Truth",
    "deal",
    "run_demo",
    "truth",
    "write_demo",
]
