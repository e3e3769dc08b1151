"""Settings of `[console]`: the address of the web console, how long its sessions last, and OpenID Connect sign-in."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.bounds import Name

__all__ = ["Console", "ConsoleOidc", "ConsoleRole"]

ConsoleRole = Literal["viewer", "approver", "operator", "auditor"]
"""Lowest first: `viewer` sees everything; `approver` decides on what waits, too; `operator` also changes what holds;
`auditor` sees everything and exports the record."""


class ConsoleOidc(msgspec.Struct, frozen=True, kw_only=True):
    """Sign-in to the console by OpenID Connect: authorization code with PKCE."""

    issuer: Name
    """The issuer's URL; its metadata is read from `/.well-known/openid-configuration` below it."""
    client_id: Name
    """The client id that the issuer gave the console."""
    client_secret: str = ""
    """Its secret, `${secret:NAME}`; empty for a public client."""
    role_claim: Name = "roles"
    """The claim of the ID token whose values give a person roles."""
    roles: dict[str, ConsoleRole] = {}
    """A value of that claim → the role that it gives. Of several roles the one counts that is named first here. Whoever has
    none is not let in."""
    confirm_minutes: Annotated[float, Meta(ge=1, le=1440)] = 15.0
    """How long its word is believed, in minutes. Then it is asked again, without asking the person, and a session ends whose
    person has no role any more; until it answers, the session does nothing."""


class Console(msgspec.Struct, frozen=True, kw_only=True):
    """The web console, for people who answer for agents."""

    enabled: bool = True
    """Whether `serve` opens it."""
    host: Name = "127.0.0.1"
    """The address to listen on; the default is reachable from this machine alone. On another address put a proxy that
    terminates TLS in front, and say its URL in `url`."""
    port: Annotated[int, Meta(ge=0, le=65535, examples=[8421])] | None = None
    """The TCP port to listen on; 0 takes any free one. Without it: 8421, or any free one where that is taken."""
    url: str = ""
    """The URL at which people reach it, where that is not its own address: of the proxy in front."""
    session_hours: Annotated[float, Meta(gt=0, le=720)] = 12.0
    """How long a session lasts at most, in hours. One in which nobody does anything for a quarter of that ends earlier: that a page
    is open is nothing that somebody does."""
    oidc: ConsoleOidc | None = None
    """Sign-in by OpenID Connect; without it people sign in by the URL of `gatewright console`, or by an operator's key."""
