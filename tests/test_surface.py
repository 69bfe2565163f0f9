"""What is public, pinned: a change here is a changelog entry.

Names at the package's root, commands, attributes, and the columns of the views.
"""

import inspect
import re
from pathlib import Path

import duckdb
import pytest
from typer.main import get_command

import otel_aml
from otel_aml.cli import app
from otel_aml.live.metrics import METRICS
from otel_aml.offline.analysis import Given, ingest
from otel_aml.spans import attributes

ROOT = Path(__file__).parent.parent

ROOT_NAMES = [
    "ApprovalTask",
    "Circuit",
    "CircuitBreaker",
    "CircuitPolicy",
    "CircuitState",
    "Contract",
    "Facts",
    "FailureClass",
    "FailureSpanProcessor",
    "OtelAmlError",
    "RECOVERY_MAP",
    "RecoveryPath",
    "RecoveryPlan",
    "RetryPolicy",
    "Severity",
    "StepError",
    "TakeoverQueue",
    "UserNotice",
    "Verdict",
    "__version__",
    "backoff_ms",
    "case",
    "classify",
    "classify_error",
    "configure",
    "guarded",
    "install",
    "plan_recovery",
    "step_error",
    "user_notice",
]

WRITTEN_ON_THE_ROOT = {
    "failure.verdict",
    "failure.class",
    "failure.coverage",
    "failure.severity",
    "failure.findings",
    "failure.unchecked",
    "failure.span_id",
    "failure.step_id",
    "failure.dependency",
    "failure.error_type",
    "failure.recovered",
    "failure.technical_detail",
    "failure.paused",
    "failure.incomplete",
    "failure.schema_version",
    "aml.citations.cited",
    "aml.citations.unresolved",
    "recovery.path",
    "recovery.outcome",
    "recovery.attempts",
    "recovery.circuit_state",
}
WRITTEN_ON_A_STEP = {
    "failure.step.class",
    "failure.step_id",
    "failure.retriable",
    "failure.attempt",
    "failure.user_message",
    "failure.technical_detail",
    "recovery.path",
    "recovery.backoff_ms",
    "recovery.outcome",
    "recovery.attempts",
    "recovery.circuit_state",
    "failure.dependency",
}
READ_OF_OURS = {
    "aml.case.id",
    "aml.case.evidence_ids",
    "aml.answer.cited_ids",
    "aml.answer.typology",
    "aml.answer.schema_valid",
    "aml.gold.typology",
    "aml.gold.doc_ids",
    "aml.judge.context_used",
    "aml.step.id",
    "aml.step.key",
    "aml.synthetic",
}

COMMANDS = {
    "demo": "--cases --otlp --out --port --seed --serve",
    "ingest": "--append --contract --gold --into --judge --keep-text --replace --strict",
    "report": "--contract --csv --gold --html --internal --json --judge --min-both --strict",
    "classify": "--contract --gold --json --judge --strict",
    "gate": "--baseline --calibration --config --contract --github --gold --json --judge --junit --no-github "
    "--prometheus --strict --summary",
    "judge questions": "--contract --gold --notes --out",
    "judge run": "--base-url --max-calls --max-tokens --model --out --workers",
    "judge calibrate": "--json --judged --out",
    "closure": "--json",
    "leakage": "--json --k --retriever",
    "crosswalk": "--json",
    "export-cases": "--class --contract --gold --judge --out",
    "show": "--contract --gold --internal --json --judge",
    "explain": "--json",
    "inspect": "--json",
    "query": "--contract --csv --gold --json --judge --rows --seconds",
    "queue list": "--case --json --kind --queue --rows --status",
    "queue show": "--by --internal --json --queue --state",
    "queue claim": "--by --json --kind --minutes --queue",
    "queue release": "--by --queue",
    "queue decide": "--answer --by --comment --context --doc-id --edited --evidence-id --json --queue --typology",
    "queue export": "--as --queue",
    "queue verify": "--head --json --queue",
    "queue expire": "--json --queue",
    "queue hold": "--by --case --end --json --queue --reason --task",
    "queue purge": "--by --days --queue",
    "queue stats": "--queue",
    "redact": "--in-place --json --out --strict",
    "doctor": "--contract --gold --json --judge",
}

COLUMNS = {
    "runs": "trace_id span_id class is_failure severity findings unchecked recovered first_span_id dependency "
    "error_type paused incomplete path outcome attempts coverage case_id conversation_id service agent "
    "started_at ended_at "
    "duration_ms online_class decided_by synthetic error_span_count",
    "checks": "trace_id span_id class answer decided_by",
    "failures": "trace_id span_id class seen_span_id dependency error_type step_id is_first is_recovered is_superseded "
    "seen_at",
    "spans": "trace_id span_id parent_id name scope scope_version service kind has_remote_parent started_ns ended_ns "
    "status status_message attributes events links resource dropped_attributes dropped_events file line",
}

METRIC_NAMES = {
    "otel_aml.runs": "failure.class failure.coverage failure.severity recovery.path recovery.outcome",
    "otel_aml.findings": "failure.class failure.severity otel_aml.finding.state",
    "otel_aml.citations": "otel_aml.citation.resolved",
    "otel_aml.evaluation.labels": "otel_aml.label.outcome",
    "otel_aml.recovery.attempts": "recovery.outcome",
    "otel_aml.recovery.circuits": "failure.dependency recovery.circuit_state",
    "otel_aml.takeover.open": "",
    "otel_aml.takeover.oldest_age": "",
    "otel_aml.takeover.escalations": "",
    "otel_aml.processor.spans": "",
    "otel_aml.processor.late": "",
    "otel_aml.processor.open": "",
    "otel_aml.processor.dropped": "otel_aml.drop.reason",
    "otel_aml.processor.unstamped": "",
    "otel_aml.processor.faults": "",
}

SIGNATURES = {
    "install": "provider, *, contract, limits, metrics",
    "configure": "service_name, *, traces, contract, limits, metrics",
    "case": "case_id, *, evidence_ids, relevant_doc_ids, relevant_any_of, contract, tracer_provider",
    "step_error": "error, *, step_id, attempt, failure_class, locale",
    "classify": "facts",
    "guarded": "step_id, *, execute, idempotent, policy, breaker, dependency, takeover, freeze, classify, fallback, "
    "passes_on, locale, attempt, tracer_provider",
    "user_notice": "error, plan, *, locale, saved",
    "classify_error": "raw, step_id, *, attempt, failure_class, locale",
    "plan_recovery": "error, *, circuit, policy, idempotent",
    "backoff_ms": "attempt, policy, *, jitter",
    "RetryPolicy": "*, retries, fixes, base_ms, cap_ms, retry_after_cap_ms",
    "Circuit": "*, policy, state, at, generation, outcomes, failures_in_a_row, open_for, open_until, probes, successes",
    "CircuitBreaker": "name, *, policy, store, clock, judge",
    "CircuitPolicy": "*, window, minimum_calls, failure_ratio, consecutive_failures, open_seconds, open_seconds_max, "
    "half_open_probes, successes_to_close, probe_lease_seconds",
    "Contract": "*, answer, cited_ids, typology, evidence_ids, relevant_doc_ids, relevant_any_of, agents, strict, "
    "recovered, failure_marks, control_flow, document_ids, frameworks",
}


def test_the_metrics():
    """Alerts and dashboards are written with these."""
    assert {metric.name: " ".join(metric.attributes) for metric in METRICS} == METRIC_NAMES


def test_the_names_at_the_root():
    """Nothing else is public."""
    assert sorted(otel_aml.__all__) == ROOT_NAMES
    assert all(hasattr(otel_aml, name) for name in ROOT_NAMES)


def test_the_values_of_failure_class():
    """Dashboards and alerts hold these words."""
    assert [str(each) for each in otel_aml.FailureClass] == [
        "tool_failure",
        "format_violation",
        "hallucination",
        "retrieval_miss",
        "context_pollution",
        "typology_misjudge",
        "pass",
        "cancelled",
        "unclassified",
    ]


@pytest.mark.parametrize(("name", "parameters"), SIGNATURES.items())
def test_the_parameters_of_what_is_called(name, parameters):
    """Callers write these names."""
    found = []
    for parameter in inspect.signature(getattr(otel_aml, name)).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in found:
            found.append("*")
        found.append(parameter.name)
    assert ", ".join(found) == parameters


def test_our_attributes():
    """Queries, dashboards and the Collector's rules hold these names."""
    prefixes = ("failure.", "recovery.", "aml.")
    ours = {value for name, value in vars(attributes).items() if name.isupper() and value.startswith(prefixes)}
    assert ours == WRITTEN_ON_THE_ROOT | WRITTEN_ON_A_STEP | READ_OF_OURS


def test_the_version_of_the_attributes():
    """It changes with them."""
    assert attributes.SCHEMA == "1"


def test_the_commands_and_their_options():
    """Scripts hold these words."""
    assert dict(_commands(get_command(app))) == COMMANDS


def _commands(group, before=""):
    """Every command and its options; those of a group by both names."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{name} ")
        else:
            options = (option for each in command.params for option in (*each.opts, *each.secondary_opts))
            found = {option for option in options if option.startswith("--")}
            yield before + name, " ".join(sorted(found - {"--help"}))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A store as `otel-aml ingest` writes it, as a folder of Parquet files."""
    path = tmp_path_factory.mktemp("surface") / "store"
    ingest(Given(files=[str(ROOT / ".ci" / "one-run.jsonl")]), path, keep_text=False, replace=False)
    return path


@pytest.mark.parametrize("table", COLUMNS)
def test_the_columns_of_the_tables(store, table):
    """Queries of users stand on these."""
    assert _columns(store / f"{table}.parquet") == COLUMNS[table].split()


@pytest.mark.parametrize("table", COLUMNS)
def test_the_columns_are_in_the_docs(table):
    """In the same order."""
    page = (ROOT / "docs" / "offline.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| `{table}` \| [^|]+ \| (.+) \|$", page, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == COLUMNS[table].split()


def _columns(path):
    with duckdb.connect() as connection:
        return [name for name, *_ in connection.execute("describe from read_parquet($1)", [str(path)]).fetchall()]
