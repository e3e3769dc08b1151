"""Builds OAuth issuers, `Tokens` and resource metadata from settings, reused while unchanged; checks reachability; public base URL."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from gatewright.config import Settings
from gatewright.config.oauth import Issuer as Written
from gatewright.config.setting_sources import looked_up
from gatewright.config.substitute import Undefined
from gatewright.mcp.server.protected_resource import Protected
from gatewright.mcp.wire.permissions import held_permission
from gatewright.oauth.documents import ALGORITHMS
from gatewright.secret_scanning import HELD

if TYPE_CHECKING:
    from gatewright.identity.issuer import Trusted
    from gatewright.identity.tokens import Tokens

__all__ = ["Known", "base_of", "known_of", "trusted_of", "unreachable"]


class Known(NamedTuple):
    """Both halves, of one configuration; neither where no issuer is configured."""

    tokens: Tokens | None = None
    protected: Protected | None = None
    said: object = None
    """What of the configuration they were made of."""


def known_of(settings: Settings, before: Known) -> Known:
    """What takes tokens by these settings. `before` goes on where it would be the same, with all that it
    has learned; else nothing is known of any token any more but when it ends."""
    said = settings.oauth, base_of(settings), settings.gateway.name, settings.secrets
    if not settings.oauth.issuers or said == before.said:
        return before if said == before.said else Known()
    # The library for signatures takes a while to load, and most gateways have no use for it.
    from gatewright.identity.issuer import Issuer  # noqa: PLC0415
    from gatewright.identity.tokens import Tokens  # noqa: PLC0415

    trusted = trusted_of(settings)
    tokens = Tokens(
        [Issuer(one, clock=time.time, monotonic=time.monotonic) for one in trusted],
        clock=time.time,
        monotonic=time.monotonic,
        before=before.tokens,
    )
    required = dict.fromkeys(scope for one in trusted for scope in one.required_scopes)
    meant = dict.fromkeys(scope for one in trusted for scope in one.permissions or ())
    protected = Protected(
        base_of(settings),
        tokens,
        name=settings.gateway.name,
        issuers=[one.issuer for one in trusted],
        required=tuple(required),
        scopes=tuple(required | meant),
    )
    return Known(tokens, protected, said)


def base_of(settings: Settings) -> str:
    """The public URL of the gateway: what was written, else its own address."""
    gateway = settings.gateway
    host = f"[{gateway.host}]" if ":" in gateway.host else gateway.host
    return settings.oauth.resource.rstrip("/") or f"http://{host}:{gateway.port}"


def trusted_of(settings: Settings) -> list[Trusted]:
    """What is said of each issuer. One whose secret is missing takes nobody in, and says why."""
    return [_trusted(settings, one) for one in settings.oauth.issuers]


async def unreachable(settings: Settings) -> dict[str, str]:
    """Why issuers cannot be asked now, by their names; nothing of those that can."""
    from gatewright.identity.issuer import Issuer, Unreachable  # noqa: PLC0415 - as above

    found: dict[str, str] = {}
    for one in trusted_of(settings):
        try:
            await Issuer(one, clock=time.time, monotonic=time.monotonic).reach()
        except Unreachable as problem:
            found[one.name] = str(problem)
    return found


def _trusted(settings: Settings, one: Written) -> Trusted:
    from gatewright.identity.issuer import Introspection, Trusted  # noqa: PLC0415 - as above

    problem, secret = "", ""
    try:
        [secret] = looked_up(settings, "oauth.issuers", one.client_secret)
    except Undefined as found:
        problem = f"{found.what}: {found.instead}"
    HELD.hold(f"issuer {one.name}", [secret])
    asked = Introspection(one.client_id, secret, one.introspection_url) if one.client_id else None
    permissions = {
        scope: tuple(dict.fromkeys(held_permission(name) or name for name in names))
        for scope, names in one.scopes.items()
    }
    return Trusted(
        name=one.name,
        issuer=one.issuer,
        jwks_uri=one.jwks_uri,
        algorithms=one.algorithms or ALGORITHMS,
        audience=one.audience,
        leeway_s=one.leeway_s,
        recheck_s=one.recheck_s,
        keys_max_age_s=one.keys_max_age_s,
        introspection=asked,
        problem=problem,
        subject_claim=one.subject_claim,
        role_claim=one.role_claim,
        trust=one.trust_level,
        required_scopes=one.required_scopes,
        permissions=permissions or None,
    )
