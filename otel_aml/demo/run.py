"""Runs the copilot over seeded cases on a tracer provider of its own, and writes what came of it.

Three files: `traces.jsonl` is what the agent exported, `gold.jsonl` what only the generator knows, `judged.jsonl`
what the judge said afterwards. The global tracer provider is never touched.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context, trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NoOpTracer

import otel_aml
from otel_aml.demo.agent import Copilot, Outcome, StepBudgetSpent
from otel_aml.demo.faults import SIMULATED, DemoCase, deal, desk_for
from otel_aml.demo.judge import JUDGE, RUBRIC_HASH, context_used
from otel_aml.demo.model import SarDraft
from otel_aml.demo.notes import BY_ID
from otel_aml.demo.provider import RateLimitError
from otel_aml.demo.sending import Keeping, send
from otel_aml.errors import ConfigurationError
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from pathlib import Path

    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span

SCOPE: Final = "otel_aml.demo"
CONTRACT: Final = otel_aml.Contract(answer=SarDraft, cited_ids="cited_tx_ids", typology="typology")
DEFAULT_SEED: Final = 7
DEFAULT_CASES: Final = 200
TRACES, GOLD, JUDGED = "traces.jsonl", "gold.jsonl", "judged.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRun:
    """One case, and what the copilot made of it.

    Args:
        answer: The last draft, JSON or not; None if there was none.
        retrieved: Ids of the notes, best first; None if the retriever never answered.
    """

    demo_case: DemoCase
    answer: str | None
    retrieved: tuple[str, ...] | None

    @property
    def gold(self) -> dict[str, Any]:
        """The line of `gold.jsonl`; without `doc_ids` where the case needs no note."""
        case = self.demo_case.case
        needed = {"doc_ids": list(case.needed_notes)} if case.needed_notes else {}
        return {
            "case_id": self.demo_case.case_id,
            "typology": str(case.typology),
            **needed,
            "evidence_ids": list(case.file.tx_ids),
        }

    @property
    def judged(self) -> dict[str, Any] | None:
        """The line of `judged.jsonl`; None without an answer, and where a needed note was not retrieved."""
        needed = self.demo_case.case.needed_notes
        if self.answer is None or not needed or not set(needed) <= set(self.retrieved or ()):
            return None
        return {
            "case_id": self.demo_case.case_id,
            "context_used": all(context_used(BY_ID[note_id], self.answer) for note_id in needed),
            "judge": JUDGE,
            "rubric": RUBRIC_HASH,
        }


@dataclass(frozen=True, slots=True)
class DemoResult:
    """All runs of a demo, in the order of their cases."""

    seed: int
    runs: tuple[CaseRun, ...]

    @property
    def gold(self) -> tuple[dict[str, Any], ...]:
        """The lines of `gold.jsonl`."""
        return tuple(run.gold for run in self.runs)

    @property
    def judged(self) -> tuple[dict[str, Any], ...]:
        """The lines of `judged.jsonl`."""
        return tuple(line for run in self.runs if (line := run.judged) is not None)


class SeededIds(IdGenerator):
    """Draws trace and span ids from a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(f"{seed}:ids")  # noqa: S311 - chance, not secrecy

    def generate_span_id(self) -> int:
        """Draw 64 bits, not all zero."""
        return self._rng.randrange(1, 2**64)

    def generate_trace_id(self) -> int:
        """Draw 128 bits, not all zero."""
        return self._rng.randrange(1, 2**128)


def run_demo(  # noqa: PLR0913 - all but two by keyword
    seed: int,
    cases: int,
    *,
    exporter: SpanExporter,
    capture_content: bool = True,
    declare_notes: bool = False,
    labelled: bool = False,
    on_case: Callable[[CaseRun], None] | None = None,
) -> DemoResult:
    """Run the copilot over seeded cases.

    Args:
        seed: The same seed gives the same cases, faults, answers, ids and verdicts.
        cases: How many.
        exporter: Where every span goes; shut down at the end.
        capture_content: Whether messages, arguments, results, documents and answers go into attributes.
        declare_notes: Whether the app tells the add-on live which notes a case needs. Normally that is a label,
            and stands in the gold file.
        labelled: Whether labels and the judge's word stand on the run's root, as in an evaluation: then every check
            is decided live.
        on_case: Called after each case.

    Raises:
        ConfigurationError: The environment switches the SDK off.
    """
    provider = _own_provider(seed)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    otel_aml.install(provider, contract=CONTRACT)
    runs: list[CaseRun] = []
    try:
        with _no_surroundings():
            for demo_case in deal(seed, cases):
                run = _run_case(
                    demo_case,
                    provider,
                    capture_content=capture_content,
                    declare_notes=declare_notes,
                    labelled=labelled,
                )
                runs.append(run)
                if on_case is not None:
                    on_case(run)
    finally:
        provider.shutdown()
    return DemoResult(seed, tuple(runs))


def write_demo(  # noqa: PLR0913 - all but one by keyword
    out_dir: Path,
    *,
    seed: int,
    cases: int,
    capture_content: bool = True,
    declare_notes: bool = False,
    send_to: str | None = None,
    progress: Callable[[CaseRun], None] | None = None,
) -> DemoResult:
    """Run the demo and write its three files, in place of those of an earlier one.

    Raises:
        ConfigurationError: The exporter of OTLP JSON files is not installed, a file of that name is not a demo's, or
            `send_to` did not take all spans.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    _keep_what_is_not_ours(out_dir)
    fresh = out_dir / f"{TRACES}.part"
    fresh.unlink(missing_ok=True)
    exporter = Keeping(file_exporter(fresh))
    result = run_demo(
        seed,
        cases,
        exporter=exporter,
        capture_content=capture_content,
        declare_notes=declare_notes,
        on_case=progress,
    )
    fresh.replace(out_dir / TRACES)
    _write_lines(out_dir / GOLD, result.gold)
    _write_lines(out_dir / JUDGED, result.judged)
    if send_to is not None:
        send(exporter.spans, send_to)
    return result


_HEAD_BYTES: Final = 65_536


def _keep_what_is_not_ours(out_dir: Path) -> None:
    """Refuse to write over traces that no demo wrote; its own say that they are synthetic."""
    path = out_dir / TRACES
    if not path.exists():
        return
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and b'"aml.synthetic"' not in head:
        raise ConfigurationError(
            f"{str(path)!r} exists already and was not written by the demo; move it, or give another folder: --out DIR"
        )


def _own_provider(seed: int) -> TracerProvider:
    """Make a provider that nothing in the environment changes."""
    provider = TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource({"service.name": "aml-copilot-demo", "aml.synthetic": True}),
        shutdown_on_exit=False,
        id_generator=SeededIds(seed),
        span_limits=SpanLimits(
            max_attributes=128,
            max_span_attributes=128,
            max_event_attributes=128,
            max_events=128,
            max_attribute_length=SpanLimits.UNSET,
            max_span_attribute_length=SpanLimits.UNSET,
        ),
    )
    if isinstance(provider.get_tracer(SCOPE), NoOpTracer):
        raise ConfigurationError("OTEL_SDK_DISABLED is set, so no span can be recorded; unset it to run the demo")
    return provider


def _run_case(
    demo_case: DemoCase,
    provider: TracerProvider,
    *,
    capture_content: bool,
    declare_notes: bool,
    labelled: bool,
) -> CaseRun:
    tracer = provider.get_tracer(SCOPE)
    file, needed = demo_case.case.file, demo_case.case.needed_notes
    outcome = Outcome()
    with (
        _survived(),
        otel_aml.case(
            file.case_id,
            evidence_ids=file.tx_ids,
            relevant_doc_ids=needed if declare_notes and needed else None,
            tracer_provider=provider,
        ) as handle,
    ):
        root = trace.get_current_span()
        root.set_attribute(names.SYNTHETIC, True)  # noqa: FBT003 - the SDK's signature
        try:
            Copilot(tracer, desk_for(demo_case), handle, outcome, capture_content=capture_content).run(file)
        finally:
            if labelled:
                _label(root, CaseRun(demo_case=demo_case, answer=outcome.answer, retrieved=outcome.retrieved))
    return CaseRun(demo_case=demo_case, answer=outcome.answer, retrieved=outcome.retrieved)


def _label(root: Span, run: CaseRun) -> None:
    """Write on the root what the gold file and the judge say."""
    gold, judged = run.gold, run.judged
    root.set_attribute(names.GOLD_TYPOLOGY, gold["typology"])
    if "doc_ids" in gold:
        root.set_attribute(names.GOLD_NOTES, gold["doc_ids"])
    if judged is not None:
        root.set_attribute(names.JUDGE_CONTEXT_USED, judged["context_used"])


@contextmanager
def _survived() -> Generator[None]:
    """Let the demo go on after what ends a run; a real interrupt goes through."""
    try:
        yield
    except (RateLimitError, StepBudgetSpent):
        return
    except (asyncio.CancelledError, KeyboardInterrupt) as cut:
        if cut.args != (SIMULATED,):
            raise


@contextmanager
def _no_surroundings() -> Generator[None]:
    """Keep the caller's current span and baggage out of the demo's traces."""
    token = context.attach(context.Context())
    try:
        yield
    finally:
        context.detach(token)


def file_exporter(path: Path) -> SpanExporter:
    """Make the exporter of OTLP JSON files.

    Raises:
        ConfigurationError: It is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.json.file import FileSpanExporter
    except ImportError as missing:
        raise ConfigurationError(
            "the demo writes OTLP JSON files and their exporter is not installed; "
            "install it with: pip install 'otel-aml[file]'",
        ) from missing
    return FileSpanExporter(path)


def _write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
