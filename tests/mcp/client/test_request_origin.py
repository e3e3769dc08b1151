"""When it is known who may have asked, and when no wait will tell."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.call import Failure
from gatewright.mcp.client.request_origin import CROWD, TOLD, Absent, RequestOrigin, failed
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Response


def call(ident: int, party: str) -> Any:
    return SimpleNamespace(ident=ident, party=party)


def held(live: str, ghosts: dict[int | str, str]) -> RequestOrigin:
    absent = Absent()
    for key, party in ghosts.items():
        absent.add(key, party)
    calls = [call(100 + number, party) for number, party in enumerate(live)]
    return RequestOrigin(asyncio.get_running_loop(), calls, absent)


@pytest.mark.parametrize(
    ("live", "ghosts", "settled", "hopeless"),
    [
        ("", {}, True, False),
        ("a", {}, True, False),
        ("aa", {1: "a"}, True, False),
        ("ab", {}, False, False),
        ("a", {1: "b"}, False, False),
        ("a", {CROWD: ""}, False, True),
        ("a", {f"{TOLD}a": "a"}, True, False),
        ("ab", {f"{TOLD}a": "a"}, False, False),
        ("a", {f"{TOLD}b": "b"}, False, True),
        ("ab", {f"{TOLD}a": "a", f"{TOLD}b": "b"}, False, True),
    ],
)
async def test_one_party_is_left_or_no_wait_will_leave_one(
    live: str, ghosts: dict[int | str, str], settled: bool, hopeless: bool
) -> None:
    found = held(live, ghosts)
    assert (found.settled, found.hopeless) == (settled, hopeless)


async def test_a_question_that_waits_is_decided_when_one_party_is_left() -> None:
    found = held("aab", {1: "a", 2: "c"})
    found.wait()
    a, _, b = found.live.values()
    found.abandoned(b)
    found.answered(b)
    found.laid(2)
    found.answered(a)
    found.answered(a)
    found.stays("task t", "b", of=b.ident)
    found.laid(b.ident)
    assert not found.decided.done()
    found.laid("task t")
    assert found.decided.done()
    assert (found.end_wait(), found.waits, len(found.live)) == (True, False, 1)


async def test_what_is_given_up_later_is_nothing_to_a_question_of_other_calls() -> None:
    found = held("ab", {})
    found.wait()
    found.abandoned(call(7, "c"))
    found.stays("task t", "c", of=7)
    found.answered(next(iter(found.live.values())))
    assert found.decided.done()
    assert found.end_wait()


async def test_a_question_that_a_failed_call_may_have_asked_is_nobody_elses() -> None:
    """Its server may have waited no longer, and said so by the failure alone."""
    found = held("aab", {})
    found.wait()
    a, _, b = found.live.values()
    found.answered(a, gave_up=True)
    assert (found.decided.done(), found.hopeless) == (False, False)  # the other call is of the same
    found.answered(call(b.ident, "c"), gave_up=True)
    found.answered(b)
    assert (found.decided.done(), found.end_wait(), len(found.live)) == (True, True, 1)
    found = held("b", {1: "a"})
    found.wait()
    found.laid(1, gave_up=True)
    found.laid(1, gave_up=True)
    assert (found.decided.done(), found.end_wait()) == (True, False)


@pytest.mark.parametrize(
    ("reply", "fails"),
    [
        (Response(b"1", error=b'{"code":1,"message":"x"}'), True),
        (Response(b"1", b'{"content":[],"isError":true}'), True),
        (Response(b"1", b'{"content":[],"is\\u0045rror":true}'), True),
        (Response(b"1", b'{"isError":1}'), True),
        (Response(b"1", b'{"isError'), True),
        (Response(b"1", b'{"a":"%b","isError":false}' % (b"x" * DECODED_BYTES)), True),
        (Response(b"1", b'{"content":[],"isError":false}'), False),
        (Response(b"1", b'{"content":[{"isError":true,"a":"\\u00e4"}]}'), False),
        (Response(b"1", b'{"content":[]}'), False),
        (Failure("upstream_unavailable"), True),
        (Failure("restarting", "", {"sent": False}), False),
        (None, False),
    ],
)
def test_a_call_has_failed_where_its_server_says_so_or_says_nothing_that_can_be_read(
    reply: Any, fails: bool
) -> None:
    assert failed(reply) is fails


@pytest.mark.parametrize("text", [b"isErro", b"\\\\", b"[],", b"i"])
def test_a_long_result_may_be_an_error_wherever_it_says_so(text: bytes) -> None:
    """`isError` may stand between a long content and a long `structuredContent`. What it takes to go through 16 MiB is more than others can
    wait: a fifth of a second of backslashes."""
    content = text * (2**24 // len(text))
    reply = Response(
        b"1", b'{"content":"%b","isError":true,"structuredContent":"%b"}' % (content, content)
    )
    began = time.process_time()
    assert failed(reply) is True
    assert time.process_time() - began < 0.005


async def test_the_last_call_that_ends_is_seen_once() -> None:
    found = held("a", {})
    (only,) = found.live.values()
    found.answered(call(100, "b"))  # another connection's of the same number
    assert not found.over.done()
    found.answered(only)
    found.answered(only)
    assert found.over.done()


def test_parties_are_counted_by_their_keys() -> None:
    absent = Absent()
    for key, party in ((1, "a"), (2, "a"), (f"{TOLD}b", "b"), (2, "c")):
        absent.add(key, party)
    before = absent.copy()
    assert (set(absent.parties), set(absent.permanent), len(absent)) == ({"a", "b", "c"}, {"b"}, 3)
    assert [absent.remove(key) for key in (1, 1, f"{TOLD}b")] == [True, False, True]
    assert (set(absent.parties), set(absent.permanent), 2 in absent) == ({"c"}, set(), True)
    absent.clear()
    assert (len(absent), set(absent.parties), len(before), set(before.permanent)) == (0, set(), 3, {"b"})  # fmt: skip
