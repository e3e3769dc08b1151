"""Offline tool search: reads tools and queries from JSON lines, builds an index, ranks ten tool ids for each query; no gateway."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from gatewright.discovery.index import Entry, ToolIndex
from gatewright.transport.slices import whole

__all__ = ["RESULTS", "entries_of", "indexed", "ranked_ids", "records"]

RESULTS = 10

_PARAMETERS, _WORD_CHARS = 64, 256


def records(file: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines. ValueError: which line is none; OSError."""
    found = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if line.strip():
            try:
                found.append(msgspec.json.decode(line, type=dict[str, Any]))
            except msgspec.DecodeError as problem:
                raise ValueError(f"{file}: line {number} is no JSON object: {problem}") from None
    return found


def entries_of(tools: Iterable[Mapping[str, Any]]) -> dict[str, list[Entry]]:
    """Entries by server, of records with `tool_id`, `name` and, where known, `server_id`, `description`, `inputSchema`,
    `categories` and `keywords`. ValueError: a record without an id."""
    found: dict[str, list[Entry]] = defaultdict(list)
    for one in tools:
        tool = _text(one.get("tool_id")) or _text(one.get("name"))
        if not tool:
            raise ValueError("a tool has neither tool_id nor name")
        server = _text(one.get("server_id"))
        found[server].append(
            Entry(
                tool,
                server,
                _text(one.get("name")) or tool,
                _text(one.get("description")),
                _parameters(one.get("inputSchema")),
                _texts(one.get("categories")),
                _texts(one.get("keywords")),
            )
        )
    return found


def indexed(tools: Iterable[Mapping[str, Any]]) -> ToolIndex:
    """An index of these tools."""
    index = ToolIndex()
    for server, entries in entries_of(tools).items():
        whole(index.put(server, entries))
    return index


def ranked_ids(
    index: ToolIndex, queries: Iterable[Mapping[str, Any]], strategy: str
) -> Iterator[dict[str, Any]]:
    """For each query with `query_id` and `query`: its id and `tool_ids`, the best first. ValueError: a query has no text."""
    for one in queries:
        query = _text(one.get("query"))
        if not query:
            raise ValueError(f"query {one.get('query_id')!r} has no text")
        found = whole(index.search(query, strategy=strategy, limit=RESULTS))
        yield {"query_id": one.get("query_id"), "tool_ids": [hit.tool_id for hit in found.hits]}


def _parameters(schema: Any) -> tuple[str, ...]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return ()
    found = []
    for name, one in list(properties.items())[:_PARAMETERS]:
        said = one.get("description") if isinstance(one, Mapping) else None
        found.append((f"{name}: {said}" if isinstance(said, str) else str(name))[:_WORD_CHARS])
    return tuple(found)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
