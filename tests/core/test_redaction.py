"""What goes and what stays: secrets and personal identifiers in texts."""

import base64
import json
import re
import string
from re import _constants as parts
from re import _parser as parser
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from otel_aml.core import redaction
from otel_aml.core.redaction import RULE_NAMES, RULES, Redaction, luhn, mod_97, redact, redact_start

# Made up; written in two parts, so that nobody's scanner takes them for real ones.
LETTERS = "Ab3De6Gh9Jk2Mn5Pq8Rs1Tu4Wx7Yz0Bc3Ef6Hj"
SECRETS = [
    ("jwt", "ey" + "JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"),
    ("anthropic_key", "sk-" + "ant-api03-" + LETTERS),
    ("openai_key", "sk-" + "proj-" + LETTERS),
    ("openai_key", "sk-" + LETTERS),
    ("aws_key", "AKIA" + "IOSFODNN7EXAMPLE"),
    ("aws_key", "ASIA" + "IOSFODNN7EXAMPLE"),
    ("github_token", "ghp" + "_" + LETTERS[:36]),
    ("github_token", "github" + "_pat_" + LETTERS),
    ("gitlab_token", "glpat" + "-" + LETTERS[:20]),
    ("slack_token", "xoxb" + "-123456789012-" + LETTERS[:24]),
    ("slack_token", "xapp" + "-1-A012345-" + LETTERS[:20]),
    ("google_key", "AIza" + LETTERS[:35]),
    ("google_token", "ya29" + "." + LETTERS),
    ("google_secret", "GOCSPX" + "-" + LETTERS[:28]),
    ("stripe_key", "sk" + "_live_" + LETTERS[:24]),
    ("stripe_key", "rk" + "_test_" + LETTERS[:24]),
    ("stripe_webhook", "whsec" + "_" + LETTERS[:32]),
    ("huggingface_token", "hf" + "_" + LETTERS[:34]),
    ("npm_token", "npm" + "_" + LETTERS[:36]),
    ("pypi_token", "pypi" + "-" + LETTERS + LETTERS),
    ("sendgrid_key", "SG" + "." + LETTERS[:22] + "." + LETTERS[:30]),
    ("twilio_key", "SK" + "0123456789abcdef" * 2),
    ("databricks_token", "dapi" + "0123456789abcdef" * 2),
    ("groq_key", "gsk" + "_" + LETTERS),
    ("replicate_token", "r8" + "_" + LETTERS[:37]),
    ("langsmith_key", "lsv2" + "_pt_" + LETTERS),
    ("email", "jane.doe+aml@mail.example-bank.co.uk"),
    ("iban", "DE89370400440532013000"),
    ("iban", "GB82 WEST 1234 5698 7654 32"),
    ("iban", "NO93 8601 1117 947"),
    ("card", "4111111111111111"),
    ("card", "5555 5555 5555 4444"),
    ("card", "3782-822463-10005"),
    ("card", "2223003122003222"),
    ("ssn", "123-45-6789"),
    ("ssn", "123 45 6789"),
    ("phone", "+4930901820"),
    ("phone", "+1 (202) 555-0143"),
    ("phone", "+86 138 0013 8000"),
]
"""Each is known by its own shape, wherever it stands."""

IN_PLACE = [
    ("password=hunter2", "password=[redacted:secret]"),
    ("pwd: swordfish", "pwd: [redacted:secret]"),
    ("DB_PASSWORD='correct horse'", "DB_PASSWORD='[redacted:secret] horse'"),
    ("{'api_key': 'k-123', 'a': 1}", "{'api_key': '[redacted:secret]', 'a': 1}"),
    ('{"client_secret":"s3cr3t"}', '{"client_secret":"[redacted:secret]"}'),
    (r"{\"access_key\": \"k1\"}", r"{\"access_key\": \"[redacted:secret]\"}"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = [redacted:secret]"),
    ("https://svc/x?token=abc&page=2", "https://svc/x?token=[redacted:secret]&page=2"),
    ("?sig=a1b2c3d4e5&sv=1", "?sig=[redacted:secret]&sv=1"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:basic_credentials]"),
    ("authorization: Token abc", "authorization: Token [redacted:secret]"),
    ("token: a1b2c3d4e5", "token: [redacted:secret]"),
    ("Cookie: sid=1; theme=dark", "Cookie: [redacted:secret]; theme=dark"),
    ("Bearer abc123def456", "Bearer [redacted:bearer_token]"),
    ("curl -H 'bearer " + "x" * 24 + "'", "curl -H 'bearer [redacted:bearer_token]'"),
    ("postgres://app:s3cr3t@db:5432/x", "postgres://app:[redacted:url_password]@db:5432/x"),
    ("redis://:p@ss@cache/0", "redis://:[redacted:url_password]@cache/0"),
    ("mysql://u:aB/cd@host/x", "mysql://u:[redacted:url_password]@host/x"),
    ("https://0123456789abcdef01234567@sentry/1", "https://[redacted:url_password]@sentry/1"),
    ("https://hooks.slack.com/services/T012/B012/a1b2c3d4", "https://hooks.slack.com/[redacted:slack_webhook]"),
    (
        "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc=\n-----END RSA PRIVATE KEY----- after",
        "[redacted:private_key] after",
    ),
    ("a -----BEGIN " + r"PRIVATE KEY-----\nMIIEpA", "a [redacted:private_key]"),
    (
        "-----BEGIN " + "PRIVATE KEY-----\nMIIE\n-----BEGIN " + "PRIVATE KEY-----\nMIIE",
        "[redacted:private_key][redacted:private_key]",
    ),
    ("paid to DE89 3704 0044 0532 0130 00 PAID", "paid to [redacted:iban] PAID"),
    ("DE89370400440532013000, GB82WEST12345698765432", "[redacted:iban], [redacted:iban]"),
    (r"line\nAKIA" + r"IOSFODNN7EXAMPLE\n4111111111111111", r"line\n[redacted:aws_key]\n[redacted:card]"),
    ("Übung: İstanbul, password=geheim", "Übung: İstanbul, password=[redacted:secret]"),
    ("postgres%3A%2F%2Fapp%3As3cr3t%40db", "postgres://app:[redacted:url_password]@db"),
    ("to=john%40example.com&id=5", "to=[redacted:email]&id=5"),
    ("john%2540example.com", "[redacted:email]"),
]
"""What only its place gives away, as it reads afterwards."""

STAYS = [
    "0af7651916cd43dd8448eb211c80319c",
    "b7ad6b7169203331",
    "4111111111111112",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "TX-000123",
    "TXN-1001, TXN-1002",
    "tx_4111111111111111",
    "550e8400-e29b-41d4-a716-446655440000",
    "12345678-1234-1234-1234-123456789012",
    "2026-11-30T10:00:00+01:00",
    "2026-11-30 20:15:00,123",
    "1790000000000000000",
    "1790000000000",
    "1790000000.123456",
    "12,345.67 EUR, +1234567.89, -950.00, 9999.99",
    "+10, +5 %, 3+4=7",
    "1.45.2, v2026.11.30, 10.0.0.1:5432",
    "agent/app.py:16 in get_transactions < trace/__init__.py:1136",
    "/srv/app/otel_aml/live/processor.py",
    r"C:\Users\agent\app.py",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "max_tokens=100, token_count=5, gen_ai.usage.input_tokens",
    "SyntaxError: invalid token: expected ')'",
    "password: required",
    "api_key=None, secret=${SECRET}, token=<token>, pwd=***",
    "PWD=/srv/agent",
    "token=3",
    "sort_key=amount, monkey=1",
    "bearer of bad news",
    "Bearer authentication",
    "basic authentication",
    "a risk-based assessment of the task-force",
    "sk-learn-is-not-a-key-at-all",
    "git@github.com:org/repo.git",
    "react@18.2.0, lib@v1.2.3.dev",
    "http://localhost:8080/a@b",
    "@app.route, user@host",
    "555-0143, 000-12-3456, 666-12-3456, 912-34-5678, 123-00-4567, 123-45-0000",
    "DE00370400440532013000",
    "XX89370400440532013000",
    "DE8937040044053201300",
    "DE89/3704 0044 0532 0130 00",
    "DE89 3704/0044 0532 0130 00",
    "AB12 CD34",
    "4111 1111-1111 1111",
    "1234-5678-9012-3456-7890",
    "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----",
    "SGVsbG8sIHdvcmxkISBIZWxsbyE=",
    "SGVsbG8sIHdvcmxkI",
    "InternationalizationError and OtherCamelCaseNames",
    "100%25 done, 5% off, %2Fsrv%2Fapp",
    "[redacted:email] and password=[redacted:secret]",
    "",
]
"""Look-alikes."""

AROUND = [
    pytest.param("{}", id="alone"),
    pytest.param("failed for {} twice", id="in a sentence"),
    pytest.param("({}), then", id="in brackets"),
    pytest.param('{{"value": "{}"}}', id="in JSON"),
    pytest.param(r"{{\"value\": \"a\\n{}\"}}", id="in JSON within JSON"),
    pytest.param("first line\n{}\nlast line", id="on a line"),
    pytest.param("'{}'", id="quoted"),
    pytest.param("x={};", id="assigned"),
]


def every_pattern():
    found = {f"{rule.name} {place}": re.compile(rule.pattern) for place, rule in enumerate(RULES)}
    return found | {name: value for name, value in vars(redaction).items() if isinstance(value, re.Pattern)}


def quantifiers(tree, *, inside=False):
    """The quantifiers of a pattern that can take long: nested in another, or without a bound and able to go back."""
    for operation, argument in tree:
        if operation in (parts.MAX_REPEAT, parts.MIN_REPEAT, parts.POSSESSIVE_REPEAT):
            least, most, inner = argument
            is_free = most is parts.MAXREPEAT and operation is not parts.POSSESSIVE_REPEAT
            if (inside and least != most) or is_free:
                yield (operation, least, most)
            yield from quantifiers(inner, inside=inside or most > 1)
        elif operation is parts.BRANCH:
            for branch in argument[1]:
                yield from quantifiers(branch, inside=inside)
        elif operation is parts.SUBPATTERN:
            yield from quantifiers(argument[-1], inside=inside)
        elif operation in (parts.ASSERT, parts.ASSERT_NOT):
            yield from quantifiers(argument[1], inside=inside)
        elif operation is parts.ATOMIC_GROUP:
            yield from quantifiers(argument, inside=inside)


class TestWhatGoes:
    @pytest.mark.parametrize("around", AROUND)
    @pytest.mark.parametrize(("rule", "secret"), SECRETS)
    def test_a_secret_goes_wherever_it_stands(self, rule, secret, around):
        """Only it, and nothing of it is left."""
        assert redact(around.format(secret)) == around.format(f"[redacted:{rule}]")

    @pytest.mark.parametrize(("rule", "secret"), SECRETS)
    def test_an_encoded_secret_goes(self, rule, secret):
        """As base64, percent-encoded, and in two layers."""
        for plain in (f"the value is {secret} today", json.dumps({"value": secret})):
            packed = base64.b64encode(plain.encode()).decode()
            for text in (packed, base64.urlsafe_b64encode(plain.encode()).decode().rstrip("="), quote(packed, safe="")):
                assert redact(f"body {text} end") == f"body [redacted:{rule}] end"
        percent = quote(f"a/{secret}", safe="")
        if "%" in percent:
            for text in (percent, quote(percent, safe="")):
                assert f"[redacted:{rule}]" in redact(text)
                assert secret not in redact(text)

    @pytest.mark.parametrize(("text", "clean"), IN_PLACE)
    def test_a_secret_that_its_place_gives_away(self, text, clean):
        assert redact(text) == clean

    def test_every_rule_has_its_secret(self):
        """A rule without a test could be wrong for ever."""
        counted = Redaction()
        for text in (*(secret for _, secret in SECRETS), *(text for text, _ in IN_PLACE)):
            counted.redact(text)
        assert set(counted.replaced) == set(RULE_NAMES)

    def test_it_counts(self):
        counted = Redaction()
        assert counted.redact("a@example.com, b@example.com, +4930901820") == (
            "[redacted:email], [redacted:email], [redacted:phone]"
        )
        assert counted.replaced == {"email": 2, "phone": 1}


class TestWhatStays:
    @pytest.mark.parametrize("text", STAYS)
    def test_a_look_alike_stays(self, text):
        """A trace whose ids are gone is of no use to anybody."""
        assert redact(text) == text

    @given(text=st.text(alphabet=string.ascii_lowercase + " .,:-\n", max_size=300))
    def test_prose_stays(self, text):
        assert redact(text) == text or any(word in text for word in ("pass", "pwd", "cookie"))

    @given(digits=st.integers(0, 10**20).map(str))
    def test_a_number_stays_unless_its_check_digit_is_right(self, digits):
        """One of ten long numbers passes for a card; all of these begin as one does."""
        is_card = 13 <= len(digits) <= 19 and luhn(digits)
        assert redact(digits) in (digits, "[redacted:card]" if is_card else digits)


class TestTheStart:
    def test_a_halved_secret_is_left_out(self):
        """What is left of a cut key is no key to any rule, and still most of a key."""
        text = f"x {LETTERS[:4]} sk-{LETTERS}"
        assert redact_start(text, len(text) - 5) == f"x {LETTERS[:4]}"
        assert redact_start(text, len(text)) == f"x {LETTERS[:4]} [redacted:openai_key]"


class TestAnyText:
    @given(text=st.text(max_size=400))
    @example("password=[redacted:email]x@y.de")
    def test_again_changes_nothing(self, text):
        once = redact(text)
        assert redact(once) == once

    @given(
        text=st.lists(
            st.sampled_from(
                [
                    *("sk-", "AKIA", "://", ":", "@", "eyJ", ".", "password=", "-----BEGIN PRIVATE KEY-----", "%40"),
                    *("+1", "4111", " ", "-", "\\n", "bearer ", "YWJj", "'", "İ", "\udc80", "DE89"),
                ]
            ),
            max_size=60,
        ).map("".join)
    )
    def test_pieces_of_secrets_harm_nobody(self, text):
        """No text makes it raise; what is put in is always whole."""
        clean = redact(text)
        assert all(name in RULE_NAMES for name in re.findall(r"\[redacted:(\w+)\]", clean))


class TestLinear:
    @pytest.mark.parametrize(("name", "pattern"), every_pattern().items())
    def test_no_quantifier_stands_in_another(self, name, pattern):
        """Nested ones take time beyond all bounds; what has no bound must not go back."""
        assert list(quantifiers(parser.parse(pattern.pattern, pattern.flags))) == []

    @pytest.mark.parametrize("nested", [r"(a+)+", r"(?:a{1,3}b?)*+", r"(?:(?:x|y*)z)+", "a*b", r"(?=a+)b"])
    def test_the_check_finds_what_is_wrong(self, nested):
        assert list(quantifiers(parser.parse(nested)))

    @pytest.mark.parametrize(
        "piece",
        [
            "eyJ",
            "a@",
            "a.",
            "://a:",
            "4 ",
            "DE89 ",
            "password=",
            "-----BEGIN PRIVATE KEY-----",
            "%25",
            "sk-",
            "+1",
            "Q" * 9,
        ],
    )
    def test_long_texts_come_to_an_end(self, piece):
        """A megabyte of the worst of each rule; `benchmarks/redaction.py` measures how the time grows."""
        redact(piece * (200_000 // len(piece)))


@pytest.mark.parametrize(("digits", "right"), [("79927398713", True), ("79927398710", False), ("0", True)])
def test_luhn(digits, right):
    assert luhn(digits) is right


@pytest.mark.parametrize(("iban", "right"), [("GB82WEST12345698765432", True), ("GB83WEST12345698765432", False)])
def test_mod_97(iban, right):
    assert mod_97(iban) is right
