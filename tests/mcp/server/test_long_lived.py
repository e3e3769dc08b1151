"""When connections end whose credential is good no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from gatewright.app.state_watcher import POLLED_S
from gatewright.call import Caller, Refusal
from gatewright.mcp.server.long_lived import LOOKED_S, Dismissing, lasting
from gatewright.mcp.server.server_context import Presented, ServerContext
from tests.dialects.client import within
from tests.dialects.house import ANN, BOB

FAILED, EXPIRED = Refusal("auth_failed", "gone"), Refusal("auth_expired", "over")


class Gatehouse:
    """A front that knows by `why` what is wrong with credentials, and counts how often it is asked."""

    def __init__(self) -> None:
        self.why: dict[str | None, Refusal] = {}
        self.asked: list[tuple[str, str | None]] = []
        unused: Any = None
        self.front = ServerContext(unused, unused, self.identify, unused, {}, unused)
        self.front.lasting = set()
        self.dismissing = Dismissing(self.front)

    def identify(self, door: str, credential: str | None) -> Caller | Refusal:
        self.asked.append((door, credential))
        return self.why.get(credential, ANN)


class Connection:
    """One that lasts."""

    def __init__(self, credential: str | None = "key", *, busy: bool = False) -> None:
        self.presented: Presented | None = Presented("http", ANN, credential)
        self.busy = busy
        self.ends: list[Refusal] = []

    def dismiss(self, why: Refusal) -> None:
        self.ends.append(why)


@pytest.fixture
def house() -> Gatehouse:
    return Gatehouse()


async def test_what_is_idle_ends_at_once_and_what_is_busy_at_the_second_look(
    house: Gatehouse,
) -> None:
    idle, busy, others = Connection(), Connection(busy=True), Connection("other")
    house.front.lasting |= {idle, busy, others}
    await house.dismissing.look()
    house.why["key"] = FAILED
    await house.dismissing.look()
    assert (idle.ends, busy.ends, house.front.lasting) == ([FAILED], [], {busy, others})
    await house.dismissing.look()
    await house.dismissing.look()
    assert (idle.ends, busy.ends, others.ends) == ([FAILED], [FAILED], [])


async def test_what_was_busy_once_is_not_held_against_it_later(house: Gatehouse) -> None:
    one = Connection(busy=True)
    house.front.lasting.add(one)
    for why in ({"key": FAILED}, {}, {"key": FAILED}):
        house.why = cast("Any", why)
        await house.dismissing.look()
    assert one.ends == []


async def test_an_expired_credential_leaves_time_for_what_runs(house: Gatehouse) -> None:
    one = Connection(busy=True)
    house.front.lasting.add(one)
    house.why["key"] = EXPIRED
    for _ in range(5):
        await house.dismissing.look()
    assert one.ends == []
    one.busy = False
    await house.dismissing.look()
    assert one.ends == [EXPIRED]


async def test_who_is_nobody_yet_is_left_to_its_door(house: Gatehouse) -> None:
    one = Connection()
    one.presented = None
    house.front.lasting.add(one)
    house.why[None] = FAILED
    await house.dismissing.look()
    assert (one.ends, house.asked) == ([], [])


async def test_each_credential_is_asked_about_once_and_others_get_their_turn(
    house: Gatehouse,
) -> None:
    house.front.lasting |= {Connection(f"key {number % 3}") for number in range(1000)}
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await house.dismissing.look()
    counting.cancel()
    assert sorted(house.asked) == [("http", f"key {number}") for number in range(3)]
    assert turns >= 4


async def test_one_that_is_gone_meanwhile_is_not_ended(house: Gatehouse) -> None:
    ones = [Connection() for _ in range(1000)]
    house.front.lasting |= set(ones)
    house.why["key"] = FAILED
    looking = asyncio.create_task(house.dismissing.look())
    await asyncio.sleep(0)
    ended = [one for one in ones if one.ends]
    house.front.lasting.clear()
    await looking
    assert [one for one in ones if one.ends] == ended
    assert len(ended) < len(ones)


async def test_a_token_is_asked_about_as_a_token(house: Gatehouse) -> None:
    one = Connection("token")
    one.presented = Presented("http", Caller("corp:ann", token=True), "token")
    house.front.lasting.add(one)
    house.front.bearer = lambda credential: FAILED if credential == "token" else BOB
    await house.dismissing.look()
    assert one.ends == [FAILED]


async def test_a_connection_lasts_as_long_as_its_block(house: Gatehouse) -> None:
    ends: list[Refusal] = []
    busy = True
    end: Callable[[Refusal], None] = ends.append
    house.why["key"] = EXPIRED
    with lasting(house.front, lambda: Presented("sse", ANN, "key"), end, lambda: busy):
        await house.dismissing.look()
        assert not ends
        busy = False
        await house.dismissing.look()
        assert ends == [EXPIRED]
    with lasting(house.front, lambda: None, end):
        assert len(house.front.lasting) == 1
    assert not house.front.lasting


async def test_what_fails_once_is_looked_at_again(
    house: Gatehouse, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Connection):
        def dismiss(self, why: Refusal) -> None:
            raise OSError("broken")

    class Heard(Connection):
        def dismiss(self, why: Refusal) -> None:
            ended.set()

    ended = asyncio.Event()
    house.front.lasting |= {Broken(), Broken(), Heard()}
    house.why["key"] = FAILED
    following = asyncio.create_task(house.dismissing.follow())
    await within(ended.wait())
    following.cancel()


def test_a_second_is_enough_for_two_looks_and_the_change_before_them() -> None:
    """MGP-5.4-6: with what another process changed being noticed within `POLLED_S`."""
    assert POLLED_S + 2 * LOOKED_S < 1


async def test_one_that_breaks_keeps_no_other_connection_open(
    house: Gatehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Breaks(Connection):
        def dismiss(self, why: Refusal) -> None:
            super().dismiss(why)
            raise OSError("gone")

    known = house.front.still

    def still(door: str, caller: Caller, credential: str | None) -> Caller | Refusal:
        if credential == "odd":
            raise OSError("no store")
        return known(door, caller, credential)

    monkeypatch.setattr(ServerContext, "still", lambda _, *presented: still(*presented))
    ends = [Breaks(), Connection(), Connection("odd"), Breaks(), Connection()]
    stays = Connection("other")
    house.front.lasting |= {*ends, stays}
    house.why["key"] = FAILED
    await house.dismissing.look()
    assert [[why.reason for why in one.ends] for one in (*ends, stays)] == [
        ["auth_failed"],
        ["auth_failed"],
        ["internal"],
        ["auth_failed"],
        ["auth_failed"],
        [],
    ]
