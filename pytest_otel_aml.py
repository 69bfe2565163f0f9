"""`pytest --otel-aml-gate`: when all tests are over, may this be merged, by the runs that they exported?

A module beside the package, so that a pytest that does not ask for the gate loads nothing of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAID = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("otel-aml", "gate on the runs of agents")
    group.addoption(
        "--otel-aml-gate", action="store_true", help="after the tests, stop on what the exported runs of agents show"
    )
    group.addoption(
        "--otel-aml-traces",
        action="append",
        metavar="FILE",
        help="OTLP JSON files that the tests export; may be given again (else the ini setting otel_aml_traces)",
    )
    group.addoption("--otel-aml-config", metavar="TOML", help="a file with [gate] (else pyproject.toml)")
    parser.addini("otel_aml_traces", "OTLP JSON files that the tests export", type="args", default=[])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Decide, once every worker is done; a stop makes a session that passed one that failed."""
    config = session.config
    if not config.getoption("--otel-aml-gate") or hasattr(config, "workerinput") or config.option.collectonly:
        return
    passed, lines = _decided(config)
    config.stash[_SAID] = lines
    if not passed and exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    elif passed and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the rows."""
    lines = config.stash.get(_SAID, None)
    if lines is not None:
        terminalreporter.section("otel-aml gate")
        for line in lines:
            terminalreporter.line(line)


def _decided(config: pytest.Config) -> tuple[bool, list[str]]:
    """Say whether it may be merged; what could not be read has not passed."""
    from otel_aml.errors import OtelAmlError
    from otel_aml.evals import gating, limits

    files = [str(config.invocation_params.dir / file) for file in _files(config)]
    path = config.getoption("--otel-aml-config")
    try:
        if not files:
            return False, ["no traces: give --otel-aml-traces FILE, or set otel_aml_traces"]
        settings = limits.read_config(None if path is None else Path(path), folder=config.rootpath)
        decision = gating.gate(files, settings).decision
    except OtelAmlError as error:
        return False, [f"unchecked: {error}"]
    return decision.passed, list(_lines(decision))


def _files(config: pytest.Config) -> list[str]:
    given: list[str] = config.getoption("--otel-aml-traces") or config.getini("otel_aml_traces")
    return given


def _lines(decision: Any) -> Iterator[str]:
    from otel_aml.evals import gate_output

    yield gate_output.headline(decision)
    for row in decision.rows:
        yield f"{row.status:<9}  {row.name}, {row.allowed}: {gate_output.figure(row.seen)}"
        if row.reason:
            yield f"           {row.reason}"
        if row.stops:
            yield from (f"           look at {run}" for run in row.runs)
