"""The copilot as an agent of LangChain, which LangGraph runs."""

from __future__ import annotations

import json
from typing import Any

from desk import Desk, Finding
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolRetryMiddleware
from langchain.agents.structured_output import StructuredOutputValidationError, ToolStrategy
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from scenarios import INSTRUCTIONS

HAS_RETRIEVERS = True
_THREAD = {"configurable": {"thread_id": "thread-1"}, "recursion_limit": 24}


class Notes(BaseRetriever):
    """The retriever."""

    desk: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return _documents(self.desk.outcome("search_notes"))

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return _documents(await self.desk.work("search_notes"))


def _documents(found: list[dict[str, Any]]) -> list[Document]:
    return [Document(id=note["id"], page_content=note["text"], metadata={"id": note["id"]}) for note in found]


class Copilot:
    """Runs the agent for one scenario."""

    def __init__(self, desk: Desk, url: str) -> None:
        self.desk = desk
        notes = Notes(desk=desk)

        @tool
        async def get_transactions(account: str) -> str:
            """List the transactions of an account."""
            return json.dumps(await desk.work("get_transactions"))

        @tool
        async def screen_sanctions(name: str) -> str:
            """Screen a name."""
            return json.dumps(await desk.work("screen_sanctions"))

        @tool
        async def search_notes(query: str) -> str:
            """Search the notes on typologies."""
            found = await notes.ainvoke(query)
            desk.on_retrieved([note.id for note in found])
            return "\n".join(note.page_content for note in found)

        def refused(error: Exception) -> str:
            if isinstance(error, StructuredOutputValidationError):
                desk.on_refused(error.ai_message.tool_calls[0]["args"])
            return f"Error: {error}"

        middleware: list[Any] = []
        if desk.scenario.gives_up:
            middleware.append(ToolRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False))
        if desk.scenario.asks:
            middleware.append(HumanInTheLoopMiddleware(interrupt_on={"get_transactions": True}))
        self.agent = create_agent(
            ChatOpenAI(model="scripted", base_url=url, api_key="none", max_retries=0),
            tools=[get_transactions, screen_sanctions, search_notes],
            system_prompt=INSTRUCTIONS,
            middleware=middleware,
            response_format=ToolStrategy(Finding, handle_errors=refused),
            checkpointer=InMemorySaver(),
            name="copilot",
        )

    async def ask(self, question: str) -> Any:
        """Ask; gives the answer, or None where a person must decide first."""
        return self._answer(await self.agent.ainvoke({"messages": [("user", question)]}, _THREAD))

    async def resume(self) -> Any:
        """Allow the call, and go on."""
        allowed = Command(resume={"decisions": [{"type": "approve"}]})
        return self._answer(await self.agent.ainvoke(allowed, _THREAD))

    def _answer(self, result: dict[str, Any]) -> Any:
        return None if "__interrupt__" in result else result["structured_response"]
