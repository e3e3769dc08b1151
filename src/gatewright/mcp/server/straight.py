"""`StraightWay`: fast path of prepared `tools/call` over HTTP, without a task, from body to server pipe; others take the pipeline.

A call belongs to a session, or stands alone under a modern head whose client says of itself what it said before: then all that `ModernHttp.again`
compares is compared here.

A call that is not prepared, or in any way unusual, is left to the walk before anything was done. No task, future or coroutine while nobody has
to wait. One to which something unusual happens on its way becomes an ordinary call (`StraightCall.promote`): a task goes on with it through the
kernel's walk, as if it had waited there from the start.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Coroutine
from functools import partial
from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Call, Client, Outcome, Refusal, Unrecorded
from gatewright.mcp.protocol import outcomes
from gatewright.mcp.protocol.ended_calls import marked
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import HttpReply
from gatewright.mcp.server.http_request import alone
from gatewright.mcp.server.http_responses import Whole
from gatewright.mcp.server.http_sessions import IDLE_S, HttpSession, Sessions
from gatewright.mcp.server.modern_http import gone, reply_of
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import Presented, ServerContext
from gatewright.mcp.wire.plain_call import plain_call
from gatewright.mcp.wire.versions import METHODS
from gatewright.prepared import PLAIN, Prepared, PreparedCalls

__all__ = ["LONGEST", "StraightCall", "StraightWay"]

log = logging.getLogger("gatewright.mcp.server")

LONGEST = 4096
"""Bytes of a message; a longer one takes the walk."""
_METHOD = "tools/call"
_SPEC = METHODS[_METHOD]
_ANSWER = b'{"jsonrpc":"2.0","id":%b,"result":%b}'


class StraightWay:
    """Of one endpoint."""

    def __init__(
        self,
        place: Any,
        front: ServerContext,
        sessions: Sessions,
        parked: PendingInputs[ServedRequest],
        kept: PreparedCalls,
    ) -> None:
        """`place` (`http_app.App`) has what is `ours` now. `kept` is all that is prepared."""
        self._place, self._kept = place, kept
        self.front, self.sessions, self.parked = front, sessions, parked
        self.loop = asyncio.get_running_loop()
        self._longest = min(LONGEST, front.frame_bytes)
        self._by_id = sessions.by_id

    def serve(self, ours: object, said: HttpHeaders, profile: str, whole: Whole) -> bool:
        """Send a call whose headers were looked at, under what was `ours` then; False where it has to take the walk, and nothing was done.

        Who asks is asked of the gate `authenticate` alone: whether this credential is still that of the caller whose calls are prepared."""
        if ours is not self._place.ours or self.front.protected is not None:
            return False
        going = None
        try:
            going = self._going(whole, said, profile)
            if going is None or not going.prepared.begin(going):
                return False
            whole.straight, session = going, going.session
            if session is not None:
                session.peer.running[going.call.request] = going
                session.standing.used = going.since
                if session.peer.shown.credential is not said.credential:
                    session.shows(going.call.caller, said.credential)
                self._by_id.move_to_end(said.session or "")
                if session.primed and said.reads_streams:
                    self.sessions.overdue(going)
        except Exception:  # the walk finds it again; nobody is to send it again where it was sent
            log.exception("a prepared call broke; it goes on as an ordinary one")
            if going is None or not going.ident:
                return False
            going.promote()
        return True

    def _going(self, whole: Whole, said: HttpHeaders, profile: str) -> StraightCall | None:
        """The prepared call that is asked for, ready to be sent; None where it is none, or not quite."""
        front, introduction, body, session = self.front, said.introduction, whole.body, None
        now = front.clock()
        client: Client | None
        if introduction is None:
            session = self._by_id.get(said.session or "")
            if (
                session is None
                or session.primed is None
                or session.peer.profile != profile
                or now - session.standing.used > IDLE_S
            ):  # nothing is to be looked at then (`Sessions.find`) but who asks
                return None
            client = session.peer.conversation.client
        else:  # before the first call that its head names nothing is known of it
            client = introduction.client
        owner = session or said
        known = owner.prepared
        if client is None or type(body) is not bytes or whole.unusual or not front.settled:
            return None
        if known is None or known.client is not client:
            owner.prepared = self._kept.of(client)
            return None
        short = known.by_name and len(body) <= self._longest
        read = plain_call(body, front.limits) if short else None
        if read is None:
            return None
        request, params, size = read
        name = params.get("name")
        # Of a client without a session as `read_modern` and `ModernHttp.again` have it. (Of a session nothing is modern that has no `_meta`.)
        if introduction is not None and (
            introduction.again(params.pop("_meta", None), front.face) is None or name != said.called
        ):
            return None
        usual = type(name) is str and params.keys() <= PLAIN
        prepared: Prepared | None = known.by_name.get(name) if usual else None
        if prepared is None or (
            session is not None
            and (
                prepared.caller.who != session.peer.caller.who  # its limits: `fits`
                or (session.primed and said.small_events)
                or request in session.peer.running
            )
        ):
            return None
        ident, trace = (front.made or front.more_ids()).pop()
        call = replace(
            prepared.like,
            id=ident,
            params=params,
            trace_id=trace,
            credential=said.credential,
            facts=prepared.facts.copy(),
            request=request,
            size=size,
        )
        going = StraightCall(self, prepared, call, whole, session, said)
        going.since = now
        return going


class StraightCall:
    """One such call, in every place where an ordinary one is known: to its session (`server_context.Running`), to the kernel, to the
    connection of its server (`pending_requests.PendingRequest`), and to the record (`turn_writes.Leaving`)."""

    # On the class what stays as it is in most calls, which are answered, and nothing else ever happens to them. What is another in each
    # stands in the object alone: an attribute that is in both is looked up the slow way.
    refusal: Refusal | None = None
    """Why it is to end."""
    task: Any = True  # of the kernel's: it can be ended
    sent = True
    trail: Any = None
    rest: Any = None
    """What is left to do with it, once the walk goes on with it."""
    exchange: Any = None
    became: weakref.ref[Any] | None = None
    """What the kernel knows it as, once it is an ordinary call."""
    token: Any = None
    over = answered = False
    """While it is there its server has not answered it: then it is an ordinary one, or none."""
    _served: ServedRequest | None = None
    """As which it goes on; None while it is no ordinary call."""
    _reply: HttpReply | None = None

    due: float
    """When its time is over, in the loop's seconds."""
    slot: int
    """Where its intent is noted."""
    started: float
    since: float
    """When it came, by the clock of the endpoint."""
    asked: tuple[str, int]
    """The digest of its arguments, and how many bytes they have."""
    spent_s: float

    def __init__(
        self,
        way: StraightWay,
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
        """Under which its server knows it, once it does."""
        self.done = False
        """Its answer has come, or it is an ordinary call by now."""
        self.answer: Outcome | None = None
        """What its caller sees once that is recorded, or cannot be."""

    @property
    def shown(self) -> Presented:
        """Who asked for it, and with what."""
        return Presented("http", self.call.caller, self.call.credential)

    # -- for the connection of its server

    def ordinary(self) -> Any:
        """As what it goes on (`PendingRequest.ordinary`)."""
        self.promote()
        return self.exchange

    @property
    def party(self) -> str:
        """Whose it is (`PendingRequest.party`)."""
        return self.call.party

    def settle_plainly(self, ident: int, result: bytes) -> bool:
        """Take what nearly all servers answer: a result, and nothing else. (What they answer otherwise the ordinary one takes.)"""
        prepared, call = self.prepared, self.call
        try:
            plain = prepared.is_plain(result)
            for note in prepared.notes if plain else ():
                note(call)
        except Exception:  # whatever it is, the filter breaks once more, and then its call ends
            log.exception("whether the answer to call %s is plain cannot be told", call.id)
            plain = False
        if not plain:
            settled: bool = self.ordinary().settle_plainly(ident, result)
            return settled
        self.done, self.answer = True, Answer(result)
        if prepared.odd:
            prepared.odd -= 1
        try:
            prepared.line.over(self)
            prepared.kept.forwarded.discard(self)
            prepared.recorder.answered(self, call, len(result))
        except Exception:  # nobody else would answer its client
            log.exception("the end of call %s broke", call.id)
            self.failed(Unrecorded("the audit trail is broken; see the gateway's log"))
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
        """How it ends, once the walk goes on with it, whose own object is `back`. Raises only the cancellation of its task."""
        self.became = weakref.ref(back)
        if self.refusal is not None:
            back.end(self.refusal)
        exchange, self.exchange = self.exchange, None  # whose way back leads here
        ends: Coroutine[Any, Any, Outcome] = self.prepared.line.came(self, exchange, call, back)
        return ends

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

    # -- its end

    def failed(self, problem: Unrecorded) -> None:
        """Its end could not be written (`turn_writes.Leaving`)."""
        if self.answer is None:
            return
        self.answer = marked(self.call, Refusal("audit_unavailable", str(problem)))
        try:
            self.prepared.recorder.lost(self)
        finally:
            self.leave()

    def leave(self) -> None:
        """Its end is in the trail, or never will be: tell all who hear of that, and its client."""
        # Taken away, so that it leaves once: without words the walk would make the call anew.
        answer, self.answer = self.answer, None
        if answer is None:
            return
        call, session, raw = self.call, self.session, None
        request = call.request
        self.prepared.ended(self, answer, type(answer) is Answer)
        if type(answer) is Answer and session is None:
            raw = outcomes.plain(answer, _METHOD, call.client, self._way.front.tail)
        elif type(answer) is Answer and session is not None:
            raw = answer.raw
            session.peer.running.pop(request, None)
        if raw is None or not self.whole.answer_json(_ANSWER % (request, raw)):
            self._go_on(answer)

    def promote(self) -> None:
        """From now on it is an ordinary call."""
        if not self.done:
            self.done = True
            self.exchange = self.prepared.line.promote(self)
            self.prepared.promoted(self)
            self._go_on(None)

    def _go_on(self, said: Outcome | None) -> None:
        call, way, whole, session = self.call, self._way, self.whole, self.session
        if session is None:
            peer = alone(way.front, way.parked, call.caller, call.credential, call.profile)
            reply = reply_of(whole.send, whole, self._said, way.front.queue_bytes)
            whole.when_gone(partial(gone, peer, call.request))
        else:
            peer = session.peer
            reply = way.sessions.reply(whole.send, whole, self._said, session, ())
            reply.shown = self.shown
        inbound = Inbound(call.request, _METHOD, call.params, call.client, _SPEC, None, call.size)
        reply.inbound = inbound
        self._reply, self._served = reply, ServedRequest(peer, inbound, reply)
        self._served.shown = self.shown
        peer.running[call.request] = self  # as which it waits for its task: its id is not free
        whole.go_on(self._run(peer, self._served, said))

    async def _run(self, peer: ClientSession, served: ServedRequest, said: Outcome | None) -> None:
        """Until this begins it is `self` that its client can cancel: a request that is cancelled before would never be walked."""
        call = self.call
        peer.running[call.request] = served
        await served.run(call.request, call, said)
