"""Metrics from the processor itself, through OpenTelemetry's MeterProvider: for people without a Collector.

Every instrument is observable: the agent's own path only adds to a tally of ours, and whoever collects reads it. A
callback runs on the reader's thread while the SDK holds its own lock, so it

- never takes a lock that the agent's path takes (an agent that makes an instrument meanwhile would hang for ever),
- never waits long: what may do I/O is asked on a thread of its own, and not answering in time is no answer,
- never raises: a fault is counted, and the other metrics go on.

Attribute values come from closed sets. Agent and service are the resource's; no tool, case or text becomes a label.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal
from weakref import ref

from opentelemetry import context
from opentelemetry import metrics as api
from opentelemetry.metrics import Observation

from otel_aml.core.circuit import CircuitState
from otel_aml.core.labels import LabelOutcome
from otel_aml.core.taxonomy import TAXONOMY, FailureClass
from otel_aml.errors import ConfigurationError
from otel_aml.live.faults import Faults
from otel_aml.live.runs import DROP_REASONS
from otel_aml.live.tally import RUN_KINDS, Tally
from otel_aml.spans import attributes as names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider

    from otel_aml.live.processor import FailureSpanProcessor

SERIES: Final = 400
"""At most so many, whatever comes in."""
DEPENDENCIES: Final = 20
"""So many circuits have series of their own, first come first served; the others are added up."""
OTHERS: Final = "other"
CIRCUIT_STATES: Final = tuple(map(str, CircuitState))

FINDING_STATE: Final = "otel_aml.finding.state"
RESOLVED: Final = "otel_aml.citation.resolved"
LABEL_OUTCOME: Final = "otel_aml.label.outcome"
DROP_REASON: Final = "otel_aml.drop.reason"

_DEPENDENCY_NAME: Final = 120
_WAIT_SECONDS: Final = 0.25
_FRESH_SECONDS: Final = 120.0


class Asked:
    """Asks a source that may do I/O or take locks, on a thread of its own, never twice at a time.

    Args:
        source: Gives its numbers.
        wait_seconds: So long a collection waits for them.
        fresh_seconds: So old they may be, where they come too late for the collection that asked.
    """

    def __init__(
        self,
        source: Callable[[], Mapping[str, Any]],
        *,
        wait_seconds: float = _WAIT_SECONDS,
        fresh_seconds: float = _FRESH_SECONDS,
    ) -> None:
        self._source = source
        self._wait_seconds = wait_seconds
        self._fresh_seconds = fresh_seconds
        self._thread: threading.Thread | None = None
        self._answer: tuple[float, Mapping[str, Any]] | None = None
        self.faults = Faults()

    def answer(self) -> Mapping[str, Any]:
        """Give the newest answer; empty where there is none that is fresh. It never raises."""
        try:
            thread = self._thread
            if thread is None or not thread.is_alive():
                self._thread = thread = threading.Thread(target=self._ask, name="otel_aml metrics", daemon=True)
                thread.start()
            thread.join(self._wait_seconds)
        except RuntimeError:  # no thread can be started any more: the interpreter is going
            pass
        if self._answer is None:
            return {}
        answered_at, found = self._answer
        return found if monotonic() - answered_at < self._fresh_seconds else {}

    def _ask(self) -> None:
        try:
            context.attach(context.set_value("suppress_instrumentation", value=True))
            found = dict(self._source())
            self._answer = (monotonic(), found)
        except Exception as error:  # noqa: BLE001 - a source's fault is no fault of the collection
            self._answer = None
            self.faults.note("a source of metrics", error)


_circuits: Final[list[Asked]] = []
_takeovers: Final[list[Asked]] = []


def observe_circuits(source: Callable[[], Mapping[str, str]]) -> None:
    """Take circuit breakers into the metrics.

    Args:
        source: Gives the state of each circuit (`closed`, `open`, `half_open`) by the name of its dependency.
    """
    _circuits.append(Asked(source))


def observe_takeovers(source: Callable[[], Mapping[str, Any]]) -> None:
    """Take a queue of tasks for people into the metrics.

    Args:
        source: Gives `open` (tasks that are not decided, whether a person is working on them or not),
            `oldest_age_seconds` (the age of the oldest; 0 where there is none) and `escalations` (since ever):
            `TakeoverQueue.stats` does. What is left out is not reported.
    """
    _takeovers.append(Asked(source))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One metric.

    Args:
        unit: As UCUM writes it; things that are counted in braces.
        attributes: Names of its attributes; their values are of closed sets.
        read: Reads its series.
    """

    name: str
    kind: Literal["counter", "updowncounter", "gauge"]
    unit: str
    description: str
    attributes: tuple[str, ...] = ()
    read: Callable[[Published], Iterable[Observation]]


class Published:
    """What is exported through one meter provider: one tally for all processors that were given it."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.processors: list[FailureSpanProcessor] = []
        self._faults = Faults()
        self._dependencies: dict[str, None] = {}

    def create_instruments(self, meter: Meter) -> None:
        """Make the instruments; the meter keeps them."""
        makers = {
            "counter": meter.create_observable_counter,
            "updowncounter": meter.create_observable_up_down_counter,
            "gauge": meter.create_observable_gauge,
        }
        for metric in METRICS:
            makers[metric.kind](
                metric.name, callbacks=[self._callback(metric)], unit=metric.unit, description=metric.description
            )

    def _callback(self, metric: Metric) -> Callable[[CallbackOptions], list[Observation]]:
        def observe(_options: CallbackOptions) -> list[Observation]:
            try:
                return list(metric.read(self))
            except Exception as error:  # noqa: BLE001 - the other metrics go on
                self._faults.note(f"the metric {metric.name}", error)
                return []

        return observe

    def health(self, key: str) -> int:
        """Add up one of the processors' own counts."""
        return sum(processor.glimpse()[key] for processor in self.processors)

    def dropped(self) -> dict[str, int]:
        """Add up the dropped runs, by reason."""
        total: dict[str, int] = {}
        for processor in self.processors:
            for reason, count in processor.glimpse()["runs_dropped"].items():
                total[reason] = total.get(reason, 0) + count
        return total

    def faults(self) -> int:
        """Add up all faults of ours: of the processors, the callbacks and the sources."""
        sources = sum(source.faults.count for source in (*_circuits, *_takeovers))
        return self.health("faults") + self._faults.count + sources

    def circuits(self) -> dict[tuple[str, str], int]:
        """Count the circuits by dependency and state: 1 and 0 of one that has series of its own."""
        found: dict[tuple[str, str], int] = {}
        for source in _circuits:
            for dependency, state in source.answer().items():
                name = self._own_series(str(dependency)[:_DEPENDENCY_NAME])
                for each in CIRCUIT_STATES:
                    found[name, each] = found.get((name, each), 0) + (each == state)
        return found

    def _own_series(self, dependency: str) -> str:
        if dependency not in self._dependencies:
            if len(self._dependencies) >= DEPENDENCIES:
                return OTHERS
            self._dependencies[dependency] = None
        return dependency


def _runs(published: Published) -> Iterator[Observation]:
    tally = published.tally
    odd = ((kind, count) for kind, count in tally.odd_runs.items() if count)
    for kind, count in (*tally.runs.items(), *odd):
        yield Observation(count, dict(zip(RUN_ATTRIBUTES, kind, strict=True)))


def _findings(published: Published) -> Iterator[Observation]:
    for finding, count in published.tally.findings.items():
        failure_class, _, state = finding.partition(":")
        severity = TAXONOMY[FailureClass(failure_class)].severity
        yield Observation(
            count,
            {names.CLASS: failure_class, names.SEVERITY: str(severity), FINDING_STATE: state or "standing"},
        )


def _citations(published: Published) -> Iterator[Observation]:
    for resolved, count in published.tally.citations.items():
        yield Observation(count, {RESOLVED: resolved})


def _labels(published: Published) -> Iterator[Observation]:
    for outcome, count in published.tally.labels.items():
        yield Observation(count, {LABEL_OUTCOME: str(outcome)})


def _attempts(published: Published) -> Iterator[Observation]:
    for outcome, count in published.tally.attempts.items():
        yield Observation(count, {names.OUTCOME: str(outcome)})


def _circuit_series(published: Published) -> Iterator[Observation]:
    for (dependency, state), count in published.circuits().items():
        yield Observation(count, {names.DEPENDENCY: dependency, names.CIRCUIT_STATE: state})


def _takeover(key: str, *, together: Callable[[list[float]], float]) -> Callable[[Published], Iterable[Observation]]:
    def read(_published: Published) -> Iterator[Observation]:
        answers = [answer[key] for source in _takeovers if key in (answer := source.answer())]
        if answers:
            yield Observation(together(answers))

    return read


def _health(key: str) -> Callable[[Published], Iterable[Observation]]:
    def read(published: Published) -> Iterator[Observation]:
        yield Observation(published.health(key))

    return read


def _dropped(published: Published) -> Iterator[Observation]:
    for reason, count in published.dropped().items():
        yield Observation(count, {DROP_REASON: reason})


def _faults(published: Published) -> Iterator[Observation]:
    yield Observation(published.faults())


RUN_ATTRIBUTES: Final = (names.CLASS, names.COVERAGE, names.SEVERITY, names.PATH, names.OUTCOME)

METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="otel_aml.runs",
        kind="counter",
        unit="{run}",
        description="Agent runs that got a verdict.",
        attributes=RUN_ATTRIBUTES,
        read=_runs,
    ),
    Metric(
        name="otel_aml.findings",
        kind="counter",
        unit="{finding}",
        description="Checks that fired, also behind the first failure of a run.",
        attributes=(names.CLASS, names.SEVERITY, FINDING_STATE),
        read=_findings,
    ),
    Metric(
        name="otel_aml.citations",
        kind="counter",
        unit="{citation}",
        description="Ids cited by answers, where the evidence of the case is known.",
        attributes=(RESOLVED,),
        read=_citations,
    ),
    Metric(
        name="otel_aml.evaluation.labels",
        kind="counter",
        unit="{label}",
        description="Answers against typology labels that are known live.",
        attributes=(LABEL_OUTCOME,),
        read=_labels,
    ),
    Metric(
        name="otel_aml.recovery.attempts",
        kind="counter",
        unit="{attempt}",
        description="Attempts made after the first, by what became of the run.",
        attributes=(names.OUTCOME,),
        read=_attempts,
    ),
    Metric(
        name="otel_aml.recovery.circuits",
        kind="updowncounter",
        unit="{circuit}",
        description="Circuit breakers in a state.",
        attributes=(names.DEPENDENCY, names.CIRCUIT_STATE),
        read=_circuit_series,
    ),
    Metric(
        name="otel_aml.takeover.open",
        kind="updowncounter",
        unit="{task}",
        description="Tasks that wait for a person, or that one is working on.",
        read=_takeover("open", together=sum),
    ),
    Metric(
        name="otel_aml.takeover.oldest_age",
        kind="gauge",
        unit="s",
        description="Age of the oldest task that is not decided.",
        read=_takeover("oldest_age_seconds", together=max),
    ),
    Metric(
        name="otel_aml.takeover.escalations",
        kind="counter",
        unit="{escalation}",
        description="Tasks that nobody took in time and that were passed on.",
        read=_takeover("escalations", together=sum),
    ),
    Metric(
        name="otel_aml.processor.spans",
        kind="counter",
        unit="{span}",
        description="Spans that ended and were seen by the processor.",
        read=_health("spans_seen"),
    ),
    Metric(
        name="otel_aml.processor.late",
        kind="counter",
        unit="{span}",
        description="Spans that ended after their run had ended, or that belong to none.",
        read=_health("spans_late"),
    ),
    Metric(
        name="otel_aml.processor.open",
        kind="updowncounter",
        unit="{run}",
        description="Runs that are held open.",
        read=_health("runs_open"),
    ),
    Metric(
        name="otel_aml.processor.dropped",
        kind="counter",
        unit="{run}",
        description="Runs that got no verdict.",
        attributes=(DROP_REASON,),
        read=_dropped,
    ),
    Metric(
        name="otel_aml.processor.unstamped",
        kind="counter",
        unit="{run}",
        description="Runs with a verdict for which their root had no room.",
        read=_health("unstamped"),
    ),
    Metric(
        name="otel_aml.processor.faults",
        kind="counter",
        unit="{fault}",
        description="Faults of otel_aml itself.",
        read=_faults,
    ),
)
"""Every metric; the table in `docs/metrics.md` is drawn from it."""

ATTRIBUTE_VALUES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **{name: tuple(dict.fromkeys(kind[place] for kind in RUN_KINDS)) for place, name in enumerate(RUN_ATTRIBUTES)},
        FINDING_STATE: ("standing", "recovered", "superseded"),
        RESOLVED: ("true", "false"),
        LABEL_OUTCOME: tuple(map(str, LabelOutcome)),
        DROP_REASON: DROP_REASONS,
        names.CIRCUIT_STATE: CIRCUIT_STATES,
        names.DEPENDENCY: ("the name of a breaker", OTHERS),
    }
)
"""What each attribute can hold."""

_published: Final[dict[int, tuple[ref[Any], Published]]] = {}
"""By the identity of the meter provider: one that another library wraps may not be hashable, or equal to another."""
_global: Final[list[Published]] = []
_lock: Final = threading.Lock()


def check(metrics: object) -> None:
    """Look whether metrics can be switched on by what was given.

    Raises:
        ConfigurationError: It is neither a yes or no nor a meter provider.
    """
    if metrics is not None and not isinstance(metrics, bool) and not hasattr(metrics, "get_meter"):
        raise ConfigurationError(
            f"metrics is a {type(metrics).__name__}; give a meter provider, or True for the global one"
        )


def publish(processor: FailureSpanProcessor, provider: MeterProvider | Literal[True]) -> None:
    """Export a processor's metrics; once a processor.

    Args:
        processor: Its counts, and the verdicts that it gives from now on.
        provider: A meter provider; True for the global one, which may also be set later.
    """
    with _lock:
        if processor.tally is not None:
            return
        published = _published_through(provider)
        published.processors.append(processor)
        processor.tally = published.tally


def _published_through(provider: MeterProvider | Literal[True]) -> Published:
    """Find what goes through a meter provider. Instruments are made once: a second set of them would be ignored."""
    current = api.get_meter_provider()
    is_global = provider is True or provider is current
    if is_global and _global:
        return _global[0]
    given = current if provider is True else provider
    known = _published.get(id(given))
    found = known[1] if known is not None and known[0]() is given else None
    if found is None:
        found = Published()
        _published[id(given)] = (ref(given, partial(_forget, id(given))), found)
        found.create_instruments(given.get_meter(names.OUR_SCOPE))
    if is_global:
        _global.append(found)
    return found


def _forget(identity: int, gone: ref[Any]) -> None:
    """Let go of what went through a provider that is no more, unless another has its place already."""
    known = _published.get(identity)
    if known is not None and known[0] is gone:
        del _published[identity]
