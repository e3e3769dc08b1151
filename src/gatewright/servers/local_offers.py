"""`LocalOffers`: puts what in-process servers (`LocalServer`) list into the catalogue, prepared in slices, and tells `tools/list_changed`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gatewright.servers.catalogue import Catalogue
from gatewright.servers.listing import Listing
from gatewright.servers.notifications import ServerNotifications
from gatewright.servers.server_catalogue import Built, shelve
from gatewright.servers.spec import ServerSpec

__all__ = ["LocalOffers"]


class LocalOffers:
    """`catalogue` gives the present one."""

    def __init__(
        self,
        specs: Mapping[str, ServerSpec],
        catalogue: Callable[[], Catalogue],
        hub: ServerNotifications,
    ) -> None:
        self._specs = specs
        self._catalogue = catalogue
        self._hub = hub
        self._built: dict[str, Built] = {}

    async def ahead(self, server: str, listing: Listing) -> None:
        """Make in slices what is needed to offer this next: until then everybody goes by what it offers now."""
        found = await shelve(self._specs[server], listing, self._built.get(server))
        await self._catalogue().ahead(server, found)
        self._built[server] = found

    def offered(self, server: str, listing: Listing) -> None:
        """It offers something else from now on."""
        if self._catalogue().put(server, listing, self._built.get(server)):
            self._hub.tell(server, "notifications/tools/list_changed", {})
