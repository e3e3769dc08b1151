"""Loads `formats.toml`: forms of secrets with a recognizable prefix, alphabet or length, as rows of rule, hint and the rest of a regex.

Vendors publish these forms so that leaked tokens can be found. A row is (rule, hint, rest): `hint` is what the text must hold for the
rule to be worth a look and the first part of the pattern, `rest` the other part. Hints are what the quick scan of all text consists of,
so they are as particular as a format allows, and they must hold at least four fixed characters or be the whole pattern. Patterns are
RE2, on bytes.
"""

from __future__ import annotations

from functools import cache

from gatewright.word_tables import tables

__all__ = ["Row", "formats"]

Row = tuple[str, str, str]
"""A rule, its hint, and the rest of its regex."""


@cache
def formats() -> tuple[Row, ...]:
    """All rows, read once in a process, when the first text is looked through. The file belongs to the package, so one that cannot be
    read is a fault of the installation."""
    said = tables(__file__, "formats.toml")
    return tuple(
        (one["id"], one["hint"], _rest(one["regex"], one["hint"])) for one in said["rules"]
    )


def _rest(regex: str, hint: str) -> str:
    """What follows the hint in its regex. Raises `ValueError` where the regex does not begin with it."""
    for begin in (f"(?:{hint})", hint):
        if regex.startswith(begin):
            return regex.removeprefix(begin)
    raise ValueError(f"{regex!r} does not begin with {hint!r}")
