"""A room without a gateway: every message to everybody, the sender included, as the plainest gateway would.

It checks nothing and so shows what participants do of themselves.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

from gatewright.mcpx.envelope import GATEWAY, compose
from gatewright.rooms.participants.participant import Participant

__all__ = ["Bus", "call", "within"]

FULL = ("mcp/*", "chat")


async def within(work: Any, seconds: float = 20.0) -> Any:
    """The result of something that must not take longer."""
    async with asyncio.timeout(seconds):
        return await work


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """The params of a tool call."""
    return {"name": name, "arguments": arguments}


class Bus:
    """The room. `said` is everything that was ever said in it, decoded."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0
        self.said: list[dict[str, Any]] = []
        self._takers: dict[str, Callable[[bytes], None]] = {}
        self._members: dict[str, Sequence[str]] = {}
        self._ids = (f"id-{number}" for number in itertools.count(1))

    def join(self, name: str, capabilities: Sequence[str] = FULL, **options: Any) -> Participant:
        """Somebody comes in."""
        participant = Participant(
            self.put, clock=lambda: self.now, fresh=lambda: next(self._ids), **options
        )
        self._takers[name] = participant.receive
        others = [
            {"id": one, "capabilities": list(theirs)} for one, theirs in self._members.items()
        ]
        self._members[name] = capabilities
        you = {"id": name, "capabilities": list(capabilities)}
        self.system("welcome", {"you": you, "participants": others}, to=[name])
        self.system("presence", {"event": "join", "participant": you})
        return participant

    def system(
        self, what: str, payload: Any, *, to: Sequence[str] = (), about: str | None = None
    ) -> None:
        """The gateway says something."""
        raw = json.dumps(payload).encode()
        self.put(
            compose(
                id=next(self._ids),
                ts=None,
                sender=GATEWAY,
                kind=f"system/{what}",
                payload=raw,
                to=to,
                correlation_id=about,
            )
        )

    def raw(self, sender: str, kind: str, payload: Any, **more: Any) -> str:
        """Somebody says something that no participant of ours would; the id of it."""
        id = next(self._ids)
        envelope = {"protocol": "mcpx/v0.1", "id": id, "from": sender, "kind": kind, **more}
        self.put(json.dumps({**envelope, "payload": payload}).encode())
        return id

    def put(self, text: bytes) -> None:
        """Everybody hears it."""
        self.said.append(json.loads(text))
        for take in list(self._takers.values()):
            take(text)

    def of(self, sender: str) -> list[dict[str, Any]]:
        """What one has said."""
        return [one for one in self.said if one["from"] == sender]
