"""Requests from the gateway to a connected Groundhog client that provides a tool, matched to their responses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from gatewright.call import CannotAsk
from gatewright.mcp.protocol.question_ids import question_id
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.base import Closed

__all__ = ["ClientRequests"]

_GONE = "the connection was closed"


def _closed(_: bytes) -> None:
    raise Closed("closed")


class ClientRequests:
    """The questions of one caller on one connection. `send` raises `Closed` once it is gone. `random` gives so many random bytes:
    what answers late a question of another caller here, or of the connection before, answers none of these."""

    def __init__(self, send: Callable[[bytes], None], random: Callable[[int], bytes]) -> None:
        self._send = send
        self._random = random
        self._waiting: dict[bytes, asyncio.Future[Any]] = {}

    async def __call__(self, method: str, params: dict[str, Any]) -> Any:
        """Put a request and wait for its result. Raises `CannotAsk`."""
        ident = question_id(self._random)
        answer = self._waiting[ident] = asyncio.get_running_loop().create_future()
        try:
            self._send(jsonrpc.request(ident, method, params))
            return await answer
        except Closed as problem:
            raise CannotAsk(f"{_GONE}: {problem.reason}", -32000) from None
        finally:
            del self._waiting[ident]

    def answered(self, response: jsonrpc.Response) -> None:
        """Take an answer. One that comes late, or that nobody asked for, means nothing."""
        waiting = self._waiting.get(response.id)
        if waiting is None or waiting.done():
            return
        try:
            if not response.error:
                waiting.set_result(jsonrpc.decode(response.result))
                return
            error = jsonrpc.decode(response.error)
            said = error.get("message") if isinstance(error, dict) else None
            waiting.set_exception(CannotAsk(str(said or "it failed")))
        except ValueError:
            waiting.set_exception(CannotAsk("its answer cannot be read"))

    def close(self) -> None:
        """Nobody answers any more."""
        self._send = _closed  # it has the connection, which has this: no collector is to be needed
        for one in self._waiting.values():
            if not one.done():
                one.set_exception(CannotAsk(_GONE, -32000))
