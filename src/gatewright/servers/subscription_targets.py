"""Finds the server and URI that `resources/unsubscribe` ends; after a new grant, ends the caller's older one under the same URI.

Lists change, and servers come that claim a URI as well: a name may lead elsewhere by the time its caller unsubscribes. What
ends is the resource that was granted under the name, and under one name a caller hears of one resource, the last that was
granted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.call import Call, Target
from gatewright.servers.server import Server

__all__ = ["ended", "only"]

_END = "resources/unsubscribe"


def ended(owners: Mapping[str, Any], call: Call) -> Target | None:
    """The resource whose word a call ends, by the name under which its caller holds it or asks for it."""
    name = call.params.get("uri")
    if call.method != _END or not isinstance(name, str):
        return None
    for server in _servers(owners):
        uri = server.wishes.led(name, call)
        if uri is not None:
            return Target(server.id, uri)
    return None


def only(owners: Mapping[str, Any], call: Call, granted: Server) -> None:
    """A call was granted word of a resource: what its name led to elsewhere is not wanted any more."""
    name = call.params["uri"]
    for server in _servers(owners):
        if server is not granted and (uri := server.wishes.led(name, call)) is not None:
            server.wishes.leave(uri, call)


def _servers(owners: Mapping[str, Any]) -> list[Server]:
    return [one for one in owners.values() if isinstance(one, Server)]
