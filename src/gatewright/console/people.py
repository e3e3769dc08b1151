"""`Person`: who is signed in to the console, in which role; `POWERS`: what each role may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from gatewright.config.console import ConsoleRole

__all__ = ["POWERS", "Person", "Power"]

Power = Literal["see", "decide", "change", "export"]
"""`see` any screen; `decide` on what waits for a person; `change` what holds: servers, access, agents, sessions; `export` the record."""

POWERS: Mapping[ConsoleRole, frozenset[Power]] = {
    "viewer": frozenset({"see"}),
    "approver": frozenset({"see", "decide"}),
    "operator": frozenset({"see", "decide", "change", "export"}),
    "auditor": frozenset({"see", "export"}),
}


class Person(msgspec.Struct, frozen=True):
    """Whoever is signed in, or shows a key with a request to the API."""

    id: str
    """For the record and for others who look: `by` of what they do."""
    role: ConsoleRole
    via: Literal["url", "key", "oidc", "api"]
    """How they proved it: a URL that this machine gave, an operator's key, an issuer of OpenID Connect, a key with each request."""
    credential: str = ""
    """The key that was shown, which has to be in force with every request; empty for other proofs."""
    key: str = ""
    """The id of that key: a vote is cast by it, and counts while it does."""

    def may(self, power: Power) -> bool:
        """Whether the role allows it."""
        return power in POWERS[self.role]
