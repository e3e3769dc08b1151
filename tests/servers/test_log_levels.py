"""How much of a server's log is wanted on one connection."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Answer, Failure, Refusal
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.servers.log_levels import LogLevels
from tests.servers.rig import FakeBack, make_call
from tests.servers.wishing import FakeWay, rest


def sets(levels: LogLevels, holder: str, level: str) -> asyncio.Task[object]:
    call = make_call("method", "logging/setLevel", {"level": level})
    return asyncio.ensure_future(levels.set(holder, {"level": level}, call, FakeBack()))


async def test_a_server_hears_the_most_verbose_level_that_anybody_wants() -> None:
    way = FakeWay(logging={})
    levels = LogLevels(way)
    first = sets(levels, "a", "warning")
    await rest()
    await way.answer(0)
    for holder, level in (("b", "error"), ("c", "no level")):
        sets(levels, holder, level)
        await rest()
    assert isinstance(first.result(), Answer)
    assert way.words == [("setLevel", "warning"), ("setLevel", "debug")]
    await way.answer(1, Refusal("access_denied", "no"))
    levels.forget("c")
    renewed = asyncio.ensure_future(levels.renew(way.link))
    await rest()
    assert way.words[2:] == [("setLevel", "warning")]
    await way.answer(2)
    await renewed


async def test_a_level_that_a_server_is_not_there_to_hear_is_told_it_later() -> None:
    way = FakeWay(logging={})
    levels = LogLevels(way)
    sets(levels, "a", "debug")
    await rest()
    await way.answer(0, Failure("restarting", "it is started", {"sent": False}))
    renewed = asyncio.ensure_future(levels.renew(way.link))
    await rest()
    assert way.words[1:] == [("setLevel", "debug")]
    await way.answer(1)
    await renewed


async def test_a_level_moves_to_another_connection_where_none_is_wanted_there() -> None:
    levels = [LogLevels(FakeWay("2026-07-28", logging={})) for _ in range(2)]
    for each, holder, level in ((0, "a", "debug"), (0, "b", "error"), (1, "b", "info")):
        sets(levels[each], holder, level)
    await rest()
    for holder in "ab":
        levels[1].take(holder, levels[0])
    assert levels[1]._wanted == {"a": "debug", "b": "info"}


@pytest.mark.parametrize("end", ["refused", "given up"])
async def test_a_level_that_the_server_refuses_is_in_nobodys_way(end: str) -> None:
    way = FakeWay(logging={})
    levels = LogLevels(way)
    sets(levels, "a", "warning")
    await rest()
    await way.answer(0)
    for number, holder in enumerate(("a", "b"), 1):
        refused = sets(levels, holder, "debug")
        await rest()
        if end == "refused":
            await way.answer(number, Refusal("access_denied", "no"))
        else:
            refused.cancel()
            await rest()
    sets(levels, "c", "notice")
    await rest()
    assert way.words == [("setLevel", level) for level in ("warning", "debug", "debug", "notice")]
    await way.answer(3)
    levels.forget("c")
    renewed = asyncio.ensure_future(levels.renew(way.link))
    await rest()
    assert way.words[4:] == [("setLevel", "warning")], "what it had before"
    await way.answer(4)
    await renewed


AWAY = Failure("restarting", "it is started", {"sent": False})
NO = Refusal("access_denied", "no")
SILENT = Failure("upstream_timeout", "late")


async def test_a_level_that_a_returning_server_refuses_is_in_nobodys_way() -> None:
    """Neither in that of those who set one later, nor of those who had one before."""
    way = FakeWay(logging={})
    levels = LogLevels(way)
    for number, (holder, level) in enumerate((("a", "debug"), ("b", "info"), ("c", "warning"))):
        sets(levels, holder, level)
        await rest()
        await way.answer(number, AWAY)
    renewed = asyncio.ensure_future(levels.renew(way.link))
    await rest()
    for number, outcome in enumerate((NO, None), 3):
        await way.answer(number, outcome)
    await renewed
    assert way.words[3:] == [("setLevel", "debug"), ("setLevel", "info")]
    d = sets(levels, "d", "error")
    await rest()
    assert isinstance(d.result(), Answer)
    assert len(way.words) == 5


@pytest.mark.parametrize("later", [NO, SILENT])
async def test_who_sets_a_level_is_answered_for_that_one_alone(later: Failure | Refusal) -> None:
    """What others want is told after it, and what becomes of that is nobody's answer."""
    way = FakeWay(logging={})
    levels = LogLevels(way)
    sets(levels, "a", "debug")
    await rest()
    await way.answer(0, AWAY)
    renewed = asyncio.ensure_future(levels.renew(way.link))
    await rest()
    await way.answer(1, SILENT)
    await renewed
    for number in (2, 4):
        asked = sets(levels, "b", "error")
        await rest()
        assert way.words[number:] == [("setLevel", "error")]
        await way.answer(number)
        assert isinstance(asked.result(), Answer)
        assert way.words[number + 1 :] == [("setLevel", "debug")]
        await way.answer(number + 1, later)
        if later is NO:
            break
    assert ("a" in levels.holders()) is (later is SILENT)
    await way.stop()


async def test_a_level_that_the_server_may_have_taken_is_set_anew_by_the_next() -> None:
    """Somebody gives up on a level: how much the server says now nobody knows."""
    way = FakeWay(logging={})
    levels = LogLevels(way)
    sets(levels, "a", "error")
    await rest()
    await way.answer(0)
    given_up = sets(levels, "b", "debug")
    await rest()
    given_up.cancel()
    await rest()
    sets(levels, "c", "error")
    await rest()
    assert way.words == [("setLevel", level) for level in ("error", "debug", "error")]
    await way.stop()


@pytest.mark.parametrize(
    "way", [FakeWay, lambda: FakeWay(LATEST_MODERN, logging={})], ids=["no log", "modern"]
)
async def test_a_new_connection_that_takes_no_level_is_told_none(way: type[FakeWay]) -> None:
    known, other = way(), LogLevels(FakeWay(logging={}))
    asked = sets(other, "a", "debug")
    await rest()
    levels = LogLevels(known)
    levels.follow(other)
    await levels.renew(known.link)
    assert known.words == []
    asked.cancel()
