"""OAuth login state machine: from a 401 or 403 to a token by discovery, registration, authorization, refresh or step-up. No I/O.

Theory: every way to a token begins with what the protected server says now. Only that tells which
issuer is in charge, and so which credentials may be shown to whom: a refresh token of an issuer that
is no longer named goes nowhere. What was read of an issuer stays as it is until the machine has ended, and each
issuer has a redirect URI of its own, so that its code cannot be taken for that of another (RFC 9207, 9700 §4.4). The owner does each step it is given, feeds in what came of it, and
gets the next, until `Granted` or `Stopped`. Without a `callback` there is no browser, and the
machine stops where a person would be needed, before it registers anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from gatewright.oauth.client import (
    Client,
    Form,
    Grant,
    Identity,
    authorization_url,
    code_from,
    code_request,
    configured_client,
    read_registration,
    redirect_uri_for,
    refresh_request,
    registration,
    scopes_to_ask,
)
from gatewright.oauth.documents import (
    AuthServer,
    Challenge,
    Resource,
    Token,
    Unusable,
    error_in,
    read_resource,
    read_server,
    read_token,
    resource_urls,
    server_urls,
)
from gatewright.web.urls import flaw_of, is_loopback

__all__ = ["Get", "Granted", "Login", "Stage", "Step", "Stopped", "Visit"]

Stage = Literal["resource", "server", "refresh", "register", "visit", "token", "over"]

_LATER = frozenset({408, 425, 429})
"""Time changes these, and all from 500 on. What else is refused is not there: many servers want a token for any path that
they do not know, so 401 and 403 say no more than 404 does."""


_SPENT = "invalid_grant"
"""Expired, withdrawn or used up (RFC 6749 §5.2). No other answer speaks of the refresh token."""


class Get(msgspec.Struct, frozen=True):
    """Fetch a document; answered by `Login.replied`. So is a `Form`."""

    url: str


class Visit(msgspec.Struct, frozen=True):
    """Open a URL in the operator's browser; answered by `Login.returned`."""

    url: str


class Granted(msgspec.Struct, frozen=True):
    """Done. `asked` is False where nobody had to be asked: the token was refreshed. `id_token` came along and is not used."""

    grant: Grant
    asked: bool
    id_token: str | None = None

    def __repr__(self) -> str:
        """Without the tokens: a repr ends in logs."""
        return f"Granted(grant={self.grant!r}, asked={self.asked!r})"


class Stopped(msgspec.Struct, frozen=True):
    """There will be no token. `login` is True where a person in front of a browser could change
    that, `temporary` where time could."""

    reason: str
    login: bool = False
    temporary: bool = False
    spent: bool = False
    """The refresh token was refused, and must not be tried again."""
    unrenewed: bool = False
    """A refresh token was shown, and what came back is neither a token nor a word about it: where that stays so, only a person can
    tell whether the login is over."""


Step = Get | Form | Visit | Granted | Stopped

Known = Callable[[str, str], Client | None]
"""Issuer, redirect URI → the registration that we already have there."""


class Login:
    """The machine. `grant` is what we had so far, `asked` are scopes that are wanted besides; `mint`
    gives a fresh random text of 43 to 128 unreserved characters at each call. `callback` is the address at which browsers come
    back, without the issuer's part."""

    def __init__(
        self,
        url: str,
        identity: Identity,
        *,
        mint: Callable[[], str],
        known: Known = lambda *_: None,
        challenge: Challenge | None = None,
        callback: str = "",
        grant: Grant | None = None,
        asked: Sequence[str] = (),
    ) -> None:
        self.stage: Stage = "over"
        self.url = url
        self._identity = identity
        self._mint = mint
        self._known = known
        self._challenge = challenge
        self._callback = callback
        self._redirect_uri = ""
        self._grant = grant
        self._asked = tuple(asked)
        self._loopback = is_loopback(url)
        self._places: list[str] = []
        self._resource = Resource("")
        self._server = AuthServer("", "", "")
        self._client = Client("", "")
        self._scopes: tuple[str, ...] = ()
        self._state = self._verifier = ""

    # -- what the owner calls ------------------------------------------------------------------------

    def start(self) -> Step:
        """The first step."""
        if not self._loopback and not self.url.lower().startswith("https://"):
            return Stopped("its URL is plain http, on which a token can be read; write https")
        self.stage = "resource"
        self._places = list(resource_urls(self.url, self._challenge))
        return self._next_place()

    def replied(self, status: int, body: bytes, now: float) -> Step:
        """What came of a `Get` or a `Form`. `now` is wall clock, in seconds."""
        return self._guarded(self._replied, status, body, now)

    def returned(self, response: str) -> Step:
        """Where the browser was sent to after a `Visit`: the URL, or its query."""
        return self._guarded(self._returned, response)

    def _guarded(self, step: Callable[..., Step], *args: object) -> Step:
        try:
            found = step(*args)
        except Unusable as problem:
            found = Stopped(str(problem))
        if isinstance(found, Stopped) and self.stage == "refresh" and not found.login:
            found = msgspec.structs.replace(found, unrenewed=True)
        if isinstance(found, Granted | Stopped):
            self.stage = "over"
        return found

    def _replied(self, status: int, body: bytes, now: float) -> Step:
        if self.stage in ("resource", "server"):
            return self._document(status, body)
        if _passes(status):
            return self._in_trouble(status)
        if self.stage == "register":
            self._client = read_registration(status, body, self._server, self._redirect_uri)
            return self._visit()
        return self._token(status, body, now)

    # -- documents -----------------------------------------------------------------------------------

    def _next_place(self) -> Step:
        """The next URL where the document may be; each of them came from a stranger or may have."""
        url = self._places.pop(0)
        flaw = flaw_of(url, loopback=self._loopback)
        if flaw:
            self.stage = "over"
            return Stopped(f"the metadata URL {url[:200]!r} must not be used: {flaw}")
        return Get(url)

    def _document(self, status: int, body: bytes) -> Step:
        if status == 200:
            return self._found(body)
        if status not in range(400, 500) or status in _LATER:
            what = "protected resource" if self.stage == "resource" else "authorization server"
            return Stopped(f"the {what} metadata answered HTTP {status}", temporary=_passes(status))
        if self._places:
            return self._next_place()
        if self.stage == "resource":
            return self._unpublished()
        return Stopped(f"the authorization server {self._server.issuer} publishes no metadata")

    def _found(self, body: bytes) -> Step:
        if self.stage == "resource":
            self._resource = read_resource(body, self.url, loopback=self._loopback)
            return self._in_charge(self._resource.authorization_servers)
        self._server = read_server(body, self._server.issuer, loopback=self._loopback)
        return self._served()

    def _unpublished(self) -> Step:
        """A server of 2025-03-26 publishes nothing. Only the operator can say who is in charge."""
        if not self._identity.issuer:
            return Stopped(
                "the server wants authorization and does not say from whom (no protected resource "
                "metadata); set issuer in [servers.auth]"
            )
        self._resource = Resource(self.url)
        return self._in_charge((self._identity.issuer,))

    def _in_charge(self, issuers: Sequence[str]) -> Step:
        """Ask the first issuer that the server names, or the operator's where it names that too."""
        if not issuers:
            return self._unpublished()
        ours = self._identity.issuer
        self.stage = "server"
        # Nothing of it is believed yet but the name by which its metadata is asked for, and compared.
        self._server = AuthServer(ours if ours in issuers else issuers[0], "", "")
        self._places = list(server_urls(self._server.issuer))
        return self._next_place()

    # -- tokens --------------------------------------------------------------------------------------

    def _served(self) -> Step:
        """Everything is known: refresh if that is enough, else see a person."""
        server, grant = self._server, self._grant
        first = self._challenge.scopes if self._challenge is not None else ()
        if grant is not None and grant.client.issuer == server.issuer and grant.refresh_token:
            enough = set(first) <= set(grant.scopes)
            same = grant.url == self.url and grant.resource == self._resource.resource
            client = self._holder(grant)
            # `same`: a refresh token is for one resource (RFC 8707). `enough`: a refresh cannot add scopes (RFC 6749 §6).
            if enough and same and client is not None:
                self.stage, self._client, self._scopes = "refresh", client, grant.scopes
                return refresh_request(server, grant, client)
        return self._authorize()

    def _holder(self, grant: Grant) -> Client | None:
        """Who the grant was made to; None where the operator has changed who we are since."""
        if grant.client.origin == "registered":
            return grant.client
        now = configured_client(self._server, self._identity)
        return now if now is not None and now.client_id == grant.client.client_id else None

    def _authorize(self) -> Step:
        # Before a registration: it would leave one at the issuer that nobody uses.
        if not self._callback:
            return Stopped("nobody has logged in", login=True)
        before = self._before()
        self._scopes = scopes_to_ask(
            self._challenge, self._resource, self._server, self._identity, before
        )
        client = configured_client(self._server, self._identity)
        self._redirect_uri = redirect_uri_for(self._server, self._identity, client, self._callback)
        client = client or self._known(self._server.issuer, self._redirect_uri)
        if client is not None and client.issuer == self._server.issuer:
            self._client = client
            return self._visit()
        self.stage = "register"
        return registration(self._server, self._redirect_uri)

    def _before(self) -> tuple[str, ...]:
        """What was asked for so far. Scopes are words of one issuer: another one is not told them."""
        grant = self._grant
        if grant is None:
            return self._asked
        return (*grant.scopes, *self._asked) if grant.client.issuer == self._server.issuer else ()

    def _visit(self) -> Step:
        self.stage = "visit"
        self._state, self._verifier = self._mint(), self._mint()
        return Visit(
            authorization_url(
                self._server,
                self._client,
                resource=self._resource.resource,
                scopes=self._scopes,
                redirect_uri=self._redirect_uri,
                state=self._state,
                verifier=self._verifier,
            )
        )

    def _returned(self, response: str) -> Step:
        if self.stage != "visit":
            raise Unusable("no authorization response is expected now")
        code = code_from(
            response,
            state=self._state,
            server=self._server,
            redirect_uri=self._redirect_uri,
        )
        self.stage = "token"
        return code_request(
            self._server,
            self._client,
            code=code,
            resource=self._resource.resource,
            redirect_uri=self._redirect_uri,
            verifier=self._verifier,
        )

    def _token(self, status: int, body: bytes, now: float) -> Step:
        if self.stage not in ("refresh", "token"):
            raise Unusable("no token is expected now")
        if self.stage == "refresh" and status != 200:
            return self._not_refreshed(status, body)
        token = read_token(status, body)
        return Granted(self._granted(token, now), self.stage == "token", token.id_token)

    def _not_refreshed(self, status: int, body: bytes) -> Step:
        error = error_in(status, body)
        if (
            not error
        ):  # a proxy, a firewall, an endpoint that is moving: it says nothing of the refresh token
            return self._in_trouble(status)
        if error != _SPENT and not self._callback:
            read_token(status, body)  # raises what is wrong: with us, or with what was asked for
        found = self._authorize()  # a person can give a new one
        if error == _SPENT and isinstance(found, Stopped):
            return msgspec.structs.replace(found, spent=True)
        return found

    def _in_trouble(self, status: int) -> Stopped:
        place = self._server.issuer
        return Stopped(f"the authorization server {place} answered HTTP {status}", temporary=True)

    def _granted(self, token: Token, now: float) -> Grant:
        old = self._grant.refresh_token if self._grant is not None else None
        return Grant(
            self.url,
            self._resource.resource,
            self._client,
            token.access_token,
            # RFC 6749 §6: an answer without a new refresh token leaves the old one in force.
            token.refresh_token or (old if self.stage == "refresh" else None),
            None if token.expires_in is None else now + token.expires_in,
            self._scopes or token.scopes or (),
        )


def _passes(status: int) -> bool:
    return status >= 500 or status in _LATER
