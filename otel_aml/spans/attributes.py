"""Every attribute name that is read or written, each with its source."""

from __future__ import annotations

from typing import Final

# OpenTelemetry general semantic conventions 1.38, https://opentelemetry.io/docs/specs/semconv/
ERROR_TYPE: Final = "error.type"
EXCEPTION_EVENT: Final = "exception"
EXCEPTION_TYPE: Final = "exception.type"
EXCEPTION_MESSAGE: Final = "exception.message"
EXCEPTION_STACKTRACE: Final = "exception.stacktrace"
SERVICE_NAME: Final = "service.name"
URL: Final = "url.full"
OLD_URL: Final = "http.url"
DB_QUERY: Final = "db.query.text"
SERVER_ADDRESS: Final = "server.address"

# OpenTelemetry GenAI semantic conventions (open-telemetry/semantic-conventions-genai 0.1, and the older names)
GEN_AI_OPERATION: Final = "gen_ai.operation.name"
GEN_AI_AGENT: Final = "gen_ai.agent.name"
GEN_AI_CONVERSATION: Final = "gen_ai.conversation.id"
GEN_AI_TOOL: Final = "gen_ai.tool.name"
GEN_AI_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
GEN_AI_RESULT: Final = "gen_ai.tool.call.result"
GEN_AI_TOOLS_OFFERED: Final = "gen_ai.tool.definitions"
GEN_AI_MODEL: Final = "gen_ai.request.model"
GEN_AI_DATA_SOURCE: Final = "gen_ai.data_source.id"
GEN_AI_DOCUMENTS: Final = "gen_ai.retrieval.documents"
GEN_AI_OUTPUT: Final = "gen_ai.output.messages"
GEN_AI_QUERY: Final = "gen_ai.retrieval.query.text"

# OpenInference semantic conventions 0.1.42 (Arize-ai/openinference)
OPENINFERENCE_KIND: Final = "openinference.span.kind"
OPENINFERENCE_TOOL: Final = "tool.name"
OPENINFERENCE_INPUT: Final = "input.value"
OPENINFERENCE_OUTPUT: Final = "output.value"
OPENINFERENCE_DOCUMENTS: Final = "retrieval.documents"
OPENINFERENCE_MODEL: Final = "llm.model_name"
OPENINFERENCE_SESSION: Final = "session.id"
OPENINFERENCE_OUTPUT_TYPE: Final = "output.mime_type"
OPENINFERENCE_SAID: Final = "llm.output_messages"
OPENINFERENCE_TOOLS_OFFERED: Final = "llm.tools"
OPENINFERENCE_TOOL_SCHEMA: Final = "tool.parameters"
OPENINFERENCE_AGENT: Final = "agent.name"

# OpenLLMetry 0.62 (traceloop/openllmetry)
TRACELOOP_KIND: Final = "traceloop.span.kind"
TRACELOOP_NAME: Final = "traceloop.entity.name"
TRACELOOP_INPUT: Final = "traceloop.entity.input"
TRACELOOP_OUTPUT: Final = "traceloop.entity.output"
TRACELOOP_THREAD: Final = "traceloop.association.properties.thread_id"
TRACELOOP_SESSION: Final = "traceloop.association.properties.session_id"
TRACELOOP_SAID: Final = "gen_ai.completion"
TRACELOOP_REQUEST: Final = "llm.request.type"
TRACELOOP_TOOLS_OFFERED: Final = "llm.request.functions"

# pydantic-ai 2.68 (format version 5)
PYDANTIC_AI_FINAL: Final = "final_result"
PYDANTIC_AI_ATTEMPT: Final = "pydantic_ai.model_request.attempt"
PYDANTIC_AI_RETRY_CAUSE: Final = "pydantic_ai.tool.retry.cause"
PYDANTIC_AI_OUTPUT_RETRY: Final = "pydantic_ai.output.retry.cause"
PYDANTIC_AI_DEFERRAL: Final = "pydantic_ai.tool.deferral.name"
PYDANTIC_AI_MESSAGES: Final = "pydantic_ai.all_messages"

# Model Context Protocol, Python SDK 2.3
MCP_METHOD: Final = "mcp.method.name"

# Ours: the domain
CASE_ID: Final = "aml.case.id"
EVIDENCE_IDS: Final = "aml.case.evidence_ids"
ANSWER_CITED_IDS: Final = "aml.answer.cited_ids"
ANSWER_TYPOLOGY: Final = "aml.answer.typology"
ANSWER_VALID: Final = "aml.answer.schema_valid"
GOLD_TYPOLOGY: Final = "aml.gold.typology"
GOLD_NOTES: Final = "aml.gold.doc_ids"
JUDGE_CONTEXT_USED: Final = "aml.judge.context_used"
STEP_ID: Final = "aml.step.id"
STEP_KEY: Final = "aml.step.key"
SYNTHETIC: Final = "aml.synthetic"

# Ours: written on a step by `step_error`
STEP_CLASS: Final = "failure.step.class"
STEP_FAILED_ID: Final = "failure.step_id"
STEP_RETRIABLE: Final = "failure.retriable"
STEP_ATTEMPT: Final = "failure.attempt"
STEP_MESSAGE: Final = "failure.user_message"
STEP_BACKOFF: Final = "recovery.backoff_ms"

# Ours: the verdict, on the run root
VERDICT: Final = "failure.verdict"
CLASS: Final = "failure.class"
COVERAGE: Final = "failure.coverage"
SEVERITY: Final = "failure.severity"
FINDINGS: Final = "failure.findings"
UNCHECKED: Final = "failure.unchecked"
FIRST_SPAN_ID: Final = "failure.span_id"
FIRST_STEP_ID: Final = "failure.step_id"
DEPENDENCY: Final = "failure.dependency"
FAILED_HOW: Final = "failure.error_type"
CITED: Final = "aml.citations.cited"
UNRESOLVED: Final = "aml.citations.unresolved"
RECOVERED: Final = "failure.recovered"
TECHNICAL_DETAIL: Final = "failure.technical_detail"
PAUSED: Final = "failure.paused"
INCOMPLETE: Final = "failure.incomplete"
SCHEMA_VERSION: Final = "failure.schema_version"
PATH: Final = "recovery.path"
OUTCOME: Final = "recovery.outcome"
ATTEMPTS: Final = "recovery.attempts"
CIRCUIT_STATE: Final = "recovery.circuit_state"

SCHEMA: Final = "1"
"""The version of the names under `failure.` and `recovery.`."""
OUR_SCOPE: Final = "otel_aml"
"""The instrumentation scope of the spans that `case()` opens."""
