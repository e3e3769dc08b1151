"""Who asks? A credential becomes a `Caller`, or the call ends here.

Theory: identity is decided by the door a call came through and by the credential it carries, never
by anything the call says about itself (decision C-17). The question is asked for every call and not
once a connection, so that a revoked or expired key ends a running session with its next call.
Doors ask `identify` too, before they look up a session: both get their answer from the same place.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Back, Call, Caller, Refusal

__all__ = ["LOCAL", "Authenticate", "Keys"]

LOCAL = Caller("local", "owner")
"""The host of whoever started the process, over its own pipes. It runs agents, so it is no operator:
who may use a tool must not thereby be able to grant it."""

_OWNED_DOORS = frozenset({"stdio"})

_REQUIRED = Refusal(
    "auth_required",
    "authentication is required: send the header `Authorization: Bearer KEY`; "
    "`gatewright key create NAME` makes a key",
)
_FAILED = Refusal(
    "auth_failed",
    "the credential is not valid here: check the key, or make a new one with "
    "`gatewright key create NAME`",
)
_EXPIRED = Refusal(
    "auth_expired", "the key has expired: make a new one with `gatewright key create NAME`"
)


class Keys(Protocol):
    """Where API keys are looked up. Exact and current: a revoked key is refused at once."""

    def verify(self, credential: str) -> Caller | str:
        """The key's owner, or in one word why there is none: `expired`, or anything else."""


class Authenticate:
    """Gate `authenticate`."""

    name = "authenticate"

    def __init__(
        self, keys: Keys, *, tokens: Mapping[str, Caller] | None = None, anonymous: bool = False
    ) -> None:
        """`tokens` are fixed credentials of this process's own making. `anonymous` lets callers
        without a credential in; one with a wrong credential never becomes anonymous."""
        self._keys = keys
        # By digest, so that how long a look-up takes says nothing about how much of a guess was right.
        self._tokens = {_digest(token): caller for token, caller in (tokens or {}).items()}
        self._nobody: Caller | Refusal = ANONYMOUS if anonymous else _REQUIRED

    def identify(self, door: str, credential: str | None) -> Caller | Refusal:
        """Who presents `credential` at `door`, or why nobody does."""
        if credential is None:
            return LOCAL if door in _OWNED_DOORS else self._nobody
        if door in _OWNED_DOORS:
            return LOCAL
        found = self._keys.verify(credential)
        if type(found) is Caller:
            return found
        fixed = self._tokens.get(_digest(credential))
        if fixed is not None:
            return fixed
        return _EXPIRED if found == "expired" else _FAILED

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        found = self.identify(call.door, call.credential)
        if found is call.caller:
            return call
        if type(found) is Refusal:
            return found
        return call if found == call.caller else replace(call, caller=found)


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
