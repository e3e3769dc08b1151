"""Signing in to the console: by a one-time URL, by an operator's key; the session's cookie; signing out. Each is in the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gatewright.audit.records import Actor
from gatewright.call import Caller
from gatewright.command_text import to_type
from gatewright.console.dependencies import Dependencies
from gatewright.console.guard import Guard
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.console.sessions import ConsoleSession

__all__ = ["SESSIONS_EACH", "SignIn", "person_of_key", "record_sign_in", "way_on"]

Identify = Any
SESSIONS_EACH = 50
"""Of one person at most; the oldest goes first."""
_NOBODY = "not_signed_in"


class _Token(msgspec.Struct):
    token: str


class _Key(msgspec.Struct):
    key: str


class SignIn:
    """Who is signed in with a request, and how somebody signs in."""

    def __init__(self, parts: Dependencies, guard: Guard) -> None:
        self._parts = parts
        self._guard = guard

    # -- who asks

    def session(self, request: Request) -> ConsoleSession | None:
        """The session of a request's cookie."""
        cookie = request.cookies.get(self.cookie(request), "")
        return self._parts.sessions.find(cookie) if cookie else None

    def bearer(self, request: Request) -> Person | None:
        """Whoever shows an operator's key with the request; None where none is shown. Raises `ApiError`."""
        shown = request.headers.getlist("authorization")
        if not shown:
            return None
        scheme, _, key = shown[0].partition(" ")
        person = None
        if len(shown) == 1 and scheme.lower() == "bearer":
            person = person_of_key(self._parts, key.strip(), "api")
        if person is None:
            raise ApiError(
                401,
                "wrong_key",
                "this is not the key of an operator",
                _make_key(),
            )
        return person

    @staticmethod
    def check_csrf(session: ConsoleSession, shown: str) -> None:
        """Raises `ApiError` where a request that changes something does not come from a page of this session."""
        if shown != session.csrf:
            raise ApiError(403, "csrf", "this form is of another session", "load the page again")

    # -- how somebody signs in

    def by_token(self, request: Request, given: Mapping[str, Any]) -> Response:
        """Redeem a one-time token. Raises `ApiError`."""
        token = msgspec.convert(given, _Token).token
        person = self._parts.sessions.redeem(token)
        if person is None:
            self.refused(request, "url")
            raise ApiError(
                403,
                "token_over",
                "this URL was used already, or is too old",
                f"get a new one: {to_type('console')}",
            )
        return self.signed_in(request, person)

    def by_key(self, request: Request, given: Mapping[str, Any]) -> Response:
        """Take an operator's key. Raises `ApiError`."""
        person = person_of_key(self._parts, msgspec.convert(given, _Key).key.strip(), "key")
        if person is None:
            self.refused(request, "key")
            raise ApiError(
                403,
                "wrong_key",
                "this is not the key of an operator",
                _make_key(),
            )
        return self.signed_in(request, person)

    def signed_in(self, request: Request, person: Person) -> Response:
        """Open a session, and send its cookie and the way on. Raises `Unrecorded`."""
        answer = Response(status_code=303, headers={"location": way_on(request)})
        self.open(request, person, answer)
        return answer

    def open(self, request: Request, person: Person, answer: Response) -> None:
        """Open a session, whose cookie goes with an answer. Raises `Unrecorded`."""
        record_sign_in(
            self._parts, person, "signed_in", {"via": person.via, "address": _address(request)}
        )
        cookie, _ = self._parts.sessions.open(
            person, address=_address(request), user_agent=request.headers.get("user-agent", "")
        )
        self._end_oldest(person)
        self._parts.changes.tell("sessions")
        answer.set_cookie(
            self.cookie(request),
            cookie,
            httponly=True,
            samesite="strict",
            secure=self._guard.secure,
            path="/",
        )

    def _end_oldest(self, person: Person) -> None:
        """Who signs in once too often ends their own sessions: nobody's else have to make room."""
        mine = [one for one in self._parts.sessions.all() if one.person.id == person.id]
        for one in mine[SESSIONS_EACH:]:
            self._parts.sessions.end(one.id)

    def keep(self, request: Request, answer: Response, cookie: str, path: str) -> None:
        """A cookie of a sign-in that is on its way at an issuer: it comes back with a person who follows a reference to `path` from there;
        empty: it is not kept any more."""
        name = f"{self.cookie(request)}_oidc"
        if not cookie:
            answer.delete_cookie(name, path=path)
            return
        answer.set_cookie(
            name, cookie, httponly=True, samesite="lax", secure=self._guard.secure, path=path
        )

    def kept(self, request: Request) -> str:
        """That cookie; empty where there is none."""
        return request.cookies.get(f"{self.cookie(request)}_oidc", "")

    def base(self, request: Request) -> str:
        """The URL at which a request reached the console, without a path."""
        return self._guard.base(request)

    def sign_out(self, request: Request, session: ConsoleSession) -> Response:
        """End the session."""
        self._parts.sessions.end(session.id)
        record_sign_in(self._parts, session.person, "signed_out", {})
        answer = Response(status_code=303, headers={"location": "/sign-in"})
        answer.delete_cookie(self.cookie(request), path="/")
        return answer

    def refused(self, request: Request, via: str) -> None:
        """Put it into the record that somebody was not let in."""
        details = {"via": via, "address": _address(request)}
        self._parts.ground.audit.event(
            "dev.gatewright.console.refused",
            actor=Actor("anonymous", "console"),
            outcome="denied",
            details=details,
        )

    def cookie(self, request: Request) -> str:
        """The name of the session's cookie."""
        # Cookies do not know ports: two gateways of one machine would sign each other's people out.
        port = urlsplit(self._guard.base(request)).port
        return f"gatewright_console_{port or 'proxy'}"


def person_of_key(parts: Dependencies, key: str, via: Any) -> Person | None:
    """The operator whose key it is, also the token of the running gateway; None for everybody else."""
    caller = parts.ground.now.identify("http", key or None)
    if not isinstance(caller, Caller) or caller.kind != "operator":
        return None
    return Person(caller.id, "operator", via, key)


def record_sign_in(parts: Dependencies, person: Person, what: str, details: dict[str, Any]) -> None:
    """Put it into the record that somebody signed in or out. Raises `Unrecorded`."""
    parts.ground.audit.event(
        f"dev.gatewright.console.{what}",
        actor=Actor("operator", person.id),
        details={"role": person.role, **details},
    )


def _make_key() -> str:
    return f"make one: {to_type('key create NAME --operator')}"


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else ""


def way_on(request: Request, known: Sequence[str] = ("/",)) -> str:
    """Where the person was going: a path of the console, whatever else was written there."""
    wanted = request.query_params.get("next", "")
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_path and wanted.isprintable() and wanted.isascii() else known[0]
