"""A judge behind an OpenAI-compatible endpoint, through the official client (extra `judge`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_aml.errors import ConfigurationError
from otel_aml.evals.judging import Reply

if TYPE_CHECKING:
    from otel_aml.evals.judging import Ask

_TOKENS = 16


def openai_judge(model: str, *, base_url: str | None = None, timeout_seconds: float = 60.0, retries: int = 2) -> Ask:
    """Make a judge of a model; key and address come from `OPENAI_API_KEY` and `OPENAI_BASE_URL` unless given.

    Raises:
        ConfigurationError: The client is not installed, or has no key.
    """
    try:
        from openai import OpenAI, OpenAIError
    except ImportError as missing:
        raise ConfigurationError("a judge needs its client: pip install 'otel-aml[judge]'") from missing
    try:
        client = OpenAI(base_url=base_url, timeout=timeout_seconds, max_retries=retries)
    except OpenAIError as error:
        raise ConfigurationError("the judge's endpoint needs a key: set OPENAI_API_KEY") from error

    def ask(rubric: str, question: str) -> Reply:
        found = client.chat.completions.create(
            model=model,
            messages=[{"role": "system", "content": rubric}, {"role": "user", "content": question}],
            temperature=0,
            max_tokens=_TOKENS,
        )
        text = found.choices[0].message.content if found.choices else None
        return Reply(text or "", found.usage.total_tokens if found.usage is not None else 0)

    return ask
