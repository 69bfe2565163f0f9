"""The model's provider: it answers, or it refuses with a 429 as real ones do.

Two limits, both by the clock that it is given: calls per window, and words per call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_aml.demo.clock import Clock

T = TypeVar("T")

MODEL: Final = "demo-scripted"
FALLBACK_MODEL: Final = "demo-scripted-mini"
"""A smaller model with limits of its own."""


class RateLimitError(Exception):
    """Say that the provider refused a call for now."""

    status_code: Final = 429

    def __init__(self, model: str, *, retry_after_seconds: float) -> None:
        super().__init__(f"429: {model} takes no calls for {retry_after_seconds:.0f} s")
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the provider allows.

    Args:
        calls_per_window: For each model.
        words_per_call: Longer calls are refused.
        busy_calls: So many calls of `long_words` and more are refused before the provider has room for one.
    """

    calls_per_window: int = 5
    window_seconds: float = 90.0
    words_per_call: int = 1_000_000
    busy_calls: int = 0
    long_words: int = 40


@dataclass(slots=True)
class Provider:
    """Counts calls and refuses those beyond its limits."""

    clock: Clock
    limits: Limits
    _calls: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    _refused: int = 0

    def complete(self, model: str, words: int, write: Callable[[], T]) -> T:
        """Let a model write.

        Args:
            model: Its name, which the limits are counted by.
            words: The length of the prompt.
            write: What the model does when it is let.

        Raises:
            RateLimitError: A limit is reached.
        """
        now, limits = self.clock.now_seconds, self.limits
        recent = [at for at in self._calls.get(model, []) if now - at < limits.window_seconds]
        if len(recent) >= limits.calls_per_window:
            raise RateLimitError(model, retry_after_seconds=limits.window_seconds - (now - recent[0]))
        if words > limits.words_per_call:
            raise RateLimitError(model, retry_after_seconds=limits.window_seconds / 6)
        if words >= limits.long_words and self._refused < limits.busy_calls:
            self._refused += 1
            raise RateLimitError(model, retry_after_seconds=2.0)
        self._calls[model] = [*recent, now]
        return write()
