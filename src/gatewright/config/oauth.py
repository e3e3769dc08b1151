"""Settings of `[oauth]`: accepted authorization servers and what their access tokens grant, with validation rules.

The model of what was written, and the rules over it. `app` makes issuers of it. A client secret is
a reference, never the secret itself: it is looked up where it is used, and stands nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from gatewright.call import Trust
from gatewright.command_text import to_type
from gatewright.config.bounds import SECONDS
from gatewright.config.substitute import hides
from gatewright.mcp.wire.permissions import held_permission
from gatewright.oauth.documents import Algorithm
from gatewright.web.urls import flaw_of, is_loopback

__all__ = ["Issuer", "OAuth", "flaws_of"]

Text = Annotated[str, Meta(min_length=1, max_length=2048)]
Url = Annotated[str, Meta(max_length=2048, examples=['"https://auth.example"'])]


_TAKEN = {
    "local": "users of this machine are called local:NAME",
    "oidc": "people of the console are called oidc:NAME",
}
"""Prefixes that the gateway itself gives: nobody with a token may be taken for whom they name."""
_PERMISSIONS = 'write "ToolInvoke(server/tool)", "ToolsListAll", "filesystem.read" …'


class Issuer(msgspec.Struct, frozen=True, kw_only=True):
    """One authorization server whose access tokens are accepted."""

    name: Annotated[
        str,
        Meta(
            pattern=r"\A[a-z0-9][a-z0-9-]{0,31}\Z",
            description="small letters, digits and '-', at most 32 of them",
            examples=['"corp"'],
        ),
    ]
    """The prefix of its users' names: `corp:alice` is the agent that grants and `[agents.NAME]` know."""
    issuer: Url
    """The issuer identifier, exactly as the server spells it. Its metadata (RFC 8414) and keys are found from there."""
    jwks_uri: Url = ""
    """The URL of its keys, where its metadata does not name one."""
    algorithms: tuple[Algorithm, ...] = ()
    """The signature algorithms that are accepted; all of those listed unless set. `none` and those with a shared secret
    never are."""
    audience: tuple[Text, ...] = ()
    """Further values of `aud` that mean this gateway, for issuers that put a name of their own there."""
    leeway_s: Annotated[float, Meta(ge=0, le=600, extra=SECONDS)] = 30.0
    """How far the clock of the issuer may differ."""
    recheck_s: Annotated[float, Meta(ge=0, le=3600, extra=SECONDS)] = 30.0
    """How long the result of checking a token is used: a token that was revoked is refused after that at the latest. 0
    asks the issuer at every request."""
    keys_max_age_s: Annotated[float, Meta(ge=1, le=86400, extra=SECONDS)] = 300.0
    """The age at which its published keys are fetched again: what is signed with a key that was withdrawn is refused
    after that at the latest."""
    client_id: str = ""
    """The client id for token introspection (RFC 7662). With it and `client_secret` tokens are not verified by their
    signature but asked about at the issuer, once in `recheck_s` each. Only one issuer may have it."""
    client_secret: str = ""
    """The client secret for introspection, as `${secret:NAME}`, `${file:PATH}` or `${VARIABLE}`; plain text is refused."""
    introspection_url: Url = ""
    """The introspection endpoint, where the issuer's metadata does not name one."""
    subject_claim: str = ""
    """The claim with the user's name; `sub` unless set."""
    role_claim: str = ""
    """The claim with the user's role; none unless set."""
    trust_level: Trust | None = None
    """How far its users are trusted, as in `[agents.NAME]`; `verified` unless set."""
    required_scopes: tuple[Text, ...] = ()
    """The scopes without which a token is not accepted."""
    scopes: dict[str, tuple[Text, ...]] = {}
    """The permissions that each scope gives. A token then holds what its scopes give and nothing else; unless set, grants
    decide, as for keys."""

    def __repr__(self) -> str:
        """Without the secret: a repr ends in logs."""
        return f"Issuer(name={self.name!r}, issuer={self.issuer!r})"


class OAuth(msgspec.Struct, frozen=True, kw_only=True):
    """Access tokens of OAuth issuers at the HTTP endpoints, beside API keys.

    Without an issuer no token is accepted. docs/identity.md shows a whole configuration.
    """

    resource: Url = ""
    """The URL at which clients reach the gateway, without a path: `https://gateway.example`. Tokens have to be issued for
    it or for an endpoint below it (RFC 8707). Unless set, the gateway's own address on this machine."""
    issuers: tuple[Issuer, ...] = ()
    """The authorization servers whose tokens are accepted; see `[[oauth.issuers]]`."""


def flaws_of(oauth: OAuth, host: str, port: int) -> Iterator[tuple[str, str, str]]:
    """(key, what is wrong, what to write instead) of what cannot be meant."""
    if not oauth.issuers:
        return
    yield from _resource_flaws(oauth, host, port)
    for key in ("name", "issuer"):
        found = [getattr(one, key) for one in oauth.issuers]
        for value in sorted({one for one in found if found.count(one) > 1}):
            yield (
                "oauth.issuers",
                f"the {key} {value} stands twice",
                f"give each issuer its own {key}",
            )
    if sum(bool(one.client_id) for one in oauth.issuers) > 1:
        yield (
            "oauth.issuers",
            "several issuers have a client_id, so nobody knows whom to ask about a token",
            "leave client_id to one of them",
        )
    for one in oauth.issuers:
        if one.name in _TAKEN:
            yield (
                "oauth.issuers",
                f"no issuer can have the name {one.name}: {_TAKEN[one.name]}",
                "give it another name",
            )
        for what, instead in _issuer_flaws(one):
            yield "oauth.issuers", f"{one.name}: {what}", instead


def _resource_flaws(oauth: OAuth, host: str, port: int) -> Iterator[tuple[str, str, str]]:
    if not oauth.resource:
        if port == 0 or not is_loopback(f"http://[{host}]" if ":" in host else f"http://{host}"):
            yield (
                "oauth.resource",
                "nobody knows the URL for which tokens have to be made",
                'write resource = "https://gateway.example", as clients reach it',
            )
        return
    flaw = flaw_of(oauth.resource, loopback=True)
    path = oauth.resource.partition("://")[2].partition("/")[2]
    if flaw or path:
        yield (
            "oauth.resource",
            flaw or "it has a path",
            'write scheme and host alone: resource = "https://gateway.example"',
        )


def _issuer_flaws(one: Issuer) -> Iterator[tuple[str, str]]:
    yield from _url_flaws(one)
    if bool(one.client_id) != bool(one.client_secret):
        yield "client_id and client_secret go together", "write both, or neither"
    if one.client_secret and not hides(one.client_secret):
        yield (
            "client_secret stands in plain text",
            f'`{to_type("secret set {}", one.name)}`, and write client_secret = "${{secret:{one.name}}}"',
        )
    if one.introspection_url and not one.client_id:
        yield "introspection_url needs a client_id", "write client_id and client_secret as well"
    given = ((scope, name) for scope, names in one.scopes.items() for name in names)
    for scope, name in given:
        if held_permission(name) is None:
            yield f'scope {scope}: "{name}" is not a permission', _PERMISSIONS


def _url_flaws(one: Issuer) -> Iterator[tuple[str, str]]:
    for key in ("issuer", "jwks_uri", "introspection_url"):
        url = getattr(one, key)
        flaw = flaw_of(url, loopback=True) if url or key == "issuer" else ""
        if flaw:
            yield f"{key}: {flaw}", f'write {key} = "https://…"'
