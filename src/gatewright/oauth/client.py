"""OAuth 2.1 client messages: identity, registration, authorization URL with PKCE, response checks, code and refresh requests. No I/O.

What OAuth itself prescribes comes from authlib: the PKCE challenge, the authorization URL, the body
of token requests, client authentication. What MCP prescribes beyond it is here: whose credentials are
whose (each belongs to one issuer and is shown to no other), in which order we look for an identity,
which scopes we ask for, and what an authorization response must say before its code is used.

Source: MCP 2026-07-28, basic/authorization; RFC 6749 §2.3, RFC 7591, 7636, 8252, 8707, 9207.
`docs/decisions/0005-oauth-client.md` says what is taken from authlib and what is not.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import parse_qs, quote_plus

import msgspec
from authlib.oauth2 import ClientAuth  # type: ignore[import-untyped]
from authlib.oauth2.rfc6749.parameters import (  # type: ignore[import-untyped]
    prepare_grant_uri,
    prepare_token_request,
)
from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]

from gatewright.oauth.documents import (
    AuthServer,
    Challenge,
    Resource,
    Unusable,
    decode_document,
    scopes_in,
)
from gatewright.web.urls import is_same_origin

__all__ = [
    "CLIENT_NAME",
    "Client",
    "Form",
    "Grant",
    "Identity",
    "authorization_url",
    "code_from",
    "code_request",
    "configured_client",
    "read_registration",
    "redirect_uri_at",
    "redirect_uri_for",
    "refresh_request",
    "registration",
    "scopes_to_ask",
]

CLIENT_NAME = "Gatewright"

Method = Literal["client_secret_basic", "client_secret_post", "none"]
_METHODS: tuple[Method, ...] = ("client_secret_basic", "client_secret_post", "none")
_OFFLINE = "offline_access"


class Identity(msgspec.Struct, frozen=True):
    """What the operator configured about us for one upstream."""

    client_id: str = ""
    client_secret: str = ""
    issuer: str = ""
    """The authorization server that `client_id` and `client_secret` belong to."""
    metadata_url: str = ""
    """Our client-id metadata document."""
    scopes: tuple[str, ...] = ()
    redirect_uri: str = ""
    """The redirect URI that is registered for this identity at `issuer`; empty: the issuer's own, `redirect_uri_at`."""

    def __repr__(self) -> str:
        """Without the secret: a repr ends in logs."""
        return f"Identity(client_id={self.client_id!r}, issuer={self.issuer!r})"


class Client(msgspec.Struct, frozen=True):
    """Us, as one issuer knows us."""

    issuer: str
    client_id: str
    client_secret: str = ""
    method: Method = "none"
    origin: Literal["configured", "document", "registered"] = "registered"
    redirect_uri: str = ""
    """What was registered; empty where that is somebody else's business."""

    def __repr__(self) -> str:
        """Without the secret: a repr ends in logs."""
        return f"Client(issuer={self.issuer!r}, client_id={self.client_id!r})"


class Grant(msgspec.Struct, frozen=True):
    """What one issuer let us have for one protected server."""

    url: str
    """The server's URL as configured: the only place the token may be sent to."""
    resource: str
    client: Client
    access_token: str
    refresh_token: str | None = None
    expires_at: float | None = None
    """Wall clock, seconds since 1970."""
    scopes: tuple[str, ...] = ()
    """What was asked for, over time; what a step-up adds to."""

    def __repr__(self) -> str:
        """Without the tokens: a repr ends in logs."""
        return f"Grant(url={self.url!r}, issuer={self.client.issuer!r})"


class Form(msgspec.Struct, frozen=True):
    """One request to an endpoint of an authorization server."""

    url: str
    headers: dict[str, str]
    body: bytes

    def __repr__(self) -> str:
        """Where to, and no more: headers and body carry secrets."""
        return f"Form(url={self.url!r})"


# -- who we are --------------------------------------------------------------------------------------


def configured_client(server: AuthServer, identity: Identity) -> Client | None:
    """Our identity without asking for one: pre-registered with this very issuer, else a metadata document where the issuer takes
    those and promises `iss` (RFC 9207). None where we would have to register."""
    # A server that was taken over could name an issuer of its own: it is never shown the credentials of another.
    if identity.client_id and identity.issuer == server.issuer:
        method = _method(server.auth_methods, identity.client_secret)
        return Client(
            server.issuer, identity.client_id, identity.client_secret, method, "configured"
        )
    if identity.metadata_url and server.documents and server.sends_issuer:
        return Client(server.issuer, identity.metadata_url, "", "none", "document")
    return None


def redirect_uri_at(base: str, issuer: str) -> str:
    """The redirect URI of one issuer. No other issuer is given it, so a code that arrives there is of this issuer also
    where it sends no `iss` (RFC 9700 §4.4.2)."""
    return f"{base}/{hashlib.sha256(issuer.encode()).hexdigest()[:32]}"


def redirect_uri_for(
    server: AuthServer, identity: Identity, client: Client | None, base: str
) -> str:
    """The redirect URI of a login as `client`, None where we would have to register. Raises `Unusable` where neither it nor
    `iss` could tell a response of this issuer from one of another."""
    if client is None or client.origin == "registered":
        return redirect_uri_at(base, server.issuer)
    fixed = identity.redirect_uri if identity.issuer == server.issuer else ""
    if client.origin == "document":
        # Every issuer that takes the document sends codes to all it lists: no login without `iss` waits there.
        return fixed or f"{base}/{_OF_DOCUMENTS}"
    if fixed:  # other issuers may have this URI
        _of_one_origin(server)
    return fixed or redirect_uri_at(base, server.issuer)


_OF_DOCUMENTS = "document"
"""The last part of the redirect URI that a client-id metadata document lists: one for all issuers, told apart by `iss`."""


_NO_ISS = (
    "does not promise iss in its responses (RFC 9207), and a client-id metadata document has the same client id and "
    "redirect URI at every issuer, so a code of another issuer could be taken for its own"
)


def _of_one_origin(server: AuthServer) -> None:
    """Raises `Unusable` where the issuer promises no `iss` and an endpoint is not on its origin."""
    for url in (server.authorization_endpoint, server.token_endpoint):
        if not server.sends_issuer and not is_same_origin(url, server.issuer):
            raise Unusable(
                f"the endpoint {url[:200]!r} is not on the origin of its issuer {server.issuer}, which does not promise iss in "
                "its responses (RFC 9207): they could be taken for those of another issuer; register a client there whose "
                "redirect URI is of this issuer alone, and set its client_id in [servers.auth], without redirect_uri"
            )


def registration(server: AuthServer, redirect_uri: str) -> Form:
    """The request for an identity (RFC 7591). Raises `Unusable` where the issuer gives none, or would have us registered by
    somebody else than it sends our code to."""
    if server.registration_endpoint is None:
        why = f", and {_NO_ISS}" if server.documents and not server.sends_issuer else ""
        raise Unusable(
            f"the authorization server {server.issuer} registers no clients by itself{why}; register one "
            "there and set client_id, issuer and, if it gave one, client_secret in [servers.auth]"
        )
    if not server.sends_issuer and not is_same_origin(
        server.registration_endpoint, server.token_endpoint
    ):
        raise Unusable(
            f"the authorization server {server.issuer} names a registration endpoint and a token endpoint of different origins "
            "and does not promise iss in its responses (RFC 9207); register a client there and set client_id and issuer in "
            "[servers.auth]"
        )
    wanted = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": _preferred(server.auth_methods),
        "application_type": "native",
    }
    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    return Form(server.registration_endpoint, headers, msgspec.json.encode(wanted))


class _Registered(msgspec.Struct):
    client_id: str
    client_secret: str | None = None
    token_endpoint_auth_method: str | None = None


def read_registration(status: int, body: bytes, server: AuthServer, redirect_uri: str) -> Client:
    """The identity that a registration gave. Raises `Unusable`."""
    if status not in (200, 201):
        raise Unusable(f"the authorization server {server.issuer} refused to register us: {status}")
    found = decode_document(body, _Registered, "the answer to the registration")
    secret = found.client_secret or ""
    said = found.token_endpoint_auth_method
    method = _method(server.auth_methods if said is None else (said,), secret)
    kept = "" if method == "none" else secret  # a public client that was given one anyway
    return Client(server.issuer, found.client_id, kept, method, "registered", redirect_uri)


def _preferred(offered: Sequence[str]) -> str:
    """What a program on somebody's own machine should be: a public client, where that is possible."""
    return next((one for one in ("none", *_METHODS) if one in offered), "none")


def _method(offered: Sequence[str], secret: str) -> Method:
    """How we prove who we are: the first way we both know. Raises `Unusable`."""
    usable = [one for one in _METHODS if one in offered and (secret or one == "none")]
    if usable:
        return usable[0]
    if not secret and set(offered) & set(_METHODS):
        return "none"  # a public client, although that was not offered in so many words
    known = ", ".join(offered)[:200] or "none"
    raise Unusable(f"the authorization server wants client authentication by {known}")


# -- what we ask for ---------------------------------------------------------------------------------


def scopes_to_ask(
    challenge: Challenge | None,
    resource: Resource,
    server: AuthServer,
    identity: Identity,
    before: Sequence[str],
) -> tuple[str, ...]:
    """The scopes of the next authorization request; none means that the parameter is left out.

    The challenge decides, else the operator, else everything that the server publishes. What was
    asked for `before` stays, so that a step up never takes anything away.
    """
    first = challenge.scopes if challenge is not None else ()
    wanted = first or identity.scopes or resource.scopes_supported
    if not wanted and not before:
        return ()
    more = (_OFFLINE,) if _OFFLINE in server.scopes_supported else ()
    return scopes_in([*before, *wanted, *more])


def authorization_url(
    server: AuthServer,
    client: Client,
    *,
    resource: str,
    scopes: Sequence[str],
    redirect_uri: str,
    state: str,
    verifier: str,
    openid: Mapping[str, str] | None = None,
) -> str:
    """What a browser opens. `verifier` has 43 to 128 characters (RFC 7636 §4.1); `openid`: nonce, prompt; an empty `resource` is none."""
    found: str = prepare_grant_uri(
        server.authorization_endpoint,
        client.client_id,
        "code",
        redirect_uri,
        " ".join(scopes) or None,
        state,
        code_challenge=create_s256_code_challenge(verifier),
        code_challenge_method="S256",
        **(({"resource": resource} if resource else {}) | dict(openid or {})),
    )
    return found


def code_from(response: str, *, state: str, server: AuthServer, redirect_uri: str) -> str:
    """The code of an authorization response, given as the URL (or the query) that the browser was
    sent to. Raises `Unusable`; nothing of a response that fails a check is believed, its error
    message included (RFC 9207 §2.4)."""
    # The order matters: where it came to, then `state`, then `iss`, and only then what it says (RFC 9207 §2.4).
    place, query = _arrived(response)
    if place and place != redirect_uri:
        raise Unusable(
            f"the authorization response came to {place[:200]!r}, not to {redirect_uri!r}, the redirect URI of this login"
        )
    said = _read(query)
    if not hmac.compare_digest(said.get("state", "").encode(), state.encode()):
        raise Unusable("the authorization response has another state than the request")
    _check_issuer(said.get("iss"), server, placed=bool(place))
    if "error" in said:
        more = said.get("error_description", "")[:200]
        raise Unusable(f"authorization was refused: {said['error'][:100]!r}, {more!r}")
    if not said.get("code"):
        raise Unusable("the authorization response has no code")
    return said["code"]


def _arrived(response: str) -> tuple[str, str]:
    """Where a response came to, empty where that is not said, and its query."""
    place, mark, query = response.partition("#")[0].partition("?")
    return (place, query) if mark else ("", place)


def _read(query: str) -> dict[str, str]:
    try:
        many = parse_qs(query, keep_blank_values=True, max_num_fields=50)
    except ValueError:
        raise Unusable("the authorization response cannot be read") from None
    # Two readers of a URL may each take another one of them.
    twice = [name for name in ("state", "iss", "code") if len(many.get(name, ())) > 1]
    if twice:
        raise Unusable(f"the authorization response says {twice[0]} twice")
    return {name: values[0] for name, values in many.items()}


def _check_issuer(issuer: str | None, server: AuthServer, *, placed: bool) -> None:
    """`placed` says whether the response is known to have come to the redirect URI of this login."""
    if issuer is not None and issuer != server.issuer:
        raise Unusable(
            f"the authorization response is of issuer {issuer[:200]!r}, not {server.issuer!r}"
        )
    if issuer is None and server.sends_issuer:
        raise Unusable(f"the authorization response names no issuer; {server.issuer} always does")
    if issuer is None and not placed:
        raise Unusable(
            "the authorization response names no issuer and not where it came to; "
            "give the whole address that the browser was sent to"
        )


def code_request(
    server: AuthServer,
    client: Client,
    *,
    code: str,
    resource: str,
    redirect_uri: str,
    verifier: str,
) -> Form:
    """A code for a token."""
    body = prepare_token_request(
        "authorization_code",
        "",
        redirect_uri,
        code=code,
        code_verifier=verifier,
        resource=resource,
    )
    return _as_client(server, client, body)


def refresh_request(server: AuthServer, grant: Grant, client: Client) -> Form:
    """A refresh token for a token. The scopes are those of the grant (RFC 6749 §6)."""
    body = prepare_token_request(
        "refresh_token", "", None, refresh_token=grant.refresh_token, resource=grant.resource
    )
    return _as_client(server, client, body)


def _as_client(server: AuthServer, client: Client, body: str) -> Form:
    """The request with our authentication. The issuer is compared once more, at the last moment
    before a secret leaves: whatever went wrong before, it goes to nobody else."""
    if client.issuer != server.issuer:
        raise Unusable(f"credentials of {client.issuer} are not for {server.issuer}")
    ident, secret = client.client_id, client.client_secret
    if client.method == "client_secret_basic":
        # RFC 6749 §2.3.1 wants both form-encoded before they are joined, which authlib leaves to us.
        ident, secret = quote_plus(ident), quote_plus(secret)
    prepared: tuple[str, dict[str, str], Any] = ClientAuth(ident, secret, client.method).prepare(
        "POST",
        server.token_endpoint,
        {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"},
        body,
    )
    url, headers, form = prepared
    return Form(url, headers, form.encode())
