"""The quick look at the usual frame says what the exact one says, whatever the frame."""

from __future__ import annotations

import random

import msgspec
import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import Limits

USUAL = (
    ('"jsonrpc"', '"2.0"'),
    ('"id"', "7"),
    ('"method"', '"tools/call"'),
    ('"params"', '{"name":"x","arguments":{}}'),
)
NAMES = (
    *(name for name, _ in USUAL),
    *('"result"', '"error"', '"trace_id"', '"x"', '""', '"Id"', '"METHOD"'),
    *('"\\u0069d"', '"para\\u006ds"', '"\\"id"', '"i\u00add"'),
)
VALUES = (
    *('"2.0"', '"2.\\u0030"', "1", "01", "-1", "1.0", "1e3", "true", "null", '""', "{}", "[]"),
    *(
        '"a"',
        '"a\\"b"',
        '"a\\\\"',
        '"\\ud800"',
        "9" * 3,
        "9" * 128,
        "9" * 129,
        '"' + "x" * 130 + '"',
    ),
    *('{"a":"b","id":2}', '{"id":1,"id":2}', '{"a":"\\""}', '{"a":"{[{["}', '{"a":"\u00ff"}'),
    *(
        "[[[1]]]",
        '{"a":{"b":{}}}',
        '{"a":' + "[" * 63 + "]" * 63 + "}",
        '{"a":' + "[" * 64 + "]" * 64 + "}",
    ),
    *('{"a":' + "1" * 994 + "}", '{"a":' + "1" * 1001 + "}", '{"a":"' + "x" * 1000 + '"}'),
    "{" + ",".join(f'"k{at}":{at}' for at in range(60)) + "}",
)
SPACE = ("", "", "", " ", "\n\t")
LIMITS = (
    *(Limits(), Limits(depth=0), Limits(depth=2), Limits(keys=2), Limits(values=4)),
    *(Limits(id_chars=3), Limits(depth=1, keys=50, values=50, id_chars=1)),
)


def _frame(at: random.Random) -> bytes:
    """A request as most are, with some of its members changed, doubled, left out or in another order, and perhaps a byte wrong."""
    members = list(USUAL)
    for place, (name, _) in enumerate(USUAL):
        if at.random() < 0.3:
            members[place] = name, at.choice(VALUES)
    while at.random() < 0.3:
        members.insert(at.randrange(len(members) + 1), (at.choice(NAMES), at.choice(VALUES)))
    if at.random() < 0.15:
        del members[at.randrange(len(members))]
    if at.random() < 0.3:
        at.shuffle(members)
    said = ",".join(
        f"{at.choice(SPACE)}{name}:{at.choice(SPACE)}{value}" for name, value in members
    )
    frame = f"{{{said}}}".encode("latin-1" if at.random() < 0.1 else "utf-8")
    if at.random() < 0.15:
        cut = at.randrange(len(frame) + 1)
        frame = frame[:cut] + at.choice((b'"', b"\\", b"{", b"]", b"\xff", b"")) + frame[cut + 1 :]
    return frame


def _exactly(frame: bytes, limits: Limits) -> jsonrpc.Message:
    """What `parse` says without its quick look."""
    try:
        envelope = jsonrpc._bare.decode(frame)
    except msgspec.ValidationError:
        return jsonrpc.parse(frame, limits)  # which has none then
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        return jsonrpc.Malformed(jsonrpc.PARSE_ERROR, f"Parse error: {problem}")
    return jsonrpc._parsed(frame, envelope, limits)


@pytest.mark.parametrize("seed", range(4))
def test_the_quick_look_says_what_the_exact_one_says(seed: int) -> None:
    at, requests, refused = random.Random(seed), 0, 0
    for _ in range(1000):
        frame, limits = _frame(at), at.choice(LIMITS)
        said = jsonrpc.parse(frame, limits)
        assert said == _exactly(frame, limits), (frame, limits)
        requests += type(said) is jsonrpc.Request
        refused += type(said) is jsonrpc.Malformed
    assert min(requests, refused) > 100
