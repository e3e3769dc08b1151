"""Gate `definition`: refuses calls of tools held back for a changed or suspicious definition, or changed while the call waited.

A definition is what a model acts on, so a server that changes one changes what was approved. Such a tool is not
listed, and a call of it is refused until an operator has looked at the difference (`gatewright server pin`).
Asked after access: whoever may not use the tool learns nothing of it. Asked once more of a call that has waited in a gate
(`since`): somebody agreed to the definition of the moment in which it was made, or a validator judged by it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from gatewright.call import Back, Call, Refusal, Target, Tool
from gatewright.command_text import to_type
from gatewright.servers.definition_digest import definition_digest
from gatewright.standing import Standing

__all__ = ["Definition"]


class Definition:
    """Gate `definition`."""

    name = "definition"

    def __init__(
        self,
        held: Callable[[Tool], str],
        present: Callable[[Target], Tool | None] = lambda _: None,
        lists: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`held` says in a few words why a tool is held back; empty where it is not. `present` is what the catalogue
        has of a tool now; None where it has nothing. `lists` says of a server whether the catalogue knows what it offers."""
        self._held = held
        self._present = present
        self._lists = lists

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool or call.task_tool
        if tool is None:
            return call
        why = self._held(tool)
        return self._refusal(tool, why) if why else call

    def stands(self, call: Call) -> Standing | None:
        """Nothing is held against the tool, which is asked with every call."""
        tool = call.tool
        return None if tool is None else Standing(((partial(self._held, tool), ""),))

    def since(self, call: Call) -> Refusal | None:
        """Why a call that has waited may not go on as things stand now; None where it may."""
        tool = call.tool
        present = None if tool is None else self._present(tool.target)
        if tool is None:
            return None
        if present is None:
            # Of a server that is gone as a whole, whoever sends the call knows more.
            return self._gone(tool) if self._lists(tool.target.server) else None
        # By the name that the caller used.
        shown = replace(present, exposed=tool.exposed)
        why = self._held(shown)
        refusal = self._refusal(shown, why) if why else None
        if refusal is not None or _same(tool, present):
            return refusal
        judged = "agreed to" if "confirmed_by" in call.facts else "judged"
        return Refusal(
            "confirmation_required",
            f"the definition of {tool.exposed} has changed while this call waited, so what was {judged} is not what "
            "would run: look at the tool again, and call it again",
            {"missing": "confirmation", "risk_level": present.security.risk_level},
            gate=self.name,
        )

    def _gone(self, tool: Tool) -> Refusal:
        return Refusal(
            "tool_not_found",
            f"{tool.exposed} is not listed any more: its server took it back while this call waited",
            gate=self.name,
        )

    def _refusal(self, tool: Tool, why: str) -> Refusal:
        target = tool.target
        look = to_type("server pin {} {}", target.server, target.name)
        return Refusal(
            "tool_disabled",
            # No command that accepts: what is accepted is what was shown, and not what the server says by then.
            f"{tool.exposed} is held back: {why}. An operator looks at it with `{look}`, which says how to accept exactly that",
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
