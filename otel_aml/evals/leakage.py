"""Do the golden queries name the note that they ask for? Then high recall is structure, not retrieval."""

from __future__ import annotations

import importlib
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field

from otel_aml.core.folding import fold_id
from otel_aml.errors import ConfigurationError, InputError
from otel_aml.evals.agreement import Proportion
from otel_aml.evals.jsonlines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    Retriever = Callable[[str, int], Sequence[str]]

DEFAULT_K: Final = 5
_WORD: Final = re.compile(r"[^\W_]+")
_ENDINGS: Final = ("ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y")
_SHORTEST: Final = 3
"""Letters that a word keeps when its ending is cut off."""


class GoldenLine(BaseModel):
    """One line of `golden.jsonl`.

    `titles` name the expected notes in words, by id. `retrieved` is what the retriever found, best first.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    query: Annotated[str, Field(min_length=1)]
    doc_ids: Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
    titles: dict[str, str] = Field(default_factory=dict[str, str])
    retrieved: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A golden query.

    Args:
        line: Its number, from 1.
        leaks: The slugs and titles that it contains.
        found: Needed notes among the first k; None where nothing was retrieved for it.
        needed: How many notes it expects.
    """

    line: int
    query: str
    leaks: tuple[str, ...]
    found: int | None
    needed: int


@dataclass(frozen=True, slots=True)
class Recall:
    """How well a set of queries is answered.

    Args:
        recall: Of the expected notes, those among the first k.
        hits: Of the queries, those with one of their notes among the first k.
    """

    recall: Proportion
    hits: Proportion

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {"recall_at_k": self.recall.plain(), "hit_at_k": self.hits.plain()}


@dataclass(frozen=True, slots=True)
class Leakage:
    """All golden queries."""

    queries: tuple[Query, ...]
    top_k: int

    @property
    def leaking(self) -> tuple[Query, ...]:
        """Those that contain the answer."""
        return tuple(query for query in self.queries if query.leaks)

    @property
    def clean(self) -> tuple[Query, ...]:
        """Those that do not."""
        return tuple(query for query in self.queries if not query.leaks)

    def plain(self) -> dict[str, Any]:
        """Give it as JSON shows it."""
        return {
            "queries": len(self.queries),
            "k": self.top_k,
            "leaking": [
                {"line": each.line, "query": each.query, "contains": list(each.leaks)} for each in self.leaking
            ],
            "all": recall(self.queries).plain(),
            "without_leaking": recall(self.clean).plain(),
            "leaking_only": recall(self.leaking).plain(),
        }


def recall(queries: Iterable[Query]) -> Recall:
    """Give recall@k and hit@k of those queries for which something was retrieved."""
    asked = [(query.found, query.needed) for query in queries if query.found is not None]
    return Recall(
        Proportion(sum(found for found, _ in asked), sum(needed for _, needed in asked)),
        Proportion(sum(found > 0 for found, _ in asked), len(asked)),
    )


def leakage(path: Path, *, top_k: int = DEFAULT_K, retriever: Retriever | None = None) -> Leakage:
    """Read golden queries and look for those that contain their answer.

    Args:
        path: A `golden.jsonl`.
        top_k: How many of the retrieved are looked at.
        retriever: Called with a query and `top_k`; without one, `retrieved` of each line is taken.

    Raises:
        InputError: The file holds no queries, or a line of it is wrong.
    """
    lines = list(read_lines(path, GoldenLine))
    if not lines:
        raise InputError(f'no queries in {str(path)!r}; each line is an object like {{"query": ..., "doc_ids": [...]}}')
    shared = _shared_heads(doc_id for line in lines for doc_id in line.doc_ids)
    queries: list[Query] = []
    for number, line in enumerate(lines, start=1):
        retrieved = line.retrieved if retriever is None else list(retriever(line.query, top_k))
        needed = set(map(fold_id, line.doc_ids))
        found = None if retrieved is None else len(needed & set(map(fold_id, retrieved[:top_k])))
        queries.append(Query(number, line.query, tuple(_leaks(line, shared)), found, len(needed)))
    return Leakage(tuple(queries), top_k)


def named_retriever(name: str) -> Retriever:
    """Load a retriever by `module:function`.

    Raises:
        ConfigurationError: There is no such function.
    """
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationError(f"no retriever {name!r} ({error}); give module:function") from error
    if not callable(found):
        raise ConfigurationError(f"{name!r} cannot be called; give a function that takes a query and k, and gives ids")
    return cast("Retriever", found)


def _leaks(line: GoldenLine, shared: frozenset[str]) -> Iterable[str]:
    said = _stems(line.query)
    for doc_id in line.doc_ids:
        slug = _stems(doc_id)
        if len(slug) > 1 and slug[0] in shared:
            slug = slug[1:]
        if _contains(said, slug):
            yield doc_id
        title = line.titles.get(doc_id)
        if title is not None and _contains(said, _stems(title)):
            yield title


def _shared_heads(doc_ids: Iterable[str]) -> frozenset[str]:
    """Find the first words that several ids share: `typ` of `typ-cycle` and `typ-fan-in` names a kind, no note."""
    by_head: defaultdict[str, set[str]] = defaultdict(set)
    for doc_id in doc_ids:
        stems = _stems(doc_id)
        if stems:
            by_head[stems[0]].add(fold_id(doc_id))
    return frozenset(head for head, ids in by_head.items() if len(ids) > 1)


def _contains(said: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words stand in a text, next to each other and in order."""
    width = len(words)
    return bool(words) and any(said[at : at + width] == words for at in range(len(said) - width + 1))


def _stems(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.casefold())]


def _stem(word: str) -> str:
    """Cut off a simple ending: structuring, structured and structures are one."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return word.removesuffix(ending)
    return word
