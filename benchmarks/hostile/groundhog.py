"""What is hostile about Groundhog: contracts that cost most to read, to keep and to hold calls against, frames that are none, sessions that come
and go.

`attacks(house, size)` yields (name, what makes the input). Whoever registers is an operator, as the gateway demands.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.hostile.arguments import frames, objects, schema_calls, words
from benchmarks.hostile.documents import DOCUMENTS, document
from benchmarks.hostile.house import House
from benchmarks.hostile.results import definitions, tools_of
from benchmarks.hostile.sockets import WebSocket, said_of

__all__ = ["attacks", "schemas"]

_NUMBERS = itertools.count(1)
_IN_FLIGHT = 20
_LISTED = 4_700_000
"""Bytes, and five hundred tools: more are not offered of one server."""
_GRANTS = tuple(
    b'{"jsonrpc":"2.0","id":1,"method":"mgp/access/%b","params":{"agent_id":"eve","server_id":"calm","entry_type":"server_grant",'
    b'"permission":"allow","justification":"a"}}' % method
    for method in (b"grant", b"revoke")
)
_PLAIN = {
    "type": "object",
    "properties": {"body": {"type": "object"}},
    "components": {"schemas": {}},
}


def schemas(size: int) -> Iterator[tuple[str, Any]]:
    """(name, JSON Schema of an object), each of about so many bytes: those of hostile servers and of hostile APIs."""
    for kind in DOCUMENTS:
        text = document(kind, size)
        found = _of_api(json.loads(text)) if text.startswith(b"{") else _PLAIN
        if found != _PLAIN:
            yield f"api_{kind}", found
    for tool in definitions():
        yield tool["name"], {"type": "object", **tool["inputSchema"]}
    yield "server_patterns", tools_of("schemas", 4800)[0]["inputSchema"]
    fields = {f"m{one}": {"pattern": f"^{'(a|b)?' * 40}{one}$"} for one in range(size // 300)}
    yield "many_patterns", {"type": "object", "properties": fields}
    names: dict[str, Any] = {f"^m{one}.*{'[a-z]?' * 20}$": {} for one in range(size // 160)}
    yield "name_patterns", {"type": "object", "patternProperties": names}
    deep: Any = {}
    for _ in range(30):
        deep = {"type": "object", "properties": {"a": deep}, "required": ["a"]}
    yield "deep", deep
    yield (
        "enum_of_objects",
        {"type": "object", "enum": [{"a": one} for one in range(min(40_000, size // 12))]},
    )
    one_of = [{"required": [f"m{one}"]} for one in range(900)]
    yield "one_of", {"type": "object", "oneOf": one_of, "anyOf": one_of, "allOf": one_of}
    yield "description", {"type": "object", "description": "token: a " * (size // 9)}


def _of_api(document_: Any) -> Any:
    """One schema in which the first body of an API stands, with all that it refers to."""
    first = next(iter(document_["paths"].values()))["post"]
    body = first.get("requestBody", {}).get("content", {}).get("application/json", {})
    components = document_["components"]
    return {"type": "object", "properties": {"body": body.get("schema", {})}, "components": components}  # fmt: skip


def _registration(schema: Any, name: str = "") -> bytes:
    metadata = {"name": name or f"made-{next(_NUMBERS)}", "version": "1.0.0", "description": "a"}
    params = {
        "tool_metadata": metadata,
        "security_profile": {"resource_limits": {"max_execution_time": 1}},
        "schema": {"input": schema},
        "implementation": "connection",
    }
    return _frame("tools/register", json.dumps(params).encode())


def _frame(method: str, params: bytes, ident: int = 1) -> bytes:
    head = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":'
    return head % (ident, method.encode()) + params + b"}"


def attacks(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    for part in (size, size // 8):
        for name, schema in schemas(part):
            label = f"groundhog.register.{name}{'' if part == size else '.eighth'}"
            yield label, partial(_said, house, _registration(schema))
    for name, text in objects(size // 4):
        yield f"groundhog.contract.{name}", partial(_said, house, _contract(text))
    for name, text in objects(size):
        yield f"groundhog.invoke.{name}", partial(_said, house, _invoke("hostile__echo", text))
        yield f"groundhog.context.{name}", partial(_said, house, _context(text))
        yield f"groundhog.session.{name}", partial(_said, house, _frame("session/create", text))
    by_name = {one["name"]: one["inputSchema"] for one in definitions()}
    for name, tool, text in schema_calls(size):
        schema = {"type": "object", **by_name[tool]}
        yield f"groundhog.held_against.{name}", partial(_against, house, schema, text)
    for name, frame in frames(size):
        yield f"groundhog.{name}", partial(_said, house, frame)
    for name, said in words(size):
        query = json.dumps({"query": said, "limit": 10}, ensure_ascii=False).encode()
        yield f"groundhog.list.{name}", partial(_said, house, _frame("tools/list", query))
    yield "groundhog.sessions", partial(_sessions, house, 2000)
    yield "groundhog.connections", partial(_connections, house, 200)
    yield "groundhog.registrations", partial(_registrations, house, 300)
    yield "groundhog.registrations.several", partial(_returning, house, 4, 100)
    yield from _of_lists(house)


def _of_lists(house: House) -> Iterator[tuple[str, Callable[[], str]]]:
    """What is looked for among all that a server lists."""
    query = _frame("tools/list", b'{"query":"echo","limit":10}')
    for kind in ("described", "small"):
        yield (
            f"groundhog.invoke.unknown_id.{kind}",
            partial(_listed, house, kind, _invoke("echp", b"{}")),
        )
        yield f"groundhog.list.after_a_grant.{kind}", partial(_listed, house, kind, query, _GRANTS)


def _invoke(tool: str, parameters: bytes, ident: int = 1) -> bytes:
    head = b'{"tool_id":"%b","parameters":' % tool.encode()
    return _frame("tools/invoke", head + parameters + b"}", ident)


def _contract(text: bytes) -> bytes:
    """A registration in which the shape stands wherever something is read."""
    head = b'{"tool_metadata":%b,"security_profile":%b,"schema":{"input":%b,"output":%b}}'
    return _frame("tools/register", head % ((text,) * 4))


def _context(text: bytes) -> bytes:
    said = b'{"tool_id":"hostile__echo","security_context":%b}' % text
    return _frame("tools/invoke", said)


def _said(house: House, frame: bytes) -> str:
    """Some of the same, at once."""
    with house.groundhog(house.operator) as socket:
        try:
            socket.say(frame, frame)
            return said_of(socket.hear(60.0))
        except OSError as problem:
            return type(problem).__name__


def _against(house: House, schema: Any, arguments: bytes) -> str:
    """A tool is registered, and called by somebody else while who registered it says nothing."""
    name = f"held-{next(_NUMBERS)}"
    with house.groundhog(house.operator) as socket, house.groundhog(house.operator) as caller:
        made = said_of(socket.asked(_registration(schema, name)))
        return f"{made[:30]} {said_of(caller.asked(_invoke(name, arguments), 60.0))}"


def _sessions(house: House, count: int) -> str:
    """Sessions are opened and closed, as many as go."""
    heard = 0
    with house.groundhog() as socket:
        for first in range(0, count, _IN_FLIGHT):
            names = [b'{"session_id":"s%d"}' % one for one in range(first, first + _IN_FLIGHT)]
            for method in ("session/create", "session/get", "session/close"):
                socket.say(*(_frame(method, one) for one in names))
                heard += _count(socket, _IN_FLIGHT)
    return f"{heard} answers"


def _count(socket: WebSocket, most: int) -> int:
    for number in range(most):
        try:
            socket.hear(10.0)
        except OSError:
            return number
    return most


def _connections(house: House, count: int) -> str:
    for _ in range(count):
        with house.groundhog() as socket:
            socket.asked(_frame("session/create", b"{}"))
    return f"{count} connections"


def _listed(house: House, kind: str, frame: bytes, changes: tuple[bytes, ...] = ()) -> str:
    """While a server lists as much as goes, somebody asks for the same some times, each time just after something changed."""
    house.hostile.call("again", json.dumps({"kind": kind, "size": _LISTED}).encode())
    time.sleep(1.0)
    said = b""
    with house.groundhog(house.operator) as socket, house.mcp(house.operator) as operator:
        for number in range(6):
            if changes:
                operator.say(changes[number % len(changes)])
                operator.answer(1)
            said = socket.asked(frame, 60.0)
    house.hostile.call("again", b'{"kind":"","size":0}')
    time.sleep(0.5)
    return said_of(said)


def _returning(house: House, owners: int, count: int) -> str:
    """Several connections register tools, leave, and others come with names that read like theirs."""
    names = [f"back-{next(_NUMBERS)}-{one}" for one in range(count)]
    said = ""
    for turn in range(owners):
        with house.groundhog(house.operator) as socket:
            for name in names:
                called = name.upper() if turn % 2 else name
                said = said_of(socket.asked(_registration({"type": "object"}, called)))
    return said


def _registrations(house: House, count: int) -> str:
    """Tools are registered one after the other; all go with their connection."""
    schema = {"type": "object", "properties": {f"p{one}": {"type": "string", "pattern": "^a+$"} for one in range(90)}}  # fmt: skip
    with house.groundhog(house.operator) as socket:
        for first in range(0, count, _IN_FLIGHT):
            socket.say(*(_registration(schema) for _ in range(min(_IN_FLIGHT, count - first))))
            _count(socket, min(_IN_FLIGHT, count - first))
    return f"{count} tools"
