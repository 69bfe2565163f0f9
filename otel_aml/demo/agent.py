"""The copilot: triage, retrieve notes, ask the rule engine, draft, validate; every step in a span of its own.

Spans follow the OpenTelemetry GenAI conventions. With content capture off no message, argument, result, document or
answer is put into an attribute; the handle of the case is then the only one that is told.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from opentelemetry.trace import SpanKind
from pydantic import ValidationError

from otel_aml.demo.model import Prompt, SarDraft
from otel_aml.demo.provider import FALLBACK_MODEL, MODEL, RateLimitError
from otel_aml.demo.retriever import TOP_K
from otel_aml.demo.rules import RuleArguments, observe

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from opentelemetry.trace import Span, Tracer

    from otel_aml.demo.cases import CaseFile
    from otel_aml.demo.desk import Desk
    from otel_aml.demo.notes import Note
    from otel_aml.demo.rules import Assessment
    from otel_aml.demo.signs import Sign

T = TypeVar("T")

AGENT: Final = "aml-copilot"
SEARCH: Final = "search_notes"
RULE_ENGINE: Final = "rule_engine"
HISTORY: Final = "list_transactions"
DATA_SOURCE: Final = "typology-notes"
TOOLS: Final = json.dumps([{"type": "function", "name": name} for name in (SEARCH, RULE_ENGINE, HISTORY)])
RETRIES: Final = 3
FIXES: Final = 2
PATIENCE_SECONDS: Final = 30.0
"""A longer wait for the provider is not worth it: a smaller model is asked."""
PAGES: Final = 9
STEP_BUDGET: Final = 6
FEW_WORDS: Final = 12


class StepBudgetSpent(Exception):  # noqa: N818 - the name is the sentence
    """Say that the agent went round in circles and stopped itself."""


class RunHandle(Protocol):
    """What `otel_aml.case()` yields."""

    def answer(self, value: Any) -> None:
        """Tell what the agent answered."""
        ...

    def retrieved(self, ids: Iterable[str]) -> None:
        """Tell which notes were retrieved."""
        ...

    def paused(self) -> None:
        """Tell that the run waits for a person."""
        ...


@dataclass(slots=True)
class Outcome:
    """What a run has come to so far; it stands even if the run breaks afterwards.

    Args:
        answer: The last draft, as the model wrote it; None if there was none.
        retrieved: Ids of the notes, best first; None if the retriever never answered.
    """

    answer: str | None = None
    retrieved: tuple[str, ...] | None = None


@dataclass(slots=True)
class Copilot:
    """One run of the copilot.

    Args:
        capture_content: Whether messages, arguments, results, documents and answers go into attributes.
    """

    tracer: Tracer
    desk: Desk
    handle: RunHandle
    outcome: Outcome
    capture_content: bool = True
    _calls: int = field(default=0)

    def run(self, file: CaseFile) -> None:
        """Work on a case.

        Raises:
            RateLimitError: The provider refused to the end.
            StepBudgetSpent: The model never came to the draft.
        """
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": AGENT,
            **self._content({"aml.case.evidence_ids": list(file.tx_ids)}),
        }
        with self._span(f"invoke_agent {AGENT}", attributes) as span:
            signs = observe(file)
            query, arguments = self._triage(file, signs)
            notes = self._retrieve(query)
            assessment = self._ask_rule_engine(file, arguments)
            self._page_on()
            if self.desk.needs_approval:
                self.handle.paused()
                return
            self._draft(file, signs, notes, assessment)
            span.set_attributes(self._content({"gen_ai.output.messages": _message(_text(self.outcome.answer))}))

    def _triage(self, file: CaseFile, signs: tuple[Sign, ...]) -> tuple[str, dict[str, Any]]:
        """Have the model write the query for the notes and the arguments of the rule engine."""
        model = self.desk.model
        return self._chat(
            "triage",
            FEW_WORDS,
            lambda: (model.query(file, signs), model.rule_arguments(file, calls_before=0)),
            lambda asked: [_tool_call(SEARCH, {"query": asked[0]}), _tool_call(RULE_ENGINE, asked[1])],
        )

    def _retrieve(self, query: str) -> tuple[Note, ...]:
        """Retrieve notes; go on without them if the retriever stays away."""
        for attempt in range(RETRIES):
            try:
                return self._retrieve_once(query)
            except ConnectionError:
                self.desk.clock.wait(2.0**attempt)
        return ()

    def _retrieve_once(self, query: str) -> tuple[Note, ...]:
        attributes = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": DATA_SOURCE,
            "gen_ai.retrieval.top_k": TOP_K,
            "aml.step.id": "retrieve",
            **self._content({"gen_ai.retrieval.query.text": query}),
        }
        with self._span(f"retrieval {DATA_SOURCE}", attributes, kind=SpanKind.CLIENT) as span:
            hits = self.desk.retriever.search(query, top_k=TOP_K)
            documents = json.dumps([{"id": hit.note.note_id, "score": hit.score} for hit in hits])
            span.set_attributes(self._content({"gen_ai.retrieval.documents": documents}))
            self.outcome.retrieved = tuple(hit.note.note_id for hit in hits)
            self.handle.retrieved(self.outcome.retrieved)
            return tuple(hit.note for hit in hits)

    def _ask_rule_engine(self, file: CaseFile, arguments: dict[str, Any]) -> Assessment | None:
        """Ask the rule engine, and the model each time what to do about an error; go on without it in the end."""
        for attempt in range(RETRIES + 1):
            try:
                return self._assess(file, arguments)
            except ValidationError:
                arguments = self._rewrite_arguments(file, calls_before=attempt + 1)
            except TimeoutError:
                self.desk.clock.wait(2.0**attempt)
                self._rewrite_arguments(file, calls_before=attempt + 1)
        return None

    def _rewrite_arguments(self, file: CaseFile, *, calls_before: int) -> dict[str, Any]:
        return self._chat(
            "reconsider",
            FEW_WORDS,
            lambda: self.desk.model.rule_arguments(file, calls_before=calls_before),
            lambda arguments: [_tool_call(RULE_ENGINE, arguments)],
        )

    def _assess(self, file: CaseFile, arguments: dict[str, Any]) -> Assessment:
        with self._tool(RULE_ENGINE, arguments) as span:
            assessment = self.desk.rule_engine(file, RuleArguments.model_validate(arguments))
            result = {
                "typology": assessment.typology,
                "signs": assessment.signs,
                "tx_ids": assessment.tx_ids,
            }
            span.set_attributes(self._content({"gen_ai.tool.call.result": json.dumps(result)}))
            return assessment

    def _page_on(self) -> None:
        """Page through the account's history as the model asks for it, as far as the budget of steps goes."""
        if not self.desk.model.habits.pages_on:
            return
        pages = [{"page": page} for page in range(1, PAGES + 1)]
        self._chat(
            "page_on",
            FEW_WORDS,
            lambda: pages,
            lambda asked: [_tool_call(HISTORY, arguments) for arguments in asked],
        )
        for step, arguments in enumerate(pages):
            if step == STEP_BUDGET:
                raise StepBudgetSpent(f"no draft after {STEP_BUDGET} further steps")
            with self._tool(HISTORY, arguments) as span:
                span.set_attributes(self._content({"gen_ai.tool.call.result": json.dumps({"rows": []})}))

    def _draft(
        self,
        file: CaseFile,
        signs: tuple[Sign, ...],
        notes: tuple[Note, ...],
        assessment: Assessment | None,
    ) -> None:
        """Draft, validate, and have the draft mended; hand in the last one as it is if it stays broken."""
        for attempt in range(FIXES + 1):
            prompt = Prompt(file=file, signs=signs, notes=notes, assessment=assessment, drafts_before=attempt)
            if is_valid(self._draft_once(prompt)):
                return

    def _draft_once(self, prompt: Prompt) -> str:
        """Have the model draft, and tell the handle."""
        draft = self._chat("draft", prompt.size, partial(self.desk.model.draft, prompt), _text)
        self.outcome.answer = draft
        self.handle.answer(draft)
        return draft

    def _chat(
        self,
        step: str,
        words: int,
        write: Callable[[], T],
        parts: Callable[[T], list[dict[str, Any]]],
    ) -> T:
        """Ask the model; wait or change to the smaller one where its provider refuses."""
        model = MODEL
        for _ in range(RETRIES):
            try:
                return self._chat_once(model, step, words, write, parts)
            except RateLimitError as refusal:
                if refusal.retry_after_seconds > PATIENCE_SECONDS:
                    model = FALLBACK_MODEL
                else:
                    self.desk.clock.wait(refusal.retry_after_seconds)
        return self._chat_once(model, step, words, write, parts)

    def _chat_once(
        self,
        model: str,
        step: str,
        words: int,
        write: Callable[[], T],
        parts: Callable[[T], list[dict[str, Any]]],
    ) -> T:
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "demo",
            "gen_ai.request.model": model,
            "gen_ai.tool.definitions": TOOLS,
            "aml.step.id": step,
        }
        with self._span(f"chat {model}", attributes, kind=SpanKind.CLIENT) as span:
            written = self.desk.provider.complete(model, words, write)
            span.set_attributes(self._content({"gen_ai.output.messages": _message(parts(written))}))
            return written

    @contextmanager
    def _tool(self, name: str, arguments: dict[str, Any]) -> Generator[Span]:
        self._calls += 1
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": f"call-{self._calls}",
            "aml.step.id": name,
            **self._content({"gen_ai.tool.call.arguments": json.dumps(arguments)}),
        }
        with self._span(f"execute_tool {name}", attributes) as span:
            yield span

    @contextmanager
    def _span(
        self,
        name: str,
        attributes: dict[str, Any],
        *,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Generator[Span]:
        """Open a span; the SDK records an exception that passes through, and this adds its type."""
        with self.tracer.start_as_current_span(name, kind=kind, attributes=attributes) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", _full_name(type(error)))
                raise

    def _content(self, attributes: dict[str, Any]) -> dict[str, Any]:
        return attributes if self.capture_content else {}


def is_valid(draft: str) -> bool:
    """Say whether a draft fits its contract."""
    try:
        SarDraft.model_validate_json(draft)
    except ValidationError:
        return False
    return True


def _text(content: str | None) -> list[dict[str, Any]]:
    return [{"type": "text", "content": content}]


def _tool_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "arguments": arguments}


def _message(parts: list[dict[str, Any]]) -> str:
    return json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}])


def _full_name(error: type[BaseException]) -> str:
    return error.__name__ if error.__module__ == "builtins" else f"{error.__module__}.{error.__qualname__}"
