"""Secrets and personal identifiers in a text, each replaced by `[redacted:<rule>]`.

A rule is data: a pattern, words without which it need not be tried, and a check of what was found (a checksum, say).
The time is linear in the text's length, whatever the text: no quantifier stands inside another, what can be long is
possessive or bounded, and a match begins only where a word begins. What is written as base64 or percent-encoded is read
as well, two layers deep.

Patterns begin with what must be there and look back at what stands before it: such are searched for fastest.

Source:
    Shapes of keys as their issuers print them; ISO 13616 (IBAN), ISO/IEC 7812 (Luhn), ITU-T E.164 (telephone), RFC 7519
    (JWT), RFC 7468 (PEM), RFC 6750 and 7617 (Bearer, Basic), the Social Security Administration's rules for numbers.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK: Final = "[redacted:"
"""What is written in the place of a secret begins so."""
_DEPTH: Final = 2
_LONG: Final = 15
_BASE64: Final = 12


def _always(_found: re.Match[str], _secret: str) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of secret, or of personal identifier.

    Args:
        name: Written in its place.
        pattern: Where it may stand. Its group `secret` is replaced; without one all of it is. It is compiled when it is
            first needed: an agent that imports this pays for nothing.
        needles: Words in lower case; a text without any of them is not searched. None: it needs digits in a row.
        is_long: Nothing that it finds is shorter than 15 characters without a space.
        caseless: The pattern is written, and searched for, in lower case.
        accept: Whether what was found is one; it gets the match, and the secret as it stands in the text.
    """

    name: str
    pattern: str
    needles: tuple[str, ...] = ()
    is_long: bool = False
    caseless: bool = False
    accept: Callable[[re.Match[str], str], bool] = _always


def _behind(width: int, *, not_after: str = "A-Za-z0-9_") -> str:
    """Ask that a word began so many characters ago; an escape of a text within a text is no part of the word."""
    since = f".{{{width}}}" if width else ""
    return rf"(?:(?<![{not_after}]{since})|(?<=\\[nrtbf]{since})|(?<=\\u[0-9A-Fa-f]{{4}}{since}))"


_END: Final = r"(?![A-Za-z0-9_])"
_NUMBER: Final = _behind(1, not_after=r"\w.-")
_PLUS: Final = _behind(1, not_after=r"\w+.-")


def _keys(
    name: str, prefixes: str, body: str, *, accept: Callable[[re.Match[str], str], bool] = _always
) -> Iterator[Rule]:
    """Make the rules of a key that its issuer begins with one of some prefixes."""
    for prefix in prefixes.split():
        pattern = f"{re.escape(prefix)}{_behind(len(prefix))}{body}{_END}"
        yield Rule(name=name, pattern=pattern, needles=(prefix.lower(),), is_long=True, accept=accept)


def _has_digit(_found: re.Match[str], secret: str) -> bool:
    return any(character.isdigit() for character in secret)


# --- what stands behind a word that says so ---------------------------------------------------------------------------

_NAMES: Final = (
    r"(?:passw(?:or)?d|passphrase|pwd|secret|token|authorization|credentials?|cookie|x-amz-signature|sig"
    r"|shared[_-]?access[_-]?signature|(?:api|access|account|private|secret)[_-]?key)"
)
_TOLD_BY: Final = (
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "key",
    "sig",
    "token",
    "authorization",
    "credential",
    "cookie",
)
_CERTAIN: Final = re.compile(r"pass|pwd|authorization|cookie")
_NO_SECRETS: Final = frozenset(
    re.findall(
        r"\S+",
        """
        none null nil true false undefined nan empty missing required invalid expired expected unexpected incorrect
        wrong must cannot not is was are has should the a an and or of for in to no yes str string int bytes bool
        object field optional ellipsis redacted removed hidden secret password token bearer basic header value error
        failed denied rejected unauthorized forbidden absent unknown provided given set unset default
        """,
    )
)
_PLACEHOLDER: Final = re.compile(r"[*x.#_-]++|[$%<{(].*+", re.IGNORECASE | re.DOTALL)
_NO_NUMBER: Final = 6
_NO_WORD: Final = 8
_SURELY_NO_WORD: Final = 20


def _is_told(found: re.Match[str], secret: str) -> bool:
    """Whether the word behind `password=` and the like is a secret, and no part of a sentence."""
    if secret.lower().rstrip(".,:;!?") in _NO_SECRETS or _PLACEHOLDER.fullmatch(secret):
        return False
    name = found["name"]
    if name == "pwd" and secret.startswith("/"):
        return False  # the working directory, as a shell calls it
    if _CERTAIN.match(name) or found["quote"]:
        return True
    if name == "sig" or (found["sign"] == ":" and found["space"]):
        return len(secret) >= _NO_WORD and _has_digit(found, secret)
    return not (secret.isdigit() and len(secret) < _NO_NUMBER)


def _is_bearer(found: re.Match[str], secret: str) -> bool:
    return len(secret) >= _SURELY_NO_WORD or _has_digit(found, secret)


def _is_basic(_found: re.Match[str], secret: str) -> bool:
    return ":" in (_from_base64(secret) or "")


# --- numbers ----------------------------------------------------------------------------------------------------------

_IBAN_LENGTHS: Final = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FO GL NL SD FK",
        19: "MK SI",
        20: "AT BA EE KZ LT LU XK MN",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}
_GROUPED: Final = re.compile(r"\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{5}")
_ISSUERS: Final = re.compile(r"[3456]|2[2-7]")
_AMOUNT: Final = re.compile(r"\+\d++\.\d{1,2}")
_PHONE_DIGITS: Final = range(9, 16)


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of those before it."""
    doubled = (sum(divmod(int(digit) * 2, 10)) for digit in digits[-2::-2])
    return (sum(map(int, digits[::-2])) + sum(doubled)) % 10 == 0


def _is_card(_found: re.Match[str], secret: str) -> bool:
    digits = re.sub(r"[ -]", "", secret)
    return bool(_GROUPED.fullmatch(secret) and _ISSUERS.match(digits) and luhn(digits))


def mod_97(iban: str) -> bool:
    """Whether the check digits of an IBAN, written without spaces, are right."""
    return int("".join(str(int(character, 36)) for character in iban[4:] + iban[:4])) % 97 == 1


def _iban_end(text: str, start: int) -> int:
    """Say where the IBAN ends that begins here; -1 where none does."""
    length = _IBAN_LENGTHS.get(text[start : start + 2].upper(), 0)
    compact, at = "", start
    while len(compact) < length and at < len(text):
        character = text[at]
        if character.isascii() and character.isalnum():
            compact += character
        elif character not in " -" or not text[at - 1].isalnum():
            return -1
        at += 1
    is_whole = bool(length) and len(compact) == length and not text[at : at + 1].isalnum()
    return at if is_whole and mod_97(compact) else -1


def _is_phone(_found: re.Match[str], secret: str) -> bool:
    return sum(map(str.isdigit, secret)) in _PHONE_DIGITS and not _AMOUNT.fullmatch(secret)


# --- mail -------------------------------------------------------------------------------------------------------------

_VERSION: Final = re.compile(r"v?\d++\.\d")


def _is_mail(found: re.Match[str], secret: str) -> bool:
    """Whether it is no place of a repository (`git@host`) and no version of a package (`name@1.2.3`)."""
    return secret.partition("@")[0].lower() != "git" and not _VERSION.match(found["domain"])


RULES: Final[tuple[Rule, ...]] = (
    *_keys("jwt", "eyJ", r"[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{4}[A-Za-z0-9_.-]*+"),
    *_keys("anthropic_key", "sk-ant-", "[A-Za-z0-9_-]{16,}+"),
    *_keys("openai_key", "sk-", "[A-Za-z0-9_-]{20,}+", accept=_has_digit),
    *_keys("aws_key", "AKIA ASIA AROA AIDA AGPA ABIA ACCA", "[A-Z0-9]{16}"),
    *_keys("github_token", "ghp_ gho_ ghs_ ghu_ ghr_ github_pat_", "[A-Za-z0-9_]{20,}+"),
    *_keys("gitlab_token", "glpat- gldt- glrt- glptt- glcbt-", "[A-Za-z0-9_-]{16,}+"),
    *_keys("slack_token", "xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", "[A-Za-z0-9.-]{10,}+"),
    Rule(
        name="slack_webhook",
        pattern=r"hooks\.slack\.com/(?P<secret>[A-Za-z0-9/_-]{20,}+)",
        needles=("hooks.slack.com",),
    ),
    *_keys("google_key", "AIza", "[A-Za-z0-9_-]{35}"),
    *_keys("google_token", "ya29.", "[A-Za-z0-9_-]{16,}+"),
    *_keys("google_secret", "GOCSPX-", "[A-Za-z0-9_-]{20,}+"),
    *_keys("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_", "[A-Za-z0-9]{10,}+"),
    *_keys("stripe_webhook", "whsec_", "[A-Za-z0-9+/=]{16,}+"),
    *_keys("huggingface_token", "hf_", "[A-Za-z0-9]{30,}+"),
    *_keys("npm_token", "npm_", "[A-Za-z0-9]{36}"),
    *_keys("pypi_token", "pypi-", "[A-Za-z0-9_-]{40,}+"),
    *_keys("sendgrid_key", "SG.", r"[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+"),
    *_keys("twilio_key", "SK", "[0-9a-f]{32}"),
    *_keys("databricks_token", "dapi", "[0-9a-f]{32}"),
    *_keys("groq_key", "gsk_", "[A-Za-z0-9]{20,}+"),
    *_keys("replicate_token", "r8_", "[A-Za-z0-9]{30,}+"),
    *_keys("langsmith_key", "lsv2_", "[A-Za-z0-9_]{20,}+"),
    Rule(
        name="url_password",
        pattern=r"://[^\s/?#@:\"'<>\\]{0,256}+:(?P<secret>[^\s/?#\"'<>\\]{1,4096})@",
        needles=("://",),
    ),
    Rule(  # one with a slash in it, which is no URL any more, and works all the same
        name="url_password",
        pattern=r"://[^\s/?#@:\"'<>\\]{0,256}+:(?!\d{1,5}[/?#])(?P<secret>[^\s\"'<>\\]{1,256})@",
        needles=("://",),
    ),
    Rule(
        name="url_password",
        pattern=r"://(?P<secret>[A-Za-z0-9_-]{20,256}+)@",
        needles=("://",),
    ),
    Rule(
        name="bearer_token",
        pattern=rf"bearer{_behind(6)} {{1,4}}+(?P<secret>[a-z0-9._~+/=-]{{8,}}+)",
        needles=("bearer",),
        caseless=True,
        accept=_is_bearer,
    ),
    Rule(
        name="basic_credentials",
        pattern=rf"basic{_behind(5)} {{1,4}}+(?P<secret>[a-z0-9+/=]{{8,}}+)",
        needles=("basic",),
        caseless=True,
        accept=_is_basic,
    ),
    Rule(
        name="secret",
        pattern=(
            rf"(?P<name>{_NAMES})[\"'\\\]]{{0,4}}+ {{0,3}}+(?P<sign>=>|:=|[=:])(?P<space> {{0,3}}+)"
            r"(?P<quote>\\{0,3}+[\"']?+)(?:(?:basic|digest|token|negotiate|apikey) {1,3}+)?+"
            r"(?P<secret>[^\s\"'\\,;&<>)\]}|]++)"
        ),
        needles=_TOLD_BY,
        caseless=True,
        accept=_is_told,
    ),
    *(
        Rule(
            name="email",
            pattern=(
                rf"{begin}(?P<secret>{local}[\w.%+-]*+@(?P<domain>[A-Za-z0-9][A-Za-z0-9.-]{{0,250}}\.[A-Za-z]{{2,24}})){_END}"
            ),
            needles=("@",),
            accept=_is_mail,
        )
        for begin, local in ((r"\\[nrtbf]", ""), ("", r"[\w.%+-](?<![\w.%+-].)"))
    ),
    Rule(
        name="card",
        pattern=rf"\d{_NUMBER}[\d -]{{11,21}}\d(?![\w-])(?!\.\d)",
        accept=_is_card,
    ),
    Rule(
        name="ssn",
        pattern=(
            rf"\d{_NUMBER}(?<!9)\d\d(?<!000)(?<!666)([ -])(?!00)\d\d\1(?!0000)\d{{4}}(?![\w-])"
            r"(?!\.\d)"
        ),
    ),
    Rule(
        name="phone",
        pattern=rf"\+{_PLUS}[1-9][\d ().-]{{6,20}}\d(?!\w)(?!\.\d)",
        needles=("+",),
        accept=_is_phone,
    ),
)
"""All rules with a pattern, in the order in which they are tried; two more are code: `private_key` and `iban`."""

RULE_NAMES: Final = MappingProxyType(
    {
        "private_key": "private keys in PEM, also cut off",
        "jwt": "JSON Web Tokens",
        "anthropic_key": "API keys of Anthropic",
        "openai_key": "API keys of OpenAI, and of others that begin with `sk-`",
        "aws_key": "access key ids of AWS",
        "github_token": "tokens of GitHub",
        "gitlab_token": "tokens of GitLab",
        "slack_token": "tokens of Slack",
        "slack_webhook": "the path of a Slack webhook",
        "google_key": "API keys of Google",
        "google_token": "OAuth tokens of Google",
        "google_secret": "OAuth client secrets of Google",
        "stripe_key": "keys of Stripe",
        "stripe_webhook": "webhook secrets of Stripe",
        "huggingface_token": "tokens of Hugging Face",
        "npm_token": "tokens of npm",
        "pypi_token": "tokens of PyPI",
        "sendgrid_key": "keys of SendGrid",
        "twilio_key": "keys of Twilio",
        "databricks_token": "tokens of Databricks",
        "groq_key": "keys of Groq",
        "replicate_token": "tokens of Replicate",
        "langsmith_key": "keys of LangSmith",
        "url_password": "the password in a URL, or the key in the place of a user",
        "bearer_token": "what follows `Bearer`",
        "basic_credentials": "what follows `Basic`, if it is a name and a password",
        "secret": "what follows `password=`, `api_key:`, `token=` and the like; texts of attributes with such names",
        "email": "mail addresses",
        "card": "card numbers: 13 to 19 digits, an issuer's beginning, the right check digit (Luhn)",
        "ssn": "US social security numbers with their hyphens or spaces",
        "phone": "telephone numbers in international form (E.164), with or without spaces",
        "iban": "IBANs of a country's length with the right check digits (mod 97)",
    }
)
"""What can stand in `[redacted:<rule>]`, and what it takes out; the table in `docs/redaction.md` is drawn from it."""

_NEEDED: Final = tuple(
    (needle, place) for place, rule in enumerate(RULES) if not rule.is_long for needle in rule.needles
)
_NEEDED_BY_LONG: Final = tuple(
    (needle, place) for place, rule in enumerate(RULES) if rule.is_long for needle in rule.needles
)
_OF_DIGITS: Final = tuple(place for place, rule in enumerate(RULES) if not rule.needles)
_DIGITS: Final = re.compile(r"\d{3}")
_IBAN_CHECK: Final = re.compile(rf"\d\d(?<=[A-Za-z]{{2}}..){_behind(4)}(?=[ -]?+[A-Za-z0-9]{{4}})")
_PEM: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY: Final = re.compile(r"[A-Za-z0-9+/=\\\s,:]*+(?:-(?!-)[A-Z0-9+/=\\\s,:]*+)?")
_PEM_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_PERCENT_WORD: Final = re.compile(r"[^\s&=?;,\"'<>\\]{3,}+")
# Of every three bytes of a text the first is printable, so of every four letters the first is one of these.
_BASE64_WORD: Final = re.compile(
    r"[CDI-Za-f](?<![A-Za-z0-9+/_=-].)[A-Za-z0-9+/_-]{3}[CDI-Za-f][A-Za-z0-9+/_-]{3}[CDI-Za-f]"
    r"[A-Za-z0-9+/_-]{3,}+={0,2}+"
)


@dataclass(slots=True)
class Redaction:
    """Redacts texts, and counts what it replaced.

    Args:
        replaced: By rule.
    """

    replaced: Counter[str] = field(default_factory=Counter[str])

    def redact(self, text: str) -> str:
        """Give a text with all that a rule knows replaced."""
        return self._redact(text, _DEPTH)

    def mark(self, name: str) -> str:
        """Count a secret, and give what is written in its place."""
        self.replaced[name] += 1
        return f"{MARK}{name}]"

    def _redact(self, text: str, depth: int) -> str:
        low = _lower(text)
        worth = [place for needle, place in _NEEDED if needle in low]
        longest = max(map(len, text.split()), default=0)
        if longest >= _LONG:
            worth += [place for needle, place in _NEEDED_BY_LONG if needle in low]
        if "private key" in low:
            text = self._without_private_keys(text)
        has_digits = _DIGITS.search(text) is not None
        if has_digits:
            worth += _OF_DIGITS
        for place in sorted(set(worth)):
            text = self._apply(RULES[place], text)
        if has_digits:
            text = self._without_ibans(text)
        if depth:
            if "%" in text:
                text = self._without_percent(text, depth)
            if longest >= _BASE64:
                text = self._without_base64(text, depth)
        return text

    def _apply(self, rule: Rule, text: str) -> str:
        pattern = _compiled(rule.pattern)
        group = "secret" if "secret" in pattern.groupindex else 0
        kept: list[str] = []
        at = 0
        for found in pattern.finditer(_lower(text) if rule.caseless else text):
            start, end = found.span(group)
            secret = text[start:end]
            if not secret.startswith(MARK) and rule.accept(found, secret):
                kept += (text[at:start], self.mark(rule.name))
                at = end
        return "".join((*kept, text[at:])) if kept else text

    def _without_private_keys(self, text: str) -> str:
        """Take out private keys, from the line that begins one to that which ends it, or as far as it looks so."""
        kept: list[str] = []
        at = 0
        for begin in _PEM.finditer(text):
            body = _PEM_BODY.match(text, begin.end())
            until = begin.end() if body is None else body.end()
            end = _PEM_END.match(text, until)
            kept += (text[at : begin.start()], self.mark("private_key"))
            at = until if end is None else end.end()
        return "".join((*kept, text[at:]))

    def _without_ibans(self, text: str) -> str:
        kept: list[str] = []
        at = 0
        for check in _IBAN_CHECK.finditer(text):
            start = check.start() - 2
            end = _iban_end(text, start) if start >= at else -1
            if end > 0:
                kept += (text[at:start], self.mark("iban"))
                at = end
        return "".join((*kept, text[at:])) if kept else text

    def _without_percent(self, text: str, depth: int) -> str:
        def replace(found: re.Match[str]) -> str:
            word = found[0]
            if not _PERCENT.search(word):
                return word
            plain = unquote(word)
            clean = self._redact(plain, depth - 1)
            return word if clean == plain else quote(clean, safe="[]:/@")

        return _PERCENT_WORD.sub(replace, text)

    def _without_base64(self, text: str, depth: int) -> str:
        def replace(found: re.Match[str]) -> str:
            plain = _from_base64(found[0])
            if plain is None:
                return found[0]
            inner = Redaction()
            inner._redact(plain, depth - 1)
            return self.mark(next(iter(inner.replaced))) if inner.replaced else found[0]

        return _BASE64_WORD.sub(replace, text)


_compiled: Final = cache(re.compile)


def redact_start(text: str, limit: int) -> str:
    """Redact the first part of a text; a word that the cut may have halved is left out, for no rule would know it.

    Args:
        text: Of any length.
        limit: In characters.
    """
    if len(text) > limit:
        text = text[:limit].rpartition(" ")[0]
    return redact(text)


def redact(text: str) -> str:
    """Give a text with secrets and personal identifiers replaced by `[redacted:<rule>]`."""
    return Redaction().redact(text)


def _lower(text: str) -> str:
    """Write a text in lower case, character by character: its places stay the same."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(each.lower()[:1] for each in text)


_HEAD: Final = 16
_TEXT: Final = re.compile(rb"[\x20-\x7e\t\r\n\x80-\xff]++")
_FOREIGN: Final = re.compile(rb"[\x80-\xff]")


def _from_base64(word: str) -> str | None:
    """Read a word as base64 of a text; None where it is none."""
    word = word.rstrip("=").replace("-", "+").replace("_", "/")
    if not _is_text(_decoded(word[:_HEAD])):
        return None
    plain = _decoded(word)
    return plain.decode("utf-8", "replace") if _is_text(plain) else None


def _decoded(word: str) -> bytes:
    try:
        return base64.b64decode(word + "=" * (-len(word) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _is_text(plain: bytes) -> bool:
    """Whether bytes are words: printable, and at most a few of the first are beyond ASCII."""
    return bool(_TEXT.fullmatch(plain)) and len(_FOREIGN.findall(plain[:_HEAD])) < _HEAD // 3
