"""Validates large arguments and results in worker processes: `Fits` sends the jobs; `checked` and `fitted` run in the worker."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from gatewright.call import Call, Refusal
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.spellings import misread
from gatewright.schemas.graph import UnusableSchema
from gatewright.schemas.objection import Objection
from gatewright.schemas.output_filter import JUDGED
from gatewright.schemas.schema import CompiledSchema, compile_schema
from gatewright.schemas.violation_details import MOST, misfits
from gatewright.transport.worker_requests import Answered, of_arguments, ordered
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["FIT_S", "Fits", "checked", "fitted"]

FIT_S = 5
"""Seconds for one result."""


class Fits:
    """Asks the workers."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    async def check(
        self, call: Call, schema: bytes, bounds: tuple[int, int]
    ) -> tuple[Objection, list[dict[str, str]]] | Refusal | None:
        """What is wrong with the arguments of a call by the schema of their tool, and every flaw in words."""
        order, load = {"do": "check", **_of(schema, bounds)}, jsonrpc.encode(call.arguments)
        found = await of_arguments(self.workers, call, order, load, "checked against their schema")
        if isinstance(found, Refusal):
            return found
        said, _ = found
        if "ok" in said:
            return None
        if "objection" in said:
            return msgspec.convert(said["objection"], Objection), said["flaws"]
        text = f"the arguments could not be checked against their schema: {said['error']}"
        return Refusal("invalid_args", text, {"rule": "schema"})

    async def fit(
        self, call: Call, raw: bytes, schema: bytes, bounds: tuple[int, int]
    ) -> Objection | None:
        """What is wrong with the structured content of a result."""
        order = {"do": "fit", **_of(schema, bounds)}
        try:
            said, _ = await ordered(self.workers, call, order, raw, FIT_S)
        except Busy:
            return Objection("", "too_busy", "could not be checked now, too much waits already")
        except Overtime:
            return Objection("", "too_costly", f"takes more than {FIT_S} s to be checked")
        if "ok" in said:
            return None
        if "objection" in said:
            return msgspec.convert(said["objection"], Objection)
        if "unusable" in said:
            return Objection("", "schema", f"the schema {said['unusable']}")
        return Objection("", "json", str(said["error"]))


def checked(order: Mapping[str, Any], load: bytes) -> Answered:
    """`schema` (its text), `depth` and `subschemas`; the load is arguments. Every flaw of them is told."""
    text, schema = _schema(order["schema"], order["depth"], order["subschemas"])
    arguments = jsonrpc.decode_whole(load)
    objection = schema.objection(arguments)
    if objection is None:
        return {"ok": True}, b""
    flaws = misfits(text, arguments, schema.violations(arguments, MOST))
    return {"objection": msgspec.to_builtins(objection), "flaws": flaws}, b""


def fitted(order: Mapping[str, Any], load: bytes) -> Answered:
    """`schema` (its text), `depth` and `subschemas`; the load is a result, whose `structuredContent` has to fit."""
    members = jsonrpc.decode_members(load)
    twice = misread(members, JUDGED)
    if twice is not None:
        said = f"beside it stands {twice[0]!a}, which reads as {twice[1]}"
        return {"objection": msgspec.to_builtins(Objection("", "names", said))}, b""
    found = members.get("structuredContent")
    if found is None:
        return {"ok": True}, b""
    try:
        schema = _schema(order["schema"], order["depth"], order["subschemas"])[1]
    except UnusableSchema as problem:
        return {"unusable": str(problem)}, b""
    objection = schema.objection(jsonrpc.decode_whole(found))
    if objection is None:
        return {"ok": True}, b""
    return {"objection": msgspec.to_builtins(objection)}, b""


@lru_cache(maxsize=32)
def _schema(text: str, depth: int, subschemas: int) -> tuple[Any, CompiledSchema]:
    schema = jsonrpc.decode_whole(text.encode())
    return schema, compile_schema(schema, depth, subschemas)


def _of(schema: bytes, bounds: tuple[int, int]) -> dict[str, Any]:
    return {"schema": schema.decode(), "depth": bounds[0], "subschemas": bounds[1]}
