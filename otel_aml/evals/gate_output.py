"""A decision for machines and for reviews: JUnit XML, GitHub annotations, a job summary. Draws, never counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from otel_aml.errors import ConfigurationError
from otel_aml.evals.gate import Status
from otel_aml.offline.render import many, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_aml.evals.agreement import Proportion
    from otel_aml.evals.gate import Decision, Row
    from otel_aml.evals.measures import TypologyRow

TYPOLOGY_COLUMNS: Final = ("typology", "precision (95 % interval)", "recall", "false-positive rate")
_LONG: Final = 1_000
_MARKS: Final = {Status.PASSED: "✅", Status.STOPPED: "❌", Status.UNCHECKED: "❓", Status.REFERENCE: "◽"}


def headline(decision: Decision) -> str:
    """Say in one line whether it may be merged, and if not, what stops it."""
    if decision.passed:
        return f"the gate passes: {many(decision.runs, 'run')}"
    names = ", ".join(dict.fromkeys(row.name for row in decision.stopping))
    return f"the gate stops this: {names} ({many(decision.runs, 'run')})"


def figure(seen: Proportion) -> str:
    """Show a share, with its interval."""
    value, interval = seen.value, seen.interval
    if value is None or interval is None:
        return f"- ({seen.count}/{seen.of})"
    return f"{value:.1%} ({seen.count}/{seen.of}; {interval.low:.1%} to {interval.high:.1%})"


def typology_cells(row: TypologyRow) -> tuple[str, str, str, str]:
    """Show how one typology fares against the labels, in the order of `TYPOLOGY_COLUMNS`."""
    return visible(row.typology, _LONG), figure(row.precision), figure(row.recall), figure(row.false_positives)


def junit(decision: Decision) -> bytes:
    """Write JUnit XML: a test case a row; what was not decided has failed, what only informs is skipped."""
    suite = ET.Element(
        "testsuite",
        name="otel-aml gate",
        tests=str(len(decision.rows)),
        failures=str(len(decision.stopping)),
        errors="0",
        skipped=str(sum(row.status is Status.REFERENCE for row in decision.rows)),
    )
    for row in decision.rows:
        case = ET.SubElement(suite, "testcase", classname=f"otel_aml.gate.{row.kind}", name=row.name)
        reason = visible(row.reason, _LONG)
        if row.stops:
            failure = ET.SubElement(case, "failure", type=str(row.status), message=reason)
            failure.text = "\n".join((reason, *(f"look at: {each}" for each in _shown(row))))
        elif row.status is Status.REFERENCE:
            ET.SubElement(case, "skipped", message=reason)
        ET.SubElement(case, "system-out").text = f"{figure(row.seen)}, {row.allowed}"
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def workflow_commands(decision: Decision) -> Iterator[str]:
    """Write GitHub workflow commands: an error for each row that stops, a notice for each that only informs.

    Source:
        Workflow commands for GitHub Actions; data escapes %, CR and LF, properties also colons and commas.
    """
    for row in decision.rows:
        if row.status is Status.PASSED:
            continue
        level = "error" if row.stops else "notice"
        look = f"\nlook at: {', '.join(_shown(row))}" if row.runs else ""
        title = _escaped(f"otel-aml gate: {row.name} ({row.kind})").replace(":", "%3A").replace(",", "%2C")
        yield f"::{level} title={title}::{_escaped(visible(row.reason, _LONG) + look)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def markdown(decision: Decision) -> str:
    """Write a job summary."""
    lines = [
        f"### otel-aml gate: {'passed' if decision.passed else 'stopped'}",
        "",
        _cell(headline(decision)),
        "",
        "| | class or metric | held against | seen (95 % interval) | why |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in decision.rows:
        cells = (_MARKS[row.status], f"`{row.name}`", row.allowed, figure(row.seen), row.reason)
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    for row in decision.stopping:
        if row.runs:
            lines += ["", f"Runs to look at for `{row.name}` ({row.kind}):", ""]
            lines += [f"- {_cell(each)}" for each in _shown(row)]
    if decision.typologies:
        lines += ["", f"| {' | '.join(TYPOLOGY_COLUMNS)} |", "| --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(map(_cell, typology_cells(row)))} |" for row in decision.typologies]
    return "\n".join(lines) + "\n"


def prometheus(decision: Decision) -> bytes:
    """Write gauges as Prometheus reads them: whether the gate passed, over how many runs, and its judge's standing.

    Raises:
        ConfigurationError: The extra `prometheus` is not there.
    """
    try:
        from prometheus_client import CollectorRegistry, Gauge, generate_latest
    except ImportError as error:
        raise ConfigurationError(
            "writing for Prometheus needs prometheus_client; install it with: pip install 'otel-aml[prometheus]'"
        ) from error
    registry = CollectorRegistry()
    Gauge("otel_aml_gate_passed", "1 if nothing stops the merge.", registry=registry).set(decision.passed)
    Gauge("otel_aml_gate_runs", "Runs that the gate looked at.", registry=registry).set(decision.runs)
    if decision.judge_calibrated is not None:
        told = "1 if the judge whose word the gate asks agrees with people."
        Gauge("otel_aml_judge_calibrated", told, registry=registry).set(decision.judge_calibrated)
    return generate_latest(registry)


def _cell(text: str) -> str:
    """Keep a text from being taken for a table, for HTML or for a mention."""
    shown = visible(text, _LONG).replace("\\", "\\\\").replace("|", "\\|")
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace("@", "&#64;")


def _shown(row: Row) -> tuple[str, ...]:
    return tuple(visible(str(run), 200) for run in row.runs)
