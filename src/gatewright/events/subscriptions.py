"""`Subscriptions`: which callers hear which event channels; numbers events for each, keeps the last 1,000, replays them after a reconnect.

A subscription belongs to its caller and to what it was made with, a session or a `subscriptions/listen`, and is heard there alone.
When that ends, it hears nothing more; for `LINGERS_S` it goes on to be numbered and kept, so that its caller can take it up again
from the last number that it saw. A key of the same caller with other limits neither ends nor takes it up (`mcp.server.shown_rights`).
Everything that is counted here is bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from gatewright.call import Call, Caller
from gatewright.events.channels import matches
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.server.shown_rights import at_least, shown_in
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.methods import EVENT

__all__ = [
    "CALLER_MOST",
    "EVERY_MOST",
    "HOLDER_MOST",
    "KEPT",
    "KEPT_BYTES",
    "LINGERS_S",
    "Heard",
    "Said",
    "Subscription",
    "Subscriptions",
]

log = logging.getLogger("gatewright.events")

KEPT = 1000
"""Events of one subscription that are kept for whoever comes back."""
KEPT_BYTES = 1024 * 1024
EVERY_KEPT_BYTES = 64 * 1024 * 1024
"""The same of one subscription, and of all, in bytes."""

LINGERS_S = 300.0
"""How long a subscription can be taken up again after its session has ended."""

HOLDER_MOST, CALLER_MOST, EVERY_MOST = 16, 64, 4096
"""Subscriptions of one session, of one caller, and of all."""
NAMELESS_MOST = EVERY_MOST // 2
"""Those of all callers without a name, each connection of whom counts for itself."""

_CHANNELS_KNOWN = 1024
_EACH = 128  # bytes of one that is kept, besides its text

May = Callable[[Caller, str, str | None], bool]
"""Whether a caller in a profile and a session may hear of an event."""


class Said:
    """The params of an event besides number and subscription. Their text is made once, however many hear of it."""

    __slots__ = ("_raw", "params")

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.params = params
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


class _Kept(msgspec.Struct, frozen=True):
    """One event, as text: decoded it can take twenty times as much."""

    sequence: int
    raw: bytes
    may: May

    @property
    def size(self) -> int:
        return len(self.raw) + _EACH


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
    since: int = 0
    """After which number its caller wants to be told what was kept."""
    lingers: asyncio.TimerHandle | None = None
    """Where nobody hears it any more: what ends it."""
    kept: deque[_Kept] = msgspec.field(default_factory=deque)
    bytes: int = 0

    @property
    def party(self) -> str:
        """For whom servers say what they say for its sake (`Call.party`)."""
        return self.holder if self.listen else self.caller.party(self.holder)

    def wants(self, severity: int | None) -> bool:
        """Whether it is about events so severe. Where nobody said how severe that is, its server has judged it."""
        return severity is None or severity >= self.least


class Subscriptions:
    """All of one gateway. `find` says who hears what a holder is told."""

    def __init__(self, find: Callable[[str], Heard | None], random: Callable[[int], bytes]) -> None:
        self._find = find
        self._random = random
        self._all: dict[str, Subscription] = {}
        self._matching: dict[str, list[Subscription]] = {}
        self._bytes = 0
        self.changed: Callable[[], object] = lambda: None
        """Called whenever one begins or ends."""
        self.ended: Callable[[Subscription], object] = lambda _: None
        """Called with each that has ended."""
        self.moved: Callable[[Subscription, str | None], object] = lambda _, __: None
        """Called with each that its caller hears elsewhere now, and for which party before."""

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Subscription]:
        return iter(tuple(self._all.values()))

    def __contains__(self, one: object) -> bool:
        """Whether a subscription goes on: whoever waited meanwhile may still hold one that has ended."""
        return isinstance(one, Subscription) and self._all.get(one.id) is one

    def get(self, ident: Any) -> Subscription | None:
        """The one with this id, whoever has it."""
        return self._all.get(ident) if isinstance(ident, str) else None

    # -- beginning and ending ------------------------------------------------------------------------

    def can_hear(self, call: Call) -> bool:
        """Whether a call came where notifications can be sent to its caller."""
        return call.holder is not None and self._find(call.holder) is not None

    def crowded(self, call: Call) -> str:
        """Why no more can be made for a call; empty where one can."""
        mine = [one for one in self._all.values() if one.caller.who == call.caller.who]
        if sum(one.holder == call.holder for one in mine) >= HOLDER_MOST:
            return f"at most {HOLDER_MOST} subscriptions can be open on one connection"
        if (
            call.caller.kind == "anonymous"
        ):  # who may be anybody: one of them must not use up what the others may have
            return "" if len(mine) < NAMELESS_MOST else "too many subscriptions are open"
        if len(mine) >= CALLER_MOST:
            self._drop_lingering(mine)
        if len([one for one in mine if one.id in self._all]) >= CALLER_MOST:
            return f"at most {CALLER_MOST} subscriptions of one caller can be open"
        return "" if len(self._all) < EVERY_MOST else "too many subscriptions are open"

    def _drop_lingering(self, mine: list[Subscription]) -> None:
        oldest = next((one for one in mine if one.lingers is not None), None)
        if oldest is not None:
            self.end(oldest)

    def begin(
        self, call: Call, asked: tuple[str, ...], severity: str | None, least: int
    ) -> Subscription:
        """Make one for a call that can hear. It hears nothing until it has `channels`."""
        holder = call.holder
        if holder is None:
            raise ValueError("nobody could hear it")
        made = Subscription(
            f"sub-{self._random(16).hex()}",
            call.caller,
            call.door,
            call.profile,
            call.session,
            holder,
            call.listen is not None,
            shown_in(call),
            asked,
            severity,
            least,
        )
        self._all[made.id] = made
        self._turned()
        return made

    def accept(self, one: Subscription, channels: tuple[str, ...]) -> None:
        """Let it hear these channels from now on."""
        one.channels = channels
        self._turned()

    def of(self, call: Call, ident: Any) -> Subscription | None:
        """The subscription of this id, where whoever makes the call hears it."""
        found = self._mine(call, ident)
        if found is None or found.lingers is not None:
            return None
        return found if found.listen or found.holder == call.holder else None

    def lost(self, call: Call, ident: Any) -> Subscription | None:
        """The same where its caller heard it elsewhere, and may take it up."""
        found = self._mine(call, ident)
        if found is None or (call.caller.kind == "anonymous" and found.holder != call.holder):
            return None  # that may be anybody
        return found

    def _mine(self, call: Call, ident: Any) -> Subscription | None:
        found = self.get(ident)
        if found is None or not at_least(shown_in(call), found.shown):
            return None
        return found if found.profile == call.profile else None

    def end(self, one: Subscription) -> None:
        """It is over."""
        if self._all.pop(one.id, None) is None:
            return
        if one.lingers is not None:
            one.lingers.cancel()
        self._bytes -= one.bytes
        one.kept.clear()
        self._turned()
        self.ended(one)

    def left(self, holder: str | None) -> None:
        """What a holder heard, it hears no more."""
        for one in self:
            if one.holder != holder or one.lingers is not None:
                continue
            if one.caller.kind == "anonymous":
                self.end(one)
            else:
                loop = asyncio.get_running_loop()
                one.lingers = loop.call_later(LINGERS_S, partial(self.end, one))

    def close(self) -> None:
        """None goes on."""
        for one in self:
            self.end(one)

    def _turned(self) -> None:
        self._matching.clear()
        self.changed()

    # -- events --------------------------------------------------------------------------------------

    def about(self, channel: str) -> list[Subscription]:
        """Those that are about a channel."""
        found = self._matching.get(channel)
        if found is None:
            if len(self._matching) >= _CHANNELS_KNOWN:  # servers name theirs as they like
                self._matching.clear()
            found = self._matching[channel] = [
                one
                for one in self._all.values()
                if any(matches(pattern, channel) for pattern in one.channels)
            ]
        return found

    def tell(self, one: Subscription, severity: int | None, may: May, say: Say) -> None:
        """Tell one subscription of an event, where its caller may hear of it now. Never raises: whose call or server it is does
        not hang on who hears of it."""
        try:
            self._tell(one, severity, may, say)
        except Exception:
            log.exception("an event could not be told to a subscriber")

    def _tell(self, one: Subscription, severity: int | None, may: May, say: Say) -> None:
        if one not in self or not one.wants(severity):
            return
        listener = None if one.lingers is not None else self._find(one.holder)
        now = one.caller if listener is None else listener.now()
        if now is None or not may(now, one.profile, one.session):
            return
        one.caller = now
        one.sequence += 1
        said = say(now)
        self._keep(one, _Kept(one.sequence, said.raw, may))
        if listener is not None and one.ready:
            one.sent = one.sequence
            listener.take("", EVENT, _numbered(one, said.params, one.sequence))

    def _keep(self, one: Subscription, event: _Kept) -> None:
        kept = one.kept
        one.bytes += event.size
        self._bytes += event.size
        kept.append(event)
        while kept and (
            len(kept) > KEPT
            or one.bytes > KEPT_BYTES
            or (self._bytes > EVERY_KEPT_BYTES and one.bytes > EVERY_KEPT_BYTES // EVERY_MOST)
        ):  # so much of each is kept however much others have
            gone = kept.popleft().size
            one.bytes -= gone
            self._bytes -= gone

    def take_up(self, one: Subscription, call: Call) -> None:
        """Its caller hears it on another connection from now on; what was kept follows with `catch_up`."""
        former, party = one.holder, one.party
        heir = one.lingers is not None and one.caller == call.caller
        if one.lingers is not None:
            one.lingers.cancel()
            one.lingers = None
        if call.holder is not None:
            one.holder, one.listen = call.holder, call.listen is not None
        one.caller, one.door, one.session, one.ready = call.caller, call.door, call.session, False
        one.shown = shown_in(call)
        if one.holder != former:
            self.moved(one, party if heir else None)

    def missed(self, one: Subscription, since: int) -> tuple[int, int]:
        """How many events there were after a number: those that are kept, and those that are not."""
        kept = sum(each.sequence > since for each in one.kept)
        return kept, max(0, one.sequence - since - kept)

    def catch_up(self, one: Subscription) -> None:
        """Tell what was kept after the number that its caller named, and from now on whatever happens."""
        since = one.since
        listener = self._find(one.holder)
        one.ready = True
        if listener is None or one not in self:
            return
        now = listener.now()
        for each in tuple(one.kept):
            if each.sequence > since and now is not None:
                if each.may(now, one.profile, one.session):
                    params = jsonrpc.decode(each.raw)
                    listener.take("", EVENT, _numbered(one, params, each.sequence))
                one.sent = max(one.sent, each.sequence)


def _numbered(one: Subscription, said: Mapping[str, Any], sequence: int) -> dict[str, Any]:
    return {"subscription_id": one.id, **said, "sequence": sequence}
