"""Runs heavy checks of gates and filters in worker processes: validators, schemas, redaction, tool definitions, resource URIs.

What is small is done at once where it is asked for; nothing here is on the way of an ordinary call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gatewright.app.worker import MODULE
from gatewright.call import Call, Failure, Refusal, Security, Tool
from gatewright.mcp.wire import jsonrpc
from gatewright.pins.definition import Read
from gatewright.schemas.objection import Objection
from gatewright.secret_scanning import Clean, Redactor
from gatewright.transport.workers import Busy, Overtime, Workers
from gatewright.validators.gate import Judged

__all__ = ["JUDGE_S", "Beside", "workers"]

JUDGE_S = 3
"""Seconds for the arguments of one call. What the counted budget of validators allows takes one on a slow machine."""
_FIT_S = 5
_CLEAN_S = 25
_BUSY_MS = 1000
_READ_S = 10
_LOOK = b'{"do":"look"}'
_READ = b'{"do":"read"}'
_reads = msgspec.json.Decoder(list[Read])
_BUSY = "too much waits to be judged already; send less at a time"


def workers() -> Workers:
    """The gateway's worker processes, none of which is started yet."""
    return Workers(MODULE)


class Beside:
    """Asks the workers."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    async def judge(self, call: Call, tool: Tool) -> Judged | Refusal:
        """What the validators of a tool say of the arguments of a call."""
        order = {"do": "judge", **_of(tool.security), "tool": tool.target.name}
        try:
            said = await self._said(call, order, jsonrpc.encode(call.arguments), JUDGE_S)
        except Busy:
            return Refusal("resource_exhausted", _BUSY, retry_after_ms=_BUSY_MS)
        except Overtime:
            text = f"takes more than {JUDGE_S} s to be judged; send less, or in a plainer form"
            return Judged((tool.security.validator, Objection("", "too_costly", text)))
        if "error" in said:
            return Refusal("internal", f"the arguments could not be judged: {said['error']}")
        if "names" in said:
            return Judged(None, [(name, path, host) for name, path, host in said["names"]])
        return Judged((said["validator"], msgspec.convert(said["objection"], Objection)))

    async def visible(self, call: Call) -> tuple[Any, int] | Refusal:
        """The arguments of a call without what nobody sees in them, and how many pieces went."""
        try:
            answer, load = await self.workers.run(
                call.payer, _LOOK, jsonrpc.encode(call.arguments), JUDGE_S
            )
        except Busy:
            return Refusal("resource_exhausted", _BUSY, retry_after_ms=_BUSY_MS)
        except Overtime:
            text = f"the arguments take more than {JUDGE_S} s to be looked through; send less"
            return Refusal("invalid_args", text, {"rule": "too_costly"})
        said = msgspec.json.decode(answer)
        if "error" in said:
            text = f"the arguments could not be looked through: {said['error']}"
            return Refusal("invalid_args", text, {"rule": "depth"})
        return (jsonrpc.decode_whole(load) if load else None), said["removed"]

    async def clean(
        self, call: Call, redactor: Redactor, raw: bytes, *, report: bool
    ) -> Clean | Failure:
        """A JSON text without what the policy of `redactor` takes out; with `report` a result that says so."""
        order: dict[str, Any] = {"do": "clean", "policy": redactor.policy, "report": report}
        if redactor.held is not None:
            order["held"] = redactor.held.values
        try:
            head, load = await self.workers.run(
                call.payer, msgspec.json.encode(order), raw, _CLEAN_S
            )
        except Busy:
            text = "too many large results wait to be cleaned already; ask for less at a time"
            return Failure("resource_exhausted", text, retry_after_ms=_BUSY_MS)
        except Overtime:
            text = f"{len(raw)} bytes take more than {_CLEAN_S} s to be cleaned of secrets; ask the tool for less"
            return Failure("output_invalid", text, {"rule": "too_costly", "bytes": len(raw)})
        said = msgspec.json.decode(head)
        if "error" in said:
            text = f"the result could not be cleaned of secrets: {said['error']}"
            return Failure("output_invalid", text)
        return Clean(load or raw, Counter(said["rules"]))

    async def named(self, call: Call, raw: bytes) -> list[str] | Failure:
        """The URIs that a result or an event names, each once."""
        found = await self._linked(call, {"do": "named", "method": call.method}, raw)
        return found if isinstance(found, Failure) else list(found[0]["uris"])

    async def led(self, call: Call, raw: bytes, shown: Mapping[str, str]) -> bytes | Failure:
        """The same text with other URIs in the place of some."""
        order = {"do": "led", "method": call.method, "shown": shown}
        found = await self._linked(call, order, raw)
        return found if isinstance(found, Failure) else found[1] or raw

    async def _linked(
        self, call: Call, order: Mapping[str, Any], raw: bytes
    ) -> tuple[dict[str, Any], bytes] | Failure:
        head = msgspec.json.encode(order)
        try:
            answer, load = await self.workers.run(call.payer, head, raw, _FIT_S)
        except Busy:
            text = "too many large results wait to be read already; ask for less at a time"
            return Failure("resource_exhausted", text, retry_after_ms=_BUSY_MS)
        except Overtime:
            text = f"the links in {len(raw)} bytes take more than {_FIT_S} s to be read; ask the tool for less"
            return Failure("output_invalid", text, {"rule": "too_costly", "bytes": len(raw)})
        said: dict[str, Any] = msgspec.json.decode(answer)
        if "error" in said:
            text = f"the links in the result could not be read: {said['error']}"
            return Failure("output_invalid", text)
        return said, load

    async def read(self, server: str, tools: Sequence[Tool]) -> Sequence[Read] | None:
        """What is to be known of the definitions of tools that a server lists; None where it was not found out."""
        load = msgspec.json.encode([(tool.target.name, tool.definition) for tool in tools])
        try:
            answer, found = await self.workers.run(f"server {server}", _READ, load, _READ_S)
        except (Busy, Overtime):
            return None
        return None if "error" in msgspec.json.decode(answer) else _reads.decode(found)

    async def check(
        self, call: Call, schema: bytes, bounds: tuple[int, int]
    ) -> tuple[Objection, list[dict[str, str]]] | Refusal | None:
        """What is wrong with the arguments of a call by the schema of their tool, and every flaw in words."""
        order = {"do": "check", **_of_schema(schema, bounds)}
        try:
            said = await self._said(call, order, jsonrpc.encode(call.arguments), JUDGE_S)
        except Busy:
            return Refusal("resource_exhausted", _BUSY, retry_after_ms=_BUSY_MS)
        except Overtime:
            text = f"the arguments take more than {JUDGE_S} s to be checked against their schema; send less"
            return Refusal("invalid_args", text, {"rule": "too_costly"})
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
        order = {"do": "fit", **_of_schema(schema, bounds)}
        try:
            said = await self._said(call, order, raw, _FIT_S)
        except Busy:
            return Objection("", "too_busy", "could not be checked now, too much waits already")
        except Overtime:
            return Objection("", "too_costly", f"takes more than {_FIT_S} s to be checked")
        if "ok" in said:
            return None
        if "objection" in said:
            return msgspec.convert(said["objection"], Objection)
        if "unusable" in said:
            return Objection("", "schema", f"the schema {said['unusable']}")
        return Objection("", "json", str(said["error"]))

    async def _said(
        self, call: Call, order: Mapping[str, Any], load: bytes, seconds: int
    ) -> dict[str, Any]:
        head = msgspec.json.encode(order)
        answer, _ = await self.workers.run(call.payer, head, load, seconds)
        said: dict[str, Any] = msgspec.json.decode(answer)
        return said


def _of_schema(schema: bytes, bounds: tuple[int, int]) -> dict[str, Any]:
    return {"schema": schema.decode(), "depth": bounds[0], "subschemas": bounds[1]}


def _of(security: Security) -> dict[str, Any]:
    return {
        "names": security.validator,
        "options": security.validator_options,
        "pointers": security.validator_args,
    }
