"""Finds paths and URIs in a call's arguments, for checks of allowed resources: up to 10,000 strings at once (`touched`), or in time slices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from gatewright.call import Call
from gatewright.schemas.json_pointers import Place
from gatewright.transport.slices import in_slices
from gatewright.validators.resources import Resources

__all__ = ["Known", "looked_through", "touched"]

_MOST_TEXTS = 10_000
"""So many texts of a running call are looked through at once, where nobody has done so before: a new configuration limits its caller."""

_Found = Sequence[tuple[Place | None, Any]]


class Known:
    """Resources whose texts are found already."""

    def __init__(self, bounds: Resources, found: _Found) -> None:
        self.judge, self.cost = bounds.judge, bounds.cost
        self._found = found

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        """Of the arguments that they were found in."""
        del arguments
        return iter(self._found)


async def looked_through(call: Call, bounds: Resources) -> Call:
    """The call with what its arguments name: thousands of texts, whose looking through would hold up everybody else's calls."""
    arguments = call.arguments
    return replace(call, touches=(arguments, await in_slices(bounds.in_steps(arguments))))


def touched(call: Call, bounds: Resources) -> _Found | None:
    """What the arguments name that could be touched; None where they have more texts than are looked through at once."""
    if call.touches is not None and call.touches[0] is call.arguments:
        return call.touches[1]
    steps = bounds.in_steps(call.arguments)
    try:
        for _ in range(_MOST_TEXTS):
            next(steps)
    except StopIteration as done:
        found: _Found = done.value
        return found
    return None
