"""Compiles patterns of signals with RE2, without case and bounded in memory: one (`compiled`), or many as one automaton (`any_of`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import re2  # type: ignore[import-untyped]

from gatewright.pins.signals import Kind

__all__ = ["MEMORY", "any_of", "compiled"]


def _options(memory: int = 64 << 20) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.max_mem = memory
    return options


MEMORY: Mapping[Kind, int] = {"definitions": 64 << 20, "results": 16 << 20}
"""Bytes for one automaton. What is kept of results of all kinds would grow to the whole of it."""


def any_of(patterns: Sequence[str], memory: int = MEMORY["definitions"]) -> Any:
    """Patterns as one automaton that says which of them a text has: it is read once, however many there are."""
    found = re2.Set.SearchSet(_options(memory))
    for pattern in patterns:
        found.Add(pattern)
    found.Compile()
    return found


@cache
def compiled(pattern: str, memory: int = MEMORY["definitions"]) -> Any:
    """One pattern, to find the words."""
    return re2.compile(pattern, options=_options(memory))
