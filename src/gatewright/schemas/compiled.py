"""`Compiled`: compiles JSON Schemas and caches them, or why they are unusable, by identity of the source; bounded in number and bytes.

A schema is known by the identity of the object that it is decoded from, which the catalogue replaces when a definition
changes. Heavy ones take megabytes, so few of them are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gatewright.schemas.graph import UnusableSchema
from gatewright.schemas.schema import CompiledSchema, compile_schema
from gatewright.schemas.value_size import size_of

__all__ = ["Compiled"]

_KEPT = 16_384
_KEPT_BYTES = 256 * 1024 * 1024
"""Of all together, as `_weight` reckons it: a definition has up to 256 KiB and 20,000 values, and it is kept with what is made of it."""
_A_VALUE, _A_SCHEMA = 100, 4096
# Of those that hold up to 16 MiB of compiled patterns (`schema._TIERS`).
_HEAVY_KEPT = 32


class Compiled:
    """Compiled schemas, and why others are unusable. `depth` and `subschemas` bound any one schema (`graph.Graph`)."""

    def __init__(self, depth: int = 32, subschemas: int = 1000) -> None:
        self.bounds = depth, subschemas
        self._known: dict[int, tuple[Any, CompiledSchema | str]] = {}
        self._heavy: dict[int, None] = {}
        self._weights: dict[int, int] = {}
        self._weight = 0

    def of(self, source: Any, decode: Callable[[Any], Any] | None = None) -> CompiledSchema | str:
        """The schema that `source` is, or becomes when it is decoded; a text that goes after "the schema" where
        it cannot be used."""
        known = self._known.get(id(source))
        # The kept reference keeps the id from being used again; the comparison is for a dropped one.
        if known is None or known[0] is not source:
            return self._learn(source, decode)
        return known[1]

    def _learn(self, source: Any, decode: Callable[[Any], Any] | None) -> CompiledSchema | str:
        compiled: CompiledSchema | str
        weight = _A_SCHEMA
        try:
            schema = decode(source) if decode else source
            weight += _weight(schema)
            compiled = compile_schema(schema, *self.bounds)
        # A verdict is kept as well: a schema that is unusable is not measured again with each call.
        except (UnusableSchema, ValueError) as problem:
            compiled = str(problem)
        # Nobody says when a definition is gone, so the oldest entry goes, in use or not; it is made anew when it is asked for.
        key = id(source)
        self._forget(key)
        while self._known and (len(self._known) >= _KEPT or self._weight + weight > _KEPT_BYTES):
            self._forget(next(iter(self._known)))
        self._known[key] = source, compiled
        self._weights[key] = weight
        self._weight += weight
        if isinstance(compiled, CompiledSchema) and compiled.heavy:
            self._heavy[key] = None
            if len(self._heavy) > _HEAVY_KEPT:
                self._forget(next(iter(self._heavy)))
        return compiled

    def _forget(self, key: int) -> None:
        if self._known.pop(key, None) is not None:
            self._weight -= self._weights.pop(key)
            # Another schema may get the id, and a light one must not go as a heavy one.
            self._heavy.pop(key, None)


def _weight(schema: Any) -> int:
    """Bytes that a schema takes in memory, about: decoded, and once more compiled."""
    size = size_of(schema)
    return 2 * (_A_VALUE * size.values + size.chars)
