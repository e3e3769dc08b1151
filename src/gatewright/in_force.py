"""`InForce`: holds the current settings, gates, servers and OAuth issuers, swapped as one on reload, and identifies callers by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from gatewright.call import Caller, Gate, Refusal
from gatewright.config import Settings
from gatewright.identity.gate import Authenticate
from gatewright.identity.issuers import Known
from gatewright.identity.recheck import Tokens
from gatewright.mcp.server.protected_resource import Protected
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.server_set import ServerSet

__all__ = ["InForce"]

T = TypeVar("T")


class InForce:
    """Complete from the start, when there is no gate yet and nobody is known. Replaced whole, between two calls."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.gates: Mapping[str, Gate] = {}
        self.servers = ServerSet({}, {}, {}, Catalogue([]))
        self.known = Known()

    def take(
        self, settings: Settings, gates: Mapping[str, Gate], servers: ServerSet, known: Known
    ) -> None:
        """From now on it is this one; `known` are the OAuth issuers."""
        self.settings, self.gates, self.servers, self.known = settings, gates, servers, known

    def gate(self, name: str, kind: type[T]) -> T | None:
        """The gate of that name; None where it is not of this kind."""
        found = self.gates.get(name)
        return found if isinstance(found, kind) else None

    @property
    def authenticate(self) -> Authenticate:
        """The gate that knows callers. Raises `RuntimeError` before there is one."""
        found = self.gate("authenticate", Authenticate)
        if found is None:
            raise RuntimeError("the gateway is starting")
        return found

    def identify(self, door: str, credential: str | None) -> Caller | Refusal:
        """Who presents `credential` at `door`, or why nobody does."""
        authenticate = self.gate("authenticate", Authenticate)
        if authenticate is None:
            return Refusal("server_not_ready", "the gateway is starting")
        return authenticate.identify(door, credential)

    def completed(self, caller: Caller) -> Caller:
        """A caller with what the configuration says of it now."""
        authenticate = self.gate("authenticate", Authenticate)
        return caller if authenticate is None else authenticate.completed(caller)

    def catalogue(self) -> Catalogue:
        """What all servers offer together."""
        return self.servers.catalogue

    def tokens(self) -> Tokens | None:
        """Who knows access tokens, where they are taken."""
        return self.known.tokens

    @property
    def protected(self) -> Protected | None:
        """What is said to clients that have no token, where tokens are taken."""
        return self.known.protected
