"""What is hostile about sessions and about methods that take foreign text: who opens sessions and ends them, what is said of the client, and the shapes of
`arguments` in every method in which a member has room for one.

`attacks(house, size)` yields (name, what makes the input).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks.hostile.arguments import objects, words
from benchmarks.hostile.house import OFFER, House
from benchmarks.hostile.sockets import said_of
from benchmarks.line import Line
from benchmarks.processes import Trouble

__all__ = ["METHODS", "TEXTS", "attacks"]

_HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%b,"clientInfo":%b}}'
_CLIENT = b'{"name":"a","version":"1"}'
_BESIDE = {
    "capabilities": (b"%b", _CLIENT),
    "experimental": (b'{"experimental":%b}', _CLIENT),
    "mgp": (b'{"mgp":%b}', _CLIENT),
    "client": (b"{}", b"%b"),
    "client_icons": (b"{}", b'{"name":"a","version":"1","icons":[%b]}'),
}
"""Where in the greeting a shape stands: its capabilities and its client, one of which has room."""
METHODS = {
    "mgp/access/query": b'{"agent_id":"eve","server_id":"calm","tool_name":null,"x":%b}',
    "mgp/access/grant": b'{"agent_id":"eve","server_id":"calm","permissions":["a"],"justification":"a","x":%b}',
    "mgp/discovery/list": b'{"filter":%b}',
    "mgp/permission/request": b'{"request_id":"a","permissions":[%b],"x":%b}',
    "mgp/permission/response": b'{"request_id":"a","grants":%b,"server_id":"calm"}',
    "gatewright/policy/explain": b'{"agent":"eve","tool":"calm__echo","arguments":%b}',
    "gatewright/session/list": b"%b",
    "tools/validate": b'{"name":"calm__echo","arguments":%b}',
    "tools/list": b'{"query":"a","x":%b}',
    "completion/complete": b'{"ref":{"type":"ref/resource","uri":"wish://{+x}"},"argument":{"name":"x","value":"a"},"context":{"arguments":%b}}',
    "prompts/get": b'{"name":"hostile__p","arguments":%b}',
    "resources/read": b'{"uri":"wish://a","_meta":%b}',
    "tasks/list": b'{"cursor":"a","x":%b}',
}
"""Method → params with room for an object."""
TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "mgp/access/query": ("agent_id", {"server_id": "calm"}),
    "mgp/access/revoke": ("agent_id", {"server_id": "calm"}),
    "mgp/access/grant": ("justification", {"agent_id": "eve", "server_id": "calm", "tool_name": "echo"}),
    "mgp/permission/response": ("request_id", {"grants": {}, "server_id": "calm"}),
    "tools/list": ("query", {}),
    "prompts/get": ("name", {}),
    "resources/read": ("uri", {}),
    "tasks/get": ("taskId", {}),
    "gatewright/server/logs": ("server", {}),
    "gatewright/policy/explain": ("agent", {"tool": "calm__echo"}),
}  # fmt: skip
"""Method → the member that takes a text, and what stands beside it."""
_COSTLY = 11_500_000


def attacks(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    for name, text in objects(size):
        for place, (can, client) in _BESIDE.items():
            hello = _HELLO % (_filled(can, text), _filled(client, text))
            yield f"sessions.{place}.{name}", partial(_opened, house, hello)
        for method, params in METHODS.items():
            yield f"methods.{method}.{name}", partial(_asked, house, method, _filled(params, text))
    for name, said in words(size):
        for method, (member, beside) in TEXTS.items():
            filled = json.dumps({**beside, member: said}, ensure_ascii=False).encode()
            yield f"methods.{method}.{member}.{name}", partial(_asked, house, method, filled)
    for name, said in words(4000):
        yield f"methods.search.{name}", partial(_searched, house, said)
    yield "sessions.initialize", partial(_flood, house, end=False)
    yield "sessions.deleted", partial(_flood, house, end=True)
    yield "sessions.unknown", partial(_unknown, house)
    yield "sessions.sockets", partial(_sockets, house, 300)


def _filled(around: bytes, text: bytes) -> bytes:
    return around.replace(b"%b", text)


def _opened(house: House, hello: bytes) -> str:
    """Somebody says hello, at both kinds of door, and asks something."""
    with house.groundhog(house.somebody(), protocol="mcp") as socket:
        said = said_of(socket.asked(hello))
        socket.asked(b'{"jsonrpc":"2.0","id":2,"method":"ping"}', 2.0)
    return f"{house.hostile.mcp(hello)[:30]} {said}"


def _asked(house: House, method: str, params: bytes) -> str:
    """An operator's connection asks, since who may less is refused before; twice at once."""
    message = b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}' % (method.encode(), params)
    with house.mcp(house.operator, can=OFFER) as socket:
        try:
            socket.say(message, message)
            return said_of(json.dumps(socket.answer(1, 60.0)).encode())
        except OSError as problem:
            return type(problem).__name__


def _searched(house: House, text: str) -> str:
    """Who looks for words among tools whose descriptions are as long as they may be."""
    hostile = house.hostile
    hostile.call("again", json.dumps({"kind": "descriptions", "size": _COSTLY}).encode())
    time.sleep(2.0)
    query = json.dumps({"query": text, "limit": 5}, ensure_ascii=False).encode()
    said = _asked(house, "tools/list", query)
    hostile.call("again", b'{"kind":"","size":0}')
    time.sleep(0.5)
    return said


def _post(house: House, body: bytes, key: str, method: str = "POST", session: str = "") -> bytes:
    head = (
        f"{method} /mcp HTTP/1.1\r\nHost: {house.host}:{house.port}\r\nAuthorization: Bearer {key}\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n"
    )
    named = f"Mcp-Session-Id: {session}\r\n" if session else ""
    return (head + named + "\r\n").encode() + body


def _flood(house: House, *, end: bool) -> str:
    """One session after the other, for a second, on one connection; ended at once, or left."""
    key, until, count = house.somebody(), time.monotonic() + 1.0, 0
    opening = _post(house, _HELLO % (b"{}", _CLIENT), key)
    with Line(house.host, house.port) as line:
        while time.monotonic() < until:
            answer = line.ask(opening)[1]
            count += 1
            if end:
                ident = answer.lower().partition(b"mcp-session-id: ")[2].partition(b"\r\n")[0]
                line.ask(_post(house, b"", key, "DELETE", ident.decode()))
    return f"{count} sessions"


def _unknown(house: House) -> str:
    """Sessions that never were are ended."""
    until, count = time.monotonic() + 1.0, 0
    with Line(house.host, house.port) as line:
        while time.monotonic() < until:
            try:
                line.ask(_post(house, b"", house.key, "DELETE", f"{count:064x}"))
            except Trouble:  # 404, as it must be; the connection goes on
                count += 1
    return f"{count} ends"


def _sockets(house: House, count: int) -> str:
    """So many connections of one caller, each with a session of its own."""
    key = house.somebody()
    with ExitStack() as stack:
        for one in range(count):
            try:
                stack.enter_context(house.mcp(key))
            except (Trouble, OSError):
                return f"{one} sessions"
        return f"{count} sessions"
