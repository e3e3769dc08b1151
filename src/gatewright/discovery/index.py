"""`ToolIndex`: incremental index of all servers' tools: keyword, semantic, category, fused search; data to persist; export of an entry.

Each server's tools take slots; a new list of a server takes new slots, and the old ones die at the moment when the new
ones are all there. What a search says depends on the tools that its asker may see and on no others: how rare a word
is, how well the best tool fits and how many fit are asked among these.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Generator,
    Hashable,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import groupby, islice, repeat
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np

from gatewright.discovery.categories import LETTERS, letters, within
from gatewright.discovery.embedded_tools import Meanings
from gatewright.discovery.fusion import Sight, judged
from gatewright.discovery.kept import Kept, KeptServer, digest_of, packed
from gatewright.discovery.lexicon import lexicon
from gatewright.discovery.postings import Bools, Floats, Postings, Spelling
from gatewright.discovery.query import Query, analysed, impacts_of, name_terms
from gatewright.discovery.vector_store import VectorStore
from gatewright.discovery.views import Views
from gatewright.discovery.word_vectors import table
from gatewright.discovery.words import Words

__all__ = ["STRATEGIES", "Entry", "Found", "Hit", "ToolIndex"]

STRATEGIES = ("auto", "keyword", "semantic", "category")

_ROOM = 1024
_FEW = 64
"""Tools between two steps where what is done for each depends on what it says of itself."""


class Entry(msgspec.Struct, frozen=True):
    """What is known of one tool in words. `parameters` are names, each with its short description if it has one;
    `categories` are paths, `data/storage` is a child of `data`."""

    tool_id: str
    server: str
    name: str
    description: str
    parameters: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


class Hit(msgspec.Struct, frozen=True):
    """A tool that fits; `score` is from 0 to 1 and says something within one answer only."""

    tool_id: str
    score: float


class Found(msgspec.Struct, frozen=True):
    """The best tools, best first; `total` is how many fit, `strategy` the one by which they were found."""

    hits: tuple[Hit, ...]
    total: int
    strategy: str


class ToolIndex:
    """One index over all connected servers. Not for several threads; what is a generator goes in slices."""

    def __init__(self) -> None:
        vectors = table()
        self._table = vectors
        self.words = Words(lexicon(), vectors.row, lexicon().longest)
        self._postings = Postings()
        self._names = Postings()
        self._spelling = Spelling()
        self._respelled: Spelling | None = None
        """The next one, while it is made."""
        self._vectors = VectorStore(vectors.dimensions)
        self._entries: list[Entry | None] = []
        self._alive: Bools = np.zeros(0, dtype=np.bool_)
        self._free: list[int] = []
        self._dead: list[int] = []
        self._sweeping = False
        self._servers: dict[str, list[int]] = {}
        self._digests: dict[str, bytes] = {}
        """What the tools of a server come to, for those that are kept or listed again."""
        self._parked: dict[str, tuple[bytes, list[int]]] = {}
        """What is in reserve of servers that have not listed anything yet, or are away: nobody finds it."""
        self.changes = 0
        """Grows with each change of what is held."""
        self._turns: dict[str, int] = {}
        self._by_id: dict[str, int] = {}
        self._views = Views()
        self.meanings: Meanings | None = None
        """What a stronger embedder says of the tools, where there is one."""

    def __len__(self) -> int:
        return len(self._by_id)

    def put(self, server: str, entries: Sequence[Entry]) -> Generator[None, None, None]:
        """Have these tools, and no others, of the server. Until the last step the old ones are found; of two that run
        at a time, the one begun last holds."""
        turn = self._turns[server] = self._turns.get(server, 0) + 1
        digest = yield from digest_of(entries)
        same = self._digests.get(server) == digest
        if self._turns.get(server) != turn or same or (not entries and self._park(server)):
            yield from self._sweep()
            return
        parked, slots = self._parked.pop(server, (b"", []))
        there = parked == digest
        if not there:
            self._dead += slots
            slots = []
            try:
                for entry in entries:
                    slots.append((yield from self._file(entry)))
                    yield
                there = self._turns.get(server) == turn
            finally:
                if not there:
                    self._dead += slots
            if not there:
                return
            self.changes += 1
        self._forget(server)
        self._servers[server], self._digests[server] = slots, digest
        for slot in slots:
            self._alive[slot] = True
            entry_there = self._entries[slot]
            if entry_there is not None:
                self._by_id[entry_there.tool_id] = slot
        yield from self._sweep()

    def drop(self, server: str) -> None:
        """Forget a server's tools; nothing where there are none."""
        self.changes += server in self.servers
        self._turns.pop(server, None)
        self._dead += self._parked.pop(server, (b"", ()))[1]
        self._forget(server)

    @property
    def servers(self) -> set[str]:
        """Those of which something is held."""
        return {*self._servers, *self._parked}

    def kept(self) -> Generator[None, None, Kept]:
        """What is to be kept. Nothing may be put or dropped until it is all there."""
        servers, order, places = [], list[int](), np.full(len(self._entries), -1, np.intp)
        held = [(one, self._digests[one], slots) for one, slots in self._servers.items()]
        held += [(one, *parked) for one, parked in self._parked.items()]
        for server, digest, slots in held:
            entries = [one for one in (self._entries[slot] for slot in slots) if one is not None]
            try:
                said = yield from packed(entries)
                servers.append(KeptServer(server, digest, len(slots), said))
            except UnicodeEncodeError:  # is made anew at the next start
                continue
            places[slots] = np.arange(len(order), len(order) + len(slots))
            order += slots
            yield
        postings = yield from self._postings.kept(places)
        names = yield from self._names.kept(places)
        spelling = yield from self._spelling.kept()
        vectors = yield from self._vectors.kept(np.asarray(order, dtype=np.intp))
        return Kept(servers, postings, names, *spelling, vectors)

    def take(self, kept: Kept) -> None:
        """Have what was kept, in an index that has nothing yet. It is found when its server lists the same again. ValueError: it
        does not fit together."""
        kept.check()
        self._postings.take(kept.postings)
        self._names.take(kept.names)
        self._spelling.take(kept.terms, kept.spelling)
        self._vectors.take(kept.vectors)
        for one in kept.servers:
            entries = msgspec.msgpack.decode(one.entries, type=list[Entry])
            first = len(self._entries)
            self._parked[one.server] = one.digest, list(range(first, first + len(entries)))
            self._entries += entries
            if len(entries) != one.tools:
                raise ValueError("a server of an index has other tools than are counted")
        self._alive = np.zeros(len(self._entries), np.bool_)

    def search(
        self,
        query: str,
        *,
        strategy: str = "auto",
        may: Callable[[str], bool] | None = None,
        categories: Collection[str] = (),
        limit: int = 5,
        view: Hashable = None,
        vector: Floats | None = None,
    ) -> Generator[None, None, Found]:
        """The tools that fit, among those for which `may` is true (of the tool id) and which are in one of the
        categories or below it, if any are named. Where `view` is given, `may` is asked once for a tool as long as the
        view's name stays the same: it has to change with the asker's rights. `vector` is that of the query, of the embedder of
        `meanings`. ValueError: no such strategy."""
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}")
        seen = yield from self._seen(may, view)
        if categories:
            seen = yield from self._filed(seen, categories)
        asked = yield from analysed(query, self.words, self._table)
        if strategy == "category" or (categories and not query.strip()):
            return (yield from self._by_category(seen, asked, limit))
        sight = Sight(
            seen,
            self._postings,
            self._names,
            self._spelling,
            self._vectors,
            self._table,
            self._named,
            self.meanings.meant(vector, len(seen)) if self.meanings is not None else None,
        )
        slots, scores, used = yield from judged(asked, sight, strategy)
        # Asked again: the slot may be another tool's by now.
        found = (one for one in self._ranked(slots, scores) if may is None or may(one.tool_id))
        hits = tuple(islice(found, limit))
        return Found(hits, max(len(slots), len(hits)), used)

    def found(self) -> list[tuple[int, Entry]]:
        """The tools that can be found now, with their slots."""
        return [(slot, entry) for slot, entry in self.known() if self._alive[slot]]

    def known(self) -> list[tuple[int, Entry]]:
        """The same, and the tools in reserve."""
        return [(slot, one) for slot, one in enumerate(self._entries) if one is not None]

    def means(self, slot: int, entry: Entry, vector: Floats) -> bool:
        """Have the vector that a stronger embedder made of a tool. False where the slot is another tool's by now, or no room is left."""
        if self.meanings is None or self._entries[slot] is not entry:
            return False
        return self.meanings.put(slot, vector)

    def export(self, tool_id: str) -> Mapping[str, Any]:
        """What the index holds of a tool: `tool_id`, `server_id`, `name`, `description`, `categories`, `keywords`,
        `embedding` (a list of numbers, empty where no word of it has a vector). KeyError: no such tool."""
        slot = self._by_id[tool_id]
        entry = self._entries[slot]
        if entry is None:
            raise KeyError(tool_id)
        return {
            "tool_id": entry.tool_id,
            "server_id": entry.server,
            "name": entry.name,
            "description": entry.description,
            "categories": list(entry.categories),
            "keywords": list(entry.keywords),
            "embedding": [round(float(one), 4) for one in self._vectors.of(slot)],
        }

    def _ranked(self, slots: Sequence[int], scores: Floats) -> Iterator[Hit]:
        """The tools of these slots, best first; those that fit as well in the order of their ids: that of slots is another at each
        start."""
        rounded = map(round, map(float, scores), repeat(4))
        for score, alike in groupby(zip(rounded, slots, strict=True), itemgetter(0)):
            held = (self._entries[slot] for _, slot in alike if self._alive[slot])
            for tool in sorted(one.tool_id for one in held if one is not None):
                yield Hit(tool, score)

    def _named(self, slot: int) -> list[str]:
        """The terms of a tool's name."""
        entry = self._entries[slot]
        return [] if entry is None else name_terms(entry, self.words)

    def _file(self, entry: Entry) -> Generator[None, None, int]:
        """Give a tool a slot, in which it is not found yet."""
        impacts, name_impacts, vector, rows = impacts_of(entry, self.words, self._table)
        yield
        slot = self._slot()
        new = self._postings.add(slot, impacts)
        self._spelling.add(new)
        if self._respelled is not None:
            self._respelled.add(new)
        self._names.add(slot, name_impacts)
        self._vectors.put(slot, vector, rows)
        self._entries[slot] = entry
        self._views.forget(slot)
        if self.meanings is not None:
            self.meanings.forget(slot)
        return slot

    def _slot(self) -> int:
        if self._free:
            return self._free.pop()
        slot = len(self._entries)
        self._entries.append(None)
        if slot >= len(self._alive):
            room = max(_ROOM, len(self._alive) * 3 // 2)
            self._alive = np.concatenate([self._alive, np.zeros(room - len(self._alive), np.bool_)])
            self._vectors.grow(room)
        return slot

    def _forget(self, server: str) -> None:
        self._digests.pop(server, None)
        for slot in self._servers.pop(server, ()):
            self._alive[slot] = False
            entry = self._entries[slot]
            if entry is not None and self._by_id.get(entry.tool_id) == slot:
                del self._by_id[entry.tool_id]
            self._entries[slot] = None
            self._dead.append(slot)

    def _park(self, server: str) -> bool:
        """Have what a server listed in reserve, for it lists nothing: it may be away. False where there is nothing of it."""
        if slots := self._servers.pop(server, None):
            self._parked[server] = self._digests.pop(server), slots
            for slot in slots:
                self._alive[slot] = False
                entry = self._entries[slot]
                if entry is not None and self._by_id.get(entry.tool_id) == slot:
                    del self._by_id[entry.tool_id]
        return server in self._parked

    def _sweep(self) -> Generator[None, None, None]:
        """Take the dead out of the lists, once they are many; then their slots can be had again."""
        if self._sweeping or len(self._dead) < max(_ROOM, len(self._by_id) // 4):
            return
        self._sweeping, swept = True, self._dead
        self._dead = []
        try:
            dead = np.zeros(len(self._entries), dtype=np.bool_)
            dead[swept] = True
            yield from self._postings.sweep(dead)
            yield from self._names.sweep(dead)
            self._free += swept
            swept = []
            if len(self._spelling) > 2 * len(self._postings) + _ROOM:
                yield from self._respell()
        finally:
            self._dead += swept
            self._sweeping = False
            self._respelled = None

    def _respell(self) -> Generator[None, None, None]:
        """Forget how terms are spelled that no tool has any more."""
        made = self._respelled = Spelling()
        for term in self._postings.terms():
            made.add((term,))
            yield
        self._spelling = made

    def _seen(
        self, may: Callable[[str], bool] | None, key: Hashable
    ) -> Generator[None, None, Bools]:
        """Which slots the asker may see."""
        size = len(self._entries)
        if may is None:
            return self._alive[:size].copy()

        def sees(slot: int) -> bool:
            entry = self._entries[slot]
            return entry is not None and may(entry.tool_id)

        return (yield from self._views.of(key, size, lambda: self._alive, sees))

    def _filed(self, seen: Bools, categories: Collection[str]) -> Generator[None, None, Bools]:
        wanted = frozenset(one.casefold().strip("/") for one in categories)
        kept = np.zeros(len(seen), dtype=np.bool_)
        read = 0
        for at, slot in enumerate(np.flatnonzero(seen)):
            entry = self._entries[slot]
            if entry is not None:
                kept[slot] = within(entry.categories, wanted)
                read += letters(entry.categories)
            if at % _FEW == 0 or read >= LETTERS:
                read = 0
                yield
        return kept

    def _by_category(self, seen: Bools, asked: Query, limit: int) -> Generator[None, None, Found]:
        """Those whose category, or one above it, is named in the query, in the order of their ids; all where the query is empty."""
        wanted, best, more, count, read = frozenset(asked.paths), list[str](), list[str](), 0, 0
        for at, slot in enumerate(np.flatnonzero(seen)):
            entry = self._entries[slot]
            if entry and (not wanted or within(entry.categories, wanted)):
                more.append(entry.tool_id)
                count += 1
            read += letters(entry.categories) if entry and wanted else 0
            if at % _FEW == 0 or read >= LETTERS:
                best, more, read = sorted((*best, *more))[:limit], [], 0
                yield
        best = sorted((*best, *more))[:limit]
        return Found(tuple(Hit(one, 1.0) for one in best), count, "category")
