"""What stands of the incidents of a run: echoes are dropped, what was made good is told apart, the first leads."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import effort
import pytest
from building import ABANDONED, CANCELLED, ROOT, TIMEOUT, failed, rejected, root, step
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import ERRORS, run_steps

from otel_aml.core.incidents import NOTHING, PAUSED, resolve
from otel_aml.core.steps import About, Incident, Kind, Sort

BAD = failed("app.Down", "no answer", error_type="Down", retriable=True, detail="Down at client.py:3")
OTHER = failed("app.Wrapped", "could not go on")
PROVIDER = failed("openai.RateLimitError", "slow down", error_type="rate_limited", of_provider=True)
BARE = failed()


def ids(failures):
    """List where failures were seen."""
    return [failure.span_id for failure in failures]


def calls(steps, **more):
    """Say which calls failed for good, and which were made good."""
    resolved = resolve(steps, ROOT, **more)
    return ids(resolved.failed_calls), ids(resolved.recovered_calls)


FAILED_CALLS = [
    pytest.param([root(), step("a", 1, 2)], [], [], id="all went well"),
    pytest.param([root(), step("a", 1, 2, incident=BAD)], ["a"], [], id="a tool failed"),
    pytest.param([root(), step("a", 1, 2, Kind.RETRIEVER, BAD)], ["a"], [], id="a retriever failed"),
    pytest.param([root(), step("a", 1, 2, Kind.MODEL, BAD)], ["a"], [], id="a model failed"),
    pytest.param([root(), step("a", 1, 2, Kind.CLIENT, BAD)], ["a"], [], id="another call out of the process failed"),
    pytest.param([root(), step("a", 1, 2, Kind.STEP, BAD)], [], [], id="a step inside the process is no call"),
    pytest.param([root(), step("a", 1, 2, Kind.AGENT, BAD)], [], [], id="nor is an agent"),
    pytest.param([root(incident=BAD), step("a", 1, 2)], [], [], id="nor is the root"),
    pytest.param(
        [root(), step("late", 1, 9, incident=BAD), step("early", 2, 3, name="other", incident=OTHER)],
        ["early", "late"],
        [],
        id="the one that ended first comes first, though it began later",
    ),
    pytest.param(
        [root(), step("a", 1, 5, name="outer", incident=OTHER), step("b", 2, 5, incident=BAD, parent="a")],
        ["b", "a"],
        [],
        id="of two that end together the deeper comes first",
    ),
    pytest.param(
        [root(), step("b", 1, 5, incident=BAD), step("a", 1, 5, name="other", incident=OTHER)],
        ["a", "b"],
        [],
        id="of two equals the order is still fixed",
    ),
]

ECHOES = [
    pytest.param(
        [root(incident=BAD), step("n", 1, 9, Kind.STEP, BAD), step("a", 2, 3, incident=BAD, parent="n")],
        ["a"],
        [],
        id="all above a tool repeat it",
    ),
    pytest.param(
        [root(), step("o", 1, 9, name="outer", incident=BAD), step("a", 2, 3, incident=BAD, parent="o")],
        ["a"],
        [],
        id="a tool repeats the tool that it called",
    ),
    pytest.param(
        [
            root(),
            step("o", 1, 9, name="outer", incident=BAD),
            step("n", 1, 8, Kind.AGENT, BAD, parent="o"),
            step("m", 1, 7, Kind.STEP, parent="n"),
            step("a", 2, 3, incident=BAD, parent="m"),
        ],
        ["a"],
        [],
        id="through agents, and through steps without a word",
    ),
    pytest.param(
        [root(), step("o", 1, 9, name="outer", incident=BARE), step("a", 2, 3, incident=BAD, parent="o")],
        ["a"],
        [],
        id="a bare error above repeats whatever is below",
    ),
    pytest.param(
        [root(), step("o", 1, 9, name="outer", incident=BAD), step("a", 2, 3, incident=BARE, parent="o")],
        ["a"],
        [],
        id="a bare error below is what is told above",
    ),
    pytest.param(
        [
            root(),
            step("o", 1, 9, name="outer", incident=replace(BAD, type="Down")),
            step("a", 2, 3, incident=BAD, parent="o"),
        ],
        ["a"],
        [],
        id="the type by its last part",
    ),
    pytest.param(
        [
            root(),
            step("o", 1, 9, name="outer", incident=replace(BAD, message="other")),
            step("a", 2, 3, incident=BAD, parent="o"),
        ],
        ["a", "o"],
        [],
        id="another message is another error",
    ),
    pytest.param(
        [
            root(),
            step("o", 1, 9, name="outer", incident=replace(BAD, type="app.Other")),
            step("a", 2, 3, incident=BAD, parent="o"),
        ],
        ["a", "o"],
        [],
        id="another type is another error",
    ),
    pytest.param(
        [root(), step("a", 1, 9, incident=BAD), step("n", 2, 3, Kind.STEP, BAD, parent="a")],
        ["a"],
        [],
        id="a span of the app below a tool tells no more than the tool",
    ),
    pytest.param(
        [root(), step("a", 1, 9, incident=BAD), step("h", 2, 3, Kind.CLIENT, BAD, parent="a")],
        ["a"],
        [],
        id="the HTTP call below a tool tells no more than the tool",
    ),
    pytest.param(
        [root(), step("a", 1, 9, incident=BARE), step("h", 2, 3, Kind.CLIENT, BAD, parent="a")],
        ["a"],
        [],
        id="not even where the tool says nothing else",
    ),
    pytest.param(
        [root(), step("a", 1, 9), step("h", 2, 3, Kind.CLIENT, BAD, parent="a")],
        [],
        [],
        id="a tool that went well swallowed its HTTP call",
    ),
    pytest.param(
        [
            root(),
            step("a", 1, 9),
            step("n", 1, 8, Kind.STEP, parent="a"),
            step("h", 2, 3, Kind.CLIENT, BAD, parent="n"),
        ],
        [],
        [],
        id="also through a step",
    ),
    pytest.param(
        [root(), step("n", 1, 8, Kind.STEP), step("h", 2, 3, Kind.CLIENT, BAD, parent="n")],
        ["h"],
        [],
        id="but a call in a plain step stands for itself",
    ),
    pytest.param(
        [root(), step("a", 1, 9, name="outer", incident=BARE), step("b", 2, 3, incident=CANCELLED, parent="a")],
        [],
        [],
        id="a bare error above a cut call is that cut",
    ),
    pytest.param(
        [root(), step("a", 1, 9, name="outer", incident=BAD), step("b", 2, 3, incident=CANCELLED, parent="a")],
        ["a"],
        [],
        id="an error of another name is not",
    ),
    pytest.param(
        [
            root(),
            step("a", 1, 9, name="outer", incident=BARE),
            step("b", 2, 3, incident=BAD, parent="a"),
            step("c", 4, 5, parent="a"),
        ],
        ["a"],
        ["b"],
        id="what was made good below does not explain what failed above",
    ),
    pytest.param(
        [
            root(),
            step("a", 1, 9, name="outer", incident=BAD),
            step("m", 2, 8, Kind.STEP, BAD, parent="a"),
            step("b", 2, 3, incident=BAD, parent="m"),
            step("c", 4, 5, parent="a"),
        ],
        ["a"],
        ["b"],
        id="nor through a step that went on",
    ),
    pytest.param(
        [
            root(),
            step("a", 1, 9, name="outer", incident=BAD),
            step("m", 2, 3, Kind.STEP, BAD, parent="a"),
            step("b", 2, 3, incident=BAD, parent="m"),
            step("c", 4, 5, parent="a"),
        ],
        ["a"],
        ["b"],
        id="nor through a step that repeats it",
    ),
    pytest.param(
        [
            root(),
            step("o", 1, 4, name="outer", incident=BAD),
            step("a", 2, 3, incident=BAD, parent="o"),
            step("c", 4, 5),
        ],
        [],
        ["a"],
        id="made good once all above had ended, it explains them",
    ),
    pytest.param(
        [
            root(),
            step("p", 0, 20, name="outermost", incident=BAD),
            step("o", 1, 9, name="outer", incident=BAD, parent="p"),
            step("b", 2, 3, incident=BAD, parent="o"),
            step("d", 4, 5, name="other", incident=BAD, parent="o"),
            step("c", 10, 11, parent="p"),
        ],
        ["d"],
        ["b"],
        id="of two below one that stands explains all above",
    ),
    pytest.param(
        [
            root(),
            step("a", 1, 9, name="outer", incident=BAD),
            step("b", 2, 3, incident=BAD, parent="a"),
            step("c", 4, 5, parent="a"),
            step("d", 6, 7, name="other", incident=BAD, parent="a"),
        ],
        ["d"],
        ["b"],
        id="one of two below was made good, the other explains it",
    ),
]

RECOVERED = [
    pytest.param([root(), step("a", 1, 2, incident=BAD), step("b", 3, 4)], [], ["a"], id="a later call went well"),
    pytest.param([root(), step("a", 1, 2, incident=BAD), step("b", 2, 3)], [], ["a"], id="right after"),
    pytest.param([root(), step("a", 1, 3, incident=BAD), step("b", 2, 4)], ["a"], [], id="a sibling beside it is none"),
    pytest.param([root(), step("a", 3, 4, incident=BAD), step("b", 1, 2)], ["a"], [], id="nor is an earlier one"),
    pytest.param(
        [root(), step("a", 1, 2, incident=BAD), step("b", 3, 4, name="other")], ["a"], [], id="nor another tool"
    ),
    pytest.param(
        [root(), step("a", 1, 2, incident=BAD, arguments="x"), step("b", 3, 4, arguments="y")],
        ["a"],
        [],
        id="nor a call with other arguments",
    ),
    pytest.param(
        [root(), step("a", 1, 2, incident=BAD, arguments="x"), step("b", 3, 4)], [], ["a"], id="arguments not recorded"
    ),
    pytest.param(
        [root(), step("a", 1, 2, incident=BAD), step("b", 3, 4, asked_again=True)], ["a"], [], id="it asked again"
    ),
    pytest.param(
        [root(), step("a", 1, 2, incident=BAD), step("b", 3, 4, incident=BAD), step("c", 5, 6)],
        [],
        ["a", "b"],
        id="two tries failed, the third went well",
    ),
    pytest.param(
        [root(), step("a", 1, 2, Kind.RETRIEVER, BAD), step("b", 3, 4, Kind.RETRIEVER)], [], ["a"], id="a retriever"
    ),
    pytest.param(
        [root(), step("a", 1, 2, Kind.MODEL, BAD), step("b", 3, 4, Kind.MODEL, name="fallback")],
        [],
        ["a"],
        id="another model under the same parent",
    ),
    pytest.param(
        [
            root(),
            step("n", 1, 3, Kind.STEP),
            step("a", 1, 2, Kind.MODEL, BAD, parent="n"),
            step("b", 3, 4, Kind.MODEL),
        ],
        ["a"],
        [],
        id="a model elsewhere works for something else",
    ),
    pytest.param(
        [root(), step("f", 1, 9, Kind.MODEL), step("a", 2, 3, Kind.MODEL, BAD, parent="f")],
        [],
        ["a"],
        id="a parent model that fell back",
    ),
    pytest.param(
        [
            root(),
            step("f", 1, 9, Kind.MODEL),
            step("n", 1, 9, Kind.STEP, parent="f"),
            step("a", 2, 3, Kind.MODEL, BAD, parent="n"),
        ],
        [],
        ["a"],
        id="also through a step",
    ),
    pytest.param(
        [root(), step("f", 1, 9, Kind.MODEL), step("a", 2, 3, incident=BAD, parent="f")],
        ["a"],
        [],
        id="a tool below a model is no model",
    ),
    pytest.param(
        [root(), step("f", 1, 9, Kind.MODEL, OTHER), step("a", 2, 3, Kind.MODEL, BAD, parent="f")],
        ["a", "f"],
        [],
        id="a parent model that failed too",
    ),
    pytest.param(
        [root(), step("f", 1, 9), step("a", 2, 3, incident=BAD, parent="f", name="inner")],
        ["a"],
        [],
        id="a tool that swallowed the failure of another did not make it good",
    ),
    pytest.param(
        [
            root(),
            step("o", 1, 9, name="outer", incident=BARE),
            step("f", 1, 8, Kind.MODEL, parent="o"),
            step("a", 2, 3, Kind.MODEL, BAD, parent="f"),
        ],
        ["o"],
        ["a"],
        id="what a fallback made good explains nothing above it",
    ),
    pytest.param(
        [
            root(),
            step("c1", 1, 3, Kind.MODEL, BAD),
            step("a", 1, 2, Kind.MODEL, BAD, parent="c1"),
            step("c2", 4, 5, Kind.MODEL),
        ],
        [],
        ["a"],
        id="the call above that ended in the same error was made good",
    ),
    pytest.param(
        [
            root(),
            step("o1", 1, 4, name="outer", incident=BAD, arguments="x"),
            step("a", 2, 3, incident=BAD, arguments="y", parent="o1"),
            step("o2", 5, 8, name="outer", arguments="x"),
            step("b", 6, 7, arguments="z", parent="o2"),
        ],
        [],
        ["a"],
        id="also a tool, whatever it called inside",
    ),
    pytest.param(
        [root(), step("h", 1, 2, Kind.CLIENT, BAD), step("i", 3, 4, Kind.CLIENT)], [], ["h"], id="a request made again"
    ),
    pytest.param(
        [
            root(kind=Kind.STEP),
            step("g", 1, 3, Kind.AGENT, BAD),
            step("a", 1, 2, incident=BAD, arguments="x", parent="g"),
            step("h", 4, 6, Kind.AGENT),
        ],
        [],
        ["a"],
        id="the whole agent was run again",
    ),
]

TRIED_WITHIN = {"noted": True, "survived": True, "retrying": True}
OF_PROVIDERS = [
    pytest.param(
        [root(kind=Kind.STEP, incident=failed(**TRIED_WITHIN))],
        [],
        [ROOT],
        id="the app noted it at the root, and outlived it",
    ),
    pytest.param(
        [root(), step("g", 1, 2, Kind.AGENT, failed(**{**TRIED_WITHIN, "of_provider": True}))],
        [],
        ["g"],
        id="or at an agent",
    ),
    pytest.param(
        [root(), step("s", 1, 2, Kind.STEP, failed(**TRIED_WITHIN))], ["s"], [], id="a step has its own next try"
    ),
    pytest.param([root(), step("g", 1, 2, Kind.AGENT, PROVIDER)], ["g"], [], id="an agent tells of its provider"),
    pytest.param([root(incident=PROVIDER)], [ROOT], [], id="also the root"),
    pytest.param([root(kind=Kind.STEP, incident=PROVIDER)], [], [], id="a step at the root does not"),
    pytest.param([root(), step("s", 1, 2, Kind.STEP, PROVIDER)], ["s"], [], id="the step with which the run died does"),
    pytest.param(
        [root(), step("s", 1, 2, Kind.STEP, PROVIDER), step("t", 3, 4, Kind.STEP)], [], [], id="one before another not"
    ),
    pytest.param(
        [root(), step("s", 1, 3, Kind.STEP, PROVIDER), step("m", 1, 2, Kind.MODEL, PROVIDER, parent="s")],
        ["m"],
        [],
        id="nor one that shows its model",
    ),
    pytest.param(
        [root(incident=PROVIDER), step("m", 1, 2, Kind.MODEL, PROVIDER)], ["m"], [], id="the model tells it itself"
    ),
    pytest.param(
        [root(incident=PROVIDER), step("m", 1, 2, Kind.MODEL)], [], [], id="a model that went well contradicts it"
    ),
    pytest.param(
        [root(incident=PROVIDER), step("n", 1, 3, Kind.STEP), step("m", 1, 2, Kind.MODEL, parent="n")],
        [],
        [],
        id="however deep it stands",
    ),
    pytest.param(
        [
            root(kind=Kind.STEP),
            step("g", 1, 2, Kind.AGENT, PROVIDER),
            step("h", 1, 4, Kind.AGENT, name="other"),
            step("m", 1, 2, Kind.MODEL, parent="h"),
        ],
        ["g"],
        [],
        id="a model of another agent says nothing of this one",
    ),
    pytest.param(
        [root(incident=PROVIDER), step("g", 1, 2, Kind.AGENT, PROVIDER)], ["g"], [], id="the outer agent repeats it"
    ),
]


@pytest.mark.parametrize(("steps", "standing", "recovered"), FAILED_CALLS + ECHOES + RECOVERED + OF_PROVIDERS)
def test_a_failed_call_stands_or_was_made_good(steps, standing, recovered):
    """Each error once, at the deepest call that shows it; the first to end names the run."""
    assert calls(steps) == (standing, recovered)
    assert calls(list(reversed(steps))) == (standing, recovered)


UNKNOWN = rejected(About.TOOL_NAME, subject="ghost")
OUTPUTS = [
    pytest.param([root(), step("a", 1, 2, incident=rejected())], False, ["a"], [], id="arguments were rejected"),
    pytest.param(
        [root(), step("a", 1, 2, incident=rejected(), arguments="x"), step("b", 3, 4, arguments="y")],
        False,
        [],
        ["a"],
        id="and then accepted, with others",
    ),
    pytest.param(
        [root(), step("a", 1, 3, incident=rejected()), step("b", 2, 4)], False, ["a"], [], id="a call beside it"
    ),
    pytest.param(
        [root(), step("a", 1, 2, Kind.RETRIEVER, rejected()), step("b", 3, 4, Kind.RETRIEVER)],
        False,
        [],
        ["a"],
        id="arguments of a retriever",
    ),
    pytest.param(
        [root(), step("m", 1, 2, Kind.MODEL, UNKNOWN), step("n", 3, 4, Kind.MODEL)],
        True,
        ["m"],
        [],
        id="an unknown tool is not made good by going on",
    ),
    pytest.param(
        [root(), step("m", 1, 2, Kind.MODEL, UNKNOWN), step("n", 3, 4, Kind.MODEL), step("a", 5, 6)],
        True,
        [],
        ["m"],
        id="but by a call of one that exists, once the model was asked again",
    ),
    pytest.param(
        [root(), step("m", 1, 2, Kind.MODEL, UNKNOWN), step("a", 3, 4), step("n", 5, 6, Kind.MODEL)],
        True,
        ["m"],
        [],
        id="not by another call of the same turn",
    ),
    pytest.param(
        [
            root(),
            step("m", 1, 2, Kind.MODEL, UNKNOWN),
            step("n", 3, 4, Kind.MODEL),
            step("a", 5, 6, incident=rejected()),
        ],
        True,
        ["m", "a"],
        [],
        id="nor by one that is refused itself",
    ),
    pytest.param(
        [root(), step("m", 1, 2, Kind.MODEL, UNKNOWN), step("a", 3, 4, name="ghost", incident=BAD)],
        False,
        ["m"],
        [],
        id="a failed call of the unknown tool is its echo",
    ),
    pytest.param(
        [
            root(),
            step("m", 1, 2, Kind.MODEL, UNKNOWN),
            step("a", 3, 4, name="ghost", incident=BAD),
            step("b", 5, 6, incident=rejected()),
        ],
        False,
        ["m", "b"],
        [],
        id="and what comes after it is not lost",
    ),
    pytest.param(
        [root(), step("m", 1, 2, Kind.MODEL, UNKNOWN), step("a", 3, 4, name="ghost")],
        False,
        [],
        ["m"],
        id="the tool was there after all",
    ),
    pytest.param(
        [root(), step("a", 1, 2, name="ghost", incident=rejected(About.TOOL_NAME))],
        False,
        ["a"],
        [],
        id="an unknown tool that only the call tells of",
    ),
    pytest.param(
        [root(), step("m", 1, 2, Kind.MODEL, rejected(About.ANSWER))], False, ["m"], [], id="an answer was rejected"
    ),
    pytest.param(
        [root(), step("m", 1, 2, Kind.MODEL, rejected(About.ANSWER))], True, [], ["m"], id="and a later one accepted"
    ),
    pytest.param([root(incident=rejected(About.ANSWER))], True, [ROOT], [], id="the root has no later one"),
    pytest.param(
        [root(incident=rejected(About.ANSWER, noted=True, survived=True, retrying=True))],
        False,
        [],
        [ROOT],
        id="unless the app noted it, about to try again, and outlived it",
    ),
    pytest.param(
        [root(), step("s", 1, 2, Kind.STEP, rejected(About.ANSWER))], True, ["s"], [], id="nor has the last turn"
    ),
    pytest.param(
        [root(), step("s", 1, 2, Kind.STEP, rejected(About.ANSWER)), step("n", 3, 4, Kind.STEP)],
        True,
        [],
        ["s"],
        id="but one before it has",
    ),
    pytest.param(
        [root(kind=Kind.STEP), step("g", 1, 2, Kind.AGENT, rejected(About.ANSWER))],
        True,
        ["g"],
        [],
        id="nor has the run's own agent",
    ),
    pytest.param(
        [
            root(kind=Kind.STEP),
            step("g", 1, 2, Kind.AGENT, rejected(About.ANSWER)),
            step("h", 3, 4, Kind.AGENT),
        ],
        True,
        [],
        ["g"],
        id="unless it was run again",
    ),
    pytest.param(
        [root(), step("a", 1, 4), step("g", 2, 3, Kind.AGENT, rejected(About.ANSWER), parent="a")],
        True,
        [],
        ["g"],
        id="an agent that a tool called is not the run's own",
    ),
    pytest.param(
        [root(), step("s", 1, 2, Kind.STEP, rejected()), step("t", 3, 4)],
        False,
        [],
        ["s"],
        id="a step that refused a call names no tool: any later one will do",
    ),
    pytest.param(
        [root(), step("s", 1, 2, Kind.STEP, rejected(subject="search")), step("t", 3, 4, name="other")],
        False,
        ["s"],
        [],
        id="one that names it waits for that tool",
    ),
    pytest.param(
        [
            root(),
            step("s", 1, 2, Kind.STEP, rejected(subject="search")),
            step("t", 3, 4, paused=True),
        ],
        False,
        [],
        ["s"],
        id="what became of the accepted call is another matter",
    ),
    pytest.param(
        [root(), step("t", 1, 2), step("s", 3, 4, Kind.STEP, rejected()), step("m", 5, 6, Kind.MODEL)],
        False,
        ["s"],
        [],
        id="but not an earlier one, nor a model",
    ),
    pytest.param(
        [root(incident=rejected(type="ValidationError")), step("a", 1, 2, incident=rejected(type="ValidationError"))],
        True,
        ["a"],
        [],
        id="a rejection is repeated above",
    ),
    pytest.param(
        [
            root(),
            step("o", 1, 9, name="outer", incident=failed("ValidationError", "x")),
            step("a", 1, 2, incident=rejected(type="ValidationError", message="x"), parent="o"),
        ],
        False,
        ["a"],
        [],
        id="also as an error",
    ),
    pytest.param(
        [root(), step("o", 1, 9, name="outer", incident=rejected()), step("a", 2, 3, incident=CANCELLED, parent="o")],
        False,
        ["o"],
        [],
        id="a cut call below is another thing",
    ),
]


@pytest.mark.parametrize(("steps", "is_accepted", "standing", "replaced"), OUTPUTS)
def test_a_rejected_output_stands_or_was_replaced(steps, is_accepted, standing, replaced):
    """What the model wrote is made good by what it wrote later, not by the tool."""
    resolved = resolve(steps, ROOT, answer_accepted=is_accepted)
    assert (ids(resolved.broken_outputs), ids(resolved.recovered_outputs)) == (standing, replaced)
    assert resolved.failed_calls == resolved.recovered_calls == ()


ENDINGS = [
    pytest.param([root(incident=CANCELLED)], False, (True, False, None), id="the root was cut"),
    pytest.param([root(incident=CANCELLED)], True, (True, False, None), id="the root was cut, with an answer"),
    pytest.param([root(incident=BAD)], False, (False, False, ROOT), id="the root broke"),
    pytest.param([root(incident=ABANDONED)], False, (False, True, None), id="its reader went away"),
    pytest.param(
        [root(), step("a", 1, 2, Kind.AGENT, ABANDONED)], False, (False, True, None), id="the reader of its agent did"
    ),
    pytest.param(
        [root(incident=BAD), step("a", 1, 2, Kind.AGENT, ABANDONED)],
        False,
        (False, False, ROOT),
        id="a stream that the run's own error closed",
    ),
    pytest.param([root(), step("a", 1, 2, incident=CANCELLED)], True, (False, False, None), id="a cut call, answered"),
    pytest.param([root(), step("a", 1, 2, incident=CANCELLED)], False, (True, False, None), id="a cut call, no answer"),
    pytest.param(
        [root(), step("a", 1, 2, incident=CANCELLED), step("b", 2, 4, name="other")],
        False,
        (False, False, None),
        id="a cut call, after which the run went on",
    ),
    pytest.param(
        [root(), step("a", 1, 3, incident=CANCELLED), step("b", 2, 4, name="other")],
        False,
        (True, False, None),
        id="a cut call beside another",
    ),
    pytest.param(
        [root(), step("b", 2, 2, name="other"), step("a", 2, 2, incident=CANCELLED)],
        False,
        (True, False, None),
        id="a call cut at once",
    ),
    pytest.param(
        [
            root(),
            step("a", 1, 2, incident=CANCELLED),
            step("b", 3, 4, name="other"),
            step("c", 5, 6, incident=CANCELLED),
        ],
        False,
        (True, False, None),
        id="the last call was cut, an earlier one was nothing",
    ),
    pytest.param([root(), step("n", 1, 2, Kind.STEP, CANCELLED)], False, (False, False, None), id="a cut step"),
    pytest.param(
        [root(incident=BAD), step("a", 1, 2, incident=CANCELLED)],
        False,
        (False, False, ROOT),
        id="a victim of an error",
    ),
    pytest.param(
        [root(kind=Kind.STEP), step("g", 1, 2, Kind.AGENT, CANCELLED)], False, (True, False, None), id="a cut agent"
    ),
    pytest.param(
        [root(kind=Kind.STEP), step("g", 1, 2, Kind.AGENT, CANCELLED), step("h", 2, 4, Kind.AGENT)],
        True,
        (False, False, None),
        id="a cut agent that was run again",
    ),
    pytest.param(
        [
            root(kind=Kind.STEP),
            step("g", 1, 3, Kind.AGENT, BAD),
            step("h", 1, 3, Kind.AGENT, CANCELLED, name="other"),
        ],
        False,
        (False, False, "g"),
        id="a cut agent beside one that broke",
    ),
    pytest.param(
        [root(kind=Kind.STEP, incident=CANCELLED), step("g", 1, 3, Kind.AGENT, BAD)],
        False,
        (True, False, "g"),
        id="a broken agent, and then the root was cut",
    ),
    pytest.param(
        [root(kind=Kind.STEP), step("g", 1, 3, Kind.AGENT, BAD)], False, (False, False, "g"), id="a bad agent"
    ),
    pytest.param(
        [root(incident=OTHER), step("g", 1, 3, Kind.AGENT, BAD)],
        False,
        (False, False, "g"),
        id="an agent of the root, before the root itself",
    ),
    pytest.param(
        [root(kind=Kind.STEP), step("g", 1, 3, Kind.AGENT, BAD), step("h", 3, 4, Kind.AGENT)],
        True,
        (False, False, None),
        id="a broken agent that was run again",
    ),
    pytest.param(
        [root(), step("g", 1, 9, Kind.AGENT), step("h", 2, 3, Kind.AGENT, BAD, parent="g")],
        True,
        (False, False, None),
        id="an agent that another called is not the run's own",
    ),
    pytest.param(
        [root(), step("a", 1, 9), step("h", 2, 3, Kind.AGENT, BAD, parent="a")],
        True,
        (False, False, None),
        id="nor one that a tool called",
    ),
    pytest.param(
        [root(), step("n", 1, 9, Kind.STEP), step("h", 2, 3, Kind.AGENT, BAD, parent="n")],
        True,
        (False, False, "h"),
        id="but one in a plain step is",
    ),
    pytest.param([root(), step("n", 1, 9, Kind.STEP, BAD)], True, (False, False, None), id="a step is no ending"),
]


@pytest.mark.parametrize(("steps", "is_accepted", "ending"), ENDINGS)
def test_the_ending_is_the_root_s_or_its_own_agents(steps, is_accepted, ending):
    """Some frameworks leave the root OK when the run raised; what an error cut is only its victim."""
    resolved = resolve(steps, ROOT, answer_accepted=is_accepted)
    broken_at = resolved.broken_at.span_id if resolved.broken_at else None
    assert (resolved.cancelled, resolved.abandoned, broken_at) == ending
    assert resolved.failed_calls == resolved.recovered_calls == ()


DEADLINES = [
    pytest.param([root(incident=TIMEOUT), step("a", 1, 2, incident=CANCELLED)], ["a"], id="the call that it cut"),
    pytest.param(
        [root(incident=TIMEOUT), step("a", 1, 2, incident=CANCELLED), step("b", 3, 4, Kind.MODEL, CANCELLED)],
        ["b"],
        id="the last call that was cut",
    ),
    pytest.param(
        [root(incident=TIMEOUT), step("b", 1, 5, incident=CANCELLED), step("a", 2, 4, Kind.MODEL, CANCELLED)],
        ["a"],
        id="of two side by side the one cut first",
    ),
    pytest.param(
        [root(kind=Kind.STEP), step("g", 0, 9, Kind.AGENT, TIMEOUT), step("a", 1, 2, incident=CANCELLED, parent="g")],
        ["a"],
        id="an agent's deadline",
    ),
    pytest.param([root(incident=TIMEOUT), step("a", 1, 2)], [], id="no call was cut"),
    pytest.param([root(incident=BAD), step("a", 1, 2, incident=CANCELLED)], [], id="another error"),
    pytest.param([root(), step("a", 1, 2, incident=CANCELLED)], [], id="no deadline"),
    pytest.param(
        [root(), step("n", 1, 9, Kind.STEP, TIMEOUT), step("a", 1, 2, incident=CANCELLED, parent="n")],
        [],
        id="a step's deadline did not end the run",
    ),
    pytest.param(
        [
            root(incident=TIMEOUT),
            step("a", 1, 3, incident=TIMEOUT),
            step("b", 1, 3, name="other", incident=CANCELLED),
        ],
        ["a"],
        id="a tool that timed out itself; its cut sibling is a victim",
    ),
    pytest.param(
        [
            root(kind=Kind.STEP),
            step("g", 1, 3, Kind.AGENT, TIMEOUT),
            step("a", 1, 3, incident=CANCELLED, parent="g"),
            step("h", 3, 5, Kind.AGENT),
        ],
        [],
        id="an agent that was run again after its deadline",
    ),
]


@pytest.mark.parametrize(("steps", "standing"), DEADLINES)
def test_a_deadline_is_blamed_on_the_call_that_it_cut(steps, standing):
    """The call itself only looks cancelled; it is the one that was slow."""
    assert calls(steps) == (standing, [])


def test_what_a_deadline_cut_has_timed_out():
    """How and whether again is the deadline's, where is the call's."""
    deadline = replace(TIMEOUT, detail="TimeoutError at app.py:1")
    (failure,) = resolve([root(incident=deadline), step("a", 1, 2, incident=CANCELLED)], ROOT).failed_calls
    assert (failure.span_id, failure.dependency, failure.seen_at) == ("a", "search", 2)
    assert (failure.error_type, failure.retriable, failure.detail) == ("timeout", True, "TimeoutError at app.py:1")


def test_a_failure_says_what_is_known_of_it():
    """Where, what, how, whether again, how often; never the message."""
    steps = [root(), step("a", 1, 2, incident=BAD, step_id="screening"), step("b", 3, 4, incident=BAD)]
    first, second = resolve(steps, ROOT).failed_calls
    assert (first.span_id, first.step_id, first.dependency, first.seen_at) == ("a", "screening", "search", 2)
    assert (first.error_type, first.retriable, first.detail) == ("Down", True, "Down at client.py:3")
    assert (first.attempts, second.attempts, second.step_id) == (1, 1, "")


STEP_IDS = [
    pytest.param([root(step_id="run"), step("a", 1, 2, incident=BAD, step_id="own")], "own", id="its own"),
    pytest.param([root(step_id="run"), step("a", 1, 2, incident=BAD)], "run", id="its parent's"),
    pytest.param(
        [
            root(step_id="run"),
            step("n", 0, 9, Kind.STEP, step_id="near"),
            step("m", 0, 9, Kind.STEP, parent="n"),
            step("a", 1, 2, incident=BAD, parent="m"),
        ],
        "near",
        id="the nearest above",
    ),
]


@pytest.mark.parametrize(("steps", "step_id"), STEP_IDS)
def test_the_step_is_the_nearest_that_the_app_named(steps, step_id):
    """An app names its steps, not every span below."""
    assert resolve(steps, ROOT).failed_calls[0].step_id == step_id


ATTEMPTS = [
    pytest.param([BAD, BAD, None], 2, id="two failed tries, the third was good"),
    pytest.param([BAD, BAD, BAD], 2, id="three failures"),
    pytest.param([BAD], 0, id="one failure"),
    pytest.param([BAD, None], 1, id="one failed try, the second was good"),
    pytest.param([rejected(), rejected(), None], 2, id="arguments corrected twice"),
]


@pytest.mark.parametrize(("incidents", "attempts"), ATTEMPTS)
def test_attempts_are_counted_after_the_first(incidents, attempts):
    """Of a rejected call also those with other arguments: it is for them to change."""
    is_rejected = incidents[0].sort is Sort.REJECTED
    steps = [
        step(f"a{number}", 2 * number, 2 * number + 1, incident=each, arguments=f"{number}" if is_rejected else "x")
        for number, each in enumerate(incidents)
    ]
    resolved = resolve([root(), *steps], ROOT)
    found = resolved.failed_calls + resolved.recovered_calls + resolved.broken_outputs + resolved.recovered_outputs
    assert len(found) == sum(each is not None for each in incidents)
    assert {failure.attempts for failure in found} == {attempts}


def test_calls_with_other_arguments_are_no_tries_of_the_same():
    """A failed search is not tried again by another search."""
    steps = [root(), step("a", 1, 2, incident=BAD, arguments="x"), step("b", 3, 4, arguments="y")]
    assert resolve(steps, ROOT).failed_calls[0].attempts == 0


def test_without_a_word_no_answer_was_accepted():
    """The careful side: a cut call then cut the run."""
    assert resolve([root(), step("a", 1, 2, incident=CANCELLED)], ROOT).cancelled


ENTRIES = [
    pytest.param([step("a", 1, 9, Kind.AGENT, CANCELLED)], True, "", id="what cut the agent that the app called"),
    pytest.param([step("a", 1, 9, Kind.AGENT, BAD)], False, "a", id="or ended it in an error"),
    pytest.param(
        [step("a", 1, 9, Kind.AGENT), step("b", 2, 8, Kind.AGENT, BAD, parent="a")],
        False,
        "b",
        id="or ended the agent below it, which no tool called",
    ),
    pytest.param(
        [step("a", 1, 9, Kind.AGENT), step("t", 2, 8, parent="a"), step("b", 3, 7, Kind.AGENT, BAD, parent="t")],
        False,
        "",
        id="but not an agent that a tool called",
    ),
]


@pytest.mark.parametrize(("below", "is_cancelled", "broken_at"), ENTRIES)
def test_what_ends_an_agent_that_the_app_called_ends_the_run(below, is_cancelled, broken_at):
    """The root is the app's own, and ends well whatever became of the agent."""
    resolved = resolve([root(kind=Kind.STEP), *below], ROOT, entries=frozenset({"a"}), answer_accepted=True)
    assert resolved.cancelled is is_cancelled
    assert (resolved.broken_at.span_id if resolved.broken_at else "") == broken_at


def test_a_rejected_call_is_never_retriable():
    """The same arguments are rejected again."""
    steps = [root(), step("a", 1, 2, incident=rejected(retriable=True, subject="loader"))]
    (failure,) = resolve(steps, ROOT).broken_outputs
    assert (failure.retriable, failure.dependency) == (False, "loader")


PAUSES = [
    pytest.param([root()], NOTHING, id="nothing happened"),
    pytest.param([], NOTHING, id="no step at all"),
    pytest.param([root(), step("a", 1, 2, paused=True)], PAUSED, id="a step waits"),
]


@pytest.mark.parametrize(("steps", "resolved"), PAUSES)
def test_a_run_without_incidents_is_quick(steps, resolved):
    """Most runs are."""
    assert resolve(iter(steps), ROOT) is resolved


def test_a_pause_is_kept_beside_incidents():
    """A run can fail at one step and wait at another."""
    resolved = resolve([root(), step("a", 1, 2, paused=True), step("b", 1, 2, name="other", incident=BAD)], ROOT)
    assert (resolved.paused, ids(resolved.failed_calls)) == (True, ["b"])
    assert not resolve([root(), step("b", 1, 2, incident=BAD)], ROOT).paused


def test_a_root_that_never_ended_is_no_obstacle():
    """Its spans still name it as their parent."""
    assert calls([step("a", 1, 2, incident=BAD)]) == (["a"], [])


BRANCH, OTHER_BRANCH = (step(name, 0, 9, Kind.STEP) for name in ("x", "y"))
FATAL = [
    pytest.param([root(incident=BAD)], (["a"], []), id="the root ended in it, word for word"),
    pytest.param([root()], ([], ["a"]), id="the root ended well"),
    pytest.param([root(incident=OTHER)], ([], ["a"]), id="the root ended in another"),
    pytest.param([root(incident=BARE)], ([], ["a"]), id="the root's has no words"),
    pytest.param(
        [root(incident=BAD), step("n", 6, 7, Kind.MODEL, parent="x")], ([], ["a"]), id="its branch went on after it"
    ),
    pytest.param(
        [root(incident=BAD), step("n", 6, 7, Kind.MODEL, BAD, parent="y")],
        (["n"], ["a"]),
        id="the root repeats a later one",
    ),
    pytest.param([root(incident=BAD, kind=Kind.TOOL)], ([ROOT], ["a"]), id="the root is a call itself"),
]


@pytest.mark.parametrize(("more", "found"), FATAL)
def test_an_error_that_ended_the_run_was_not_made_good_in_another_branch(more, found):
    """Branches side by side call the same tool; that one of them got an answer did not help the other."""
    failed_one, good_one = step("a", 1, 2, incident=BAD, parent="x"), step("b", 3, 4, parent="y")
    assert calls([*more, BRANCH, OTHER_BRANCH, failed_one, good_one]) == found


def test_what_repeats_the_error_that_ended_the_run_changes_nothing():
    """A tool around the failed one."""
    inner, outer = step("i", 1, 2, incident=BAD, parent="a"), step("a", 1, 3, name="outer", incident=BAD, parent="x")
    good = [step("b", 4, 5, parent="y"), step("c", 4, 5, name="outer", parent="y")]
    assert calls([root(incident=BAD), BRANCH, OTHER_BRANCH, inner, outer, *good]) == (["i"], [])


@given(steps=run_steps(), data=st.data(), is_accepted=st.booleans())
def test_the_order_of_steps_does_not_matter(steps, data, is_accepted):
    """Exporters shuffle them."""
    shuffled = data.draw(st.permutations(steps))
    assert resolve(shuffled, "s0", answer_accepted=is_accepted) == resolve(steps, "s0", answer_accepted=is_accepted)


@given(steps=run_steps(ERRORS), data=st.data())
def test_an_echo_never_adds_a_failure(steps, data):
    """A tool around a failed tool, in the same error, changes nothing."""
    steps = [
        each for each in steps if each.parent_id is None or each.parent_id == "lost" or each.parent_id < each.span_id
    ]
    inners = [each for each in steps if each.incident and each.kind in (Kind.TOOL, Kind.RETRIEVER)]
    assume(inners)
    inner = data.draw(st.sampled_from(inners))
    wrapper = replace(inner, span_id="wrapper", name="wrapper", kind=Kind.TOOL, step_id="")
    wrapped = [replace(each, parent_id="wrapper") if each is inner else each for each in steps]
    before, after = resolve(steps, "s0"), resolve([*wrapped, wrapper], "s0")
    assert sorted(ids(after.failed_calls)) == sorted(ids(before.failed_calls))
    assert sorted(ids(after.recovered_calls)) == sorted(ids(before.recovered_calls))


@given(steps=run_steps(), is_accepted=st.booleans())
def test_each_incident_is_counted_at_most_once(steps, is_accepted):
    """And the earliest to end stands first."""
    resolved = resolve(steps, "s0", answer_accepted=is_accepted)
    rows = (resolved.failed_calls, resolved.broken_outputs, resolved.recovered_calls, resolved.recovered_outputs)
    found = [failure for row in rows for failure in row]
    assert len(set(ids(found))) == len(found)
    assert set(ids(found)) <= {each.span_id for each in steps if each.incident is not None}
    for row in rows:
        assert [failure.seen_at for failure in row] == sorted(failure.seen_at for failure in row)


@given(steps=run_steps(ERRORS))
def test_an_error_of_a_call_is_never_lost(steps):
    """If any tool failed and nothing went well, something stands."""
    none_good = [replace(each, incident=each.incident or OTHER) if each.kind in _CALLABLE else each for each in steps]
    assume(any(each.kind in (Kind.TOOL, Kind.RETRIEVER) and each.incident for each in none_good))
    assert resolve(none_good, "s0").failed_calls


_CALLABLE = (Kind.TOOL, Kind.RETRIEVER, Kind.MODEL, Kind.CLIENT, Kind.AGENT)
SIZE = 20_000
LARGE = [
    pytest.param(lambda number: {"parent": f"s{number - 1}", "incident": BAD}, 1, id="a deep chain of one error"),
    pytest.param(
        lambda number: {"parent": f"s{number - 1}", "incident": failed(f"E{number}")}, SIZE, id="of many errors"
    ),
    pytest.param(
        lambda number: {"parent": f"s{number - 1}", "kind": Kind.STEP if number else Kind.TOOL, "incident": BARE},
        1,
        id="of steps below one tool",
    ),
    pytest.param(lambda number: {"parent": "s0", "incident": BAD if number else None}, SIZE - 1, id="side by side"),
    pytest.param(
        lambda number: {"parent": "s0", "incident": failed(f"E{number}"), "arguments": str(number)},
        SIZE,
        id="side by side, each with its own arguments",
    ),
    pytest.param(
        lambda number: {"parent": f"s{(number + 1) % SIZE}", "incident": failed(f"E{number}")}, SIZE, id="a circle"
    ),
    pytest.param(lambda number: {"parent": f"s{number}", "incident": BAD}, SIZE, id="each its own parent"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "standing"), LARGE)
def test_a_large_run_is_safe_and_fast(make, standing):
    """No recursion, no endless walk, nothing quadratic: an agent waits for this."""

    def steps(size):
        return [step(f"s{number}", number, number + 1, **make(number)) for number in range(size)]

    assert len(resolve(steps(SIZE), "s0").failed_calls) == standing
    assert effort.grows_as_fast_as_its_input(lambda size: partial(resolve, steps(size), "s0"))


def test_incidents_compare_types_by_their_last_part():
    """One recorder writes the module, another does not."""
    assert Incident(sort=Sort.FAILED, type="a.b.Down").short_type == "Down"
    assert Incident(sort=Sort.FAILED, type="Down").short_type == "Down"
    assert Incident(sort=Sort.FAILED).short_type == ""


UNEXPLAINED = [
    pytest.param([step("a", 0, 1, Kind.STEP, failed("x"))], True, id="a plain step failed by itself"),
    pytest.param(
        [step("a", 0, 5, Kind.STEP, failed("x")), step("b", 1, 2, incident=failed("x"), parent="a")],
        False,
        id="it only repeats the call below it",
    ),
    pytest.param(
        [step("a", 0, 5), step("b", 1, 2, Kind.STEP, failed("x"), parent="a")], False, id="inside a call that went well"
    ),
    pytest.param([step("a", 0, 1, Kind.STEP, failed("x", noted=True))], False, id="the app noted it"),
    pytest.param([step("a", 0, 1, Kind.STEP, CANCELLED)], False, id="it was cut"),
    pytest.param([step("a", 0, 1, Kind.CLIENT, failed("x"))], False, id="a client's call failed"),
    pytest.param([step(ROOT, 0, 1, Kind.STEP, failed("x"), parent=None)], False, id="the root is no step"),
]


@pytest.mark.parametrize(("steps", "is_unexplained"), UNEXPLAINED)
def test_an_error_that_nobody_marked_as_a_call_is_not_passed_over(steps, is_unexplained):
    """It may have been one: whether a call failed is then not known."""
    assert resolve(steps, ROOT).unexplained is is_unexplained
