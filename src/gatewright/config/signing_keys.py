"""Parses JWT verification keys (RFC 7519) from the configuration: shared secret, PEM, JWK or JWK set.

This module imports a library that most gateways do not need: import it where it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from gatewright.mcp.wire import jsonrpc

__all__ = ["Key", "read_key"]

Key = OctKey | RSAKey | ECKey | OKPKey | KeySet


def read_key(text: str, algorithms: Sequence[str]) -> Key:
    """The key that a configuration holds: a shared secret for `HS…`, a public key as PEM, or a JWK or a set of them
    as JSON. Raises `ValueError`."""
    if all(one.startswith("HS") for one in algorithms):
        if len(text.encode()) < 32:
            raise ValueError("a shared secret needs 32 bytes or more")
        return OctKey.import_key(text)
    # Algorithm confusion (RFC 8725 §2.1): whoever knows the public key could sign with it as a shared secret.
    if any(one.startswith("HS") for one in algorithms):
        raise ValueError("HS algorithms have a shared secret; do not mix them with others")
    try:
        if text.lstrip().startswith("{"):
            found = jsonrpc.decode(text.encode())
            return KeySet.import_key_set(found if "keys" in found else {"keys": [found]})
        kind: Any = {"E": ECKey, "R": RSAKey, "P": RSAKey}.get(algorithms[0][0], RSAKey)
        if algorithms[0].startswith("Ed"):
            kind = OKPKey
        key: Key = kind.import_key(text)
        return key
    except (JoseError, ValueError, TypeError) as problem:
        raise ValueError(f"this is no public key: {problem}") from None
