"""Hostile inputs for the doors and methods besides calls of tools: approvals, Groundhog's contracts, TLS, rooms, what callers ask to hear, sessions, streams,
events, finding tools, the life of servers and registering them.

`attacks(house, size)` yields (name, what makes the input); `FAMILIES` are the words with which their names begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from benchmarks.hostile import (
    approvals,
    finding,
    groundhog,
    rooms,
    secured,
    sessions,
    streams,
    wishes,
)
from benchmarks.hostile.house import House
from benchmarks.processes import Trouble

__all__ = ["FAMILIES", "Attack", "attacks", "is_quick", "is_wanted"]

Attack = Callable[[], str]

_PARTS = {
    "approvals": approvals,
    "groundhog": groundhog,
    "tls": secured,
    "rooms": rooms,
    "wishes": wishes,
    "sessions": sessions,
    "methods": sessions,
    "streams": streams,
    "events": streams,
    "discovery": finding,
    "lifecycle": finding,
    "registration": finding,
}
FAMILIES = tuple(_PARTS)
_LEFT_OUT = frozenset(
    "empty_lists members same_member decimals long_decimal integers exponents escaped_envelope commas text names brackets "
    "words humps dots escaped braces unseen controls".split()
)
"""Shapes that others stand for in a quick run."""


def attacks(house: House, size: int) -> Iterator[tuple[str, Attack]]:
    """Every such input by its name."""
    parts = dict.fromkeys(_PARTS.values())
    every = chain.from_iterable(part.attacks(house, size) for part in parts)
    for name, attack in every:
        yield name, partial(_made, attack)


def _made(attack: Attack) -> str:
    """An input whose connection the gateway may refuse or end."""
    try:
        return attack()
    except (OSError, Trouble) as problem:
        return f"ended: {type(problem).__name__} {problem}"


def is_quick(name: str) -> bool:
    """Whether an input is made in a quick run: of each kind some shapes."""
    return name.rpartition(".")[2] not in _LEFT_OUT


def is_wanted(only: str) -> bool:
    """Whether a pattern of names may fit any of these, without looking at them."""
    return only == "*" or only.startswith(FAMILIES) or only.startswith("*")
