"""The copilot as an agent of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

from agents import Agent, ModelBehaviorError, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from desk import Desk, Finding
from openai import AsyncOpenAI
from scenarios import INSTRUCTIONS

HAS_RETRIEVERS = False
_CONFIG = RunConfig(workflow_name="copilot")


class Copilot:
    """Runs the agent for one scenario."""

    def __init__(self, desk: Desk, url: str) -> None:
        self.desk = desk
        self.paused: Any = None

        @function_tool(needs_approval=desk.scenario.asks)
        async def get_transactions(account: str) -> Any:
            """List the transactions of an account."""
            return await desk.work("get_transactions")

        @function_tool
        async def screen_sanctions(name: str) -> Any:
            """Screen a name."""
            return await desk.work("screen_sanctions")

        @function_tool
        async def search_notes(query: str) -> Any:
            """Search the notes on typologies."""
            found = await desk.work("search_notes")
            desk.on_retrieved([note["id"] for note in found])
            return found

        client = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        self.agent = Agent(
            name="copilot",
            instructions=INSTRUCTIONS,
            model=OpenAIChatCompletionsModel("scripted", openai_client=client),
            tools=[get_transactions, screen_sanctions, search_notes],
            output_type=Finding,
        )

    async def ask(self, question: str) -> Any:
        """Ask; gives the answer, or None where a person must decide first. A refused answer is asked for once more."""
        try:
            result = await Runner.run(self.agent, question, run_config=_CONFIG)
        except ModelBehaviorError:
            result = await Runner.run(self.agent, f"{question} Mind the schema.", run_config=_CONFIG)
        if result.interruptions:
            self.paused = result
            return None
        return result.final_output

    async def resume(self) -> Any:
        """Allow the call, and go on."""
        state = self.paused.to_state()
        for each in self.paused.interruptions:
            state.approve(each)
        return (await Runner.run(self.agent, state, run_config=_CONFIG)).final_output
