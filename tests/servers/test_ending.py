"""A server that an operator wants down: its own calls have their time, and nothing of it is started any more, wherever it stands."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from typing import Any

from gatewright.call import Answer, Failure
from gatewright.servers.server import Server
from gatewright.servers.spec import Restart, ServerSpec
from gatewright.servers.supervisor import Supervisor
from tests.servers.rig import alive, ask, python, running, text, within
from tests.servers.test_server_life import until

MUTE = ServerSpec(
    id="mute",
    command=sys.executable,
    args=(
        "-c",
        "import sys; print(__import__('os').getpid(), file=sys.stderr, flush=True); sys.stdin.read()",
    ),
    connect_s=60.0,
)
"""It never says hello, and tells its process id in its log."""
FAST = Restart(first_s=0.01, most_s=0.02)


def of(supervisor: Supervisor, name: str = "s") -> Server:
    return supervisor.fleet.servers[name]


async def slow(supervisor: Supervisor, seconds: float, session: str = "s1") -> Any:
    """A call that runs."""
    before = of(supervisor).life.pending
    call = asyncio.ensure_future(ask(supervisor, "s__slow", {"seconds": seconds}, session=session))
    await until(lambda: of(supervisor).life.pending > before)
    return call


async def test_its_calls_end_first_and_others_are_refused() -> None:
    async with running(python("living", id="s")) as on:
        pid, call = int(text(await ask(on, "s__pid"))), await slow(on, 0.5)
        ending = asyncio.ensure_future(of(on).end(20.0))
        await until(lambda: on.states["s"] == "draining")
        refused = await ask(on, "s__pid")
        assert isinstance(refused, Failure)
        assert refused.reason == "draining"
        await within(ending)
        assert text(await call) == "done"
        assert not alive(pid)
        assert on.states["s"] == "disconnected"


async def test_calls_that_take_longer_than_they_may_are_answered() -> None:
    async with running(python("living", id="s")) as on:
        pid, call = int(text(await ask(on, "s__pid"))), await slow(on, 15)
        began = time.monotonic()
        await within(of(on).end(0.2))
        outcome = await within(call)
        assert isinstance(outcome, Failure)
        assert "had 200 ms to end" in outcome.message
        assert not alive(pid)
        assert time.monotonic() - began < 10


async def test_one_that_dies_meanwhile_is_not_started_anew() -> None:
    async with running(python("living", id="s", restart=Restart(policy="always"))) as on:
        pid, call = int(text(await ask(on, "s__pid"))), await slow(on, 15)
        ending = asyncio.ensure_future(of(on).end(20.0))
        await until(lambda: on.states["s"] == "draining")
        os.kill(pid, signal.SIGKILL)
        assert isinstance(await within(call), Failure)
        await within(ending)
        await asyncio.sleep(0.2)
        status = of(on).status()
        assert (status.state, status.restarts) == ("disconnected", 0)


async def test_one_that_never_says_hello_is_ended_at_once() -> None:
    async with running(MUTE, startup_wait_s=0.0) as on:
        await until(lambda: on.fleet.servers["mute"].stderr.lines)
        server = on.fleet.servers["mute"]
        pid = int(server.stderr.lines[0])
        await within(server.end(20.0), 5.0)
        assert not alive(pid)
        assert on.states["mute"] == "disconnected"


async def test_one_that_is_about_to_be_started_again_is_not() -> None:
    rule = Restart(first_s=0.3, most_s=0.3, policy="always")
    async with running(python("living", id="s", restart=rule)) as on:
        for _ in range(3):  # the first restarts come at once
            if on.states["s"] == "connected":
                await ask(on, "s__leave", {"status": 3})
            await until(lambda: on.states["s"] != "connected")
            if on.states["s"] == "restarting":
                break
        await within(of(on).end(20.0))
        await asyncio.sleep(0.6)
        assert on.states["s"] == "disconnected"
        refused = await ask(on, "s__pid")
        assert isinstance(refused, Failure)
        assert "server start s" in refused.message


async def test_connections_of_sessions_end_likewise_where_the_common_one_is_away() -> None:
    rule = Restart(policy="never")
    async with running(python("living", id="s", share="session", restart=rule)) as on:
        main = of(on)._main
        call = await slow(on, 0.5, session="one")
        mine = int(text(await ask(on, "s__pid", session="one")))
        os.kill(_pid(main.link), signal.SIGKILL)
        await until(lambda: on.states["s"] not in ("connected", "disconnected"))
        ending = asyncio.ensure_future(of(on).end(20.0))
        await asyncio.sleep(0.05)
        for session in ("one", "two"):
            refused = await ask(on, "s__pid", session=session)
            assert isinstance(refused, Failure)
        assert alive(mine)
        outcome = await within(call)
        assert isinstance(outcome, Answer)
        await within(ending)
        assert not alive(mine)
        assert [one for one in of(on)._lanes.all() if one.link is not None] == []


async def test_a_shutdown_that_is_under_way_ends_with_the_nearer_of_both() -> None:
    async with running(python("living", id="s")) as on:
        call = await slow(on, 15)
        assert await of(on).life.shut_down("configuration_change", 15.0) is not None
        await within(of(on).end(0.1), 10)
        outcome = await within(call)
        assert isinstance(outcome, Failure)
        await asyncio.sleep(0.1)
        assert on.states["s"] == "disconnected"  # and not restarted, as a change would have it


def _pid(link: Any) -> int:
    return int(link._pipe.pid)
