"""What a user may read is complete, calm and closed: nothing can leak into it."""

# ruff: noqa: RUF001 - Chinese is written with its own punctuation
from __future__ import annotations

import inspect
import re
import string

import pytest

from otel_aml.core.messages import (
    ACTION_LABELS,
    CATALOGUE,
    CODES,
    WORDS,
    Action,
    Word,
    action_label,
    code,
    saved_text,
    user_message,
    wait_text,
    word,
)
from otel_aml.core.taxonomy import FailureClass, RecoveryPath

KEYS = list(CODES)
TEXTS = [
    pytest.param(locale, key, id=f"{locale}: {key[0]} {key[1]}") for locale, texts in CATALOGUE.items() for key in texts
]

OCCUR = {
    "tool_failure": {None, "auto_retry", "human_takeover"},
    "format_violation": {None, "fix_and_retry", "human_takeover"},
    "hallucination": {None, "human_takeover"},
    "retrieval_miss": {None, "fix_and_retry", "human_takeover"},
    "context_pollution": {None, "fix_and_retry", "human_takeover"},
    "typology_misjudge": {None, "human_takeover"},
    "pass": {None, "auto_retry", "fix_and_retry", "human_takeover"},
    "cancelled": {None, "auto_retry", "fix_and_retry", "human_takeover"},
    "unclassified": {None, "human_takeover"},
}

FORBIDDEN = re.compile(
    r"\b(aml|sars?|suspicious|report\w*|investigat\w*|launder\w*|typolog\w*|structuring|smurfing|layering|hallucinat\w*"
    r"|retriev\w*|pollut\w*|misjudg\w*|violat\w*|tool\w*|schema\w*|json|model|llm|ai|agent|error|exception|class\w*"
    r"|fail\w*|filing|authorit\w*|police|crim\w*|sanction\w*|tip\w*)\b",
    re.IGNORECASE,
)
FORBIDDEN_ZH = (
    "洗钱",
    "可疑",
    "报告",
    "调查",
    "举报",
    "幻觉",
    "类型",
    "误判",
    "检索",
    "污染",
    "格式",
    "工具",
    "模型",
    "错误",
    "异常",
    "失败",
    "制裁",
    "犯罪",
)


@pytest.mark.parametrize("failure_class", FailureClass)
def test_every_path_that_occurs_has_a_text(failure_class):
    """In both locales, and nothing besides: a text that nobody can get would rot."""
    for table in (CODES, *CATALOGUE.values()):
        assert {path for each, path in table if each is failure_class} == OCCUR[failure_class]


def test_both_locales_are_there():
    """A locale without all texts would answer in two languages."""
    assert set(CATALOGUE) == {"en", "zh"}
    assert all(set(texts) == set(CODES) for texts in CATALOGUE.values())


@pytest.mark.parametrize(("locale", "key"), TEXTS)
def test_a_text_gives_nothing_away(locale, key):
    """No class, no typology, no purpose of the work: it must not reveal that there is anything to reveal."""
    text = user_message(*key, locale)
    assert FORBIDDEN.search(text) is None
    assert not any(word in text for word in FORBIDDEN_ZH)
    assert not any(str(failure_class) in text for failure_class in FailureClass if failure_class != "pass")


@pytest.mark.parametrize(("locale", "key"), TEXTS)
def test_a_text_has_no_place_for_a_value(locale, key):
    """A closed text cannot be filled in by mistake."""
    text = user_message(*key, locale)
    assert [field for _, field, _, _ in string.Formatter().parse(text) if field is not None] == []
    assert not set(text) & set("{}%$<>#\\_0123456789")


@pytest.mark.parametrize(("locale", "key"), TEXTS)
def test_a_text_says_what_happened_what_is_kept_and_what_to_do(locale, key):
    """Calm and short, in whole sentences."""
    text = user_message(*key, locale)
    kept = {"en": ("kept", "saved"), "zh": ("保留", "保存")}[locale]
    helps = {"en": ("You can", "colleague"), "zh": ("您可以", "同事", "请稍候")}[locale]
    assert any(word in text for word in kept)
    assert any(word in text for word in helps)
    assert text.endswith({"en": ".", "zh": "。"}[locale])
    assert "!" not in text
    assert "  " not in text
    assert len(text) < 260


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_chinese_is_chinese(key):
    """Not one Latin letter, and its own punctuation."""
    text = user_message(*key, "zh")
    assert re.fullmatch(r"[\u4e00-\u9fff，。；]+", text)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_english_is_english(key):
    """Plain letters only."""
    assert user_message(*key, "en").isascii()


@pytest.mark.parametrize("texts", [*CATALOGUE.values(), CODES], ids=["en", "zh", "codes"])
def test_no_two_are_alike(texts):
    """One text and one code for each class and path."""
    assert len(set(texts.values())) == len(texts)


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_codes_are_opaque(key):
    """A user quotes one; only the operators' table says what it means."""
    assert re.fullmatch(r"E-[1-9]\d\d", code(*key))


def test_codes_do_not_follow_the_order_of_the_classes():
    """Else the number would tell the class."""
    numbers = [int(each[2:]) for each in CODES.values()]
    assert numbers != sorted(numbers)


def test_codes_never_change():
    """They are quoted in tickets for years."""
    assert " ".join(CODES.values()) == (
        "E-214 E-871 E-356 E-640 E-127 E-593 E-708 E-482 E-935 E-261 E-817 E-149 E-774 E-308 E-526 E-963 "
        "E-402 E-689 E-235 E-751 E-598 E-173 E-844 E-319 E-667 E-480"
    )


LOCALES = [
    pytest.param("en", "en", id="English"),
    pytest.param("en-GB", "en", id="British English"),
    pytest.param("zh", "zh", id="Chinese"),
    pytest.param("zh-CN", "zh", id="with a region"),
    pytest.param("zh_TW", "zh", id="with an underscore"),
    pytest.param("ZH-Hans-CN", "zh", id="in capitals"),
    pytest.param("de", "en", id="a language that is not there"),
    pytest.param("zha", "en", id="a language that only starts alike"),
    pytest.param("", "en", id="none"),
]


@pytest.mark.parametrize(("asked", "got"), LOCALES)
def test_an_unknown_locale_reads_english(asked, got):
    """A message in another language is better than none."""
    key = KEYS[0]
    assert user_message(*key, asked) == CATALOGUE[got][key]


def test_english_is_the_default():
    """The locale may be left out."""
    assert user_message(*KEYS[0]) == CATALOGUE["en"][KEYS[0]]


@pytest.mark.parametrize("failure_class", FailureClass)
@pytest.mark.parametrize("path", [None, *RecoveryPath])
def test_a_path_that_a_class_never_takes_promises_nothing(failure_class, path):
    """There is a text and a code for all pairs; for odd ones that of no path."""
    key = (failure_class, path if path in OCCUR[failure_class] else None)
    for locale in CATALOGUE:
        assert user_message(failure_class, path, locale) == CATALOGUE[locale][key]
    assert code(failure_class, path) == CODES[key]


def test_no_detail_can_be_handed_in():
    """The signature is the guard: class, path and locale, all from closed sets."""
    assert list(inspect.signature(user_message).parameters) == ["failure_class", "path", "locale"]
    assert list(inspect.signature(code).parameters) == ["failure_class", "path"]


@pytest.mark.parametrize("locale", CATALOGUE)
def test_every_action_has_a_label(locale):
    """In every language, each another, and as closed as the texts."""
    labels = [action_label(action, locale) for action in Action]
    assert labels == list(ACTION_LABELS[locale].values())
    assert len(set(labels)) == len(Action)
    for label in labels:
        assert FORBIDDEN.search(label) is None
        assert not any(word in label for word in FORBIDDEN_ZH)
        assert not set(label) & set("{}%$<>#\\_0123456789")
        assert len(label) < 30


@pytest.mark.parametrize(("asked", "got"), LOCALES)
def test_an_unknown_locale_has_english_labels(asked, got):
    """As with the texts; English is the default."""
    assert action_label(Action.RETRY, asked) == ACTION_LABELS[got][Action.RETRY]
    assert action_label(Action.HAND_OVER) == ACTION_LABELS["en"][Action.HAND_OVER]


@pytest.mark.parametrize("locale", CATALOGUE)
@pytest.mark.parametrize("key", [key for key in KEYS if key[1] in {"auto_retry", "fix_and_retry"}], ids=str)
def test_no_text_promises_what_nobody_may_do(locale, key):
    """By default nothing is run: a text that promised another try would leave a person waiting for it."""
    text = user_message(*key, locale)
    assert "will be" not in text
    assert "simply wait" not in text
    if key[0] not in {"pass", "cancelled"}:
        assert "自动" not in text


ONE = ("1 confirmed piece of evidence · 1 edited field", "1 项已确认的证据 · 1 个已编辑的字段")
COUNTS = [
    pytest.param((0, 0), "", "", id="nothing"),
    pytest.param((1, 1), *ONE, id="one of each"),
    pytest.param((12, 0), "12 confirmed pieces of evidence", "12 项已确认的证据", id="evidence"),
    pytest.param((0, 3), "3 edited fields", "3 个已编辑的字段", id="fields"),
]


@pytest.mark.parametrize(("counts", "english", "chinese"), COUNTS)
def test_what_is_kept_is_counted_in_words(counts, english, chinese):
    """What there is none of is not mentioned."""
    assert saved_text(*counts) == english
    assert saved_text(*counts, "zh-CN") == chinese


def test_a_wait_is_told_in_words():
    """In seconds while it is short, then in minutes, rounded up."""
    assert [wait_text(45), wait_text(119), wait_text(121)] == [
        "Worth trying again in 45 s",
        "Worth trying again in 119 s",
        "Worth trying again in 3 min",
    ]
    assert [wait_text(45, "zh"), wait_text(121, "zh")] == ["请在 45 秒后再试", "请在 3 分钟后再试"]


def test_the_words_are_there_in_every_language():
    """None is left in English."""
    assert all(set(words) == set(Word) for words in WORDS.values())
    assert set(WORDS) == set(CATALOGUE)
    assert [word(Word.CODE), word(Word.CODE, "zh_TW"), word(Word.CODE, "fr")] == ["Code", "代码", "Code"]
