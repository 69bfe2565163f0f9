"""What people and judges say of runs: gold lines, judged lines and the contract, each checked at the door."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from otel_aml.conventions import Contract
from otel_aml.errors import InputError
from otel_aml.offline.schemas import check_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from otel_aml.offline.problems import Problems

Names = list[Annotated[str, Field(min_length=1)]]
_NEITHER: Final = "neither trace_id nor case_id"


class _Line(BaseModel):
    """A line that says something of one run, or of each run of one case."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    trace_id: Annotated[str, Field(pattern=r"^[0-9A-Fa-f]{32}$")] | None = None
    case_id: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _names_a_run(self) -> _Line:
        if self.trace_id is None and self.case_id is None:
            raise ValueError(_NEITHER)
        return self


class GoldLine(_Line):
    """One line of `gold.jsonl`."""

    typology: Annotated[str, Field(min_length=1)] | None = None
    doc_ids: Names | None = None
    evidence_ids: Names | None = None


class JudgedLine(_Line):
    """One line of `judged.jsonl`."""

    context_used: bool | None
    judge: str = ""
    rubric: str = ""


class ContractFile(BaseModel):
    """`contract.json`."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    answer_schema: dict[str, Any] | None = None
    cited_ids: Annotated[str, Field(min_length=1)] | None = None
    typology: Annotated[str, Field(min_length=1)] | None = None
    evidence_ids: Names | None = None
    relevant_doc_ids: Names | None = None
    relevant_any_of: list[Names] | None = None
    agents: Names | None = None
    strict: bool = False
    recovered: Literal["recovered", "failure"] = "recovered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What is known of a run from outside. None: nothing.

    Args:
        typology: The right typology.
        doc_ids: The notes that the case needs.
        evidence_ids: Every id of the case.
        context_used: The judge's word.
    """

    typology: str | None = None
    doc_ids: frozenset[str] | None = None
    evidence_ids: frozenset[str] | None = None
    context_used: bool | None = None

    def over(self, other: Label) -> Label:
        """Lay this over another: what is known here wins."""
        return Label(
            typology=other.typology if self.typology is None else self.typology,
            doc_ids=other.doc_ids if self.doc_ids is None else self.doc_ids,
            evidence_ids=other.evidence_ids if self.evidence_ids is None else self.evidence_ids,
            context_used=other.context_used if self.context_used is None else self.context_used,
        )


NOTHING_SAID: Final = Label()


@dataclass(slots=True)
class Labels:
    """All labels, by trace and by case; what is said of a trace wins over what is said of its case."""

    by_trace: dict[str, Label] = field(default_factory=dict[str, Label])
    by_case: dict[str, Label] = field(default_factory=dict[str, Label])
    used: set[str] = field(default_factory=set[str])
    uncompared: int = 0
    """Runs with a label of the right typology that hold no typology themselves."""

    def of(self, trace_id: str, case_id: str | None) -> Label:
        """Say what is known of a run."""
        label = NOTHING_SAID
        if case_id is not None and case_id in self.by_case:
            self.used.add(case_id)
            label = self.by_case[case_id]
        if trace_id in self.by_trace:
            self.used.add(trace_id)
            label = self.by_trace[trace_id].over(label)
        return label

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.by_trace or self.by_case)

    def unused(self) -> int:
        """Count the traces and cases that no run belongs to."""
        return len((self.by_trace.keys() | self.by_case.keys()) - self.used)

    def remarks(self) -> Iterator[str]:
        """Say how many of them say nothing, and why."""
        if self.unused():
            yield f"{self.unused()} labels belong to no run that was read"
        if self.uncompared == 1:
            yield "1 label could not be compared: its run holds no typology"
        elif self.uncompared:
            yield f"{self.uncompared} labels could not be compared: their runs hold no typology"


def read_labels(gold: Path | None, judged: Path | None, problems: Problems) -> Labels:
    """Read the files of labels. Two lines that disagree are a problem, and the last one counts.

    Raises:
        InputError: A file cannot be read, or a line of it is wrong.
    """
    labels = Labels()
    if gold is not None:
        for number, line in _lines(gold, GoldLine):
            said = Label(
                typology=line.typology,
                doc_ids=None if line.doc_ids is None else frozenset(line.doc_ids),
                evidence_ids=None if line.evidence_ids is None else frozenset(line.evidence_ids),
            )
            _add(labels, line, said, _Where(str(gold), number), problems)
    if judged is not None:
        for number, word in _lines(judged, JudgedLine):
            _add(labels, word, Label(context_used=word.context_used), _Where(str(judged), number), problems)
    return labels


def read_contract(path: Path) -> Contract:
    """Read a contract file.

    Raises:
        InputError: It cannot be read, or is wrong.
        ConfigurationError: Its JSON Schema cannot be used.
    """
    try:
        found = ContractFile.model_validate_json(_text(path))
    except ValidationError as error:
        raise InputError(f"{str(path)!r} is no contract: {_first(error, ContractFile)}; see docs/offline.md") from error
    contract = Contract(
        answer=found.answer_schema,
        cited_ids=found.cited_ids,
        typology=found.typology,
        evidence_ids=found.evidence_ids,
        relevant_doc_ids=found.relevant_doc_ids,
        relevant_any_of=found.relevant_any_of,
        agents=found.agents,
        strict=found.strict,
        recovered=found.recovered,
    )
    if found.answer_schema is not None:
        check_schema(contract, found.answer_schema)
    return contract


_L = TypeVar("_L", bound=_Line)


def _lines(path: Path, model: type[_L]) -> Iterator[tuple[int, _L]]:
    for number, text in enumerate(_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            yield number, model.model_validate_json(text)
        except ValidationError as error:
            raise InputError(
                f"line {number} of {str(path)!r} is wrong: {_first(error, model)}; "
                'each line is an object like {"trace_id" or "case_id": ..., ...}'
            ) from error


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{str(path)!r} cannot be read ({reason}); give a JSON file") from error


def _first(error: ValidationError, model: type[BaseModel]) -> str:
    """Say in words what was wrong first, without the value."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"unknown field {where!r}, the fields are {', '.join(model.model_fields)}"
    return f"{where}: {first['msg']}" if where else first["msg"]


@dataclass(frozen=True, slots=True)
class _Where:
    file: str
    line: int


def _add(labels: Labels, line: _Line, said: Label, where: _Where, problems: Problems) -> None:
    for table, key in ((labels.by_trace, line.trace_id and line.trace_id.lower()), (labels.by_case, line.case_id)):
        if key is None or (table is labels.by_case and line.trace_id is not None):
            continue
        known = table.get(key, NOTHING_SAID)
        merged = said.over(known)
        if known.over(said) != merged:
            problems.add(where.file, where.line, f"disagrees with an earlier line about {key}; the last one counts")
        table[key] = merged
