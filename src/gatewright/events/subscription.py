"""`Subscription`: one caller's event channels, number and kept events; `Said`: an event's params, encoded once for all who hear of it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from gatewright.call import Caller
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.shared_params import shared

__all__ = ["Heard", "Kept", "May", "Said", "Say", "Subscription"]

_EACH = 128  # bytes of one that is kept, besides its text
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])

May = Callable[[Caller, str, str | None], bool]
"""Whether a caller in a profile and a session may hear of an event."""


class Said:
    """The params of an event besides number and subscription. Their text is made once, however many hear of it."""

    __slots__ = ("_raw", "params", "size")

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.params, self.size = shared(params)
        self._raw: bytes | None = None

    @property
    def raw(self) -> bytes:
        """The same as JSON."""
        if self._raw is None:
            self._raw = jsonrpc.encode(self.params)
        return self._raw


Say = Callable[[Caller], Said]
"""What a caller is told of an event."""


class Heard(Protocol):
    """Somebody who hears (`servers.notifications.Listener`)."""

    @property
    def take(self) -> Callable[[str, str, dict[str, Any]], None]:
        """Takes a notification."""

    def now(self) -> Caller | None:
        """Who it is now; None where it is nobody any more."""


class Kept(msgspec.Struct, frozen=True):
    """One event, as text: decoded it can take twenty times as much."""

    sequence: int
    raw: bytes
    may: May

    @property
    def size(self) -> int:
        return len(self.raw) + _EACH

    @property
    def members(self) -> dict[str, Any]:
        """Its members; what was said of it, which may be long, as text still."""
        every = _members.decode(self.raw)
        return {
            name: one if name == "data" else jsonrpc.decode(bytes(one))
            for name, one in every.items()
        }


class Subscription(msgspec.Struct, eq=False):
    """One. `channels` are the names and patterns that were accepted; `least` is the least severity, by `severity_of`."""

    id: str
    caller: Caller
    door: str
    profile: str
    session: str | None
    holder: str
    listen: bool
    shown: Presented
    """Who made it, or took it up last, and with what."""
    asked: tuple[str, ...]
    severity: str | None
    least: int
    channels: tuple[str, ...] = ()
    pending: frozenset[str] = frozenset()
    """What was asked for of servers that have not answered yet."""
    sequence: int = 0
    """The number of its last event."""
    sent: int = 0
    """The last one that somebody was told."""
    ready: bool = False
    """Whether its caller knows its id: until then events are kept."""
    stalled: bool = False
    """Whether its caller was nobody when it was to be told what was kept: it is told with what happens next."""
    since: int = 0
    """After which number its caller wants to be told what was kept."""
    lingers: asyncio.TimerHandle | None = None
    """Where nobody hears it any more: what ends it."""
    kept: deque[Kept] = msgspec.field(default_factory=deque)
    bytes: int = 0

    @property
    def party(self) -> str:
        """For whom servers say what they say for its sake (`Call.party`)."""
        return self.holder if self.listen else self.caller.party(self.holder)

    def wants(self, severity: int | None) -> bool:
        """Whether it is about events so severe. Where nobody said how severe that is, its server has judged it."""
        return severity is None or severity >= self.least
