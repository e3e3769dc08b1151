"""`Notes`: routes one server's notifications to call, task owner, sole session, listeners or log; withdraws its cancelled requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol

from gatewright.call import Event
from gatewright.chunk_way import NOWHERE, ChunkWay, chunk_way
from gatewright.mcp.client.callbacks import Callbacks
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.client.glimpse import glimpse
from gatewright.mcp.client.pending_requests import PendingRequest
from gatewright.mcp.client.related_tasks import named, without
from gatewright.mcp.client.server_requests import ServerRequests
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION, OF_THE_SERVER, TASK_STATUS
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.mcp.wire.plain_chunk import plain_chunk
from gatewright.secret_scanning.chunks import CHUNK

__all__ = ["Notes", "Speaks"]

_OF_A_STREAM = "notifications/mgp.stream."


class Speaks(Protocol):
    """The connection (`mcp.client.link`)."""

    spec: Endpoint
    sole: str | None
    dropped: int
    number: int
    """Of the session in which the server speaks now."""

    def at_work(self) -> list[PendingRequest]:
        """The requests in flight that what the server says may be about."""

    @property
    def hello(self) -> Hello | None:
        """What the server said of itself."""

    def told(self, method: str, params: dict[str, Any]) -> None:
        """Pass on what belongs to no call."""

    def fetch(
        self, method: str, params: dict[str, Any], timeout_s: float, whose: str = ""
    ) -> Coroutine[Any, Any, bytes]:
        """Ask the server something on the gateway's own behalf. Raises where it does not answer."""


class Notes:
    """Takes what one server says without waiting for an answer, as far as it may say it."""

    def __init__(
        self, link: Speaks, pending: Mapping[int, PendingRequest], questions: ServerRequests
    ) -> None:
        self._link = link
        self._pending = pending
        self._questions = questions
        self._callbacks = Callbacks(link)
        self.streams = False
        """Whether a call has had plain chunks here."""
        self.listening: dict[str, asyncio.Future[Any]] = {}
        """By the id of each listening request: what is set once the server has acknowledged it, to what it says it honours."""

    def take(self, method: str, params: dict[str, Any], stream: PendingRequest | None) -> None:
        """Take one; `stream` is the exchange on whose own stream it came, if any."""
        if method == "notifications/progress":
            self._progress(method, params, stream)
        elif method.startswith(_OF_A_STREAM):
            self._streamed(method, params, stream)
        elif method == "notifications/cancelled":
            self._questions.withdraw(jsonrpc.encode(params.get("requestId")))
        elif method in TASK_STATUS:
            self._of_life(params)
            self._link.told(method, _unnumbered(params))
        elif method in OF_THE_SERVER:
            self._unsolicited(method, params)
        elif method == CALLBACK:
            self._called_back(params, stream)
        else:
            self._other(method, params, stream)

    def forgotten(self) -> None:
        """The server knows of nothing that it was told or asked until now, and waits for no answer."""
        self._questions.forgotten()
        self._callbacks.forgotten()

    def chunk(self, data: bytes) -> bool:
        """Pass on a plain chunk of a call that has had some before; False for any other frame, with which nothing was done."""
        found = plain_chunk(data)
        if found is None:
            return False
        # None where there is no such call, and of a prepared one.
        way: ChunkWay | None = getattr(self._pending.get(found.request_id), "chunks", None)
        if way is None:
            return False
        is_free, say = way
        if not is_free():
            return False
        say(found.content.text)
        return True

    def _other(self, method: str, params: dict[str, Any], stream: PendingRequest | None) -> None:
        """Take what does not say by its method whose it is."""
        if (task := named(params)) is not None:
            self._of_task(task, method, params, stream)
        elif (owner := self._owner(stream, params)) is not None:
            self._emit(owner, method, params)
        else:
            self._belonging(method, params, stream)

    def _of_life(self, params: dict[str, Any]) -> None:
        """Take how a task stands. The answer that made it may have come right before: who waits for that has had no turn yet."""
        lives = self._questions.lives
        for one in self._pending.values():
            if one.answered:
                lives.answered(one)
        lives.said(params)

    def _progress(self, method: str, params: dict[str, Any], stream: PendingRequest | None) -> None:
        token = params.get("progressToken")
        exchange = self._pending.get(token) if type(token) is int else None
        # On the stream of one request a server cannot report the progress of another.
        if exchange is None or exchange.token is None or (stream and stream is not exchange):
            self._link.dropped += 1  # usually progress that came after its answer
            return
        params["progressToken"] = exchange.token
        self._emit(exchange, method, params)

    def _streamed(self, method: str, params: dict[str, Any], stream: PendingRequest | None) -> None:
        """Chunks and progress of MGP are of the call that they name (§12.4). Of one that is over, or never was, they are nobody's:
        not even of the only session there is, as a log line would be."""
        ident = params.get("request_id")
        exchange = self._pending.get(ident) if type(ident) is int else None
        if "request_id" not in params:
            exchange = stream
        if exchange is None or exchange.call is None or (stream and stream is not exchange):
            self._link.dropped += 1
            return
        # A prepared call has no chunks yet: from now on it is an ordinary one, whose next chunk asks for the way.
        ordinary = self._emit(exchange, method, params) is exchange
        # Those on a stream of their own come by `_notified`, each with more to read than to pass on.
        if ordinary and exchange.chunks is None and method == CHUNK and stream is None:
            exchange.chunks = found = chunk_way(exchange.back) or NOWHERE
            self.streams = self.streams or found is not NOWHERE

    def _owner(
        self, stream: PendingRequest | None, params: dict[str, Any]
    ) -> PendingRequest | None:
        """The call a notification belongs to for certain, if any."""
        return stream if stream is not None and stream.call is not None else self._tagged(params)

    def _tagged(self, params: dict[str, Any]) -> PendingRequest | None:
        """The exchange a notification names by our token, or, between MGP peers, by request id."""
        meta = params.get("_meta")
        for holder in (params, meta if type(meta) is dict else {}):
            token = holder.get("progressToken")
            exchange = self._pending.get(token) if type(token) is int else None
            if exchange is not None and exchange.token is not None:
                holder["progressToken"] = exchange.token
                return exchange
        ident, hello = params.get("request_id"), self._link.hello
        if type(ident) is int and hello is not None and hello.mgp is not None:
            return self._pending.get(ident)
        return None

    def _of_task(
        self, task: str, method: str, params: dict[str, Any], stream: PendingRequest | None
    ) -> None:
        """What names a task is for whoever has that: on a call of theirs, else where they listen. A call of somebody else that it
        came on does not make it that one's."""
        certain = self._owner(stream, params)
        every = self._link.at_work() if certain is None else [certain]
        theirs = self._questions.related.about(task, every)
        if theirs:
            self._emit(theirs[-1], method, params)
        elif certain is None:
            self._link.told(method, params)
        else:
            self._link.dropped += 1

    def _called_back(self, params: dict[str, Any], stream: PendingRequest | None) -> None:
        """A callback is of the call that it names; of none that is known, nobody is asked."""
        owner = self._owner(stream, params)
        if owner is None or owner.call is None:
            self._link.dropped += 1
            return
        found = self._questions.related.inward(_unnumbered(params), owner.call)
        if found is None:
            self._link.dropped += 1
        else:
            self._callbacks.take(found, owner.ordinary())

    def _emit(
        self, exchange: PendingRequest, method: str, params: dict[str, Any]
    ) -> PendingRequest | None:
        """As which exchange the call was told; None where it was not."""
        call = exchange.call
        if call is None:
            return None
        found = self._questions.related.inward(_unnumbered(params), call)
        if found is None:
            self._link.dropped += 1
            return None
        exchange = exchange.ordinary()
        if exchange.back is None:
            return None
        if method.startswith("notifications/mgp.") and found.get("request_id") == exchange.ident:
            found["request_id"] = call.id
        exchange.heard = True
        exchange.back.emit(Event(method, found))
        return exchange

    def _belonging(
        self, method: str, params: dict[str, Any], stream: PendingRequest | None
    ) -> None:
        """A log line, or something unknown, that names no call: it belongs to the one session at work, unless it came on a stream
        of no call; when nobody is, to the one that ever was, or to everybody where nobody was yet; and to the gateway's own
        log where it could tell one session about another."""
        candidates = [one for one in self._link.at_work() if one.call is not None]
        if not candidates and self._link.sole is not None:
            self._unsolicited(method, params)
            return
        exchange = self._questions.party(candidates if stream is None else ())
        if exchange is not None:
            self._emit(exchange, method, params)
            return
        log = logging.getLogger(f"gatewright.server.{self._link.spec.id}")
        if log.isEnabledFor(logging.INFO):
            level = params.get("level", method)
            said = level[:100] if isinstance(level, str) else glimpse(level, 100)
            log.info("%s: %s", said, glimpse(params.get("data", params)))

    def _unsolicited(self, method: str, params: dict[str, Any]) -> None:
        meta = params.get("_meta")
        if method == "notifications/subscriptions/acknowledged":
            number = meta.get(META_SUBSCRIPTION) if type(meta) is dict else None
            told = self.listening.get(str(number))  # repeated as a number or as a string
            if told is not None and not told.done():
                told.set_result(params.get("notifications"))
            return
        self._link.told(method, without(_unnumbered(params)))


def _unnumbered(params: dict[str, Any]) -> dict[str, Any]:
    """Without our own subscription's number, which means nothing to anybody else. A server may write it anywhere."""
    meta = params.get("_meta")
    if type(meta) is not dict or META_SUBSCRIPTION not in meta:
        return params
    rest = {key: value for key, value in meta.items() if key != META_SUBSCRIPTION}
    params = {key: value for key, value in params.items() if key != "_meta"}
    if rest:
        params["_meta"] = rest
    return params
