"""`Standing`: caller and session of a Groundhog connection: authenticates, opens sessions, rejects false claims, limits early messages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from gatewright.call import Caller, Refusal
from gatewright.command_text import to_type
from gatewright.dialects.groundhog.sessions import ENDED, Session
from gatewright.dialects.groundhog.types import Parts
from gatewright.mcp.wire.groundhog import Claims

__all__ = ["EARLY", "EARLY_BYTES", "EARLY_MOST", "Asker", "Standing"]

log = logging.getLogger("gatewright.floods")

EARLY, EARLY_MOST = 4, 64
EARLY_BYTES = 16 * 1024
"""So many messages at once and in all, and so long ones, are read of a client that has not said yet who it is. One is enough:
`session/create`. What is read at once hangs on how fast answers are made, so that bound alone might never be reached."""

_NOT_MINE = Refusal(
    "bad_security_context",
    "security_context.user_id is not the caller who is authenticated: leave it out, or send your own",
)


def _required() -> Refusal:
    return Refusal(
        "auth_required",
        "authentication is required: connect with the header `Authorization: Bearer KEY`, or send "
        f"session/create with params.token first; `{to_type('key create NAME', known=False)}` makes a key",
    )


class Asker(NamedTuple):
    """Whose a request is, whoever its connection is by the time that it is carried out."""

    caller: Caller
    credential: str | None
    session: Session | Refusal
    """The session that it belongs to, or why what it says of itself is not true."""
    facts: Mapping[str, Any]
    """How whoever offers a tool with it is found again."""


class Standing:
    """Caller, credential and session of one connection. `caller` is None before anybody is authenticated."""

    def __init__(
        self,
        parts: Parts,
        caller: Caller | None,
        *,
        door: str,
        credential: str | None,
        profile: str = "",
    ) -> None:
        self._parts = parts
        self.door = door
        self.profile = profile
        self.caller = caller
        self.credential = credential
        self._early = 0
        self._too_much = False
        self._session: Session | None = None
        self._lasting = False
        """Whether the session was asked for, and so outlives the connection."""

    def is_too_much(self, data: bytes, unanswered: int) -> bool:
        """Whether a client speaks on that has not said who it is; `unanswered` messages of it came before. What follows then is too
        much as well, whoever it turns out to be."""
        if self._too_much:
            return True
        if self.caller is not None:
            return False
        self._early += 1
        if unanswered < EARLY and self._early <= EARLY_MOST and len(data) <= EARLY_BYTES:
            return False
        self._too_much = True
        log.warning("a Groundhog connection was closed: it spoke on before it said who it is")
        return True

    def authenticate(self, token: str | None) -> Refusal | None:
        """Why nobody is authenticated, or None. A token counts from then on."""
        if token is None and self.caller is not None:
            return None
        found = self._parts.front.identify(self.door, token)
        if isinstance(found, Refusal):
            return found
        if self._parts.terms.require_authentication and found.kind == "anonymous":
            return _required()
        self.caller, self.credential = found, token
        return None

    def known(self) -> Caller:
        """Who speaks. Only after `authenticate` found somebody."""
        if self.caller is None:
            raise RuntimeError("nobody is authenticated")
        return self.caller

    def session(self, claims: Claims) -> Session | Refusal:
        """The session that a request belongs to, or why what it says of itself is not true."""
        caller, sessions = self.known(), self._parts.sessions
        if _is_another(caller, claims):
            return _NOT_MINE
        if claims.session is not None:
            return sessions.find(caller, claims.session, self.profile)
        # `session/create` may have brought another token: the session of its former caller is not its own.
        if self._session is None or not _same(self._session.caller, caller):
            found = sessions.open(caller, None, self.profile)
            if isinstance(found, Refusal):
                return found
            self.leave()
            self._session, self._lasting = found, False
        return self._session if sessions.alive(self._session) else ENDED

    def succeeded(self, asker: Asker, claims: Claims) -> Asker:
        """The same, in the session that took the place of its own while it waited, where that is of the same caller: what was not asked
        for ends with the next one."""
        former = asker.session
        if not isinstance(former, Session) or self._parts.sessions.alive(former):
            return asker
        if self._session is None or not _same(self._session.caller, asker.caller):
            return asker
        return asker._replace(session=self.session(claims))

    def asked(self, claims: Claims) -> Session | Refusal:
        """The same, for whoever asks about the session itself, where no kernel asks for the credential."""
        return self._still() or self.session(claims)

    def create(self, claims: Claims) -> Session | Refusal:
        """Open a session that outlives the connection, and speak in it from now on."""
        unfit = self._still()
        if unfit is not None:
            return unfit
        if _is_another(self.known(), claims):
            return _NOT_MINE
        self.leave()
        found = self._parts.sessions.open(self.known(), claims.session, self.profile)
        if isinstance(found, Session):
            self._session, self._lasting = found, True
        return found

    def close(self, session: Session) -> None:
        """End a session."""
        self._parts.sessions.close(session)
        if self._session is session:
            self._session = None

    def leave(self) -> None:
        """Give up the session of this connection, which ends with it unless it was asked for."""
        if self._session is not None and not self._lasting:
            self._parts.sessions.close(self._session)
        self._session = None

    def _still(self) -> Refusal | None:
        """Why the credential is not good any more; calls are asked the same by the kernel."""
        found = self._parts.front.still(self.door, self.known(), self.credential)
        return found if isinstance(found, Refusal) else None


def _is_another(caller: Caller, claims: Claims) -> bool:
    """Whether a request says to be somebody else's. Nobody known may call itself what it likes: it is
    `anonymous` all the same."""
    return claims.user is not None and caller.kind != "anonymous" and claims.user != caller.id


def _same(one: Caller, other: Caller) -> bool:
    return (one.kind, one.id) == (other.kind, other.id)
