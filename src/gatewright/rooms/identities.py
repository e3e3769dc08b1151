"""Resolves a room token, or none (anonymous), to a participant and capabilities (MCPx §5.1): by configuration, JWT or API key.

In this order, and what was found first counts. A token that is none of these never becomes anonymous. A JWT is checked
with keys that the configuration has; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec

from gatewright.call import Caller, Refusal
from gatewright.command_text import to_type
from gatewright.rooms.policy import Claims, Identity, Known, Policy, Verifier
from gatewright.schemas.lookalikes import spellings

__all__ = ["Identities", "digest"]

_ANONYMOUS_DIGITS = 16


def _required() -> Refusal:
    return Refusal(
        "auth_required",
        "a token is required: send the header `Authorization: Bearer TOKEN`, with a key of the gateway's or a token "
        f"that it knows; `{to_type('key create NAME', known=False)}` makes a key",
    )


def digest(token: str) -> bytes:
    """What a token is known by: how long a look-up takes says nothing about how much of a guess was right."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


class Identities:
    """See the module's text."""

    def __init__(
        self,
        policy: Policy,
        *,
        keys: Callable[[str], Caller | Refusal],
        random: Callable[[int], bytes],
        signed: Verifier | None = None,
    ) -> None:
        """`keys` knows the keys of the gateway."""
        self._policy = policy
        self._keys = keys
        self._random = random
        self._signed = signed

    def of(self, token: str | None) -> Identity | Refusal:
        """Who presents a token, or why nobody does."""
        policy = self._policy
        if token is None:
            if policy.anonymous is None:
                return _required()
            name = f"anonymous-{self._random(_ANONYMOUS_DIGITS // 2).hex()}"
            can = policy.anonymous
            return Identity(name, can, policy.mode_of(can), policy.echo, way="anonymous")
        known = policy.tokens.get(digest(token))
        if known is not None:
            return self._named(known.id, known, "configuration")
        # A JWT in compact form (RFC 7515 §7.1).
        if self._signed is not None and token.count(".") == 2:
            claims = self._signed.claims(token)
            return claims if isinstance(claims, Refusal) else self._of_claims(claims)
        caller = self._keys(token)
        return caller if isinstance(caller, Refusal) else self._of_caller(caller)

    def _of_caller(self, caller: Caller) -> Identity:
        participants = self._policy.known
        known = next(
            (participants[one] for one in spellings(caller.id) if one in participants), None
        )
        if known is not None:
            return msgspec.structs.replace(self._named(caller.id, known, "key"), caller=caller)
        policy = self._policy
        capabilities = policy.operators if caller.kind == "operator" else policy.default
        mode = policy.mode_of(capabilities)
        return Identity(caller.id, capabilities, mode, policy.echo, way="key", caller=caller)

    def _of_claims(self, claims: Claims) -> Identity:
        known = self._policy.known.get(claims.id, Known(claims.id))
        found = self._named(claims.id, known, "jwt")
        can = found.capabilities if claims.capabilities is None else claims.capabilities
        return msgspec.structs.replace(
            found,
            capabilities=can,
            mode=self._policy.mode_of(can) if known.mode is None else known.mode,
            topics=found.topics if claims.topics is None else claims.topics,
            expires_at=claims.expires_at,
        )

    def _named(self, id: str, known: Known, way: Any) -> Identity:
        policy = self._policy
        can = policy.default if known.capabilities is None else known.capabilities
        return Identity(
            id,
            can,
            policy.mode_of(can) if known.mode is None else known.mode,
            policy.echo if known.echo is None else known.echo,
            known.topics,
            named=True,
            way=way,
        )
