"""Finds and replaces resource URIs of large results in worker processes: `UriReaders` sends the work, `names` and `shows` do it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.call import Call, Failure
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.link_filter import MOST_NAMED, led, named
from gatewright.transport.worker_requests import BUSY_MS, Answered, ordered
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["READ_S", "UriReaders", "names", "shows"]

READ_S = 5
"""Seconds for one result."""


class UriReaders:
    """Asks the workers."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    async def named(self, call: Call, raw: bytes) -> list[str] | Failure:
        """The URIs that a result or an event names, each once."""
        found = await self._read(call, {"do": "named", "method": call.method}, raw)
        return found if isinstance(found, Failure) else list(found[0]["uris"])

    async def led(self, call: Call, raw: bytes, shown: Mapping[str, str]) -> bytes | Failure:
        """The same text with other URIs in the place of some."""
        order = {"do": "led", "method": call.method, "shown": shown}
        found = await self._read(call, order, raw)
        return found if isinstance(found, Failure) else found[1] or raw

    async def _read(self, call: Call, order: Mapping[str, Any], raw: bytes) -> Answered | Failure:
        try:
            said, load = await ordered(self.workers, call, order, raw, READ_S)
        except Busy:
            text = "too many large results wait to be read already; ask for less at a time"
            return Failure("resource_exhausted", text, retry_after_ms=BUSY_MS)
        except Overtime:
            text = f"the links in {len(raw)} bytes take more than {READ_S} s to be read; ask the tool for less"
            return Failure("output_invalid", text, {"rule": "too_costly", "bytes": len(raw)})
        if "error" in said:
            text = f"the links in the result could not be read: {said['error']}"
            return Failure("output_invalid", text)
        return said, load


def names(order: Mapping[str, Any], load: bytes) -> Answered:
    """`method` is that of the call; the load is a result or the params of an event. The URIs that it names come back."""
    found = named(order["method"], jsonrpc.decode_whole(load))
    if len(found) > MOST_NAMED:
        return {"error": f"it names more than {MOST_NAMED} resources"}, b""
    return {"uris": found}, b""


def shows(order: Mapping[str, Any], load: bytes) -> Answered:
    """The same with `shown`, URI → what it is to be called. The text comes back, or nothing where nothing changes."""
    result, shown = jsonrpc.decode_whole(load), order["shown"]
    changed = led(order["method"], result, lambda uri: shown.get(uri, uri))
    return {}, jsonrpc.encode(result) if changed else b""
