"""The walls between the floors stand."""

import ast
import logging.config
from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import otel_aml

ROOT = Path(__file__).parent.parent
CORE = Path(otel_aml.__file__).parent / "core"
VALUE_MODULES = {
    "__future__",
    "base64",
    "binascii",
    "bisect",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "itertools",
    "re",
    "types",
    "typing",
    "urllib.parse",
}
"""What the core may use: values, how to go through them, and how texts are written; no clock, no dice, no I/O."""


def test_the_walls_stand(monkeypatch, capsys):
    """The contracts of pyproject.toml are the architecture; each is kept."""
    monkeypatch.chdir(ROOT)
    # It sets logging up anew, and so would silence every logger that other tests listen to.
    monkeypatch.setattr(logging.config, "dictConfig", lambda config: None)
    status = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_the_core_imports_value_modules_only():
    """A list of what is allowed holds where a list of what is forbidden would have a gap."""
    found = {module for path in CORE.glob("*.py") for module in _imported(ast.parse(path.read_text(encoding="utf-8")))}
    assert {module for module in found if not module.startswith("otel_aml.core")} <= VALUE_MODULES


def _imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            top = node.module or ""
            yield top if top.startswith(("otel_aml", "urllib")) else top.partition(".")[0]
