import json
import re
import sys
from collections import Counter
from datetime import datetime
from html.parser import HTMLParser
from io import StringIO

import pytest
from exports import case, failed, good, line, pairs, span, trace_id, write
from hostile import TEXTS, runs, twin
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from otel_aml.cli import tables
from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline import onepage, render, reports
from otel_aml.offline.analysis import Given, analysed
from otel_aml.offline.onepage import shapes, view
from otel_aml.offline.reports import TrendRow

LARGEST = 300 * 1024


class Page(HTMLParser):
    """What a page is made of; the lines of labels, of which a long text has more, apart."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.metas, self.lines = Counter(), Counter(), [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "text":
            self.lines.update(name for name, _ in attrs)
            return
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
        assert page.lines == harmless.lines == {"class", "x", "y"}
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
    assert "<h1>tool_failure fails most, no cascade is significant; repair tool_failure first.</h1>" in page
    assert re.findall(r'<h2 id="(\w+)">', page) == [
        "often",
        "trend",
        "others",
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


@pytest.fixture
def uneven(tmp_path):
    """Six runs: one failed, one passed, one of which nothing can be checked, one cancelled, two that wait."""
    failing, passing = line(*failed(1)), line(*good(2))
    unchecked = line(span(3, 1, role="AGENT"))

    def stopped(number, by):
        event = {"name": "exception", "attributes": pairs({"exception.type": by})}
        return line(span(number, 1, role="AGENT", status={"code": 2}, events=[event]))

    cut = stopped(4, "asyncio.exceptions.CancelledError")
    waiting = [stopped(number, "langgraph.errors.GraphInterrupt") for number in (5, 6)]
    return write(tmp_path / "uneven.jsonl", failing, passing, unchecked, cut, *waiting)


def test_terminal_rows_json_and_page_say_one_pass_rate(uneven):
    """With the runs that it is of: one of two that were checked, never of all that ended."""
    rate = {"ended": 3, "checked": 2, "passed": 1, "rate": 0.5}
    with analysed(Given(files=[uneven])) as analysis:
        found = reports.report(analysis)
        printed, drawn_on = StringIO(), Console(file=StringIO(), width=200)
        render.report_json(analysis, found, printed)
        tables.draw(found, drawn_on)
        page = onepage.drawn(analysis, found)
    assert found.pass_rate.plain() == json.loads(printed.getvalue())["pass_rate"] == rate
    passes = {row.failure_class: row for row in found.taxonomy}["pass"]
    assert (passes.decided, passes.rate) == (rate["checked"], rate["rate"])
    said = "1 of the 2 runs that ended and were checked passed: 50.0%."
    assert said in page
    assert said in drawn_on.file.getvalue()
    assert "In 1 run more nothing failed, but nothing could be checked either" in page
    assert "Runs that have not ended enter no rate: 1 cancelled and 2 paused." in page


def test_a_name_that_no_span_gives_is_for_operators_only(tmp_path):
    """A span may be called after a customer, and so may a failure that is named by its span."""
    nameless = {"openinference.span.kind": "TOOL"}
    lines = [
        line(
            span(number, 2, 1, "look up Erika", attributes=nameless, status={"code": 2}),
            span(number, 3, 1, "rules", "TOOL", (3, 4), status={"code": 2}),
            span(number, 1, role="AGENT", attributes=case(number)),
        )
        for number in range(1, 8)
    ]
    path = write(tmp_path / "traces.jsonl", *lines)
    public = drawn(path)
    assert "Erika" not in public
    assert '<th scope="row">unknown</th>' in public
    assert '<th scope="row">rules</th>' in public
    assert "error unknown" in public
    assert "look up Erika" in drawn(path, internal=True)


def test_a_call_by_mcp_names_its_tool(tmp_path):
    """After the method, in the name of the span, as the conventions have it."""
    call = {"mcp.method.name": "tools/call"}
    path = write(
        tmp_path / "traces.jsonl",
        line(
            span(1, 2, 1, "tools/call screen_sanctions", attributes=call, status={"code": 2}),
            span(1, 1, role="AGENT", attributes=case(1)),
        ),
    )
    assert '<th scope="row">screen_sanctions</th>' in drawn(path)


def test_the_verdict_gives_no_name(tmp_path):
    """A verdict drawn live repeats the name of a span; that makes it no tool's."""
    stamped = {"failure.verdict": True, "failure.class": "tool_failure", "failure.dependency": "look up Erika"}
    tool = {"openinference.span.kind": "TOOL", "failure.schema_version": "1", **stamped}
    path = write(
        tmp_path / "traces.jsonl", line(span(1, 1, None, "look up Erika", attributes=tool, status={"code": 2}))
    )
    with analysed(Given(files=[path])) as analysis:
        assert reports.report(analysis).tool_failures[0].dependency == "look up Erika"
    assert "Erika" not in drawn(path)


def test_a_tool_stands_in_one_row_however_it_failed(tmp_path):
    """With the ways, and in how many runs each."""
    lines = [
        line(
            span(number, 2, 1, "search", "TOOL", (1, 2), {"error.type": how}, status={"code": 2}),
            span(number, 1, role="AGENT", attributes=case(number)),
        )
        for number, how in enumerate(["timeout", "timeout", "QuotaError"], start=1)
    ]
    page = drawn(write(tmp_path / "traces.jsonl", *lines))
    assert page.count('<th scope="row">search</th>') == 1
    assert "timeout in 2 runs, QuotaError in 1 run" in page


def test_the_numbers_of_the_way_out_lead_back_to_the_first_failures(tmp_path):
    """A run in which a later call made it good is no first failure, and is in the picture."""
    healed = line(
        span(2, 2, 1, "get_transactions", "TOOL", (1, 2), status={"code": 2}),
        span(2, 3, 1, "get_transactions", "TOOL", (3, 4)),
        span(2, 1, role="AGENT", attributes=case(2)),
    )
    page = drawn(write(tmp_path / "traces.jsonl", line(*failed(1)), healed))
    assert ">2 runs, 1 made good</text>" in page
    assert "in 1 run what failed was made good or replaced, and the run passed." in page
    assert "“none”: nothing was tried in the run." in page


def test_a_step_is_called_after_the_tool_it_calls(tmp_path):
    """Some frameworks write the agent's name on each call of it, too."""
    tool = span(1, 2, 1, "rules", "TOOL", (1, 2), {"gen_ai.agent.name": "copilot"}, status={"code": 2})
    page = drawn(write(tmp_path / "traces.jsonl", line(tool, span(1, 1, role="AGENT", attributes=case(1)))))
    assert "tool rules" in page
    assert "tool copilot" not in page


def test_time_has_an_axis_and_marks_have_a_key(traces):
    """The picture of the trend, and that of a run."""
    page = drawn(traces)
    assert page.count('<li class="axis">') == 2
    assert re.search(r'<span class="ticks few"><span>14:13:20</span><span>[\d:]+</span><span>14:13:21</span>', page)
    for tone, words in [("critical", "critical"), ("high", "high"), ("medium", "medium"), ("other", "none of the six")]:
        assert f'<span class="dot {tone}" aria-hidden="true"></span>{words}</span>' in page


class TestLabels:
    @pytest.mark.parametrize(
        ("text", "lines"),
        [
            ("short", ("short",)),
            ("", ("",)),
            ("rate_limited demo-scripted", ("rate_limited", "demo-scripted")),
            ("a_name_without_any_space_in_it", ("a_name_without_any_", "space_in_it")),
            ("x" * 60, ("x" * 22, "x" * 22, "x" * 16)),
            ("x" * 80, ("x" * 22, "x" * 22, f"{'x' * 22}…")),
        ],
    )
    def test_are_broken_where_a_reader_would(self, text, lines):
        """At a space, after a mark, and else where the room ends; what is left of three lines is cut."""
        assert shapes.broken(text, 23) == lines

    @given(st.text(max_size=60))
    def test_lose_no_letter_of_a_usual_name(self, text):
        """Unless it is wider than three lines."""
        lines = shapes.broken(text, 23)
        whole = "".join(lines)
        assert all(line == shapes.fitting(line, 23) for line in lines[:-1])
        assert "…" in whole or re.sub(r"\s", "", whole) == re.sub(r"\s", "", text)


def test_a_short_trend_is_told_by_the_clock_and_a_long_one_by_the_calendar():
    """A reader knows when each picture begins, has its middle, and ends."""

    def axis(seconds, *moments):
        return view._axis([TrendRow(datetime.fromisoformat(each), seconds, "pass", 1) for each in moments])

    assert axis(60, "2026-01-01T10:00", "2026-01-01T10:09") == ("10:00", "10:05", "10:10")
    assert axis(5, "2026-01-01T10:00", "2026-01-01T10:00:05") == ("10:00:00", "10:00:05", "10:00:10")
    assert axis(3600, "2026-01-01T23:00", "2026-01-02T00:00") == ("01-01 23:00", "01-02 00:00", "01-02 01:00")
    assert axis(86_400, "2026-01-01", "2026-01-10") == ("2026-01-01", "2026-01-06", "2026-01-11")
    assert view._axis([]) == ()
