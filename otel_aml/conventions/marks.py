"""What the frameworks' own names and sentences mean, as data. Each with its source; a contract can add some.

Texts and names drift with versions: they were read from recorded runs of the versions named beside them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from otel_aml.core.steps import About, Sort

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Flow(StrEnum):
    """What an exception that is mere control flow means."""

    PAUSED = "paused"
    """The run waits for a person."""
    ASKED_AGAIN = "asked_again"
    """The tool asks the model to call it otherwise."""
    PASSED_ON = "passed_on"
    """Control goes elsewhere: another agent, another node, the end of an iteration."""


CONTROL_FLOW: Final[Mapping[str, Flow]] = MappingProxyType(
    {
        # langgraph 1.2.24, langgraph/errors.py
        "langgraph.errors.GraphInterrupt": Flow.PAUSED,
        "langgraph.errors.NodeInterrupt": Flow.PAUSED,
        "langgraph.errors.GraphBubbleUp": Flow.PASSED_ON,
        "langgraph.errors.ParentCommand": Flow.PASSED_ON,
        "langgraph.errors.GraphDrained": Flow.PASSED_ON,
        # pydantic-ai 2.68.0, pydantic_ai/exceptions.py
        "pydantic_ai.exceptions.CallDeferred": Flow.PAUSED,
        "pydantic_ai.exceptions.ApprovalRequired": Flow.PAUSED,
        "pydantic_ai.exceptions.ModelRetry": Flow.ASKED_AGAIN,
        "pydantic_ai.exceptions.ToolRetryError": Flow.ASKED_AGAIN,
        # Python
        "StopIteration": Flow.PASSED_ON,
        "StopAsyncIteration": Flow.PASSED_ON,
        "builtins.StopIteration": Flow.PASSED_ON,
        "builtins.StopAsyncIteration": Flow.PASSED_ON,
    },
)
"""By the full qualified name: a user's own class with the same short name is an error."""

AGENT_PACKAGES: Final[frozenset[str]] = frozenset(
    {
        "agent_framework",  # Microsoft
        "agno",
        "autogen_agentchat",
        "autogen_core",
        "beeai_framework",
        "camel",
        "crewai",
        "dspy",
        "haystack",
        "langchain",
        "langchain_core",
        "langgraph",
        "letta",
        "llama_index",
        "pydantic_ai",
        "semantic_kernel",
        "smolagents",
        "strands",
    },
)
"""Packages of agent frameworks on PyPI (2026): the shape of an exception's name counts only in them."""

CANCELLATIONS: Final[Mapping[str, Sort]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "CancelledError",
                "asyncio.CancelledError",
                "asyncio.exceptions.CancelledError",
                "concurrent.futures.CancelledError",
                "concurrent.futures._base.CancelledError",
                "trio.Cancelled",
                "KeyboardInterrupt",
                "builtins.KeyboardInterrupt",
                "SystemExit",
                "builtins.SystemExit",
            ),
            Sort.CANCELLED,
        ),
        "GeneratorExit": Sort.ABANDONED,
        "builtins.GeneratorExit": Sort.ABANDONED,
    },
)
"""Cuts from outside (Python's own classes; trio 0.30)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Words by which a framework reports an incident in a text.

    Args:
        starts: How the text starts.
        holds: Words that it holds besides.
        sort: What it means.
        about: What was rejected, if anything.
        error_type: How it failed, if that is known.
        named: Finds the tool that was called in vain, as the group `name`.
        tool: That tool, where it is known already.
        scopes: Only in spans of instrumentation scopes that start so; empty: in any.
        source: Where the words were read.
    """

    starts: str
    holds: str = ""
    sort: Sort = Sort.FAILED
    about: About | None = None
    error_type: str = ""
    named: re.Pattern[str] | None = None
    tool: str = ""
    scopes: tuple[str, ...] = ()
    source: str

    def subject(self, words: str) -> str:
        """Name the tool that was called in vain; empty where the words do not tell."""
        found = self.named.search(words) if self.named is not None else None
        return found["name"] if found else self.tool


def sentence_in(sentences: Sequence[Sentence], words: str, scope: str = "") -> Sentence | None:
    """Find the sentence that a text starts with."""
    for sentence in sentences:
        if (
            words.startswith(sentence.starts)
            and sentence.holds in words
            and (not sentence.scopes or scope.startswith(sentence.scopes))
        ):
            return sentence
    return None


TOOL_MESSAGES: Final[tuple[Sentence, ...]] = (
    Sentence(
        starts="Error: ",
        holds=" is not a valid tool, try one of [",
        sort=Sort.REJECTED,
        about=About.TOOL_NAME,
        error_type="unknown_tool",
        named=re.compile(r"\AError: (?P<name>.{1,80}?) is not a valid tool, "),
        source="langgraph-prebuilt 1.1.3, INVALID_TOOL_NAME_ERROR_TEMPLATE",
    ),
    Sentence(
        starts="Error invoking tool '",
        holds="' with kwargs ",
        sort=Sort.REJECTED,
        about=About.ARGUMENTS,
        error_type="invalid_arguments",
        named=re.compile(r"\AError invoking tool '(?P<name>[^']{1,80})' "),
        source="langgraph-prebuilt 1.1.3, TOOL_INVOCATION_ERROR_TEMPLATE",
    ),
    Sentence(
        starts="Error: Failed to parse structured output for tool '",
        sort=Sort.REJECTED,
        about=About.ANSWER,
        error_type="invalid_answer",
        source="langchain 1.5.2, StructuredOutputValidationError",
    ),
    Sentence(
        starts="Error: Model incorrectly returned multiple structured responses",
        sort=Sort.REJECTED,
        about=About.ANSWER,
        error_type="invalid_answer",
        source="langchain 1.5.2, MultipleStructuredOutputsError",
    ),
)
"""Sentences of a tool message by which a graph refuses what the model wrote: no tool ran."""

BROKEN_CALLS: Final = "invalid_tool_calls"
"""Where a message keeps the calls whose arguments are no JSON (langchain-core 1.8.3)."""

REFUSAL_WORDS: Final[tuple[str, ...]] = (
    f'"{BROKEN_CALLS}": [{{',
    " is not a valid tool, try one of [",
    "Error invoking tool '",
    "Error: Failed to parse structured output for tool '",
    "Error: Model incorrectly returned multiple structured responses",
)
"""Without one of these words there is none of those sentences, so nothing need be parsed."""

HANDED_OVER: Final = "Returning structured response: "
"""How the tool message starts that stands for an accepted structured answer (langchain 1.5.2)."""

DECISIONS: Final[tuple[str, ...]] = ("User rejected the tool call for ",)
"""How the tool message starts that stands for a person's refusal (langchain 1.5.2, HumanInTheLoopMiddleware)."""

RESULTS: Final[tuple[Sentence, ...]] = (
    Sentence(
        starts="An error occurred while running the tool",
        source="openai-agents 0.24.0, default failure_error_function",
    ),
    Sentence(
        starts="Tool '",
        holds="' timed out after ",
        error_type="timeout",
        source="openai-agents 0.24.0, function_tool(timeout=)",
    ),
)
"""Sentences at the very start of a tool's result that say it failed."""

ENVELOPES: Final[tuple[Sentence, ...]] = (
    Sentence(
        starts="Unknown tool: ",
        sort=Sort.REJECTED,
        about=About.TOOL_NAME,
        error_type="unknown_tool",
        named=re.compile(r"\AUnknown tool: '?(?P<name>[^\s']{1,80})"),
        source="mcp 1.30.0 and 2.3.0, ToolError",
    ),
    Sentence(
        starts="Error executing tool ",
        holds=" validation error for ",
        sort=Sort.REJECTED,
        about=About.ARGUMENTS,
        error_type="invalid_arguments",
        source="mcp 1.30.0, FastMCP",
    ),
    Sentence(
        starts="Error executing tool ",
        holds=" validation errors for ",
        sort=Sort.REJECTED,
        about=About.ARGUMENTS,
        error_type="invalid_arguments",
        source="mcp 1.30.0, FastMCP",
    ),
    Sentence(
        starts="Input validation error: ",
        sort=Sort.REJECTED,
        about=About.ARGUMENTS,
        error_type="invalid_arguments",
        source="mcp 1.30.0, the low-level server",
    ),
    Sentence(
        starts="Invoking `",
        holds="failed as no tool with that name is available",
        sort=Sort.REJECTED,
        about=About.TOOL_NAME,
        error_type="unknown_tool",
        named=re.compile(r"\AInvoking `(?P<name>[^(`]{1,80})"),
        source="google-adk 2.13.0, its reflection on a tool's error",
    ),
    Sentence(
        starts="Invoking `",
        holds="mandatory input parameters are not present",
        sort=Sort.REJECTED,
        about=About.ARGUMENTS,
        error_type="invalid_arguments",
        source="google-adk 2.13.0, FunctionTool",
    ),
    Sentence(
        starts="Validation Error found:",
        holds="Recall the set_model_response function correctly",
        sort=Sort.REJECTED,
        about=About.ANSWER,
        error_type="invalid_answer",
        source="google-adk 2.13.0, SetModelResponseTool",
    ),
)
"""Sentences that an error envelope starts with, where no tool ran."""

STATUSES: Final[tuple[Sentence, ...]] = (
    Sentence(
        starts="abandoned stream",
        sort=Sort.ABANDONED,
        source="opentelemetry-instrumentation-genai-langchain 1.3b0",
    ),
    Sentence(
        starts="Agent interrupted",
        sort=Sort.CANCELLED,
        source="smolagents 1.26.0, AgentError of agent.interrupt()",
    ),
    Sentence(
        starts="Exceeded maximum output retries",
        sort=Sort.REJECTED,
        about=About.ANSWER,
        source="pydantic-ai 2.68.0, UnexpectedModelBehavior",
    ),
    Sentence(
        starts="Invalid JSON provided",
        sort=Sort.REJECTED,
        about=About.ANSWER,
        source="openai-agents 0.24.0, ModelBehaviorError of an output type",
    ),
    Sentence(
        starts="Invalid JSON input for tool",
        sort=Sort.REJECTED,
        about=About.ARGUMENTS,
        source="openai-agents 0.24.0, ModelBehaviorError of a call",
    ),
    Sentence(
        starts="Tool not found: ",
        sort=Sort.REJECTED,
        about=About.TOOL_NAME,
        error_type="unknown_tool",
        named=re.compile(r"'tool_name': '(?P<name>[^']{1,80})'"),
        scopes=("openinference.instrumentation.openai_agents", "opentelemetry.instrumentation.openai_agents"),
        source="openai-agents 0.24.0, the error of a turn",
    ),
    Sentence(
        starts="Transfer target agent '",
        holds="' not found",
        sort=Sort.REJECTED,
        about=About.ARGUMENTS,
        error_type="invalid_arguments",
        source="google-adk 2.13.0, ValueError of a transfer",
    ),
    Sentence(
        starts="Unknown tool ",
        holds=", should be one of: ",
        sort=Sort.REJECTED,
        about=About.TOOL_NAME,
        error_type="unknown_tool",
        named=re.compile(r"\AUnknown tool (?P<name>.{1,80}?), should be one of: "),
        source="smolagents 1.26.0, AgentToolExecutionError",
    ),
)
"""Sentences at the start of a status or an exception's message."""

REJECTED_ANSWER: Final[frozenset[str]] = frozenset(
    {
        "StructuredOutputValidationError",  # langchain 1.5.2
        "MultipleStructuredOutputsError",  # langchain 1.5.2
        "OutputParserException",  # langchain-core 1.8.3
        "ConverterError",  # crewai 1.15.30
        "AgentParsingError",  # smolagents 1.26.0
        "LengthFinishReasonError",  # openai 3.57.0
    },
)
"""Short names of exceptions that refuse the model's answer, wherever they stand."""

SCHEMA_ERRORS: Final[frozenset[str]] = frozenset({"ValidationError", "JSONDecodeError"})
"""Short names that refuse arguments where a tool ends in them, and the answer where a model or an agent does."""

ARGUMENT_ERRORS: Final[frozenset[str]] = frozenset(
    {
        "ToolInvocationError",  # langgraph-prebuilt 1.1.3
        "AgentToolCallError",  # smolagents 1.26.0
    },
)
"""Short names of exceptions that refuse a tool's arguments."""

ARGUMENT_TYPE_ERRORS: Final = re.compile(
    r"got (?:an unexpected keyword argument|multiple values for (?:keyword )?argument)\b"
    r"|missing \d{1,3} required (?:positional|keyword-only) arguments?\b"
    r"|takes (?:no arguments|(?:from \d{1,3} to |exactly |at (?:most|least) )?\d{1,3} (?:positional )?arguments?\b)",
)
"""Words of Python's TypeError for a call that does not fit a signature (CPython 3.11)."""

REFUSED_CALL: Final = re.compile(
    r"\b(?:(?:HTTP(?:/\d(?:\.\d)?)?(?: Error| status)?|[Ss]tatus(?:[ _][Cc]ode)?|Client error)[ :='\"]{1,3}"
    r"(?:400|422)\b"
    r"|(?:400|422)(?:, message=| Client Error\b| Bad Request\b| Unprocessable (?:Entity|Content)\b))",
)
"""How HTTP clients say that the service behind a tool found fault with what it was sent: 400, 422 (RFC 9110).
What a tool sends is what the model wrote; how httpx 0.28.1, requests 2.34.2, aiohttp 3.14 and urllib put it."""

REFUSED_CODES: Final[frozenset[str]] = frozenset({"400", "422", "-32602"})
"""The same, where a code stands by itself; the last is JSON-RPC's for invalid parameters."""

PROVIDER_ERRORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "RateLimitError": "rate_limited",  # openai 3.57.0, anthropic
        "APITimeoutError": "timeout",
        "APIConnectionError": "unavailable",
        "InternalServerError": "unavailable",
        "ServiceUnavailableError": "unavailable",
        "AuthenticationError": "auth",
        "PermissionDeniedError": "auth",
        "APIStatusError": "",
        "APIError": "",
        "ModelHTTPError": "",  # pydantic-ai 2.68.0
        "ModelAPIError": "",  # pydantic-ai 2.68.0
        "AgentGenerationError": "",  # smolagents 1.26.0
        "OverloadedError": "unavailable",  # anthropic 2.14.0
        "ContractSpendLimitReachedError": "quota_exhausted",  # anthropic 2.14.0: no wait of ours makes it pass
        "EnforcedSpendLimitReachedError": "quota_exhausted",
        "ResourceExhausted": "rate_limited",  # google-api-core
        "_ResourceExhaustedError": "rate_limited",  # google-adk 2.13.0
        "TooManyRequests": "rate_limited",
    },
)
"""Short names of model providers' errors; the word is how it failed, empty where only its status code tells."""

ERROR_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "TimeoutError": "timeout",
        "TimeoutException": "timeout",
        "Timeout": "timeout",
        "ReadTimeout": "timeout",
        "ConnectTimeout": "timeout",
        "WriteTimeout": "timeout",
        "PoolTimeout": "timeout",
        "DeadlineExceeded": "timeout",
        "TimeoutExpired": "timeout",  # subprocess
        "ConnectTimeoutError": "timeout",  # urllib3, botocore
        "ReadTimeoutError": "timeout",
        "ServerTimeoutError": "timeout",  # aiohttp
        "ConnectionTimeout": "timeout",  # psycopg 3.3.9
        "ConnectionError": "unavailable",
        "ConnectionResetError": "unavailable",
        "ConnectionRefusedError": "unavailable",
        "ConnectionAbortedError": "unavailable",
        "BrokenPipeError": "unavailable",
        "ConnectError": "unavailable",
        "NetworkError": "unavailable",  # httpx 0.28.1
        "ReadError": "unavailable",
        "WriteError": "unavailable",
        "CloseError": "unavailable",
        "ProxyError": "unavailable",
        "RemoteProtocolError": "unavailable",
        "RemoteDisconnected": "unavailable",  # http.client
        "IncompleteRead": "unavailable",
        "IncompleteReadError": "unavailable",  # asyncio
        "ChunkedEncodingError": "unavailable",  # requests 2.34.2
        "ServerDisconnectedError": "unavailable",  # aiohttp
        "ClientConnectorError": "unavailable",
        "EndpointConnectionError": "unavailable",  # botocore
        "BusyLoadingError": "unavailable",  # redis 8.1.0
        "ClusterDownError": "unavailable",
        "TryAgainError": "unavailable",
        "ServiceUnavailable": "unavailable",
        "DEADLINE_EXCEEDED": "timeout",  # gRPC status codes, the error.type of RPC clients
        "UNAVAILABLE": "unavailable",
        "ABORTED": "conflict",
        "RESOURCE_EXHAUSTED": "rate_limited",
        "UNAUTHENTICATED": "auth",
        "PERMISSION_DENIED": "auth",
        "PermissionError": "auth",
        "Unauthenticated": "auth",
        "AuthorizationError": "auth",  # redis 8.1.0
        "NoPermissionError": "auth",
        "SSLError": "tls",  # ssl, requests; a certificate does not get better by asking again
        "SSLCertVerificationError": "tls",
        "CertificateError": "tls",
    },
)
"""How an exception of the standard library or a common client failed, by its short name."""

QUALIFIED_ERRORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "psycopg.OperationalError": "unavailable",  # 3.3.9; one that has an SQLSTATE is told by that
        "psycopg2.OperationalError": "unavailable",
        "otel_aml.recover.breaker.CircuitOpen": "circuit_open",  # the call was not made
    },
)
"""The same by the full qualified name, where another library means something else by the short one."""

TOOLS_OWN_JSON: Final[frozenset[str]] = frozenset({"requests.exceptions.JSONDecodeError"})
"""What a service answered is no JSON: the service failed, not the model."""

OWN_FAULTS: Final[frozenset[str]] = frozenset({"redis.exceptions.ResponseError", "redis.exceptions.DataError"})
"""The service is up and refuses what it was asked; by the full qualified name, also of a base class."""

SQL_STATES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "08": "unavailable",
        "28": "auth",
        "40": "conflict",
        "42501": "auth",
        "53": "unavailable",
        "55P03": "conflict",
        "57014": "timeout",
        "57P01": "unavailable",
        "57P02": "unavailable",
        "57P03": "unavailable",
        "57P05": "unavailable",
    },
)
"""How a statement failed, by its SQLSTATE or the class of it (PostgreSQL 18, appendix A)."""

QUOTA_CODES: Final[frozenset[str]] = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes of a 429 that no wait of ours makes pass (OpenAI's API)."""

STATUS_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        401: "auth",
        403: "auth",
        404: "not_found",
        408: "timeout",
        425: "unavailable",
        429: "rate_limited",
        500: "unavailable",
        502: "unavailable",
        503: "unavailable",
        504: "timeout",
        529: "unavailable",
    },
)
"""How a call failed, by its HTTP status (RFC 9110, RFC 6585; 529 is Anthropic's word for overloaded)."""

PROVIDER_STATUS: Final = re.compile(r"\A(?P<code>[45]\d\d) [A-Z][A-Z_]{3,}\b")
"""How the text of a model provider's error starts that names its status twice: `503 UNAVAILABLE` (google-genai)."""

PROVIDER_WORDS: Final = re.compile(r"(?:\A|['\" ])Error code: (?P<code>[45]\d\d) - ")
"""How the clients of model providers word an HTTP status (openai 3.57.0, anthropic 2.14.0), also in another's words."""

RETRIABLE: Final[frozenset[str]] = frozenset({"timeout", "rate_limited", "unavailable", "conflict"})
"""The ways to fail that may pass by themselves."""

FRAMEWORK_SCOPES: Final[tuple[str, ...]] = (
    "pydantic-ai",
    "opentelemetry.instrumentation.langchain",
    "opentelemetry.instrumentation.openai_agents",
    "opentelemetry.instrumentation.crewai",
    "opentelemetry.instrumentation.llamaindex",
    "gcp.vertex.agent",
)
"""Instrumentation scopes of agent frameworks: their outermost span is a run. Clients of models, HTTP or databases are
not here."""

FRAMEWORK_PREFIXES: Final[tuple[str, ...]] = (
    "openinference.instrumentation.",
    "opentelemetry.instrumentation.genai.",
)
"""How the scopes of instrumentations begin that watch agents; what follows is what is watched."""

CLIENTS: Final[frozenset[str]] = frozenset(
    {
        "anthropic",
        "baml",
        "bedrock",
        "cohere",
        "google_genai",
        "groq",
        "guardrails",
        "instructor",
        "litellm",
        "mcp",
        "mistralai",
        "ollama",
        "openai",
        "portkey",
        "together",
        "vertexai",
    },
)
"""What such instrumentations watch that is no framework: clients of models and what wraps them (PyPI, 2026)."""

OUTPUT_TOOLS: Final[frozenset[str]] = frozenset({"final_result", "final_answer", "set_model_response"})
"""Names of calls by which a model hands its answer over (pydantic-ai 2.68.0, smolagents 1.26.0, google-adk 2.13.0)."""

DOCUMENT_IDS: Final[tuple[str, ...]] = ("id", "doc_id", "document_id")
"""Keys of a document's metadata that hold its id."""

HANDLED_ERROR: Final = "ERROR_HANDLED_BY"
"""How the `response_type` of a result starts that stands for an error (google-adk 2.13.0, its retry plugin)."""

NO_ERROR: Final[tuple[str, ...]] = ("requires confirmation", "requires approval")
"""Words of an error envelope that is none: the run waits for a person (google-adk 2.13.0)."""
