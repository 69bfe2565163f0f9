"""What the app declares once: the schema of its answer, where in it the ids and the typology stand, its own marks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from otel_aml.conventions import values
from otel_aml.conventions.aml import each_needed
from otel_aml.conventions.marks import OUTPUT_TOOLS, Flow
from otel_aml.conventions.reading import NOTHING_DECLARED, Declared
from otel_aml.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Check = Callable[[Any], Any]
"""Looks at an answer; raises ValueError, or returns False, where the answer breaks the contract."""

CITED_FIELDS: Final = ("cited_tx_ids", "citedTxIds", "cited_evidence")
TYPOLOGY_FIELDS: Final = ("typology", "topTypology")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What the app declares once, since spans cannot tell it.

    A contract applies inside `case()` and to the agents it names; for any other agent of the process the answer is
    unchecked. Read from a file for a replay it applies to every run of the files, unless it names agents.

    Args:
        answer: The schema of the answer: a pydantic model (or any type that pydantic can check), a JSON Schema as a
            dict (needs the extra `schema`), or a callable that gets the answer and raises ValueError or returns False
            where it is broken.
        cited_ids: Where in the answer the cited ids stand: a dotted path, or a callable that picks them out.
        typology: Where the typology stands: a dotted path, or a callable.
        evidence_ids: Every id of the case, for runs that do not say.
        relevant_doc_ids: The notes that a case needs, for runs that do not say.
        relevant_any_of: Sets of alternatives: one note of each is needed.
        agents: Names of the agents it applies to; None as described above.
        strict: Do not forgive a Markdown fence around the whole answer.
        recovered: `"failure"` counts an error as a failure though a later call made it good.
        failure_marks: Callables that get the text of a tool's result and say how the call failed, or None.
        control_flow: The app's own exceptions that are no errors, by their qualified names: `"paused"` (it waits for a
            person), `"asked_again"` (the model is asked to call otherwise), `"passed_on"` (control goes elsewhere).
        document_ids: Picks the ids of documents out of what a retriever returned, where no convention tells them.
        frameworks: Further instrumentation scopes whose outermost span is a run.

    Raises:
        ConfigurationError: A part of it cannot be used.
    """

    answer: Any = None
    cited_ids: str | Callable[[Any], Iterable[str]] | None = None
    typology: str | Callable[[Any], str | None] | None = None
    evidence_ids: Iterable[str] | None = None
    relevant_doc_ids: Iterable[str] | None = None
    relevant_any_of: Iterable[Iterable[str]] | None = None
    agents: Sequence[str] | None = None
    strict: bool = False
    recovered: Literal["recovered", "failure"] = "recovered"
    failure_marks: Sequence[Callable[[str], str | None]] = ()
    control_flow: Mapping[str, str] = field(default_factory=dict[str, str])
    document_ids: Callable[[Any], Iterable[str]] | None = None
    frameworks: Sequence[str] = ()
    _check: Check | None = field(default=None, init=False, repr=False, compare=False)
    _answer_tools: frozenset[str] = field(default=OUTPUT_TOOLS, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.recovered not in ("recovered", "failure"):
            raise ConfigurationError(
                f"Contract(recovered={self.recovered!r}) is not known; give 'recovered' or 'failure'"
            )
        unknown = set(self.control_flow.values()) - set(Flow)
        if unknown:
            raise ConfigurationError(
                f"Contract(control_flow=) holds {min(unknown)!r}; give one of {', '.join(map(repr, map(str, Flow)))}"
            )
        if isinstance(self.agents, str) or isinstance(self.frameworks, str):
            raise ConfigurationError("Contract(agents=, frameworks=) take lists of names; one text was given")
        if self.answer is not None:
            object.__setattr__(self, "_check", _check_of(self.answer))
            object.__setattr__(self, "_answer_tools", OUTPUT_TOOLS | _names_of(self.answer))

    @property
    def answer_tools(self) -> frozenset[str]:
        """Names of calls by which a model hands the answer over: frameworks call them so, or after its schema."""
        return self._answer_tools

    @property
    def has_schema(self) -> bool:
        """Whether the answer has a declared schema."""
        return self._check is not None

    def names(self, agents: Iterable[str]) -> bool:
        """Whether it names one of these agents."""
        return self.agents is not None and not set(self.agents).isdisjoint(agents)

    def declared(self) -> Declared:
        """Say what it declares for runs that do not say."""
        if self.evidence_ids is None and self.relevant_doc_ids is None and self.relevant_any_of is None:
            return NOTHING_DECLARED
        needed = None if self.relevant_doc_ids is None else each_needed(frozenset(self.relevant_doc_ids))
        if self.relevant_any_of is not None:
            needed = (needed or ()) + tuple(map(frozenset, self.relevant_any_of))
        evidence = None if self.evidence_ids is None else frozenset(self.evidence_ids)
        return Declared(evidence_ids=evidence, needed_notes=needed)

    def accepts(self, answer: Any) -> bool | None:
        """Say whether an answer fits the schema; None where no schema is declared.

        Raises:
            Exception: Whatever a callable of the app raises that is no ValueError; the caller counts it.
        """
        if self._check is None:
            return None
        try:
            return self._check(answer) is not False
        except (ValueError, AssertionError):
            return False

    def cited(self, answer: Any) -> frozenset[str] | None:
        """Pick the cited ids out of an answer; None where they are not there."""
        if callable(self.cited_ids):
            return values.ids(list(self.cited_ids(answer)))
        return values.ids(_first(answer, CITED_FIELDS if self.cited_ids is None else (self.cited_ids,)))

    def typology_of(self, answer: Any) -> str | None:
        """Pick the typology out of an answer; None where it is not there."""
        if callable(self.typology):
            return self.typology(answer)
        found = _first(answer, TYPOLOGY_FIELDS if self.typology is None else (self.typology,))
        return found if isinstance(found, str) else None


UNDECLARED: Final = Contract()
"""What is assumed without a contract: the fields of the SAR draft, and no schema."""


def _first(answer: Any, paths: Iterable[str]) -> Any:
    """Follow dotted paths into an answer; the first that leads somewhere counts."""
    return next((found for path in paths if (found := reduce(_into, path.split("."), answer)) is not None), None)


def _into(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(name)
    if values.is_list(value):
        return value[int(name)] if name.isdecimal() and int(name) < len(value) else None
    return getattr(value, name, None)


def _names_of(answer: Any) -> frozenset[str]:
    """Name a schema: LangChain's `ToolStrategy` offers it to the model as a tool of that name."""
    name = cast("Mapping[str, Any]", answer).get("title") if isinstance(answer, Mapping) else None
    if isinstance(answer, type):
        name = answer.__name__
    return frozenset({name}) if isinstance(name, str) else frozenset()


def _check_of(answer: Any) -> Check:
    if isinstance(answer, Mapping):
        return _json_schema_check(cast("Mapping[str, Any]", answer))
    if isinstance(answer, type) or not callable(answer):
        return _type_check(answer)
    return cast("Check", answer)


def _type_check(answer: Any) -> Check:
    from pydantic import TypeAdapter  # an agent loads it only where a contract needs it
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

    try:
        adapter = TypeAdapter[Any](answer)
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError) as error:
        raise ConfigurationError(
            f"Contract(answer={answer!r}) is no schema; give a pydantic model, a JSON Schema as a dict, or a callable"
        ) from error

    def check(value: Any) -> None:
        try:
            words = json.dumps(value)
        except (TypeError, ValueError):
            adapter.validate_python(value)
        else:
            adapter.validate_json(words)

    return check


def _json_schema_check(schema: Mapping[str, Any]) -> Check:
    try:
        from jsonschema import Draft202012Validator  # loaded only where needed, and an extra
        from jsonschema.exceptions import SchemaError
    except ImportError as error:
        raise ConfigurationError(
            "a contract whose answer is a JSON Schema needs the extra `schema`: pip install 'otel-aml[schema]'"
        ) from error
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise ConfigurationError(f"the answer's JSON Schema is not valid: {error.message}") from error
    for reference in _references(schema):
        if not reference.startswith("#"):
            raise ConfigurationError(
                f"the answer's JSON Schema refers to {reference!r}, which is not in it, and nothing is fetched; "
                "put it under $defs and refer to '#/$defs/...'"
            )
    is_valid = cast("Any", Draft202012Validator(schema)).is_valid

    def check(value: Any) -> bool:
        return bool(is_valid(value))

    return check


def _references(schema: Any) -> Iterator[str]:
    """Go through all that a schema refers to."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            found = cast("Mapping[str, Any]", part)
            yield from (found[key] for key in ("$ref", "$dynamicRef") if isinstance(found.get(key), str))
            waiting.extend(found.values())
        elif values.is_list(part):
            waiting.extend(part)
