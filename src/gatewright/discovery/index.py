"""`ToolIndex`: incremental index over the tools of all connected servers, searched by keyword, semantic, category and fused strategies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.discovery.ranking import Text, ranked

__all__ = ["STRATEGIES", "Entry", "Found", "Hit", "ToolIndex"]

STRATEGIES = ("auto", "keyword", "semantic", "category")


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
        self._servers: dict[str, tuple[Entry, ...]] = {}

    def put(self, server: str, entries: Sequence[Entry]) -> Generator[None, None, None]:
        """Have these tools, and no others, of the server."""
        yield
        self._servers[server] = tuple(entries)

    def drop(self, server: str) -> None:
        """Forget a server's tools; nothing where there are none."""
        self._servers.pop(server, None)

    def search(
        self,
        query: str,
        *,
        strategy: str = "auto",
        may: Callable[[str], bool] | None = None,
        categories: Collection[str] = (),
        limit: int = 5,
    ) -> Generator[None, None, Found]:
        """The tools that fit, among those for which `may` is true (of the tool id) and which are in one of the
        categories or below it, if any are named. ValueError: no such strategy."""
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(STRATEGIES)}")
        seen = [
            one
            for entries in self._servers.values()
            for one in entries
            if (may is None or may(one.tool_id)) and _within(one, categories)
        ]
        texts = [Text(one.name, one.description, one.categories) for one in seen]
        numbers = yield from ranked(query, texts)
        hits = tuple(
            Hit(seen[number].tool_id, 1 / (1 + place))
            for place, number in enumerate(numbers[:limit])
        )
        return Found(hits, len(numbers), "keyword")

    def export(self, tool_id: str) -> Mapping[str, Any]:
        """What the index holds of a tool: `tool_id`, `server_id`, `name`, `description`, `categories`, `keywords`,
        `embedding` (a list of numbers, None where there is none). KeyError: no such tool."""
        for entries in self._servers.values():
            for one in entries:
                if one.tool_id == tool_id:
                    return {
                        "tool_id": one.tool_id,
                        "server_id": one.server,
                        "name": one.name,
                        "description": one.description,
                        "categories": list(one.categories),
                        "keywords": list(one.keywords),
                        "embedding": None,
                    }
        raise KeyError(tool_id)


def _within(entry: Entry, wanted: Collection[str]) -> bool:
    if not wanted:
        return True
    return any(
        has == one or has.startswith(f"{one}/")
        for has in (text.casefold() for text in entry.categories)
        for one in (text.casefold() for text in wanted)
    )
