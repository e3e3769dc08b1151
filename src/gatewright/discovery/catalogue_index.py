"""`CatalogueIndex`: keeps the `ToolIndex` in step with the catalogue, and on disk; searches for one caller, explains hits, exports entries.

It is kept in the state folder (`kept_index`), so that a start reads it instead of making it anew.

What the index has of a tool are words: its name, description, parameters, categories. Whether somebody may know of it is asked of
the catalogue in force at each search, so what is held back, taken away or not connected is not found, whatever the index has.

The engine and its word vectors cost a tenth of a second and some MiB, which only gateways pay where somebody searches; they are
loaded beside the loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from gatewright.call import KERNEL, Tool
from gatewright.in_force import InForce
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.server_catalogue import ServerCatalogue
from gatewright.servers.tool_metadata import texts_of
from gatewright.transport.slices import in_slices

if TYPE_CHECKING:
    from gatewright.discovery.embedding import Embedding
    from gatewright.discovery.explaining import Reason
    from gatewright.discovery.index import Entry, Found, ToolIndex

__all__ = ["CatalogueIndex", "entry_of", "tool_id", "words_of"]

log = logging.getLogger("gatewright.discovery")

_PATIENCE_S = 5.0
"""So long a search waits for what was listed since; then it searches what is there."""
_QUIET_S, _LATEST_S = 10.0, 60.0
"""How long nothing has to change before the index is written, and how long that is waited for: a server may list something else all
the time."""
_EACH_S = 600.0
"""So far apart it is written while the gateway runs: the file has all of it, however little changed. Its end writes it once more."""
_AGAIN_S = 60.0
"""After how long a write that failed is tried again."""
_BY_MEANING = frozenset({"auto", "semantic"})
"""Strategies to which word vectors, or those of a stronger embedder, matter."""
_SCHEMA_BYTES = 65_536
"""A longer schema is not read for the names of parameters."""
_PARAMETERS, _WORDS, _WORD_CHARS, _TEXT_CHARS = 64, 32, 256, 8192


def tool_id(tool: Tool) -> str:
    """What the index calls a tool: `server/name`, which every profile that shows it resolves."""
    return f"{tool.target.server}/{tool.target.name}"


class CatalogueIndex:
    """One index over the tools of all servers. On the event loop."""

    def __init__(
        self,
        now: InForce,
        index: ToolIndex | None = None,
        folder: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """In `folder` the index is kept for the next start. `clock` gives monotonic seconds."""
        self._clock = clock
        self._now = now
        self._folder = folder
        self._written = 0
        self._due: float | None = None
        self._since: float | None = None
        """Since when something is not written."""
        self._not_before = float("-inf")
        self._unwritable = False
        self._keeping: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()
        """Held while servers' tools are put or dropped, and while the index is read to be kept."""
        self.index = index
        """None until somebody searches."""
        self._embedding: Embedding | None = None
        self._loading: asyncio.Task[ToolIndex] | None = None
        self._shelves: dict[str, ServerCatalogue] = {}
        self._seen: tuple[Catalogue, int] | None = None
        self._working: asyncio.Task[None] | None = None

    @property
    def _present(self) -> tuple[Catalogue, int]:
        catalogue = self._now.servers.catalogue
        return catalogue, catalogue.version

    @property
    def wanted(self) -> bool:
        """Whether somebody has searched."""
        return self.index is not None or self._loading is not None

    def look(self) -> asyncio.Task[None] | None:
        """Begin to take up what changed since; None where nothing did. Several times a second, and before each search."""
        if (embedding := self._embeds()) is not None and self.index is not None:
            embedding.look(self.index)
        writing = self._keeping is not None and not self._keeping.done()
        if self._due is not None and self._clock() >= self._due and not writing:
            self._due = None
            self._keeping = asyncio.get_running_loop().create_task(self._keep())
        if self._seen == self._present:
            return None
        if self._working is None or self._working.done():
            self._working = asyncio.get_running_loop().create_task(self._follow())
        return self._working

    async def close(self) -> None:
        """End what is going on, and keep what there is."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])
        if self._embedding is not None:
            await self._embedding.close()
        if self._loading is not None:
            await asyncio.wait([self._loading])  # in a thread, which nothing ends
        if self._keeping is not None:
            await asyncio.wait([self._keeping])
        await self._keep()

    async def search(
        self,
        query: str,
        may: Callable[[str], bool],
        *,
        strategy: str = "auto",
        categories: Sequence[str] = (),
        limit: int = 5,
        view: Hashable = None,
    ) -> Found:
        """The best tools among those for whose id `may` is true. Never holds the loop for more than some milliseconds. `view` names
        what `may` says: with the same one a tool is asked about once."""
        index = await self._loaded()
        await self._followed()
        wanted = self._now.settings.discovery.embedder.type != "built-in" and query.strip()
        embeds = self._embeds() if wanted and strategy in _BY_MEANING else None
        vector = None if embeds is None else await embeds.asked(query)
        sought = index.search(
            query,
            strategy=strategy,
            may=may,
            categories=categories,
            limit=limit,
            view=view,
            vector=vector,
        )
        found = await in_slices(sought)
        if embeds is None or found.strategy not in _BY_MEANING:
            return found
        by = "built-in" if vector is None else self._now.settings.discovery.embedder.type
        return replace(found, strategy=f"{found.strategy}+{by}")

    async def export(self, tool: Tool) -> Mapping[str, Any]:
        """What the index holds of a tool. Raises `KeyError` where it has none of it."""
        index = await self._loaded()
        await self._followed()
        return index.export(tool_id(tool))

    def _embeds(self) -> Embedding | None:
        """What has vectors of a stronger embedder, where one is or was configured."""
        wanted = self._now.settings.discovery.embedder.type != "built-in"
        if self._embedding is None and self.index is not None and wanted:
            from gatewright.discovery.embedding import Embedding  # noqa: PLC0415 - as below

            self._embedding = Embedding(lambda: self._now.settings, self._folder)
        return self._embedding

    async def reasons(self, query: str, tool: Tool) -> list[Reason]:
        """Why a tool fits a query."""
        from gatewright.discovery.explaining import reasons  # noqa: PLC0415 - loaded by then

        index = await self._loaded()
        filed = self._now.servers.catalogue.about(tool).categories
        return await in_slices(reasons(query, entry_of(tool, filed), index.words))

    async def _loaded(self) -> ToolIndex:
        if self.index is None:
            if self._loading is None:
                self._loading = asyncio.create_task(asyncio.to_thread(_load, self._folder))
            self.index = await asyncio.shield(self._loading)
        return self.index

    async def _followed(self) -> None:
        following = self.look()
        if following is not None:
            await asyncio.wait([following], timeout=_PATIENCE_S)

    async def _follow(self) -> None:
        try:
            while self._seen != (present := self._present):
                await self._take(present[0])
                self._seen = present
            if self.index is not None and self.index.changes != self._written:
                # Of all that servers list at a start, the last is what counts.
                now = self._clock()
                self._since = now if self._since is None else self._since
                self._due = max(min(now + _QUIET_S, self._since + _LATEST_S), self._not_before)
        except Exception:  # a search goes on with what is there, and the next one tries again
            log.exception("the tool index could not take up what servers list")

    async def _keep(self) -> None:
        """Write the index to its file."""
        index = self.index
        if index is None or self._folder is None or index.changes == self._written:
            return
        from gatewright.discovery.kept_index import FILE, store  # noqa: PLC0415 - loaded by then

        try:
            async with self._changing:
                changes, self._since = index.changes, None
                kept = await in_slices(index.kept())
            await asyncio.to_thread(store, self._folder / FILE, kept)
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is tried again
            if not self._unwritable:
                log.warning(
                    "the tool index is not kept for the next start: %s; it is tried again", problem
                )
            self._unwritable, self._due = True, self._clock() + _AGAIN_S
            return
        self._written, self._unwritable = changes, False
        self._not_before = self._clock() + _EACH_S
        if self._due is not None:
            self._due = max(self._due, self._not_before)

    async def _take(self, catalogue: Catalogue) -> None:
        index = await self._loaded()
        owners = [one for one in self._now.servers.owners if one != KERNEL]
        async with self._changing:
            for gone in (self._shelves.keys() | index.servers).difference(owners):
                index.drop(gone)
                self._shelves.pop(gone, None)
        for server in owners:
            shelf = catalogue.shelf(server)
            if self._shelves.get(server) is shelf:
                continue
            # What one server lists keeps nobody from finding the tools of the others.
            try:
                entries = await in_slices(_entries(catalogue, shelf))
                async with self._changing:
                    await in_slices(index.put(server, entries))
            except Exception:
                log.exception("the tool index could not take up what server %s lists", server)
                async with self._changing:
                    index.drop(server)
            self._shelves[server] = shelf


def _load(folder: Path | None) -> ToolIndex:
    from gatewright.discovery.index import ToolIndex  # noqa: PLC0415
    from gatewright.discovery.kept_index import FILE, load  # noqa: PLC0415

    return ToolIndex() if folder is None else load(folder / FILE)


def _entries(catalogue: Catalogue, shelf: ServerCatalogue) -> Generator[None, None, list[Entry]]:
    found = []
    for tool in shelf.tools:
        found.append(entry_of(tool, catalogue.about(tool).categories))
        yield
    return found


def entry_of(tool: Tool, filed: Sequence[str] = ()) -> Entry:
    """What is indexed of a tool. `filed` are categories that its server or the operator put it into; beside them stand those that
    it declares, and those of its permissions: `filesystem.read` is `filesystem/read`."""
    from gatewright.discovery.index import Entry  # noqa: PLC0415 - loaded by then

    needs = (one.replace(".", "/") for one in tool.security.permissions_required)
    declared = _texts(tool.definition.get("categories"))
    return Entry(
        tool_id(tool),
        tool.target.server,
        tool.target.name,
        words_of(tool),
        _parameters(tool),
        tuple(dict.fromkeys((*filed, *declared, *needs))),
        _texts(tool.definition.get("keywords")),
    )


def words_of(tool: Tool) -> str:
    """The description of a tool, as far as it is searched; empty where there is none."""
    raw = tool.definition.get("description")
    said = None if raw is None else jsonrpc.decode(raw)
    return said[:_TEXT_CHARS] if isinstance(said, str) else ""


def _parameters(tool: Tool) -> tuple[str, ...]:
    """Names with their descriptions."""
    raw = tool.definition.get("inputSchema")
    if raw is None or len(raw) > _SCHEMA_BYTES or not isinstance(tool.schema, Mapping):
        return ()
    properties = tool.schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple(_told(name, one) for name, one in list(properties.items())[:_PARAMETERS])


def _told(name: str, one: Any) -> str:
    said = one.get("description") if isinstance(one, Mapping) else None
    text = f"{name}: {said}" if isinstance(said, str) and said else name
    return text[:_WORD_CHARS]


def _texts(raw: msgspec.Raw | None) -> tuple[str, ...]:
    return tuple(one for one in texts_of(raw, _WORDS, _WORD_CHARS) if one)
