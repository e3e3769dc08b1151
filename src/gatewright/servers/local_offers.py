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
        self._built: dict[str, tuple[Listing, Built]] = {}
        """What was to be offered last, and what was made of it."""

    async def ahead(self, server: str, listing: Listing) -> None:
        """Make in slices what is needed to offer this next: until then everybody goes by what it offers now."""
        _, before = self._built.get(server, (None, None))
        found = await shelve(self._specs[server], listing, before)
        await self._catalogue().ahead(server, found)
        self._built[server] = listing, found

    def offered(self, server: str, listing: Listing) -> None:
        """It offers something else from now on."""
        meant, made = self._built.get(server, (None, None))
        if made is not None and meant is listing:
            listing = made.listing  # where it says the same as before, it is the one before
        if self._catalogue().put(server, listing, made):
            self._hub.tell(server, "notifications/tools/list_changed", {})
