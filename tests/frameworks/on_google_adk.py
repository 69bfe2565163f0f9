"""The copilot as an agent of Google's ADK; it speaks to the scripted model without HTTP."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any, ClassVar

from desk import Desk, Finding
from google.adk.agents import LlmAgent, RunConfig
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import ReflectAndRetryToolPlugin
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.genai import errors, types
from scenarios import INSTRUCTIONS, Answer, Refusal

HAS_RETRIEVERS = False
_CONFIRMATION = "adk_request_confirmation"


class Scripted(BaseLlm):
    """The scripted model."""

    desk: Any
    model: str = "scripted"
    number: ClassVar[int] = 0

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        turn = self.desk.next_turn()
        if isinstance(turn, Refusal):
            raise errors.ClientError(
                turn.status, {"error": {"code": turn.status, "status": "RESOURCE_EXHAUSTED", "message": "too many"}}
            )
        if isinstance(turn, Answer):
            parts = [self._answer(turn, llm_request)]
        else:
            parts = [self._call(call.tool, call.arguments) for call in turn]
        yield LlmResponse(content=types.Content(role="model", parts=parts))

    def _answer(self, turn: Answer, asked: LlmRequest) -> types.Part:
        if "set_model_response" in asked.tools_dict:
            return self._call("set_model_response", turn.fields)
        return types.Part(text=json.dumps(turn.fields))

    def _call(self, name: str, arguments: dict[str, Any]) -> types.Part:
        Scripted.number += 1
        return types.Part(
            function_call=types.FunctionCall(id=f"call_{Scripted.number}", name=name, args=dict(arguments))
        )


class Copilot:
    """Runs the agent for one scenario."""

    def __init__(self, desk: Desk, url: str) -> None:
        self.desk = desk
        self.paused: Any = None
        self.session: Any = None

        async def get_transactions(account: str) -> Any:
            """List the transactions of an account."""
            return {"transactions": await desk.work("get_transactions")}

        async def screen_sanctions(name: str) -> Any:
            """Screen a name."""
            return await desk.work("screen_sanctions")

        async def search_notes(query: str) -> Any:
            """Search the notes on typologies."""
            found = await desk.work("search_notes")
            desk.on_retrieved([note["id"] for note in found])
            return {"notes": found}

        self.agent = LlmAgent(
            name="copilot",
            model=Scripted(desk=desk),
            instruction=INSTRUCTIONS,
            tools=[
                FunctionTool(get_transactions, require_confirmation=desk.scenario.asks),
                screen_sanctions,
                search_notes,
            ],
            output_schema=Finding,
            after_tool_callback=self._after_tool,
        )
        plugins = [ReflectAndRetryToolPlugin(max_retries=2)] if desk.scenario.gives_up else []
        self.runner = InMemoryRunner(self.agent, app_name="copilot", plugins=plugins)

    def _after_tool(self, tool: Any, args: dict[str, Any], tool_context: Any, tool_response: Any) -> None:
        """Tell an answer that was refused."""
        if tool.name == "set_model_response" and "error" in tool_response:
            self.desk.on_refused(args)

    async def ask(self, question: str) -> Any:
        """Ask; gives the answer, or None where a person must decide first."""
        self.session = await self.runner.session_service.create_session(app_name="copilot", user_id="analyst")
        return await self._run(types.Part(text=question))

    async def resume(self) -> Any:
        """Allow the call, and go on."""
        allowed = types.FunctionResponse(id=self.paused.id, name=_CONFIRMATION, response={"confirmed": True})
        return await self._run(types.Part(function_response=allowed))

    async def _run(self, part: types.Part) -> Any:
        answer = None
        self.paused = None
        message = types.Content(role="user", parts=[part])
        async for event in self.runner.run_async(
            user_id="analyst",
            session_id=self.session.id,
            new_message=message,
            run_config=RunConfig(max_llm_calls=8),
        ):
            for call in event.get_function_calls():
                if call.name == _CONFIRMATION:
                    self.paused = call
            if event.is_final_response() and event.content and event.content.parts:
                answer = event.content.parts[-1].text or answer
        return None if self.paused else answer
