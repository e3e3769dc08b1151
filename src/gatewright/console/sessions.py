"""`ConsoleSessions`: one-time tokens and signed-in sessions of the console, in memory: opened, found by cookie, confirmed, listed, ended.

A token is shown once and opens one session; a session is known by a cookie of 256 random bits, of which the digest alone is kept, and
does nothing without its page key beside it: a cookie goes to every port of its host, the key to none but ours. What a session may do
follows from its person; that the person is still one, from `still`, which is asked with every request.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from secrets import token_urlsafe
from typing import Literal

import msgspec

from gatewright.console.people import Person

__all__ = [
    "SESSIONS_EACH",
    "TOKENS_EACH",
    "TOKEN_S",
    "ConsoleSession",
    "ConsoleSessions",
    "Over",
    "is_key",
]

TOKEN_S = 900.0
"""How long a token may be used that a command asked for."""
TOKENS_EACH, SESSIONS_EACH = 10, 50
"""Of one person at most; their oldest goes first, and nobody else's."""
_TOKENS, _SESSIONS = 200, 1000
"""Of all at most; then the oldest goes of whoever has most."""
_IDLE = 0.25
"""The part of its longest time after which a session ends in which nobody did anything."""
_CONFIRM_S = 900.0
_USER_AGENT_CHARS = 200

Over = Literal["", "ended", "long", "idle", "person", "confirm"]
"""Why a session does not go on: somebody ended it, it lasted its longest time, nobody did anything, its person may not be here any more;
`confirm`: the issuer has to say anew who they are, and then it goes on. Empty: it goes on."""


class ConsoleSession(msgspec.Struct):
    """One signed-in browser. Times are seconds of the clock that `ConsoleSessions` has."""

    id: str
    """For lists and to end it; it opens nothing."""
    person: Person
    csrf: str
    """The page key: what every request has to bring besides the cookie."""
    began: float
    used: float
    """When a person last did something in one of its pages."""
    proved: float
    """When it was last proved who the person is."""
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
        confirm_s: float = _CONFIRM_S,
        told: Callable[[], object] = lambda: None,
    ) -> None:
        """`lasts_s`: the longest a session may last. `still`: whether a person may be signed in now. `confirm_s`: how long an issuer's
        word is believed. `told` is called when a session was ended, for streams that are open."""
        self._clock = clock
        self._lasts_s = lasts_s
        self._still = still
        self._confirm_s = confirm_s
        self._told = told
        self._tokens: dict[str, tuple[float, Person]] = {}
        self._open: dict[str, ConsoleSession] = {}
        """By the digest of the cookie, oldest first."""
        self._keys: dict[str, str] = {}
        """By id: the digest of the cookie."""

    # -- tokens

    def token_for(self, person: Person, lasts_s: float = TOKEN_S) -> str:
        """A token that opens one session for `person`, once, within `lasts_s` seconds."""
        now = self._clock()
        self._tokens = {key: one for key, one in self._tokens.items() if now < one[0]}
        _make_room(
            {key: one.id for key, (_, one) in self._tokens.items()},
            person.id,
            TOKENS_EACH,
            _TOKENS,
            self._tokens.pop,
        )
        token = token_urlsafe(32)
        self._tokens[_digest(token)] = (now + lasts_s, person)
        return token

    def redeem(self, token: str) -> Person | None:
        """Whom a token is for, which is used up by that; None where it was used, is over or never was, or they may not be here now."""
        until, person = self._tokens.pop(_digest(token), (0.0, None))
        if person is None or self._clock() >= until or not self._still(person):
            return None
        return person

    def end_tokens(self, person: str) -> None:
        """Whoever signs out, or is signed out, does not come back by a URL that lies about."""
        self._tokens = {key: one for key, one in self._tokens.items() if one[1].id != person}

    # -- sessions

    def open(self, person: Person, *, address: str, user_agent: str) -> tuple[str, ConsoleSession]:
        """Sign a person in. The first value is the cookie, which is kept nowhere."""
        cookie, now = token_urlsafe(32), self._clock()
        if len(self._open) >= _SESSIONS:
            for one in [
                one for one in self._open.values() if self.over(one) not in ("", "confirm")
            ]:
                self._forget(one)
        of = {one.id: one.person.id for one in self._open.values()}
        _make_room(of, person.id, SESSIONS_EACH, _SESSIONS, self.end)
        session = ConsoleSession(
            id=token_urlsafe(9),
            person=person,
            csrf=token_urlsafe(24),
            began=now,
            used=now,
            proved=now,
            address=address,
            user_agent=user_agent[:_USER_AGENT_CHARS],
        )
        key = _digest(cookie)
        self._open[key], self._keys[session.id] = session, key
        return cookie, session

    def find(self, cookie: str) -> ConsoleSession | None:
        """The session of a cookie, which is not used by that; None where it is over. Its issuer may have to confirm it: `over`."""
        session = self._open.get(_digest(cookie))
        if session is None:
            return None
        if self.over(session) not in ("", "confirm"):
            self._forget(session)
            return None
        return session

    def use(self, session: ConsoleSession, ago_s: float = 0.0) -> None:
        """A person did something in one of its pages, so many seconds ago."""
        session.used = max(session.used, self._clock() - max(0.0, ago_s))

    def over(self, session: ConsoleSession) -> Over:
        """Why a session does not go on; empty where it does. That is no use of it: for streams that stay open."""
        if session.id not in self._keys:
            return "ended"
        now, person = self._clock(), session.person
        if now - session.began >= self._lasts_s:
            return "long"
        if now - session.used >= self._lasts_s * _IDLE:
            return "idle"
        if not self._still(person):
            return "person"
        is_old = person.via == "oidc" and now - session.proved >= self._confirm_s
        return "confirm" if is_old else ""

    def holds(self, session: ConsoleSession) -> bool:
        """Whether a session goes on as it is."""
        return not self.over(session)

    def by_id(self, id: str) -> ConsoleSession | None:
        """A session that is open, also one that has to be confirmed."""
        key = self._keys.get(id)
        session = None if key is None else self._open.get(key)
        return None if session is None or self.over(session) not in ("", "confirm") else session

    def confirm(self, session: ConsoleSession, person: Person) -> None:
        """The issuer has said again who it is, with the role that they have now. That is no use of it: a browser does it by itself."""
        session.person, session.proved = person, self._clock()

    def end(self, id: str) -> ConsoleSession | None:
        """End a session, by its id; None where there is none."""
        key = self._keys.get(id)
        session = None if key is None else self._open.get(key)
        if session is not None:
            self._forget(session)
            self._told()
        return session

    def all(self) -> list[ConsoleSession]:
        """Those that go on, latest first."""
        found = [one for one in self._open.values() if self.over(one) in ("", "confirm")]
        return sorted(found, key=lambda one: one.began, reverse=True)

    def _forget(self, session: ConsoleSession) -> None:
        key = self._keys.pop(session.id, None)
        if key is not None:
            self._open.pop(key, None)


def is_key(session: ConsoleSession, shown: str) -> bool:
    """Whether this is the page key of a session."""
    return hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), session.csrf.encode())


def _make_room(
    of: dict[str, str], person: str, each: int, most: int, out: Callable[[str], object]
) -> None:
    """Take out (`out`) the oldest of this person where they have too many, or of whoever has most where all have. `of` says whose
    each is, oldest first."""
    counts = Counter(of.values())
    whose = person if counts[person] >= each else ""
    if not whose and len(of) >= most:
        whose = counts.most_common(1)[0][0]
    if whose:
        out(next(key for key, one in of.items() if one == whose))


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
