"""Checks that the server and tool of a new grant exist, and converts an exposed tool name to the server's own name."""

from __future__ import annotations

from msgspec.structs import replace

from gatewright.access.grants import Grant
from gatewright.call import KERNEL, SHIPPED
from gatewright.config import Settings
from gatewright.schemas.nearest import NAME_CHARS, closest
from gatewright.servers.catalogue import Catalogue

__all__ = ["granted"]


def granted(grant: Grant, settings: Settings, catalogue: Catalogue) -> Grant:
    """The grant, with the server's own name for its tool in place of the one that lists show. Raises `ValueError`
    with the names that come close. Of a server that has not said what it offers any tool may be granted."""
    servers = [*(one.id for one in settings.servers), SHIPPED, KERNEL]
    if grant.server not in servers:
        raise ValueError(_none("server", grant.server, closest(grant.server, servers)))
    tools = {tool.target.name for tool in catalogue.shelf(grant.server).tools}
    # A server that was not heard of yet may be granted by name, so that grants can be prepared before it first connects.
    if grant.tool is None or not tools or grant.tool in tools:
        return grant
    shown = catalogue.tool("", grant.tool)
    if shown is not None and shown.target.server == grant.server:
        return replace(grant, tool=shown.target.name)
    near = closest(grant.tool, sorted(tools))
    raise ValueError(f"{_none('tool', grant.tool, near)} (of server {grant.server})")


def _none(what: str, name: str, near: list[str]) -> str:
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"there is no {what} {name[:NAME_CHARS]!r}{hint}"
