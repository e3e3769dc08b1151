"""What is hostile about rooms: envelopes of a participant who may little and of one who may all, floods, proposals, joins and leaves, and what operators
are given to say of participants.

`attacks(house, size)` yields (name, what makes the input). An envelope has at most 256 KiB, so each comes several times.
"""

from __future__ import annotations

import http.client
import itertools
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks.hostile.arguments import frames, objects, words
from benchmarks.hostile.house import PEOPLE, House
from benchmarks.hostile.sockets import WebSocket, said_of
from benchmarks.processes import Trouble

__all__ = ["attacks", "envelope"]

_LONGEST = 250_000
_TIMES = 8
_NUMBERS = itertools.count(1)
_KERNEL = "gatewright"
_CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"calm__echo","arguments":%b}}'
)
_KINDS = {
    "chat": ("chat", b"%b", ()),
    "proposal": ("mcp/proposal:tools/call:calm__echo", _CALL, (_KERNEL,)),
    "proposal_to_all": ("mcp/proposal:tools/call:calm__echo", _CALL, ()),
    "request": ("mcp/request:tools/call:calm__echo", _CALL, (_KERNEL,)),
    "hello": ("mcp/request:initialize", b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%b,"clientInfo":{"name":"a","version":"1"}}}', (_KERNEL,)),
    "response": ("mcp/response:tools/call:x", b'{"jsonrpc":"2.0","id":1,"result":%b}', ()),
    "decision": ("mcp/request:tools/call:add_rule", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_rule","arguments":%b}}', ("orchestrator",)),
}  # fmt: skip
"""Kind of input → kind of envelope, payload around an object, and to whom."""

_SENT = {
    "low": ("chat", "proposal", "proposal_to_all", "request"),
    "full": ("chat", "request", "hello", "response", "decision"),
}
"""Participant → what it sends."""


def envelope(
    sender: str, kind: str, payload: bytes, to: tuple[str, ...] = (), **more: Any
) -> bytes:
    """One envelope."""
    body = {
        "protocol": "mcpx/v0.1",
        "id": f"h{next(_NUMBERS)}",
        "from": sender,
        "kind": kind,
        **more,
    }
    if to:
        body["to"] = list(to)
    return json.dumps(body).encode()[:-1] + b',"payload":' + payload + b"}"


def attacks(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    least = min(size, _LONGEST)
    yield from _shaped(house, least - 1000)
    for name, frame in frames(least):
        yield f"rooms.{name}", partial(_said, house, "full", partial(bytes, frame))
    yield "rooms.recipients", partial(_said, house, "full", partial(_to, 1000))
    yield "rooms.too_many_recipients", partial(_said, house, "full", partial(_to, 20_000))
    for who in PEOPLE:
        yield f"rooms.{who}.flood", partial(_flood, house, who)
    yield "rooms.proposals", partial(_proposals, house, 2000)
    yield "rooms.joins", partial(_joins, house)
    yield "rooms.topics", partial(_topics, house)
    for name, body in _promotions(60_000):
        yield f"rooms.capabilities.{name}", partial(_promoted, house, body)


def _shaped(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    for name, text in objects(size):
        for who, kinds in _SENT.items():
            for what in kinds:
                kind, around, to = _KINDS[what]
                said = partial(envelope, who, kind, around % text, to)
                yield f"rooms.{who}.{what}.{name}", partial(_said, house, who, said)
    for name, long in words(size):
        for member in ("id", "kind", "from", "correlation_id", "ts"):
            said = partial(_with, member, long)
            yield f"rooms.member.{member}.{name}", partial(_said, house, "low", said)


def _with(member: str, text: str) -> bytes:
    body = json.loads(envelope("low", "chat", b"{}"))
    return json.dumps({**body, member: text}, ensure_ascii=False).encode()


def _to(count: int) -> bytes:
    return envelope("full", "chat", b"{}", tuple(f"p{one}" for one in range(count)))


def _said(house: House, who: str, said: Callable[[], bytes]) -> str:
    """Somebody says it several times, while somebody else listens."""
    with house.room(who) as socket, house.room("reader" if who != "reader" else "low") as other:
        texts = [said() for _ in range(_TIMES)]
        try:
            socket.say(*texts)
        except OSError as problem:
            return type(problem).__name__
        errors = _errors(socket)
        return f"{errors} {other.drained(0.1, 2.0)} heard beside"


def _errors(socket: WebSocket) -> str:
    """The last that the gateway says of it."""
    said = "nothing said"
    try:
        while True:
            heard = socket.hear(0.3)
            if b'"system/error"' in heard[:2000]:
                said = said_of(heard)
    except OSError:
        return said


def _flood(house: House, who: str) -> str:
    """Short messages, as fast as they are taken."""
    until, count = time.monotonic() + 1.0, 0
    with house.room(who) as socket, house.room("reader" if who != "reader" else "low"):
        while time.monotonic() < until:
            texts = [envelope(who, "chat", b'{"text":"x"}') for _ in range(200)]
            try:
                socket.say(*texts)
            except OSError as problem:
                return f"{count} texts, {type(problem).__name__}"
            count += len(texts)
    return f"{count} texts"


def _proposals(house: House, count: int) -> str:
    """Proposals that nobody ever decides on."""
    kind, around, _ = _KINDS["proposal_to_all"]
    with house.room("low") as socket:
        socket.say(*(envelope("low", kind, around % b'{"x":%d}' % one) for one in range(count)))
        return f"{count} proposals, {socket.drained(0.3, 10.0)} heard"


def _joins(house: House) -> str:
    """Somebody comes and goes, and everybody else is told each time."""
    until, count = time.monotonic() + 1.0, 0
    with house.room("reader"), house.room("full"):
        while time.monotonic() < until:
            try:
                house.room("low").close()
            except (Trouble, OSError):
                break
            count += 1
    return f"{count} joins"


def _topics(house: House) -> str:
    """A topic for each connection, all kept."""
    with ExitStack() as stack:
        for one in range(300):
            try:
                stack.enter_context(house.room("low", f"t{one}"))
            except (Trouble, OSError):
                return f"{one} topics"
        return "300 topics"


def _promotions(size: int) -> Iterator[tuple[str, bytes]]:
    """What an operator says somebody may, each of about so many bytes."""
    many = [f"mcp/request:tools/call:t{one}" for one in range(size // 34)]
    yield "many", json.dumps({"add": many}).encode()
    yield "stars", json.dumps({"add": ["mcp/request:" + "*/" * (size // 2 - 40)]}).encode()
    patterns = [f"mcp/request:{'*/a' * 60}{one}" for one in range(size // 210)]
    yield "patterns", json.dumps({"add": patterns}).encode()
    yield "taken_back", json.dumps({"remove": many}).encode()
    yield "reason", json.dumps({"reason": "a" * (size - 40)}).encode()
    yield from objects(size)


def _promoted(house: House, body: bytes) -> str:
    """An operator says so, then the participant speaks, and it is taken back."""
    place = "/admin/participants/low/capabilities"
    status, said = _admin(house, place, body)
    with house.room("low") as socket:
        socket.say(*(envelope("low", f"mcp/request:{'a/' * 500}b", b"{}") for _ in range(50)))
        socket.drained(0.2, 5.0)
    asked = json.loads(body) if len(body) < 10**6 and status == 200 else {}
    if asked.get("add"):
        _admin(house, place, json.dumps({"remove": asked["add"]}).encode())
    return f"{status} {said_of(said)}"


def _admin(house: House, place: str, body: bytes) -> tuple[int, bytes]:
    line = http.client.HTTPConnection(house.host, house.port, timeout=60)
    try:
        line.request("POST", place, body, {"Authorization": f"Bearer {house.operator}"})
        answer = line.getresponse()
        return answer.status, answer.read()
    except OSError as problem:
        return 0, type(problem).__name__.encode()
    finally:
        line.close()
