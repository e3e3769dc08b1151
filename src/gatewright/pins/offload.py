"""Reads large tool definitions and results in worker processes: `Readers` sends them and decodes the findings, `read` and `score` run there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import Call, Failure, Tool
from gatewright.pins.definition import Read, read_definition
from gatewright.pins.result_reading import Found, marked, read_result
from gatewright.transport.worker_requests import Answered, of_result
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["READ_S", "SCORE_S", "Readers", "read", "score"]

READ_S = 10
"""Seconds for a batch."""
SCORE_S = 25
"""Seconds for a result."""
_SCORED = "read", "{} take more than {} s to be read for orders to the model"
_READ = b'{"do":"read"}'
_reads = msgspec.json.Decoder(list[Read])
_definitions = msgspec.json.Decoder(list[tuple[str, dict[str, msgspec.Raw]]])


class Readers:
    """Asks the workers."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    async def read(self, server: str, tools: Sequence[Tool]) -> Sequence[Read] | None:
        """What is to be known of the definitions of tools that a server lists; None where it was not found out."""
        load = msgspec.json.encode([(tool.target.name, tool.definition) for tool in tools])
        try:
            answer, found = await self.workers.run(f"server {server}", _READ, load, READ_S)
        except (Busy, Overtime):
            return None
        return None if "error" in msgspec.json.decode(answer) else _reads.decode(found)

    async def score(self, call: Call, raw: bytes) -> tuple[Found | None, bytes] | Failure:
        """What was found in a result, and the result with a mark in it."""
        told = await of_result(self.workers, call, {"do": "score"}, raw, SCORE_S, _SCORED)
        if isinstance(told, Failure):
            return told
        said, text = told
        if "error" in said:
            return Failure("output_invalid", f"the result could not be read: {said['error']}")
        return msgspec.convert(said["found"], Found | None), text


def read(_: Mapping[str, Any], load: bytes) -> Answered:
    """The load is definitions of tools, each with the name; what is to be known of each comes back."""
    found = [read_definition(name, definition) for name, definition in _definitions.decode(load)]
    return {}, msgspec.json.encode(found)


def score(_: Mapping[str, Any], load: bytes) -> Answered:
    """The load is a result; `found` is what speaks to the model in it, and the result comes back with a mark where something does."""
    found = read_result(load)
    return {"found": found}, b"" if found is None else marked(load, found)
