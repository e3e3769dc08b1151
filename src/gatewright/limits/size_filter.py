"""Filter `size`: replaces results above the size limit by an error that says so.

The transport bounds what a server may send in one frame; this bounds what a caller may receive,
whatever the answer came from.
"""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.call import Answer, Call, Event, Failure, Outcome
from gatewright.chunk_way import TextStep, as_it_is
from gatewright.standing import Standing

__all__ = ["Size"]


class Size:
    """Filter `size`."""

    name = "size"

    def __init__(
        self,
        limit: int,
        servers: Mapping[str, int] = {},
        tools: Mapping[tuple[str, str], int] = {},
    ) -> None:
        """Bytes of a result's JSON text: the most of all, and of single servers and tools in its place."""
        self._limit = limit
        self._servers = servers
        self._tools = tools
        self._plain = not servers and not tools

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        """The outcome, or a failure in place of an answer that is too large."""
        limit = self._limit if self._plain else self._of(call)
        if type(outcome) is not Answer or len(outcome.raw) <= limit:
            return outcome
        return Failure(
            "output_invalid",
            f"the result has {len(outcome.raw)} bytes, and at most {limit} are passed on; "
            "ask the tool for less",
            {"limit_bytes": limit, "bytes": len(outcome.raw)},
        )

    def stands(self, call: Call) -> Standing | None:
        """A result within the limit stays as it is."""
        return Standing(most=self._limit if self._plain else self._of(call))

    def _of(self, call: Call) -> int:
        tool = call.tool
        target = call.speaker if tool is None else tool.target
        if target is None:
            return self._limit
        tools, server = self._tools, target.server
        of_tool = tools and (tool is not None or call.of_tool)
        found = tools.get((server, target.name)) if of_tool else None
        if found is None and of_tool:
            found = tools.get((server, "*"))
        return self._servers.get(server, self._limit) if found is None else found

    def event(self, call: Call, event: Event) -> Event | None:
        """Events are bounded by the frames they come in."""
        return event

    def chunks(self, call: Call) -> TextStep:
        """Nor are chunks looked at."""
        return as_it_is
