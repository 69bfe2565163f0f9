"""Writes results.json, from which the table of docs/frameworks.md is drawn: `python record.py [FRAMEWORK ...]`.

Each framework that is named, or else installed, is played; what is known of the others stays. Then draw the table:
`python docs/tables.py`.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from play import FRAMEWORKS
from test_frameworks import RESULTS, Played

NEEDS = {
    "pydantic-ai": "pydantic_ai",
    "openai-agents": "agents",
    "smolagents": "smolagents",
    "google-adk": "google.adk",
}


def is_installed(framework: str) -> bool:
    """Whether it can be played here."""
    try:
        return importlib.util.find_spec(NEEDS.get(framework, "langgraph")) is not None
    except ModuleNotFoundError:
        return False


def main() -> None:
    """Play, and write."""
    found = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    for name in sys.argv[1:] or filter(is_installed, FRAMEWORKS):
        with tempfile.TemporaryDirectory() as folder:
            framework = Played(name, Path(folder))
        scenarios = {
            scenario: {
                kind: {where: [run["verdict"] for run in seen[where]] for where in ("live", "files")}
                for kind, seen in kinds.items()
            }
            for scenario, kinds in framework.scenarios.items()
        }
        found[name] = {"versions": framework.versions, "scenarios": scenarios}
    ordered = {name: found[name] for name in FRAMEWORKS if name in found}
    RESULTS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
