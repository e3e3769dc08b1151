"""Resolves a tool id and version (Groundhog's `tool_id`, `tool_version`) to a catalogue name visible to the caller.

A tool id is any name of the catalogue, or the tool's own name where only one server has one of that name.
The answer is a name again, for the kernel to find, judge and record like every other: where there is no such
version, it is a name that nobody has. Nothing is revealed of what the caller must not see: a version is
looked up among what is visible to it, and the rest is left to the kernel.

Only what has the name is looked at, one tool a step: a thousand tools may be versions of one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from gatewright.call import Caller, Tool
from gatewright.discovery.search import Offer
from gatewright.transport.slices import in_slices, whole

__all__ = ["ToolIds"]

_ATTEMPTS = 3
"""How often it is looked up anew because something else was offered meanwhile; then it is looked up in one step."""


class ToolIds:
    """Resolves a tool id and a version to the name of a tool in the catalogue. `offer` gives the catalogue of the moment."""

    def __init__(self, offer: Callable[[], Offer]) -> None:
        self._offer = offer

    async def __call__(
        self, profile: str, caller: Caller, tool_id: str, version: str | None
    ) -> str:
        """The name under which the kernel finds the tool, or a name that it does not find."""
        for _ in range(_ATTEMPTS):
            await self._offer().warm((profile,))
            offer = self._offer()
            found = await in_slices(_as_is(offer, _found(offer, profile, caller, tool_id, version)))
            if found is not None and self._offer() is offer:
                return found
        return whole(_found(self._offer(), profile, caller, tool_id, version))


def _as_is(offer: Offer, steps: Generator[None, None, str]) -> Generator[None, None, str | None]:
    """What the steps come to; None where something else was offered meanwhile: a name may be another tool's by then."""
    version = offer.version
    while version == offer.version:
        try:
            next(steps)
        except StopIteration as done:
            said: str = done.value
            return said
        yield
    return None


def _found(
    offer: Offer, profile: str, caller: Caller, tool_id: str, version: str | None
) -> Generator[None, None, str]:
    tool = offer.tool(profile, tool_id)
    if tool is not None and (not version or offer.about(tool).version == version):
        return tool_id
    if tool is not None and offer.shown_as(profile, tool.target, caller) is None:
        return tool_id
    return (yield from _meant(offer, profile, caller, tool_id, version, tool))


def _meant(
    offer: Offer,
    profile: str,
    caller: Caller,
    tool_id: str,
    version: str | None,
    tool: Tool | None,
) -> Generator[None, None, str]:
    """`tool` is the one of this name, where there is one, which is of another version."""
    if tool is None:
        tool = yield from _only(offer, profile, caller, tool_id)
        if tool is None or offer.is_missing(profile, caller, tool_id):
            return tool_id  # of several, also where some of them are away
        if not version:
            return tool.exposed
    name, server = offer.about(tool).name, tool.target.server
    for one in offer.called(profile, name):
        yield
        same = one.target.server == server and offer.about(one).version == version
        if same and offer.shown_as(profile, one.target, caller) is not None:
            return one.exposed
    return f"{tool_id} {version}"


def _only(
    offer: Offer, profile: str, caller: Caller, name: str
) -> Generator[None, None, Tool | None]:
    """The newest of tools that are versions of one; None where they are of several servers."""
    first = newest = None
    for one in offer.called(profile, name):
        yield
        if offer.shown_as(profile, one.target, caller) is None:
            continue
        first = first or one
        if one.target.server != first.target.server:
            return None
        if one.target.name == one.exposed:
            newest = newest or one
    return newest or first
