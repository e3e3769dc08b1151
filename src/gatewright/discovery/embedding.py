"""`Embedding`: makes the configured embedder; embeds tools in the background and queries in limited time; else built-in vectors.

What is configured is looked at whenever the index is: another embedder begins anew, and until half of the tools have a vector of it,
searches go by the built-in ones. So they do where an embedder fails or is late, for some seconds without asking it again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gatewright.config import Settings
from gatewright.config.embedder import Embedder as Written
from gatewright.discovery.embedded_tools import Meanings, digest_of_text, text_of
from gatewright.discovery.embedders.embedder import Embedder, EmbeddingFailed, QueryLeftOut
from gatewright.discovery.embedders.embedder_settings import key_in_clear_text, key_of, place_of
from gatewright.discovery.embedders.endpoint import Endpoint
from gatewright.discovery.embedders.local_model import LocalModel
from gatewright.discovery.index import Entry, ToolIndex
from gatewright.discovery.kept_vectors import FILE, KeptVectors, load_vectors, store_vectors
from gatewright.discovery.postings import Floats
from gatewright.transport.slices import in_slices

__all__ = ["Embedding", "made"]

log = logging.getLogger("gatewright.discovery")

_QUERIES = 512
_QUERY_CHARS = 2000
_AT_ONCE = 8
"""So many queries are embedded at once; others go by the built-in vectors."""
_PAUSES_S = (5.0, 30.0, 300.0)
"""After a failure, after a second one in a row, and after every further one."""
_WRITE_S = 60.0
_ENOUGH = 0.5
_FEW = 64

_Lacking = tuple[int, Entry, str, bytes]


class _Pause:
    """Of one kind of request: failures in a row, and until when nobody asks again."""

    def __init__(self) -> None:
        self._failures = 0
        self.until = 0.0

    def failed(self, begun: float, now: float) -> bool:
        """One that began then has failed; whether it is the first in a row."""
        if begun < self.until:
            return False  # it was under way as another failed: that is one failure
        self.until = now + _PAUSES_S[min(self._failures, len(_PAUSES_S) - 1)]
        self._failures += 1
        return self._failures == 1

    def over(self) -> None:
        """One succeeded."""
        self._failures = 0


def made(settings: Settings) -> Embedder | None:
    """The embedder of a configuration; None for the built-in one. Raises `EmbeddingFailed`."""
    written = settings.discovery.embedder
    if written.type == "built-in":
        return None
    if written.type == "model":
        return LocalModel(written, place_of(settings))
    return Endpoint(written, partial(key_of, settings))


class Embedding:
    """On the event loop. `make` makes the embedder of a configuration."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        folder: Path | None,
        make: Callable[[Settings], Embedder | None] = made,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._make = make
        self._clock = clock
        self._written: Written | None = None
        self._embedder: Embedder | None = None
        self._working: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._kept = KeptVectors.empty()
        self._done: object = None
        """The state of the index whose tools all have what they get."""
        self._of_queries, self._of_tools = _Pause(), _Pause()
        self._asking = 0
        self._queries: OrderedDict[str, Floats] = OrderedDict()
        self._enough = False

    def look(self, index: ToolIndex) -> None:
        """Begin what there is to do: with another embedder from the start, else with the tools that came since."""
        written = self._settings().discovery.embedder
        if written != self._written:
            self._begin_anew(index, written)
        waits_until = max(self._of_queries.until, self._of_tools.until)
        if self._embedder is None or self._clock() < waits_until:
            return
        idle = self._working is None or self._working.done()
        if idle and self._done != _state(index):
            self._working = asyncio.get_running_loop().create_task(self._work(index))

    async def asked(self, query: str) -> Floats | None:
        """The vector of a query; None where there is none in time, or too few tools have one."""
        embedder, text = self._embedder, query[:_QUERY_CHARS]
        if embedder is None or not self._enough:
            return None
        if (known := self._queries.get(text)) is not None:
            self._queries.move_to_end(text)
            return known
        if self._clock() < self._of_queries.until or self._asking >= _AT_ONCE:
            return None
        self._asking += 1
        try:
            vector = await self._made(embedder, text)
        finally:
            self._asking -= 1
        if vector is None or embedder is not self._embedder:
            return None
        self._of_queries.over()
        self._queries[text] = vector
        if len(self._queries) > _QUERIES:
            self._queries.popitem(last=False)
        return vector

    async def _made(self, embedder: Embedder, text: str) -> Floats | None:
        begun, limit = self._clock(), self._settings().discovery.embedder.query_timeout_ms / 1000
        try:
            async with asyncio.timeout(limit):
                rows = await embedder.embed([text], asked=True)
        except TimeoutError:
            self._query_failed(embedder, begun, f"the vector of a query took more than {limit:g} s")
        except QueryLeftOut:
            log.debug("a query goes by the built-in vectors", exc_info=True)
        except EmbeddingFailed as problem:
            self._query_failed(embedder, begun, str(problem))
        else:
            vector: Floats = rows[0]
            return vector
        return None

    async def close(self) -> None:
        """End what is going on."""
        if self._working is not None:
            self._working.cancel()
            await asyncio.wait([self._working])
        if self._embedder is not None:
            await self._embedder.close()
        if self._ending:
            await asyncio.wait(self._ending)

    # -- in the background

    def _begin_anew(self, index: ToolIndex, written: Written) -> None:
        former, working = self._embedder, self._working
        self._written, self._embedder, self._working = written, None, None
        index.meanings, self._enough, self._done = None, False, None
        self._of_queries, self._of_tools = _Pause(), _Pause()
        self._queries.clear()
        if working is not None:
            working.cancel()
        if former is not None:
            self._apart(former.close())
        if said := key_in_clear_text(written):
            log.warning("WARNING: [discovery.embedder]: %s; write https", said)
        try:
            self._embedder = self._make(self._settings())
        except EmbeddingFailed as problem:
            # It says the same until the configuration is another, or the gateway is started again.
            log.warning("tools are found without [discovery.embedder]: %s", problem)

    def _apart(self, ends: Awaitable[None]) -> asyncio.Task[None]:
        """Go on with it whatever is cancelled meanwhile; `close` waits for it."""

        async def ended() -> None:
            await ends

        task = asyncio.get_running_loop().create_task(ended())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
        return task

    def _query_failed(self, embedder: Embedder, begun: float, why: str) -> None:
        # What the former embedder did not do as it ended says nothing of this one.
        if embedder is self._embedder and self._of_queries.failed(begun, self._clock()):
            log.warning("tools are found by the built-in vectors for now: %s", why)

    def _tools_failed(self, embedder: Embedder, begun: float, why: str) -> None:
        if embedder is not self._embedder:
            return
        if self._of_tools.failed(begun, self._clock()):
            log.warning("tools that came since are found by the built-in vectors for now: %s", why)
        # Queries may be answered all the same, but not in the next moment.
        self._of_queries.until = max(self._of_queries.until, self._clock() + _PAUSES_S[0])

    async def _work(self, index: ToolIndex) -> None:
        embedder = self._embedder
        if embedder is None:
            return
        begun = self._clock()
        try:
            state = _state(index)
            await self._embedded(index, embedder)
            self._done = state
            self._of_tools.over()
        except EmbeddingFailed as problem:
            self._tools_failed(embedder, begun, str(problem))
        except Exception:  # a search goes on with what is there, and a later look tries again
            log.exception("the tools could not be embedded")
            self._tools_failed(embedder, begun, "an error of the gateway")

    async def _embedded(self, index: ToolIndex, embedder: Embedder) -> None:
        identity = await embedder.identity()
        if index.meanings is None or index.meanings.identity != identity:
            index.meanings = None
            self._kept = await self._loaded(identity)
        held = index.found()
        lacking = await in_slices(self._lacking(index, held, identity))
        written, begun, batch = self._clock(), len(lacking), self._settings().discovery.embedder
        try:
            for at in range(0, len(lacking), batch.batch):
                some = lacking[at : at + batch.batch]
                rows = await embedder.embed([text for _, _, text, _ in some], asked=False)
                self._take(index, identity, some, rows)
                self._enough = (len(held) - begun + at + len(some)) >= _ENOUGH * len(held)
                if self._clock() - written > _WRITE_S:
                    await self._write(index)
                    written = self._clock()
        finally:
            if begun:
                await asyncio.shield(self._apart(self._write(index)))
        self._enough = True

    async def _loaded(self, identity: str) -> KeptVectors:
        if self._folder is None:
            return KeptVectors.empty()
        return await asyncio.to_thread(load_vectors, self._folder / FILE, identity)

    def _lacking(
        self, index: ToolIndex, held: Sequence[tuple[int, Entry]], identity: str
    ) -> Generator[None, None, list[_Lacking]]:
        """The tools that have no vector, without those whose vector is kept, which get it."""
        found = []
        for at, (slot, entry) in enumerate(held):
            if at % _FEW == 0:
                yield
            if index.meanings is not None and index.meanings.has(slot):
                continue
            text = _text(entry)
            key = digest_of_text(text)
            vector = self._kept.of(key)
            if vector is None:
                found.append((slot, entry, text, key))
                continue
            if index.meanings is None:
                index.meanings = Meanings(identity, self._kept.dimensions)
            index.means(slot, entry, vector[0].astype(np.float32) * vector[1])
        self._enough = len(held) - len(found) >= _ENOUGH * len(held)
        return found

    def _take(
        self, index: ToolIndex, identity: str, some: Sequence[_Lacking], rows: Floats
    ) -> None:
        dimensions = int(rows.shape[1])
        if index.meanings is None:
            index.meanings = Meanings(identity, dimensions)
        if index.meanings.dimensions != dimensions:
            raise EmbeddingFailed(
                f"a vector has {dimensions} components, and others {index.meanings.dimensions}"
            )
        for (slot, entry, _, _), row in zip(some, rows, strict=True):
            index.means(slot, entry, row)

    async def _write(self, index: ToolIndex) -> None:
        """Keep the vectors for the next start."""
        meanings = index.meanings
        if self._folder is None or meanings is None:
            return
        keys, scales, codes = await in_slices(_vectors(index, meanings, self._kept))
        file = self._folder / FILE
        try:
            await asyncio.to_thread(store_vectors, file, meanings.identity, keys, scales, codes)
            # What a server lists again is not embedded again.
            kept = await self._loaded(meanings.identity)
            if index.meanings is meanings:  # else another embedder has come meanwhile
                self._kept = kept
        except OSError as problem:
            log.warning("the vectors of tools are not kept for the next start: %s", problem)


def _state(index: ToolIndex) -> tuple[int, int]:
    """Changes with the tools that can be found."""
    return index.changes, len(index)


def _text(entry: Entry) -> str:
    return text_of(entry.server, entry.name, entry.description)


def _vectors(
    index: ToolIndex, meanings: Meanings, kept: KeptVectors
) -> Generator[None, None, tuple[list[bytes], Floats, NDArray[np.int8]]]:
    """Keys, scales and codes of the vectors that tools have, also those in reserve."""
    known, keys = index.known(), dict[bytes, None]()
    scales = np.zeros(len(known), np.float32)
    codes = np.zeros((len(known), meanings.dimensions), np.int8)
    for at, (slot, entry) in enumerate(known):
        if at % _FEW == 0:
            yield
        key = digest_of_text(_text(entry))
        held = meanings.vectors.coded(slot) if meanings.has(slot) else kept.of(key)
        if held is not None and key not in keys:
            codes[len(keys)], scales[len(keys)] = held
            keys[key] = None
    return list(keys), scales[: len(keys)], codes[: len(keys)]
