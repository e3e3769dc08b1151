"""Validates OAuth access tokens (JWT per RFC 9068, introspection per RFC 7662), JWK sets and server metadata. Pure.

A token is read twice: once without belief, to find the issuer it claims (`peek`), and once
with that issuer's keys (`read_jwt`) or in that issuer's own words (`read_introspection`). Everything that
decides comes from the second reading.

What goes wrong with tokens goes wrong here: an algorithm that the token itself chooses (`none`, or HMAC with a
public key for its secret), a key of another issuer, an audience that is somebody else. So algorithms are
asymmetric and from a list, keys are looked for with the issuer that was configured, and a token without an
audience or a subject is none, and so is a signed one without an end.

Source: RFC 9068, 7519, 7517, 8725 (best practice), 7662, 8414, 9728; MCP 2025-11-25 and 2026-07-28,
basic/authorization. Signatures are joserfc's.
"""

from __future__ import annotations

import binascii
import warnings
from base64 import urlsafe_b64decode
from collections.abc import Collection, Generator, Mapping
from math import inf
from typing import Any, Literal

import msgspec
from joserfc import jws
from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import JWKRegistry, Key, RSAKey

from gatewright.oauth.documents import ALGORITHMS, Unusable, decode_document, scopes_in
from gatewright.web.urls import flaw_of

__all__ = [
    "MOST_CHARS",
    "Claims",
    "Keys",
    "Peek",
    "Published",
    "TokenRefused",
    "Why",
    "peek",
    "read_introspection",
    "read_jwt",
    "read_keys",
    "read_published",
]

MOST_CHARS = 16_384
"""A longer token is none: it would not fit into a header either."""

_MOST_KEYS = 100
_RSA_BITS = 2048
_PUBLIC = ("kty", "use", "key_ops", "alg", "kid", "crv", "n", "e", "x", "y")
"""Members of a key that are read: what it is, and no certificate."""
_MEMBER_CHARS, _EXPONENT_CHARS, _OPERATIONS = 1400, 11, 16
"""Of a number in a key as Base64: an RSA modulus of 8,192 bits has 1,366, and its exponent mostly 4 (64 bits have 11). To import longer ones
takes the square of their length, and each signature as long again. And of a list of what a key is for."""
_TYPES = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})

Why = Literal[
    "malformed",
    "algorithm",
    "issuer",
    "key",
    "signature",
    "expired",
    "endless",
    "early",
    "audience",
    "subject",
    "inactive",
]
Keys = Mapping[str, Key]
"""Key id → public key; the one of a set of one also under the empty id."""


class TokenRefused(ValueError):  # noqa: N818 - a verdict
    """The token lets nobody in. `why` is for the log: whoever shows it is told no more than that."""

    def __init__(self, why: Why) -> None:
        super().__init__(why)
        self.why = why


class Peek(msgspec.Struct, frozen=True):
    """What a token says of itself, believed by nobody yet."""

    issuer: str
    algorithm: str
    key_id: str


class Claims(msgspec.Struct, frozen=True):
    """What an issuer says with a token. Times are Unix seconds."""

    subject: str
    audience: tuple[str, ...]
    expires: float
    """As it was said, without the leeway of clocks; infinite where an issuer that was asked names no end."""
    client: str = ""
    scopes: tuple[str, ...] = ()
    every: Mapping[str, Any] = {}
    """All of it, for claims that only a configuration knows."""


class Published(msgspec.Struct, frozen=True):
    """What an authorization server publishes that concerns whoever takes its tokens."""

    jwks_uri: str = ""
    introspection_endpoint: str = ""


class _Header(msgspec.Struct):
    alg: str
    typ: str = ""
    kid: str = ""


class _Issuer(msgspec.Struct):
    iss: str


class _PublishedServer(msgspec.Struct):
    issuer: str
    jwks_uri: str | None = None
    introspection_endpoint: str | None = None


class _PublishedKeys(msgspec.Struct):
    keys: list[dict[str, Any]]


class _Said(msgspec.Struct):
    """The claims that decide, of a JWT and of an introspection alike."""

    exp: float | None = None
    nbf: float | None = None
    iss: str | None = None
    sub: str | None = None
    aud: str | list[str] | None = None
    client_id: str | None = None
    azp: str | None = None
    scope: str | list[str] | None = None
    scp: str | list[str] | None = None


class _Introspected(_Said):
    active: bool = False


def peek(token: str) -> Peek | None:
    """What a token claims, where it has the form of a signed JWT; None for every other text."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > MOST_CHARS:
        return None
    try:
        header = msgspec.json.decode(_decoded(parts[0]), type=_Header)
        payload = msgspec.json.decode(_decoded(parts[1]), type=_Issuer)
    except (msgspec.DecodeError, binascii.Error, ValueError, RecursionError):
        return None
    # RFC 8725 §3.11: what names another type (`logout+jwt`) is no access token. Many issuers still write `JWT`, or nothing.
    if header.typ.lower() not in _TYPES:
        return None
    return Peek(payload.iss, header.alg, header.kid)


def read_keys(body: bytes) -> Generator[None, None, Keys]:
    """The public keys of a JWK set, one a step. What cannot be used is left out; a set of nothing else is `Unusable`.

    Symmetric keys are among what cannot be used: whoever can read them could sign with them.
    """
    found: dict[str, Key] = {}
    listed = decode_document(body, _PublishedKeys, "the key set").keys[:_MOST_KEYS]
    for one in listed:
        yield
        key = _key(one)
        if key is not None:
            found.setdefault(str(one.get("kid", "")), key)
    if not found:
        raise Unusable("the key set has no public key for signatures")
    if len(found) == 1:
        found.setdefault("", *found.values())
    return found


def _key(member: dict[str, Any]) -> Key | None:
    if member.get("kty") not in ("RSA", "EC", "OKP") or member.get("use", "sig") != "sig":
        return None
    public = {name: member[name] for name in _PUBLIC if name in member}
    if any(isinstance(one, str | list) and len(one) > _most(name) for name, one in public.items()):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # of small keys, which are not used
            key = JWKRegistry.import_key(public)
        small = isinstance(key, RSAKey) and key.public_key.key_size < _RSA_BITS
    except (JoseError, ValueError, TypeError, AttributeError, KeyError):
        return None
    return None if small else key


def _most(member: str) -> int:
    return {"e": _EXPONENT_CHARS, "key_ops": _OPERATIONS}.get(member, _MEMBER_CHARS)


def read_published(body: bytes, issuer: str, *, loopback: bool) -> Published:
    """The metadata of an authorization server (RFC 8414, or OpenID's), as far as it concerns a server.
    Raises `Unusable`, above all when it is of another issuer, compared character by character."""
    found = decode_document(body, _PublishedServer, "the authorization server metadata")
    if found.issuer != issuer:
        raise Unusable(
            f"the authorization server metadata is of issuer {found.issuer[:200]!r}, not {issuer!r}"
        )
    for url in (found.jwks_uri, found.introspection_endpoint):
        flaw = flaw_of(url, loopback=loopback) if url else ""
        if flaw:
            raise Unusable(f"the authorization server names {str(url)[:200]!r}: {flaw}")
    return Published(found.jwks_uri or "", found.introspection_endpoint or "")


def read_jwt(
    token: str,
    keys: Keys,
    *,
    issuer: str,
    algorithms: Collection[str],
    now: float,
    leeway_s: float,
    subject_claim: str = "",
) -> Claims:
    """What a token says, once its signature, its issuer and its times were found good. Raises `TokenRefused`.

    It has to have a subject (RFC 9068 §2.2, also of a client that speaks for itself: then it is the client's id), unless
    the operator says that `subject_claim` names the caller. The audience is in the result: for whom a token was made depends on what it is shown for.
    """
    seen = peek(token)
    if seen is None:
        raise TokenRefused("malformed")
    if seen.algorithm not in algorithms or seen.algorithm not in ALGORITHMS:
        raise TokenRefused("algorithm")
    key = keys.get(seen.key_id)
    if key is None:
        raise TokenRefused("key")
    if key.alg not in (None, seen.algorithm):  # RFC 8725 §3.1: a key is for one algorithm
        raise TokenRefused("algorithm")
    try:
        payload = _verified(token, key, seen.algorithm)
        said = msgspec.json.decode(payload, type=_Said)
        every = msgspec.json.decode(payload, type=dict[str, Any])
    except (JoseError, ValueError, TypeError, RecursionError):
        raise TokenRefused("signature") from None
    if said.iss != issuer:  # `peek` read it from a text that nobody had verified
        raise TokenRefused("issuer")
    if said.exp is None:  # RFC 9068 §2.2: nobody is asked about it, so it would be good for ever
        raise TokenRefused("endless")
    return _claims(said, every, now, leeway_s, subject_claim)


def _verified(token: str, key: Key, algorithm: str) -> bytes:
    """The payload of a token whose signature is good. Raises `JoseError`, `ValueError`."""
    if algorithm != "EdDSA":
        return jws.deserialize_compact(token, key, [algorithm]).payload
    with warnings.catch_warnings():
        # The name is superseded (RFC 9864), not the signature; most issuers still use the name.
        warnings.simplefilter("ignore", SecurityWarning)
        return jws.deserialize_compact(token, key, [algorithm]).payload


def read_introspection(
    body: bytes, *, issuer: str, now: float, leeway_s: float, subject_claim: str = ""
) -> Claims:
    """What an issuer answered when it was asked about a token (RFC 7662). Raises `TokenRefused`, and
    `Unusable` for what is no such answer."""
    said = decode_document(body, _Introspected, "the introspection")
    every = decode_document(body, dict[str, Any], "the introspection")
    if not said.active:
        raise TokenRefused("inactive")
    if said.iss not in (None, issuer):  # RFC 7662 §2.2: optional in the answer
        raise TokenRefused("issuer")
    return _claims(said, every, now, leeway_s, subject_claim)


def _claims(
    said: _Said, every: Mapping[str, Any], now: float, leeway_s: float, subject_claim: str
) -> Claims:
    # RFC 7662 §2.2: whoever is asked need not say when it ends; it is asked again.
    expires = inf if said.exp is None else said.exp
    if expires + leeway_s <= now:
        raise TokenRefused("expired")
    if said.nbf is not None and said.nbf - leeway_s > now:
        raise TokenRefused("early")
    audience = (said.aud,) if isinstance(said.aud, str) else tuple(said.aud or ())
    # RFC 9068 §2.2 requires it; without one a token for any server would be good here (MCP: no passthrough).
    if not audience:
        raise TokenRefused("audience")
    client = said.client_id or said.azp or ""
    subject = said.sub or ""
    if (
        not subject and not subject_claim
    ):  # a client's id is not a user's: whoever names both alike is another
        raise TokenRefused("subject")
    scopes = dict.fromkeys((*scopes_in(said.scope), *scopes_in(said.scp)))
    return Claims(subject, audience, expires, client, tuple(scopes), every)


def _decoded(part: str) -> bytes:
    if "=" in part:  # RFC 7515 §2: base64url without padding, so each token has one spelling
        raise ValueError("padded")
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))
