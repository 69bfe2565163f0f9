"""How one span ended: the incident in its status, its exception, or the words of its result.

Source:
    The rules under "What counts as an error" in `docs/taxonomy.md`; the words are data, in `marks`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from otel_aml.conventions import langchain, marks, mcp, payloads, schemas, shapes, values
from otel_aml.core.circuit import CircuitState
from otel_aml.core.redaction import redact, redact_start
from otel_aml.core.steps import About, Incident, Kind, Sort
from otel_aml.core.taxonomy import TAXONOMY, FailureClass, RecoveryPath, Severity
from otel_aml.core.tree import Outcome
from otel_aml.spans import attributes as names
from otel_aml.spans.model import EMPTY, SpanRecord, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from otel_aml.conventions.marks import Flow, Sentence

_MESSAGE: Final = 500
_DETAIL_FRAMES: Final = 8
_TOLD: Final = 1_000
"""Characters of a message that are told; the frames behind it have their place too."""
_TOLD_FROM: Final = 8_192
_FRAME: Final = re.compile(r'  File "(?P<file>[^"]{1,500})", line (?P<line>\d+), in (?P<where>[\w.<>]{1,200})')
_TRIED_AGAIN: Final = frozenset({RecoveryPath.AUTO_RETRY, RecoveryPath.FIX_AND_RETRY})
_CRITICAL: Final = {str(each): each for each, spec in TAXONOMY.items() if spec.severity is Severity.CRITICAL}
_CIRCUIT_STATES: Final = frozenset(CircuitState)
_TRACEBACK: Final = "Traceback (most recent call last):"
_STATUS_CODE: Final = re.compile(
    r"(?:status|code|error|http)[\s_:=\"'a-z]{0,14}(?P<code>[1-5]\d\d)\b"
    r"|\b(?P<first>[45]\d\d)(?: (?:Client|Server) Error\b|, message=)",
    re.IGNORECASE,
)
_BY_CODE: Final = {str(code): how for code, how in marks.STATUS_CODES.items()}
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,79}\Z")
_EXCEPTION_NAME: Final = re.compile(r"\b(?P<name>[A-Z][A-Za-z0-9]{0,60}(?:Error|Exception|Timeout))\b")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a span ended: an incident, or control flow, or neither.

    Args:
        incident: None if it ended well, or in mere control flow.
        flow: The control flow, if that was it.
        cut: A mark may lie beyond the part of the result that was read.
    """

    incident: Incident | None = None
    flow: Flow | None = None
    cut: bool = False


WELL: Final = Ended()
_MISFIT: Final = Incident(sort=Sort.REJECTED, about=About.ARGUMENTS, error_type="invalid_arguments")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """What is known of a call when its result is read: the tool, the scope of its span, the app's own marks."""

    tool: str = ""
    scope: str = ""
    failure_marks: Sequence[Callable[[str], str | None]] = ()


def of(  # noqa: PLR0913 - the app's own marks go by keyword
    span: SpanRecord,
    kind: Kind,
    result: Any = None,
    *,
    tool: str = "",
    in_flight: str = "",
    failure_marks: Sequence[Callable[[str], str | None]] = (),
    control_flow: Mapping[str, str] = EMPTY,
) -> Ended:
    """Say how a span ended.

    Args:
        span: The span.
        kind: What it did.
        result: What a call returned, as recorded; None where it was not.
        tool: The name of what was called.
        in_flight: Qualified name of a BaseException on its way through the span as it ended, which no status shows.
        failure_marks: The app's own marks: each gets a result's text and says how the call failed, or None.
        control_flow: The app's own exceptions that are mere control flow, by their qualified names.
    """
    noted = _noted(span) if names.STEP_CLASS in span.attributes else None
    if noted is not None and (noted.survived or kind is Kind.STEP):
        return Ended(noted)
    recorded = _recorded(span, kind, control_flow)
    if recorded is not None:
        return _told_by_result(recorded, kind, result, _Call(tool=tool, scope=span.scope))
    if in_flight in marks.CANCELLATIONS:
        return Ended(Incident(sort=marks.CANCELLATIONS[in_flight], type=in_flight, error_type="cancelled"))
    if kind in (Kind.TOOL, Kind.RETRIEVER) and result is not None:
        return _from_result(result, _Call(tool=tool, scope=span.scope, failure_marks=failure_marks))
    return WELL


def _noted(span: SpanRecord) -> Incident | None:
    """Read what the app noted with `step_error`; None for the classes that only an answer can show."""
    failure_class = values.text(span.attributes.get(names.STEP_CLASS)) or ""
    if failure_class not in (FailureClass.TOOL_FAILURE, FailureClass.FORMAT_VIOLATION):
        return None
    is_tool = failure_class == FailureClass.TOOL_FAILURE
    error_type = word(values.text(span.attributes.get(names.ERROR_TYPE)) or failure_class)
    noted = Incident(
        sort=Sort.FAILED if is_tool else Sort.REJECTED,
        about=None if is_tool else About.ARGUMENTS,
        type=error_type if is_tool else "",
        error_type=error_type,
        retriable=is_tool and values.flag(span.attributes.get(names.STEP_RETRIABLE)) is True,
        noted=True,
        survived=span.status is not Status.ERROR,
        retrying=values.text(span.attributes.get(names.PATH)) in _TRIED_AGAIN,
    )
    return noted if names.VERDICT in span.attributes else _guarded(noted, span.attributes)


def _guarded(noted: Incident, attributes: Mapping[str, Any]) -> Incident:
    """Add what a guard noted besides; on a root that carries the verdict these names would be the verdict's own."""
    circuit_state = values.text(attributes.get(names.CIRCUIT_STATE)) or ""
    return replace(
        noted,
        subject=(values.text(attributes.get(names.DEPENDENCY)) or "") if noted.sort is Sort.FAILED else "",
        made_good=values.text(attributes.get(names.OUTCOME)) == Outcome.RECOVERED,
        needs_person=values.text(attributes.get(names.PATH)) == RecoveryPath.HUMAN_TAKEOVER,
        tries=values.count(attributes.get(names.ATTEMPTS)) or 0,
        circuit_state=circuit_state if circuit_state in _CIRCUIT_STATES else "",
    )


def critical_class(attributes: Mapping[str, Any]) -> FailureClass | None:
    """Read which critical class the app noted at a step, which no call shows; None where it noted none."""
    return _CRITICAL.get(values.text(attributes.get(names.STEP_CLASS)) or "")


def was_handed_over(attributes: Mapping[str, Any]) -> bool:
    """Whether a guard noted that it handed the step over to a person."""
    return (
        names.STEP_CLASS in attributes
        and names.VERDICT not in attributes
        and values.text(attributes.get(names.OUTCOME)) == Outcome.HANDED_OVER
    )


def _told_by_result(recorded: Ended, kind: Kind, result: Any, call: _Call) -> Ended:
    """Take an error for what the result beside it says: a refusal of what the model wrote, before anything ran."""
    incident = recorded.incident
    if kind is not Kind.TOOL or result is None or incident is None or incident.sort is not Sort.FAILED:
        return recorded
    said = _from_result(result, call).incident
    if said is None or said.sort is not Sort.REJECTED:
        return recorded
    return Ended(replace(incident, sort=said.sort, about=said.about, subject=said.subject, error_type=said.error_type))


def of_update(value: Any) -> Incident | None:
    """Find the framework's word, in what one node added to the state of a graph, that it refused the model's output."""
    if not isinstance(value, str) or not has_refusal(value):
        return None
    found = payloads.update_of(value)
    said = langchain.refusal(found)
    return None if said is None else _refused(*said)


def has_refusal(value: str) -> bool:
    """Whether a text may hold such a word."""
    if value[:1] not in ("[", "{"):
        return False
    head = value[: values.SCANNED_BYTES]
    return any(words in head for words in (*shapes.REFUSED_MARKS, *marks.REFUSAL_WORDS))


def _refused(said: Sentence, words: str) -> Incident:
    """Make an incident of a sentence; without a message, so that what repeats it is taken for its echo."""
    return Incident(sort=said.sort, about=said.about, subject=said.subject(words), error_type=said.error_type)


def _recorded(span: SpanRecord, kind: Kind, control_flow: Mapping[str, str]) -> Ended | None:
    """Read what the instrumentation recorded: control flow whatever the status, an exception where that is ERROR."""
    if span.status is not Status.ERROR and not span.events and names.ERROR_TYPE not in span.attributes:
        return None
    type_, message, stack = _exception(span)
    flow = marks.CONTROL_FLOW.get(type_) or control_flow.get(type_) or shapes.control_flow(type_)
    if flow is not None:
        return Ended(flow=marks.Flow(flow))
    if span.status is not Status.ERROR:
        return None
    return Ended(_named(span, kind, "" if type_ == "_OTHER" else type_, message, stack))


def _exception(span: SpanRecord) -> tuple[str, str, str]:
    """Find the last exception that was recorded, else the status: its type, message and stack."""
    found = next((event.attributes for event in reversed(span.events) if event.name == names.EXCEPTION_EVENT), EMPTY)
    return (
        values.text(found.get(names.EXCEPTION_TYPE)) or values.text(span.attributes.get(names.ERROR_TYPE)) or "",
        values.text(found.get(names.EXCEPTION_MESSAGE)) or span.status_message,
        values.text(found.get(names.EXCEPTION_STACKTRACE)) or "",
    )


def _named(span: SpanRecord, kind: Kind, type_: str, message: str, stack: str) -> Incident:
    """Make an incident of an exception's name and words."""
    whole = _without_type(message, type_)
    message = whole[:_MESSAGE]
    detail = technical_detail(type_, stack)
    if type_ in marks.CANCELLATIONS:
        return Incident(
            sort=marks.CANCELLATIONS[type_], type=type_, message=message, error_type="cancelled", detail=detail
        )
    said = marks.sentence_in(marks.STATUSES, message, span.scope)
    if said is None and kind in shapes.WRITERS:
        said = _by_shape(kind, message)
    if said is not None:
        return Incident(
            sort=said.sort,
            about=said.about,
            subject=said.subject(message),
            type=type_,
            message=message,
            error_type=said.error_type or _short(type_),
            detail=detail,
        )
    about = _rejected(kind, type_, message)
    if about is None and kind is Kind.TOOL and _is_misfit(span.attributes):
        about = About.ARGUMENTS
    if about is not None:
        return Incident(
            sort=Sort.REJECTED, about=about, type=type_, message=message, error_type=_short(type_), detail=detail
        )
    error_type, of_provider = how_it_failed(type_, message)
    return Incident(
        sort=Sort.FAILED,
        type=type_,
        message=message,
        error_type=error_type,
        retriable=error_type in marks.RETRIABLE,
        of_provider=of_provider,
        detail=technical_detail(type_, stack, whole),
    )


def _by_shape(kind: Kind, message: str) -> Sentence | None:
    """Find a refusal by the shape of its words; a plain step of the app may fail to parse what no model wrote."""
    said = shapes.refusal(message)
    return None if said is not None and said.about is About.ANSWER and kind is Kind.STEP else said


def _is_misfit(attributes: Mapping[str, Any]) -> bool:
    """Whether the arguments of a failed call are no JSON, or surely break the schema that was recorded beside them."""
    if values.is_broken_json(attributes.get(names.GEN_AI_ARGUMENTS)):
        return True
    schema = attributes.get(names.OPENINFERENCE_TOOL_SCHEMA)
    return schema is not None and schemas.misfits(schema, attributes.get(names.OPENINFERENCE_INPUT))


def _without_type(message: str, type_: str) -> str:
    """Take off the type that the SDK writes before the message in a status, but not in an event."""
    prefix = f"{type_.rpartition('.')[2]}: "
    return message.removeprefix(f"{type_}: ").removeprefix(prefix) if type_ else message


def _rejected(kind: Kind, type_: str, message: str) -> About | None:
    """Say what of the model's output an exception refuses, if that is what it does."""
    short = type_.rpartition(".")[2]
    if type_ in marks.TOOLS_OWN_JSON:
        return None
    if short in marks.REJECTED_ANSWER:
        return About.ANSWER
    if short in marks.ARGUMENT_ERRORS:
        return About.ARGUMENTS
    if short in marks.SCHEMA_ERRORS:
        return About.ARGUMENTS if kind is Kind.TOOL else About.ANSWER if kind in (Kind.MODEL, Kind.AGENT) else None
    if kind is Kind.TOOL and _refuses_arguments(type_, message):
        return About.ARGUMENTS
    return shapes.refused(short, kind)


def _refuses_arguments(type_: str, words: str) -> bool:
    """Whether a tool's error says that its arguments fit neither its signature nor the service behind it.

    Not so a provider of models that refuses what a tool asked it.
    """
    package, short = type_.partition(".")[0], type_.rpartition(".")[2]
    of_provider = package in marks.CLIENTS or package == "google" or short in marks.PROVIDER_ERRORS
    if of_provider or marks.PROVIDER_STATUS.match(words) or marks.PROVIDER_WORDS.search(words[:_MESSAGE]):
        return False
    if short in marks.REFUSED_CODES or marks.REFUSED_CALL.search(words[:_MESSAGE]):
        return True
    return short in ("TypeError", "") and marks.ARGUMENT_TYPE_ERRORS.search(words[:_MESSAGE]) is not None


def message_of(error: object) -> str:
    """Read an exception's text; empty where it cannot be printed."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - the app's exception
        return ""


def how_it_failed(type_: str, message: str) -> tuple[str, bool]:
    """Name in one word how a call failed, and say whether the error is one of a model provider.

    Args:
        type_: The exception's name, qualified or not; may be empty.
        message: Its text; only a status code is read from it. HTTP clients write that in the place of the name.
    """
    short = type_.rpartition(".")[2]
    of_provider = short in marks.PROVIDER_ERRORS or marks.PROVIDER_WORDS.search(message[:_MESSAGE]) is not None
    known = marks.QUALIFIED_ERRORS.get(type_) or marks.PROVIDER_ERRORS.get(short) or marks.ERROR_TYPES.get(short)
    if known:
        return known, of_provider
    provider = marks.PROVIDER_STATUS.match(message)
    if provider is not None and provider["code"] in _BY_CODE:
        return _BY_CODE[provider["code"]], True
    by_code = _BY_CODE.get(short) or _BY_CODE.get(_code_in(message), "")
    if by_code:
        return by_code, of_provider or (not type_ and by_code == "rate_limited")
    return _short(type_), of_provider


def _code_in(message: str) -> str:
    found = _STATUS_CODE.search(message)
    return (found["code"] or found["first"]) if found else ""


def _from_result(result: Any, call: _Call) -> Ended:
    """Find a structured mark of failure, or a framework's own sentence, in what a call returned."""
    if isinstance(result, str):
        said = _from_words(result, call)
        if said is not None:
            return Ended(said)
        if result[:1] == "{" and len(result) > values.SCANNED_BYTES:
            return Ended(cut=not langchain.went_well(result))
    envelope = values.parsed(result)
    if not values.is_map(envelope):
        return WELL
    message = langchain.tool_result(envelope)
    if message is not None:
        words, is_error = message
        return _from_message(words, call, is_error=is_error)
    inner = envelope.get("response")
    if values.is_map(inner) and "name" in envelope:
        envelope = inner
    return _from_envelope(envelope, call.tool)


def _from_message(words: str, call: _Call, *, is_error: bool) -> Ended:
    """Read a tool message: its status, and its words as the tool's result."""
    if words.startswith(marks.DECISIONS):
        return WELL
    said = marks.sentence_in(marks.TOOL_MESSAGES, words) or (shapes.refusal(words, call.tool) if is_error else None)
    if said is not None:
        return Ended(_refused(said, words))
    ended = _from_result(words, call)
    if not is_error or ended.incident is not None:
        return ended
    named = _EXCEPTION_NAME.search(words[:_MESSAGE])
    type_ = named["name"] if named else ""
    if _refuses_arguments(type_, words):
        return Ended(_MISFIT)
    error_type, of_provider = how_it_failed(type_, words[:_MESSAGE])
    return Ended(
        Incident(
            sort=Sort.FAILED,
            message=words[:_MESSAGE],
            error_type=error_type,
            retriable=error_type in marks.RETRIABLE,
            of_provider=of_provider,
        )
    )


def _from_words(result: str, call: _Call) -> Incident | None:
    """Find the app's own mark, or the sentence of a framework, in the words of a result."""
    for mark in call.failure_marks:
        how = mark(result[: values.SCANNED_BYTES])
        if how:
            return Incident(sort=Sort.FAILED, error_type=word(how), message=result[:_MESSAGE])
    said = marks.sentence_in(marks.RESULTS, result[:_MESSAGE], call.scope) or shapes.failure(result, call.tool)
    if said is None:
        return None
    if said.sort is Sort.FAILED and _refuses_arguments("", result):
        return _MISFIT
    return Incident(
        sort=said.sort,
        about=said.about,
        message=result[:_MESSAGE],
        error_type=said.error_type or "error",
        retriable=said.error_type in marks.RETRIABLE,
    )


_DATA: Final = ("data", "result", "results", "items", "documents", "value", "output")


def _from_envelope(envelope: Mapping[str, Any], tool: str) -> Ended:
    """Read an object that a call returned: an error, a request for a person's consent, or data."""
    words = _error_words(envelope)
    if any(mark in words for mark in marks.NO_ERROR):
        return Ended(flow=marks.Flow.PAUSED)
    return Ended(_envelope_error(envelope, words, tool))


def _envelope_error(envelope: Mapping[str, Any], words: str, tool: str) -> Incident | None:
    """Read an error envelope: a mark that it failed, without data beside it."""
    response_type = values.text(envelope.get("response_type")) or ""
    marked = envelope.get("isError") is True or envelope.get("is_error") is True
    marked = marked or response_type.startswith(marks.HANDLED_ERROR)
    refused = envelope.get("success") is False or envelope.get("ok") is False
    has_data = any(envelope.get(key) for key in _DATA)
    status = envelope.get("status")
    stated = (isinstance(status, str) and status.lower() == "error") or bool(envelope.get("error"))
    if not (marked or refused or (stated and not has_data)):
        return None
    said = marks.sentence_in(marks.ENVELOPES, words) or shapes.refusal(words, tool)
    if said is not None:
        return _refused(said, words)
    code = _code_of(envelope, status)
    type_ = values.text(envelope.get("error_type")) or ""
    if str(code) in marks.REFUSED_CODES or _refuses_arguments(type_, words):
        return _MISFIT
    error_type, of_provider = how_it_failed(type_, f"status {code} {words}")
    return Incident(
        sort=Sort.FAILED,
        type=type_,
        message=words[:_MESSAGE],
        error_type=error_type,
        retriable=error_type in marks.RETRIABLE,
        of_provider=of_provider,
    )


def _code_of(envelope: Mapping[str, Any], status: Any) -> Any:
    inner = envelope.get("error")
    within = inner.get("code", status) if values.is_map(inner) else status
    return envelope.get("status_code", envelope.get("code", within))


def _error_words(envelope: Mapping[str, Any]) -> str:
    error = envelope.get("error")
    if values.is_map(error):
        error = error.get("message")
    if isinstance(error, str):
        return error
    return values.text(envelope.get("message")) or mcp.words(envelope)


def technical_detail(type_: str, stack: str, message: str = "") -> str:
    """Say for operators which exception it was, what it said and where, innermost frame first; redacted.

    Args:
        type_: Its qualified name; may be empty.
        stack: Its traceback as Python prints it.
        message: Its text, if it may be told: that of a rejected output quotes the output, and is left out.
    """
    said = " ".join(redact_start(message, _TOLD_FROM).split())[:_TOLD]
    name = ": ".join(filter(None, (word(type_) if type_ else "", said)))
    frames = [
        f"{'/'.join(frame['file'].replace(chr(92), '/').split('/')[-2:])}:{frame['line']} in {frame['where']}"
        for frame in _frames(stack)
    ]
    if not frames:
        return name
    return f"{name} at {redact(' < '.join(reversed(frames[-_DETAIL_FRAMES:])))}".strip()


def _frames(stack: str) -> Iterator[re.Match[str]]:
    """Go through the frames of the first traceback in a stack.

    It ends where a line is not indented: there the exception's message begins; what looks like a frame in it is none.
    """
    lines = stack[: values.ANSWER_BYTES].split("\n")
    if lines[0].rstrip() == _TRACEBACK:
        del lines[0]
    for line in lines:
        if not line.startswith("  "):
            return
        frame = _FRAME.fullmatch(line.rstrip("\r"))
        if frame is not None:
            yield frame


def _short(type_: str) -> str:
    return word(type_.rpartition(".")[2]) if type_ else "error"


def word(name: str) -> str:
    """Keep a name that looks like one; anything else could be content and becomes `error`."""
    return name if _NAME.match(name) else "error"
