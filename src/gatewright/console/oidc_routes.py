"""Routes of sign-in by OpenID Connect: `/oidc/begin` sends the browser to the issuer, `/oidc/callback` takes its answer and opens a session."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from gatewright.config import Settings
from gatewright.config.secrets import open_secrets
from gatewright.config.substitute import Sources, substitute
from gatewright.console.dependencies import Dependencies
from gatewright.console.oidc import CALLBACK, Oidc
from gatewright.console.operations import ApiError
from gatewright.console.sign_in import SignIn, way_on
from gatewright.secret_scanning import HELD

__all__ = ["OidcRoutes"]


class OidcRoutes:
    """None where no issuer is configured."""

    def __init__(
        self,
        parts: Dependencies,
        sign_in: SignIn,
        page: Callable[[Request, ApiError | None], Response],
        html: Callable[[str, dict[str, Any]], Response],
    ) -> None:
        """`page` is that of the sign-in, with what went wrong."""
        settings = parts.ground.settings
        said = settings.console.oidc
        self._oidc = None if said is None else Oidc(said, parts.clock, partial(_secret, settings))
        self.issuer = "" if said is None else said.issuer
        self._sign_in = sign_in
        self._page = page
        self._html = html

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
        try:
            started = await oidc.begin(self._sign_in.base(request), way_on(request))
        except ApiError as problem:
            return self._page(request, problem)
        answer = RedirectResponse(started.url, 303)
        self._sign_in.keep(request, answer, started.cookie, CALLBACK)
        return answer

    async def _callback(self, oidc: Oidc, request: Request) -> Response:
        try:
            person, way = await oidc.end(self._sign_in.kept(request), request.url.query)
        except ApiError as problem:
            self._sign_in.refused(request, "oidc")
            answer = self._page(request, problem)
        else:
            # A page, and no redirect: the session's cookie does not go with one that began at another site.
            answer = self._html("signed_in.html", {"title": "Signed in", "way": way, "theme": ""})
            self._sign_in.open(request, person, answer)
        self._sign_in.keep(request, answer, "", CALLBACK)
        return answer


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
