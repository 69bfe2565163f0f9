"""What an exception means: how the step failed, whether the same call may succeed later, and when.

No library is imported for it. An exception is known by the names of its classes, by the status that it carries (HTTP,
gRPC, SQLSTATE), and else by the exception that it was raised from. What is not known is not retriable.
"""

from __future__ import annotations

import errno
import itertools
import re
import traceback
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

from otel_aml.conventions import incidents, marks, values
from otel_aml.core.messages import user_message
from otel_aml.core.recovery import StepError, path_of
from otel_aml.core.taxonomy import FAILURES, FailureClass
from otel_aml.recover import hints

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEPTH: Final = 8
"""So far a chain of causes, or groups within groups, are followed."""
_MEMBERS: Final = 256
"""So many members of a group are looked at. Of a larger one nobody knows whether all of it may pass."""
_CUTS: Final = 10_000
"""So many members of a group are asked whether they are mere control flow."""
_SAID: Final = 65_536
"""So much of an exception's text is read."""
_FRAMES: Final = 8
"""The innermost frames of a traceback, which are all that is told."""
_LONGEST_MS: Final = 366 * 24 * 3_600 * 1_000
"""A wait that is longer reads as this: a year."""
_SECONDS: Final = re.compile(r"\d{1,15}(?:\.\d{1,9})?\Z", re.ASCII)
_CLIENT_ERROR, _SERVER_ERROR, _LAST_STATUS = 400, 500, 599
PROGRAM_FAULTS: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""What Python raises for a fault of the program, or for bad arguments."""
_UNREACHABLE: Final = frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})
_TRY_AGAIN: Final = -3
"""`socket.EAI_AGAIN`: the name server did not answer."""
_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_GRPC_OURS: Final = frozenset(
    {"INVALID_ARGUMENT", "NOT_FOUND", "ALREADY_EXISTS", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED"}
)
_REFUSALS: Final = marks.SCHEMA_ERRORS | marks.ARGUMENT_ERRORS | marks.REJECTED_ANSWER


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """What is known of something that was raised.

    Args:
        failure_class: `format_violation` where a schema was broken, else `tool_failure`.
        error_type: How it failed in one word.
        retriable: Whether the same call may succeed later.
        of_dependency: Whether it tells that the dependency is not well. False where that answered, and refused what
            was asked: bad arguments, no permission.
        retry_after_ms: When the dependency wants to be asked again, from now; None where it said nothing.
        hint: What the model may be told to do better.
        detail: Type and place, for operators.
        told: The same with the redacted message, where that is of a dependency: a refusal quotes what the model wrote.
    """

    failure_class: FailureClass
    error_type: str
    retriable: bool = False
    of_dependency: bool = False
    retry_after_ms: int | None = None
    hint: str = ""
    detail: str = ""
    told: str = ""


def classify_error(
    raw: object,
    step_id: str,
    *,
    attempt: int = 0,
    failure_class: FailureClass | None = None,
    locale: str = "en",
) -> StepError:
    """Turn an error at a step into data. It never raises: it is called where something else just did.

    Args:
        raw: An exception of any library, an HTTP status, or a response that has one. Of an exception group the member
            that is hardest to recover from counts.
        step_id: The step, in the app's own words.
        attempt: Tries already made after the first, from 0.
        failure_class: One of the six, where the app knows better than the exception.
        locale: Language of the user's message.

    Returns:
        The error as data. Only a transient `tool_failure` is retriable; an unknown error is not.
    """
    return error_of(read(raw), step_id, attempt=attempt, failure_class=failure_class, locale=locale)


def error_of(
    raised: Raised,
    step_id: object,
    *,
    attempt: object = 0,
    failure_class: object = None,
    locale: object = "en",
) -> StepError:
    """Put what is known into the form of an error at a step, whatever the app gave besides."""
    found = next((each for each in FAILURES if each == failure_class), raised.failure_class)
    retriable = raised.retriable and found is FailureClass.TOOL_FAILURE
    tries = max(attempt, 0) if isinstance(attempt, int) else 0
    path = path_of(found, retriable=retriable, attempt=tries)
    return StepError(
        step_id=step_id if isinstance(step_id, str) else type(step_id).__name__,
        failure_class=found,
        user_message=user_message(found, path, locale if isinstance(locale, str) else "en"),
        technical_detail=raised.told if found is FailureClass.TOOL_FAILURE else raised.detail,
        retriable=retriable,
        attempt=tries,
        error_type=raised.error_type,
        retry_after_ms=raised.retry_after_ms,
        hint=raised.hint if found is raised.failure_class else "",
    )


def read(raw: object) -> Raised:
    """Say what an exception, a status or a response means. An object that cannot be looked at is an unknown error."""
    try:
        return _read(raw)
    except Exception:  # noqa: BLE001 - objects of the app: their properties, their classes' own
        return Raised(failure_class=FailureClass.TOOL_FAILURE, error_type="error", of_dependency=True)


def _read(raw: object) -> Raised:
    leaves = list(itertools.islice(_leaves(raw, _DEPTH), _MEMBERS + 1))
    found = [_read_one(leaf) for leaf in leaves[:_MEMBERS]]
    worst = max(found, key=_gravity)
    if worst.retriable and len(leaves) > _MEMBERS:
        return replace(worst, retriable=False, retry_after_ms=None)
    waits = [each.retry_after_ms for each in found if each.retry_after_ms is not None]
    return replace(worst, retry_after_ms=max(waits)) if waits and worst.retriable else worst


def is_passed_on(error: BaseException) -> bool:
    """Whether an exception is no failure of the step: a cut from outside, or mere control flow of a framework.

    A group is one if all its members are.
    """
    try:
        return all(
            not isinstance(leaf, Exception) or any(name in _NO_FAILURES for name in _names(leaf))
            for leaf in itertools.islice(_leaves(error, _DEPTH), _CUTS)
        )
    except Exception:  # noqa: BLE001 - an object of the app's that cannot be looked at
        return not isinstance(error, Exception)


_NO_FAILURES: Final = marks.CONTROL_FLOW.keys() | marks.CANCELLATIONS.keys()


def _gravity(raised: Raised) -> int:
    """Order by what is harder to recover from: what may pass, what can be repaired, what is neither."""
    if raised.retriable:
        return 0
    return 1 if raised.failure_class is FailureClass.FORMAT_VIOLATION else 2


def _leaves(raw: object, depth: int) -> Iterator[object]:
    """Go through the members of a group, and of groups within it; anything else is its own only one."""
    if not depth or not isinstance(raw, BaseExceptionGroup):
        yield raw
        return
    for member in cast("BaseExceptionGroup[BaseException]", raw).exceptions:
        yield from _leaves(member, depth - 1)


def _read_one(raw: object) -> Raised:
    chain: list[object] = list(_causes(raw))
    detail = _detail(raw)
    if any(_is_refusal(each) for each in chain[:1]) or (not _how(raw) and any(map(_is_refusal, chain))):
        hint = next((said for each in chain if (said := hints.of(each))), "")
        return Raised(failure_class=FailureClass.FORMAT_VIOLATION, error_type=_type_word(raw), hint=hint, detail=detail)
    teller, how = next(((each, how) for each in chain if (how := _how(each))), (raw, ""))
    if any("SSLCertVerificationError" in map(_last, _names(each)) for each in chain):
        how = "tls"
    retriable = how in marks.RETRIABLE
    after = next((wait for each in chain if (wait := _retry_after_ms(each)) is not None), None) if retriable else None
    return Raised(
        failure_class=FailureClass.TOOL_FAILURE,
        error_type=how or _type_word(raw),
        retriable=retriable,
        of_dependency=retriable or _is_of_dependency(teller, how),
        retry_after_ms=after,
        detail=detail,
        told=_detail(raw, incidents.message_of(raw)[:_SAID]),
    )


def _causes(raw: object) -> Iterator[object]:
    """Go from an exception to what it was raised from, and on."""
    seen: set[int] = set()
    while raw is not None and id(raw) not in seen and len(seen) < _DEPTH:
        seen.add(id(raw))
        yield raw
        raw = raw.__cause__ if isinstance(raw, BaseException) else None


def _names(raw: object) -> list[str]:
    """List the qualified names of what an object is, the closest first; bare for Python's own."""
    return [
        kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        for kind in type(raw).__mro__
    ]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _type_word(raw: object) -> str:
    return incidents.word(_last(_names(raw)[0])) if isinstance(raw, BaseException) else "error"


def _detail(raw: object, message: str = "") -> str:
    if not isinstance(raw, BaseException):
        return ""
    frames = "".join(traceback.format_tb(raw.__traceback__, limit=-_FRAMES))
    return incidents.technical_detail(_names(raw)[0], frames, message)


def _is_refusal(raw: object) -> bool:
    """Whether an exception refuses what a model wrote; what a service wrote is another matter."""
    if not isinstance(raw, BaseException):
        return False
    first = next((name for name in _names(raw) if name in marks.TOOLS_OWN_JSON or _last(name) in _REFUSALS), "")
    return bool(first) and first not in marks.TOOLS_OWN_JSON


def _how(raw: object) -> str:
    """Say in one word how a call failed; empty where the object itself does not tell."""
    code = _field(raw, "code")
    if isinstance(code, str) and code in marks.QUOTA_CODES:
        return "quota_exhausted"
    status = _status(raw)
    named = _by_name(raw)
    if status is not None:
        return named if named == "quota_exhausted" else marks.STATUS_CODES.get(status, str(status))
    return _by_grpc(raw) or _by_sql(raw) or _by_system(raw) or named or _by_words(raw)


def _by_name(raw: object) -> str:
    for name in _names(raw) if isinstance(raw, BaseException) else ():
        short = _last(name)
        how = marks.QUALIFIED_ERRORS.get(name) or marks.PROVIDER_ERRORS.get(short) or marks.ERROR_TYPES.get(short)
        if how:
            return how
    return ""


def _by_words(raw: object) -> str:
    """Read a status out of the words of an exception, where they say that it is one."""
    said = incidents.message_of(raw)[:_SAID] if isinstance(raw, BaseException | str) else ""
    how, _ = incidents.how_it_failed("", said)
    return "" if how == "error" else how


def _grpc_code(raw: object) -> str:
    if "grpc.RpcError" not in _names(raw):
        return ""
    try:
        name = raw.code().name  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - not every RpcError is a call
        return ""
    return name if isinstance(name, str) else ""


def _by_grpc(raw: object) -> str:
    name = _grpc_code(raw)
    return marks.ERROR_TYPES.get(name, name)


def _by_sql(raw: object) -> str:
    state = _field(raw, "sqlstate") or _field(raw, "pgcode")
    if isinstance(state, str):
        return marks.SQL_STATES.get(state) or marks.SQL_STATES.get(state[:2]) or incidents.word(f"SQLSTATE_{state}")
    name = _field(raw, "sqlite_errorname")
    return "conflict" if isinstance(name, str) and name.startswith(_BUSY) else ""


def _by_system(raw: object) -> str:
    if not isinstance(raw, OSError):
        return ""
    did_not_resolve = type(raw).__name__ == "gaierror" and raw.errno == _TRY_AGAIN
    return "unavailable" if did_not_resolve or raw.errno in _UNREACHABLE else ""


def _is_of_dependency(raw: object, how: str) -> bool:
    """Whether an error that is not transient still tells that the dependency is not well."""
    if how in {"quota_exhausted", "tls"}:
        return True
    status = _status(raw)
    if status is not None:
        return status >= _SERVER_ERROR
    if how in {"auth", "not_found"} or how in _GRPC_OURS or how.startswith("SQLSTATE_"):
        return False
    names = _names(raw)
    if not marks.TOOLS_OWN_JSON.isdisjoint(names):
        return True
    return not isinstance(raw, PROGRAM_FAULTS) and marks.OWN_FAULTS.isdisjoint(names)


def _status(raw: object) -> int | None:
    """Find the HTTP status of an error, or of the response that it holds; None where there is none."""
    response = _field(raw, "response")
    candidates = (
        raw,
        _field(raw, "status_code"),
        _field(response, "status_code"),
        _field(raw, "status"),
        _field(raw, "code"),
        _aws_status(response),
    )
    return next((int(each) for each in candidates if _is_status(each)), None)


def _aws_status(response: object) -> object:
    """Find the status where botocore puts it."""
    metadata = response.get("ResponseMetadata") if values.is_map(response) else None
    return metadata.get("HTTPStatusCode") if values.is_map(metadata) else None


def _is_status(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and _CLIENT_ERROR <= value <= _LAST_STATUS


def _field(raw: object, name: str) -> Any:
    """Read an attribute of an object that is not ours; None where that does not work."""
    try:
        return getattr(raw, name, None)
    except Exception:  # noqa: BLE001 - a property of the app's object
        return None


# --- when to come back ----------------------------------------------------------------------------------------------


def _retry_after_ms(raw: object) -> int | None:
    """Read when to come back: `Retry-After` (seconds or a date), its variants in milliseconds, gRPC's pushback."""
    for headers in (_field(_field(raw, "response"), "headers"), _field(raw, "headers"), _metadata(raw)):
        found = _lower(headers)
        for name, unit in (("retry-after-ms", 1), ("grpc-retry-pushback-ms", 1), ("retry-after", 1_000)):
            wait = _number(found.get(name), unit)
            if wait is not None:
                return wait
        wait = _until(found.get("retry-after"), found.get("date"))
        if wait is not None:
            return wait
    return None


def _metadata(raw: object) -> Any:
    read_it = _field(raw, "trailing_metadata")
    try:
        return read_it() if callable(read_it) else None
    except Exception:  # noqa: BLE001 - the app's object
        return None


def _lower(headers: Any) -> dict[str, str]:
    """Make a plain mapping of headers, whatever the library's own is."""
    try:
        found = cast("dict[object, object]", dict(headers or ()))
        return {str(key).lower(): str(value) for key, value in found.items()}
    except Exception:  # noqa: BLE001 - the app's object
        return {}


def _number(value: str | None, unit: int) -> int | None:
    words = (value or "").strip()
    return min(int(float(words) * unit), _LONGEST_MS) if _SECONDS.match(words) else None


def _until(value: str | None, sent: str | None) -> int | None:
    """Count the milliseconds up to an HTTP date, by the clock of the server that named it if that said what time it is.

    Source:
        RFC 9110, 5.6.7 and 10.2.3.
    """
    until = _date(value)
    if until is None:
        return None
    wait = (until - (_date(sent) or datetime.now(UTC))).total_seconds()
    return min(max(int(wait * 1_000), 0), _LONGEST_MS)


def _date(value: str | None) -> datetime | None:
    try:
        found = parsedate_to_datetime(value or "")
        return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
