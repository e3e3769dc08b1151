"""`GroundhogPeer`: one client's Groundhog connection: authenticates it, answers session requests, runs tool requests in the kernel; audits.

Every request becomes a call of the kernel or is refused here; either way it is recorded before it is answered. A request gets a task of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Any

from msgspec.structs import replace

from gatewright.call import (
    Answer,
    Call,
    Caller,
    CannotAsk,
    Client,
    Event,
    Failure,
    Question,
    Refusal,
    Unrecorded,
)
from gatewright.dialects.groundhog import outcomes as bodies
from gatewright.dialects.groundhog.client_requests import ClientRequests
from gatewright.dialects.groundhog.identity import Asker, Standing
from gatewright.dialects.groundhog.sessions import Session
from gatewright.dialects.groundhog.types import Parts, Refused
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.in_flight import InFlight
from gatewright.mcp.server.server_context import Presented, trace_of
from gatewright.mcp.wire import groundhog as asked
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.permissions import groundhog_permission, held_permission
from gatewright.mcp.wire.versions import LATEST_LEGACY, METHODS, Method
from gatewright.transport.base import Closed, Pipe
from gatewright.transport.cancelled_tasks import let_go
from gatewright.transport.slices import by_and_by

__all__ = ["GroundhogPeer", "moment"]

log = logging.getLogger("gatewright.doors")

_CLIENT = Client(LATEST_LEGACY)
_METHOD = Method("method")
_CHARS = 200
_BROKEN = Failure("internal", "internal error; the details are in the gateway's log", once=True)
_SPOKEN = {-32700: "parse_error", -32602: "invalid_request"}


class _Unanswered(Exception):  # noqa: N818 - what happens, not what is wrong
    """The connection is closed instead of an answer."""


class _Deaf:
    """The way back of a call: Groundhog has no messages besides answers."""

    def emit(self, event: Event) -> None:
        """Nobody would understand it."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("a Groundhog client cannot be asked")


_DEAF = _Deaf()


class GroundhogPeer:
    """The receiver of one client's pipe. `attach` gives it the way back."""

    def __init__(
        self,
        parts: Parts,
        caller: Caller | None,
        *,
        door: str,
        credential: str | None,
        profile: str,
    ) -> None:
        """`caller` is None as long as nobody is authenticated."""
        self._parts = parts
        self._who = Standing(parts, caller, door=door, credential=credential, profile=profile)
        self._profile = profile
        self._pipe: Pipe | None = None
        self._asking = ClientRequests(self._send, parts.front.random)
        self._tasks: set[asyncio.Task[None]] = set()
        self._flight = InFlight()
        self._alarm: asyncio.TimerHandle | None = None
        self._waits = False
        self._provides: str | None = None
        """The name under which this connection answers for tools, once it has offered one."""

    # -- what the transport calls

    def attach(self, pipe: Pipe) -> None:
        """From now on answers go to this pipe. Who is not authenticated yet has so long for it."""
        self._pipe = pipe
        if self._who.caller is None:
            self._waits = True
            self._parts.waiting += 1
            patience = self._parts.terms.authentication_timeout_s
            self._alarm = asyncio.get_running_loop().call_later(patience, self.hang_up)

    @property
    def presented(self) -> Presented | None:
        """Who the client is, and with what it said so."""
        caller = self._who.caller
        return None if caller is None else Presented(self._who.door, caller, self._who.credential)

    @property
    def busy(self) -> bool:
        """Whether a request of the client is still to be answered."""
        return bool(self._tasks)

    def hang_up(self) -> None:
        """Close the connection."""
        if self._pipe is not None:
            self._pipe.close()

    def dismiss(self, why: Refusal) -> None:
        """Close it, because its credential is good no more: lines have no words for why."""
        self.hang_up()

    def message(self, data: bytes) -> None:
        """Take one message, or an array of them."""
        if self._who.is_too_much(data, len(self._tasks)):
            self.hang_up()
            return
        task = asyncio.get_running_loop().create_task(self._take(data, len(self._tasks)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(let_go)

    async def drained(self) -> None:
        """Wait until everything that was asked is answered."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def closed(self, reason: str) -> None:
        """The client is gone: what it runs ends, and so does a session that it never asked for."""
        self._pipe = None
        self._known()
        by_and_by([task.cancel for task in self._tasks])
        self._provide_no_more()
        self._who.leave()
        self._parts.front.lasting.discard(self)

    def _provide_no_more(self) -> None:
        """Whoever answered for tools over it does not any more: it is another caller's now, whose key says nothing of those, or gone."""
        if self._provides is not None:
            self._parts.providers.gone(self._provides)
            self._provides = None
        self._asking.close()

    def _send(self, message: bytes) -> None:
        if self._pipe is None:
            raise Closed("closed")
        self._pipe.send(message)

    def _known(self) -> None:
        """It is not waited for any more, as soon as somebody is authenticated or it is gone."""
        if self._who.caller is None and self._pipe is not None:
            return
        if self._waits:
            self._waits = False
            self._parts.waiting -= 1
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    async def _take(self, data: bytes, before: int) -> None:
        try:
            answer = await self.answer(data, busy=before >= self._parts.terms.in_flight)
        except _Unanswered:  # an unauthenticated client beyond what is recorded (`refusal_log`)
            self.hang_up()
            return
        if answer:
            with contextlib.suppress(Closed):  # then nobody is there to be told
                self._send(answer)

    # -- messages

    async def answer(self, data: bytes, *, busy: bool = False) -> bytes:
        """The answer to one message or array; empty where there is none."""
        limits = self._parts.front.limits
        if data.lstrip()[:1] != b"[":
            return await self._one(jsonrpc.parse(data, limits), busy)
        messages = jsonrpc.parse_many(data, limits)
        if isinstance(messages, jsonrpc.Malformed):
            return await self._one(messages, busy)
        answers = await asyncio.gather(*(self._one(one, busy) for one in messages))
        found = [one for one in answers if one]
        return b"[" + b",".join(found) + b"]" if found else b""

    async def _one(self, message: jsonrpc.Message, busy: bool) -> bytes:
        if isinstance(message, jsonrpc.Malformed):
            reason = _SPOKEN.get(message.code, "invalid_request")
            flaw = Failure(reason, message.message)
            return self._turned_down(message.id, "", flaw, self._trace(None))
        if isinstance(message, jsonrpc.Response):
            self._asking.answered(message)
            return b""
        if not isinstance(message, jsonrpc.Request):
            return b""  # nothing is done for a statement that nobody waits for
        trace = self._trace(message)
        try:
            refusal = self._flight.taken(message.id, self._parts.terms.in_flight if busy else 0)
            if refusal is not None:
                return self._turned_down(message.id, message.method, refusal, trace)
            return await self._flight.through(message.id, self._request(message, trace))
        except (_Unanswered, asyncio.CancelledError):
            raise
        except Unrecorded as problem:
            return self._error(message.id, Refusal("audit_unavailable", str(problem)), trace)
        except Exception:
            log.exception("a Groundhog request could not be served")
            return self._refuse(message.id, message.method, _BROKEN, trace)

    def _trace(self, request: jsonrpc.Request | None) -> str:
        """The trace of a request: what its sender says it is, where that can stand in a record."""
        own = trace_of({"trace_id": request.trace_id}) if request and request.trace_id else None
        return own or self._parts.front.random(16).hex()

    async def _request(self, request: jsonrpc.Request, trace: str) -> bytes:
        read = self._read(request)
        token = read.token if isinstance(read, asked.Hello) else None
        before = self._who.caller
        unknown = self._who.authenticate(token if request.method == "session/create" else None)
        if before is not None and before.who != self._who.known().who:
            self._provide_no_more()
            self._asking = ClientRequests(self._send, self._parts.front.random)
        self._known()
        if unknown is not None:
            return self._turned_down(request.id, request.method, unknown, trace)
        if isinstance(read, asked.Flaw):
            flaw = Failure(read.reason, read.message, read.details)
            return self._turned_down(request.id, request.method, flaw, trace)
        if isinstance(read, asked.Hello):
            return self._greet(request, read, trace)
        who, facts = self._who, self._provider() if isinstance(read, asked.Register) else {}
        # Before anything is waited for: a later message may bring another caller.
        asker = Asker(who.known(), who.credential, who.session(read.claims), facts)
        await self._parts.front.upstream.settled()
        return await self._ask(request, read, who.succeeded(asker, read.claims), trace)

    def _read(self, request: jsonrpc.Request) -> asked.Read:
        try:
            params = jsonrpc.decode(request.params) if request.params else {}
        except ValueError as problem:
            return asked.Flaw("invalid_request", f"params cannot be read: {problem}"[:_CHARS])
        return asked.read(request.method, params, self._parts.terms.version)

    # -- sessions

    def _greet(self, request: jsonrpc.Request, hello: asked.Hello, trace: str) -> bytes:
        who = self._who
        over = self._parts.count(who.known())
        if over is not None:
            return self._refuse(request.id, request.method, over, trace)
        creates = request.method == "session/create"
        found = who.create(hello.claims) if creates else who.asked(hello.claims)
        if isinstance(found, Refusal):
            return self._refuse(request.id, request.method, found, trace)
        said = self._view(found)
        if request.method == "session/close":
            who.close(found)
            said = {"closed": found.id}
        return jsonrpc.response(request.id, jsonrpc.encode(said))

    def _view(self, session: Session) -> dict[str, Any]:
        parts, caller = self._parts, self._who.known()
        return {
            "session_id": session.id,
            "user_context": parts.user(caller),
            "permissions": [groundhog_permission(one) for one in parts.held(caller)],
            "created_at": moment(session.created_at),
            "expires_at": moment(session.expires_at),
            "rate_limit_state": {"requests": session.calls, **parts.limits(caller)},
            "protocol_version": parts.terms.version,
        }

    # -- calls

    async def _ask(
        self,
        request: jsonrpc.Request,
        read: asked.Invoke | asked.Listing | asked.Register,
        asker: Asker,
        trace: str,
    ) -> bytes:
        if isinstance(asker.session, Session):
            asker.session.calls += 1
        call = await self._call(request, read, asker, trace)
        outcome = await self._parts.front.kernel.handle(call, _DEAF)
        if not isinstance(outcome, Answer) or outcome.tool_error:
            failure = bodies.failure_of(outcome)
            if isinstance(read, asked.Invoke):
                failure = bodies.with_path(failure, read.parameters)
            return self._error(request.id, failure, trace)
        if isinstance(read, asked.Invoke):
            result = bodies.succeeded(outcome, read.tool, call.facts, f"exec-{call.id}", trace)
        elif isinstance(read, asked.Listing):
            result = bodies.listed(outcome)
        else:
            result = jsonrpc.encode(bodies.data_of(outcome.raw))
        return jsonrpc.response(request.id, result)

    def _provider(self) -> dict[str, Any]:
        """Who registers a tool and stands behind it can be asked over this connection from now on, whatever
        sessions it has: the fact by which the registry finds it."""
        if self._pipe is None:
            return {}
        if self._provides is None:
            self._provides = self._parts.front.random(8).hex()
            self._parts.providers.connected(self._provides, self._asking)
        return {"connection": self._provides}

    async def _call(
        self,
        request: jsonrpc.Request,
        read: asked.Invoke | asked.Listing | asked.Register,
        asker: Asker,
        trace: str,
    ) -> Call:
        """The call that a request asks for. What speaks against the request already is in it, for the
        kernel to refuse and record like everything else."""
        front, facts = self._parts.front, dict(asker.facts)
        caller, session = asker.caller, asker.session
        if isinstance(read, asked.Invoke):
            name = await self._parts.names(self._profile, caller, read.tool, read.version)
            params: dict[str, Any] = {"name": name, "arguments": read.parameters}
            method = "tools/call"
            risk = self._parts.risk(read.parameters)
            facts = {"argument_risk": risk} if risk else {}
        elif isinstance(read, asked.Listing):
            method, params = "tools/list", {**read.filters, "described": True}
        else:
            method, params = "tools/register", read.params
        spec = METHODS.get(method, _METHOD)
        call = front.call(
            Inbound(request.id, method, params, _CLIENT, spec, trace),
            caller,
            door=self._who.door,
            credential=asker.credential,
            session=session.handle if isinstance(session, Session) else None,
            profile=self._profile,
        )
        wanted = read.claims.permissions
        return replace(
            call,
            doubt=session if isinstance(session, Refusal) else None,
            requested=None if wanted is None else frozenset(map(_canonical, wanted)),
            facts=facts,
        )

    # -- answers

    def _refuse(self, ident: bytes, method: str, outcome: Refusal | Failure, trace: str) -> bytes:
        """The answer to a request that never becomes a call, once it is recorded."""
        refused = Refused(self._who.caller, self._who.door, method[:100], trace, outcome)
        try:
            if not self._parts.note(refused):
                raise _Unanswered
        except Unrecorded as problem:
            outcome = Refusal("audit_unavailable", str(problem))
        return self._error(ident, outcome, trace)

    def _turned_down(
        self, ident: bytes, method: str, outcome: Refusal | Failure, trace: str
    ) -> bytes:
        """The answer to a request that is none, or comes too early: it counts like any other of its caller."""
        caller = self._who.caller
        over = None if caller is None else self._parts.count(caller)
        return self._refuse(ident, method, over or outcome, trace)

    def _error(self, ident: bytes, outcome: Refusal | Failure, trace: str) -> bytes:
        parts = self._parts
        # Who is nobody yet reads a sentence that stands in the manual.
        caller = self._who.caller
        trust = "community" if caller is None else parts.trust(caller)
        written = bodies.Written(trace, moment(parts.now()))
        return jsonrpc.error(
            ident, parts.spell(outcome, trust, written, strict=parts.terms.strict_codes)
        )


def moment(seconds: float) -> str:
    """A time as Groundhog writes it: RFC 3339 in UTC, whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _canonical(name: str) -> str:
    """A permission as grants spell it; what is none stays as it is, and nobody holds it."""
    return held_permission(name) or name
