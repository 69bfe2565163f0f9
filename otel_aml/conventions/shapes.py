"""What a name or a sentence means by its shape, whichever framework wrote it.

`marks` holds the words of single frameworks, as they were recorded. These rules are for frameworks that nobody has
looked at: developers name alike what does alike, and the shapes here are narrow enough to part an exception that asks
for a person from one that merely has such a word in it. Each is asked only where it can mean nothing else: a refused
answer not on a tool, a refused call only in words that already stand as an error, a tool's failure only in a sentence
that names the tool itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from otel_aml.conventions.marks import AGENT_PACKAGES, Flow, Sentence
from otel_aml.core.steps import About, Kind, Sort

if TYPE_CHECKING:
    from collections.abc import Mapping

_SOURCE: Final = "the shape of the words"
WRITERS: Final = frozenset({Kind.AGENT, Kind.MODEL, Kind.STEP})
"""What may end in the refusal of something that a model wrote, without being a call."""
_LONGEST: Final = 400
"""Characters of a text that are looked at."""
_LONGEST_NAME: Final = 160

_FLOWS: Final[Mapping[Flow, re.Pattern[str]]] = {
    Flow.PAUSED: re.compile(
        r"\w*(?:Interrupt|Deferred|Suspended|Paused"
        r"|(?:Approval|Confirmation|Consent|HumanInput|UserInput|Human)(?:Required|Requested|Needed)"
        r"|Requires(?:Approval|Confirmation|Consent|Human\w*))(?:Error|Exception|Signal)?"
    ),
    Flow.ASKED_AGAIN: re.compile(
        r"(?:(?:Model|Tool|Agent|Output|LLM)Retry(?:Run|Call|Request)?|Retry(?:Model|Tool|Agent|Output)(?:Run|Call)?)"
        r"(?:Error|Exception|Signal)?"
    ),
    Flow.PASSED_ON: re.compile(
        r"\w*(?:Hand[Oo]ff|BubbleUp)(?:Exception|Signal)?|(?:Parent|Graph|Node|Agent)Command|Stop(?:Agent|Workflow)Run"
    ),
}
_TROUBLE: Final = re.compile(r"Time[d]?[Oo]ut|Connect|RateLimit|Unavailable|Http|HTTP|Auth|Permission|Quota")
_REFUSES_ANSWER: Final = re.compile(
    r"\w*(?:StructuredOutput\w*|Output(?:Pars|Validat|Schema|Format)\w*"
    r"|(?:Invalid|Incomplete|Malformed)(?:\w*)Output\w*|(?:Agent|Model|Answer|Completion|Adapter)Pars(?:er|ing|e)\w*)"
    r"(?<=Error|ption)"
)
_REFUSES_ARGUMENTS: Final = re.compile(
    r"(?:AI_)?(?:Tool(?:Input|Argument)s?(?:Validation|Parsing|Schema)?|(?:Invalid|Malformed)Tool(?:Call|Input|Argument)s?)"
    r"(?:Error|Exception)"
)
_REFUSES_NAME: Final = re.compile(
    r"(?:AI_)?(?:(?:NoSuch|Unknown)Tool(?:Name)?|Tool(?:NotFound|NotRegistered|DoesNotExist))(?:Error|Exception)"
)
_END: Final = r"(?:[.,;:!\n]|$)"
_OPEN: Final = r"['\"`]?"
_TOOL: Final = r"[\w.:/-]{1,80}?"
_UNKNOWN_TOOL: Final = re.compile(
    rf"(?:Error: )?(?:{_OPEN}(?P<first>{_TOOL}){_OPEN} is not a valid tool{_END}"
    rf"|(?:Unknown|Invalid|No such) tool(?: name)?:? {_OPEN}(?P<second>{_TOOL}){_OPEN}(?:[\s.,;(]|$)"
    rf"|Tool (?:with name |named )?{_OPEN}(?P<third>{_TOOL}){_OPEN} "
    rf"(?:(?:was )?not found|does not exist|is not (?:available|registered|defined)){_END}"
    rf"|No tool (?:named|called|with(?: the)? name) {_OPEN}(?P<fourth>{_TOOL}){_OPEN}(?:[\s.,;(]|$))"
)
_BAD_ARGUMENTS: Final = re.compile(
    rf"(?:Error: )?(?:Error (?:invoking|executing|calling|running) (?:the )?tool {_OPEN}(?P<first>{_TOOL}){_OPEN}"
    r"(?: with (?:kwargs|arguments|input) |[:.,]? (?:.{0,80} )?\d+ validation errors? for )"
    r"|(?:Tool )?[Ii]nput validation (?:error|failed)\b|(?:Tool )?[Aa]rguments? validation (?:error|failed)\b"
    rf"|Invalid (?:arguments|parameters|input) for (?:the )?tool {_OPEN}(?P<second>{_TOOL}){_OPEN}(?:[\s.,;:(]|$))"
)
_BAD_ANSWER: Final = re.compile(
    r"(?:Error: )?(?:Failed to|Could not|Unable to) (?:parse|convert|validate) (?:[\w']+ ){0,5}"
    r"(?:structured (?:output|response)|final answer|model output|LLM output|Pydantic model)\b"
    rf"(?: (?:for|of) (?:the )?tool {_OPEN}(?P<first>{_TOOL}){_OPEN}(?:[\s.,;:(]|$))?"
)
_NAMES_ITSELF: Final = re.compile(
    rf"(?:Error: )?(?:(?:Error|Exception|Failure) (?:while |when )?(?:executing|calling|running|invoking|using) "
    rf"(?:the )?(?:tool|function) {_OPEN}(?P<first>{_TOOL}){_OPEN}(?:[:.,]|$| with )"
    rf"|Failed to (?:execute|call|run|invoke) (?:the )?(?:tool|function) {_OPEN}(?P<second>{_TOOL}){_OPEN}(?:[:.,]|$)"
    rf"|(?:The )?(?:[Tt]ool|[Ff]unction) (?:call )?{_OPEN}(?P<third>{_TOOL}){_OPEN} "
    r"(?P<how>timed out|failed|raised|crashed)\b)"
)
RESULT_STARTS: Final[tuple[str, ...]] = ("Error", "Exception", "Fail", "Tool ", "The ", "Function ")
"""What a result begins with that may say, by its shape, that the tool failed."""
REFUSED_MARKS: Final[tuple[str, ...]] = ('"error"', '"content": "Error: ')
"""Without one of them no message in a graph's state has the status of an error, or begins as one."""


def control_flow(type_: str) -> Flow | None:
    """Say what an exception of an agent framework is that is no error; None of any other, and of the app's own.

    Args:
        type_: Its qualified name.
    """
    package, _, rest = type_.partition(".")
    if not rest or package not in AGENT_PACKAGES or len(type_) > _LONGEST_NAME:
        return None
    short = rest.rpartition(".")[2]
    return next((flow for flow, names in _FLOWS.items() if names.fullmatch(short)), None)


def refused(short: str, kind: Kind) -> About | None:
    """Say what of the model's output an exception refuses, by its short name.

    A tool may parse the output of something else, or miss a tool of its own; that is its own trouble.
    """
    if len(short) > _LONGEST_NAME:
        return None
    if _REFUSES_ARGUMENTS.fullmatch(short):
        return About.ARGUMENTS
    if kind not in WRITERS:
        return None
    if _REFUSES_NAME.fullmatch(short):
        return About.TOOL_NAME
    return About.ANSWER if _REFUSES_ANSWER.fullmatch(short) and not _TROUBLE.search(short) else None


def refusal(words: str, tool: str = "") -> Sentence | None:
    """Find a refusal of what the model wrote in words that stand as an error already.

    Args:
        words: The words.
        tool: The tool that was called, if one was: a refusal that names another is the tool's own trouble.
    """
    head = words[:_LONGEST]
    for pattern, about, error_type in (
        (_UNKNOWN_TOOL, About.TOOL_NAME, "unknown_tool"),
        (_BAD_ARGUMENTS, About.ARGUMENTS, "invalid_arguments"),
        (_BAD_ANSWER, About.ANSWER, "invalid_answer"),
    ):
        found = pattern.match(head)
        if found is not None and (not tool or _name(found) in ("", tool)):
            return Sentence(
                starts=found[0],
                sort=Sort.REJECTED,
                about=about,
                error_type=error_type,
                tool=_name(found),
                source=_SOURCE,
            )
    return None


def failure(words: str, tool: str) -> Sentence | None:
    """Find a sentence at the very start of a tool's result that names the tool itself, and says that it failed.

    Args:
        words: The result.
        tool: The tool's name.
    """
    if not words.startswith(RESULT_STARTS):
        return None
    found = _NAMES_ITSELF.match(words[:_LONGEST])
    if found is None or not tool or _name(found) != tool:
        return None
    error_type = "timeout" if found["how"] == "timed out" else ""
    return Sentence(starts=found[0], error_type=error_type, source=_SOURCE)


def _name(found: re.Match[str]) -> str:
    """Give the tool's name, from whichever of the forms was found."""
    return next((name for group, name in found.groupdict().items() if name and group != "how"), "")
