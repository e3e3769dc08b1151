"""What is hostile about MGP's streams, events and callbacks: what a server floods its callers with, and what callers ask for and answer.

`attacks(house, size)` yields (name, what makes the input).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.hostile import own_questions
from benchmarks.hostile.arguments import objects, words
from benchmarks.hostile.house import EVERYTHING, House
from benchmarks.hostile.mgp_server import CALLBACKS, CHUNKS, EVENTS, RESULTS
from benchmarks.hostile.sockets import WebSocket, said_of

__all__ = ["OBJECTS", "TEXTS", "attacks", "subscriptions"]

_LARGE = frozenset({"dense_long", "letters", "rows", "deep", "long", "too_long", "no_text", "options", "decimals"})  # fmt: skip
_MANY, _SOME, _FEW, _VERY_FEW = 20_000, 200, 400, 10
_MEBIBYTES = frozenset({"dense_long", "letters"})
_SEVERAL = frozenset({"dense", "assignments", "cookies", "numbers", "pem", "unseen"})
_FLOOD = 5000


def attacks(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    yield from _of_servers(house)
    for name, text in objects(size):
        for place, (method, params) in OBJECTS.items():
            yield f"{place}.{name}", partial(_asked, house, method, params.replace(b"%b", text))
    for name, said in words(size):
        for place, (method, member, beside) in TEXTS.items():
            filled = json.dumps({**beside, member: said}, ensure_ascii=False).encode()
            yield f"{place}.{name}", partial(_asked, house, method, filled)
    for name, params in subscriptions(size):
        yield f"events.channels.{name}", partial(_asked, house, "mgp/events/subscribe", params)
    for place, (method, _, _) in TEXTS.items():
        yield f"{place}.flood", partial(_flooded, house, method)
    yield "events.come_and_go", partial(_come_and_go, house, 300)
    yield from own_questions.attacks(house)


def _of_servers(house: House) -> Iterator[tuple[str, Callable[[], str]]]:
    for kind in CHUNKS:
        order = {"kind": kind, "count": _count(kind)}
        yield f"streams.chunks.{kind}", partial(_streamed, house, "chunks", order)
    for kind in RESULTS:
        yield f"streams.results.{kind}", partial(_streamed, house, "results", {"kind": kind})
    yield "streams.unread", partial(_unread, house)
    yield "streams.not_asked", partial(_called, house, "chunks", "one_byte")
    for kind in EVENTS:
        yield f"events.flood.{kind}", partial(_heard, house, kind, 1)
    yield "events.flood.shared", partial(_heard, house, "small", 16)
    for kind in CALLBACKS:
        order = {"kind": kind, "count": _count(kind)}
        yield f"events.callbacks.{kind}", partial(_streamed, house, "ask", order)
        yield f"events.forms.{kind}", partial(_called, house, "ask", kind)


OBJECTS = {
    "streams.cancel": ("mgp/stream/cancel", b"%b"),
    "streams.cancel_named": ("mgp/stream/cancel", b'{"request_id":%b}'),
    "events.respond": ("mgp/callback/respond", b"%b"),
    "events.subscribe": ("mgp/events/subscribe", b"%b"),
    "events.filter": ("mgp/events/subscribe", b'{"channels":["tool.flood"],"filter":%b}'),
    "events.unsubscribe": ("mgp/events/unsubscribe", b"%b"),
}
"""Where an object stands: the method, and its params with room for one."""
TEXTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "streams.request_id": ("mgp/stream/cancel", "request_id", {}),
    "events.subscription_id": ("mgp/events/unsubscribe", "subscription_id", {}),
    "events.callback_id": ("mgp/callback/respond", "callback_id", {"response": "a"}),
    "events.response": ("mgp/callback/respond", "response", {"callback_id": "cb-0"}),
}
"""Where a text stands: the method, the member, and what stands beside it."""


def _count(kind: str) -> int:
    if kind in _MEBIBYTES:
        return _VERY_FEW
    return _FEW if kind in _LARGE else _SOME if kind in _SEVERAL else _MANY


def subscriptions(size: int) -> Iterator[tuple[str, bytes]]:
    """(name, params of a subscription): many channels, long ones, many alike, and such as are none."""
    every = {
        "many": [f"tool.c{one}" for one in range(64)],
        "too_many": [f"tool.c{one}" for one in range(size // 16)],
        "long": ["tool." + "a" * 120 + str(one) for one in range(10, 74)],
        "too_long": ["tool." + "a" * size],
        "same": ["tool.a"] * 64,
        "patterns": [f"tool.{'a.' * one}*" for one in range(60)],
        "dots": ["tool" + "." * 120] * 64,
        "nested": ["tool" + ".a" * 61] * 64,
        "none": ["x"] * 64,
        "wide": ["tool." + "\uff41" * 120] * 64,
    }
    for name, channels in every.items():
        yield name, json.dumps({"channels": channels}, ensure_ascii=False).encode()


def _request(method: str, params: bytes, ident: int = 1) -> bytes:
    head = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":'
    return head % (ident, method.encode()) + params + b"}"


def _call(tool: str, order: Any, *, stream: bool) -> bytes:
    params = {"name": f"foreign__{tool}", "arguments": order}
    more = {"_mgp": {"stream": True}} if stream else {}
    return _request("tools/call", json.dumps({**params, **more}).encode(), 7)


def _asked(house: House, method: str, params: bytes) -> str:
    """A client with every extension asks, twice at once."""
    message = _request(method, params)
    with house.mcp(can=EVERYTHING) as socket:
        try:
            socket.say(message, message)
            return said_of(json.dumps(socket.answer(1, 60.0)).encode())
        except OSError as problem:
            return type(problem).__name__


def _answered(socket: WebSocket) -> str:
    """Read everything until the call is answered."""
    count = 0
    while True:
        text = socket.hear(60.0)
        count += 1
        if b'"id":7' in text[:200] or b'"id":7' in text[-40:]:
            return f"{count} texts, the last {said_of(text)}"


def _streamed(house: House, tool: str, order: Any) -> str:
    """Who asked for a stream reads it as it comes."""
    with house.mcp(can=EVERYTHING) as socket:
        try:
            socket.say(_call(tool, order, stream=True))
            return _answered(socket)
        except OSError as problem:
            return type(problem).__name__


def _called(house: House, tool: str, kind: str) -> str:
    """The same of a client that knows nothing of MGP."""
    with house.mcp(can={"elicitation": {}}) as socket:
        try:
            socket.say(_call(tool, {"kind": kind, "count": _count(kind)}, stream=True))
            return _answered(socket)
        except OSError as problem:
            return type(problem).__name__


def _unread(house: House) -> str:
    """Whoever asked reads nothing for a while."""
    with house.mcp(can=EVERYTHING) as socket:
        socket.say(_call("chunks", {"kind": "dense", "count": 2000}, stream=True))
        time.sleep(2.0)
        return f"{socket.drained(0.3, 10.0)} texts"


def _flooded(house: House, method: str) -> str:
    """One after the other about what is not there, as fast as they are taken."""
    ids = {"request_id": 9, "callback_id": "cb-0", "response": "a", "subscription_id": "sub-0"}
    params = json.dumps(ids).encode()
    with house.mcp(can=EVERYTHING) as socket:
        try:
            socket.say(*(_request(method, params, one) for one in range(_FLOOD)))
            return said_of(json.dumps(socket.answer(_FLOOD - 1, 30.0)).encode())
        except OSError as problem:
            return type(problem).__name__


def _subscribe(ident: int, *channels: str) -> bytes:
    return _request("mgp/events/subscribe", json.dumps({"channels": channels}).encode(), ident)


def _come_and_go(house: House, count: int) -> str:
    """Subscriptions of ever other channels, each of which its server is asked for, made and ended."""
    with house.mcp(can=EVERYTHING) as socket:
        try:
            for one in range(count):
                socket.say(_subscribe(one + 10, f"tool.x{one}"))
                made = socket.answer(one + 10, 20.0).get("result") or {}
                params = json.dumps({"subscription_id": made.get("subscription_id", "")}).encode()
                socket.say(_request("mgp/events/unsubscribe", params, 10**6 + one))
            return f"{socket.drained(0.3, 10.0)} texts"
        except OSError as problem:
            return type(problem).__name__


def _heard(house: House, kind: str, each: int) -> str:
    """Several connections hear of the same; a server sends it by the thousand."""
    key = house.somebody()
    with house.mcp(key, can=EVERYTHING) as one, house.mcp(key, can=EVERYTHING) as other:
        try:
            for socket in (one, other):
                socket.say(*(_subscribe(ident, "tool.*") for ident in range(20, 20 + each)))
                for ident in range(20, 20 + each):
                    socket.answer(ident, 20.0)
            order = {"kind": kind, "count": _count(kind) // (10 if kind != "too_long" else 4)}
            one.say(_call("events", order, stream=False))
            return f"{_answered(one)}, {other.drained(0.3, 20.0)} more"
        except OSError as problem:
            return type(problem).__name__
