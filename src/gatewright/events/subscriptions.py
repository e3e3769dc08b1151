"""`Subscriptions`: which callers hear which event channels; numbers events for each, keeps the last 1,000, replays them after a reconnect.

A subscription belongs to its caller and to what it was made with, a session or a `subscriptions/listen`, and is heard there alone.
When that ends, it hears nothing more; for `LINGERS_S` it goes on to be numbered and kept, so that its caller can take it up again
from the last number that it saw. A key of the same caller with other limits neither ends nor takes it up (`mcp.server.shown_rights`).
Everything that is counted here is bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from gatewright.call import Call, Who
from gatewright.events.channel_index import ChannelIndex
from gatewright.events.subscription import Heard, Kept, May, Say, Subscription
from gatewright.listeners import Groups
from gatewright.mcp.server.shown_rights import at_least, shown_in
from gatewright.mcp.wire.methods import EVENT
from gatewright.transport.line import Line
from gatewright.transport.slices import begun

__all__ = [
    "CALLER_MOST",
    "EVERY_MOST",
    "HOLDER_MOST",
    "KEPT",
    "KEPT_BYTES",
    "LINGERS_S",
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

_FRAME = 512
"""What it weighs to tell one subscription of an event, besides its text."""
_OPERATORS, _NAMELESS = "operators", "anonymous"


class Subscriptions:
    """All of one gateway. `find` says who hears what a holder is told."""

    def __init__(self, find: Callable[[str], Heard | None], random: Callable[[int], bytes]) -> None:
        self._find = find
        self._random = random
        self._all: dict[str, Subscription] = {}
        self._index: ChannelIndex[Subscription] = ChannelIndex()
        self._whose: Groups[Who | str, Subscription] = Groups()
        """By caller, and those of operators."""
        self._held: Groups[str | None, Subscription] = Groups()
        """By holder."""
        self._nameless: Groups[str | None, Subscription] = Groups()
        """Those of callers without a name, by session: any two of them may be two."""
        self._bytes = 0
        self._line = Line()
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
        who = call.caller.who
        mine = self._whose.of(who)
        if sum(one.caller.who == who for one in self._held.of(call.holder)) >= HOLDER_MOST:
            return f"at most {HOLDER_MOST} subscriptions can be open on one connection"
        if (
            call.caller.kind == "anonymous"
        ):  # who may be anybody: one of them must not use up what the others may have
            return "" if len(mine) < NAMELESS_MOST else "too many subscriptions are open"
        if len(mine) >= CALLER_MOST:
            self._drop_lingering(mine)
        if len(self._whose.of(who)) >= CALLER_MOST:
            return f"at most {CALLER_MOST} subscriptions of one caller can be open"
        return "" if len(self._all) < EVERY_MOST else "too many subscriptions are open"

    def _drop_lingering(self, mine: Iterable[Subscription]) -> None:
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
        for key in _keys(made):
            self._whose.add(key, made)
        self._held.add(made.holder, made)
        self._nameless.add(_nameless_in(made), made)
        self.changed()
        return made

    def accept(self, one: Subscription, channels: tuple[str, ...]) -> None:
        """Let it hear these channels from now on."""
        one.channels = channels
        if one in self:  # who waited for servers may have ended meanwhile
            self._index.put(one, channels)
            self.changed()

    def accept_late(
        self, late: Iterable[Subscription], honoured: Collection[str]
    ) -> Generator[None, None, None]:
        """Let those hear of these channels as well who wait for them; step by step."""
        for one in late:
            now = one.pending.intersection(honoured)
            one.pending -= now
            self.accept(one, (*one.channels, *sorted(now.difference(one.channels))))
            yield

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
        for key in _keys(one):
            self._whose.remove(key, one)
        self._held.remove(one.holder, one)
        self._nameless.remove(_nameless_in(one), one)
        self._index.put(one, ())
        self.changed()
        self.ended(one)

    def left(self, holder: str | None) -> None:
        """What a holder heard, it hears no more."""
        gone = [one for one in self._held.of(holder) if one.lingers is None]
        if gone:
            begun(self._left(holder, gone))

    def _left(self, holder: str | None, gone: list[Subscription]) -> Generator[None, None, None]:
        loop = asyncio.get_running_loop()
        for one in gone:
            if one not in self or one.holder != holder or one.lingers is not None:
                continue  # it was ended, or taken up, in another slice
            if one.caller.kind == "anonymous":
                self.end(one)
            else:
                one.lingers = loop.call_later(LINGERS_S, partial(self.end, one))
            yield

    def close(self) -> None:
        """None goes on."""
        for one in self:
            self.end(one)

    # -- events --------------------------------------------------------------------------------------

    @property
    def hearing(self) -> bool:
        """Whether any is about anything."""
        return len(self._index) > 0

    def hears(self, channel: str) -> bool:
        """Whether any is about a channel."""
        return self._index.any(channel)

    def about(self, channel: str) -> list[Subscription]:
        """Those that are about a channel."""
        return self._index.about(channel)

    def among(self, channel: str, some: Collection[Subscription]) -> list[Subscription]:
        """The same of some of them: takes time in proportion to these."""
        return self._index.among(channel, some)

    def of_some(
        self, channel: str, callers: Collection[Who], session: str | None
    ) -> list[Subscription]:
        """Those of them that are of operators, of these callers who have names, or made in a session without one: what is of one
        caller costs nothing for all the others who are about its channel."""
        keys: tuple[Who | str, ...] = _OPERATORS, *(one for one in callers if one[0] != _NAMELESS)
        groups = [self._whose.of(key) for key in keys]
        if session is not None:
            groups.append(self._nameless.of(session))
        return self._index.among(channel, dict.fromkeys(one for group in groups for one in group))

    def room(self, whose: Hashable) -> bool:
        """Whether more can be told for the sake of a server, or a caller: what there was of it is still being told else."""
        return self._line.room(whose)

    def tell_all(
        self,
        some: Collection[Subscription],
        severity: int | None,
        may: May,
        say: Say,
        whose: Hashable = "",
        size: int = 0,
    ) -> None:
        """Tell all of these in slices, behind whatever was told before. `size` is how long it is: whoever tells it asks first whether
        there is `room` for more of `whose`."""
        weight = len(some) * (size + _FRAME)
        self._line.put(self._each(some, severity, may, say), len(some), whose, weight)

    def _each(
        self, some: Iterable[Subscription], severity: int | None, may: May, say: Say
    ) -> Generator[None, None, None]:
        for one in some:
            self.tell(one, severity, may, say)
            yield

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
        self._keep(one, Kept(one.sequence, said.raw, may))
        if listener is not None and one.ready:
            one.sent = one.sequence
            listener.take("", EVENT, _numbered(one, said.params, one.sequence))
        elif listener is not None and one.stalled:
            one.since, one.stalled = max(one.since, one.sent), False
            self.catch_up(one)

    def _keep(self, one: Subscription, event: Kept) -> None:
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
            self._held.remove(former, one)
            one.holder, one.listen = call.holder, call.listen is not None
            self._held.add(one.holder, one)
        self._nameless.remove(_nameless_in(one), one)
        one.caller, one.door, one.session, one.ready = call.caller, call.door, call.session, False
        one.shown, one.stalled = shown_in(call), False
        self._nameless.add(_nameless_in(one), one)
        if one.holder != former:
            self.moved(one, party if heir else None)

    def missed(self, one: Subscription, since: int) -> tuple[int, int]:
        """How many events there were after a number: those that are kept, and those that are not."""
        kept = sum(each.sequence > since for each in one.kept)
        return kept, max(0, one.sequence - since - kept)

    def catch_up(self, one: Subscription) -> None:
        """Tell what was kept after the number that its caller named, and from now on whatever happens."""
        self._line.put(self._caught_up(one, one.holder), len(one.kept))

    def _caught_up(self, one: Subscription, holder: str) -> Generator[None, None, None]:
        if one.ready:
            return  # all was told to who has taken it up twice in a row
        since = one.since
        for each in tuple(one.kept):
            if one not in self or (one.holder, one.since) != (holder, since):
                return  # whoever has taken it up meanwhile is told next
            if each.sequence > since:
                listener = self._find(holder)
                now = None if listener is None else listener.now()
                if listener is None or now is None:
                    one.stalled = True  # it is kept for whoever takes it up, or is somebody again
                    return
                if each.may(now, one.profile, one.session):
                    listener.take("", EVENT, _numbered(one, each.members, each.sequence))
                one.sent = max(one.sent, each.sequence)
            yield
        one.ready = (one.holder, one.since) == (holder, since)


def _numbered(one: Subscription, said: Mapping[str, Any], sequence: int) -> dict[str, Any]:
    return {"subscription_id": one.id, **said, "sequence": sequence}


def _keys(one: Subscription) -> tuple[Who | str, ...]:
    who = one.caller.who
    return (who, _OPERATORS) if one.caller.kind == "operator" else (who,)


def _nameless_in(one: Subscription) -> str | None:
    """The session that tells whose it is, where its caller has no name."""
    return one.session if one.caller.kind == _NAMELESS else None
