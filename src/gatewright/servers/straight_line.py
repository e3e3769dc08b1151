"""`StraightLine`: fast path to a server on a pipe: writes prepared calls, hands unusual ones to the pipeline; `line_to` decides when."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from gatewright.call import Back, Call, Event, Outcome, Question
from gatewright.mcp.client.pending_requests import PendingRequest
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire.foreign_json import MOST_MEMBERS
from gatewright.servers.call_sender import CallSender
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.relisting import Relisting
from gatewright.servers.reserved_meta import is_suspect
from gatewright.servers.server_life import ServerLife
from gatewright.servers.session_affinity import SessionAffinity
from gatewright.standing import Rest, Standing, attribute
from gatewright.transport.large_text import LARGE
from gatewright.web.utf8 import is_utf8

__all__ = ["StraightLine", "line_to"]

_BRACE = ord("{")
_MARK = b'"isError"'
_NO_ERROR = b'"isError":false', b'"isError": false'


class _Taken:
    """The way back of a call that has just become an ordinary one, and then, as `server_screen.Screen` sees it, the connection on which it was
    sent already. What comes in the same turn waits for the walk to take over."""

    exchange: PendingRequest

    def __init__(self, link: PipeLink) -> None:
        self._link = link
        self._events: list[Event] = []
        self._back: Back | None = None
        self._there = asyncio.Event()

    @property
    def hello(self) -> Hello | None:
        return self._link.hello

    def request(
        self, method: str, params: dict[str, Any], *, call: Call, back: Back, deadline: float
    ) -> Coroutine[Any, Any, Outcome]:
        """The walk has taken over: wait for the answer."""
        self.exchange.back = self._back = back
        self._there.set()
        for event in self._events:
            back.emit(event)
        return self._link.replied(self.exchange, method)

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


class StraightLine:
    """See the module's text. What it is given as `going` is a `mcp.server.straight.StraightCall`."""

    def __init__(
        self,
        sender: CallSender,
        keeper: Reconnector,
        link: PipeLink,
        rests: tuple[Rest, ...],
        call: Call,
        name: str,
    ) -> None:
        """`call` is one of them, `name` the tool's own."""
        self.word = Standing(rests, clear=self.is_plain, most=LARGE)
        self.send = link.sender(call.name, name, keeper)
        self._sender, self._keeper, self._link = sender, keeper, link
        self._calls, self._over, self._end = keeper.calls, link.over, keeper.calls.end

    @staticmethod
    def is_plain(raw: bytes) -> bool:
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

    def over(self, going: Any) -> None:
        """The call was answered."""
        self._over(going.ident)
        self._end()

    def promote(self, going: Any) -> PendingRequest:
        """From now on its answer is awaited as those of other calls are."""
        return self._link.promote(going, _Taken(self._link))

    async def came(self, going: Any, exchange: PendingRequest, call: Call, back: Back) -> Outcome:
        """How a promoted call ends. Raises only the cancellation of its task."""
        try:
            if going.refusal is not None:  # its task is cancelled, which it hears of when it waits
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self._link.left(exchange)
            self._calls.end()
            raise
        taken: Any = exchange.back
        taken.exchange = exchange
        return await self._sender.came(self._keeper, taken, call, back, going.due)


def _is_no_error(raw: bytes) -> bool:
    """Whether a result without escapes that names it says once, in one of the usual spellings, that it is no error."""
    at = raw.find(b"isError")
    said = raw.startswith(_NO_ERROR, at - 1)
    return said and raw.find(b"isError", at + len(_MARK)) < 0


def line_to(
    server: Any,
    life: ServerLife,
    lanes: SessionAffinity,
    relisting: Relisting,
    sender: CallSender,
    call: Call,
) -> StraightLine | None:
    """The way to a server that all calls like this one go, as it is now; None where each is to be looked at."""
    target = call.target
    if target is None or life.quiet or not lanes.stays(call):
        return None
    taken = lanes.take(call)
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
        attribute(server, "listing"),
        attribute(life, "quiet"),
        *lanes.rests,
        *(link.asking if call.session is None else ()),
    )
    return StraightLine(sender, keeper, link, rests, call, target.name)
