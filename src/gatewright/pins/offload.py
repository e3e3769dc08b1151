"""Reads large tool definitions in worker processes: `Readers` sends a batch and decodes the findings, `read` runs in the worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import Tool
from gatewright.pins.definition import Read, read_definition
from gatewright.transport.worker_requests import Answered
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["READ_S", "Readers", "read"]

READ_S = 10
"""Seconds for a batch."""
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


def read(_: Mapping[str, Any], load: bytes) -> Answered:
    """The load is definitions of tools, each with the name; what is to be known of each comes back."""
    found = [read_definition(name, definition) for name, definition in _definitions.decode(load)]
    return {}, msgspec.json.encode(found)
