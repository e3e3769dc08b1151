"""Documents in which one member is renamed or has another value, and which of these are tried at which place."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["Place", "renamed", "replaced", "turns"]

Place = tuple[Any, ...]
"""Names and numbers that lead to a value."""


def renamed(value: Any, path: Place, new: str) -> Any:
    """A document with one name changed."""
    found = json.loads(json.dumps(value))
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    if isinstance(inner, dict):
        inner[new] = inner.pop(path[-1])
    return found


def replaced(value: Any, path: Place, new: Any) -> Any:
    """A document with one value changed."""
    found = json.loads(json.dumps(value))
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = new
    return found


def turns(
    every: Sequence[Iterable[Place]], wrong: list[Any]
) -> list[list[tuple[Place, list[Any], list[Any]]]]:
    """For each document its paths, with the values that stand there, and those that stand there under another name."""
    met: set[Any] = set()
    turn = itertools.cycle(range(len(wrong)))
    found: list[list[tuple[Place, list[Any], list[Any]]]] = []
    for paths in every:
        these = []
        for path in (one for one in paths if one):
            first = path[-1] not in met
            met.add(path[-1])
            plain = wrong if first else [wrong[next(turn)]]
            these.append((path, plain, [wrong[next(turn)] for _ in range(2)] if first else []))
        found.append(these)
    return found
