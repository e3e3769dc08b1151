"""What is hostile about a server's answers to what the gateway asks for itself: subscriptions, and how the server is.

`attacks(house)` yields (name, what makes the input).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.hostile.house import EVERYTHING, House
from benchmarks.hostile.mgp_server import MANNERS, WAITED_FOR
from benchmarks.hostile.sockets import WebSocket, said_of

__all__ = ["attacks", "row"]

_ANSWER_S = 20.0


def row(manner: str) -> str:
    """The name of the input in which the server answers in this manner."""
    family, _, kind = manner.partition(".")
    if family == "ping":
        return f"lifecycle.ping.answer.{kind}"
    return f"events.{manner}" if kind else f"events.flood.{manner}"


def attacks(house: House) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    for manner in filter(None, MANNERS):
        made = _pinged if manner.startswith("ping.") else _subscribed
        yield row(manner), partial(made, house, manner)


def _request(ident: int, method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode()


def _tool(socket: WebSocket, tool: str, order: Any) -> None:
    params = {"name": f"foreign__{tool}", "arguments": order}
    socket.say(_request(7, "tools/call", params))
    socket.answer(7, _ANSWER_S)


def _behaving(house: House, manner: str, made: Callable[[WebSocket], str]) -> str:
    """Make something while the server behaves so."""
    with house.mcp(house.somebody(), can=EVERYTHING) as socket:
        try:
            _tool(socket, "behave", {"kind": manner})
            return made(socket)
        finally:
            _tool(socket, "behave", {"kind": ""})


def _pinged(house: House, manner: str) -> str:
    def made(socket: WebSocket) -> str:
        found = {}
        for ident in range(20, 25):
            socket.say(_request(ident, "mgp/health/ping", {"server_id": "foreign"}))
            found = socket.answer(ident, _ANSWER_S)
        return said_of(json.dumps(found).encode())

    return _behaving(house, manner, made)


def _subscribed(house: House, manner: str) -> str:
    """Several subscriptions of which no two want the same; then the server sends events to all that it knows."""

    def made(socket: WebSocket) -> str:
        idents = range(20, 20 + WAITED_FOR)
        for ident in idents:
            channels = [f"tool.{manner}.x{ident}.{one}" for one in range(63)]
            wanted = {"channels": ["tool.flood", *channels]}
            socket.say(_request(ident, "mgp/events/subscribe", wanted))
        made = [(socket.answer(ident, _ANSWER_S).get("result") or {}) for ident in idents]
        _tool(socket, "events", {"kind": "small", "count": 2000 if manner == "same_id" else 1})
        count = socket.drained(0.3, 10.0)
        for ident, one in zip(idents, made, strict=True):
            params = {"subscription_id": one.get("subscription_id", "")}
            socket.say(_request(ident + 100, "mgp/events/unsubscribe", params))
        return f"{count} more, {sum(bool(one.get('subscribed')) for one in made)} heard"

    return _behaving(house, manner, made)
