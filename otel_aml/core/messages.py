"""All that a user may read about a failure: a closed catalogue, which takes no detail and so can leak none.

The texts are calm and plain: what happened, what is kept, what can be done. None names a class, a typology or the
purpose of the work, and none has a place where a value could be put. The codes are opaque and never change: a person
quotes one on the phone, an operator looks it up in `CODES`.
"""

# ruff: noqa: RUF001 - Chinese is written with its own punctuation
from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from otel_aml.core.taxonomy import FailureClass, RecoveryPath

if TYPE_CHECKING:
    from collections.abc import Mapping

Key = tuple[FailureClass, RecoveryPath | None]

_C, _P = FailureClass, RecoveryPath
_LONG_SECONDS: Final = 120

CODES: Final[Mapping[Key, str]] = MappingProxyType(
    {
        (_C.TOOL_FAILURE, None): "E-214",
        (_C.TOOL_FAILURE, _P.AUTO_RETRY): "E-871",
        (_C.TOOL_FAILURE, _P.HUMAN_TAKEOVER): "E-356",
        (_C.FORMAT_VIOLATION, None): "E-640",
        (_C.FORMAT_VIOLATION, _P.FIX_AND_RETRY): "E-127",
        (_C.FORMAT_VIOLATION, _P.HUMAN_TAKEOVER): "E-593",
        (_C.HALLUCINATION, None): "E-708",
        (_C.HALLUCINATION, _P.HUMAN_TAKEOVER): "E-482",
        (_C.RETRIEVAL_MISS, None): "E-935",
        (_C.RETRIEVAL_MISS, _P.FIX_AND_RETRY): "E-261",
        (_C.RETRIEVAL_MISS, _P.HUMAN_TAKEOVER): "E-817",
        (_C.CONTEXT_POLLUTION, None): "E-149",
        (_C.CONTEXT_POLLUTION, _P.FIX_AND_RETRY): "E-774",
        (_C.CONTEXT_POLLUTION, _P.HUMAN_TAKEOVER): "E-308",
        (_C.TYPOLOGY_MISJUDGE, None): "E-526",
        (_C.TYPOLOGY_MISJUDGE, _P.HUMAN_TAKEOVER): "E-963",
        (_C.PASS, None): "E-402",
        (_C.PASS, _P.AUTO_RETRY): "E-689",
        (_C.PASS, _P.FIX_AND_RETRY): "E-235",
        (_C.PASS, _P.HUMAN_TAKEOVER): "E-751",
        (_C.CANCELLED, None): "E-598",
        (_C.CANCELLED, _P.AUTO_RETRY): "E-173",
        (_C.CANCELLED, _P.FIX_AND_RETRY): "E-844",
        (_C.CANCELLED, _P.HUMAN_TAKEOVER): "E-319",
        (_C.UNCLASSIFIED, None): "E-667",
        (_C.UNCLASSIFIED, _P.HUMAN_TAKEOVER): "E-480",
    },
)
"""The stable codes, by what happened and what is done about it; None: nothing is decided or nothing is needed yet."""

_ENGLISH: Final[Mapping[Key, str]] = MappingProxyType(
    {
        (_C.TOOL_FAILURE, None): "A service that this step needs did not answer. "
        "Everything you entered is kept. You can try again, or ask a colleague to take over.",
        (_C.TOOL_FAILURE, _P.AUTO_RETRY): "A service that this step needs did not answer in time, which usually passes "
        "by itself. Everything you entered is kept. You can try again, or ask a colleague to take over.",
        (_C.TOOL_FAILURE, _P.HUMAN_TAKEOVER): "A service that this step needs is not available at the moment. "
        "Your work so far is kept. A colleague can take over from here.",
        (_C.FORMAT_VIOLATION, None): "The draft came back incomplete. "
        "Your entries are kept. You can run this step again, or ask a colleague to take over.",
        (_C.FORMAT_VIOLATION, _P.FIX_AND_RETRY): "The draft came back incomplete, and the missing parts are known. "
        "Your entries are kept. You can have it corrected and run again.",
        (_C.FORMAT_VIOLATION, _P.HUMAN_TAKEOVER): "The draft is still incomplete after being corrected. "
        "Your entries are kept. A colleague can complete it from here.",
        (_C.HALLUCINATION, None): "The draft refers to an entry that could not be found in the records. "
        "Your work so far is kept. You can ask a colleague to look at it before it is used.",
        (_C.HALLUCINATION, _P.HUMAN_TAKEOVER): "The draft refers to an entry that could not be found in the records, "
        "so it has been held back. Everything confirmed so far is kept. A colleague needs to look at it.",
        (_C.RETRIEVAL_MISS, None): "Some of the guidance for this step was not found. "
        "Your entries are kept. You can search again with other words, or ask a colleague.",
        (_C.RETRIEVAL_MISS, _P.FIX_AND_RETRY): "Some of the guidance for this step was not found. "
        "Your entries are kept. You can have the search widened and the step run again.",
        (_C.RETRIEVAL_MISS, _P.HUMAN_TAKEOVER): "Some of the guidance for this step was not found, also in a wider "
        "search. Your entries are kept. A colleague can add it and go on from here.",
        (_C.CONTEXT_POLLUTION, None): "The draft does not follow the guidance that was found. "
        "Your entries are kept. You can run this step again, or ask a colleague to take over.",
        (_C.CONTEXT_POLLUTION, _P.FIX_AND_RETRY): "The draft does not follow the guidance that was found. "
        "Your entries are kept. You can have the search narrowed and the step run again.",
        (_C.CONTEXT_POLLUTION, _P.HUMAN_TAKEOVER): "The draft still does not follow the guidance that was found. "
        "Your entries are kept. A colleague can go on from here.",
        (_C.TYPOLOGY_MISJUDGE, None): "The conclusion of the draft needs a second look. "
        "Your work so far is kept. You can ask a colleague to go through it.",
        (_C.TYPOLOGY_MISJUDGE, _P.HUMAN_TAKEOVER): "The conclusion of the draft needs a second look, so it has been "
        "held back. Everything confirmed so far is kept. A colleague needs to go through it.",
        (_C.PASS, None): "This step is done. Everything is saved. You can go on.",
        (_C.PASS, _P.AUTO_RETRY): "This step is done; a service was slow, and it was tried again. "
        "Everything is saved. You can go on.",
        (_C.PASS, _P.FIX_AND_RETRY): "This step is done; the draft was corrected on the way. "
        "Everything is saved. You can go on.",
        (_C.PASS, _P.HUMAN_TAKEOVER): "This step is done, but an earlier version of the draft differed in a way that "
        "should be looked at. Everything is saved. A colleague needs to go through it.",
        (_C.CANCELLED, None): "This step was stopped before it was finished. "
        "What was done so far is kept. You can start it again when you like.",
        (_C.CANCELLED, _P.AUTO_RETRY): "This step was stopped before it was finished; a service had been slow. "
        "What was done so far is kept. You can start it again when you like.",
        (_C.CANCELLED, _P.FIX_AND_RETRY): "This step was stopped while the draft was being corrected. "
        "What was done so far is kept. You can start it again when you like.",
        (_C.CANCELLED, _P.HUMAN_TAKEOVER): "This step was stopped before it was finished, and an earlier version of "
        "the draft should be looked at. What was done so far is kept. A colleague needs to go through it.",
        (_C.UNCLASSIFIED, None): "This step did not finish as it should. "
        "Your work so far is kept. You can try again, or ask a colleague to take over.",
        (_C.UNCLASSIFIED, _P.HUMAN_TAKEOVER): "This step did not finish as it should. "
        "Your work so far is kept. A colleague can take over from here.",
    },
)

_CHINESE: Final[Mapping[Key, str]] = MappingProxyType(
    {
        (_C.TOOL_FAILURE, None): "本步骤所需的服务没有响应。您填写的内容已全部保留。您可以重试，或请同事接手。",
        (
            _C.TOOL_FAILURE,
            _P.AUTO_RETRY,
        ): "本步骤所需的服务没有及时响应，通常会自行恢复。您填写的内容已全部保留。您可以重试，或请同事接手。",
        (_C.TOOL_FAILURE, _P.HUMAN_TAKEOVER): "本步骤所需的服务目前无法使用。目前的工作已保留，同事可以从这里接手。",
        (_C.FORMAT_VIOLATION, None): "生成的草稿不完整。您填写的内容已保留。您可以重新运行本步骤，或请同事接手。",
        (
            _C.FORMAT_VIOLATION,
            _P.FIX_AND_RETRY,
        ): "生成的草稿不完整，缺少的部分已经明确。您填写的内容已保留。您可以让系统修正后重新运行。",
        (_C.FORMAT_VIOLATION, _P.HUMAN_TAKEOVER): "草稿修正后仍不完整。您填写的内容已保留，同事可以从这里补全。",
        (_C.HALLUCINATION, None): "草稿引用了一条在记录中找不到的内容。目前的工作已保留。使用之前，您可以请同事核对。",
        (
            _C.HALLUCINATION,
            _P.HUMAN_TAKEOVER,
        ): "草稿引用了一条在记录中找不到的内容，因此暂不使用。已确认的内容全部保留，需要同事核对。",
        (_C.RETRIEVAL_MISS, None): "本步骤所需的部分指引没有找到。您填写的内容已保留。您可以换个说法再查，或请教同事。",
        (
            _C.RETRIEVAL_MISS,
            _P.FIX_AND_RETRY,
        ): "本步骤所需的部分指引没有找到。您填写的内容已保留。您可以扩大查找范围后重新运行。",
        (
            _C.RETRIEVAL_MISS,
            _P.HUMAN_TAKEOVER,
        ): "扩大范围后，仍有部分指引没有找到。您填写的内容已保留，同事可以补充后从这里继续。",
        (
            _C.CONTEXT_POLLUTION,
            None,
        ): "草稿没有遵循已找到的指引。您填写的内容已保留。您可以重新运行本步骤，或请同事接手。",
        (
            _C.CONTEXT_POLLUTION,
            _P.FIX_AND_RETRY,
        ): "草稿没有遵循已找到的指引。您填写的内容已保留。您可以缩小查找范围后重新运行。",
        (_C.CONTEXT_POLLUTION, _P.HUMAN_TAKEOVER): "草稿仍未遵循已找到的指引。您填写的内容已保留，同事可以从这里继续。",
        (_C.TYPOLOGY_MISJUDGE, None): "草稿的结论需要再看一遍。目前的工作已保留。您可以请同事复核。",
        (
            _C.TYPOLOGY_MISJUDGE,
            _P.HUMAN_TAKEOVER,
        ): "草稿的结论需要再看一遍，因此暂不使用。已确认的内容全部保留，需要同事复核。",
        (_C.PASS, None): "本步骤已完成，内容已全部保存。您可以继续。",
        (_C.PASS, _P.AUTO_RETRY): "本步骤已完成；期间有服务响应较慢，已自动重试。内容已全部保存，您可以继续。",
        (_C.PASS, _P.FIX_AND_RETRY): "本步骤已完成；草稿在过程中修正过。内容已全部保存，您可以继续。",
        (
            _C.PASS,
            _P.HUMAN_TAKEOVER,
        ): "本步骤已完成，但先前版本的草稿有不同之处，值得一看。内容已全部保存，需要同事复核。",
        (_C.CANCELLED, None): "本步骤在完成之前已停止。已完成的部分全部保留。您可以随时重新开始。",
        (
            _C.CANCELLED,
            _P.AUTO_RETRY,
        ): "本步骤在完成之前已停止；此前有服务响应较慢。已完成的部分全部保留，您可以随时重新开始。",
        (_C.CANCELLED, _P.FIX_AND_RETRY): "本步骤在修正草稿时已停止。已完成的部分全部保留。您可以随时重新开始。",
        (
            _C.CANCELLED,
            _P.HUMAN_TAKEOVER,
        ): "本步骤在完成之前已停止，先前版本的草稿值得一看。已完成的部分全部保留，需要同事复核。",
        (_C.UNCLASSIFIED, None): "本步骤没有正常结束。目前的工作已保留。您可以重试，或请同事接手。",
        (_C.UNCLASSIFIED, _P.HUMAN_TAKEOVER): "本步骤没有正常结束。目前的工作已保留，同事可以从这里接手。",
    },
)

CATALOGUE: Final[Mapping[str, Mapping[Key, str]]] = MappingProxyType({"en": _ENGLISH, "zh": _CHINESE})
"""All texts, by locale."""


class Action(StrEnum):
    """What a person can do about a failed step."""

    RETRY = "retry"
    FIX = "fix_and_run_again"
    HAND_OVER = "hand_over"


ACTION_LABELS: Final[Mapping[str, Mapping[Action, str]]] = MappingProxyType(
    {
        "en": MappingProxyType(
            {
                Action.RETRY: "Try again",
                Action.FIX: "Correct and run again",
                Action.HAND_OVER: "Ask a colleague to take over",
            }
        ),
        "zh": MappingProxyType(
            {
                Action.RETRY: "重试",
                Action.FIX: "修正后重新运行",
                Action.HAND_OVER: "请同事接手",
            }
        ),
    },
)
"""What stands on the buttons, by locale."""


class Word(StrEnum):
    """A fixed text beside the message, where a notice is drawn."""

    STOPPED = "stopped"
    HELD_BACK = "held_back"
    HANDED_OVER = "handed_over"
    HAPPENED = "happened"
    SAFE = "safe"
    WAITS = "waits"
    SAVED = "saved"
    RECOMMENDED = "recommended"
    FOR_HELP = "for_help"
    CODE = "code"
    REFERENCE = "reference"
    NEXT = "next"


WORDS: Final[Mapping[str, Mapping[Word, str]]] = MappingProxyType(
    {
        "en": MappingProxyType(
            {
                Word.STOPPED: "This step could not be finished",
                Word.HELD_BACK: "Held back, so that it is not used as it is",
                Word.HANDED_OVER: "A colleague has been asked to take over",
                Word.HAPPENED: "What happened",
                Word.SAFE: "What is safe",
                Word.WAITS: "Nothing for now. Your work waits in the queue as it stood; "
                "once a colleague has decided, it continues from here.",
                Word.SAVED: "Your work is saved",
                Word.RECOMMENDED: "Recommended",
                Word.FOR_HELP: "Quote this if you call support:",
                Word.CODE: "Code",
                Word.REFERENCE: "Reference",
                Word.NEXT: "What you can do now",
            }
        ),
        "zh": MappingProxyType(
            {
                Word.STOPPED: "本步骤未能完成",
                Word.HELD_BACK: "已暂缓使用，以免按现状采用",
                Word.HANDED_OVER: "已请同事接手",
                Word.HAPPENED: "发生了什么",
                Word.SAFE: "已保存的内容",
                Word.WAITS: "现在无需操作。您的工作已原样进入队列，同事作出决定后将从这里继续。",
                Word.SAVED: "您的工作已保存",
                Word.RECOMMENDED: "推荐",
                Word.FOR_HELP: "联系支持时请提供：",
                Word.CODE: "代码",
                Word.REFERENCE: "编号",
                Word.NEXT: "您现在可以做什么",
            }
        ),
    }
)
"""The fixed texts around a message, by locale."""


def word(which: Word, locale: str = "en") -> str:
    """Pick a fixed text; an unknown locale reads as `en`."""
    return WORDS[language(locale)][which]


def saved_text(confirmed_evidence: int, edited_fields: int, locale: str = "en") -> str:
    """Say what is kept, as counts; of what there is none nothing is said. Empty where nothing is counted."""
    if language(locale) == "zh":
        said = (f"{confirmed_evidence} 项已确认的证据", f"{edited_fields} 个已编辑的字段")
    else:
        items = "piece" if confirmed_evidence == 1 else "pieces"
        fields = "field" if edited_fields == 1 else "fields"
        said = (f"{confirmed_evidence} confirmed {items} of evidence", f"{edited_fields} edited {fields}")
    counts = (confirmed_evidence, edited_fields)
    return " · ".join(text for text, count in zip(said, counts, strict=True) if count)


def wait_text(seconds: int, locale: str = "en") -> str:
    """Say when it is worth trying again, in seconds or in whole minutes."""
    is_short = seconds < _LONG_SECONDS
    count = seconds if is_short else -(-seconds // 60)
    if language(locale) == "zh":
        return f"请在 {count} {'秒' if is_short else '分钟'}后再试"
    return f"Worth trying again in {count} {'s' if is_short else 'min'}"


def user_message(failure_class: FailureClass, path: RecoveryPath | None, locale: str = "en") -> str:
    """Pick what the user may read.

    Args:
        failure_class: What happened.
        path: What is done about it; None where nothing is decided or needed. A path that a class never takes reads as
            None, so that nothing is promised.
        locale: `en` or `zh`, also with a region (`zh-CN`, `zh_TW`); any other reads as `en`.
    """
    return CATALOGUE[language(locale)][_key(failure_class, path)]


def action_label(action: Action, locale: str = "en") -> str:
    """Pick what stands on the button of an action; an unknown locale reads as `en`."""
    return ACTION_LABELS[language(locale)][action]


def code(failure_class: FailureClass, path: RecoveryPath | None) -> str:
    """Pick the stable, opaque code that a user may quote to an operator."""
    return CODES[_key(failure_class, path)]


def language(locale: str) -> str:
    """Find the language of the catalogue that a locale reads as: `en` or `zh`."""
    found = locale.replace("_", "-").partition("-")[0].lower()
    return found if found in CATALOGUE else "en"


def _key(failure_class: FailureClass, path: RecoveryPath | None) -> Key:
    key = (failure_class, path)
    return key if key in CODES else (failure_class, None)
