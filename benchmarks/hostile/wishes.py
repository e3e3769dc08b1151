"""What is hostile about what callers ask to hear: resources by the thousand, under long names, log levels, streams that stay open, also of a server that
is away.

`attacks(house, size)` yields (name, what makes the input).
"""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.hostile.arguments import words
from benchmarks.hostile.house import House, modern
from benchmarks.hostile.sockets import said_of
from benchmarks.mcp_client import MODERN

__all__ = ["attacks", "uris"]

_MOST = 1100
"""A little more than one caller may have at one server."""
_LONG = 8192
_LISTED = 11_000_000
_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def uris(kind: str, count: int, scheme: str = "wish") -> list[str]:
    """So many URIs of one kind."""
    length = {"short": 8, "fitting": 2000, "long": _LONG}.get(kind)
    if length is not None:
        return [f"{scheme}://{'a' * (length - 8)}{one}" for one in range(count)]
    if kind == "same":
        return [f"{scheme}://a"] * count
    text = dict(words(2000))[kind]
    return [f"{scheme}://{text}{one}" for one in range(count)]


_KINDS = ("short", "fitting", "long", "same", *(name for name, _ in words(8)))


def attacks(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    for kind in _KINDS:
        yield f"wishes.subscribe.{kind}", partial(_subscribed, house, kind, "wish")
        yield f"wishes.listen.{kind}", partial(_listened, house, uris(kind, _MOST))
    yield "wishes.listed", partial(_listed, house)
    yield "wishes.taken_back", partial(_subscribed, house, "fitting", "wish", back=True)
    yield "wishes.sessions", partial(_sessions, house, 20)
    yield "wishes.listens", partial(_listens, house, 100)
    yield "wishes.levels", partial(_levels, house, 5000)
    for name, text in words(size):
        yield f"wishes.level.{name}", partial(_level, house, text)
        yield f"wishes.uri.{name}", partial(_uri, house, text)
    yield "wishes.many_in_one", partial(_listened, house, uris("short", 100_000))
    for kind in ("short", "fitting", "long"):
        yield f"wishes.away.{kind}", partial(_away, house, kind)
    yield "wishes.away.levels", partial(_levels, house, 2000, away=True)
    yield "wishes.away.listen", partial(_listened, house, uris("fitting", _MOST, "gone"), away=True)


def _request(method: str, params: Any, ident: int) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}, ensure_ascii=False
    ).encode()


def _subscribed(
    house: House,
    kind: str,
    scheme: str,
    *,
    back: bool = False,
    named: list[str] | None = None,
) -> str:
    """One session wants to hear of all of them; with `back`, and then not any more."""
    found = named or uris(kind, _MOST, scheme)
    with house.mcp(house.somebody()) as socket:
        try:
            for first in range(0, len(found), 100):
                part = list(enumerate(found[first : first + 100], first))
                socket.say(*(_request("resources/subscribe", {"uri": uri}, n) for n, uri in part))
            last = len(found) - 1
            said = socket.answer(last, 20.0)
            if back:
                texts = (_request("resources/unsubscribe", {"uri": uri}, 10**6 + n) for n, uri in enumerate(found))  # fmt: skip
                socket.say(*texts)
                said = socket.answer(10**6 + last, 20.0)
        except OSError as problem:
            return type(problem).__name__
    return said_of(json.dumps(said).encode())


def _listed(house: House) -> str:
    """Resources that their server lists, whose names have ten thousand characters."""
    order = {"kind": "long", "size": _LISTED}
    house.hostile.call("resources", json.dumps(order).encode())
    time.sleep(1.5)
    said = _subscribed(house, "", "", named=[f"a://{'a' * 10_000}{one}" for one in range(1000)])
    house.hostile.call("resources", b'{"kind":"","size":0}')
    return said


def _stream(house: House, body: bytes, key: str) -> http.client.HTTPConnection:
    line = http.client.HTTPConnection(house.host, house.port, timeout=20)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": "subscriptions/listen",
        "Authorization": f"Bearer {key}",
    }
    line.request("POST", "/mcp", body, headers)
    return line


def _listen(named: list[str]) -> bytes:
    wanted = {"toolsListChanged": True, "resourceSubscriptions": named}
    return modern("subscriptions/listen", {"notifications": wanted}, {})


def _listened(house: House, named: list[str], *, away: bool = False) -> str:
    """One request that wants to hear of all of them, and is given up."""
    if away:
        _left(house)
    line = _stream(house, _listen(named), house.somebody())
    try:
        answer = line.getresponse()
        if answer.status != 200:
            return f"{answer.status} {said_of(answer.read())}"
        return f"200 {said_of(b''.join(answer.readline() for _ in range(2)))}"
    except OSError as problem:
        return type(problem).__name__
    finally:
        line.close()


def _listens(house: House, count: int) -> str:
    """So many requests of one caller that stay open, each of which wants to hear of the same."""
    key, body = house.somebody(), _listen(uris("fitting", 50))
    lines = []
    for _ in range(count):
        with contextlib.suppress(OSError):
            lines.append(_stream(house, body, key))
    time.sleep(1.0)
    for line in lines:
        line.close()
    return f"{len(lines)} streams"


def _sessions(house: House, count: int) -> str:
    """So many sessions of one caller, of which each wants to hear of as much as one caller may, all together."""
    key = house.somebody()
    sockets = [house.mcp(key) for _ in range(count)]
    try:
        for number, socket in enumerate(sockets):
            part = enumerate(uris("fitting", 100, f"wish://{number}/"))
            socket.say(*(_request("resources/subscribe", {"uri": uri}, n) for n, uri in part))
        heard = sum(socket.drained(0.3, 5.0) for socket in sockets)
    finally:
        for socket in sockets:
            socket.close()
    return f"{heard} answers"


def _levels(house: House, count: int, *, away: bool = False) -> str:
    """One level after the other, as fast as they are taken."""
    if away:
        _left(house)
    levels = [_LEVELS[one % len(_LEVELS)] for one in range(count)]
    with house.mcp(house.somebody()) as socket:
        try:
            texts = (
                _request("logging/setLevel", {"level": one}, n) for n, one in enumerate(levels)
            )
            socket.say(*texts)
            return said_of(json.dumps(socket.answer(count - 1, 20.0)).encode())
        except OSError as problem:
            return type(problem).__name__


def _level(house: House, text: str) -> str:
    with house.mcp(house.somebody()) as socket:
        return said_of(socket.asked(_request("logging/setLevel", {"level": text}, 1)))


def _uri(house: House, text: str) -> str:
    with house.mcp(house.somebody()) as socket:
        asked = _request("resources/subscribe", {"uri": f"wish://{text}"}, 1)
        return said_of(socket.asked(asked))


def _away(house: House, kind: str) -> str:
    """Of a server that has left."""
    _left(house)
    return _subscribed(house, kind, "gone")


def _left(house: House) -> None:
    """The server ends; when it is there already no more, nothing happens."""
    house.hostile.call_of("gone__leave", b"{}")
