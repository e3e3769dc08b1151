"""The gateway as a room participant: serves members' MCP requests through all gates; posts the gates' dry-run verdict on each proposal.

What a participant asks of it enters the kernel as from any other endpoint, with the participant as the caller: the same
gates, filters and record. It is asked through MCP, so each participant who asks has a host of its own here, over a pipe
that leads into the room. The id of the envelope stands for the trace where the request has none, and the proposal's
where the request fulfils one, so that the record tells proposal, fulfilment and call together.

Beside a proposal that is put to it, it says what the gates would say of it: to each who could fulfil it of its own request, and to
everybody whether it would pass.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

import msgspec

from gatewright.call import ANONYMOUS, Call, Caller
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.server.duplex import Duplex
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.payload import Proposed, Said, kind_of
from gatewright.rehearsal import Verdict
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.fulfilling import fulfilling
from gatewright.rooms.hub import Hub
from gatewright.rooms.in_process import Inside
from gatewright.rooms.participants.errors import CallError, GoneError, RoomError
from gatewright.rooms.participants.participant import Heard
from gatewright.rooms.participants.shared_session import spelled
from gatewright.transport.slices import in_slices

__all__ = ["DOOR", "GatewayParticipant", "Rehearse"]

log = logging.getLogger("gatewright.doors")

DOOR = "room"
_REVISION = "2025-06-18"
"""What is spoken with somebody who asks without a handshake."""
_ASKED = 8
"""For how many who could fulfil a proposal the gates are asked."""
DRY_RUNS = 8
"""For how many proposers the gates are asked at once; each proposer's proposals are looked at one after the other."""
_WAITING = 4
"""How many more of a proposer's proposals may wait for that. Beyond both, proposals go without."""
_PAYER = "dry runs"
HOSTS = 1000
"""How many participants of a room are remembered as hosts."""
_CROWDED = "too many participants ask at once; ask again"

Rehearse = Callable[[Call], Awaitable[Sequence[Verdict]]]
"""What each gate would say of a call that is not made."""


class GatewayParticipant:
    """See the module's text. One for a topic; `seat.sit()` takes its place."""

    def __init__(
        self,
        front: ServerContext,
        hub: Hub,
        callers: RoomCallers,
        rehearse: Rehearse,
        *,
        topic: str,
        name: str = "gatewright",
        profile: str = "",
    ) -> None:
        self.seat = Inside(
            hub, topic=topic, name=name, responder=self._respond, closed=self._closed
        )
        self.participant = self.seat.participant
        self.participant.watchers.append(self._watch)
        self.profile = profile
        self.topic = topic
        self.front = front
        self.callers = callers
        self._rehearsed = rehearse
        self._hub = hub
        self._hosts: dict[str, _Host] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._proposed: dict[str, deque[tuple[Envelope, Proposed]]] = {}
        """Proposer → its proposals whose dry runs wait behind the one that is under way."""

    def _closed(self) -> None:
        for host in list(self._hosts.values()):
            host.close()
        self._hosts.clear()
        for task in list(self._tasks):
            task.cancel()

    # -- requests

    async def _respond(self, frame: bytes, envelope: Envelope) -> bytes | None:
        if envelope.by != self.who(envelope.sender):
            return None  # another is called so now, or nobody: neither has asked, nor is to hear the answer
        host = self._host(envelope.sender)
        if host is None:
            ident = jsonrpc.decode_members(frame).get("id")
            return None if ident is None else jsonrpc.error(bytes(ident), (-32000, _CROWDED))
        answer = await host.ask(frame, envelope.correlation_id or envelope.id)
        return answer if host.is_there else None

    def who(self, participant: str) -> str:
        """Which of those who may be called so is here."""
        return self.callers.who(self.topic, participant)

    def _host(self, participant: str) -> _Host | None:
        known = self._hosts.get(participant)
        if known is not None and not known.is_there:
            self._hosts.pop(participant).close()  # another has come under its name
        host = self._hosts.pop(participant, None)
        if host is None:
            if len(self._hosts) >= HOSTS and not self._forget_idle():
                return None
            host = _Host(self, participant)
        self._hosts[participant] = host  # who asked last is forgotten last
        return host

    def _forget_idle(self) -> bool:
        """Make room for another: whoever asks for nothing now begins again when it asks. False where all do."""
        for participant, host in self._hosts.items():
            if not host.busy:
                del self._hosts[participant]
                host.close()
                return True
        return False

    def _watch(self, heard: Heard) -> None:
        envelope, content = heard.envelope, heard.content
        if isinstance(content, Said) and content.payload.get("event") == "leave":
            who = content.payload.get("participant")
            host = self._hosts.pop(who.get("id", ""), None) if isinstance(who, dict) else None
            if host is not None:
                host.close()
        elif (
            isinstance(content, Proposed)
            and envelope.sender != self.participant.id
            and self.participant.id in envelope.to
        ):
            self._want(envelope, content)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do something beside everything else."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- dry runs

    def _want(self, envelope: Envelope, proposed: Proposed) -> None:
        """Look at a proposal by and by: one costs eight rehearsals, and a participant may propose hundreds a second."""
        line = self._proposed.get(envelope.sender)
        if line is None and len(self._proposed) < DRY_RUNS:
            # This one is under way, and waits for no other.
            self._proposed[envelope.sender] = deque()
            self.start(self._rehearse_in_line(envelope, proposed))
        elif line is not None and len(line) < _WAITING:
            line.append((envelope, proposed))
        else:
            log.debug("no dry run of proposal %s: too many wait", envelope.id)

    async def _rehearse_in_line(self, envelope: Envelope, proposed: Proposed) -> None:
        proposer = envelope.sender
        line = self._proposed[proposer]
        try:
            while True:
                try:
                    await self._rehearse(envelope, proposed)
                except Exception:  # it goes for this one, and no other
                    log.exception("a dry run of a proposal of %s broke", proposer)
                if not line:
                    return
                envelope, proposed = line.popleft()
        finally:
            del self._proposed[proposer]

    async def _rehearse(self, envelope: Envelope, proposed: Proposed) -> None:
        operation = proposed.operation
        kind = kind_of("mcp/request", operation)
        others = self.participant.roster.others
        able = await in_slices(
            fulfilling(self._hub, self.topic, others, kind, proposer=envelope.sender, most=_ASKED)
        )
        about, passing = f"dry run of {kind.removeprefix('mcp/request:')}: ", 0
        for name in able:
            flaw = await self._flaw(name, operation.method, operation.params)
            passing += not flaw
            # To each what it may do itself: by that of others everybody could find out what is hidden from it.
            found = f"refused for {name}: {flaw}" if flaw else f"passes every gate for {name}"
            self._tell(about + found, envelope.id, to=[name])
        said = "passes" if passing else "passes the gates for nobody here"
        self._tell(about + (said if able else "nobody here may fulfil it"), envelope.id)

    def _tell(self, said: str, proposal: str, to: Sequence[str] = ()) -> None:
        try:
            self.participant.chat(said, to=to, about=proposal)
        except RoomError as problem:
            log.debug("a dry run was not told: %s", problem)

    async def _flaw(self, participant: str, method: str, params: dict[str, Any]) -> str:
        """Why the gates would refuse this call of a participant; empty where they would not."""
        host = self._host(participant)
        if host is None:
            return _CROWDED
        effect = host.inbound(jsonrpc.request(b'"dry"', method, params))
        if not isinstance(effect, mcp.Inbound):
            return str(getattr(effect, "message", "")) or f"{method} is nothing that gates judge"
        call = host.duplex.peer.call(effect)
        # Whoever would make the call has not asked for this, and is not to wait behind it with its own calls.
        facts = {**call.facts, "asked_by": _PAYER}
        verdicts = await self._rehearsed(msgspec.structs.replace(call, facts=facts))
        return _said(verdicts)


def _said(verdicts: Sequence[Verdict]) -> str:
    refused = [one for one in verdicts if one.refusal is not None]
    return "; ".join(
        f"{one.gate} ({one.refusal.reason}): {one.refusal.message}"
        for one in refused
        if one.refusal
    )


class _Host:
    """One participant, as a host of the gateway: a pipe whose other end is the room."""

    def __init__(self, kernel: GatewayParticipant, participant: str) -> None:
        self._kernel = kernel
        self._participant = participant
        self.who = kernel.who(participant)
        self._ids = itertools.count(1)
        self._waiting: dict[bytes, asyncio.Future[jsonrpc.Response]] = {}
        self._named: dict[bytes, set[bytes]] = {}
        """An id of the participant → ours: a room tells requests apart by their envelopes, so several may have one id."""
        self._asked: dict[bytes, asyncio.Task[None]] = {}
        """Questions that the participant has not answered, by the ids that they have inside; in the room each has one of its own."""
        self.duplex = self._fresh()
        self.duplex.peer.conversation.assume(_REVISION)

    def _fresh(self) -> Duplex:
        kernel = self._kernel
        credential = kernel.callers.handle(kernel.topic, self._participant, self.who)
        caller = kernel.callers.verify(credential)
        duplex = Duplex(
            kernel.front,
            caller if isinstance(caller, Caller) else ANONYMOUS,
            door=DOOR,
            credential=credential,
            profile=kernel.profile,
        )
        duplex.attach(self)
        return duplex

    @property
    def busy(self) -> bool:
        """Whether it waits for an answer."""
        return bool(self._waiting)

    @property
    def is_there(self) -> bool:
        """Whether it is still the one who is called so in the room."""
        return self._kernel.who(self._participant) == self.who

    def inbound(self, frame: bytes) -> mcp.Effect | None:
        """What a request would be to the kernel if this participant made it. It has not, so its own conversation hears nothing of it."""
        meant = mcp.Conversation(self._kernel.front.face)
        meant.assume(_REVISION)
        meant.client = self.duplex.peer.conversation.client or meant.client
        return meant.receive(jsonrpc.parse(frame))

    async def ask(self, frame: bytes, trace: str) -> bytes | None:
        """Put a request to the kernel; its response, or None for a notification. Ids of participants may repeat, so
        each request gets one of ours."""
        message = jsonrpc.parse(frame)
        if isinstance(message, jsonrpc.Notification):
            if message.method == "notifications/cancelled":
                self._cancel(spelled(message))
            else:
                self.duplex.message(frame)
        if not isinstance(message, jsonrpc.Request):
            return None
        members, ident = jsonrpc.decode_members(frame), message.id
        if message.method == "initialize":
            self._begin_again()  # the assumed conversation would refuse it as a second handshake
        own, theirs = (
            jsonrpc.encode(f"room-{next(self._ids)}"),
            jsonrpc.encode(jsonrpc.decode(ident)),
        )
        members["id"] = msgspec.Raw(own)
        members.setdefault("trace_id", msgspec.Raw(jsonrpc.encode(trace)))
        future: asyncio.Future[jsonrpc.Response] = asyncio.get_running_loop().create_future()
        self._waiting[own] = future
        named = self._named.setdefault(theirs, set())
        named.add(own)
        try:
            self.duplex.message(jsonrpc.encode(members))
            found = await future
        finally:
            self._waiting.pop(own, None)
            named.discard(own)
            if not named:
                self._named.pop(theirs, None)
        return (
            jsonrpc.error(ident, found.error)
            if found.error
            else jsonrpc.response(ident, found.result)
        )

    def _begin_again(self) -> None:
        """A handshake begins a conversation, also where one was assumed or had before: what runs in that ends."""
        self.close()
        self.duplex = self._fresh()

    def _cancel(self, members: dict[str, msgspec.Raw]) -> None:
        """Give up on the requests of an id, under those that they have here. Nobody waits for them any more: what is
        cancelled on a pipe is not answered."""
        params = jsonrpc.decode_members(members.get("params", msgspec.Raw(b"{}")))
        for own in tuple(self._named.get(bytes(params.get("requestId", b"")), ())):
            params["requestId"] = msgspec.Raw(own)
            self.duplex.message(jsonrpc.encode({**members, "params": params}))
            self._waiting[own].cancel()

    # -- what the kernel says: a pipe

    waiting = 0

    def send(self, message: bytes) -> None:
        """An answer goes to who waits for it; whatever else is said goes into the room."""
        parsed = jsonrpc.parse(message)
        if isinstance(parsed, jsonrpc.Response):
            future = self._waiting.get(parsed.id)
            if future is not None and not future.done():
                future.set_result(parsed)
        elif isinstance(parsed, jsonrpc.Request):
            self._asked[parsed.id] = task = self._kernel.start(self._question(parsed))
            task.add_done_callback(lambda _: self._asked.pop(parsed.id, None))
        elif isinstance(parsed, jsonrpc.Notification):
            self._tell(parsed)

    def _tell(self, notification: jsonrpc.Notification) -> None:
        params = jsonrpc.decode(notification.params) if notification.params else {}
        if notification.method == "notifications/cancelled":
            task = self._asked.get(jsonrpc.encode(params.get("requestId")))
            if task is not None:
                task.cancel()  # which tells the participant, under the id that it knows
            return
        if not self.is_there:
            return
        try:
            self._kernel.participant.notify(self._participant, notification.method, params)
        except RoomError as problem:
            log.debug("%s was not told: %s", self._participant, problem)

    async def _question(self, request: jsonrpc.Request) -> None:
        """What the kernel or a server asks of the participant, who answers as any participant does."""
        params = jsonrpc.decode(request.params) if request.params else {}
        participant = self._kernel.participant
        try:
            self._check()
            found = await participant.request(
                self._participant, request.method, params, timeout_s=300
            )
            self._check()  # another may have come under its name meanwhile, and have answered
            answer = jsonrpc.response(request.id, jsonrpc.encode(found))
        except CallError as problem:
            answer = jsonrpc.error(request.id, (problem.code, str(problem)))
        except RoomError as problem:
            answer = jsonrpc.error(request.id, (-32603, str(problem)))
        self.duplex.message(answer)

    def _check(self) -> None:
        """Raise `GoneError` where another is called so in the room now, or nobody."""
        if not self.is_there:
            raise GoneError(f"{self._participant} is not the one here who called")

    def close(self) -> None:
        """The participant is gone: what it asked for is cancelled."""
        self.duplex.closed("the participant left the room")
        for future in self._waiting.values():
            future.cancel()
        for task in self._asked.values():
            task.cancel()

    async def wait_closed(self) -> str:
        """A pipe's; nobody waits for this one."""
        return ""
