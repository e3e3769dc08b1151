"""`OidcRoutes`: routes of OpenID Connect sign-in: `/oidc/begin`, `/oidc/again` (confirm a session), `/oidc/callback` (open, confirm, end one)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from gatewright.config import Settings
from gatewright.config.secrets import open_secrets
from gatewright.config.substitute import Sources, substitute
from gatewright.console import api
from gatewright.console.dependencies import Dependencies
from gatewright.console.oidc import CALLBACK, Oidc, OidcRequest
from gatewright.console.operations import ApiError
from gatewright.console.redirect_target import way_on
from gatewright.console.sessions import ConsoleSession
from gatewright.console.sign_in import SignIn, address_of, record_sign_in
from gatewright.console.turns import Turns
from gatewright.secret_scanning import HELD

__all__ = ["OidcRoutes"]

_AT_ONCE, _WAITING = 2, 20
"""Sign-ins of one address that the issuer is asked about: whoever brings thousands waits for themselves alone."""
_GONE = "no_role"
"""What the issuer says of the very person against their session. Where it says nothing of them, the session waits for its word, and does
nothing meanwhile."""


class OidcRoutes:
    """None where no issuer is configured."""

    def __init__(
        self,
        parts: Dependencies,
        sign_in: SignIn,
        page: Callable[[Request, ApiError | None, str], Response],
        go_on: Callable[[str, str, str], Response],
    ) -> None:
        """`page` is that of the sign-in, with what went wrong and where the person was going; `go_on` keeps a page key, where it is not
        empty, leads to a path, and tells the pages why a session was not confirmed, where it was not."""
        settings = parts.ground.settings
        said = settings.console.oidc
        self._oidc = None if said is None else Oidc(said, parts.clock, partial(_secret, settings))
        self.issuer = "" if said is None else said.issuer
        self._sessions = parts.sessions
        self._turns = Turns(_AT_ONCE, _WAITING)
        self._parts = parts
        self._sign_in = sign_in
        self._page = page
        self._go_on = go_on

    @property
    def routes(self) -> Sequence[tuple[str, Callable[[Request], Awaitable[Response]], str]]:
        """Path, answer and method of each."""
        oidc = self._oidc
        if oidc is None:
            return ()

        async def begin(request: Request) -> Response:
            return await self._begin(oidc, request)

        async def callback(request: Request) -> Response:
            return await self._callback(oidc, request)

        async def again(request: Request) -> Response:
            return await self._again(oidc, request)

        return (
            ("/oidc/begin", begin, "GET"),
            ("/oidc/again", again, "POST"),
            (CALLBACK, callback, "GET"),
        )

    async def _begin(self, oidc: Oidc, request: Request) -> Response:
        way = way_on(request)
        try:
            started = await oidc.begin(self._sign_in.base(request), way)
        except ApiError as problem:
            return self._page(request, problem, way)
        answer = RedirectResponse(started.url, 303)
        self._sign_in.keep(request, answer, started.cookie, started.state, CALLBACK)
        return answer

    async def _again(self, oidc: Oidc, request: Request) -> Response:
        """Where a page goes so that the issuer confirms its session, as JSON, also what is wrong: the page stays where it is then."""
        try:
            session = self._sign_in.doubted(request)
            started = await oidc.begin(self._sign_in.base(request), way_on(request), session.id)
        except ApiError as problem:
            return api.problem(problem)
        answer = JSONResponse({"url": started.url})
        self._sign_in.keep(request, answer, started.cookie, started.state, CALLBACK)
        return answer

    async def _callback(self, oidc: Oidc, request: Request) -> Response:
        state = request.query_params.get("state", "")
        try:
            asked = oidc.asked(self._sign_in.kept(request, state), state)
        except ApiError as problem:
            self._sign_in.refused(request, "oidc")
            return self._page(request, problem, "")
        try:
            if asked.session:
                answer = await self._confirm(oidc, request, asked)
            else:
                async with self._turns.of(address_of(request)):
                    person = await oidc.end(asked, request.url.query)
                answer = self._sign_in.open(request, person, asked.way)
        except ApiError as problem:
            self._sign_in.refused(request, "oidc")
            answer = self._page(request, problem, asked.way)
        self._sign_in.keep(request, answer, "", state, CALLBACK)
        return answer

    async def _confirm(self, oidc: Oidc, request: Request, asked: OidcRequest) -> Response:
        """Let a session go on, in the role that its person has now, or have its pages say why not. Raises `ApiError` where there is no
        such session any more, `Unrecorded`."""
        session = self._sessions.by_id(asked.session)
        if session is None:
            raise ApiError(403, "sign_in_over", "the session has ended meanwhile", "sign in again")
        try:
            person = await oidc.end(asked, request.url.query, session.person.id)
        except ApiError as problem:
            if problem.code == _GONE:
                self._end(session, problem.code)
                raise
            self._sign_in.refused(request, "oidc")
            return self._go_on("", asked.way, problem.message)
        if person.role != session.person.role:
            record_sign_in(self._parts, person, "signed_in", {"via": "oidc", "again": True})
        self._sessions.confirm(session, person)
        return self._go_on("", asked.way, "")

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
