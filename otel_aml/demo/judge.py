"""A small judge of one failure: does the answer use the note that the case needs?

It reads two texts, the note and the answer, and nothing else. It stands outside the agent's request, as a judge
should: the demo asks it afterwards and writes its words to a file of their own.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, cast

from otel_aml.demo.signs import signs_denied_in, signs_in

if TYPE_CHECKING:
    from otel_aml.demo.notes import Note

JUDGE: Final = "demo-rules"
RUBRIC: Final = (
    "Context is used if the answer's reasoning affirms at least two of the signs that the note names (all of them if "
    "it names fewer) and denies none. Else the answer ignores or contradicts the note."
)
RUBRIC_HASH: Final = hashlib.sha256(RUBRIC.encode()).hexdigest()[:12]
ENOUGH: Final = 2


def context_used(note: Note, answer: str) -> bool:
    """Say whether an answer uses a note.

    Args:
        note: The needed note, which was retrieved.
        answer: What the agent answered, JSON or not.
    """
    signs, reasoning = signs_in(note.text), _reasoning(answer)
    affirmed = signs_in(reasoning) & signs
    return len(affirmed) >= min(ENOUGH, len(signs)) and not signs_denied_in(reasoning) & signs


def _reasoning(answer: str) -> str:
    """Take the why and the how of a draft; all of it where it is no JSON object."""
    try:
        draft = json.loads(answer)
    except ValueError:
        return answer
    if not isinstance(draft, dict):
        return answer
    fields = cast("dict[str, Any]", draft)
    return f"{fields.get('why', '')} {fields.get('how', '')}"
