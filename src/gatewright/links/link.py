"""A connection to one tool server: what all kinds of it have in common.

A link takes a call that is allowed, in the server's own names, and returns its outcome. It rewrites
request ids and progress tokens (both are small integers of the link's own), adds and takes away what
differs between the eras, and gives everything that comes back meanwhile to the call it belongs to.
How bytes travel is the business of the subclasses.
"""

from __future__ import annotations

import abc
import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Client, Event, Failure, Outcome, Refusal
from gatewright.links.answers import ask_all, read_reply
from gatewright.links.endpoint import Endpoint
from gatewright.links.exchange import EXPIRED, Exchange, Reply
from gatewright.links.questions import Outside, Questions
from gatewright.protocol.eras import legacy_params, modern_params, read_interim, retry_params
from gatewright.protocol.mcp_client import Hello, offered, relayed
from gatewright.transport.alarms import Alarms
from gatewright.wire import jsonrpc
from gatewright.wire.mcp import META_SUBSCRIPTION, OF_THE_SERVER
from gatewright.wire.versions import is_modern

__all__ = ["FIRST_ID", "Admits", "Link", "LinkClosed", "Sink", "UpstreamFailed"]

log = logging.getLogger("gatewright.links")

FIRST_ID = 16
"""Ids below this one belong to the handshake."""

_ROUNDS = 16


class UpstreamFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """What the gateway itself asked for did not come. The text says why."""


class LinkClosed(UpstreamFailed):
    """The connection ended before or while it was made."""


class Sink(Protocol):
    """Who takes what a server says outside any call."""

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """Take one notification that belongs to no call."""

    def renewed(self, link: Link) -> None:
        """Learn that the server is a new one behind an old link: what it was told is forgotten."""


class Admits(Protocol):
    """Who decides whether a server that has said hello may go on."""

    async def admit(self, link: Link) -> None:
        """Return once it may. Raises `UpstreamFailed`."""

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        """Answer what a server asks ourselves (MGP §3.5). Raises `CannotAsk`."""


class Link(abc.ABC):
    """One connection. Belongs to one event loop; nothing here blocks it."""

    def __init__(self, spec: Endpoint, info: Mapping[str, Any], sink: Sink) -> None:
        self.spec = spec
        self.sink = sink
        self.admits: Admits | None = None
        self.modern = False
        self._hello: Hello | None = None
        self.dropped = 0
        """Messages that belonged to nothing: late answers, unknown ids, unreadable lines."""
        self._info = dict(info)
        self._loop = asyncio.get_running_loop()
        self._alarms = Alarms()
        self._next = FIRST_ID
        self._pending: dict[int, Exchange] = {}
        self._questions = Questions(spec.id, self._reply)
        self._ours = Client("", offered({}, spec.face))
        self._theirs: tuple[Client, Client] | None = None
        self._told: dict[str, asyncio.Future[None]] = {}
        """By the id of each listening request: what is set once the server has acknowledged it."""

    # -- for owners ----------------------------------------------------------------------------------

    @property
    def hello(self) -> Hello | None:
        """What the server said of itself; None until it did."""
        return self._hello

    @hello.setter
    def hello(self, hello: Hello) -> None:
        self._hello = hello
        self.modern = hello.modern

    @property
    def asks(self) -> bool:
        """Whether the server has asked a caller something without saying which."""
        return self._questions.asked

    def answer_outside(self, ask: Outside | None) -> None:
        """Who answers what the server asks while no call is in flight."""
        self._questions.outside = ask

    def admit_by(self, admits: Admits | None) -> None:
        """Who decides whether the server may go on after its hello, and answers what it asks about that."""
        self.admits = admits
        if admits is not None:
            self._questions.own = partial(admits.asked, self)

    @property
    def busy(self) -> bool:
        """Whether a call is in flight."""
        return any(one.call is not None for one in self._pending.values())

    @property
    @abc.abstractmethod
    def open(self) -> bool:
        """Whether a call can be sent now."""

    @abc.abstractmethod
    def close(self, reason: str) -> None:
        """End the connection; what is in flight fails. Idempotent, returns at once."""

    @abc.abstractmethod
    async def wait_closed(self) -> str:
        """Wait for the end, and return its reason."""

    @abc.abstractmethod
    async def stop(self, grace_s: float) -> None:
        """Like `close`, and wait until nothing of the server is left on this machine, giving it
        `grace_s` seconds at each step."""

    @abc.abstractmethod
    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the server something. Lost without a word when the connection is gone."""

    async def request(
        self, method: str, params: dict[str, Any], *, call: Call, back: Back, deadline: float
    ) -> Outcome:
        """Put a call to the server. `params` is in the server's own names; `deadline` is in the
        loop's seconds. Never raises, except for the cancellation of the caller's task."""
        reply = await self._once(method, params, call, back, deadline)
        modern = self.modern
        outcome = read_reply(reply, call.kind, modern)
        if not modern or type(outcome) is not Answer or is_modern(call.client.revision):
            return outcome
        return await self._rounds(method, params, call, back, deadline, outcome)

    async def fetch(self, method: str, params: dict[str, Any], timeout_s: float) -> bytes:
        """Ask for something on the gateway's own behalf. Raises `UpstreamFailed`."""
        deadline = self._loop.time() + timeout_s
        outcome = read_reply(await self._once(method, params, None, None, deadline), "list", False)
        if isinstance(outcome, Answer):
            return outcome.raw
        if isinstance(outcome, Failure) and outcome.error is not None:
            raise UpstreamFailed(f"{method}: {outcome.error[:500].decode(errors='replace')}")
        raise UpstreamFailed(f"{method}: {outcome.message or outcome.reason}")

    async def listen(self, params: dict[str, Any], told: asyncio.Future[None]) -> None:
        """Hold one `subscriptions/listen` to a modern server open; `told` is set when the server has
        acknowledged it. Returns never; raises `UpstreamFailed` when the server ends it."""
        ident = str(self._next)
        self._told[ident] = told
        try:
            reply = await self._once("subscriptions/listen", params, None, None, float("inf"))
        finally:
            del self._told[ident]
        outcome = read_reply(reply, "list", True)
        error = outcome.error if isinstance(outcome, Failure) else None
        raise UpstreamFailed((error or b"the server ended it").decode(errors="replace")[:300])

    # -- requests ------------------------------------------------------------------------------------

    @abc.abstractmethod
    async def _exchange(
        self, exchange: Exchange, method: str, params: dict[str, Any], deadline: float
    ) -> Reply:
        """Send one request and wait for its answer."""

    @abc.abstractmethod
    def _reply(self, frame: bytes) -> None:
        """Send a response to a request of the server. Must not raise."""

    async def _once(
        self,
        method: str,
        params: dict[str, Any],
        call: Call | None,
        back: Back | None,
        deadline: float,
    ) -> Reply:
        if len(self._pending) >= self.spec.in_flight:
            return Refusal(
                "resource_exhausted",
                f"server {self.spec.id} already works on {self.spec.in_flight} calls",
            )
        ident = self._next
        self._next = ident + 1
        exchange = Exchange(self._loop, self._alarms, ident, call, back, None)
        reply = await self._exchange(
            exchange, method, self._outgoing(params, exchange, call), deadline
        )
        if reply is EXPIRED:
            return Failure(
                "upstream_timeout",
                f"server {self.spec.id} did not answer {method} in time; it was told to stop",
            )
        return reply

    def _outgoing(
        self, params: dict[str, Any], exchange: Exchange, call: Call | None
    ) -> dict[str, Any]:
        """`params` as this server is to see them."""
        hello = self._hello
        if call is None:
            client = self._ours
        else:
            client = call.client
            params = self._traced(params, call, hello)
        if hello is not None and self.modern:
            params = modern_params(
                params, self._as_theirs(client), revision=hello.revision, info=self._info
            )
        elif "_meta" in params and is_modern(client.revision):
            params = legacy_params(params)
        meta = params.get("_meta")
        if type(meta) is dict and "progressToken" in meta:
            exchange.token = meta["progressToken"]
            params = {**params, "_meta": {**meta, "progressToken": exchange.ident}}
        return params

    @staticmethod
    def _traced(params: dict[str, Any], call: Call, hello: Hello | None) -> dict[str, Any]:
        """The MGP trace id goes to servers that negotiated `audit` and to nobody else (MGP §6.5).

        A plain client's own member of that name is just an unknown member, and passes.
        """
        mgp = None if hello is None else hello.mgp
        if mgp is not None and "audit" in mgp.extensions:
            return {**params, "trace_id": call.trace_id}
        if call.client.mgp is not None and "trace_id" in params:
            return {key: value for key, value in params.items() if key != "trace_id"}
        return params

    def _as_theirs(self, client: Client) -> Client:
        """The caller as a modern server may know it; the last one is remembered."""
        if client is self._ours:
            return client
        known = self._theirs
        if known is not None and known[0] is client:
            return known[1]
        shown = Client(
            client.revision,
            relayed(client.capabilities, self.spec.face),
            client.info,
            None,
            client.log_level,
        )
        self._theirs = client, shown
        return shown

    async def _rounds(
        self,
        method: str,
        params: dict[str, Any],
        call: Call,
        back: Back,
        deadline: float,
        outcome: Answer,
    ) -> Outcome:
        """Ask a legacy caller what a modern server wants to know, and repeat the call with it."""
        current: Outcome = outcome
        for _ in range(_ROUNDS):
            interim = read_interim(current.raw) if isinstance(current, Answer) else None
            if interim is None:
                return current
            begun = self._loop.time()
            answers = await ask_all(interim, back)
            if isinstance(answers, Failure):
                return answers
            deadline += self._loop.time() - begun  # a person's time is not the tool's
            again = retry_params(params, answers, interim.state)
            reply = await self._once(method, again, call, back, deadline)
            current = read_reply(reply, call.kind, True)
        return Failure("upstream_error", f"the server asked more than {_ROUNDS} times in one call")

    # -- what comes back -------------------------------------------------------------------------------

    def _notified(self, note: jsonrpc.Notification, stream: Exchange | None = None) -> None:
        """Take a notification; `stream` is the exchange on whose own stream it came, if any."""
        try:
            params = jsonrpc.decode(note.params) if note.params else {}
        except ValueError:
            params = None
        if type(params) is not dict:
            self._drop("a notification whose params cannot be read")
            return
        method = note.method
        if method == "notifications/progress":
            self._progress(method, params, stream)
        elif method == "notifications/cancelled":
            self._questions.withdraw(jsonrpc.encode(params.get("requestId")))
        elif (owner := self._owner(stream, params)) is not None:
            self._emit(owner, method, params)
        elif method in OF_THE_SERVER or self._is_ours(params):
            self._unsolicited(method, params)
        else:
            self._belonging(method, params)

    def _progress(self, method: str, params: dict[str, Any], stream: Exchange | None) -> None:
        token = params.get("progressToken")
        exchange = self._pending.get(token) if type(token) is int else None
        if exchange is None or exchange.token is None or (stream and stream is not exchange):
            self.dropped += 1  # usually progress that came after its answer
            return
        params["progressToken"] = exchange.token
        self._emit(exchange, method, params)

    def _owner(self, stream: Exchange | None, params: dict[str, Any]) -> Exchange | None:
        """The call a notification belongs to for certain, if any."""
        return stream if stream is not None and stream.call is not None else self._tagged(params)

    def _tagged(self, params: dict[str, Any]) -> Exchange | None:
        """The exchange a notification names by our token, or, between MGP peers, by request id."""
        meta = params.get("_meta")
        for holder in (params, meta if type(meta) is dict else {}):
            token = holder.get("progressToken")
            exchange = self._pending.get(token) if type(token) is int else None
            if exchange is not None and exchange.token is not None:
                holder["progressToken"] = exchange.token
                return exchange
        ident = params.get("request_id")
        if type(ident) is int and self.hello is not None and self.hello.mgp is not None:
            return self._pending.get(ident)
        return None

    @staticmethod
    def _emit(exchange: Exchange, method: str, params: dict[str, Any]) -> None:
        if exchange.back is None or exchange.call is None:
            return
        named = params.get("request_id")
        if method.startswith("notifications/mgp.") and named == exchange.ident:
            params["request_id"] = exchange.call.id
        exchange.back.emit(Event(method, params))

    def _belonging(self, method: str, params: dict[str, Any]) -> None:
        """A log line, or something unknown, that names no call: it belongs to the one session at
        work, to everybody when nobody is, and to the gateway's own log where it could tell one
        session about another."""
        candidates = [one for one in self._pending.values() if one.call is not None]
        if not candidates:
            self._unsolicited(method, params)
            return
        exchange = self._questions.party(candidates)
        if exchange is not None:
            self._emit(exchange, method, params)
            return
        logging.getLogger(f"gatewright.server.{self.spec.id}").info(
            "%s: %.500r", params.get("level", method), params.get("data", params)
        )

    @staticmethod
    def _is_ours(params: dict[str, Any]) -> bool:
        """Whether it answers our own `subscriptions/listen`."""
        meta = params.get("_meta")
        return type(meta) is dict and META_SUBSCRIPTION in meta

    def _unsolicited(self, method: str, params: dict[str, Any]) -> None:
        meta = params.get("_meta")
        if method == "notifications/subscriptions/acknowledged":
            number = meta.get(META_SUBSCRIPTION) if type(meta) is dict else None
            told = self._told.get(str(number))
            if told is not None and not told.done():
                told.set_result(None)
            return
        if type(meta) is dict and META_SUBSCRIPTION in meta:
            # Our own subscription's number, which means nothing to anybody else.
            rest = {key: value for key, value in meta.items() if key != META_SUBSCRIPTION}
            params = {key: value for key, value in params.items() if key != "_meta"}
            if rest:
                params["_meta"] = rest
        self.sink.said(self, method, params)

    def _drop(self, what: str) -> None:
        self.dropped += 1
        log.debug("server %s: %s", self.spec.id, what)
