"""Do the arguments fit the tool's own schema? Asked before any validator looks at them.

Each schema is measured and compiled once and kept by the identity of its decoded object, which the
catalogue replaces when a definition changes. A schema that cannot be used refuses its tool: arguments
that nobody can check are not forwarded, unless the operator says so for that server.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Any

from gatewright.call import Back, Call, Refusal, Tool
from gatewright.validators.schema import CompiledSchema, compile_schema
from gatewright.validators.schema_graph import UnusableSchema

__all__ = ["Schema"]

_KEPT = 16_384
_HEAVY_KEPT = 32

_Known = tuple[Any, CompiledSchema | Refusal | None]
"""The decoded schema, and what came of it; None where it is not enforced."""

_NO_OBJECT = Refusal(
    "invalid_args",
    "arguments must be an object",
    {"path": "", "rule": "type"},
)


class Schema:
    """Gate `schema`."""

    name = "schema"

    def __init__(
        self, off: Container[str] = frozenset(), *, depth: int = 32, subschemas: int = 1000
    ) -> None:
        """`off` holds the servers whose schemas are not enforced; the rest bounds any one schema."""
        self._off = off
        self._bounds = depth, subschemas
        self._known: dict[int, _Known] = {}
        self._heavy: deque[int] = deque()

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool
        if tool is None or tool.schema is None:
            return call
        known = self._known.get(id(tool.schema))
        # The kept reference keeps the id from being used again; the comparison is for a dropped one.
        if known is None or known[0] is not tool.schema:
            known = self._learn(tool)
        compiled = known[1]
        if compiled is None:
            return call
        if type(compiled) is Refusal:
            return compiled
        arguments = call.params.get("arguments")
        if arguments is None:
            arguments = {}
        elif type(arguments) is not dict:
            return _NO_OBJECT
        objection = compiled.objection(arguments)  # type: ignore[union-attr]
        if objection is None:
            return call
        where = "arguments" + objection.path
        return Refusal(
            "invalid_args",
            f"{where}: {objection.message} (rule: {objection.rule})",
            {"path": objection.path, "rule": objection.rule},
        )

    def _learn(self, tool: Tool) -> _Known:
        compiled: CompiledSchema | Refusal | None = None
        if tool.target.server not in self._off:
            try:
                compiled = compile_schema(tool.schema, *self._bounds)
            except UnusableSchema as problem:
                compiled = _unusable(tool, str(problem))
        while len(self._known) >= _KEPT:
            del self._known[next(iter(self._known))]
        key = id(tool.schema)
        known = self._known[key] = tool.schema, compiled
        if type(compiled) is CompiledSchema and compiled.heavy:
            self._heavy.append(key)
            if len(self._heavy) > _HEAVY_KEPT:
                self._known.pop(self._heavy.popleft(), None)
        return known


def _unusable(tool: Tool, problem: str) -> Refusal:
    server = tool.target.server
    return Refusal(
        "schema_unusable",
        f"the input schema of {tool.exposed} {problem}; its arguments cannot be checked, so it cannot "
        f'be called. To call it unchecked, set schema = "off" for the server {server}',
        {"server_id": server, "tool_name": tool.target.name},
    )
