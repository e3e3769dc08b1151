"""`Oidc`: OpenID Connect for the console (code flow, PKCE): signs people in, confirms sessions silently; checks ID tokens; role by claim.

What OAuth prescribes comes from `oauth.client` (by authlib), keys and signatures from `identity.issuer`. An answer is believed only in
the browser that asked: a sealed cookie is the request, the state in the URL has to be that of the same request, and with each one person is let in once.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

import msgspec

from gatewright.config.console import ConsoleOidc, ConsoleRole
from gatewright.config.substitute import Undefined
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.console.sealed_handles import SealedHandles
from gatewright.identity.issuer import Issuer, Trusted, Unreachable
from gatewright.identity.token_rules import Claims, TokenRefused, peek
from gatewright.oauth import client as oauth
from gatewright.oauth.documents import AuthServer, Unusable, read_server, read_token, server_urls
from gatewright.transport.safe_fetch import Egress, EgressFailed, is_outside
from gatewright.web.urls import is_loopback

__all__ = ["CALLBACK", "LASTS_S", "Oidc", "OidcRequest", "Started"]

log = logging.getLogger("gatewright.console")

CALLBACK = "/oidc/callback"
LASTS_S = 600.0
"""How long a person may take at the issuer."""
_FRESH_S, _AWAY_S = 3600.0, 5.0
"""How long what the issuer publishes is good, and how long it counts as away."""
_WAY_CHARS = 500
"""As a URL has it. Several cookies come back with each request: whoever was going to a longer address begins at its path."""
_AT_ONCE = 8
"""Exchanges with the issuer."""
_OK = 200
_NAME_CHARS = 200


class Started(msgspec.Struct, frozen=True):
    """Where the browser goes, and the cookie that it comes back with."""

    url: str
    cookie: str
    state: str
    """What the issuer gives back beside it."""


class OidcRequest(msgspec.Struct, frozen=True):
    """One sign-in that is on its way at the issuer."""

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    way: str
    """Where the person was going."""
    session: str
    """The id of the session that is to be confirmed; empty for a new one."""
    handle: str


class _Room:
    """What sign-ins have for themselves, and what those have who are signed in already: the first are anybody's, who keep none of the others
    waiting by as many as they like."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.handles = SealedHandles(clock, LASTS_S)
        self.free = asyncio.Semaphore(_AT_ONCE)
        """The issuer is asked with the client's secret: not by everybody at once."""


class Oidc:
    """Of one issuer. On one event loop."""

    def __init__(
        self, said: ConsoleOidc, clock: Callable[[], float], secret: Callable[[], str]
    ) -> None:
        """`clock` gives Unix seconds, `secret` that of the client, in a thread; it raises `Undefined` where there is none."""
        self._said = said
        self._secret_of = secret
        self._secret = ""
        self._clock = clock
        self._egress = Egress()
        self._sign_ins, self._confirmations = _Room(clock), _Room(clock)
        self._problem: tuple[float, ApiError] | None = None
        self._server: tuple[float, AuthServer] | None = None
        self._lock = asyncio.Lock()
        trusted = Trusted(name="console", issuer=said.issuer, audience=(said.client_id,))
        self._issuer = Issuer(trusted, clock=clock, monotonic=time.monotonic)

    async def begin(self, base: str, way: str, session: str = "") -> Started:
        """Begin one sign-in, or ask the issuer without asking the person whether a session may go on. `base` is the URL at which they
        reach the console, `way` a path of it where they were going. Raises `ApiError`."""
        # Whoever is asked for silently has a page open, which is not left for an issuer that is away.
        server = await self._published(_AWAY_S if session else _FRESH_S)
        said = {"redirect_uri": base + CALLBACK, "way": _short(way), "session": session}
        handles = (self._confirmations if session else self._sign_ins).handles
        # Nothing is kept here: whoever begins thousands pushes nobody out.
        cookie = handles.made(said)
        request = _request(handles, cookie, said)
        url = oauth.authorization_url(
            server,
            self._client(server),
            resource="",
            scopes=("openid", "profile", "email"),
            redirect_uri=request.redirect_uri,
            state=request.state,
            verifier=request.verifier,
            openid={"nonce": request.nonce, **({"prompt": "none"} if session else {})},
        )
        return Started(url, cookie, request.state)

    def asked(self, cookie: str, state: str) -> OidcRequest:
        """The request of the browser with this cookie, where the issuer gave back its state. Raises `ApiError`."""
        for room in (self._sign_ins, self._confirmations):
            right = room.handles.secret("state", cookie).encode()
            # Any site can lead a browser here, which brings the cookie along: without the state it is none of ours.
            if hmac.compare_digest(state.encode("utf-8", "replace"), right):
                said = room.handles.read(cookie)
                if said is not None:
                    return _request(room.handles, cookie, said)
        raise _over()

    async def end(self, request: OidcRequest, query: str, known: str = "") -> Person:
        """Whom the issuer says the browser is that came back with this query; the request is used up by that, and not where the issuer says
        nothing. `known`: the id of the one that it has to be; empty: anybody. Raises `ApiError`: `other_person` for anybody else, and
        `no_role` for nobody else."""
        room = self._confirmations if request.session else self._sign_ins
        async with room.free:
            try:
                with room.handles.using(request.handle) as use_up:
                    claims = await self._said_by_issuer(request, query)
                    use_up()
            except KeyError:
                raise _over() from None
        return self._person(claims, known)

    async def _said_by_issuer(self, request: OidcRequest, query: str) -> Claims:
        server = await self._published()
        try:
            code = oauth.code_from(
                f"{request.redirect_uri}?{query}",
                state=request.state,
                server=server,
                redirect_uri=request.redirect_uri,
            )
            return await self._claims(server, request, code)
        except Unusable as problem:
            raise self._refused(str(problem)) from None
        except TokenRefused as problem:
            raise self._refused(f"its ID token is not good ({problem.why})") from None
        except (EgressFailed, Unreachable) as problem:
            raise self._away(problem) from None

    # -- what the issuer says

    async def _claims(self, server: AuthServer, request: OidcRequest, code: str) -> Claims:
        client = self._client(server)
        form = oauth.code_request(
            server,
            client,
            code=code,
            resource="",
            redirect_uri=request.redirect_uri,
            verifier=request.verifier,
        )
        outside = await is_outside(self._said.issuer)
        status, body = await self._egress.ask(form.url, form.headers, form.body, outside=outside)
        token = read_token(status, body).id_token
        if not token:
            raise Unusable("it gave no ID token: is the scope openid allowed for this client?")
        claims = await self._issuer.check(token, peek(token))
        # OpenID Connect Core §3.1.3.7: for us, by the request that we made, and not a moment longer than it says.
        if self._said.client_id not in claims.audience:
            raise TokenRefused("audience")
        party = claims.every.get("azp")
        if (party is not None or len(claims.audience) > 1) and party != self._said.client_id:
            raise TokenRefused("audience")
        if claims.every.get("nonce") != request.nonce:
            raise Unusable("its ID token is of another sign-in")
        return claims

    def _person(self, claims: Claims, known: str) -> Person:
        every = claims.every
        name = every.get("email") if every.get("email_verified") is True else None
        # A subject may be spelled as somebody's address: it is told from one.
        name = name if isinstance(name, str) else f"sub:{claims.subject}"
        if not name.isprintable() or not 0 < len(name) <= _NAME_CHARS:
            raise self._refused("it gave no name that can be shown")
        # Nobody whom an issuer names can be taken for somebody whom the gateway itself names.
        id = f"oidc:{name}"
        # Before the role: that of somebody else says nothing of the one who is known.
        if known and id != known:
            said = f"the issuer says that you are {id}, and not {known}"
            raise ApiError(403, "other_person", said, "sign in again")
        role = self._role(every)
        if role is None:
            claim = self._said.role_claim
            raise ApiError(
                403,
                "no_role",
                f"{name} has no role here: the claim {claim!r} has none of the values of [console.oidc.roles]",
                "ask whoever runs the gateway or the issuer",
            )
        return Person(id, role, "oidc")

    def _role(self, every: Mapping[str, Any]) -> ConsoleRole | None:
        has = every.get(self._said.role_claim)
        values = (
            {has}
            if isinstance(has, str)
            else set(map(str, has))
            if isinstance(has, list)
            else set()
        )
        return next((role for value, role in self._said.roles.items() if value in values), None)

    async def _published(self, fresh_s: float = _FRESH_S) -> AuthServer:
        """What the issuer publishes, not older than `fresh_s` seconds. Raises `ApiError`."""
        async with self._lock:
            if self._server is not None and self._clock() - self._server[0] < fresh_s:
                return self._server[1]
            if self._problem is not None and self._clock() - self._problem[0] < _AWAY_S:
                known = self._problem[1]
                raise ApiError(known.status, known.code, known.message, known.hint)
            try:
                self._secret = await asyncio.to_thread(self._secret_of)
                found = await self._fetched()
            except Undefined as problem:
                raise ApiError(503, "secret", problem.what, problem.instead) from None
            except (Unusable, EgressFailed) as problem:
                away = self._away(problem)
                self._problem = self._clock(), away
                raise away from None
            self._server = self._clock(), found
            return found

    async def _fetched(self) -> AuthServer:
        issuer, failed = self._said.issuer, ""
        outside = await is_outside(issuer)
        for url in reversed(server_urls(issuer)):  # OpenID's own place first
            status, body = await self._egress.ask(url, outside=outside)
            if status == _OK:
                # The challenge is sent in any case, and the nonce binds the answer to us as well.
                return read_server(body, issuer, loopback=is_loopback(issuer), pkce_unsaid=True)
            failed = failed or f"{url} was answered with HTTP {status}"
        raise Unusable(failed)

    def _client(self, server: AuthServer) -> oauth.Client:
        said = self._said
        identity = oauth.Identity(
            client_id=said.client_id, client_secret=self._secret, issuer=said.issuer
        )
        found = oauth.configured_client(server, identity)
        if found is None:
            raise RuntimeError("a client id is configured for this issuer")
        return found

    def _refused(self, why: str) -> ApiError:
        log.warning("sign-in by %s: %s", self._said.issuer, why)
        return ApiError(403, "sign_in_refused", f"the issuer let nobody in: {why}", "begin again")

    def _away(self, problem: Exception) -> ApiError:
        log.warning("sign-in by %s: %s", self._said.issuer, problem)
        said = f"the issuer {self._said.issuer} cannot be used now: {problem}"
        return ApiError(503, "issuer", said, "try again, or sign in with an operator's key")


def _request(handles: SealedHandles, cookie: str, said: Mapping[str, str]) -> OidcRequest:
    state, nonce, verifier = (handles.secret(one, cookie) for one in ("state", "nonce", "verifier"))
    return OidcRequest(state=state, nonce=nonce, verifier=verifier, handle=cookie, **said)


def _short(way: str) -> str:
    if len(quote_plus(way)) <= _WAY_CHARS:
        return way
    path = way.partition("?")[0]
    return path if len(quote_plus(path)) <= _WAY_CHARS else "/"


def _over() -> ApiError:
    over = "this sign-in was begun elsewhere, was used already, or took too long"
    return ApiError(403, "sign_in_over", over, "begin again")
