"""Large messages of servers: what they mean is what the exact reader says of them, and none is gone through twice in a turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations

import pytest

from gatewright.call import Answer, Failure
from gatewright.mcp.client.answers import read_large
from gatewright.mcp.client.http_rules import messages
from gatewright.mcp.client.large_messages import (
    Large,
    is_batch,
    large_response,
    message_in,
    whole_result,
)
from gatewright.mcp.protocol.read_members import known, members_of
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.transport.large_text import LARGE
from tests.costs import cost as cost_of
from tests.costs import least
from tests.held import longest_turn_s

PLAIN = b'{"content":[],"x":[%b1]}' % (b"[]," * (LARGE // 3))
ODD = b'{"a":"}","id":7,"jsonrpc":"2.0","x":"%b","y":{"id":5}}' % (b"\\" * LARGE)
RESULTS = (PLAIN, ODD)
AROUND = (b'"jsonrpc":"2.0"', b'"id":12', b'"result":%b')
ROWS = {
    "lists": b"[]",
    "numbers": b"1",
    "rows": b'{"a":1}',
    "spaced": b'{"abc"  :1}',
    "texts": b'"a"',
    "deep": b"[[[[[[]]]]]]",
    "long": b'"%b"' % (b"token: a " * 30),
}


def filled(unit: bytes, size: int) -> bytes:
    return b"[" + b",".join([unit] * (size // (len(unit) + 1))) + b"]"


@pytest.mark.parametrize("space", [b"", b" ", b"\n\t "])
@pytest.mark.parametrize("result", RESULTS, ids=("plain", "odd"))
def test_the_result_is_found_wherever_it_stands_among_the_usual_members(
    result: bytes, space: bytes
) -> None:
    for order in permutations(AROUND):
        said = (space + b"," + space).join(one.replace(b":", space + b":" + space, 1) for one in order)  # fmt: skip
        frame = space + b"{" + space + said.replace(b"%b", result) + space + b"}" + space
        found = large_response(frame)
        assert type(found) is Large
        assert (found.id, found.result.strip()) == (12, result)
        exact = jsonrpc.plain_response(frame)
        assert exact is not None
        assert (exact.id, bytes(exact.result)) == (12, result)


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","result":%b}',
        b'{"id":1,"result":%b}',
        b'{"jsonrpc":"2.0","id":"12","result":%b}',
        b'{"jsonrpc":"2.0","id":012,"result":%b}',
        b'{"jsonrpc":"2.0","id":1,"id":1,"result":%b}',
        b'{"jsonrpc":"2.0","id":1,"result":%b,"id":2}',
        b'{"jsonrpc":"2.0","id":1,"error":%b}',
        b'{"x":1,"jsonrpc":"2.0","id":1,"result":%b}',
        b'{"jsonrpc":"2.0","id":1,"method":"a","result":%b}',
        b'{"jsonrpc":"2.1","id":1,"result":%b}',
    ],
)
def test_what_is_otherwise_is_read_exactly(frame: bytes) -> None:
    assert large_response(frame % PLAIN) is None
    exact = jsonrpc.parse(frame % PLAIN)
    assert message_in(frame % PLAIN) == exact
    whole = frame % (b'{"x":[%b1]}' % (b"[]," * (DECODED_BYTES // 3 + 4096)))
    found, exact = message_in(whole), jsonrpc.parse(whole)
    if isinstance(exact, jsonrpc.Request | jsonrpc.Notification):
        assert (type(found), found.method) == (type(exact), exact.method)  # type: ignore[union-attr]
    else:
        assert found == exact


@pytest.mark.parametrize("more", [b',"x":1', b',"x":{}', b',"meta":{"id":5}', b',"id":12,"x":1'])
async def test_members_that_nobody_knows_cost_a_large_answer_nothing_but_time(more: bytes) -> None:
    frame = b'{"jsonrpc":"2.0","id":12,"result":%b%b}' % (PLAIN, more)
    exact = jsonrpc.parse(frame)
    assert type(exact) is jsonrpc.Response
    (reply,) = messages(frame)
    assert type(reply) is jsonrpc.Response
    outcome = await read_large(reply, "tool", False)
    assert isinstance(outcome, Answer)
    assert outcome.raw == exact.result == PLAIN


@pytest.mark.parametrize(
    "broken",
    [PLAIN[:-1], PLAIN + b"}", PLAIN + b',"error":{}', PLAIN + b',"result"', PLAIN + b',"Result":1', b'{"a":"%b}' % (b"x" * LARGE)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["tool", "method"])
async def test_a_large_answer_that_is_no_json_is_nobodys_result(broken: bytes, kind: str) -> None:
    frame = b'{"jsonrpc":"2.0","id":12,"result":%b}' % broken
    assert not isinstance(jsonrpc.parse(frame), jsonrpc.Response)
    (reply,) = messages(frame)
    assert type(reply) is jsonrpc.Response
    outcome = await read_large(reply, kind, False)
    assert isinstance(outcome, Failure)
    assert outcome.message == "the server's answer cannot be read"
    assert whole_result(broken, b"12") is None


@pytest.mark.parametrize("more", [b',"\\u0069d":13', b',"x":1,"id":0', b',"i\\u0064":"12"'])
async def test_a_large_answer_that_says_twice_what_it_answers_is_nobodys_result(
    more: bytes,
) -> None:
    """Whoever reads all of it takes the later one, however that is spelled."""
    frame = b'{"jsonrpc":"2.0","id":12,"result":%b%b,"y":1}' % (PLAIN, more)
    exact = jsonrpc.parse(frame)
    assert type(exact) is not jsonrpc.Response or exact.id != b"12"
    (reply,) = messages(frame)
    assert type(reply) is jsonrpc.Response
    assert isinstance(await read_large(reply, "tool", False), Failure)


@pytest.mark.parametrize("ident", [b"1" * 2000, b"-" + b"1" * 2000, b'"%b"' % (b"a" * 2000)])
@pytest.mark.parametrize("rest", [b'"result":{"x":%b}', b'"method":"ping","params":{"x":%b}'])
def test_an_id_that_is_too_long_to_be_read_is_nobody_elses(ident: bytes, rest: bytes) -> None:
    frame = b'{"jsonrpc":"2.0","id":%b,%b}' % (ident, rest % filled(b"1", 2 * DECODED_BYTES))
    assert isinstance(message_in(frame), jsonrpc.Malformed)


async def test_a_large_answer_that_is_no_object_passes_for_none() -> None:
    """Who puts other names into it, or holds it to a schema, would find nothing to do, and pass it on."""
    outcome = await read_large(jsonrpc.Response(b"1", filled(b"1", 2 * LARGE)), "method", False)
    assert isinstance(outcome, Answer)
    with pytest.raises(ValueError, match="object"):
        members_of(outcome)


async def test_the_answer_of_a_method_need_not_be_an_object_but_json() -> None:
    for text, fits in ((filled(b"1", 2 * LARGE), True), (filled(b"1", 2 * LARGE)[:-1], False)):
        outcome = await read_large(jsonrpc.Response(b"1", text), "method", False)
        assert isinstance(outcome, Answer if fits else Failure)


async def test_the_members_of_a_large_answer_are_kept_beside_it() -> None:
    outcome = await read_large(jsonrpc.Response(b"1", PLAIN), "tool", False)
    assert isinstance(outcome, Answer)
    assert {name: bytes(one) for name, one in (known(outcome) or {}).items()} == {
        name: json.dumps(one, separators=(",", ":")).encode()
        for name, one in json.loads(PLAIN).items()
    }


def test_of_a_long_message_that_is_no_response_only_what_it_is_is_read() -> None:
    long = filled(b"1", 2 * DECODED_BYTES)
    note = message_in(b'{"jsonrpc":"2.0","method":"a","params":{"x":%b}}' % long)
    assert isinstance(note, jsonrpc.Notification)
    assert (note.method, len(note.params) > DECODED_BYTES) == ("a", True)
    asked = message_in(b'{"jsonrpc":"2.0","id":"x","method":"a","params":{"x":%b}}' % long)
    assert isinstance(asked, jsonrpc.Request)
    assert (asked.id, asked.method, len(asked.params) > DECODED_BYTES) == (b'"x"', "a", True)
    failed = message_in(b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"data":%b}}' % long)
    assert isinstance(failed, jsonrpc.Response)
    assert failed.error == b'{"code":1,"data":%b}' % long
    assert isinstance(message_in(b'{"jsonrpc":"2.0","id":%b,"method":"a"}' % long), jsonrpc.Malformed)  # fmt: skip
    batch = b'[{"jsonrpc":"2.0","id":1,"result":%b}]'
    assert is_batch(b" " + batch % b"1")
    assert not is_batch(batch % long)
    said = message_in(batch % long)
    assert isinstance(said, jsonrpc.Malformed)
    assert said.message == "a batch of more than 1048576 bytes"


def frames(size: int) -> Iterator[tuple[str, bytes]]:
    """Each kind of message in which a server has room for that many bytes."""
    for name, unit in ROWS.items():
        text = filled(unit, size)
        for kind, frame in {
            "result": b'{"jsonrpc":"2.0","id":1,"result":{"x":%b}}',
            "result before": b'{"result":{"x":%b},"jsonrpc":"2.0","id":1}',
            "result and more": b'{"jsonrpc":"2.0","id":1,"result":{"x":%b},"more":1}',
            "more and result": b'{"more":1,"jsonrpc":"2.0","id":1,"result":{"x":%b}}',
            "another id": b'{"jsonrpc":"2.0","id":"a","result":{"x":%b}}',
            "error": b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"a","data":%b}}',
            "notification": b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":%b}}',
            "question": b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"x":%b}}',
            "more": b'{"jsonrpc":"2.0","method":"a","more":%b}',
            "batch": b'[{"jsonrpc":"2.0","id":1,"result":{"x":%b}}]',
        }.items():
            yield f"{kind} of {name}", frame % text


SIZE = 4_000_000


@pytest.mark.parametrize(("name", "frame"), [*frames(SIZE)], ids=[name for name, _ in frames(1000)])
def test_no_message_is_gone_through_more_often_than_once_when_it_comes(
    name: str, frame: bytes
) -> None:
    """As much as one pass costs, and a copy of what it says: whatever the message is."""

    def tried() -> float:
        return cost_of(lambda: messages(frame)) / (cost_of(lambda: jsonrpc.check(frame)) + SIZE * 5e-10)  # fmt: skip

    assert least(tried, 1.6) <= 1.6


@pytest.mark.parametrize("more", [b"", b',"more":1'], ids=("usual", "and more"))
@pytest.mark.parametrize("unit", ROWS.values(), ids=ROWS)
async def test_no_turn_takes_longer_than_one_pass_through_a_large_answer(
    unit: bytes, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = b'{"x":%b}%b' % (filled(unit, SIZE), more)
    reply = jsonrpc.Response(b"1", raw)
    pass_ = cost_of(lambda: jsonrpc.plain_response(b'{"jsonrpc":"2.0","id":1,"result":%b}' % raw))
    longest = pass_ * 9
    for _ in range(4):
        longest = min(longest, await longest_turn_s(lambda: read_large(reply, "tool", False), monkeypatch))  # fmt: skip
    assert longest <= 1.6 * max(pass_, cost_of(lambda: jsonrpc.check(raw.removesuffix(more)))) + SIZE * 5e-10  # fmt: skip
