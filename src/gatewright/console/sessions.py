"""`ConsoleSessions`: one-time tokens and signed-in sessions of the console, in memory: opened, found by cookie, listed, ended.

A token is shown once and opens one session; a session is known by a cookie of 256 random bits, of which the digest alone is kept. What
a session may do follows from its person; that the person is still one, from `still`, which is asked with every request.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from secrets import token_urlsafe

import msgspec

from gatewright.console.people import Person

__all__ = ["TOKEN_S", "ConsoleSession", "ConsoleSessions"]

TOKEN_S = 900.0
"""How long a token may be used that a command asked for."""
_TOKENS, _SESSIONS = 100, 1000
"""At most; the oldest goes first."""
_IDLE = 0.25
"""The part of its longest time after which a session ends that nobody used."""
_USER_AGENT_CHARS = 200


class ConsoleSession(msgspec.Struct):
    """One signed-in browser. Times are seconds of the clock that `ConsoleSessions` has."""

    id: str
    """For lists and to end it; it opens nothing."""
    person: Person
    csrf: str
    """What every request that changes something has to bring."""
    began: float
    used: float
    address: str
    user_agent: str


class ConsoleSessions:
    """The sessions of one gateway process; a restart ends them all."""

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        lasts_s: float,
        still: Callable[[Person], bool],
    ) -> None:
        """`lasts_s`: the longest a session may last. `still`: whether a person may be signed in now."""
        self._clock = clock
        self._lasts_s = lasts_s
        self._still = still
        self._tokens: dict[str, tuple[float, Person]] = {}
        self._open: dict[str, ConsoleSession] = {}

    def token_for(self, person: Person, lasts_s: float = TOKEN_S) -> str:
        """A token that opens one session for `person`, once, within `lasts_s` seconds."""
        token = token_urlsafe(32)
        while len(self._tokens) >= _TOKENS:
            del self._tokens[next(iter(self._tokens))]
        self._tokens[_digest(token)] = (self._clock() + lasts_s, person)
        return token

    def redeem(self, token: str) -> Person | None:
        """Whom a token is for, which is used up by that; None where it was used, is over or never was."""
        until, person = self._tokens.pop(_digest(token), (0.0, None))
        return person if person is not None and self._clock() < until else None

    def open(self, person: Person, *, address: str, user_agent: str) -> tuple[str, ConsoleSession]:
        """Sign a person in. The first value is the cookie, which is kept nowhere."""
        cookie, now = token_urlsafe(32), self._clock()
        while len(self._open) >= _SESSIONS:
            del self._open[next(iter(self._open))]
        session = ConsoleSession(
            token_urlsafe(9),
            person,
            token_urlsafe(24),
            now,
            now,
            address,
            user_agent[:_USER_AGENT_CHARS],
        )
        self._open[_digest(cookie)] = session
        return cookie, session

    def find(self, cookie: str) -> ConsoleSession | None:
        """The session of a cookie, which is used by that; None where it ended."""
        key = _digest(cookie)
        session = self._open.get(key)
        if session is None:
            return None
        if self._over(session):
            del self._open[key]
            return None
        session.used = self._clock()
        return session

    def holds(self, session: ConsoleSession) -> bool:
        """Whether a session goes on, without using it: for streams that stay open."""
        return session in self._open.values() and not self._over(session)

    def end(self, id: str) -> ConsoleSession | None:
        """End a session, by its id; None where there is none."""
        for key, session in self._open.items():
            if session.id == id:
                return self._open.pop(key)
        return None

    def all(self) -> list[ConsoleSession]:
        """Those that go on, latest first."""
        found = [one for one in self._open.values() if not self._over(one)]
        return sorted(found, key=lambda one: one.began, reverse=True)

    def _over(self, session: ConsoleSession) -> bool:
        now = self._clock()
        if now - session.began >= self._lasts_s or now - session.used >= self._lasts_s * _IDLE:
            return True
        return not self._still(session.person)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
