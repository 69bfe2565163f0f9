import re
import sys
from collections import Counter
from html.parser import HTMLParser

import pytest
from exports import case, failed, good, line, span, trace_id, write
from hostile import TEXTS, runs, twin

from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline import onepage, reports
from otel_aml.offline.analysis import Given, analysed

LARGEST = 300 * 1024


class Page(HTMLParser):
    """The elements of a page, its attributes, what it shows."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.metas = Counter(), Counter(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements[tag] += 1
        self.attributes.update(name for name, _ in attrs)
        if tag == "meta":
            self.metas.append(dict(attrs))


def drawn(*files, internal=False, **given):
    with analysed(Given(files=list(files), **given)) as analysis:
        return onepage.drawn(analysis, reports.report(analysis), internal=internal)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    found = write(folder / "hostile.jsonl", *runs(TEXTS)), write(folder / "twin.jsonl", *twin(TEXTS))
    return tuple(drawn(file, internal=internal) for internal in (False, True) for file in found)


@pytest.fixture
def traces(tmp_path):
    return write(tmp_path / "traces.jsonl", line(*good(2)), line(*failed(1)))


class TestTexts:
    @pytest.mark.parametrize("first", [0, 2], ids=["public", "internal"])
    def test_no_element_and_no_attribute_is_made_of_them(self, hostile, first):
        """The page has what it has for harmless texts."""
        page, harmless = Page(hostile[first]), Page(hostile[first + 1])
        assert page.elements == harmless.elements
        assert page.attributes == harmless.attributes
        assert not {name for name in page.attributes if name.startswith("on")}

    @pytest.mark.parametrize("first", [0, 2], ids=["public", "internal"])
    def test_what_cannot_be_seen_is_escaped(self, hostile, first):
        """Nothing turns the direction of a line, or hides."""
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069\ufeff]", hostile[first])
        assert r"\u202egnp.exe" in hostile[first]

    def test_the_policy_allows_the_pages_own_style_and_script_only(self, hostile):
        """By their digests; and none of its elements loads anything."""
        (policy,) = (meta["content"] for meta in Page(hostile[0]).metas if meta.get("http-equiv"))
        assert re.fullmatch(
            r"default-src 'none'; style-src 'sha256-[\w+/=]{44}'; script-src 'sha256-[\w+/=]{44}'; "
            r"img-src data:; base-uri 'none'; form-action 'none'",
            policy,
        )
        assert "src" not in Page(hostile[0]).attributes
        assert "style" not in Page(hostile[0]).attributes
        assert set(re.findall(r'href="([^"]*)"', hostile[0])) <= {"data:,", "#main", "#unchecked"}


SECRETS = {
    "a name of a span": "SECRET01",
    "an exception": "SECRET02",
    "a stack": "SECRET03",
    "a status": "SECRET04",
    "an argument": "SECRET05",
    "a case": "SECRET06",
    "a detail": "SECRET07",
    "a user": "SECRET08",
}


@pytest.fixture
def secret(tmp_path):
    said = [
        {"key": "exception.type", "value": {"stringValue": "ValueError"}},
        {"key": "exception.message", "value": {"stringValue": "no account SECRET02"}},
        {"key": "exception.stacktrace", "value": {"stringValue": "SECRET03"}},
    ]
    event = {"name": "exception", "timeUnixNano": "1790000000002000000", "attributes": said}
    tool = {"gen_ai.tool.call.arguments": "SECRET05", "failure.technical_detail": "SECRET07"}
    root = case(1) | {"aml.case.id": "SECRET06", "user.id": "SECRET08"}
    return write(
        tmp_path / "SECRET09.jsonl",
        line(
            span(1, 2, 1, "rules", "TOOL", (1, 2), tool, status={"code": 2, "message": "SECRET04"}, events=[event]),
            span(1, 3, 1, "look SECRET01", None, (2, 3)),
            span(1, 1, None, "answer", "AGENT", (0, 10), root),
        ),
        "{torn",
    )


def test_the_page_for_everyone_holds_no_detail(secret):
    """It is mailed and archived: no exception, no name of a span, no case, no folder."""
    page = drawn(secret)
    assert {what for what, word in SECRETS.items() if word in page} == set()
    assert str(secret).rpartition("/")[0] not in page
    assert "tool rules" in page
    assert "Internal." not in page


def test_the_page_for_operators_says_so_and_tells(secret):
    """With a banner: what failed, where, in which case."""
    page = drawn(secret, internal=True)
    told = {"a name of a span", "an exception", "a status", "a case", "a detail"}
    assert {what for what, word in SECRETS.items() if word in page} == told
    assert "<strong>Internal.</strong>" in page


def test_keys_are_taken_out_of_both(tmp_path):
    """Nobody's report is where a key should be."""
    key = "sk-ant-api03-" + "aB3" * 20
    failing = span(1, 2, 1, f"call {key}", "TOOL", (1, 2), status={"code": 2, "message": f"refused {key}"})
    path = write(tmp_path / "traces.jsonl", line(failing, span(1, 1, role="AGENT", attributes=case(1))))
    assert key not in drawn(path)
    assert key not in drawn(path, internal=True)


def test_the_first_sentence_and_the_sections_are_there(traces):
    """In the order in which they are read; each table with its numbers."""
    page = drawn(traces)
    assert "<h1>tool_failure fails most; repair tool_failure first.</h1>" in page
    assert re.findall(r'<h2 id="(\w+)">', page) == [
        "often",
        "trend",
        "together",
        "recovery",
        "repair",
        "worst",
        "unchecked",
        "read",
    ]
    assert "1 of 2 runs failed in one of six ways" in page
    assert "get_transactions" in page
    assert trace_id(1) in page
    assert '<html lang="en">' in page


def test_where_nothing_failed_it_says_so(tmp_path):
    """And what could not be checked all the same."""
    page = drawn(write(tmp_path / "traces.jsonl", line(*good(1))))
    assert "<h1>No run failed in one of the six ways.</h1>" in page
    assert "as far as" in page
    assert "Fails most" not in page


def test_the_same_input_gives_the_same_bytes(traces):
    """No clock and no chance."""
    assert drawn(traces) == drawn(traces)


def test_what_was_skipped_is_said(tmp_path):
    """With the file and the line."""
    page = drawn(write(tmp_path / "traces.jsonl", line(*good(1)), "{torn"))
    assert "skipped 1 bad lines" in page
    assert "<code>traces.jsonl:2</code>" in page


@pytest.mark.slow
def test_its_size_does_not_grow_with_the_runs(tmp_path):
    """Long names, many tools, many problems, runs of many steps: the page shows the first, and counts the rest."""
    lines = []
    for number in range(1, 301):
        steps = [
            span(number, 2 + step, 1, f"tool-{number}-{step}-{'x' * 200}", "TOOL", (step, step + 1), status={"code": 2})
            for step in range(60)
        ]
        lines += [line(*steps, span(number, 1, role="AGENT", at=(0, 70), attributes=case(number))), "{torn"]
    page = drawn(write(tmp_path / "traces.jsonl", *lines), internal=True)
    assert len(page.encode()) < LARGEST
    assert "further rows are listed by --json" in page
    assert "further problems are listed by --json" in page
    assert "further steps: otel-aml show" in page


def test_a_failed_step_is_shown_however_late_it_comes(tmp_path):
    """What failed is what the reader came for."""
    steps = [span(1, 2 + step, 1, f"fine-{step}", "TOOL", (step, step + 1)) for step in range(60)]
    late = span(1, 99, 1, "the_late_one", "TOOL", (60, 61), status={"code": 2})
    root = span(1, 1, role="AGENT", at=(0, 70), attributes=case(1))
    page = drawn(write(tmp_path / "traces.jsonl", line(*steps, late, root)))
    assert "tool the_late_one" in page
    assert "tool fine-59" not in page


def test_a_missing_template_engine_is_said_in_one_sentence(traces, monkeypatch):
    """With what to install."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    onepage._environment.cache_clear()
    with pytest.raises(ConfigurationError, match=r"needs Jinja2.*pip install 'otel-aml\[html\]'"):
        drawn(traces)


def test_a_place_that_cannot_be_written_is_said(traces, tmp_path):
    """With what to do."""
    (tmp_path / "file").touch()
    with analysed(Given(files=[traces])) as analysis:
        found = reports.report(analysis)
        with pytest.raises(InputError, match="another path"):
            onepage.write(analysis, found, tmp_path / "file" / "out.html")
