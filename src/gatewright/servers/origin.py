"""`origin_of`: digest of what stands behind a server's id: program or address, and who we are there; so what one gave out leads to no other.

An id is the operator's word for a place, and a reload may put something else in its place. What a server gave out to be brought back
(ids of tasks, request states, links in results) is its own: under another origin it leads nowhere (decision 0110).
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from gatewright.mcp.client.endpoint import ApiPlace
from gatewright.servers.spec import ServerSpec

__all__ = ["origin_of"]

_writer = msgspec.json.Encoder(order="deterministic")


def origin_of(spec: ServerSpec) -> str:
    """16 hex digits. Secrets that say who we are count, and 64 bits of a digest are all that is kept of them."""
    auth, identity, api = spec.auth, spec.auth.identity, spec.api or ApiPlace("")
    # It is kept over an update (`server_tasks`), so each is named, and what says nothing is left out: a setting that a later version
    # has besides changes no origin where nobody uses it.
    said: dict[str, Any] = {
        "transport": spec.transport,
        "command": spec.command,
        "args": spec.args,
        "env": spec.env,
        "cwd": spec.cwd,
        "python": spec.python,
        "url": spec.url,
        "headers": spec.headers,
        "auth.type": auth.type,
        "auth.bearer": auth.bearer,
        "auth.client_id": identity.client_id,
        "auth.client_secret": identity.client_secret,
        "auth.issuer": identity.issuer,
        "auth.metadata_url": identity.metadata_url,
        "auth.scopes": identity.scopes,
        "auth.redirect_uri": identity.redirect_uri,
        "api.document": api.document,
        "api.base_url": api.base_url,
        "api.credentials": api.credentials,
        "api.digest": api.digest,
    }
    text = _writer.encode({name: one for name, one in said.items() if one})
    return blake2b(text, digest_size=8).hexdigest()
