"""Routes a non-MCP method to the one server that declares it in `methods`; strips the server address from the request's `_meta`.

A declared method is led to the one server of the caller's view that has it. Where several have it, the caller names one in
`_meta`; nothing is tried on one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gatewright.call import Call, Refusal, Target
from gatewright.mcp.wire.headers_and_meta import META_SERVER
from gatewright.mcp.wire.methods import declares, is_known
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.spec import ServerSpec

__all__ = ["declaring", "owner_of_method", "without_address"]


def owner_of_method(
    call: Call, specs: Mapping[str, ServerSpec], catalogue: Catalogue
) -> Target | Refusal:
    """The server that a method was declared for, among those that exist for the caller."""
    visible = catalogue.servers(call.profile, call.caller)
    having = declaring(specs, visible, call.method, _named(call))
    if len(having) == 1:
        return Target(having[0], call.method)
    if having:
        return Refusal(
            "invalid_params",
            f"several servers have {call.method}: name one of {', '.join(having)} as {META_SERVER!r} in params._meta",
        )
    said = f"Method not found: {ascii(call.method[:100])[1:-1]}"
    if not is_known(
        call.method
    ):  # of ours is said what is said of those that operators alone may call
        said += "; what is not MCP's is led on where `methods` in the table of a server declares it"
    return Refusal("method_not_found", said)


def declaring(
    specs: Mapping[str, ServerSpec], visible: Iterable[str], method: str, wanted: object
) -> list[str]:
    """The servers for which a method was declared, among those that are `visible` to a caller; only the one that is `wanted` where that is said."""
    having = [one for one in visible if one in specs and declares(specs[one].methods or (), method)]
    # Only among those that have it: an address cannot lead a method to a server that did not declare it.
    return having if wanted is None else [one for one in having if one == wanted]


def without_address(params: dict[str, Any]) -> dict[str, Any]:
    """The params as the server is to see them."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or META_SERVER not in meta:
        return params
    rest = {name: value for name, value in meta.items() if name != META_SERVER}
    found = {name: value for name, value in params.items() if name != "_meta"}
    return {**found, "_meta": rest} if rest else found


def _named(call: Call) -> object:
    meta = call.params.get("_meta")
    return meta.get(META_SERVER) if isinstance(meta, dict) else None
