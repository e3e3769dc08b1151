"""Gate `schema`: validates arguments by cached `inputSchema`, large ones in a worker; refuses tools with an unusable input or output schema.

A schema that cannot be used refuses its tool, that of its results as well: what nobody can check is not forwarded,
unless the operator says so for that server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from functools import partial
from typing import Any

from gatewright.call import Back, Call, Refusal, Tool
from gatewright.mcp.wire import jsonrpc
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.objection import Objection
from gatewright.schemas.schema import CompiledSchema, TakesLongError
from gatewright.schemas.value_weight import light_text, outweighs
from gatewright.schemas.violation_details import MOST, misfits
from gatewright.standing import NOTHING, Standing

__all__ = ["AT_ONCE", "Checking", "Schema"]

AT_ONCE = 64 * 1024
"""Characters of arguments that are checked where they are; more is checked beside the loop."""
_A_VALUE = 128
"""As many characters a value counts for: a rule such as `oneOf` or `multipleOf` looks at each of them for long."""
_LIGHT = light_text(AT_ONCE, _A_VALUE)

Checking = Callable[
    [Call, bytes, tuple[int, int]],
    Awaitable[tuple[Objection, list[dict[str, str]]] | Refusal | None],
]
"""Checks the arguments of a call against a schema (its text, and the bounds of `Compiled`): the objection and every flaw."""

_NO_OBJECT = Refusal(
    "invalid_args",
    "arguments must be an object",
    {"path": "", "rule": "type"},
)


class Schema:
    """Gate `schema`."""

    name = "schema"

    def __init__(
        self,
        off: Container[str] = frozenset(),
        compiled: Compiled | None = None,
        beside: Checking | None = None,
    ) -> None:
        """`off` holds the servers whose schemas are not enforced; large arguments are checked `beside` the loop, where
        somebody does that."""
        self.off = off
        self._beside = beside
        self.compiled = compiled or Compiled()

    def __call__(self, call: Call, back: Back) -> Call | Refusal | Awaitable[Call | Refusal]:
        tool = call.tool
        if tool is None or tool.target.server in self.off:
            return call
        # Asked before the call: a tool that has run is not undone when its result turns out to be uncheckable.
        output = tool.definition.get("outputSchema")
        if output is not None:
            result = self.compiled.of(output, jsonrpc.decode)
            if isinstance(result, str):
                return _unusable(tool, "output schema", result, "its results cannot be checked")
        return call if tool.schema is None else self._fitting(call, tool)

    def _fitting(self, call: Call, tool: Tool) -> Call | Refusal | Awaitable[Call | Refusal]:
        compiled = self.compiled.of(tool.schema)
        if isinstance(compiled, str):
            return _unusable(tool, "input schema", compiled, "its arguments cannot be checked")
        arguments: Any = call.params.get("arguments")
        if arguments is None:  # optional in `tools/call` (MCP, tools)
            arguments = {}
        elif type(arguments) is not dict:
            return _NO_OBJECT
        # A size of 0 is unknown. What is light by its text needs no walk.
        beside = self._beside
        light = beside is None or 0 < call.size <= _LIGHT
        if beside is not None and not light and outweighs(arguments, AT_ONCE, _A_VALUE):
            return self._large(call, tool, beside)
        try:
            objection = compiled.objection(arguments, at_once=beside is not None)
            if objection is None:
                return call
            found = compiled.violations(arguments, MOST, at_once=beside is not None)
        except TakesLongError:
            if beside is None:
                raise
            return self._large(call, tool, beside)
        return _refused(tool, objection, misfits(tool.schema, arguments, found))

    def stands(self, call: Call) -> Standing | None:
        """Whether small arguments fit. The schema is the tool's, and so is what was made of it."""
        tool = call.tool
        if tool is None or tool.target.server in self.off:
            return None if tool is None else NOTHING
        output = tool.definition.get("outputSchema")
        if output is not None and isinstance(self.compiled.of(output, jsonrpc.decode), str):
            return None
        if tool.schema is None:
            return NOTHING
        compiled = self.compiled.of(tool.schema)
        return None if isinstance(compiled, str) else Standing(fits=partial(_fits, compiled))

    async def _large(self, call: Call, tool: Tool, beside: Checking) -> Call | Refusal:
        # As text: a worker is another process, which compiles the schema for itself.
        text = bytes(tool.definition.get("inputSchema") or jsonrpc.encode(tool.schema))
        found = await beside(call, text, self.compiled.bounds)
        if found is None or isinstance(found, Refusal):
            return found or call
        return _refused(tool, *found)


def _fits(compiled: CompiledSchema, call: Call) -> bool:
    arguments: Any = call.params.get("arguments")
    if arguments is None:
        arguments = {}
    return type(arguments) is dict and 0 < call.size <= _LIGHT and compiled.accepts(arguments)


def _refused(tool: Tool, objection: Objection, flaws: list[dict[str, str]]) -> Refusal:
    """Every flaw is told, so that one correction is enough; the first one is the refusal's own."""
    where = "arguments" + objection.path
    said = [one["message"] for one in flaws] or [f"{where}: {objection.message}"]
    return Refusal(
        "invalid_args",
        f"the arguments do not fit {tool.exposed}: " + "; ".join(said),
        {"path": objection.path, "rule": objection.rule, "flaws": flaws},
    )


def _unusable(tool: Tool, which: str, problem: str, so: str) -> Refusal:
    server = tool.target.server
    return Refusal(
        "schema_unusable",
        f"the {which} of {tool.exposed} {problem}; {so}, so it cannot be called. "
        f'To call it unchecked, set schema = "off" for the server {server}',
        {"server_id": server, "tool_name": tool.target.name},
    )
