"""The copilot as an agent of pydantic-ai."""

from __future__ import annotations

from typing import Any

from desk import Desk, Finding
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scenarios import INSTRUCTIONS

HAS_RETRIEVERS = False


class Copilot:
    """Runs the agent for one scenario."""

    def __init__(self, desk: Desk, url: str) -> None:
        self.desk = desk
        self.paused: Any = None
        provider = OpenAIProvider(base_url=url, api_key="none")
        provider.client.max_retries = 0
        scenario = desk.scenario

        async def work(tool: str) -> Any:
            try:
                return await desk.work(tool)
            except TimeoutError as error:
                if scenario.gives_up:
                    raise ToolFailed(str(error)) from error
                raise

        async def get_transactions(account: str) -> Any:
            """List the transactions of an account."""
            return await work("get_transactions")

        async def screen_sanctions(name: str) -> Any:
            """Screen a name."""
            return await work("screen_sanctions")

        async def search_notes(query: str) -> Any:
            """Search the notes on typologies."""
            found = await work("search_notes")
            desk.on_retrieved([note["id"] for note in found])
            return found

        self.agent = Agent(
            OpenAIChatModel("scripted", provider=provider),
            name="copilot",
            instructions=INSTRUCTIONS,
            output_type=[Finding, DeferredToolRequests] if scenario.asks else Finding,
            tools=[
                Tool(get_transactions, requires_approval=scenario.asks),
                Tool(screen_sanctions),
                Tool(search_notes),
            ],
            retries=1,
        )

    async def ask(self, question: str) -> Any:
        """Ask; gives the answer, or None where a person must decide first."""
        result = await self.agent.run(question)
        if isinstance(result.output, DeferredToolRequests):
            self.paused = result
            return None
        return result.output

    async def resume(self) -> Any:
        """Allow the call, and go on."""
        allowed = DeferredToolResults(approvals={call.tool_call_id: True for call in self.paused.output.approvals})
        result = await self.agent.run(message_history=self.paused.all_messages(), deferred_tool_results=allowed)
        return result.output
