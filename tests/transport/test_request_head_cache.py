"""A head that was seen before: the request is the same as the parser would have made it, and only then."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any, cast

import pytest

from gatewright.transport.http_exchange import Connection, Exchange
from gatewright.transport.http_server import read_body
from gatewright.transport.request_head_cache import AHEAD_S, KnownHeads
from tests.transport.asgi import answer
from tests.transport.collecting import within
from tests.transport.raw_http import connected

NOBODY = cast("Connection", None)
PLAIN = b"POST /a?b HTTP/1.1\r\nHost: a\r\nX-A: B \r\nContent-Length: 2\r\n\r\n"
REQUESTS = (
    PLAIN + b"xy",
    PLAIN + b"yz",
    PLAIN.replace(b"/a?b", b"/c") + b"xy",
    PLAIN.replace(b"Length: 2", b"Length: 3") + b"xyz",
    PLAIN.replace(b"Length: 2", b"Length: 02") + b"xy",
    PLAIN.replace(b"Length: 2", b"Length: 12") + b"0123456789ab",
    PLAIN.replace(b"Length: 2", b"Length:2") + b"xy",
    PLAIN.replace(b"Content-Length: 2", b"X-Content-Length: 2\r\nContent-Length: 1") + b"x",
    PLAIN.replace(b"Length: 2\r\n", b"Length: 3\r\nX-After: c\r\n") + b"xyz",
    b"\r\n" + PLAIN + b"xy",
    b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n",
    b"POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n",
    PLAIN + b"xy" + PLAIN + b"zz",
    PLAIN.replace(b"X-A: B", b"Expect: 100-continue") + b"xy",
)


def _long(size: int, head: bytes = PLAIN, said: bytes = b"") -> bytes:
    """A request with so long a body, as nearly all that clients send: three digits say how long."""
    return head.replace(b"Length: 2", b"Length: " + (said or b"%d" % size)) + b"z" * size


OTHERS = (
    PLAIN.replace(b"X-A: B", b"X-A: C"),
    PLAIN.replace(b"Host", b"host"),
    PLAIN.replace(b"POST", b"post"),
    PLAIN.replace(b"/a?b", b"/a?c"),
    PLAIN.replace(b"Content-", b"content-"),
    PLAIN.replace(b"\r\n\r\n", b"\r\nContent-Length: 2\r\n\r\n"),
    PLAIN.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"),
)
LONG = (
    *(_long(size) for size in (99, 100, 101, 999, 1000)),
    *(_long(100, head) for head in OTHERS[:2]),
    _long(100, said=b"0100"),
    _long(99, said=b"099"),
    _long(100) + PLAIN + b"xy",
)
PAIRS = [*itertools.product(REQUESTS, repeat=2), *itertools.product(LONG[1:4], LONG)]


async def _tell(scope: Any, receive: Any, send: Any) -> None:
    """Say what the request was."""
    members = ("method", "path", "raw_path", "query_string", "headers", "http_version", "scheme")
    body = await read_body(receive, 1 << 16)
    await answer(send, 200, repr(([scope[name] for name in members], body)).encode())


def _made(scope: dict[str, Any], *, keep_alive: bool = True, expects: bool = False) -> Exchange:
    return Exchange(NOBODY, scope, keep_alive=keep_alive, expects=expects)


def _scope(length: bytes = b"2", version: str = "1.1") -> dict[str, Any]:
    headers = [(b"content-length", length)]
    return {"method": "POST", "headers": headers, "http_version": version}


@pytest.mark.parametrize("pair", PAIRS, ids=range(len(PAIRS)))
async def test_a_request_is_the_same_whatever_came_before_it(pair: tuple[bytes, bytes]) -> None:
    first, second = pair
    async with connected(_tell) as client:
        client.say(second)
        alone = [await client.hear() for _ in range(second.count(b" HTTP/1.1"))]
    async with connected(_tell) as client:
        for one in (first, first, second):
            client.say(one)
            found = [await client.hear() for _ in range(one.count(b" HTTP/1.1"))]
    assert found == alone


async def test_a_known_head_with_the_body_in_pieces_waits_for_all_of_it() -> None:
    async with connected(_tell) as client:
        client.say(REQUESTS[0])
        whole = await client.hear()
        await client.say_slowly([PLAIN, b"x", b"y"])
        assert await client.hear() == whole
        client.say(PLAIN + b"xy" + PLAIN[:20])
        assert await client.hear() == whole
        client.say(PLAIN[20:] + b"xy")
        assert await client.hear() == whole


PIECES = (
    [PLAIN, b"xy"],
    [PLAIN, b"x", b"y"],
    [PLAIN, b"xy" + PLAIN + b"zz"],
    [PLAIN, b"xy" + PLAIN, b"zz"],
    [PLAIN + b"x", b"y"],
    [PLAIN[:-1], PLAIN[-1:] + b"xy"],
    [PLAIN.replace(b"Length: 2", b"Length: 12"), b"0123456789ab"],
    [PLAIN.replace(b"Length: 2", b"Length: 0"), PLAIN, b"xy"],
    [PLAIN.replace(b"Length: 2", b"Length: 02"), b"xy"],
    [PLAIN.replace(b"X-A: B", b"X-A: C"), b"xy"],
    [PLAIN, b"xyGET /a HTTP/1.1\r\nhost: a\r\n\r\n"],
)


@pytest.mark.parametrize("pieces", PIECES, ids=range(len(PIECES)))
async def test_a_head_that_comes_before_its_body_makes_the_same_request(
    pieces: list[bytes],
) -> None:
    """On a connection that knows the head, as on one that does not, and whether its body comes soon or not."""
    requests = b"".join(pieces).count(b" HTTP/1.1")
    found: list[list[tuple[int, bytes]]] = []
    for known, pause_s in ((0, 0.0), (3, 0.0), (3, 2 * AHEAD_S)):
        async with connected(_tell) as client:
            for _ in range(known):
                client.say(PLAIN)
                await asyncio.sleep(0.005)
                client.say(b"ab")
                await client.hear()
            for piece in pieces:
                client.say(piece)
                await asyncio.sleep(pause_s or 0.005)
            found.append([await client.hear() for _ in range(requests)])
    assert found[1] == found[2] == found[0]


async def test_a_known_head_that_comes_alone_is_not_shown_to_the_parser() -> None:
    heads, scope = KnownHeads(), _scope()
    first = _made(scope)
    heads.learn(first, PLAIN)
    other = PLAIN.replace(b"Length: 2", b"Length: 3")
    assert heads.request(NOBODY, other) is None
    assert (heads.waits(other), heads.ahead) == (True, other)
    heads.ahead = b""
    for data in (PLAIN[:-1], PLAIN + b"x", other.replace(b"X-A", b"X-B"), b"\r\n\r\n"):
        assert (heads.waits(data), heads.ahead) == (False, b"")
    heads.learn(again := _made(_scope()), PLAIN + b"x")
    assert again.head is first.head  # and what was noted with it


async def test_a_server_that_stops_answers_a_head_that_came_alone() -> None:
    async with connected(_tell) as client:
        for _ in range(2):
            client.say(PLAIN + b"xy")
            await client.hear()
        (connection,) = client.server._state.connections
        client.say(PLAIN)
        async with asyncio.timeout(5):
            while not connection._heads.ahead:
                await asyncio.sleep(0)
        stopping = asyncio.create_task(client.server.stop(5.0))
        await asyncio.sleep(0)
        client.say(b"ab")
        assert (await client.hear())[0] == 200
        await within(stopping)


def test_what_was_learned_is_found_with_the_new_body_and_what_the_application_noted() -> None:
    heads, scope = KnownHeads(), _scope()
    first = _made(scope)
    heads.learn(first, PLAIN + b"xy")
    assert first.head is not None
    first.head.notes = "noted"
    found = heads.request(NOBODY, PLAIN + b"ab")
    assert found is not None
    assert (found.scope, found.take_whole(), found.keep_alive) == (scope, b"ab", True)
    assert found.head is first.head
    other = PLAIN.replace(b"X-A", b"X-B")
    assert heads.request(NOBODY, other + b"ab") is None
    heads.learn(another := _made(_scope()), other + b"ab")
    assert another.head is not None
    assert another.head.notes is None
    again = heads.request(NOBODY, PLAIN + b"cd")
    assert again is not None
    assert again.head is first.head


@pytest.mark.parametrize("size", [0, 1, 3, 10, 4000])
def test_a_head_that_says_another_length_is_known_too(size: int) -> None:
    heads, scope = KnownHeads(), _scope()
    first = _made(scope)
    heads.learn(first, PLAIN + b"xy")
    data = PLAIN.replace(b"Length: 2", b"Length: %d" % size) + b"z" * size
    found = heads.request(NOBODY, data)
    assert found is not None
    assert found.scope["headers"] == [(b"content-length", b"%d" % size)]
    assert (found.take_whole(), found.head) == (b"z" * size, first.head)
    assert scope["headers"] == [(b"content-length", b"2")]
    assert heads.request(NOBODY, data + b"z") is None
    again = heads.request(NOBODY, PLAIN + b"ab")
    assert again is not None
    assert again.scope is scope


@pytest.mark.parametrize(
    "length", [b"", b"+3", b"03", b"3 ", b"0x3", b"3.", b"\xd9\xa3", b"1234567890"]
)
def test_what_is_a_length_for_some_readers_only_is_not_known(length: bytes) -> None:
    heads = KnownHeads()
    heads.learn(_made(_scope()), PLAIN + b"xy")
    assert heads.request(NOBODY, PLAIN.replace(b"Length: 2", b"Length: " + length) + b"xyz") is None


@pytest.mark.parametrize("size", [99, 100, 101, 998, 999, 1000])
@pytest.mark.parametrize("last", [b"B", b"D"])
def test_a_request_of_usual_length_is_that_of_its_own_head_and_of_no_other(
    size: int, last: bytes
) -> None:
    """Whichever head came last is asked first, in one step. What it is not, the others may be; what none is, is the parser's: another
    sender, another length, more or less than is said."""
    heads, known = KnownHeads(), dict[bytes, Any]()
    for name in (b"B", b"D"):
        head = PLAIN.replace(b"X-A: B", b"X-A: " + name)
        heads.learn(made := _made(_scope()), head + b"xy")
        known[name] = head, made.head
    for name, (head, expected) in known.items():
        assert heads.request(NOBODY, known[last][0] + b"xy") is not None
        found = heads.request(NOBODY, _long(size, head))
        assert found is not None
        assert (found.head, found.take_whole()) == (expected, b"z" * size), name
        assert found.scope["headers"] == [(b"content-length", b"%d" % size)]
        # It is the last one now.
        again = heads.request(NOBODY, _long(size, head))
        assert again is not None
        assert (again.head, heads._last) == (expected, expected)
        for data in (
            *(_long(size, other) for other in OTHERS),
            *(_long(size, head, said) for said in (b"0%d" % size, b"+%d" % size, b"%d " % size)),
            *(_long(size, head, b"%d" % (size + more)) for more in (-1, 1)),
            _long(size, head) + b"z",
            _long(size, head)[:-1],
            _long(size, head) + head + b"xy",
            b"z" * len(_long(size, head)),
        ):
            assert heads.request(NOBODY, data) is None


async def test_an_application_that_is_given_no_exchange_has_a_scope_of_its_own() -> None:
    async def spoil(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, 200, scope["path"].encode())
        scope["path"] = "/spoiled"

    async with connected(spoil) as client:
        for _ in range(3):
            client.say(REQUESTS[0])
            assert await client.hear() == (200, b"/a")


@pytest.mark.parametrize("data", [PLAIN + b"x", PLAIN + b"xyz", PLAIN.lower() + b"xy", b""])
def test_another_length_or_another_letter_is_not_known(data: bytes) -> None:
    heads = KnownHeads()
    heads.learn(_made(_scope()), PLAIN + b"xy")
    assert heads.request(NOBODY, data) is None


@pytest.mark.parametrize(
    ("exchange", "data"),
    [
        (_made(_scope(), keep_alive=False), PLAIN + b"xy"),
        (_made(_scope(), expects=True), PLAIN + b"xy"),
        (_made(_scope(version="1.0")), PLAIN + b"xy"),
        (_made(_scope(b"1")), PLAIN + b"xy"),
        (_made(_scope(b"")), PLAIN + b"xy"),
        (_made(_scope()), b"\r\n" + PLAIN + b"xy"),
        (_made(_scope()), PLAIN.replace(b"POST", b"GET") + b"xy"),
        (_made(_scope()), PLAIN.replace(b"B", b"B" * 3000) + b"xy"),
    ],
    ids=["closes", "expects", "old", "longer", "unframed", "blank-first", "get", "long"],
)
def test_a_request_that_is_not_plain_is_not_remembered(exchange: Exchange, data: bytes) -> None:
    heads = KnownHeads()
    heads.learn(exchange, data)
    assert heads.request(NOBODY, data) is None


def test_only_the_last_few_heads_are_remembered() -> None:
    heads = KnownHeads()
    texts = [PLAIN.replace(b"/a", b"/%d" % each) + b"xy" for each in range(6)]
    for text in texts:
        heads.learn(_made(_scope()), text)
    known = [heads.request(NOBODY, text) is not None for text in texts]
    assert known == [False, False, True, True, True, True]
