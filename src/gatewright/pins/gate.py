"""Gate `definition`: refuses calls of tools held back for a changed or suspicious definition; rechecks calls that waited for consent.

A definition is what a model acts on, so a server that changes one changes what was approved. Such a tool is not
listed, and a call of it is refused until an operator has looked at the difference (`gatewright server pin`).
Asked after access: whoever may not use the tool learns nothing of it. Asked once more of a call that has waited for
somebody's word (`since`): they agreed to the definition of the moment in which it was made.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from gatewright.call import Back, Call, Refusal, Target, Tool
from gatewright.command_text import to_type
from gatewright.servers.definition_digest import definition_digest

__all__ = ["Definition"]


class Definition:
    """Gate `definition`."""

    name = "definition"

    def __init__(
        self,
        held: Callable[[Tool], str],
        present: Callable[[Target], Tool | None] = lambda _: None,
    ) -> None:
        """`held` says in a few words why a tool is held back; empty where it is not. `present` is what the catalogue
        has of a tool now; None where it has nothing."""
        self._held = held
        self._present = present

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool or call.task_tool
        return call if tool is None else self._refused(tool) or call

    def since(self, call: Call) -> Refusal | None:
        """Why a call that has waited may not go on as things stand now; None where it may."""
        tool = call.tool
        present = None if tool is None else self._present(tool.target)
        if tool is None or present is None:
            return None
        # By the name that the caller used.
        refusal = self._refused(replace(present, exposed=tool.exposed))
        if refusal is not None or _same(tool, present):
            return refusal
        return Refusal(
            "confirmation_required",
            f"the definition of {tool.exposed} has changed while this call waited, so what was agreed to is not what "
            "would run: look at the tool again, and call it again",
            {"missing": "confirmation", "risk_level": present.security.risk_level},
            gate=self.name,
        )

    def _refused(self, tool: Tool) -> Refusal | None:
        why = self._held(tool)
        if not why:
            return None
        target = tool.target
        look = to_type("server pin {} {}", target.server, target.name)
        accept = to_type("server pin {} {} --accept", target.server, target.name)
        return Refusal(
            "tool_disabled",
            f"{tool.exposed} is held back: {why}. An operator looks at it with `{look}` and accepts it with `{accept}`",
            {"held": why, "server_id": target.server, "tool_name": target.name},
            gate=self.name,
        )


def _same(one: Tool, other: Tool) -> bool:
    if one.definition is other.definition:
        return True
    try:
        return definition_digest(one.definition) == definition_digest(other.definition)
    except ValueError:  # a definition that cannot be read is not the one
        return False
