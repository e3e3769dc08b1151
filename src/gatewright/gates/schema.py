"""Do the arguments fit the tool's own schema? Asked before any validator looks at them.

A schema that cannot be used refuses its tool, that of its results as well: what nobody can check is not forwarded,
unless the operator says so for that server.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from gatewright.call import Back, Call, Refusal, Tool
from gatewright.validators.compiled import Compiled
from gatewright.validators.misfits import MOST, misfits
from gatewright.validators.objection import Objection
from gatewright.validators.schema import CompiledSchema
from gatewright.wire import jsonrpc

__all__ = ["Schema"]

_NO_OBJECT = Refusal(
    "invalid_args",
    "arguments must be an object",
    {"path": "", "rule": "type"},
)


class Schema:
    """Gate `schema`."""

    name = "schema"

    def __init__(self, off: Container[str] = frozenset(), compiled: Compiled | None = None) -> None:
        """`off` holds the servers whose schemas are not enforced."""
        self.off = off
        self.compiled = compiled or Compiled()

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool
        if tool is None or tool.target.server in self.off:
            return call
        output = tool.definition.get("outputSchema")
        if output is not None:
            result = self.compiled.of(output, jsonrpc.decode)
            if isinstance(result, str):
                return _unusable(tool, "output schema", result, "its results cannot be checked")
        if tool.schema is None:
            return call
        compiled = self.compiled.of(tool.schema)
        if isinstance(compiled, str):
            return _unusable(tool, "input schema", compiled, "its arguments cannot be checked")
        arguments: Any = call.params.get("arguments")
        if arguments is None:
            arguments = {}
        elif type(arguments) is not dict:
            return _NO_OBJECT
        objection = compiled.objection(arguments)
        return call if objection is None else _refused(tool, compiled, arguments, objection)


def _refused(
    tool: Tool, compiled: CompiledSchema, arguments: dict[str, Any], objection: Objection
) -> Refusal:
    """Every flaw is told, so that one correction is enough; the first one is the refusal's own."""
    flaws = misfits(tool.schema, arguments, compiled.violations(arguments, MOST))
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
