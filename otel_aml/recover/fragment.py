"""A notice drawn as a piece of HTML: escaped, without a script, with a look that a page can change.

It is made of the notice and of the closed catalogue alone. Its class names and variables say nothing of what the page
is for: a person may look at the source.
"""

from __future__ import annotations

from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from otel_aml.core.messages import Word, saved_text, wait_text, word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otel_aml.recover.notice import Option, UserNotice

LANGUAGES: Final = {"en": "en", "zh": "zh-Hans"}
_LEVELS: Final = range(1, 7)
_SIGNS: Final = {
    "amber": '<path d="M12 3 2.5 20h19Z"/><path d="M12 10v4.5M12 17.3v.2"/>',
    "red": '<path d="M8 2.5h8L21.5 8v8L16 21.5H8L2.5 16V8Z"/><path d="M12 7.5v5.5M12 16.3v.2"/>',
    "calm": '<circle cx="12" cy="12" r="9.5"/><path d="M12 6.5V12l3.5 2.5"/>',
    "saved": '<circle cx="12" cy="12" r="9.5"/><path d="m7.5 12.5 3 3 6-6.5"/>',
}
"""Drawn in a square of 24; a shape of its own for each tone, for those who see no colour."""


@cache
def style_sheet() -> str:
    """Give the style sheet of the notice, for a page that keeps its own: `to_html(style=False)`."""
    return (resources.files("otel_aml.recover") / "notice.css").read_text(encoding="utf-8")


def drawn(  # noqa: PLR0913 - what `UserNotice.to_html` takes
    notice: UserNotice,
    *,
    action: str,
    fields: Mapping[str, str],
    handed_over: bool,
    style: bool,
    nonce: str | None,
    level: int,
) -> str:
    """Draw a notice; see `UserNotice.to_html`."""
    if level not in _LEVELS:
        raise ValueError(f"level={level!r} is no level of a heading; give 1 to 6")
    if urlsplit(action).scheme not in {"", "http", "https"}:
        raise ValueError("the scheme of action= is neither http nor https; give the address of the app's own handler")
    parts = _sheet(nonce) if style else ()
    return "".join((*parts, *_notice(notice, action, fields, handed_over=handed_over, level=level)))


def _sheet(nonce: str | None) -> Iterator[str]:
    yield "<style>" if nonce is None else f'<style nonce="{escape(nonce)}">'
    yield style_sheet()
    yield "</style>"


def _notice(
    notice: UserNotice, action: str, fields: Mapping[str, str], *, handed_over: bool, level: int
) -> Iterator[str]:
    locale = notice.locale
    tone = "calm" if handed_over else notice.tone
    role = "status" if handed_over else "alert"
    yield f'<div class="step-notice" data-tone="{tone}" lang="{LANGUAGES[locale]}" role="{role}">'
    yield f'{_sign(tone)}<div class="step-notice-body">'
    yield f'<h{level} class="step-notice-title">{_title(notice, handed_over=handed_over)}</h{level}>'
    yield _part(Word.HAPPENED, locale, level)
    yield f'<p class="step-notice-message">{escape(notice.message)}</p>'
    yield _part(Word.SAFE, locale, level)
    yield from _saved(notice)
    yield _part(Word.NEXT, locale, level)
    if handed_over:
        yield f'<p class="step-notice-message">{word(Word.WAITS, locale)}</p>'
    else:
        yield from _choices(notice, action, fields)
    yield from _footer(notice)
    yield "</div></div>"


def _title(notice: UserNotice, *, handed_over: bool) -> str:
    if handed_over:
        return word(Word.HANDED_OVER, notice.locale)
    return word(Word.HELD_BACK if notice.tone == "red" else Word.STOPPED, notice.locale)


def _part(which: Word, locale: str, level: int) -> str:
    """Head one of the three questions that a person has."""
    below = min(level + 1, max(_LEVELS))
    return f'<h{below} class="step-notice-part">{word(which, locale)}</h{below}>'


def _saved(notice: UserNotice) -> Iterator[str]:
    saved, counts = notice.saved, ""
    if saved is not None:
        counts = escape(saved_text(saved.confirmed_evidence, saved.edited_fields, notice.locale))
    yield f'<p class="step-notice-saved">{_sign("saved")}<span><strong>{word(Word.SAVED, notice.locale)}</strong>'
    yield f" <span>{counts}</span></span></p>" if counts else "</span></p>"


def _choices(notice: UserNotice, action: str, fields: Mapping[str, str]) -> Iterator[str]:
    if notice.retry_after_s:
        yield f'<p class="step-notice-wait">{wait_text(notice.retry_after_s, notice.locale)}</p>'
    target = f' action="{escape(action)}"' if action else ""
    yield f'<form class="step-notice-options" method="post"{target}>'
    for name, value in fields.items():
        yield f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">'
    for option in notice.options:
        yield _button(option, notice.locale)
    yield "</form>"


def _button(option: Option, locale: str) -> str:
    kind, mark = "", ""
    if option.recommended:
        kind = " step-notice-recommended"
        mark = f' <small class="step-notice-mark">{word(Word.RECOMMENDED, locale)}</small>'
    return (
        f'<button class="step-notice-button{kind}" type="submit" name="action" value="{escape(option.action)}">'
        f"<span>{escape(option.label)}</span>{mark}</button>"
    )


def _footer(notice: UserNotice) -> Iterator[str]:
    yield f'<p class="step-notice-codes"><span>{word(Word.FOR_HELP, notice.locale)}</span>'
    yield f" <span>{word(Word.CODE, notice.locale)} <b>{escape(notice.code)}</b></span>"
    if notice.reference is not None:
        yield f" <span>{word(Word.REFERENCE, notice.locale)} <b>{escape(notice.reference)}</b></span>"
    yield "</p>"


def _sign(which: str) -> str:
    return (
        f'<svg class="step-notice-sign" viewBox="0 0 24 24" aria-hidden="true" focusable="false">{_SIGNS[which]}</svg>'
    )
