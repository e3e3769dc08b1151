"""`Signed`: verifies room tokens (JWT) by joserfc with configured keys; reads participant, capabilities, topics and expiry from the claims.

Claims that count: `sub`, or `participantId` as MCPx gateways before this one wrote it; `capabilities`, a list;
`topic` or `topics`, where the token is good; `exp`, which must be there. Only the configured algorithms are
accepted, so a token cannot choose `none`, or a public key as a shared secret.

This module imports a library that most gateways do not need: import it where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError

from gatewright.call import Refusal
from gatewright.config.signing_keys import Key
from gatewright.mcpx.capabilities import flaw_of
from gatewright.rooms.policy import Claims

__all__ = ["Signed"]

_FAILED = Refusal("auth_failed", "the token is not valid here: get a new one from who issued it")
_EXPIRED = Refusal("auth_expired", "the token has expired: get a new one from who issued it")
_MAX_CHARS = 16 * 1024


class Signed:
    """Checks tokens. `clock` gives Unix seconds."""

    def __init__(
        self,
        key: Key,
        algorithms: Sequence[str],
        *,
        clock: Callable[[], float],
        issuer: str | None = None,
        audience: str | None = None,
    ) -> None:
        self._key = key
        self._algorithms = list(algorithms)
        self._clock = clock
        wanted: dict[str, Any] = {"exp": {"essential": True}}
        if issuer is not None:
            wanted["iss"] = {"essential": True, "value": issuer}
        if audience is not None:
            wanted["aud"] = {"essential": True, "value": audience}
        self._registry = jwt.JWTClaimsRegistry(now=lambda: int(clock()), **wanted)

    def claims(self, token: str) -> Claims | Refusal:
        """What a token says, or why it counts for nothing."""
        if len(token) > _MAX_CHARS:  # before anything of it is decoded
            return _FAILED
        try:
            found = jwt.decode(token, self._key, algorithms=self._algorithms).claims
            self._registry.validate(found)
        except (JoseError, ValueError, TypeError, KeyError, RecursionError) as problem:
            return _EXPIRED if getattr(problem, "error", "") == "expired_token" else _FAILED
        return _read(found)


def _read(claims: dict[str, Any]) -> Claims | Refusal:
    who = claims.get("sub", claims.get("participantId"))
    capabilities = _texts(claims.get("capabilities"))
    topic = claims.get("topic")
    topics = _texts(claims.get("topics") if topic is None else [topic])
    expires = claims["exp"]
    if not isinstance(who, str) or capabilities is False or topics is False:
        return Refusal("auth_failed", "sub, capabilities or topics of the token cannot be read")
    flaws = [flaw for one in capabilities or () if (flaw := flaw_of(one))]
    if flaws:
        return Refusal("auth_failed", f"the token's capabilities cannot be: {flaws[0]}")
    return Claims(who, capabilities, topics, float(expires))


def _texts(value: Any) -> Any:
    """A list of strings as a tuple, None where there is none, False where it is something else."""
    if value is None:
        return None
    good = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return tuple(value) if good else False
