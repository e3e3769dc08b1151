"""`Link`: base of client connections: requests, deadlines, revision translation, the server's requests and notifications, closing.

A connection takes a call that is allowed, in the server's own names, and returns its outcome. It rewrites request ids and progress
tokens (small integers of its own), adds and takes away what differs between the eras, and gives what comes back to its call.
"""

from __future__ import annotations

import abc
import asyncio
import itertools
import logging
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.mcp.client import failures
from gatewright.mcp.client.accepted_methods import AcceptedMethods
from gatewright.mcp.client.answers import is_large, read_large, read_reply
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.client.input_requests import ask_all, begun
from gatewright.mcp.client.notification_params import params_of
from gatewright.mcp.client.notifications import Notes
from gatewright.mcp.client.outgoing import Outgoing
from gatewright.mcp.client.pending_requests import EXPIRED, Clock, PendingRequest, Reply
from gatewright.mcp.client.related_tasks import Book, task_asked
from gatewright.mcp.client.server_requests import Outside, ServerRequests
from gatewright.mcp.client.stream_cancels import StreamCancels
from gatewright.mcp.protocol.input_required import TooMuchAsked, read_interim, retry_params
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import is_modern

__all__ = ["FIRST_ID", "Admits", "Link", "LinkClosed", "ServerFailed", "ServerRefused", "Sink"]

log = logging.getLogger("gatewright.mcp.client")

LinkClosed = failures.LinkClosed
ServerFailed = failures.ServerFailed
ServerRefused = failures.ServerRefused

FIRST_ID = 16
"""Ids below this one belong to the handshake."""

_ROUNDS = 16
_UNREAD = Failure("upstream_error", "the server's answer is too long to be read")
_OURS = frozenset(("_meta", "_mgp", "trace_id"))
_ADAPTED = _OURS | {"inputResponses"}
"""Members of params that have something in them for the server to see otherwise; most calls have none of them."""
_numbers = itertools.count(1)


class Sink(Protocol):
    """Receiver of a server's notifications that belong to no call."""

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """Take one notification that belongs to no call."""

    def renewed(self, link: Link) -> None:
        """Learn that the server is a new one behind an old link: what it was told is forgotten."""


class Admits(Protocol):
    """Who decides whether a server that has said hello may go on."""

    async def admit(self, link: Link) -> None:
        """Return once it may. Raises `ServerFailed`."""

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        """Answer what a server asks ourselves (MGP §3.5). Raises `CannotAsk`."""


class Link(abc.ABC):
    """One connection. Belongs to one event loop; nothing here blocks it."""

    def __init__(self, spec: Endpoint, info: Mapping[str, Any], sink: Sink) -> None:
        self.spec = spec
        self.number = next(_numbers)  # of this process; a session that is made again is another
        self.sink = sink
        self.admits: Admits | None = None
        self.modern = self.mgp = False  # which era it is of; whether MGP was negotiated with it
        self.open = False  # whether a call can be sent now
        self.patient = False  # whether stopping it, once it has ended by itself, waits for its calls as long as they may take
        self._hello: Hello | None = None
        # Who alone has been served on this connection (`PendingRequest.party`): empty as long as nobody was, None for several.
        self.sole: str | None = ""
        self.dropped = 0  # messages that belonged to nothing: late answers, unknown ids
        self._loop = asyncio.get_running_loop()
        self._closing = ""
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._next = FIRST_ID
        self._pending: dict[int, PendingRequest] = {}
        self._clock = Clock(self._pending)
        self._questions = ServerRequests(spec.id, self._reply, self._may_ask, self._remark)
        self.tasks = self._questions.lives  # those that run here
        self._sendable = AcceptedMethods(lambda: self.spec)
        self._outgoing = Outgoing(info, spec.face)
        self._cancels = StreamCancels(self, self._outgoing)
        self._notes = Notes(self, self._pending, self._questions)

    # -- for owners ----------------------------------------------------------------------------------

    @property
    def told_on(self) -> int:
        """The number of the connection or session in which what the server says now is said; 0 where it may be another each time."""
        return self.number

    def _renumber(self) -> None:
        self.number = next(_numbers)

    @property
    def hello(self) -> Hello | None:
        """What the server said of itself; None until it did."""
        return self._hello

    @hello.setter
    def hello(self, hello: Hello) -> None:
        self._hello = hello
        self.modern, self.mgp = hello.modern, hello.mgp is not None
        self.open = not self._closing
        self._outgoing.meet(hello)

    @property
    def asks(self) -> bool:
        """Whether the server has asked a caller something without saying which."""
        return self._questions.asked

    @property
    def wants_roots(self) -> bool:
        """Whether the server has asked for roots while no call was in flight."""
        return self._questions.roots_wanted

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
    def full(self) -> bool:
        """Whether as many requests are in flight as may be."""
        return len(self._pending) >= self.spec.in_flight

    def at_work(self) -> list[PendingRequest]:
        """The requests in flight that what the server says may be about, oldest first."""
        return list(self._pending.values())

    @property
    def haunted(self) -> bool:
        """Whether the server may still ask for somebody of whom no call is in flight."""
        return self._questions.haunted

    @abc.abstractmethod
    def close(self, reason: str) -> None:
        """End the connection; what is in flight fails. Idempotent, returns at once."""

    def give_up(self, why: Failure) -> None:
        """Answer every call in flight with this, and tell the server that nobody waits."""
        for one in [one.ordinary() for one in self._pending.values()]:
            if one.call is not None and one.settle(why):
                self._abandon(one, why.message)

    async def wait_closed(self) -> str:
        """Wait for the end, and return its reason."""
        return await asyncio.shield(self._ended)

    def _retire(self, reason: str) -> None:
        """Take no more calls. What is in flight on its own connection may still be answered."""
        if not self._closing:
            self._closing = reason or "closed"
            self.open = False
            self._ended.set_result(self._closing)

    @abc.abstractmethod
    async def stop(self, grace_s: float) -> None:
        """Like `close`, and wait until nothing of the server is left on this machine, giving it `grace_s` seconds at each step."""

    @abc.abstractmethod
    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the server something. Lost without a word when the connection is gone."""

    def request(
        self, method: str, params: dict[str, Any], *, call: Call, back: Back, deadline: float
    ) -> Coroutine[Any, Any, Outcome]:
        """Put a call to the server, `params` in its own names; `deadline` is in the loop's seconds. Raises only its task's cancellation."""
        if self.sole is not None:
            self.serves(call.party)
        # A modern caller answers an `input_required` itself; a legacy one is asked by requests (`_rounds`).
        if self.modern and not is_modern(call.client.revision):
            return self._rounds(method, params, call, back, deadline)
        return self._once(method, params, call, back, deadline)

    def tell(self, method: str, params: dict[str, Any], call: Call) -> Refusal | None:
        """Tell the server what a caller says without waiting for an answer; why not, if so. What the server says of it later names
        nobody, and no answer ends it: until the connection ends its caller may be the one that is meant."""
        party = call.party
        self.serves(party)
        self._questions.told(party)
        self.notify(method, self._questions.related.outward(params, call))
        return None

    def serves(self, party: str) -> None:
        """Something was, or is, asked here for a party."""
        if self.sole is not None and self.sole != party:
            self.sole = None if self.sole else party

    def know(self, book: Book) -> None:
        """Learn who has the tasks of this connection."""
        self._questions.related.book = book

    async def fetch(
        self, method: str, params: dict[str, Any], timeout_s: float, whose: str = "", *, most: int = 0
    ) -> bytes:  # fmt: skip
        """Ask for something on the gateway's own behalf, or for a party that has no call here: what the server says or asks for
        the sake of that is nobody else's. Raises `ServerFailed`; `AnswerTooLong` for one of more than `most` bytes, if that is given."""
        # The number that `_once` takes: nothing is awaited between here and there.
        ident, deadline = self._next, self._loop.time() + timeout_s
        if whose:
            self.serves(whose)
            self._questions.stays(ident, whose)
        outcome = await self._once(method, params, None, None, deadline, short=most > 0)
        if whose and not (isinstance(outcome, Failure) and outcome.reason == EXPIRED.reason):
            self._questions.laid(ident)
        if outcome is _UNREAD or (isinstance(outcome, Answer) and 0 < most < len(outcome.raw)):
            raise failures.AnswerTooLong(f"{method}: the answer has more bytes than are read of it")
        if isinstance(outcome, Answer):
            return outcome.raw
        if isinstance(outcome, Failure) and outcome.error is not None:
            raise ServerRefused(f"{method}: ", outcome.error)
        raise ServerFailed(f"{method}: {outcome.message or outcome.reason}")

    async def listen(self, params: dict[str, Any], told: asyncio.Future[Any]) -> None:
        """Hold one `subscriptions/listen` to a modern server open; `told` is set to what the server honours when it has
        acknowledged it. Returns never; raises `ServerFailed` when the server ends it."""
        ident = str(self._next)
        self._notes.listening[ident] = told
        try:
            outcome = await self._once("subscriptions/listen", params, None, None, float("inf"))
        finally:
            del self._notes.listening[ident]
        error = outcome.error if isinstance(outcome, Failure) else None
        raise ServerRefused("", error) if error else ServerFailed("the server ended it")

    # -- requests ------------------------------------------------------------------------------------

    @abc.abstractmethod
    def _send(self, exchange: PendingRequest, method: str, params: dict[str, Any]) -> Reply | None:
        """Put one request on its way, whose answer will settle `exchange`; or what there is to say at once."""

    @abc.abstractmethod
    def _abandon(self, exchange: PendingRequest, reason: str) -> None:
        """Nobody waits for the answer any more."""

    def _over(self, exchange: PendingRequest) -> None:
        """A request was answered, or has failed. Told where a question waits, or where the request has `work`."""
        self._questions.answered(exchange)

    @abc.abstractmethod
    def _reply(self, frame: bytes) -> None:
        """Send a response to a request of the server. Must not raise."""

    def _remark(self, frame: bytes) -> None:
        """Send what the server may miss. Must not raise."""
        self._reply(frame)

    async def _once(
        self,
        method: str,
        params: dict[str, Any],
        call: Call | None,
        back: Back | None,
        deadline: float,
        *,
        short: bool = False,
    ) -> Outcome:
        """Put one request to the server, and wait for its answer; `short`: a large one is not read."""
        pending = self._pending
        if len(pending) >= self.spec.in_flight:
            return Refusal(
                "resource_exhausted",
                f"server {self.spec.id} already works on {self.spec.in_flight} calls",
                {"sent": False},
            )
        ident, clock = self._next, self._clock
        self._next = ident + 1
        exchange = PendingRequest(ident, call, back, clock, self._loop.create_future(), deadline)
        exchange.short = short
        kind = "list" if call is None else call.kind
        # Most params are sent as they are: nothing in them differs between caller and server (decision 0036).
        plain = kind != "method" and not self._outgoing.always and _ADAPTED.isdisjoint(params)
        shown = params if plain else self._adapted(exchange, method, params)
        said = self._send(exchange, method, shown)
        if said is not None:
            return read_reply(said, kind, self.modern, self.mgp)
        pending[ident] = exchange
        if deadline < clock.rings:
            clock.heed(deadline)
        return await self._replied(exchange, method, kind)

    async def _replied(self, exchange: PendingRequest, method: str, kind: str) -> Outcome:
        """Wait for the answer to a request that was sent."""
        try:
            reply = await exchange.future
        except asyncio.CancelledError:
            self._left(exchange)
            raise
        finally:
            del self._pending[exchange.ident]
        if reply is EXPIRED:
            self._abandon(exchange, exchange.why)
            return exchange.expired(self.spec.id, method)
        self._ended_by_answer(exchange)
        if is_large(reply):
            if exchange.short:
                return _UNREAD
            return await read_large(reply, kind, self.modern, self.mgp)
        return read_reply(reply, kind, self.modern, self.mgp)

    def _ended_by_answer(self, exchange: PendingRequest) -> None:
        self._questions.lives.answered(exchange)
        if self._questions.held or exchange.work is not None:
            self._over(exchange)

    def _left(self, exchange: PendingRequest) -> None:
        """Its caller is gone. An answer that came right before ends it all the same: no other would."""
        if exchange.answered:
            self._ended_by_answer(exchange)
        else:
            self._abandon(exchange, "the caller cancelled the call")

    def _adapted(
        self, exchange: PendingRequest, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """The params of one request as the server is to see them."""
        call = exchange.call
        if "_meta" in params or "inputResponses" in params:
            params = self._questions.related.outward(params, call)
        if self._outgoing.always or not _OURS.isdisjoint(params):
            params, exchange.token = self._outgoing.adapted(params, call, exchange.ident)
        if call is not None and call.kind == "method":
            exchange.task = task_asked(method, params)
        return params

    async def _rounds(
        self, method: str, params: dict[str, Any], call: Call, back: Back, deadline: float
    ) -> Outcome:
        """Ask a legacy caller what a modern server wants to know, and repeat the call with it."""
        current = await self._once(method, params, call, back, deadline)
        for _ in range(_ROUNDS):
            try:
                interim = read_interim(current.raw) if isinstance(current, Answer) else None
            except TooMuchAsked as problem:
                return Failure("upstream_error", f"server {self.spec.id} {problem}")
            if interim is None:
                return current
            since = self._loop.time()
            answers = await ask_all(interim, back, self.spec.id)
            if isinstance(answers, Failure):
                return answers
            deadline += self._loop.time() - since  # a person's time is not the tool's
            again = retry_params(params, answers, interim.state)
            current = begun(await self._once(method, again, call, back, deadline))
        return Failure("upstream_error", f"the server asked more than {_ROUNDS} times in one call")

    # -- what comes back -------------------------------------------------------------------------------

    def _notified(self, note: jsonrpc.Notification, stream: PendingRequest | None = None) -> None:
        """Take a notification; `stream` is the exchange on whose own stream it came, if any."""
        if not self._sendable.tells(note.method, self._hello):
            self.dropped += 1
            self._sendable.warn(note.method)
        elif isinstance(params := params_of(note), str):
            self.dropped += 1
            self._sendable.unread(note.method, params)
        else:
            self._notes.take(note.method, params, stream)

    def told(self, method: str, params: dict[str, Any]) -> None:
        """Pass on what the server says of no call."""
        self.sink.said(self, method, params)

    def _may_ask(self, method: str) -> bool:
        return self._sendable.asks(method, self._hello)

    def _drop(self, what: str) -> None:
        self.dropped += 1
        log.debug("server %s: %s", self.spec.id, what)
