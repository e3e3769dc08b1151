"""A connection that is kept: made again at once, then ever more rarely, then not at all."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.call import Failure
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire.codes import reason_of
from gatewright.servers import reconnector as keeper_module
from gatewright.servers.permission_admission import NotPermitted
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.spec import Restart, ServerSpec
from gatewright.servers.states import State
from gatewright.transport.memory import pair
from tests.servers.rig import DEADLINE, INFO, within
from tests.servers.scripted import Ear, Scripted

FAST = Restart(first_s=0.01, most_s=0.02)


class Plug:
    """Makes connections that work as long as `works` says so."""

    def __init__(self, spec: ServerSpec) -> None:
        self.spec = spec
        self.made: list[PipeLink] = []
        self.works: Callable[[], bool] = lambda: True
        self.states: list[tuple[State, str]] = []
        self._changed: asyncio.Future[None] | None = None

    async def connect(self) -> Link:
        """Make one (`Connect`)."""
        if not self.works():
            raise ServerFailed("not today")
        link, server = PipeLink(self.spec, INFO, Ear()), Scripted()
        link._pipe, server.pipe = pair(link, server)
        link.hello = Hello("2025-11-25")
        self.made.append(link)
        return link

    async def connected(self, link: Link) -> None:
        """Nothing to do."""

    def changed(self, state: State, reason: str) -> None:
        """Record a state."""
        self.states.append((state, reason))
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def until(self, state: State, count: int = 1) -> None:
        """Wait until a state was reached so often."""
        async with asyncio.timeout(DEADLINE):
            while [one for one, _ in self.states].count(state) < count:
                self._changed = asyncio.get_running_loop().create_future()
                await self._changed


@asynccontextmanager
async def kept(transport: Any = "stdio", **more: Any) -> AsyncIterator[tuple[Reconnector, Plug]]:
    spec = ServerSpec(id="s", transport=transport, restart=more.pop("restart", FAST), **more)
    plug = Plug(spec)
    keeper = Reconnector(
        spec,
        plug.connect,
        connected=plug.connected,
        changed=plug.changed,
        leave=lambda link: link.close("left"),
    )
    try:
        yield keeper, plug
    finally:
        await within(keeper.close())


async def test_a_call_waits_for_the_first_connection() -> None:
    async with kept() as (keeper, plug):
        keeper.start()
        assert await within(keeper.ready(DEADLINE)) is plug.made[0]
        await within(keeper.settled())
        assert plug.states == [("connecting", ""), ("connected", "")]


async def test_who_waits_for_a_first_attempt_that_is_given_up_waits_no_more() -> None:
    """It was never made, so it neither succeeded nor failed."""
    async with kept() as (keeper, plug):
        hello: asyncio.Future[Link] = asyncio.get_running_loop().create_future()
        keeper._connect = lambda: hello
        keeper.start()
        waiting = asyncio.ensure_future(keeper.settled())
        await plug.until("connecting")
        await keeper.close("an operator stopped it")
        await within(waiting, 2.0)
        await within(keeper.settled(), 2.0)


async def test_a_lost_connection_is_back_before_the_next_call() -> None:
    async with kept(restart=Restart(first_s=60.0)) as (keeper, plug):
        keeper.start()
        first = await within(keeper.ready(DEADLINE))
        assert isinstance(first, PipeLink)
        first.close("killed")
        assert await within(keeper.ready(DEADLINE)) is plug.made[1]
        assert keeper.restarts == 1
        assert ("disconnected", "killed") in plug.states


async def test_a_server_that_waits_for_its_next_start_is_restarting() -> None:
    """MGP-14.3-9: 2002, and when to come again; 5002 only once the gateway has given up."""
    async with kept(restart=Restart(first_s=60.0, most_s=60.0)) as (keeper, plug):
        plug.works = lambda: False
        keeper.start()
        await plug.until("restarting", 2)
        refused = await within(keeper.ready(0.01))
        assert isinstance(refused, Failure)
        assert (refused.reason, refused.message) == (
            "restarting",
            "server s is restarting: not today",
        )
        assert 0 < (refused.retry_after_ms or 0) <= 60_000


async def test_after_too_many_restarts_calls_are_refused_with_the_reason() -> None:
    async with kept(restart=Restart(first_s=0.001, most_s=0.001, max=3)) as (keeper, plug):
        plug.works = lambda: False
        keeper.start()
        await plug.until(
            "error", 5
        )  # each attempt ends in it; the fifth time it stays, and says why
        refused = await within(keeper.ready(DEADLINE))
        assert isinstance(refused, Failure)
        assert refused.reason == "upstream_unavailable"
        assert "not today; 3 restarts in 300 s" in refused.message
        assert 200_000 < (refused.retry_after_ms or 0) <= 300_000
        assert keeper.restarts == 3


async def test_a_call_after_the_window_may_try_again() -> None:
    rule = Restart(first_s=0.001, most_s=0.001, max=2, window_s=0.05)
    async with kept(restart=rule) as (keeper, plug):
        plug.works = lambda: False
        keeper.start()
        await plug.until("error")
        plug.works = lambda: True
        while isinstance(found := await within(keeper.ready(DEADLINE)), Failure):
            await asyncio.wait([asyncio.ensure_future(_pass(0.01))])
        assert found is plug.made[0]


async def test_a_server_that_is_never_to_be_restarted_stays_down() -> None:
    async with kept(restart=Restart(policy="never")) as (keeper, plug):
        keeper.start()
        first = await within(keeper.ready(DEADLINE))
        assert isinstance(first, PipeLink)
        first.close("gone")
        await plug.until("error")
        refused = await within(keeper.ready(DEADLINE))
        assert isinstance(refused, Failure)
        assert refused.message.startswith("server s is down: gone; `")
        assert refused.retry_after_ms is None
        assert len(plug.made) == 1


async def test_mgp_11_5_2_a_server_that_leaves_gracefully_is_brought_back_by_the_next_call() -> (
    None
):
    async with kept() as (keeper, plug):
        keeper.start()
        first = await within(keeper.ready(DEADLINE))
        assert isinstance(first, PipeLink)
        first.close("exited with status 0")
        await plug.until("disconnected")
        assert len(plug.made) == 1
        assert await within(keeper.ready(DEADLINE)) is plug.made[1]


async def test_a_death_is_logged_with_the_place_of_its_last_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with kept() as (keeper, plug):
        keeper.start()
        for number, reason in enumerate(("exited with status 1", "stopped"), 1):
            link = await within(keeper.ready(DEADLINE))
            assert isinstance(link, PipeLink)
            link.close(reason)
            await plug.until("disconnected", number)
    died, left = [one.message for one in caplog.records if one.levelname == "WARNING"][:2]
    assert f"`gatewright server logs {keeper.spec.id}`" in died
    assert left.endswith(": stopped")


async def test_mgp_11_5_3_a_server_that_must_always_run_is_brought_back_at_once() -> None:
    always = Restart(policy="always", first_s=0.01)
    async with kept(restart=always) as (keeper, plug):
        keeper.start()
        first = await within(keeper.ready(DEADLINE))
        assert isinstance(first, PipeLink)
        first.close("exited with status 0")
        await plug.until("connected", 2)


async def test_the_pauses_between_failures_grow_to_their_limit() -> None:
    rule = Restart(first_s=0.02, most_s=0.05, max=100)
    async with kept(restart=rule) as (keeper, plug):
        times: list[float] = []

        def fail() -> bool:
            times.append(asyncio.get_running_loop().time())
            return len(times) > 5

        plug.works = fail
        keeper.start()
        await plug.until("connected")
        gaps = [after - before for before, after in itertools.pairwise(times)]
        assert gaps[0] < 0.02
        for gap, least in zip(gaps[1:], (0.02, 0.04, 0.05, 0.05), strict=False):
            assert gap >= least - 0.005


async def test_an_http_server_that_is_down_refuses_at_once_and_is_tried_by_the_next_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with kept("http", restart=Restart(first_s=600.0, most_s=600.0)) as (keeper, plug):
        plug.works = lambda: False
        keeper.start()
        await plug.until("disconnected", 2)
        refused = await within(keeper.ready(DEADLINE))
        assert isinstance(refused, Failure)
        assert refused.reason == "upstream_unavailable"
        assert (refused.retry_after_ms or 0) > 1000
        plug.works = lambda: True
        monkeypatch.setattr(keeper_module, "_AT_LEAST_S", 0.0)
        assert await within(keeper.ready(DEADLINE)) is plug.made[0]


async def test_a_call_that_an_operator_agreed_to_waits_for_the_next_attempt_at_an_http_server() -> (
    None
):
    async with kept("http", restart=Restart(first_s=0.05, most_s=600.0)) as (keeper, plug):
        plug.works = lambda: False
        keeper.start()
        await plug.until("disconnected", 2)
        plug.works = lambda: True
        assert isinstance(await within(keeper.ready(DEADLINE)), Failure)
        assert await within(keeper.ready(DEADLINE, agreed=True)) is plug.made[0]


async def test_a_server_that_never_says_hello_is_given_up_in_time() -> None:
    async with kept(connect_s=0.02) as (keeper, plug):
        hanging: asyncio.Future[Link] = asyncio.get_running_loop().create_future()

        async def hang() -> Link:
            return await hanging

        keeper._connect = hang
        keeper.start()
        await within(keeper.settled())
        assert ("error", "no hello within 0.02 s") in plug.states


async def test_a_call_does_not_wait_longer_than_it_may() -> None:
    async with kept() as (keeper, _):
        hanging: asyncio.Future[Link] = asyncio.get_running_loop().create_future()

        async def hang() -> Link:
            return await hanging

        keeper._connect = hang
        keeper.start()
        refused = await within(keeper.ready(0.02))
        assert isinstance(refused, Failure)
        assert (refused.reason, refused.retry_after_ms) == ("server_not_ready", 1000)


async def test_lists_that_cannot_be_fetched_because_the_server_died_count_as_a_failed_attempt() -> (
    None
):
    async with kept() as (keeper, plug):

        async def die(link: Link) -> None:
            link.close("died while listing")
            raise ServerFailed("died while listing")

        keeper._connected = die
        keeper.start()
        await plug.until("restarting", 2)
        assert ("disconnected", "died while listing") in plug.states


async def test_a_stopped_keeper_closes_its_connection_and_says_so() -> None:
    async with kept() as (keeper, _plug):
        keeper.start()
        link = await within(keeper.ready(DEADLINE))
        assert isinstance(link, PipeLink)
        await within(keeper.close("enough"))
        assert not link.open
        assert keeper.state == "disconnected"
        refused = await within(keeper.ready(DEADLINE))
        assert isinstance(refused, Failure)
        assert refused.message.startswith("server s is stopped: enough; `")


async def _pass(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_later(seconds, over.set_result, None)
    await over


async def test_a_call_while_a_server_restarts_says_so() -> None:
    """MGP-14.3-9: `restarting` is 2002 SERVER_RESTARTING in the table of reasons."""
    async with kept() as (keeper, plug):
        keeper.start()
        await within(keeper.ready(DEADLINE))
        hanging: asyncio.Future[Link] = asyncio.get_running_loop().create_future()

        async def hang() -> Link:
            return await hanging

        keeper._connect = hang
        plug.made[0].close("killed")
        await plug.until("restarting")
        refused = await within(keeper.ready(0.02))
        assert isinstance(refused, Failure)
        assert refused.reason == "restarting"
        assert reason_of(refused.reason).mgp_code == 2002


async def test_a_server_that_waits_for_a_person_keeps_nobody_waiting_and_has_all_the_time() -> None:
    """MGP-3.4-1"""
    async with kept(connect_s=0.05) as (keeper, plug):
        approved = asyncio.Event()

        async def connect() -> Link:
            with keeper.hold("waits for an operator"):
                await approved.wait()
            return await plug.connect()

        keeper._connect = connect
        keeper.start()
        await within(keeper.settled())
        assert (keeper.state, keeper.reason) == ("connecting", "waits for an operator")
        refused = await within(keeper.ready(DEADLINE))
        assert isinstance(refused, Failure)
        assert refused.reason == "permission_deferred"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):  # twice what a server has to say hello
                await plug.until("connected")
        approved.set()
        await plug.until("connected")
        assert await within(keeper.ready(DEADLINE)) is plug.made[0]
        assert keeper.restarts == 0


async def test_a_server_without_permission_is_not_tried_again_before_that_changes() -> None:
    """MGP-3.4-2: whoever calls."""
    async with kept() as (keeper, plug):
        denied = iter([NotPermitted("camera was denied")])
        attempts = 0

        async def connect() -> Link:
            nonlocal attempts
            attempts += 1
            for problem in denied:
                raise problem
            return await plug.connect()

        keeper._connect = connect
        keeper.start()
        await plug.until("error")
        assert keeper.reason == "camera was denied"
        refused = await within(keeper.ready(DEADLINE))
        assert isinstance(refused, Failure)
        assert attempts == 1
        keeper.again()
        await plug.until("connected")
        assert attempts == 2


async def test_a_server_that_loses_a_permission_is_closed_until_it_has_it_again() -> None:
    """MGP-6.4-5, whatever its restart rule says."""
    async with kept(restart=Restart(policy="never")) as (keeper, plug):
        keeper.bar("nobody is connected yet")
        keeper.start()
        await within(keeper.ready(DEADLINE))
        keeper.bar("camera was revoked")
        await plug.until("error")
        assert keeper.reason == "camera was revoked"
        assert not plug.made[0].open
        keeper.again()
        await plug.until("connected", 2)
        assert await within(keeper.ready(DEADLINE)) is plug.made[1]
