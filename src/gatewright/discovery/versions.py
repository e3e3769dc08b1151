"""Resolves a tool id and version (Groundhog's `tool_id`, `tool_version`) to a catalogue name visible to the caller.

A tool id is any name of the catalogue, or the tool's own name where only one server has one of that name.
The answer is a name again, for the kernel to find, judge and record like every other: where there is no such
version, it is a name that nobody has. Nothing is revealed of what the caller must not see: a version is
looked up among what is visible to it, and the rest is left to the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gatewright.call import Caller, Tool
from gatewright.discovery.search import Offer

__all__ = ["ToolIds"]


class ToolIds:
    """Resolves a tool id and a version to the name of a tool in the catalogue. `offer` gives the catalogue of the moment."""

    def __init__(self, offer: Callable[[], Offer]) -> None:
        self._offer = offer

    def __call__(self, profile: str, caller: Caller, tool_id: str, version: str | None) -> str:
        """The name under which the kernel finds the tool, or a name that it does not find."""
        offer = self._offer()
        tool = offer.tool(profile, tool_id)
        if tool is not None and version in {None, "", offer.about(tool).version}:
            return tool_id
        visible = [one.tool for one in offer.visible(profile, caller) if one.tool is not None]
        if tool is None:
            tool = _only(one for one in visible if _own_name(offer, one) == tool_id)
            if tool is None or offer.is_missing(profile, caller, tool_id):
                return tool_id  # of several, also where some of them are away
        elif all(tool.target != one.target for one in visible):
            return tool_id
        if not version:
            return tool.exposed
        name, server = _own_name(offer, tool), tool.target.server
        for one in visible:
            about = offer.about(one)
            if (one.target.server, about.name, about.version) == (server, name, version):
                return one.exposed
        return f"{tool_id} {version}"


def _own_name(offer: Offer, tool: Tool) -> str:
    return offer.about(tool).name


def _only(found: Iterable[Tool]) -> Tool | None:
    """The newest of tools that are versions of one; None where they are of several servers."""
    tools = list(found)
    if not tools or len({one.target.server for one in tools}) > 1:
        return None
    return next((one for one in tools if one.target.name == one.exposed), tools[0])
