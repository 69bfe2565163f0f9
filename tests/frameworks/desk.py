"""What is outside the model in a scenario: the tools' services, the retriever's notes, and a provider of the model."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from pydantic import BaseModel
from scenarios import CANARY, EVIDENCE, NOTE, SAID_BY_DEPENDENCY, Answer, Does, Refusal, Scenario, Turn

HANDS_OVER = ("final_result", "Finding", "final_answer", "set_model_response")
"""Tools by which frameworks take the answer; where none of them is offered it is written as text."""
A_WHILE = 0.3
"""How long the app's deadline lets a hanging tool hang, in seconds."""


class Finding(BaseModel):
    """The answer that is asked for."""

    typology: Literal["structuring", "layering", "smurfing"]
    cited_tx_ids: list[str]
    narrative: str


class Down(ConnectionError):
    """The service of a tool is down."""


class Desk:
    """Plays one scenario: hands out the model's turns, and does what the tools do."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.turns = iter(scenario.turns)
        self.turn: Turn = scenario.turns[-1]
        self.left = {name: list(each) for name, each in scenario.tools.items()}
        self.on_retrieved: Callable[[list[str]], None] = lambda ids: None
        self.on_refused: Callable[[Any], None] = lambda answer: None
        self.on_hang: Callable[[], None] = lambda: None

    def next_turn(self) -> Turn:
        """Take the model's next turn; the last one is repeated."""
        self.turn = next(self.turns, self.scenario.turns[-1])
        return self.turn

    async def work(self, tool: str) -> Any:
        """Do what an asynchronous tool does."""
        found = self.outcome(tool)
        if found is Does.HANG:
            self.on_hang()
            await asyncio.sleep(600)
        return found

    def outcome(self, tool: str) -> Any:
        """Say what a call of a tool gives; raises where its service does."""
        left = self.left.get(tool)
        does = left.pop(0) if left else Does.WORK
        if does is Does.BREAK:
            raise Down(f"{tool}: no route to {SAID_BY_DEPENDENCY}")
        if does is Does.TIME_OUT:
            raise TimeoutError(f"{tool}: {SAID_BY_DEPENDENCY} did not answer")
        if does is Does.HANG:
            return does
        return [] if does is Does.FIND_NOTHING else RESULTS[tool]

    async def within(self, run: Any) -> Any:
        """Give a run the app's deadline, which passes a while after a tool began to hang."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(None) as deadline:
            self.on_hang = lambda: deadline.reschedule(loop.time() + A_WHILE)
            return await run


RESULTS: dict[str, Any] = {
    "get_transactions": [{"id": each, "amount": 9_500, "payer": CANARY} for each in EVIDENCE],
    "screen_sanctions": {"hits": 0, "screened": CANARY},
    "search_notes": [{"id": NOTE, "text": f"Structuring: cash below the threshold, as {CANARY} does."}],
}


_NUMBERS = itertools.count()


def completion(turn: Turn, tools: set[str]) -> dict[str, Any]:
    """Write a turn as the OpenAI API does."""
    if isinstance(turn, Answer):
        by = next((name for name in HANDS_OVER if name in tools), None)
        if by is None:
            return _message({"content": json.dumps(turn.fields)}, "stop")
        given = {"answer": json.dumps(turn.fields)} if by == "final_answer" else turn.fields
        return _message({"content": None, "tool_calls": [_call(by, given)]}, "tool_calls")
    calls = [_call(call.tool, call.arguments) for call in turn]
    return _message({"content": None, "tool_calls": calls}, "tool_calls")


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"call_{next(_NUMBERS)}",
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def _message(message: dict[str, Any], reason: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


@contextmanager
def provider(desk_of: Callable[[], Desk]) -> Iterator[str]:
    """Serve the scripted model over HTTP, on this machine only; yields the base URL of its API."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = desk_of().next_turn()
            if isinstance(turn, Refusal):
                self.reply(turn.status, {"error": {"message": "too many requests", "type": "rate_limit"}})
                return
            tools = {tool["function"]["name"] for tool in asked.get("tools") or ()}
            self.reply(200, completion(turn, tools))

        def reply(self, status: int, body: dict[str, Any]) -> None:
            words = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(words)))
            self.end_headers()
            self.wfile.write(words)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
