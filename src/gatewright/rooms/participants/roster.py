"""`Roster`: tracks a participant's own id and capabilities and a room's other members, from welcome and presence (MCPx §3.4, §3.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gatewright.mcpx.capabilities import Capabilities
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.payload import Said

__all__ = ["Roster"]


class Roster:
    """`id` is empty and nothing may be sent before the first welcome; each further one to the same id counts as well."""

    def __init__(self, *gone: Callable[[str], None]) -> None:
        """Those of `gone` are told the id of each other participant that leaves."""
        self._gone = gone
        self.id = ""
        self.capabilities = Capabilities(())
        self.others: dict[str, tuple[str, ...]] = {}
        """Everybody else who is here → capabilities."""

    def has(self, name: str) -> bool:
        """Whether somebody is here, or it is this participant itself."""
        return name == self.id or name in self.others

    def may(self, name: str, kind: str) -> bool:
        """Whether somebody who is here may send a kind, as the gateway has said."""
        if name == self.id:
            return self.capabilities.allows(kind)
        return Capabilities(self.others.get(name, ())).allows(kind)

    def take(self, envelope: Envelope, said: Said) -> bool:
        """Learn from a message of the gateway. True where it was the welcome of this participant."""
        if said.what == "welcome":
            return self._welcome(envelope, said.payload)
        if said.what == "presence":
            self._presence(said.payload)
        return False

    def _presence(self, payload: dict[str, Any]) -> None:
        name, capabilities = _participant(payload.get("participant"))
        if name is None or name == self.id:
            return
        if payload.get("event") == "leave":
            self.others.pop(name, None)
            for tell in self._gone:
                tell(name)
        else:
            self.others[name] = capabilities

    def _welcome(self, envelope: Envelope, payload: dict[str, Any]) -> bool:
        name, capabilities = _participant(payload.get("you"))
        if name is None or (self.id and name != self.id):
            return False
        # Somebody else's welcome.
        if envelope.to and name not in envelope.to:
            return False
        self.id = name
        self.capabilities = Capabilities(capabilities)
        listed = payload.get("participants")
        found = [_participant(one) for one in (listed if isinstance(listed, list) else ())]
        self.others = {one: theirs for one, theirs in found if one is not None and one != name}
        return True


def _participant(value: Any) -> tuple[str | None, tuple[str, ...]]:
    """Id and capabilities, as far as they can be read."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return None, ()
    said = value.get("capabilities")
    listed = said if isinstance(said, list) else ()
    return value["id"], tuple(one for one in listed if isinstance(one, str))
