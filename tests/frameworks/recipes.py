"""The recipes of docs/frameworks.md: a block of code or variables after `<!-- recipe: NAME -->`, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "frameworks.md"
_RECIPE = re.compile(
    r"^<!-- recipe: (?P<name>[\w, -]+) -->\n+```(?P<language>\w+)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
_VARIABLE = re.compile(r"^export (?P<name>\w+)=(?P<value>\S*)$", re.MULTILINE)


def recipes() -> dict[str, str]:
    """Read all of them, by name; some have several names."""
    found = _RECIPE.finditer(PAGE.read_text(encoding="utf-8"))
    return {name.strip(): each["code"] for each in found for name in each["name"].split(",")}


def without_content(framework: str) -> str:
    """Name the recipe for content switched off, where that takes other code and not variables alone."""
    name = f"{framework} without content"
    return name if "install()" in recipes().get(name, "") else framework


def variables(code: str) -> dict[str, str]:
    """Read the variables that a block sets."""
    return {each["name"]: each["value"] for each in _VARIABLE.finditer(code)}
