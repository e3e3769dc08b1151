"""Parses and validates OAuth metadata, challenges and token responses for a client; derives the well-known URLs where metadata is fetched.

Pure functions and plain values; `oauth/login` puts them in order, `servers/authorize.py` does the
I/O. Everything read here is foreign text. A document that breaks one rule is not used at
all: half a document is how a token ends at the wrong place.

Source: MCP 2025-11-25 and 2026-07-28, basic/authorization; RFC 9728, 8414, 8707, 9207, 7591, 6749.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Literal, TypeVar, get_args
from urllib.parse import urlsplit

import msgspec

from gatewright.mcp.wire.foreign_json import heavy
from gatewright.patterns import DOTALL, Pattern
from gatewright.web.urls import flaw_of, is_within, origin_of

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "AuthServer",
    "Challenge",
    "Resource",
    "Token",
    "Unusable",
    "challenge_of",
    "decode_document",
    "error_in",
    "read_resource",
    "read_server",
    "read_token",
    "resource_urls",
    "scopes_in",
    "server_urls",
]

Algorithm = Literal[
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
    "Ed25519",
]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)
"""Signatures of access tokens that may count: those whose keys can be published."""

_MOST_SCOPES = 100
_SCOPES_LOOKED_AT = 1000
_MOST_CHALLENGES = 32
"""Headers with challenges, and schemes and parameters in one of them, that are read. Servers write one or two, of four parameters at most."""
_HEADER_CHARS = 16_384

_PARAMETER = Pattern(
    rb"""([!#$%&'*+\-.^_`|~0-9A-Za-z]+)[ \t]*=[ \t]*("((?:[^"\\]|\\.)*)"|([^\s,"]+))(?:[\s,]|\Z)""",
    DOTALL,
)
_SCHEME = Pattern(
    rb"""([!#$%&'*+\-.^_`|~0-9A-Za-z]+)(?:([ \t]+[A-Za-z0-9\-._~+/]+=*)[ \t]*(?:,|\Z)|[\s,]|\Z)"""
)
_ESCAPED = Pattern(rb"\\(.)", DOTALL)
_SCOPE = Pattern(r"[\x21\x23-\x5b\x5d-\x7e]+")
_BEARER = Pattern(r"[\x21-\x7e]+")
_WELL_KNOWN = "/.well-known"

T = TypeVar("T")


class Unusable(ValueError):  # noqa: N818 - a verdict on what somebody else wrote
    """A document or an answer that must not be used. The text says why, for a person."""


class Challenge(msgspec.Struct, frozen=True):
    """The `Bearer` challenge of a 401 or 403."""

    resource_metadata: str | None = None
    scopes: tuple[str, ...] = ()
    error: str = ""


class Resource(msgspec.Struct, frozen=True):
    """What a protected server says of itself (RFC 9728), as far as a client needs it."""

    resource: str
    """Exactly as published: the `resource` parameter has to repeat it character by character."""
    authorization_servers: tuple[str, ...] = ()
    scopes_supported: tuple[str, ...] = ()


class AuthServer(msgspec.Struct, frozen=True):
    """What an authorization server says of itself (RFC 8414), as far as a client needs it."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None = None
    scopes_supported: tuple[str, ...] = ()
    auth_methods: tuple[str, ...] = ("client_secret_basic",)
    """`token_endpoint_auth_methods_supported`; the default is RFC 8414's."""
    documents: bool = False
    """Takes the URL of a client-id metadata document for a `client_id`."""
    sends_issuer: bool = False
    """Puts `iss` into each authorization response (RFC 9207)."""


class Token(msgspec.Struct, frozen=True):
    """What a token endpoint gave. `expires_in` is seconds."""

    access_token: str
    refresh_token: str | None = None
    expires_in: float | None = None
    scopes: tuple[str, ...] | None = None
    """None where the answer names none: then they are those that were asked for."""
    id_token: str | None = None
    """Of OpenID Connect, for sign-in to the console; of servers' grants not used, and a secret all the same."""

    def __repr__(self) -> str:
        """Nothing of it: a repr ends in logs."""
        return "Token(…)"


class _PublishedResource(msgspec.Struct):
    resource: str
    authorization_servers: list[str] | None = None
    scopes_supported: list[str] | None = None


class _PublishedServer(msgspec.Struct):
    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str | None = None
    scopes_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None


class _GivenToken(msgspec.Struct):
    access_token: str
    token_type: str
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None
    id_token: Any = None


class _RefusedToken(msgspec.Struct):
    error: str
    error_description: Any = None


# -- the challenge -----------------------------------------------------------------------------------


def challenge_of(headers: Iterable[str]) -> Challenge | None:
    """The first `Bearer` challenge in the `WWW-Authenticate` headers of an answer, or None.

    One header may hold several challenges, and each may be a header of its own (RFC 9110 §11.6.1).
    """
    for header in islice(headers, _MOST_CHALLENGES):
        for scheme, parameters in _challenges(header[:_HEADER_CHARS]):
            if scheme.lower() == "bearer":
                return Challenge(
                    parameters.get("resource_metadata"),
                    scopes_in(parameters.get("scope")),
                    parameters.get("error", ""),
                )
    return None


def _challenges(said: str) -> list[tuple[str, dict[str, str]]]:
    """Schemes with their parameters. Where the header stops making sense, or has more of them than anybody writes, reading stops."""
    found: list[tuple[str, dict[str, str]]] = []
    at, header = 0, said.encode(errors="replace")
    for _ in range(_MOST_CHALLENGES):
        while at < len(header) and header[at] in b" \t,":
            at += 1
        parameter = _PARAMETER.match(header, at) if found else None
        if parameter is not None:
            name, _, quoted, plain = parameter.groups()
            value = plain if quoted is None else _ESCAPED.sub(lambda one: one[1], quoted)
            found[-1][1].setdefault(name.lower().decode(), value.decode(errors="replace"))
            at = parameter.end(2)
            continue
        scheme = _SCHEME.match(header, at)
        if scheme is None:
            return found
        found.append((scheme[1].decode(), {}))
        at = max(scheme.end(1), scheme.end(2))
    return found


def scopes_in(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """The scopes in a blank-separated text or a list, each once; what is no scope is left out."""
    if text is None:
        return ()
    found: dict[str, None] = {}
    for one in _looked_at(text):
        if _SCOPE.fullmatch(one):
            found[one] = None
            if len(found) == _MOST_SCOPES:
                break
    return tuple(found)


def _looked_at(text: str | Sequence[str]) -> Iterable[str]:
    """So many words of a text, or texts of a list, and no more: whoever writes one scope a thousand times says nothing by the last of them."""
    if isinstance(text, str):
        # What is behind the last word is cut off: half a scope may be another one.
        return text.split(maxsplit=_SCOPES_LOOKED_AT)[:_SCOPES_LOOKED_AT]
    return text[:_SCOPES_LOOKED_AT]


# -- where to ask ------------------------------------------------------------------------------------


def resource_urls(server_url: str, challenge: Challenge | None) -> tuple[str, ...]:
    """Where the metadata of a protected server is looked for, in this order (RFC 9728 §3, §5.1).

    A challenge that names the place rules out every other.
    """
    if challenge is not None and challenge.resource_metadata is not None:
        return (challenge.resource_metadata,)
    origin, path = origin_of(server_url), urlsplit(server_url).path
    root = f"{origin}{_WELL_KNOWN}/oauth-protected-resource"
    return (root,) if path in ("", "/") else (f"{root}{path}", root)


def server_urls(issuer: str) -> tuple[str, ...]:
    """Where the metadata of an authorization server is looked for, in this order: RFC 8414's way,
    then OpenID's. An issuer with a path is never asked for at the root: somebody else lives there."""
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    oauth = f"{origin}{_WELL_KNOWN}/oauth-authorization-server{path}"
    openid = f"{origin}{_WELL_KNOWN}/openid-configuration{path}"
    return (oauth, openid, f"{origin}{path}{_WELL_KNOWN}/openid-configuration")[: 3 if path else 2]


# -- what they say -----------------------------------------------------------------------------------


def decode_document(body: bytes, shape: type[T], what: str) -> T:
    """JSON of a known shape. Raises `Unusable`."""
    flaw = heavy(body)
    if flaw:
        raise Unusable(f"{what} cannot be used: it {flaw}")
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Unusable(f"{what} cannot be used: {problem}") from None


def read_resource(body: bytes, server_url: str, *, loopback: bool) -> Resource:
    """The metadata of a protected server. Raises `Unusable`, above all when it is about another
    server than `server_url`: a token for that one must not be fetched on this one's word.

    `loopback` says whether plain HTTP to this machine is acceptable.
    """
    found = decode_document(body, _PublishedResource, "the protected resource metadata")
    # RFC 9728 §3.3 wants the very URL; a parent of it is taken as well.
    if not is_within(server_url, found.resource):
        raise Unusable(
            f"the protected resource metadata is about {found.resource[:200]!r}, "
            "which is not this server nor a parent of it"
        )
    servers = tuple(found.authorization_servers or ())
    # Only the first is ever asked, unless the operator's own issuer is among them.
    for issuer in servers[:1]:
        _check(issuer, "authorization server", loopback=loopback)
    return Resource(found.resource, servers, scopes_in(found.scopes_supported))


def read_server(
    body: bytes, issuer: str, *, loopback: bool, pkce_unsaid: bool = False
) -> AuthServer:
    """The metadata of an authorization server. Raises `Unusable`, above all when it is of another
    issuer than the one that was asked for, compared character by character (RFC 8414 §3.3). `pkce_unsaid`: one will do that says nothing
    of PKCE, as many issuers of OpenID Connect that know it."""
    found = decode_document(body, _PublishedServer, "the authorization server metadata")
    if found.issuer != issuer:
        raise Unusable(
            f"the authorization server metadata is of issuer {found.issuer[:200]!r}, not {issuer!r}"
        )
    _check(found.authorization_endpoint, "authorization endpoint", loopback=loopback)
    _check(found.token_endpoint, "token endpoint", loopback=loopback)
    if found.registration_endpoint is not None:
        _check(found.registration_endpoint, "registration endpoint", loopback=loopback)
    # MCP, basic/authorization: without it in the metadata, clients MUST refuse to proceed.
    challenges = found.code_challenge_methods_supported
    if "S256" not in (challenges or ()) and not (pkce_unsaid and challenges is None):
        raise Unusable(f"the authorization server {issuer} does not support PKCE with S256")
    methods = found.token_endpoint_auth_methods_supported
    return AuthServer(
        found.issuer,
        found.authorization_endpoint,
        found.token_endpoint,
        found.registration_endpoint,
        scopes_in(found.scopes_supported),
        ("client_secret_basic",) if methods is None else tuple(methods),
        found.client_id_metadata_document_supported is True,
        found.authorization_response_iss_parameter_supported is True,
    )


def read_token(status: int, body: bytes) -> Token:
    """The answer of a token endpoint. Raises `Unusable` with the error it names, if it names one."""
    if status != 200:
        raise Unusable(f"the token endpoint refused: {_refusal(status, body)}")
    given = decode_document(body, _GivenToken, "the answer of the token endpoint")
    if given.token_type.lower() != "bearer":
        raise Unusable(f"the token is of type {given.token_type[:40]!r}, not Bearer")
    if not _BEARER.fullmatch(given.access_token):
        raise Unusable("the access token has characters that a header cannot carry")
    scopes = None if given.scope is None else scopes_in(given.scope)
    lifetime = _seconds(given.expires_in)
    id_token = given.id_token if isinstance(given.id_token, str) else None
    return Token(given.access_token, given.refresh_token or None, lifetime, scopes, id_token)


def _seconds(value: float | str | None) -> float | None:
    """A lifetime; some servers write it as a text. What makes no sense counts as not said."""
    try:
        found = -1.0 if value is None else float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) and found >= 0 else None


def error_in(status: int, body: bytes) -> str:
    """The code of the error of a token endpoint (RFC 6749 §5.2); empty where it was somebody else who answered."""
    found = _refused(body) if status in (400, 401) else None
    return "" if found is None else found.error


def _refused(body: bytes) -> _RefusedToken | None:
    try:
        return msgspec.json.decode(body, type=_RefusedToken)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _refusal(status: int, body: bytes) -> str:
    found = _refused(body)
    if found is None:
        return f"HTTP {status}"
    more = found.error_description
    return f"{found.error[:100]!r}" + (f", {more[:200]!r}" if isinstance(more, str) else "")


def _check(url: str, what: str, *, loopback: bool) -> None:
    flaw = flaw_of(url, loopback=loopback)
    if flaw:
        raise Unusable(f"the {what} {url[:200]!r} must not be used: {flaw}")
