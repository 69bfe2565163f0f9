"""The blocks of docs/recipes.md, run as they stand, around scripted tools and models."""

from __future__ import annotations

import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")
MUST_RUN = bool(os.environ.get("OTEL_AML_RECIPES"))
"""Set where the extra `recipes` is installed: then a library that is missing is a failure."""


def needs(*modules):
    """Skip where a library is not installed; where the extra should be, fail."""
    for module in modules:
        if MUST_RUN:
            __import__(module)
        else:
            pytest.importorskip(module, reason="pip install -e '.[dev,recipes]'")


def blocks(section=""):
    """The Python blocks of a section, or of what stands before the first."""
    text = PAGE.partition(f"\n## {section}\n")[2] if section else PAGE
    return re.findall(r"^```python\n(.*?)^```$", text.partition("\n## ")[0], re.DOTALL | re.MULTILINE)


class Recipe:
    """One section: its blocks are run one after the other, in one namespace."""

    def __init__(self, section, **given):
        self.names = dict(given)
        self._left = [blocks()[0], *blocks(section)]
        self.run()

    def run(self):
        """Run the next block."""
        number = len(self._left)
        source = compile(self._left.pop(0), f"docs/recipes.md, {number} from the end", "exec", dont_inherit=True)
        exec(source, self.names)
        return self

    def __getattr__(self, name):
        return self.names[name]


class Script:
    """Gives, or raises, one thing after the other; notes what it was asked."""

    def __init__(self, *answers):
        self.left = list(answers)
        self.asked = []

    def __call__(self, question):
        self.asked.append(question)
        answer = self.left.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


def refused(status, **headers):
    """An exception as an HTTP client makes it; its text must reach no person and no model."""
    error = type("HTTPStatusError", (Exception,), {"__module__": "client"})("secret-host")
    error.response = SimpleNamespace(status_code=status, headers=headers)
    return error
