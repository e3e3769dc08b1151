"""`StraightLine`: fast path to a server on a pipe: writes prepared calls, hands unusual ones to the pipeline; `StraightLines` decides when."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from gatewright.call import Back, Call, Event, Outcome, Question
from gatewright.mcp.client.pending_requests import PendingRequest, Reply
from gatewright.mcp.client.pipe_link import PipeLink, Sent
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire.foreign_json import MOST_MEMBERS
from gatewright.servers.call_sender import CallSender
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.relisting import Relisting
from gatewright.servers.reserved_meta import is_suspect
from gatewright.servers.server_life import ServerLife
from gatewright.servers.session_affinity import SessionAffinity
from gatewright.standing import Going, Rest, attribute
from gatewright.transport.large_text import LARGE
from gatewright.web.utf8 import is_utf8

__all__ = ["StraightLine", "StraightLines"]

_BRACE = ord("{")
_MARK = b'"isError"'
_NO_ERROR = b'"isError":false', b'"isError": false'


class _Soon:
    """The way back of a call that has just become an ordinary one: what comes in the same turn waits for the walk to take over."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._back: Back | None = None
        self._there = asyncio.Event()

    def become(self, back: Back) -> None:
        """The walk has taken over."""
        self._back = back
        self._there.set()
        for event in self._events:
            back.emit(event)
        self._events = []

    def emit(self, event: Event) -> None:
        """Send one event, once it can be."""
        if self._back is None:
            self._events.append(event)
        else:
            self._back.emit(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question, once it can be. Raises `CannotAsk`."""
        await self._there.wait()
        assert self._back is not None  # noqa: S101 - set before the event
        return await self._back.ask(question)


class _Taken:
    """As `server_screen.Screen` sees the connection on which a call was sent already."""

    def __init__(self, link: PipeLink, exchange: PendingRequest) -> None:
        self._link = link
        self._exchange = exchange

    @property
    def hello(self) -> Hello | None:
        return self._link.hello

    def request(
        self, method: str, params: dict[str, Any], *, call: Call, back: Back, deadline: float
    ) -> Coroutine[Any, Any, Outcome]:
        """Wait for the answer."""
        soon, self._exchange.back = self._exchange.back, back
        if isinstance(soon, _Soon):
            soon.become(back)
        return self._link.replied(self._exchange, method)


class StraightLine:
    """See the module's text (`prepared.Line`)."""

    most = LARGE

    def __init__(
        self,
        sender: CallSender,
        keeper: Reconnector,
        link: PipeLink,
        rests: tuple[Rest, ...],
        name: str,
    ) -> None:
        """`name` is the tool's own."""
        self._sender = sender
        self._keeper = keeper
        self._calls = keeper.calls
        self._link = link
        self._name = name
        self._now, self._send = asyncio.get_running_loop().time, link.send_at_once
        self._over, self._end = link.over, keeper.calls.end
        self.rests = rests

    def send(self, going: Going, call: Call) -> bool:
        """Put a call on its way; False where it was not."""
        params, name = call.params, self._name
        if params["name"] != name:
            params = params.copy()
            params["name"] = name
        going.due = self._now() + self._keeper.spec.call_s
        try:
            return self._send(going, call, params)
        finally:
            if going.ident:  # its server knows it, whatever broke then
                self._calls.count += 1

    def is_plain(self, raw: bytes) -> bool:
        """Whether a result is passed on as it is (`mcp.client.answers`, `server_screen`)."""
        find = raw.find
        return (
            raw[0] == _BRACE
            and (find(b"isError") < 0 or _is_no_error(raw))
            # One of these is in each of the marks that are looked for.
            and ((find(b"_") < 0 and find(b"/") < 0 and find(b"\\u") < 0) or not is_suspect(raw))
            and (len(raw) <= MOST_MEMBERS or raw.count(b":") <= MOST_MEMBERS)
            and (raw.isascii() or is_utf8(raw))
        )

    def over(self, going: Going) -> None:
        """The call was answered."""
        self._over(going.ident)
        self._end()

    def promote(self, going: Going, reply: Reply | None) -> PendingRequest:
        """From now on its answer, or this one, is awaited as those of other calls are."""
        return self._link.promote(Sent(going.ident, going.call, _Soon(), going.due), reply)

    async def came(self, going: Going, exchange: PendingRequest, call: Call, back: Back) -> Outcome:
        """How a promoted call ends. Raises only the cancellation of its task."""
        try:
            if going.refusal is not None:  # its task is cancelled, which it hears of when it waits
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._link.left(exchange)
            self._calls.end()
            raise
        taken = _Taken(self._link, exchange)
        return await self._sender.came(self._keeper, taken, call, back, going.due)


class _Listed(Protocol):
    listing: Any


def _is_no_error(raw: bytes) -> bool:
    """Whether a result without escapes that names it says once, in one of the usual spellings, that it is no error."""
    at = raw.find(b"isError")
    said = raw.startswith(_NO_ERROR, at - 1)
    return said and raw.find(b"isError", at + len(_MARK)) < 0


class StraightLines:
    """The ways to one server."""

    def __init__(
        self,
        server: _Listed,
        life: ServerLife,
        lanes: SessionAffinity,
        relisting: Relisting,
        sender: CallSender,
    ) -> None:
        self._lanes = lanes
        self._life = life
        self._relisting = relisting
        self._sender = sender
        self._server = server

    def of(self, call: Call) -> StraightLine | None:
        """The way that all calls like this one go, as it is now; None where each is to be looked at."""
        target, relisting = call.target, self._relisting
        if target is None or self._life.quiet or not self._lanes.stays(call):
            return None
        taken = self._lanes.take(call)
        if not isinstance(taken, tuple):
            return None
        keeper = taken[0]
        link = keeper.link
        if not isinstance(link, PipeLink) or keeper.late or relisting.unlisted:
            return None
        if not link.open or not link.takes_plainly:
            return None
        rests = (
            attribute(keeper, "link"),
            attribute(keeper, "late"),
            attribute(link, "open"),
            attribute(relisting, "count"),
            attribute(self._server, "listing"),
            attribute(self._life, "quiet"),
            *self._lanes.rests,
            *(link.asking if call.session is None else ()),
        )
        return StraightLine(self._sender, keeper, link, rests, target.name)
