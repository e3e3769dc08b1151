"""`CallbackBook`: puts servers' MGP callbacks (§13.4) and the gateway's confirmations to callers, or as elicitation; takes answers; audits.

The ids that clients see are the gateway's own: random, bound to the caller, the endpoint, the profile and the session that were asked, and to the
limits of the credential whose call it is (`mcp.server.shown_rights`), and good for one answer. The record has a digest of them: every key of a
caller may hear of that. A client that negotiated callbacks and answers no elicitation gets the gateway's own question, whether a call
may run, as a callback as well.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, Literal

import msgspec

from gatewright.audit.records import Actor, Subject
from gatewright.audit.trail import AuditLog
from gatewright.call import (
    Answer,
    Back,
    Call,
    CannotAsk,
    Event,
    Failure,
    Outcome,
    Question,
    Unrecorded,
    Who,
)
from gatewright.chunk_way import ChunkEnd, chunk_end
from gatewright.events.methods import negotiated
from gatewright.kernel import Further
from gatewright.mcp.protocol.callbacks import (
    LONGEST_S,
    Callback,
    flaw_of_response,
    form_of,
    read_callback,
    response_of_form,
)
from gatewright.mcp.protocol.mcp_server import can_answer
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.server.shown_rights import at_least, shown_in
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.servers.elicitation import ELICIT

__all__ = ["OPEN_EACH", "RESPOND", "CallbackBook"]

RESPOND = "mgp/callback/respond"

OPEN_EACH = 100
"""How many callbacks one caller may have open."""

_REMEMBERED = 1000
_PATIENCE_S = 120.0
_SHOWN = 256
_AT_ONCE = 4

End = Literal["answered", "ended"]
_Place = tuple[Who, str, str, str | None]
_Bound = tuple[_Place, Presented]
"""To whom a callback belongs and where it can be answered, and who was asked, with what."""


class _Open(msgspec.Struct, eq=False):
    call: Call
    callback: Callback
    answer: asyncio.Future[str]
    server: str


def _bound(call: Call) -> _Bound:
    return (call.caller.who, call.door, call.profile, call.session), shown_in(call)


def _is_of(call: Call, bound: _Bound | None) -> bool:
    """Whether whoever makes a call may answer what is bound so."""
    if bound is None:
        return False
    (place, shown), (theirs, former) = _bound(call), bound
    return place == theirs and at_least(shown, former)


class CallbackBook:
    """The callbacks that wait for answers."""

    def __init__(self, audit: AuditLog, random: Callable[[int], bytes]) -> None:
        self._audit = audit
        self._random = random
        self._open: dict[str, _Open] = {}
        self._ending: deque[tuple[Call, Callback, str]] = deque()
        """Those whose end is still to be noted."""
        self._over: OrderedDict[str, tuple[_Bound, End]] = OrderedDict()

    # -- the way back of calls -----------------------------------------------------------------------

    def around(self, call: Call, back: Back, further: Further) -> Coroutine[Any, Any, Outcome]:
        """The kernel's hook: whatever goes to one server may ask by callbacks."""
        if call.kind == "list":
            return further(call, back)
        return further(call, _Asking(self, call, back))

    def informing(self, call: Call, event: Event) -> Event:
        """What a server only lets its caller know: as a callback, or as a line of the log to clients of plain MCP."""
        if negotiated(call):
            return Event(CALLBACK, {"callback_id": self._mint(), **event.params})
        said = {"level": "info", "logger": "callback", "data": event.params.get("message", "")}
        return Event("notifications/message", said)

    async def ask(self, call: Call, back: Back, question: Question) -> dict[str, Any]:
        """Put a server's callback, and wait for the response. Raises `CannotAsk`."""
        callback = read_callback({"callback_id": 0, **(question.params or {})})
        if negotiated(call):
            return {"response": await self._asked(call, back, callback, question.server)}
        if not can_answer(call.client, ELICIT):
            raise CannotAsk("its client answers neither MGP callbacks nor elicitation")
        form = {"mode": "form", "message": callback.message, "requestedSchema": form_of(callback)}
        self._record("asked", call, callback, question.server, {"by": "elicitation"})
        said: str | None = None
        try:
            answer = await back.ask(Question(ELICIT, form, server=question.server))
            said = response_of_form(callback, answer)
        finally:
            self._note(call, callback, question.server, said)
        if said is None:
            raise CannotAsk("its user gave no answer")
        return {"response": said}

    async def confirm(self, call: Call, back: Back, question: Question) -> dict[str, Any]:
        """The gateway's own question whether a call may run, answered as the form that it is. Raises `CannotAsk`."""
        message = _whole(question.params or {})
        callback = Callback(0, "confirmation", message, ("confirm", "cancel"), _PATIENCE_S)
        if await self._asked(call, back, callback, "") == "confirm":
            return {"action": "accept", "content": {"confirm": True}}
        return {"action": "decline"}

    async def _asked(self, call: Call, back: Back, callback: Callback, server: str) -> str:
        mine = [one for one in self._open.values() if one.call.caller.who == call.caller.who]
        if len(mine) >= OPEN_EACH:
            raise CannotAsk(f"{OPEN_EACH} callbacks of this caller wait for answers", -32000)
        ident = self._mint()
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        digest = sha256(ident.encode()).hexdigest()[:16]
        self._record("asked", call, callback, server, {"callback": digest, "by": "callback"})
        self._open[ident] = _Open(call, callback, answer, server)
        back.emit(Event(CALLBACK, {"callback_id": ident, "request_id": call.id, **callback.params}))
        try:
            async with asyncio.timeout(LONGEST_S):
                return await answer
        except TimeoutError:
            raise CannotAsk("nobody answered in time", -32000) from None
        finally:
            del self._open[ident]
            answered = answer.done() and not answer.cancelled()
            self._remember(ident, call, "answered" if answered else "ended")
            if not answered:
                self._end_later(call, callback, server)

    def _mint(self) -> str:
        return f"cb-{self._random(16).hex()}"

    def _remember(self, ident: str, call: Call, how: End) -> None:
        self._over[ident] = _bound(call), how
        if len(self._over) > _REMEMBERED:
            self._over.popitem(last=False)

    # -- answers ---------------------------------------------------------------------------------------

    async def respond(self, call: Call, back: Back) -> Outcome:
        """`mgp/callback/respond`."""
        if not negotiated(call):
            return Failure("method_not_found", f"Method not found: {call.method}")
        ident, response = call.params.get("callback_id"), call.params.get("response")
        if not isinstance(ident, str):
            return Failure("invalid_params", "callback_id must be a string")
        found = self._open.get(ident)
        if found is None or not _is_of(call, _bound(found.call)) or found.answer.done():
            return self._late(ident, call)
        flaw = flaw_of_response(found.callback, response)
        if flaw or not isinstance(response, str):
            return Failure("invalid_params", flaw, {"rule": "callback_response"})
        try:
            self._record("answered", found.call, found.callback, found.server, _chosen(found.callback, response))  # fmt: skip
        except CannotAsk as no:
            return Failure("audit_unavailable", no.message)
        found.answer.set_result(response)
        return Answer(jsonrpc.encode({"accepted": True, "callback_id": ident}), own=True)

    def _late(self, ident: str, call: Call) -> Failure:
        """What somebody hears whose answer nobody waits for: of callbacks of others no more than of none."""
        bound, how = self._over.get(ident, (None, None))
        if ident in self._open:
            bound, how = _bound(self._open[ident].call), "answered"
        if not _is_of(call, bound):
            said = "no callback of this id waits for an answer from you"
            return Failure("not_found", said, {"rule": "callback_unknown"})
        if how == "answered":
            said = "this callback was answered already; the first answer counts"
            return Failure("not_found", said, {"rule": "callback_answered"})
        said = "this callback is over: its time ran out, or the call that asked has ended"
        return Failure("not_found", said, {"rule": "callback_over"})

    # -- the record --------------------------------------------------------------------------------------

    def _record(
        self, what: str, call: Call, callback: Callback, server: str, more: Mapping[str, Any]
    ) -> None:
        """Write down what became of a callback. Raises `CannotAsk` where that cannot be."""
        target, caller = call.target, call.caller
        details = {"call_id": call.id, "type": callback.type, **more}
        try:
            self._audit.event(
                f"dev.gatewright.callback.{what}",
                actor=Actor(caller.kind, caller.id, caller.key_id),
                target=Subject(server or None, None if target is None else target.name),
                details=details,
                trace_id=call.trace_id,
            )
        except Unrecorded as problem:
            raise CannotAsk(f"it cannot be recorded: {problem}") from None

    def _end_later(self, call: Call, callback: Callback, server: str) -> None:
        """Note that nobody waits any more, some in each turn: with a call a hundred may end at once."""
        self._ending.append((call, callback, server))
        if len(self._ending) == 1:
            asyncio.get_running_loop().call_soon(self._note_some)

    def close(self) -> None:
        """The record is closed next: note what is left."""
        while self._ending:
            self._note(*self._ending.popleft(), None)

    def _note_some(self) -> None:
        for _ in range(min(_AT_ONCE, len(self._ending))):
            self._note(*self._ending.popleft(), None)
        if self._ending:
            asyncio.get_running_loop().call_soon(self._note_some)

    def _note(self, call: Call, callback: Callback, server: str, said: str | None) -> None:
        """The same of what has happened, which nobody can refuse any more."""
        with suppress(CannotAsk):
            if said is None:
                self._record("ended", call, callback, server, {})
            else:
                self._record("answered", call, callback, server, _chosen(callback, said))


def _chosen(callback: Callback, response: str) -> dict[str, Any]:
    """Of an answer, what was chosen of that which was offered; what somebody wrote is in no record."""
    return {"response": response[:_SHOWN]} if callback.options else {"characters": len(response)}


def _whole(form: Mapping[str, Any]) -> str:
    """All that a form says: a callback has no fields, and what a yes lets pass stands in the description of one."""
    fields = form.get("requestedSchema", {}).get("properties", {}).values()
    return "\n".join((form["message"], *(one["description"] for one in fields)))


class _Asking(msgspec.Struct, eq=False):
    """The way back of one call, on which callbacks can be asked."""

    _book: CallbackBook
    _call: Call
    _back: Back

    @property
    def behind(self) -> int:
        """Bytes that the caller has not taken yet: streams inside ask for it (`mcp.server.open_call`)."""
        found: int = getattr(self._back, "behind", 0)
        return found

    @property
    def waits_as(self) -> bytes:
        """Under which id its request waits (`mcp.server.streams`)."""
        found: bytes = getattr(self._back, "waits_as", self._call.request)
        return found

    def emit(self, event: Event) -> None:
        """Send one event; a callback that wants no answer as its caller can hear it."""
        if event.method == CALLBACK:
            event = self._book.informing(self._call, event)
        self._back.emit(event)

    def chunk_end(self) -> ChunkEnd | None:
        """Plain chunks are no callbacks."""
        return chunk_end(self._back)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question. Raises `CannotAsk`."""
        call, method = self._call, question.method
        if method == CALLBACK:
            return await self._book.ask(call, self._back, question)
        ours = method == ELICIT and not question.server
        if ours and negotiated(call) and not can_answer(call.client, ELICIT):
            return await self._book.confirm(call, self._back, question)
        return await self._back.ask(question)
