"""The recipe for LangGraph: retries, errors in the graph's state, a person's pause that survives."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from tests.recipes.recipes import Recipe, Script, needs, refused

GOOD = '{"typology": "structuring", "cited_tx_ids": ["tx-1"]}'
BAD = '{"typology": "secret-subject"}'


class SarDraft(BaseModel):
    """What the model must write."""

    typology: str
    cited_tx_ids: list[str]


@pytest.fixture
def made(waits, tmp_path, monkeypatch):
    """Make the recipe with a tool and a model; its queue is a file of this test."""
    needs("langgraph")
    monkeypatch.chdir(tmp_path)
    recipes = []

    def make(fetch, model=None):
        recipes.append(Recipe("LangGraph", fetch=fetch, model=model, SarDraft=SarDraft).run())
        return recipes[-1]

    yield make
    for recipe in recipes:
        recipe.queue.close()


THREAD = {"configurable": {"thread_id": "C-17"}}
BEGIN = {"case_id": "C-17", "errors": []}


def resumed(recipe, answer):
    """Go on with what a person answered."""
    return recipe.graph.invoke(recipe.Command(resume=answer), THREAD)


def test_the_page_as_it_stands(made, waits):
    """Four timeouts, a pause; a person says retry; a broken draft, and a good one: the whole of it."""
    fetch, model = Script(*(TimeoutError() for _ in range(4)), ["tx-1"]), Script(BAD, GOOD)
    recipe = made(fetch, model).run()
    assert recipe.question["task"] == "C-17/1"
    assert recipe.done["draft"] == json.loads(GOOD)
    assert [error["step_id"] for error in recipe.done["errors"]] == ["read_rows", "write_draft"]
    assert (len(fetch.asked), len(waits)) == (5, 3)


def test_what_langgraph_would_not_retry_is_retried(made, waits):
    """HTTP 429 and a TimeoutError, which its own default gives up on."""
    done = made(Script(refused(429), TimeoutError(), ["tx-1"]), Script(GOOD)).graph.invoke(BEGIN, THREAD)
    assert (done["rows"], done["errors"], len(waits)) == (["tx-1"], [], 2)


def test_what_langgraph_would_retry_is_not(made, waits):
    """A bare exception, of which nobody knows: to a person at once."""
    fetch = Script(Exception("nobody knows"))
    paused = made(fetch).graph.invoke(BEGIN, THREAD)
    assert (len(fetch.asked), waits) == (1, [])
    assert "__interrupt__" in paused


def test_the_next_prompt_holds_what_should_change(made):
    """Places and rules of the schema; not a word of what the model wrote."""
    model = Script(BAD, GOOD)
    made(Script(["tx-1"]), model).graph.invoke(BEGIN, THREAD)
    first, second = model.asked
    assert second.startswith(first)
    assert "cited_tx_ids: Field required" in second
    assert "secret" not in second


def test_repairs_end_with_a_person(made):
    """Two runs with a repair, then a person; the attempts are counted in the graph's state."""
    model = Script(BAD, BAD, BAD)
    paused = made(Script(["tx-1"]), model).graph.invoke(BEGIN, THREAD)
    assert [error["attempt"] for error in paused["errors"]] == [0, 1, 2]
    assert "__interrupt__" in paused
    assert len(model.asked) == 3


def test_a_pause_is_kept_and_its_node_runs_again(made):
    """On resume the node starts anew: nothing is called, classified, counted or handed over twice."""
    fetch, asked = Script(PermissionError("secret-host"), ["tx-1"]), []
    recipe = made(fetch, Script(GOOD))
    real = recipe.interrupt
    recipe.names["interrupt"] = lambda question: asked.append(question) or real(question)
    paused = recipe.graph.invoke(BEGIN, THREAD)
    kept = recipe.graph.get_state(THREAD)
    assert kept.next == ("ask_a_person",)
    assert "secret" not in json.dumps(kept.values)
    done = resumed(recipe, "retry")
    assert len(asked) == 2
    assert asked[0] == asked[1]
    assert done["errors"] == paused["errors"]
    assert (len(done["errors"]), len(recipe.queue.tasks())) == (1, 1)
    assert (len(fetch.asked), done["draft"]["typology"]) == (2, "structuring")


def test_each_pause_is_a_task_of_its_own(made):
    """The second try failed too: a second task, with the state as it stands by then."""
    recipe = made(Script(PermissionError(), PermissionError()))
    recipe.graph.invoke(BEGIN, THREAD)
    resumed(recipe, "retry")
    assert sorted(task.id for task in recipe.queue.tasks()) == ["C-17/1", "C-17/2"]
    assert len(recipe.queue.show("C-17/2").state["errors"]) == 2


def test_a_person_who_rejects_ends_it(made):
    """Nothing runs after that."""
    fetch = Script(PermissionError())
    recipe = made(fetch)
    recipe.graph.invoke(BEGIN, THREAD)
    done = resumed(recipe, "reject")
    assert ("rows" in done, len(fetch.asked)) == (False, 1)


def test_classifying_twice_gives_the_same(made):
    """A node that classifies before its interrupt may be run any number of times."""
    recipe, error = made(None), refused(503)
    assert recipe.planned(error, "read_rows", attempt=1) == recipe.planned(error, "read_rows", attempt=1)
