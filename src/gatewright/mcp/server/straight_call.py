"""`StraightCall`: one prepared `tools/call` over HTTP on its way: answered without a task, or promoted to an ordinary request.

No task, future or coroutine while nobody has to wait. One to which something unusual happens becomes an ordinary call (`promote`): a task goes on with
it through the kernel's walk, as if it had waited there from the start.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, NamedTuple, Protocol

from gatewright.call import Answer, Call, Client, Outcome, Refusal, Unrecorded
from gatewright.mcp.protocol import outcomes
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.protocol.recovery import marked
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import HttpReply, Whole
from gatewright.mcp.server.http_request import alone
from gatewright.mcp.server.http_sessions import HttpSession, Sessions
from gatewright.mcp.server.modern_http import gone, reply_of
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import METHODS
from gatewright.standing import Line, Recorder

__all__ = ["METHOD", "Endpoint", "Prepared", "StraightCall"]

log = logging.getLogger("gatewright.mcp.server")

METHOD = "tools/call"
_SPEC = METHODS[METHOD]
_ANSWER = b'{"jsonrpc":"2.0","id":%b,"result":%b}'


class Endpoint(NamedTuple):
    """What all calls of one endpoint have in common."""

    front: ServerContext
    sessions: Sessions
    parked: PendingInputs[ServedRequest]
    loop: asyncio.AbstractEventLoop


class Prepared(Protocol):
    """What was decided (`gatewright.prepared.Prepared`)."""

    caller: Any
    client: Client
    like: Call
    """What all its calls have in common."""
    facts: dict[str, Any]
    line: Line
    policy: Any
    kernel: Any
    recorder: Recorder

    def begin(self, going: StraightCall) -> bool: ...

    def answered(self, going: StraightCall, raw: bytes) -> bool: ...

    def promoted(self, going: StraightCall) -> None: ...

    def tell(self, call: Call, answer: Any, spent_s: float | None) -> None: ...


class StraightCall:
    """One such call, in every place where an ordinary one is known: to its session (`server_context.Running`), to the kernel, to the
    connection of its server (`pending_requests.PendingRequest`), and to the record (`prepared_trail.Told`)."""

    # On the class what stays as it is in most calls, which are answered, and nothing else ever happens to them. What is another in each
    # stands in the object alone: an attribute that is in both is looked up the slow way.
    refusal: Refusal | None = None
    """Why it is to end."""
    task: Any = True  # of the kernel's: it can be ended
    sent = True
    trail: Any = None
    rest: Any = None
    exchange: Any = None
    became: weakref.ref[Any] | None = None
    """What the kernel knows it as, once it is an ordinary call."""
    _served: ServedRequest | None = None
    """As which it goes on; None while it is no ordinary call."""
    _reply: HttpReply | None = None

    due: float
    slot: int
    started: float
    asked: tuple[str, int]
    since: float
    """When it came, by the clock of the endpoint."""

    def __init__(
        self,
        way: Endpoint,
        prepared: Prepared,
        call: Call,
        whole: Whole,
        session: HttpSession | None,
        said: HttpHeaders,
    ) -> None:
        """Without a `session` it stands alone."""
        self._way = way
        self.prepared = prepared
        self.call = call
        self.whole = whole
        self.session = session
        self._said = said
        self.ident = 0
        self.done = False
        """Its answer has come, or it is an ordinary call by now."""
        self.spent_s: float | None = None
        self.answer: Outcome | None = None
        """What its caller sees once that is recorded, or cannot be."""
        self._ready = self._is_recorded = False
        """Whether all who hear of its end have, and whether that is in the trail."""

    # -- for the connection of its server

    token: Any = None
    answered = False
    """While it is there its server has not answered it: then it is an ordinary one, or none."""

    def ordinary(self) -> Any:
        """As what it goes on (`PendingRequest.ordinary`)."""
        self.promote()
        return self.exchange

    @property
    def over(self) -> bool:
        """Whether its answer has come."""
        return self.done

    @property
    def party(self) -> str:
        """Whose it is (`PendingRequest.party`)."""
        return self.call.session or self.call.id

    def settle(self, reply: Any) -> bool:
        """Take the answer; False where there was one already."""
        if self.done:
            return False
        self.promote(reply)
        return True

    def settle_plainly(self, ident: int, result: bytes) -> bool:
        """The same of what `settle` is given by nearly all servers: a result, and nothing else."""
        if self.done:
            return False
        self.done = True
        try:
            plain = self.prepared.answered(self, result)
        except Exception:  # nobody else would answer its client
            log.exception("the end of call %s broke", self.call.id)
            plain = True
            if not self._is_recorded:
                self.failed(Unrecorded("the audit trail is broken; see the gateway's log"))
            self.prepared.tell(self.call, self.answer, None)
        if plain:
            self._ready = True
            if self._is_recorded:
                self._leave()
            return True
        self.done = False
        self.promote(jsonrpc.Response(b"%d" % ident, result))
        return True

    # -- for the kernel

    @property
    def policy(self) -> Any:
        """By what it was judged."""
        return self.prepared.policy

    def end(self, refusal: Refusal) -> None:
        """End it with this, though its server may have run it."""
        self.refusal = refusal
        self.promote()

    def came(self, call: Call, back: Any) -> Coroutine[Any, Any, Outcome]:
        """How it ends, once the walk goes on with it, whose own object is `back`."""
        self.became = weakref.ref(back)
        if self.refusal is not None:
            back.end(self.refusal)
        exchange, self.exchange = self.exchange, None  # whose way back leads here
        return self.prepared.line.came(self, exchange, call, back)

    # -- for its client

    def cancel(self, ident: bytes | None = None) -> None:
        """Its client gave it up, or went away. An answer that has come before that is on its way."""
        self.promote()
        if self._served is not None:
            # Once the walk has taken over: a task that is cancelled before it begins ends nothing in order.
            self._way.loop.call_soon(self._served.cancel, ident)

    def left(self) -> None:
        """Its client has gone away, which ends one that stands alone."""
        if self.session is None:
            self.cancel(self.call.request)
        else:
            self.promote()

    def commit(self) -> None:
        """It takes long: begin the stream on which its client can take it up again."""
        self.promote()
        if self._reply is not None:
            self._reply.commit()

    # -- for the record

    def written(self, number: int) -> Callable[[], object] | None:
        """Its end is in the trail (`turn_writes.Waiter`): it leaves once all have heard of that."""
        try:
            self.prepared.recorder.leave(self.slot)
        except Exception:
            log.exception("the intent of call %s could not be taken back", self.call.id)
        if self._ready:
            return self._leave
        self._is_recorded = True
        return None

    def failed(self, problem: Unrecorded) -> None:
        """Its end could not be written."""
        self.answer = marked(self.call, Refusal("audit_unavailable", str(problem)))
        try:
            self.prepared.recorder.lost(self)
        finally:
            if self._ready:
                self._leave()
            else:
                self.spent_s, self._is_recorded = None, True

    # -- its end

    def _leave(self) -> None:
        # Taken away, so that it leaves once: without words the walk would make the call anew.
        answer, self.answer = self.answer, None
        if answer is None:
            return
        self.prepared.kernel.in_flight -= 1
        raw, request, session = None, self.call.request, self.session
        if type(answer) is Answer and session is None:
            raw = outcomes.plain(answer, METHOD, self.call.client, self._way.front.tail)
        elif type(answer) is Answer and session is not None:
            raw, running = answer.raw, session.peer.running
            if running.get(request) is self:
                del running[request]
        if raw is None:
            self._go_on(answer)
        elif not self.whole.answer_json(_ANSWER % (request, raw)):
            self.whole.go_on(self._replying().finish(request, outcomes.Spelled(raw)))

    def promote(self, reply: Any = None) -> None:
        """From now on it is an ordinary call, with this reply of its server or none yet."""
        if not self.done:
            self.done = True
            self.exchange = self.prepared.line.promote(self, reply)
            self.prepared.promoted(self)
            self._go_on(None)

    def _replying(self) -> HttpReply:
        whole, way, said = self.whole, self._way, self._said
        self._reply = (
            reply_of(whole.send, whole, said, way.front.queue_bytes)
            if self.session is None
            else way.sessions.reply(whole.send, whole, said, self.session, ())
        )
        return self._reply

    def _client_session(self) -> ClientSession:
        if self.session is not None:
            return self.session.peer
        call, way = self.call, self._way
        return alone(way.front, way.parked, call.caller, call.credential, call.profile)

    def _go_on(self, said: Outcome | None) -> None:
        call, peer = self.call, self._client_session()
        inbound = Inbound(call.request, METHOD, call.params, call.client, _SPEC, None, call.size)
        self._served = served = ServedRequest(peer, inbound, self._replying())
        if self.session is None:
            self.whole.when_gone(partial(gone, peer, call.request))
        self.whole.go_on(self._run(peer, served, said))

    async def _run(self, peer: ClientSession, served: ServedRequest, said: Outcome | None) -> None:
        """Until this begins it is `self` that its client can cancel: a request that is cancelled before would never be walked."""
        call = self.call
        peer.running[call.request] = served
        await served.run(call.request, call, said)
