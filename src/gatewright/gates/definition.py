"""Does the tool still say of itself what it said when it was accepted?

A definition is what a model acts on, so a server that changes one changes what was approved. Such a tool is not
listed, and a call of it is refused until an operator has looked at the difference (`gatewright server pin`).
Asked after access: whoever may not use the tool learns nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable

from gatewright.call import Back, Call, Refusal, Tool

__all__ = ["Definition"]


class Definition:
    """Gate `definition`."""

    name = "definition"

    def __init__(self, held: Callable[[Tool], str]) -> None:
        """`held` says in a few words why a tool is held back; empty where it is not."""
        self._held = held

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool
        if tool is None:
            return call
        why = self._held(tool)
        if not why:
            return call
        target = tool.target
        return Refusal(
            "tool_disabled",
            f"{tool.exposed} is held back: {why}. An operator looks at it with "
            f"`gatewright server pin {target.server} {target.name}` and may accept it",
            {"held": why, "server_id": target.server, "tool_name": target.name},
        )
