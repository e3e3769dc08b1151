"""Groundhog sessions by owner: opens (also on first use), expires, closes; evicts at the limit, and remembers ids that ended.

A session has two names. Its `id` is what its user calls it, and may be chosen by the user, because the
specification has no way to be given one; its `handle` is what the kernel knows it by, random, and never
leaves the gateway. A session belongs to who opened it: for everybody else its id is a forgery. Where all places are taken, whoever has the
most gives up the oldest of them for somebody who has fewer.

Sessions end at a time that is fixed when they begin. Those that a connection never asked for end with it;
the others outlive it, so that one may come back, or use several connections, or HTTP.
Nothing here looks at a clock of its own, and nothing is swept by a timer: a session that is over is found
to be over by whoever asks next.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable

import msgspec

from gatewright.call import Caller, Refusal, Who

__all__ = ["ENDED", "Session", "Sessions"]

_REMEMBERED = 4096
"""So many ended sessions are remembered, to say that they ended and to keep their ids from others."""

_FOREIGN = Refusal(
    "bad_security_context",
    "security_context.session_id is not a session of this caller: leave it out, or open one with "
    "session/create",
)
ENDED = Refusal("auth_expired", "the session has ended: open another one with session/create")


class Session(msgspec.Struct, eq=False):
    """One session. Times are Unix seconds."""

    id: str
    handle: str
    caller: Caller
    created_at: float
    expires_at: float
    profile: str = ""
    calls: int = 0


class Sessions:
    """All of one gateway. `owners` is shared with the kernel's session gate: handle → `Caller.who`."""

    def __init__(
        self,
        owners: dict[str, Who],
        *,
        clock: Callable[[], float],
        random: Callable[[int], bytes],
        timeout_s: float = 3600.0,
        most: int = 100,
        ended: Callable[[str], None] = lambda handle: None,
    ) -> None:
        """`clock` gives Unix seconds; `ended` is told of the handle of each session that is over."""
        self._owners = owners
        self._clock = clock
        self._random = random
        self._ended = ended
        self.timeout_s = timeout_s
        self.most = most
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._past: OrderedDict[str, tuple[str, str, str]] = OrderedDict()

    def __len__(self) -> int:
        """How many are open."""
        self._sweep()
        return len(self._open)

    def open(self, caller: Caller, id: str | None = None, profile: str = "") -> Session | Refusal:
        """Begin a session, under the id that its user wants, or a random one. One that the same user has
        open already in this profile is that one; one that is somebody else's is refused, and so is one too many."""
        self._sweep()
        whose = caller.kind, caller.id, profile
        if id is not None:
            known = self._open.get(id)
            if known is not None:
                return known if _whose(known) == whose else _FOREIGN
            if self._past.get(id, whose) != whose:
                return _FOREIGN
        if len(self._open) >= self.most and not self._gave_way(caller):
            return self._too_many()
        now = self._clock()
        handle = self._random(16).hex()
        session = Session(id or handle, handle, caller, now, now + self.timeout_s, profile)
        self._open[session.id] = session
        self._past.pop(session.id, None)
        self._owners[handle] = caller.who
        return session

    def find(self, caller: Caller, id: str, profile: str = "") -> Session | Refusal:
        """The caller's session of this id. An id that nobody ever used becomes a session of the caller."""
        self._sweep()
        # Ended ids are kept from others: one of them could open it, and be sent what its former user still says.
        if id in self._past:
            return ENDED if self._past[id] == (caller.kind, caller.id, profile) else _FOREIGN
        return self.open(caller, id, profile)

    def alive(self, session: Session) -> bool:
        """Whether it has not ended."""
        return session.expires_at > self._clock() and self._open.get(session.id) is session

    def close(self, session: Session) -> None:
        """End it now."""
        if self._open.get(session.id) is session:
            del self._open[session.id]
            self._forget(session)

    def close_all(self) -> None:
        """End every one."""
        for session in list(self._open.values()):
            self.close(session)

    def _sweep(self) -> None:
        """End what is over. Oldest first; all last equally long, so the first that lives ends the search,
        unless the configuration changed that in between: then the others end when they are first."""
        now = self._clock()
        while self._open:
            session = next(iter(self._open.values()))
            if session.expires_at > now:
                return
            del self._open[session.id]
            self._forget(session)

    def _forget(self, session: Session) -> None:
        self._past[session.id] = _whose(session)
        if len(self._past) > _REMEMBERED:
            self._past.popitem(last=False)
        self._owners.pop(session.handle, None)
        self._ended(session.handle)

    def _gave_way(self, caller: Caller) -> bool:
        """Whether the oldest session ended of whoever has the most, for somebody who has clearly fewer: nobody keeps
        everybody else out, and two who have as many do not push each other out in turn."""
        each = Counter(session.caller.who for session in self._open.values())
        greedy, most = each.most_common(1)[0]
        if most <= each[caller.who] + 1:
            return False
        self.close(next(one for one in self._open.values() if one.caller.who == greedy))
        return True

    def _too_many(self) -> Refusal:
        soonest = next(iter(self._open.values())).expires_at - self._clock()
        return Refusal(
            "resource_exhausted",
            f"at most {self.most} sessions are open at once; end one with session/close",
            {"limit": self.most},
            retry_after_ms=max(1, int(soonest * 1000)),
        )


def _whose(session: Session) -> tuple[str, str, str]:
    return session.caller.kind, session.caller.id, session.profile
