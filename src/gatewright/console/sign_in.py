"""`SignIn`: console sign-in by one-time URL or operator key, sign-out; session and OIDC cookies, CSRF, bearer keys; audit of all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
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
from gatewright.console.oidc import LASTS_S
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.console.redirect_target import way_on
from gatewright.console.refused_sign_ins import RefusedSignIns
from gatewright.console.sessions import ConsoleSession, is_key

__all__ = [
    "IDLE",
    "KEY",
    "SignIn",
    "address_of",
    "person_of_key",
    "record_sign_in",
]

KEY, IDLE = "x-csrf-token", "x-console-idle"
"""Headers of a page's requests: the key of its session, and how many seconds ago a person last did something in a page."""
_DIGITS = 12
_PLACES = 4
"""Sign-ins of one browser that may be on their way at once: so many cookies come back with each request."""


class _Token(msgspec.Struct):
    token: str


class _Key(msgspec.Struct):
    key: str


class SignIn:
    """Who is signed in with a request, and how somebody signs in."""

    def __init__(
        self, parts: Dependencies, guard: Guard, signed_in: Callable[[str, str], Response]
    ) -> None:
        """`signed_in` is the page that keeps a page key in the browser and goes on to a path."""
        self._parts = parts
        self._guard = guard
        self._page = signed_in
        self._refusals = RefusedSignIns(parts.ground.audit)

    # -- who asks

    def session(self, request: Request) -> ConsoleSession:
        """The session of a request's cookie, which does nothing yet: `check_key`. Raises `ApiError`."""
        cookie = request.cookies.get(self.cookie(request), "")
        found = self._parts.sessions.find(cookie) if cookie else None
        if found is None:
            said = f"open the URL that this prints: {to_type('console')}"
            raise ApiError(401, "not_signed_in", "nobody is signed in", said)
        return found

    def check_key(self, request: Request, session: ConsoleSession, shown: str) -> None:
        """Browsers send the cookie to every port of its host and for whoever asks: only a page of ours has the key. Raises `ApiError`."""
        changes = request.method not in ("GET", "HEAD")
        self._compare(changes, session, shown)
        if self._parts.sessions.over(session) == "confirm":
            said = f"the issuer has to confirm that {session.person.id} may still be here"
            raise ApiError(401, "confirm", said, "load the page again")
        # Pages ask by themselves when something changes: that keeps no session alive in front of which nobody sits.
        ago = _seconds(request.headers.get(IDLE, "0" if changes else ""))
        if ago is not None:
            self._parts.sessions.use(session, ago)

    def doubted(self, request: Request) -> ConsoleSession:
        """The session of a request that brings the page key, also one that the issuer has to confirm; no use of it. Raises `ApiError`."""
        session = self.session(request)
        self._compare(True, session, request.headers.get(KEY, ""))
        return session

    @staticmethod
    def _compare(changes: bool, session: ConsoleSession, shown: str) -> None:
        if is_key(session, shown):
            return
        if changes:
            said = "this form is of another session"
            raise ApiError(403, "csrf", said, "load the page again")
        said = "a cookie alone opens nothing: the page key is missing"
        raise ApiError(401, "page_key", said, f"send it as {KEY}, as pages do")

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
            self.refused(request, "api")
            raise ApiError(
                401,
                "wrong_key",
                "this is not the key of an operator",
                _make_key(),
            )
        return person

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
        """Open a session, and send its cookie, its page key and the way on. Raises `Unrecorded`."""
        return self.open(request, person, way_on(request))

    def open(self, request: Request, person: Person, way: str) -> Response:
        """The same, with the way on. A page and no redirect: nothing but a page of ours can keep the key where other ports do not
        get it, and a cookie does not go along with a redirect that began at another site. Raises `Unrecorded`."""
        record_sign_in(
            self._parts, person, "signed_in", {"via": person.via, "address": address_of(request)}
        )
        cookie, session = self._parts.sessions.open(
            person, address=address_of(request), user_agent=request.headers.get("user-agent", "")
        )
        self._replace(request, person)
        self._parts.changes.tell("sessions")
        answer = self._page(session.csrf, way)
        answer.set_cookie(
            self.cookie(request),
            cookie,
            httponly=True,
            samesite="strict",
            secure=self._guard.secure,
            path="/",
        )
        return answer

    def _replace(self, request: Request, person: Person) -> None:
        """A browser has one session: the one that it had goes, where it was the same person's. Somebody else's is not theirs to end:
        what shows a cookie alone may have stolen it."""
        cookie = request.cookies.get(self.cookie(request), "")
        before = self._parts.sessions.find(cookie) if cookie else None
        if before is not None and before.person.id == person.id:
            self._parts.sessions.end(before.id)
            record_sign_in(
                self._parts, before.person, "session_ended", {"reason": "signed_in_again"}
            )

    def keep(self, request: Request, answer: Response, cookie: str, state: str, path: str) -> None:
        """A cookie of a sign-in that is on its way at an issuer, and its state: it comes back with a person who follows a reference to `path`
        from there; empty: it is not kept any more."""
        name = self._of_oidc(request, state)
        if not cookie:
            answer.delete_cookie(name, path=path)
            return
        answer.set_cookie(
            name,
            cookie,
            max_age=int(LASTS_S),
            httponly=True,
            samesite="lax",
            secure=self._guard.secure,
            path=path,
        )

    def kept(self, request: Request, state: str) -> str:
        """That cookie; empty where there is none."""
        return request.cookies.get(self._of_oidc(request, state), "")

    def base(self, request: Request) -> str:
        """The URL at which a request reached the console, without a path."""
        return self._guard.base(request)

    def sign_out(self, request: Request, session: ConsoleSession) -> Response:
        """End the session, and the one-time URLs of its person."""
        self._parts.sessions.end(session.id)
        self._parts.sessions.end_tokens(session.person.id)
        record_sign_in(self._parts, session.person, "signed_out", {})
        answer = Response(status_code=303, headers={"location": "/sign-in"})
        # With what it was set with: of a name that begins with `__Host-` browsers take nothing else, also not that it goes.
        answer.delete_cookie(
            self.cookie(request),
            path="/",
            httponly=True,
            samesite="strict",
            secure=self._guard.secure,
        )
        return answer

    def refused(self, request: Request, via: str) -> None:
        """Put it into the record that somebody was not let in. Raises `Unrecorded`."""
        self._refusals.add(via, address_of(request))

    def cookie(self, request: Request) -> str:
        """The name of the session's cookie."""
        # `__Host-` keeps those of other hosts of the domain from writing it; browsers take it with TLS alone.
        return ("__Host-" if self._guard.secure else "") + self._named(request)

    def _of_oidc(self, request: Request, state: str) -> str:
        # Two pages of one browser may be at the issuer at once; a bounded number of names, which all come back together.
        part = sha256(state.encode("utf-8", "replace")).digest()[0] % _PLACES
        return f"{self._named(request)}_oidc_{part}"

    def _named(self, request: Request) -> str:
        # Cookies do not know ports: two gateways of one machine would sign each other's people out.
        port = urlsplit(self._guard.base(request)).port
        return f"gatewright_console_{port or 'proxy'}"


def person_of_key(parts: Dependencies, key: str, via: Any) -> Person | None:
    """The operator whose key it is, also the token of the running gateway; None for everybody else."""
    caller = parts.ground.now.identify("http", key or None)
    if not isinstance(caller, Caller) or caller.kind != "operator":
        return None
    return Person(caller.id, "operator", via, key, caller.key_id or "")


def record_sign_in(parts: Dependencies, person: Person, what: str, details: dict[str, Any]) -> None:
    """Put it into the record that somebody signed in or out. Raises `Unrecorded`."""
    parts.ground.audit.event(
        f"dev.gatewright.console.{what}",
        actor=Actor("operator", person.id),
        details={"role": person.role, **details},
    )


def _make_key() -> str:
    return f"make one: {to_type('key create NAME --operator')}"


def address_of(request: Request) -> str:
    """Where a request comes from; empty where that is not known."""
    return request.client.host if request.client is not None else ""


def _seconds(text: str) -> float | None:
    """A number of seconds as a page writes it; None for anything else."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < _DIGITS else None
