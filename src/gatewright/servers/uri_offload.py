"""Finds and replaces resource URIs of large results in workers: `UriReaders` sends the jobs; `names` and `shows` run in the worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.call import Call, Failure
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.link_filter import MOST_NAMED, led, named
from gatewright.transport.worker_requests import Answered, of_result
from gatewright.transport.workers import Workers

__all__ = ["READ_S", "UriReaders", "names", "shows"]

READ_S = 5
"""Seconds for one result."""
_READ = "read", "the links in {} take more than {} s to be read"


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
        found = await of_result(self.workers, call, order, raw, READ_S, _READ)
        if not isinstance(found, Failure) and "error" in found[0]:
            text = f"the links in the result could not be read: {found[0]['error']}"
            return Failure("output_invalid", text)
        return found


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
