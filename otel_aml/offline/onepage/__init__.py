"""A report as one page: a file that asks nobody for anything, and in which every text from a span stays a text.

Nothing is drawn by a script, and no script knows a text of a span. What the page may do is in its own policy: its one
style sheet and its one script, by their digests, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_aml.core.redaction import redact
from otel_aml.errors import ConfigurationError, InputError
from otel_aml.offline import reports, timeline
from otel_aml.offline.onepage import shapes, view
from otel_aml.offline.render import visible

if TYPE_CHECKING:
    from jinja2 import Environment

    from otel_aml.offline.analysis import Analysis
    from otel_aml.offline.reports import Report

RUNS_SHOWN: Final = 6
_HERE: Final = Path(__file__).parent
_LONGEST: Final = 600


def write(analysis: Analysis, report: Report, path: Path, *, internal: bool = False) -> int:
    """Write a report as one HTML file.

    Args:
        analysis: What was read; it must hold a run.
        report: What the queries say of it.
        path: Where the file goes; one that is there is written over.
        internal: Also what exceptions say, names of spans and of files, and ids of cases: for operators only.

    Returns:
        Its size in bytes.

    Raises:
        ConfigurationError: Jinja2 is not installed.
        InputError: The file cannot be written.
    """
    page = drawn(analysis, report, internal=internal).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(page)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written ({error.strerror}); give another path") from error
    return len(page)


def drawn(analysis: Analysis, report: Report, *, internal: bool = False) -> str:
    """Draw the page.

    Raises:
        ConfigurationError: Jinja2 is not installed.
    """
    template = _environment().get_template("report.html.jinja")
    runs = timeline.worst(analysis, most=RUNS_SHOWN)
    hidden = None if internal else reports.unnamed(analysis)
    shown = view.View.of(analysis, report, runs, hidden=hidden)
    return template.render(v=shown, version=version("otel-aml"), style=_asset("style.css"), script=_asset("sort.js"))


@dataclass(frozen=True, slots=True)
class _Asset:
    """A text of ours that stands in the page as it is.

    Args:
        digest: As a policy names it.
    """

    text: Any
    digest: str


@cache
def _asset(name: str) -> _Asset:
    from markupsafe import Markup

    text = (_HERE / name).read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return _Asset(Markup(text), f"'sha256-{digest}'")  # noqa: S704 - a file of ours


@cache
def _environment() -> Environment:
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError as error:
        raise ConfigurationError(
            "a report as a page needs Jinja2, which is not installed; install it with: pip install 'otel-aml[html]'"
        ) from error
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_said,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    return environment


def _said(value: Any) -> Any:
    """See to it that whatever is printed is one visible line; what is Markup was looked at when it was made."""
    return visible(value, _LONGEST) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _told(text: str | None, limit: int = 60) -> str:
    """Show a text that a span holds: without secrets, in a few words."""
    return "–" if text is None else visible(redact(text), limit)  # noqa: RUF001 - a dash for what is not known


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"  # noqa: RUF001


_FILTERS: Final[dict[str, Any]] = {
    "told": _told,
    "runs": shapes.counted,
    "percent": _percent,
}
