"""Encrypts `requestState` (AES-256-GCM, `Sealer`): bound to principal, request digest and expiry, around a handle or a server's state.

Towards modern callers the gateway gives out states of two kinds, both sealed: `parked` names a call that waits in the kernel for the
answers, `upstream` wraps the state that a modern server gave. To that server all callers are one client, the gateway; without the seal
one caller could finish what another began.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gatewright.call import UserContext
from gatewright.mcp.wire import jsonrpc

__all__ = ["NOT_GIVEN", "Rights", "Sealer", "State", "request_digest"]


Rights = tuple[str | None, bool, tuple[UserContext, ...]]
"""The id of a key, whether it was a token, and its limits."""


class State(msgspec.Struct, frozen=True, array_like=True):
    """What a sealed state says. `text` is a handle (`parked`) or a server's own state (`upstream`)."""

    kind: Literal["parked", "upstream"]
    principal: str
    digest: str
    expires: float
    text: str
    rights: Rights | None = None
    """Of `upstream`: what the first request was made with."""


def request_digest(method: str, params: Mapping[str, Any]) -> str:
    """What ties a retry to its first request: method, target and arguments, not `_meta` or answers.

    The order of members does not count: a client may write its arguments anew for the retry.
    """
    salient = [method, params.get("name"), params.get("uri"), params.get("arguments")]
    return hashlib.sha256(_salient.encode(salient)).hexdigest()


def _number_text(value: object) -> Any:
    if isinstance(value, jsonrpc.Num):
        return {"": value.text}  # like no number and no text of a caller's
    raise TypeError(f"{type(value).__name__} has no JSON form")


_salient = msgspec.json.Encoder(enc_hook=_number_text, order="deterministic")


NOT_GIVEN = "requestState was not given out by this gateway to this caller at this endpoint"
"""Of a forged and of a foreign one alike: guessing teaches nothing."""


class Sealer:
    """Seals states with one key of 32 bytes, made new at each start: parked calls end with the process."""

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def seal(self, state: State, nonce: bytes) -> str:
        """The opaque text of a state. `nonce` is 12 fresh random bytes."""
        sealed = self._aead.encrypt(nonce, msgspec.json.encode(state), None)
        return base64.urlsafe_b64encode(nonce + sealed).decode()

    def open(self, text: str, *, principal: str, digest: str, now: float) -> State:
        """The state behind a text. Raises `ValueError` saying what does not fit; `now` is in the
        same seconds as the state's expiry."""
        try:
            raw = base64.b64decode(text.encode(), altchars=b"-_", validate=True)
            # The last character has bits that no decoder reads.
            if base64.urlsafe_b64encode(raw).decode() != text:
                raise ValueError("one state has one spelling")
            state = msgspec.json.decode(self._aead.decrypt(raw[:12], raw[12:], None), type=State)
        except (ValueError, InvalidTag, msgspec.DecodeError):
            raise ValueError(NOT_GIVEN) from None
        if state.principal != principal:
            raise ValueError(NOT_GIVEN)
        if state.digest != digest:
            raise ValueError("requestState belongs to another request")
        if state.expires < now:
            raise ValueError("requestState has expired; send the request anew without it")
        return state

    def reseal(
        self,
        result: bytes,
        *,
        principal: str,
        digest: str,
        expires: float,
        nonce: bytes,
        rights: Rights | None = None,
    ) -> bytes:
        """An `input_required` result of a modern server with its state sealed for one caller."""
        members: dict[str, Any] = dict(jsonrpc.decode_members(result))
        if "requestState" not in members:
            return result
        inner = jsonrpc.decode(members["requestState"])
        if not isinstance(inner, str):
            return result
        state = State("upstream", principal, digest, expires, inner, rights)
        members["requestState"] = self.seal(state, nonce)
        return jsonrpc.encode(members)
