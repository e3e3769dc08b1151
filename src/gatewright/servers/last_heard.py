"""`LastHeard`: what each configured server listed last, also while it is away: its prompts' names and its URIs, and whether it has resources.

A server that is stopped, that failed, that is made anew under a changed configuration or that was switched off lists nothing. What
it has is its own all the same: whoever asks for it hears that its server is not there, and is led to nobody else. A server loses
what it lists no more, and everything when it leaves the configuration (decision 0110).
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import TypeVar

from msgspec.structs import replace

from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.listing import Listing, Section
from gatewright.servers.server_catalogue import ServerCatalogue

__all__ = ["LastHeard"]

_Any = TypeVar("_Any")


class LastHeard:
    """Of the servers of one configuration, in this run of the gateway."""

    def __init__(self, before: LastHeard | None = None, servers: Container[str] = ()) -> None:
        """What was known `before` of these servers stays known."""
        self.shelves: dict[str, ServerCatalogue] = {} if before is None else before.shelves.copy()
        """Server id → what it listed last. Of the tools in it nobody asks here (`reserved_names`)."""
        self._hellos: dict[str, Hello] = {} if before is None else before._hellos.copy()
        for one in [one for one in self.shelves if one not in servers]:
            del self.shelves[one], self._hellos[one]

    def put(self, server: str, listing: Listing, shelf: ServerCatalogue) -> None:
        """A server lists this now."""
        self.shelves[server] = self.claimed(server, listing, shelf)
        self._hellos[server] = listing.hello

    def claimed(self, server: str, listing: Listing, shelf: ServerCatalogue) -> ServerCatalogue:
        """What is a server's that lists this now: of a list that could not be fetched, what was its before."""
        before = self.shelves.get(server) if listing.failures else None
        failed = listing.failures.keys() - listing.unknown
        if before is None or not failed:
            return shelf
        return replace(
            shelf,
            prompts=_either(shelf.prompts, before.prompts, failed, "prompts"),
            resources=_either(shelf.resources, before.resources, failed, "resources"),
            templates=_either(shelf.templates, before.templates, failed, "resourceTemplates"),
        )

    def with_one(
        self, server: str, listing: Listing, shelf: ServerCatalogue
    ) -> Mapping[str, ServerCatalogue]:
        """`shelves` as they will be when a server lists this."""
        return {**self.shelves, server: self.claimed(server, listing, shelf)}

    def may_have(self, server: str) -> bool:
        """Whether a server has resources, or nobody knows: it never said."""
        hello = self._hellos.get(server)
        return hello is None or "resources" in hello.capabilities


def _either(
    now: tuple[_Any, ...], before: tuple[_Any, ...], failed: Collection[Section], section: Section
) -> tuple[_Any, ...]:
    return now or before if section in failed else now
