"""Texts that DuckDB and every other program can read: valid UTF-8, whatever was cut or named how."""

from __future__ import annotations


def valid(text: str) -> str:
    """Replace lone surrogates, which a text that was cut inside an emoji leaves behind."""
    return text.encode("utf-8", "replace").decode("utf-8")


def valid_name(name: str) -> str:
    """Escape the bytes of a file's name that are no UTF-8."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
