"""The copilot as an agent of smolagents, which runs without asyncio."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from desk import A_WHILE, Desk, Finding
from pydantic import ValidationError
from scenarios import INSTRUCTIONS, Does
from smolagents import OpenAIModel, ToolCallingAgent, tool
from smolagents.utils import AgentError

HAS_RETRIEVERS = False


class Copilot:
    """Runs the agent for one scenario."""

    def __init__(self, desk: Desk, url: str) -> None:
        self.desk = desk

        def work(name: str) -> Any:
            found = desk.outcome(name)
            if found is Does.HANG:
                threading.Timer(A_WHILE / 2, self.agent.interrupt).start()
                time.sleep(A_WHILE)
                return []
            return found

        @tool
        def get_transactions(account: str) -> list:
            """List the transactions of an account.

            Args:
                account: The account.
            """
            return work("get_transactions")

        @tool
        def screen_sanctions(name: str) -> dict:
            """Screen a name.

            Args:
                name: The name.
            """
            return work("screen_sanctions")

        @tool
        def search_notes(query: str) -> list:
            """Search the notes on typologies.

            Args:
                query: What to search for.
            """
            found = work("search_notes")
            desk.on_retrieved([note["id"] for note in found])
            return found

        self.agent = ToolCallingAgent(
            tools=[get_transactions, screen_sanctions, search_notes],
            model=OpenAIModel("scripted", api_base=url, api_key="none", client_kwargs={"max_retries": 0}, retry=False),
            instructions=INSTRUCTIONS,
            name="copilot",
            description="Drafts findings.",
            max_steps=5,
            final_answer_checks=[self._fits],
            step_callbacks=[self._stop] if desk.scenario.asks else [],
            verbosity_level=-1,
        )
        self.asked = False

    def _stop(self, step: Any, agent: Any = None) -> None:
        """Stop after the first step, so that a person can look at it."""
        if not self.asked:
            self.asked = True
            self.agent.interrupt()

    def _fits(self, answer: Any, memory: Any = None, agent: Any = None) -> bool:
        """Take or refuse an answer."""
        try:
            Finding.model_validate(json.loads(answer))
        except (ValidationError, ValueError, TypeError):
            self.desk.on_refused(answer)
            return False
        return True

    async def ask(self, question: str) -> Any:
        """Ask; gives the answer, or None where a person must decide first."""
        try:
            return self.agent.run(question)
        except AgentError:
            if self.desk.scenario.asks:
                return None
            raise

    async def resume(self) -> Any:
        """Go on with what it remembers."""
        return self.agent.run("Go on.", reset=False)
