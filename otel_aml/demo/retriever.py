"""A real retriever over the notes: SQLite's full-text index, ranked by BM25."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from otel_aml.demo.notes import Note

TOP_K: Final = 5
_STOP_WORDS: Final = """
    a about after all an and any are as at be before but by each every few for from has have if in into is it its no not
    of off on once one or other out over own same so some than that the their them then there they this through time to
    under up very was were what when where which while who with without
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True, slots=True)
class Hit:
    """One note that was found; a higher score is a better match."""

    note: Note
    score: float


@dataclass(frozen=True, slots=True)
class Retriever:
    """Finds notes by the words of a query.

    Args:
        shelf: What is in the index.
    """

    shelf: tuple[Note, ...]

    def search(self, query: str, *, top_k: int = TOP_K) -> tuple[Hit, ...]:
        """Find the `top_k` best matches, best first; among equals the smaller id is first."""
        return _search(self.shelf, query, top_k)


def match_expression(query: str) -> str:
    """Turn a sentence into an FTS5 expression: any of its words, without the stop words."""
    words = dict.fromkeys(re.findall(r"[a-z0-9]+", query.casefold()))
    return " OR ".join(f'"{word}"' for word in words if word not in STOP_WORDS)


@cache
def _search(shelf: tuple[Note, ...], query: str, top_k: int) -> tuple[Hit, ...]:
    expression = match_expression(query)
    if not expression:
        return ()
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create virtual table notes using fts5(note_id unindexed, title, body, tokenize = 'porter')")
        database.executemany(
            "insert into notes values (?, ?, ?)",
            [(note.note_id, note.title, note.text) for note in shelf],
        )
        rows = database.execute(
            "select note_id, -bm25(notes) as score from notes where notes match ? order by score desc, note_id limit ?",
            (expression, top_k),
        ).fetchall()
    by_id = {note.note_id: note for note in shelf}
    return tuple(Hit(by_id[note_id], round(score, 4)) for note_id, score in rows)
