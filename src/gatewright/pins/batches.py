"""Splits listed tool definitions into batches by size (`batches`); says which are large enough for a worker process (`is_large`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatewright.call import Tool

__all__ = ["AT_ONCE", "batches", "is_large"]

AT_ONCE = 128 * 1024
_ONE_AT_ONCE = 16 * 1024
"""Bytes of a list of definitions, and of a definition (`_weight`), that are read where they are, one after the other."""
_BATCH = 256 * 1024
"""Bytes of definitions that are read together."""
_NO_ASCII = bytes(range(128, 256))


def _size(tool: Tool) -> int:
    return sum(_weight(bytes(one)) for one in tool.definition.values())


def _weight(text: bytes) -> int:
    """How many bytes a text is when it is read as it looks (NFKC): three of them may become eighteen characters (U+FDFA), and so may
    an escape of six."""
    plain = len(text.translate(None, _NO_ASCII))
    return plain + 6 * (len(text) - plain) + 12 * text.count(b"\\u")


def is_large(batch: Sequence[Tool]) -> bool:
    """Whether reading it takes long enough to be worth an order to a worker."""
    sizes = [_size(tool) for tool in batch]
    return max(sizes) > _ONE_AT_ONCE or sum(sizes) > AT_ONCE


def batches(
    tools: Sequence[Tool], most_bytes: int = _BATCH, most: int | None = None
) -> Iterator[list[Tool]]:
    """So many together, until they are more than so many bytes: by default what a worker reads in some tenths of a second."""
    batch: list[Tool] = []
    size = 0
    for tool in tools:
        batch.append(tool)
        size += _size(tool)
        if size > most_bytes or len(batch) == most:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
