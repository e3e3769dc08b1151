"""Routes of sign-in by OpenID Connect: `/oidc/begin` sends the browser to the issuer, `/oidc/callback` opens or confirms a session."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gatewright.config import Settings
from gatewright.config.secrets import open_secrets
from gatewright.config.substitute import Sources, substitute
from gatewright.console.dependencies import Dependencies
from gatewright.console.oidc import CALLBACK, Oidc
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.console.sessions import ConsoleSession
from gatewright.console.sign_in import SignIn, record_sign_in, way_on
from gatewright.secret_scanning import HELD

__all__ = ["OidcRoutes"]

_OTHER = "other_person"
_GONE = frozenset({"no_role", _OTHER})
"""What the issuer's own word says against a session. Where it says nothing, the session waits for it, and does nothing meanwhile."""


class OidcRoutes:
    """None where no issuer is configured."""

    def __init__(
        self,
        parts: Dependencies,
        sign_in: SignIn,
        page: Callable[[Request, ApiError | None, str], Response],
        go_on: Callable[[str, str], Response],
    ) -> None:
        """`page` is that of the sign-in, with what went wrong and where the person was going; `go_on` keeps a page key, where it is not
        empty, and leads to a path."""
        settings = parts.ground.settings
        said = settings.console.oidc
        self._oidc = None if said is None else Oidc(said, parts.clock, partial(_secret, settings))
        self.issuer = "" if said is None else said.issuer
        self._sessions = parts.sessions
        self._parts = parts
        self._sign_in = sign_in
        self._page = page
        self._go_on = go_on

    @property
    def routes(self) -> Sequence[tuple[str, Callable[[Request], Awaitable[Response]]]]:
        """Path and answer of each."""
        oidc = self._oidc
        if oidc is None:
            return ()

        async def begin(request: Request) -> Response:
            return await self._begin(oidc, request)

        async def callback(request: Request) -> Response:
            return await self._callback(oidc, request)

        return (("/oidc/begin", begin), (CALLBACK, callback))

    async def _begin(self, oidc: Oidc, request: Request) -> Response:
        way, of = way_on(request), ""
        try:
            if request.query_params.get("silent"):
                of = self._sign_in.session(request).id
            started = await oidc.begin(self._sign_in.base(request), way, of)
        except ApiError as problem:
            return self._page(request, problem, way)
        answer = RedirectResponse(started.url, 303)
        self._sign_in.keep(request, answer, started.cookie, CALLBACK)
        return answer

    async def _callback(self, oidc: Oidc, request: Request) -> Response:
        way, session = "", None
        try:
            asked = await oidc.asked(self._sign_in.kept(request))
            way, session = asked.way, self._sessions.by_id(asked.session)
            person = await oidc.end(asked, request.url.query)
            if asked.session:
                self._confirm(session, person)
                answer = self._go_on("", way)
            else:
                answer = self._sign_in.open(request, person, way)
        except ApiError as problem:
            self._sign_in.refused(request, "oidc")
            if session is not None and problem.code in _GONE:
                self._end(session, problem.code)
            answer = self._page(request, problem, way)
        self._sign_in.keep(request, answer, "", CALLBACK)
        return answer

    def _confirm(self, session: ConsoleSession | None, person: Person) -> None:
        """Let a session go on, in the role that its person has now. Raises `ApiError`, `Unrecorded`."""
        if session is None:
            raise ApiError(403, "sign_in_over", "the session has ended meanwhile", "sign in again")
        if person.id != session.person.id:
            raise ApiError(
                403, _OTHER, f"the issuer says that you are {person.id}", "sign in again"
            )
        if person.role != session.person.role:
            record_sign_in(self._parts, person, "signed_in", {"via": "oidc", "again": True})
        self._sessions.confirm(session, person)

    def _end(self, session: ConsoleSession, why: str) -> None:
        """The issuer says that its person may not be here any more."""
        self._sessions.end(session.id)
        record_sign_in(self._parts, session.person, "session_ended", {"reason": why})
        self._parts.changes.tell("sessions")


def _secret(settings: Settings) -> str:
    """The client's, as it is kept now. Raises `Undefined`."""
    said, secrets, place = settings.console.oidc, settings.secrets, settings.storage.path
    if said is None:
        return ""
    file = settings.file_of("console")
    sources = Sources(
        os.environ,
        lambda: open_secrets(place, secrets.store, key_file=secrets.key_file),
        store=place,
        file=file,
        accepted=settings.accepted.get(file),
    )
    folder = file.absolute().parent if settings.files else place
    found = substitute(said.client_secret, sources, folder)
    HELD.hold("console.oidc", [found])
    return found
