"""What is hostile about approvals: calls that wait, the page on which an operator decides, arguments that were changed, answers of callers.

`attacks(house, size)` yields (name, what makes the input). The caller of each is somebody whom nobody saw before, since one has a bounded number of
requests.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

from benchmarks.hostile.arguments import objects, words
from benchmarks.hostile.caller import Hostile
from benchmarks.hostile.house import HOLD_S, House, modern
from benchmarks.hostile.sockets import WebSocket, said_of
from gatewright.approvals.request import Voter

__all__ = ["attacks", "forms"]

_SHOWS: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
_FORM_BYTES = 250_000
_A_DECISION_S = 0.02
_EACH = 100
"""How many requests of one caller may wait."""


def attacks(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    for name, text in objects(size):
        yield f"approvals.waiting.{name}", partial(_waiting, house, text)
        yield f"approvals.answered.{name}", partial(_answered, house, text)
        yield f"approvals.answered_later.{name}", partial(_answered_later, house, text)
    for name, text in objects(_FORM_BYTES):
        yield f"approvals.changed.{name}", partial(_changed, house, text)
    for name, form in forms(_FORM_BYTES):
        yield f"approvals.page.{name}", partial(_posted, house, form)
    for name, long in words(16_000):
        yield f"approvals.shown.{name}", partial(_shown, house, long)
    yield "approvals.asked_1000", partial(_asked, house, 10)
    yield "approvals.asked_again_1000", partial(_asked_again, house, 1000)
    yield "approvals.decided_while_900_wait", partial(_decided, house, 9)
    yield "approvals.ten_megabytes", partial(_approved, house, 10_000_000)


def forms(size: int) -> Iterator[tuple[str, bytes]]:
    """Bodies for the page, each of about so many bytes."""
    yield "fields", b"a=b&" * (size // 4)
    yield "empty_fields", b"&" * size
    yield "same_field", b"key=a&" * (size // 6)
    yield "escapes", b"key=" + b"%41" * (size // 3 - 4)
    yield "half_escapes", b"key=" + b"%" * (size - 4)
    yield "no_letters", b"key=" + b"%ff" * (size // 3 - 4)
    yield "pluses", b"comment=" + b"+" * (size - 8)
    yield "key", b"decision=approve&key=" + b"a" * (size - 24)
    yield "unseen", b"key=" + quote("\u200b\u2063").encode() * (size // 18)
    yield "no_form", b'{"key":' * (size // 7)
    yield "bytes", bytes(range(256)) * (size // 256)


def _call(tool: str, arguments: bytes, ident: int) -> bytes:
    head = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hostile__%b","arguments":'
    return head % (ident, tool.encode()) + arguments + b"}}"


def _waiting(house: House, arguments: bytes) -> str:
    """Some calls that wait at the same time, with arguments that differ by a space: they are one question."""
    with house.mcp(house.somebody()) as socket:
        socket.say(*(_call("held", arguments, number) for number in range(3)))
        return said_of(json.dumps(_heard(socket, 0)).encode())


def _heard(socket: WebSocket, ident: int) -> Any:
    try:
        return socket.answer(ident, 60.0)
    except OSError as problem:
        return {"message": type(problem).__name__}


def _answered(house: House, answer: bytes) -> str:
    """A caller that is asked answers at length."""
    with house.mcp(house.somebody(), can=_SHOWS) as socket:
        socket.say(_call("asked", b"{}", 1))
        question = _question(socket)
        content = b'{"jsonrpc":"2.0","id":%b,"result":{"action":"accept","content":%b}}'
        socket.say(content % (json.dumps(question["id"]).encode(), answer))
        return said_of(json.dumps(_heard(socket, 1)).encode())


def _question(socket: WebSocket) -> Any:
    while True:
        message = json.loads(socket.hear())
        if message.get("method") == "elicitation/create":
            return message
        if "result" in message or "error" in message:
            raise ConnectionError(str(message)[:200])


def _answered_later(house: House, answer: bytes) -> str:
    """The same of a caller that repeats its request with the answer."""
    caller = Hostile(house.url, key=house.somebody())
    try:
        tool = "hostile__asked"
        params = {"name": tool, "arguments": {}}
        first = json.loads(caller.modern(modern("tools/call", params, _SHOWS), tool))
        result = first["result"]
        keys = list(result["inputRequests"])
        replies = {one: {"action": "accept", "content": "HERE"} for one in keys}
        again = {**params, "requestState": result["requestState"], "inputResponses": replies}
        body = modern("tools/call", again, _SHOWS).replace(b'"HERE"', answer)
        return said_of(caller.modern(body, tool))
    finally:
        caller.close()


class _Page:
    """The page of one call that waits, and the connection on which it does."""

    def __init__(self, house: House, arguments: bytes) -> None:
        self.house = house
        self.socket = house.mcp(house.somebody(), can=_SHOWS)
        self.socket.say(_call("held", arguments, 1))
        self.place = urlsplit(_question(self.socket)["params"]["url"]).path

    def __enter__(self) -> _Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, method: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the text of an answer."""
        line = http.client.HTTPConnection(self.house.host, self.house.port, timeout=60)
        try:
            kind = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
            line.request(method, self.place, body or None, kind)
            answer = line.getresponse()
            return answer.status, answer.read()
        except OSError as problem:
            return 0, type(problem).__name__.encode()
        finally:
            line.close()


def _posted(house: House, form: bytes) -> str:
    with _Page(house, b'{"x":1}') as page:
        found = [page.ask("POST", form)[0] for _ in range(5)]
        return f"{found[0]} {len(found)} times"


def _shown(house: House, text: str) -> str:
    with _Page(house, json.dumps({"x": text}, ensure_ascii=False).encode()) as page:
        found = [page.ask("GET") for _ in range(10)]
        return f"{found[0][0]} {len(found[0][1])} bytes"


def _changed(house: House, arguments: bytes) -> str:
    """An operator approves other arguments, with which the call runs."""
    with _Page(house, b'{"x":2}') as page:
        shown = page.ask("GET")[1]
        seen = shown.partition(b"name=seen type=hidden value=")[2].partition(b">")[0]
        form = b"decision=approve&seen=%b&key=%b&edited=%b"
        filled = form % (seen, house.operator.encode(), quote(arguments).encode())
        status, said = page.ask("POST", filled)
        ended = said_of(json.dumps(_heard(page.socket, 1)).encode())
        return f"{status} {len(said)} bytes, then {ended}"


def _asked(house: House, callers: int) -> str:
    """Each of so many callers asks as much as may wait, all of it different."""
    sockets = [house.mcp(house.somebody()) for _ in range(callers)]
    try:
        for number in range(_EACH):
            for one in sockets:
                one.say(_call("held", b'{"x":%d,"y":"%b"}' % (number, b"a" * 1000), number))
        return f"{_drained(sockets)} texts"
    finally:
        _closed(sockets)


def _asked_again(house: House, times: int) -> str:
    """One caller asks the same so many times, and all of it waits."""
    with house.mcp(house.somebody()) as socket:
        socket.say(*(_call("held", b'{"x":3}', number) for number in range(times)))
        return f"{socket.drained(2 * HOLD_S)} texts"


def _decided(house: House, callers: int) -> str:
    """While so many callers have all waiting that may, operators decide on one after the other."""
    sockets = [house.mcp(house.somebody()) for _ in range(callers)]
    try:
        for one in sockets:
            calls = (_call("held", b'{"z":%d}' % number, number) for number in range(_EACH))
            one.say(*calls)
        time.sleep(0.3)
        with house.queue() as queue:
            waiting = queue.waiting()[: 2 * _EACH]
            for request in waiting:
                queue.deny(request.id, by="local")
                time.sleep(_A_DECISION_S)
        return f"{len(waiting)} denied, {_drained(sockets)} texts"
    finally:
        _closed(sockets)


def _approved(house: House, size: int) -> str:
    """A call with large arguments waits, is approved, and is made again."""
    call = _call("held", b'{"x":"%b"}' % (b"all work " * (size // 9)), 1)
    with house.mcp(house.somebody()) as socket:
        socket.say(call)
        first = _heard(socket, 1)
        with house.queue() as queue:
            found = queue.waiting()
            if not found:
                return said_of(json.dumps(first).encode())
            queue.approve(found[-1].id, by=Voter("local"))
        socket.say(call)
        return said_of(json.dumps(_heard(socket, 1)).encode())


def _drained(sockets: list[WebSocket]) -> int:
    """How many texts come until nothing is held any more: once one has been silent for so long, that is over for all."""
    first, *others = sockets
    return first.drained(2 * HOLD_S) + sum(one.drained(0.05) for one in others)


def _closed(sockets: list[WebSocket]) -> None:
    for one in sockets:
        one.close()
