"""`StraightWay`: fast path of prepared `tools/call` over HTTP, without a task, from body to server pipe; others take the pipeline.

No task, future or coroutine while nobody has to wait. A call that is not prepared, or in any way unusual, is left to the walk before anything
was done. One to which something unusual happens later becomes an ordinary call (`StraightCall.promote`): a task goes on with
it through the kernel's walk, as if it had waited there from the start.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Client, Outcome, Refusal, Unrecorded
from gatewright.mcp.protocol.client_params import params_of
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.protocol.recovery import marked
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import HttpReply, Whole
from gatewright.mcp.server.http_sessions import HttpSession, Sessions
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_VERSION
from gatewright.mcp.wire.json_bounds import Limits
from gatewright.mcp.wire.versions import METHODS

__all__ = ["LONGEST", "StraightCall", "StraightWay"]

log = logging.getLogger("gatewright.mcp.server")

LONGEST = 4096
"""Bytes of a message; a longer one takes the walk."""
_METHOD = "tools/call"
_SPEC = METHODS[_METHOD]
_MODERN_MARK = META_VERSION.encode()
_ANSWER = b'{"jsonrpc":"2.0","id":%b,"result":%b}'
_PLAIN = frozenset(("name", "arguments"))


class _Line(Protocol):
    def promote(self, going: StraightCall, reply: Any) -> Any: ...

    def came(
        self, going: StraightCall, exchange: Any, call: Call, back: Back
    ) -> Coroutine[Any, Any, Outcome]: ...


class _Recorder(Protocol):
    def left(self, going: StraightCall) -> None: ...

    def lost(self, going: StraightCall) -> None: ...


class _Prepared(Protocol):
    """What was decided (`gatewright.prepared.Prepared`)."""

    client: Client
    caller: Any
    tool: Any
    target: Any
    facts: dict[str, Any]
    line: _Line
    policy: Any
    recorder: _Recorder

    def begin(self, going: StraightCall) -> bool: ...

    def answered(self, going: StraightCall, raw: bytes) -> bool: ...

    def promoted(self, going: StraightCall) -> None: ...

    def gone(self) -> None: ...

    def forget(self) -> None: ...

    def tell(self, call: Call, answer: Any, spent_s: float | None) -> None: ...


class StraightCall:
    """One such call, in every place where an ordinary one is known: to its session (`server_context.Running`), to the kernel, to the
    connection of its server (`pending_requests.PendingRequest`), and to the record (`prepared_trail.Told`)."""

    # On the class, since most calls are answered and nothing else ever happens to them.
    done = False
    """Its answer has come, or it is an ordinary call by now."""
    refusal: Refusal | None = None
    """Why it is to end."""
    task: Any = True  # of the kernel's: it can be ended
    sent = True
    ident = 0
    due = 0.0
    trail: Any = None
    rest: Any = None
    exchange: Any = None
    became: weakref.ref[Any] | None = None
    """What the kernel knows it as, once it is an ordinary call."""
    slot, started, spent_s = 0, 0.0, None
    asked = "", 0
    answer: Outcome | None = None
    """What its caller sees once that is recorded, or cannot be."""
    _ready = False
    """Whether all who hear of its end have: else its record was written before that."""
    _is_recorded = False
    _served: ServedRequest | None = None
    """As which it goes on; None while it is no ordinary call."""
    _reply: HttpReply | None = None

    def __init__(
        self,
        way: StraightWay,
        prepared: _Prepared,
        call: Call,
        whole: Whole,
        session: HttpSession,
        said: HttpHeaders,
    ) -> None:
        self._way = way
        self.prepared = prepared
        self.call = call
        self.whole = whole
        self._session = session
        self._said = said
        self.since = way.clock()

    # -- for the connection of its server

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
        if type(reply) is jsonrpc.Response and reply.result:
            self.done = True
            if self._answered(reply.result):
                self._ready = True
                if self._is_recorded:
                    self._leave()
                return True
            self.done = False
        self.promote(reply)
        return True

    def _answered(self, result: bytes) -> bool:
        try:
            return self.prepared.answered(self, result)
        except Exception:  # nobody else would answer its client
            log.exception("the end of call %s broke", self.call.id)
            if not self._is_recorded:
                self.failed(Unrecorded("the audit trail is broken; see the gateway's log"))
            self.prepared.tell(self.call, self.answer, None)
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

    def commit(self) -> None:
        """It takes long: begin the stream on which its client can take it up again."""
        self.promote()
        if self._reply is not None:
            self._reply.commit()

    # -- for the record

    def written(self, number: int) -> Callable[[], object] | None:
        """Its end is in the trail (`turn_writes.Waiter`): it leaves once all have heard of that."""
        try:
            self.prepared.recorder.left(self)
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
        self.prepared.gone()
        request, running = self.call.request, self._session.peer.running
        if type(answer) is not Answer:
            self._go_on(answer)
            return
        if running.get(request) is self:
            del running[request]
        if not self.whole.answer_json(_ANSWER % (request, answer.raw)):
            self.whole.go_on(self._replying().finish(request, Spelled(answer.raw)))

    def promote(self, reply: Any = None) -> None:
        """From now on it is an ordinary call, with this reply of its server or none yet."""
        if not self.done:
            self.done = True
            self.exchange = self.prepared.line.promote(self, reply)
            self.prepared.promoted(self)
            self._go_on(None)

    def _replying(self) -> HttpReply:
        whole = self.whole
        self._reply = self._way.sessions.reply(whole.send, whole, self._said, self._session, ())
        return self._reply

    def _go_on(self, said: Outcome | None) -> None:
        call, peer = self.call, self._session.peer
        inbound = Inbound(call.request, _METHOD, call.params, call.client, _SPEC, None, call.size)
        self._served = served = ServedRequest(peer, inbound, self._replying())
        self.whole.go_on(self._run(served, said))

    async def _run(self, served: ServedRequest, said: Outcome | None) -> None:
        """Until this begins it is `self` that its client can cancel: a request that is cancelled before would never be walked."""
        call = self.call
        self._session.peer.running[call.request] = served
        await served.run(call.request, call, said)


class StraightWay:
    """Of one endpoint."""

    def __init__(self, front: ServerContext, sessions: Sessions) -> None:
        self._front = front
        self.sessions = sessions
        self.loop = asyncio.get_running_loop()
        self.clock = front.clock
        kept = getattr(front.kernel, "prepared", None)
        self._known: dict[tuple[str, str], _Prepared] = {} if kept is None else kept.known

    @property
    def leads(self) -> bool:
        """Whether anything is prepared at all."""
        return bool(self._known)

    def serve(self, whole: Whole, said: HttpHeaders, profile: str) -> bool:
        """Send a call of a session, whose headers were looked at; False where it has to take the walk, and nothing was done.

        Who asks is asked of the gate `authenticate` alone: whether this credential is still that of the caller who has the session."""
        try:
            return self._served(whole, said, profile)
        except Exception:  # whatever it is, the walk finds it again
            log.exception("a prepared call broke before it was sent; it takes the walk")
            return False

    def _served(self, whole: Whole, said: HttpHeaders, profile: str) -> bool:
        front, body, named = self._front, whole.body, said.session
        if type(body) is not bytes or whole.unusual or named is None or not front.settled:
            return False
        read = _read(body, front.limits) if len(body) <= front.frame_bytes else None
        if read is None:
            return False
        message, params = read
        prepared = self._known.get((named, params["name"]))
        session = None if prepared is None else self.sessions.straight(named, profile)
        if prepared is None or session is None:
            return False
        peer, key, primed = session.peer, message.id, session.primed
        if peer.conversation.client is not prepared.client:
            prepared.forget()  # another client from now on, as far as levels go
            return False
        unusual = prepared.caller is not peer.caller or (primed and said.small_events)
        if unusual or key in peer.running:
            return False
        ident, trace = (front.made or front.more_ids()).pop()
        call = Call(
            ident,
            "http",
            "tool",
            _METHOD,
            params["name"],
            params,
            prepared.caller,
            prepared.client,
            trace,
            named,
            profile,
            None,
            prepared.target,
            prepared.tool,
            said.credential,
            prepared.facts.copy(),
            request=key,
            size=len(message.params),
        )
        going = StraightCall(self, prepared, call, whole, session, said)
        if not prepared.begin(going):
            return False
        peer.running[key] = going
        self._on_its_way(going, session, said)
        return True

    def _on_its_way(self, going: StraightCall, session: HttpSession, said: HttpHeaders) -> None:
        try:
            going.whole.took()
            self.sessions.used(said.session or "", session, said.credential)
            if session.primed and said.reads_streams:
                self.sessions.overdue(going)
        except Exception:  # it was sent, and nobody is to send it again
            log.exception("call %s goes on as an ordinary one", going.call.id)
            going.promote()


def _read(body: bytes, limits: Limits) -> tuple[jsonrpc.Request, dict[str, Any]] | None:
    """The call that a message is, where nothing about it is unusual."""
    if len(body) > LONGEST or body.find(_MODERN_MARK) >= 0:
        return None
    message = jsonrpc.parse(body, limits)
    if type(message) is not jsonrpc.Request or message.method != _METHOD:
        return None
    try:
        params = params_of(message)
    except ValueError:
        return None
    usual = params.keys() <= _PLAIN and type(params.get("name")) is str
    if not usual or message.trace_id is not None or message.id.find(b"\\") >= 0:
        return None
    return message, params
