"""The recipes for agent frameworks and tool servers that ask a person: pydantic-ai, OpenAI Agents, MCP."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from pydantic import BaseModel, ValidationError

from tests.recipes.recipes import Recipe, Script, needs, refused


class Query(BaseModel):
    """What a tool wants to be given."""

    day: int


def broken_schema():
    """As a tool raises it that checks what the model gave it."""
    try:
        Query.model_validate({"day": "secret-day"})
    except ValidationError as error:
        return error


class TestPydanticAi:
    @pytest.fixture
    def made(self):
        needs("pydantic_ai")
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
        from pydantic_ai.models.function import FunctionModel

        def make(fetch, person=None):
            read = []

            def say(messages, info):
                part = messages[-1].parts[-1]
                if isinstance(part, ToolReturnPart):
                    read.append(part.content)
                    if part.outcome != "retried":
                        return ModelResponse(parts=[TextPart(f"drafted on {part.content}")])
                return ModelResponse(parts=[ToolCallPart("get_transactions", {"case_id": "C-17"})])

            return Recipe("pydantic-ai", fetch=fetch, person=person, model=FunctionModel(say)).run(), read

        # `run_sync` would open one, and leave it open.
        with contextlib.closing(asyncio.new_event_loop()) as loop:
            asyncio.set_event_loop(loop)
            yield make
            asyncio.set_event_loop(None)

    def test_the_page_as_it_stands(self, made):
        """No permission: a person is asked, says retry, and the tool runs again where it stopped."""
        fetch, person = Script(PermissionError("secret-host"), ["tx-1"]), Script("retry")
        recipe, read = made(fetch, person)
        recipe.run()
        assert recipe.done.output == "drafted on ['tx-1']"
        assert (len(fetch.asked), read) == (2, [["tx-1"]])
        assert "secret" not in person.asked[0]

    def test_a_person_who_does_not_want_it_again(self, made):
        """The model reads that, and nothing of the error."""
        fetch = Script(PermissionError("secret-host"))
        recipe, read = made(fetch, Script("hand over"))
        recipe.run()
        assert read == ["A person took over."]
        assert len(fetch.asked) == 1
        assert b"secret" not in recipe.done.all_messages_json()

    def test_a_refused_argument_is_asked_for_again(self, made):
        """The model is told the place and the rule; not the value."""
        recipe, read = made(Script(broken_schema(), ["tx-1"]))
        assert recipe.agent.run_sync("Draft").output == "drafted on ['tx-1']"
        assert "day: Input should be a valid integer" in read[0]
        assert "secret" not in read[0]

    def test_repairs_end_with_a_person(self, made):
        """Two, and then a person is asked instead of an exception."""
        fetch = Script(*(broken_schema() for _ in range(5)))
        recipe, _ = made(fetch)
        paused = recipe.agent.run_sync("Draft")
        assert [call.tool_name for call in paused.output.approvals] == ["get_transactions"]
        assert len(fetch.asked) == 3


class TestOpenAiAgents:
    @pytest.fixture
    def made(self):
        needs("agents.items")  # not the module `agents` beside the tests of the live half
        import agents
        from agents.items import ModelResponse
        from agents.models.interface import Model
        from agents.usage import Usage
        from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

        agents.set_tracing_disabled(disabled=True)

        class Scripted(Model):
            """Calls the tools that the script names, then says that it is done."""

            def __init__(self, *tools):
                self.left = list(tools)
                self.read = []

            async def get_response(self, system_instructions, input, *rest, **named):  # noqa: A002 - the SDK's word
                self.read += [each["output"] for each in input[-1:] if "output" in each]
                if self.left:
                    name, arguments = self.left.pop(0)
                    said = ResponseFunctionToolCall(
                        type="function_call",
                        name=name,
                        call_id=f"call-{len(self.left)}",
                        arguments=json.dumps(arguments),
                    )
                else:
                    text = ResponseOutputText(type="output_text", text="done", annotations=[])
                    said = ResponseOutputMessage(
                        id="m", type="message", role="assistant", status="completed", content=[text]
                    )
                return ModelResponse(output=[said], usage=Usage(), response_id=None)

            def stream_response(self, *rest, **named):
                raise NotImplementedError

        def make(fetch, tools, store=None):
            model = Scripted(*tools)
            return Recipe("OpenAI Agents", fetch=fetch, model=model, store=store).run(), model

        return make

    READ = ("get_transactions", {"case_id": "C-17"})
    HAND_IN = ("hand_in", {"draft": "the draft"})

    def test_the_model_reads_no_exception(self, made):
        """But the message of the catalogue, or what should change."""
        recipe, model = made(Script(PermissionError("secret-host"), broken_schema(), ["tx-1"]), [self.READ] * 3)
        assert asyncio.run(recipe.start("Draft")) == ("done", None)
        assert "secret" not in " ".join(model.read)
        assert "not available" in model.read[0]
        assert "day: Input should be a valid integer" in model.read[1]
        assert "tx-1" in model.read[2]

    @pytest.mark.parametrize(
        ("approved", "stored", "read"),
        [(True, ["the draft"], "stored"), (False, [], "A person took over.")],
    )
    def test_a_person_decides_from_the_saved_state(self, made, approved, stored, read):
        """It stopped before the tool; the state is text, and goes on in another event loop."""
        store = Script("stored")
        recipe, model = made(None, [self.HAND_IN], store)
        answer, saved = asyncio.run(recipe.start("Hand it in"))
        assert (answer, store.asked) == (None, [])
        assert json.loads(saved)
        assert asyncio.run(recipe.go_on(saved, approved=approved)) == "done"
        assert (store.asked, model.read[-1]) == (stored, read)


class TestMcp:
    @pytest.fixture(params=["auto", "legacy"], ids=["as of 2026-07-28", "an older client"])
    def ask(self, request, waits):
        needs("mcp")
        from mcp import Client
        from mcp.types import ElicitResult

        def ask(script, action, choice=None):
            questions = []

            async def fetch(case_id):
                await asyncio.sleep(0)
                return script(case_id)

            async def person(context, asked):
                await asyncio.sleep(0)
                questions.append(asked)
                return ElicitResult(action=action, content={"choice": choice} if choice else None)

            async def work():
                recipe = Recipe("MCP elicitation", fetch=fetch).run()
                async with Client(recipe.server, mode=request.param, elicitation_callback=person) as client:
                    return await client.call_tool("get_transactions", {"case_id": "C-17"})

            return asyncio.run(work()), questions

        return ask

    def test_a_person_says_retry(self, ask):
        """And the rows come; the question is of the catalogue, its schema flat."""
        script = Script(PermissionError("secret-host"), ["tx-1"])
        result, (question,) = ask(script, "accept", "retry")
        assert result.structured_content == {"result": ["tx-1"]}
        assert "secret" not in question.message
        assert question.requested_schema["properties"]["choice"]["enum"] == ["retry", "hand_over"]
        assert len(script.asked) == 2

    @pytest.mark.parametrize(
        ("action", "choice", "says"),
        [
            ("accept", "hand_over", "A colleague can take over"),
            ("decline", None, "A colleague can take over"),
            ("cancel", None, "Nothing was decided"),
        ],
    )
    def test_a_person_who_does_not_is_heeded(self, ask, action, choice, says):
        """Nothing is tried again, also where it would go well by now; closing the window is no decision."""
        script = Script(PermissionError("secret-host"), ["tx-1"])
        result, questions = ask(script, action, choice)
        assert result.is_error
        assert says in result.content[0].text
        assert "secret" not in result.content[0].text
        assert (len(script.asked), len(questions)) == (1, 1)

    def test_what_may_pass_is_tried_without_asking(self, ask, waits):
        """A person is asked only where a person is needed."""
        result, questions = ask(Script(TimeoutError(), refused(503), ["tx-1"]), "decline")
        assert (result.structured_content, questions) == ({"result": ["tx-1"]}, [])
        assert len(waits) == 2
