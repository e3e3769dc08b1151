"""Recognises `_meta` keys reserved to the gateway: removes them from servers' definitions, and finds results that may contain them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION

__all__ = ["MARKS", "is_ours", "is_suspect", "without_ours"]

_NAMESPACES = ("dev.gatewright/", "gatewright/")
_OF_MGP = "dev.cloto/"
_SUBSCRIPTION = META_SUBSCRIPTION.casefold()
"""Which request to listen a message belongs to: the number is the client's, and the gateway writes it."""


def is_ours(key: str, *, mgp: bool) -> bool:
    """Whether a member of `_meta` is in a name space that the gateway itself writes into, or in that of MGP where the server
    has not negotiated it."""
    folded = key.strip().casefold()
    if folded.startswith(_NAMESPACES) or folded == _SUBSCRIPTION:
        return True
    return not mgp and folded.startswith(_OF_MGP)


def without_ours(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    """The definition of a tool, prompt or resource as its server may word it. MGP's words in it are the gateway's too, whoever
    negotiated MGP: what a client reads there is what the gateway holds to. The same object where nothing is taken out."""
    meta = definition.get("_meta")
    if meta is None or bytes(meta)[:1] != b"{":
        return definition
    said = jsonrpc.decode_members(meta)
    kept = {key: one for key, one in said.items() if not is_ours(key, mgp=False)}
    if len(kept) == len(said):
        return definition
    return {**definition, "_meta": Raw(jsonrpc.encode(kept))}


def is_suspect(raw: bytes) -> bool:
    """Whether anything of what is looked for can be in a result (`MARKS`). Names may be spelled with escapes. Most results have
    neither of the two characters that all other marks share, so that three searches do."""
    find = raw.find
    return (
        (find(b"_") >= 0 and (find(b'"_meta"') >= 0 or find(b'"_mgp"') >= 0 or find(_INTERIM) >= 0))
        or (find(b"/") >= 0 and (find(_OURS) >= 0 or find(_SHOUTED) >= 0 or find(b"loto/") >= 0))
        or find(b"\\u") >= 0
    )


_OURS, _SHOUTED, _INTERIM = b"atewright/", b"ATEWRIGHT/", b"input_required"
MARKS = (b"\\u", _OURS, _SHOUTED, b"loto/", b'"_mgp"', _INTERIM, b'"_meta"')
