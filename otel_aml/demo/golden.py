"""Golden queries over the demo's notes: three paraphrases a note, and a twin that gives the answer away.

`golden.jsonl` asks as an analyst would who does not know what a note is called; `golden_leaking.jsonl` asks the same
and adds the note's title. The second is answered better, and shows nothing about the retriever.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from otel_aml.demo.notes import NOTES
from otel_aml.demo.retriever import TOP_K, Retriever

GOLDEN: Final = Path(__file__).with_name("golden.jsonl")
LEAKING: Final = Path(__file__).with_name("golden_leaking.jsonl")


def search(query: str, top_k: int = TOP_K) -> list[str]:
    """Give the ids of the notes that the demo's retriever finds, best first."""
    return [hit.note.note_id for hit in Retriever(NOTES).search(query, top_k=top_k)]
