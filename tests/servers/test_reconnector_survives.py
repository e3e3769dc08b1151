"""What must not end the trying: any number of failures, errors of our own, races of permissions."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Failure
from gatewright.mcp.client.link import Link
from gatewright.servers.spec import Restart
from gatewright.servers.states import State
from tests.servers.rig import DEADLINE, within
from tests.servers.test_reconnector import kept


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_server_that_was_away_for_any_number_of_attempts_comes_back(
    transport: str,
) -> None:
    """The pause stays at its limit, however often it would have been doubled."""
    async with kept(transport, restart=Restart(first_s=0.01, most_s=0.02, max=100)) as (
        keeper,
        plug,
    ):
        plug.works = lambda: False
        keeper._restarts.quick = 5000
        keeper.start()
        await plug.until("error" if transport == "stdio" else "disconnected", 3)
        plug.works = lambda: True
        await plug.until("connected")


async def test_an_unexpected_error_over_its_lists_is_no_end_of_trying() -> None:
    async with kept() as (keeper, plug):
        broken = iter([ValueError("bug")])

        async def connected(link: Link) -> None:
            for problem in broken:
                raise problem

        keeper._connected = connected
        keeper.start()
        await plug.until("connected", 2)
        assert ("disconnected", "internal error: bug") in plug.states
        assert not plug.made[0].open
        assert await within(keeper.ready(DEADLINE)) is plug.made[1]


async def test_who_cannot_be_told_of_a_state_and_what_cannot_be_paused_are_no_end_of_trying(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with kept() as (keeper, plug):
        pause, broken = keeper._pause, iter([ValueError("worse")])

        def changed(state: State, reason: str) -> None:
            plug.changed(state, reason)
            raise ValueError("bug")

        async def paused(now: float, exhausted: bool) -> None:
            for problem in broken:
                raise problem
            await pause(now, exhausted)

        keeper._changed = changed
        monkeypatch.setattr(keeper, "_pause", paused)
        plug.works = lambda: len(plug.states) > 4
        keeper.start()
        await plug.until("connected")
        assert ("disconnected", "internal error: worse") in plug.states
        assert "that server s is disconnected could not be told" in caplog.text


async def test_a_permission_that_comes_back_before_the_pause_begins_is_not_missed() -> None:
    """What waits for the link's end hears of it a turn later."""
    async with kept(restart=Restart(policy="never")) as (keeper, plug):
        keeper.start()
        await within(keeper.ready(DEADLINE))
        keeper.bar("camera was revoked")
        keeper.again()
        await plug.until("connected", 2)


async def test_a_call_whose_session_has_ended_is_not_told_to_start_a_server() -> None:
    async with kept() as (keeper, _):
        hanging: asyncio.Future[Link] = asyncio.get_running_loop().create_future()

        async def hang() -> Link:
            return await hanging

        keeper._connect = hang
        keeper.start()
        waiting = asyncio.ensure_future(keeper.ready(DEADLINE))
        await asyncio.sleep(0)
        await within(keeper.end())
        assert await within(waiting) == Failure(
            "session_unknown", "the session has ended: nothing was run"
        )


async def test_an_unexpected_error_while_connecting_is_no_end_of_trying() -> None:
    async with kept() as (keeper, plug):
        broken = iter([ValueError("bug")])

        async def connect() -> Link:
            for problem in broken:
                raise problem
            return await plug.connect()

        keeper._connect = connect
        keeper.start()
        assert await within(keeper.ready(DEADLINE)) is plug.made[0]
        assert ("error", "internal error: bug") in plug.states
