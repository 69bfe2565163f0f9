"""Random agent runs, made live: every kind of step, error, recovery, answer and case that the tree can meet."""

import contextlib
import json
import random
from dataclasses import dataclass, field

from opentelemetry import trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from otel_aml.live.case import case

EVIDENCE = [f"TXN-{n}" for n in range(1, 6)]
NOTES = ["typ-structuring", "typ-layering", "typ-cycle"]
TYPOLOGIES = ["structuring", "layering", "cycle"]
ERRORS = [
    (TimeoutError, "t"),
    (ConnectionError, "c"),
    (ValueError, "v"),
    (PermissionError, "p"),
    (RuntimeError, "status 429"),
]
MARKS = [
    '{"isError": true}',
    '{"error": "gone", "status_code": 503}',
    '{"success": false}',
    "[]",
    '{"data": [1]}',
    "fine",
]


class CancelledError(Exception):
    """Recorded by hand below under asyncio's name, as instrumentations do."""


@dataclass
class Made:
    """What the generator knows of one run, beside its spans: the case as a gold line."""

    case_id: str
    gold: dict = field(default_factory=dict)


class RandomRuns:
    """Makes runs on a provider, from one seed."""

    def __init__(self, provider, seed):
        self.provider = provider
        self.tracer = provider.get_tracer("app")
        self.framework = provider.get_tracer("openinference.instrumentation.openai_agents")
        self.dice = random.Random(seed)
        self.made = []

    def chance(self, share):
        return self.dice.random() < share

    def make(self):
        """Make one run, in one of the shapes in which runs come."""
        shape = self.dice.choices(["agent", "case", "web", "framework"], [5, 4, 1, 1])[0]
        if shape == "case":
            self.in_case()
        elif shape == "agent":
            self.agent()
        elif shape == "web":
            with self.tracer.start_as_current_span("POST /cases", kind=SpanKind.SERVER):
                for _ in range(self.dice.randint(1, 2)):
                    self.agent()
        else:
            with contextlib.suppress(Exception), self.framework.start_as_current_span("workflow"):
                for _ in range(self.dice.randint(1, 2)):
                    self.agent(error=self.chance(0.1))

    def in_case(self):
        case_id = f"C-{len(self.made)}"
        made = Made(case_id)
        declared = {}
        if self.chance(0.8):
            declared["evidence_ids"] = made.gold["evidence_ids"] = self.dice.sample(EVIDENCE, self.dice.randint(0, 5))
        if self.chance(0.5):
            declared["relevant_doc_ids"] = made.gold["doc_ids"] = self.dice.sample(NOTES, self.dice.randint(1, 2))
        self.made.append(made)
        with contextlib.suppress(Exception), case(case_id, tracer_provider=self.provider, **declared):
            self.agent(error=self.chance(0.1))

    def agent(self, error=False):
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "copilot"}
        if self.chance(0.3):
            attributes["aml.case.evidence_ids"] = self.dice.sample(EVIDENCE, self.dice.randint(0, 5))
        if self.chance(0.4):
            attributes["aml.gold.typology"] = self.dice.choice(TYPOLOGIES)
        if self.chance(0.3):
            attributes["aml.gold.doc_ids"] = [self.dice.choice(NOTES)]
        if self.chance(0.2):
            attributes["aml.judge.context_used"] = self.chance(0.5)
        if self.chance(0.2):
            attributes["aml.answer.schema_valid"] = self.chance(0.7)
        with (
            contextlib.suppress(Exception),
            self.tracer.start_as_current_span("invoke_agent", attributes=attributes) as span,
        ):
            for _ in range(self.dice.randint(0, 6)):
                self.step(depth=0)
            if self.chance(0.75):
                self.answer(span)
            if error or self.chance(0.08):
                raise self.error()

    def step(self, depth):
        self.dice.choices(
            [self.tool, self.model, self.retriever, self.parallel, self.database, self.plain], [6, 3, 2, 1, 1, 1]
        )[0](depth)

    def tool(self, depth):
        name = self.dice.choice(["get_transactions", "screen", "rules"])
        arguments = json.dumps({"account": self.dice.choice("AB")})
        for _ in range(self.dice.choice([1, 1, 2, 3])):
            self.call(name, arguments, depth)

    def call(self, name, arguments, depth):
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        if self.chance(0.7):
            attributes["gen_ai.tool.call.arguments"] = arguments
        ending = self.dice.choices(
            ["fine", "raises", "marked", "control", "cancelled", "noted"], [8, 4, 2, 1, 0.5, 0.5]
        )[0]
        with contextlib.suppress(Exception), self.tracer.start_as_current_span(name, attributes=attributes) as span:
            if depth < 2 and self.chance(0.15):
                self.step(depth + 1)
            if ending == "raises":
                raise self.error()
            if ending == "marked":
                span.set_attribute("gen_ai.tool.call.result", self.dice.choice(MARKS))
            if ending == "control":
                kind = self.dice.choice(["langgraph.errors.GraphInterrupt", "pydantic_ai.exceptions.ToolRetryError"])
                self.record(span, kind)
            if ending == "cancelled":
                self.record(span, "asyncio.exceptions.CancelledError")
            if ending == "noted":
                span.set_attributes({"failure.step.class": "tool_failure", "failure.retriable": True})

    def error(self):
        """A new exception each time: one that is raised again carries the traceback of every time before."""
        kind, message = self.dice.choice(ERRORS)
        return kind(message)

    @staticmethod
    def record(span, kind):
        span.add_event("exception", {"exception.type": kind, "exception.message": ""})
        span.set_status(Status(StatusCode.ERROR))

    def model(self, depth):
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        if self.chance(0.3):
            attributes["gen_ai.tool.definitions"] = json.dumps([{"name": n} for n in ("get_transactions", "screen")])
            call = {"type": "tool_call", "name": self.dice.choice(["screen", "no_such"]), "arguments": {}}
            attributes["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": [call]}])
        elif self.chance(0.3):
            part = {"type": "text", "content": self.draft()}
            attributes["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": [part]}])
        with contextlib.suppress(Exception), self.tracer.start_as_current_span("chat", attributes=attributes):
            if self.chance(0.2):
                raise self.error()

    def retriever(self, depth):
        attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": "notes"}
        if self.chance(0.8):
            found = self.dice.sample(NOTES, self.dice.randint(0, 3))
            attributes["gen_ai.retrieval.documents"] = json.dumps([{"id": each, "score": None} for each in found])
        with contextlib.suppress(Exception), self.tracer.start_as_current_span("retrieval", attributes=attributes):
            if self.chance(0.1):
                raise self.error()

    def parallel(self, depth):
        """Two calls of one tool, beside each other."""
        one, two = (
            self.tracer.start_span(
                "screen", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "screen"}
            )
            for _ in range(2)
        )
        if self.chance(0.5):
            one.record_exception(TimeoutError("t"))
            one.set_status(Status(StatusCode.ERROR, "t"))
        for span in self.dice.sample([one, two], 2):
            span.end()

    def database(self, depth):
        with contextlib.suppress(Exception), self.tracer.start_as_current_span("SELECT", kind=SpanKind.CLIENT):
            if self.chance(0.3):
                raise ConnectionError("db")

    def plain(self, depth):
        with contextlib.suppress(Exception), self.tracer.start_as_current_span("node"):
            if depth < 3:
                self.step(depth + 1)
            if self.chance(0.1):
                raise ValueError("node")

    def draft(self):
        cited = self.dice.sample([*EVIDENCE, "TXN-99"], self.dice.randint(0, 3))
        return json.dumps({"typology": self.dice.choice(TYPOLOGIES), "cited_tx_ids": cited, "narrative": "n"})

    def answer(self, span):
        text = self.dice.choice(
            [self.draft(), self.draft(), self.draft(), "plain words", "```json\n" + self.draft() + "\n```"]
        )
        if self.chance(0.5):
            span.set_attribute("output.value", text)
        else:
            part = {"type": "text", "content": text}
            span.set_attribute("gen_ai.output.messages", json.dumps([{"role": "assistant", "parts": [part]}]))


def current_span_is_clean():
    """Whether no run leaked its span into the caller's context."""
    return not trace.get_current_span().get_span_context().is_valid
