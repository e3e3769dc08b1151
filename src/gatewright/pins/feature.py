"""`PinsFeature`: checks listed tools before clients see them; provides gate `definition`, filter `injection`; polls for acceptances."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence

from msgspec.structs import replace

from gatewright.call import Tool
from gatewright.config import Settings
from gatewright.feature import Feature, GatewayParts, Ground, Making, Rules, Serving
from gatewright.pins.decisions import Decisions
from gatewright.pins.gate import Definition
from gatewright.pins.offload import Readers
from gatewright.pins.pinning import pinning_of
from gatewright.pins.result_filter import Injection
from gatewright.pins.result_levels import levels_of
from gatewright.pins.result_reading import prepare as prepare_results
from gatewright.pins.signal_matching import prepare
from gatewright.servers.listing import EMPTY
from gatewright.servers.supervisor_dependencies import ServerSide

__all__ = ["PinsFeature"]


class PinsFeature(Feature):
    """What was accepted of each tool, and what is held back."""

    name = "pins"

    def __init__(self, ground: Ground) -> None:
        own = [name for feature in ground.before for name in feature.own_tools]
        self._readers = Readers(ground.workers)
        read = self._readers.read
        self._pinning = pinning_of(ground.settings, ground.database, ground.audit.event, own, read)
        self.offers = (Decisions(self._pinning.store, self._pinning.decided),)
        self._now = ground.now
        self._preparing = asyncio.Lock()
        self._is_prepared = False

    def side(self, side: ServerSide) -> ServerSide:
        """Looks at what servers list before anybody sees it."""
        pinning = self._pinning
        reserved = pinning.reserved()
        return replace(side, looks=self._looks, shelved=pinning.shelved, reserved=reserved)

    def rules(self, settings: Settings) -> Rules:
        """The gate, the filter, and what is held back."""
        pinning, levels = self._pinning, levels_of(settings)
        if not levels.off:
            prepare_results()

        def definition(making: Making) -> Definition:
            known = making.servers.catalogue
            return Definition(
                pinning.held, known.present, lambda server: known.listing(server) is not EMPTY
            )

        return Rules(
            gates={"definition": definition},
            filters={"injection": lambda _: Injection(levels, self._readers)},
            held=pinning.held,
            version=self._version,
        )

    def _version(self) -> Hashable:
        return self._pinning.version

    async def _looks(self, server: str, tools: Sequence[Tool]) -> None:
        await self._prepared(server, self._now.settings)
        await self._pinning.look_ahead(server, tools)

    async def look_ahead(self, server: str, tools: Sequence[Tool], settings: Settings) -> None:
        """As for a server that runs."""
        await self._prepared(server, settings)
        await self._pinning.look_ahead(server, tools, settings)

    async def _prepared(self, server: str, settings: Settings) -> None:
        """What definitions are looked through for is compiled beside the loop, before the first of them is read."""
        known = settings.server(server)
        if self._is_prepared or (known is not None and known.pin == "off"):
            return
        async with self._preparing:
            if not self._is_prepared:
                await asyncio.to_thread(prepare)
            self._is_prepared = True

    async def _prepare_ahead(self) -> None:
        """While the servers start, and nobody is served."""
        settings = self._now.settings
        for one in settings.servers:
            await self._prepared(one.id, settings)

    def serve(self, parts: GatewayParts) -> Serving:
        """What other processes accepted."""
        servers = parts.inside.servers
        looks = (lambda: self._pinning.look(lambda: servers.catalogue),)
        return Serving(looks=looks, work=(self._prepare_ahead,))

    def adopt(self, settings: Settings) -> None:
        """How each server's tools are pinned."""
        self._pinning.adopt(settings)

    async def close(self) -> None:
        """Give the store back."""
        self._pinning.close()
