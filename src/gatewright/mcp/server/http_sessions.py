"""`Sessions`: legacy HTTP sessions (MCP 2025-03-26 to 2025-11-25) bound to a caller, with resumable streams; ends idle and excess ones.

A session is no proof of identity: each request authenticates anew, and a session of another caller
answers exactly like one that never was.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Generator
from functools import partial
from itertools import takewhile
from operator import methodcaller
from typing import Any

from gatewright.call import Caller, Who
from gatewright.mcp.protocol.replay import FinishedStreams, Streams
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import HttpReply
from gatewright.mcp.server.http_responses import Send, Whole
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import Presented, ServerContext, Standing
from gatewright.mcp.server.shown_rights import at_least, same_rights
from gatewright.mcp.wire.versions import revision
from gatewright.transport.slices import begun, in_slices
from gatewright.transport.timers import Overdue

__all__ = ["IDLE_S", "HttpSession", "Sessions"]

IDLE_S = 3600.0
"""A session that nobody used for so long is over."""

SESSIONS = 10_000
"""How many sessions are kept; beyond that the longest unused ends."""

SESSIONS_EACH = 1_000
"""How many of them one caller may hold, so that nobody's sessions end by another's greed."""

_SWEEP_S = 60.0

Steps = Generator[None, None, None]


class HttpSession:
    """One session: its peer, its streams, and what others may see of it."""

    def __init__(self, peer: ClientSession, streams: Streams, standing: Standing) -> None:
        self.peer = peer
        self.streams = streams
        self.standing = standing
        self.prepared: Any = None
        """What is prepared of its client's calls (`prepared.OfClient`)."""
        self.primed: bool | None = None
        """Whether event streams open with an id; None before the handshake, which says so for good."""

    def shows(self, caller: Caller, credential: str | None) -> None:
        """A request came with this."""
        self.peer.shown = shown = Presented("http", caller, credential)
        own = self.streams.own
        if same_rights(own.whose, shown):  # its key was replaced, or its token refreshed
            own.whose = shown

    def carried(self) -> None:
        """Whoever came now carries the session's own stream, and is told on it from now on; with other rights than the former one, alone,
        and with less also without what was kept for that one."""
        own, shown = self.streams.own, self.peer.shown
        if not same_rights(own.whose, shown):
            own.pass_on(kept=at_least(shown, own.whose))
        own.whose = shown
        may = partial(self.peer.front.upstream.kept.withheld, shown.caller, self.peer.profile)
        own.retain(lambda about: not may(about))

    def is_primed(self) -> bool:
        """The same, and never None."""
        client = self.peer.conversation.client
        if client is None:
            return False
        self.primed = primed = revision(client.revision).primed
        return primed

    def is_over(self, now: float) -> bool:
        """Whether nobody used it for too long, uses it now or listens to it. `now` is monotonic seconds."""
        idle = now - self.standing.used > IDLE_S
        return idle and not self.streams.own.attached and not self.peer.busy


class Sessions:
    """All HTTP sessions of one endpoint. What is done to many of them is done to one a step."""

    def __init__(self, front: ServerContext, parked: PendingInputs[ServedRequest]) -> None:
        self._front = front
        self._parked = parked
        self.by_id: OrderedDict[str, HttpSession] = OrderedDict()
        """Those that are open, the longest unused first."""
        self._each: Counter[Who] = Counter()
        self._shelves: dict[Who, tuple[FinishedStreams, FinishedStreams]] = {}
        """What the sessions of one caller keep of finished streams, and of their own."""
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        overdue: Overdue[Any] = Overdue(front.stream_after_s, methodcaller("commit"))
        self.overdue = overdue.began
        """Takes what is to `commit` where it is not done after a while."""

    def open(self, caller: Caller, credential: str | None, profile: str) -> HttpSession:
        """A new session."""
        ident = self._front.random(32).hex()
        kept = self._shelves.setdefault(caller.who, (FinishedStreams(), FinishedStreams()))
        streams = Streams(self._front.queue_bytes, shelf=kept[0], owns=kept[1])
        peer = ClientSession(
            self._front,
            self._parked,
            caller,
            door="http",
            credential=credential,
            profile=profile,
            session=ident,
            send=lambda frame, about: streams.own.add(frame, about=about),
        )
        streams.own.whose = peer.shown
        peer.carrier = lambda: streams.own.whose
        session = self.by_id[ident] = HttpSession(peer, streams, self._front.standing[ident])
        session.standing.idle_s = IDLE_S
        session.standing.end = partial(self.close, ident)
        self._each[caller.who] += 1
        # Its own oldest first: the sessions of others end only where all together are too many.
        if self._each[caller.who] > SESSIONS_EACH:
            self.close(self._oldest(caller.who))
        elif len(self.by_id) > SESSIONS:
            self.close(next(iter(self.by_id)))
        self._sweep_later()
        return session

    def _oldest(self, owner: Who) -> str:
        return next(name for name, one in self.by_id.items() if one.peer.caller.who == owner)

    def find(
        self, ident: str | None, caller: Caller, credential: str | None, profile: str
    ) -> HttpSession | None:
        """The caller's session of this id in this profile; None for unknown, foreign and ended ones alike.

        `credential` is what the caller presented now: its key may have been replaced meanwhile.
        """
        if ident is None or (session := self.by_id.get(ident)) is None:
            return None
        peer, standing = session.peer, session.standing
        if peer.profile != profile or (peer.caller is not caller and peer.caller.who != caller.who):
            return None
        now = self._front.clock()
        if now - standing.used > IDLE_S and session.is_over(now):
            self.close(ident)
            return None
        standing.used = now
        shown = peer.shown
        if shown.credential is not credential or shown.caller is not caller:
            session.shows(caller, credential)
        self.by_id.move_to_end(ident)
        return session

    def reply(
        self,
        send: Send,
        whole: Whole | None,
        said: HttpHeaders,
        session: HttpSession,
        extra: tuple[tuple[bytes, bytes], ...],
    ) -> HttpReply:
        """The answer to a request of a session, which its client may resume."""
        reads, limit = said.reads_streams, self._front.queue_bytes
        primed = session.is_primed() if session.primed is None else session.primed
        reply = HttpReply(send, reads, limit, whole, session.streams, primed, extra)
        reply.shown = shown = session.peer.shown
        reply.meant = partial(self._front.upstream.kept.meant, shown.caller, session.peer.profile)
        if said.small_events:
            reply.small = True
            reply.commit_later(self._loop)
        elif primed and reads:
            self.overdue(reply)
        return reply

    def close(self, ident: str) -> None:
        """End a session; unknown ones are ignored."""
        session = self.by_id.pop(ident, None)
        if session is not None:
            owner = session.peer.caller.who
            self._each[owner] -= 1
            if not self._each[owner]:
                # With its last session goes what its clients could have resumed.
                del self._each[owner], self._shelves[owner]
            session.peer.close()
            session.streams.end()

    def farewell(self) -> None:
        """End the own streams of all sessions, in slices; what runs in them goes on."""
        begun(_goodbyes(list(self.by_id.values())))

    async def close_all(self) -> None:
        """End every session. Returns when that is done."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await in_slices(self._closing(list(self.by_id)))

    def _closing(self, idents: list[str]) -> Steps:
        for ident in idents:
            self.close(ident)
            yield

    def __len__(self) -> int:
        return len(self.by_id)

    def _sweep_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SWEEP_S, self._swept)

    def _swept(self) -> None:
        self._timer = None
        self.sweep()
        if self.by_id:
            self._sweep_later()

    def sweep(self) -> None:
        """End what nobody used for `IDLE_S`, uses now or listens to, in slices. Done by itself every minute."""
        now = self._front.clock()
        # The rest was used later.
        unused = takewhile(lambda one: now - one[1].standing.used > IDLE_S, self.by_id.items())
        begun(self._sweeping(list(unused), now))

    def _sweeping(self, unused: list[tuple[str, HttpSession]], now: float) -> Steps:
        for ident, session in unused:
            if session.is_over(now):  # none that is used since, as long as this has lasted
                self.close(ident)
            yield


def _goodbyes(every: list[HttpSession]) -> Steps:
    for session in every:
        session.streams.own.end()
        yield
