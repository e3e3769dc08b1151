"""Another configuration while servers run: what it leaves stays, what it changes is there before the old ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Answer, Outcome, Tool
from gatewright.servers.catalogue import EVERYTHING
from gatewright.servers.retiring import RETIRING_MOST
from gatewright.servers.server_catalogue import shelve
from gatewright.servers.spec import Restart, ServerSpec
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.view import Profile
from tests.servers.rig import (
    DEADLINE,
    LEGACY,
    FakeBack,
    alive,
    ask,
    dispatch,
    python,
    running,
    text,
    tool_call,
    within,
)
from tests.servers.test_subscriptions import Hearing, wish

Over = asyncio.Future[None]


async def switched(
    supervisor: Supervisor, *specs: ServerSpec, over: tuple[Over, ...] = (), **profiles: Profile
) -> None:
    """These servers from now on; `over` are done when nobody needs those before any more."""
    staged = await within(supervisor.stage(specs, {}, patience_s=DEADLINE))
    before = supervisor.catalogue
    supervisor.switch(supervisor.fleet_of(staged, profiles, EVERYTHING), over)
    await within(supervisor.tell_differences(before))


def pid(supervisor: Supervisor, server: str) -> int:
    return child(supervisor._servers[server].link)


def child(link: Any) -> int:
    return int(link._pipe.pid)


async def gone(process: int) -> None:
    async with asyncio.timeout(DEADLINE):
        while alive(process):
            await asyncio.sleep(0.01)


async def listed(supervisor: Supervisor) -> list[str]:
    raw = await supervisor.catalogue.list("tools/list", "", ANONYMOUS, LEGACY)
    return [tool["name"] for tool in json.loads(raw)["tools"]]


async def test_a_server_that_is_left_as_it_is_keeps_its_process_and_hears_other_limits() -> None:
    async with running(python("asker", call_s=20.0)) as supervisor:
        before = pid(supervisor, "asker")
        await switched(supervisor, python("asker", call_s=0.2), python("echo"))
        assert pid(supervisor, "asker") == before
        assert set(supervisor.states) == {"asker", "echo"}
        assert text(await ask(supervisor, "echo/echo", {"message": "new"})) == "new"
        late = await ask(supervisor, "asker/slow", {"seconds": 15})
        assert not isinstance(late, Answer)
        assert late.reason == "upstream_timeout"


async def test_a_changed_server_ends_its_calls_and_then_itself_while_the_new_one_serves() -> None:
    async with running(python("asker")) as supervisor:
        before = pid(supervisor, "asker")
        former, back = dispatch(supervisor), FakeBack()
        call = tool_call(supervisor, "asker/slow", {"seconds": 1}, meta={"progressToken": 1})
        long = asyncio.create_task(former(call, back))
        await back.until(lambda: bool(back.events))
        over: Over = asyncio.get_running_loop().create_future()
        await switched(supervisor, python("asker", env={"NEW": "1"}), over=(over,))
        assert pid(supervisor, "asker") != before
        assert text(await ask(supervisor, "asker/structured", {"a": 1, "b": 2})) == '{"sum": 3}'
        assert alive(before)
        outcome: Outcome = await within(long)
        assert text(outcome) == "awake"
        over.set_result(None)
        await gone(before)


async def test_what_a_new_server_lists_while_the_switch_is_prepared_is_not_lost() -> None:
    """Nobody hears it then, and it may not change again."""
    specs = (python("echo"), python("asker"))
    async with running(specs[0]) as supervisor:
        staged = await within(supervisor.stage(specs, {}, patience_s=DEADLINE))
        fleet, fresh = supervisor.fleet_of(staged, {}, EVERYTHING), staged.servers["asker"]
        before = fresh.listing
        assert fresh.link is not None
        await fresh.link.fetch("tools/call", {"name": "grow", "arguments": {}}, DEADLINE)
        async with asyncio.timeout(DEADLINE):
            while fresh.listing is before:
                await asyncio.sleep(0.01)
        hearing = Hearing(supervisor)
        supervisor.switch(fleet, ())
        await hearing.until(bool)
        assert "asker__grown_1" in await listed(supervisor)
        assert hearing.heard == [("asker", "notifications/tools/list_changed", {})]


async def test_tools_of_a_removed_server_are_gone_and_those_who_listen_are_told() -> None:
    async with running(python("echo"), python("asker")) as supervisor:
        hearing = Hearing(supervisor)
        process = pid(supervisor, "asker")
        await switched(supervisor, python("echo"))
        assert await listed(supervisor) == ["echo__echo"]
        assert {method for _, method, _ in hearing.heard} == {
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
        }
        await gone(process)


async def test_what_is_listed_while_everything_switches_stays() -> None:
    """What was listed before it, when nobody heard, does not come after it and take its place."""
    async with running(python("echo")) as supervisor:
        staged = await within(supervisor.stage([python("asker")], {}, patience_s=DEADLINE))
        fleet, asker = supervisor.fleet_of(staged, {}, EVERYTHING), staged.servers["asker"]

        async def lists(*names: str) -> None:
            tools = [{"name": msgspec.Raw(json.dumps(name).encode())} for name in names]
            asker.listing = replace(asker.listing, sections={"tools": tools})
            asker.shelved = await shelve(asker.spec, asker.listing, asker.shelved)

        await lists("newer")
        newer, made = asker.listing, asker.shelved
        assert made is not None
        await lists("unheard")
        supervisor.switch(fleet, ())
        asker.listing, asker.shelved = newer, made
        asker._told.listed("asker", made, frozenset())
        for _ in range(3):
            await asyncio.sleep(0)
        assert await listed(supervisor) == ["asker__newer"]


async def test_who_sees_the_same_as_before_is_told_nothing() -> None:
    async with running(python("echo")) as supervisor:
        hearing = Hearing(supervisor)
        await switched(supervisor, python("echo", env={"NEW": "1"}))
        assert hearing.heard == []
        assert await listed(supervisor) == ["echo__echo"]


async def test_what_was_wanted_of_a_server_is_wanted_of_the_one_in_its_place() -> None:
    async with running(python("asker")) as supervisor:
        hearing = Hearing(supervisor)
        await wish(supervisor, "resources/subscribe", "asker:///alpha")
        await switched(supervisor, python("asker", env={"NEW": "1"}))
        while text(await ask(supervisor, "asker/touch", {"uri": "asker:///alpha"})) != "True":
            pass
        await hearing.until(lambda _: bool(hearing.updates()))


async def test_a_new_server_that_does_not_come_up_leaves_the_others_and_says_why() -> None:
    bad = python("bad", "exit-at-start", id="asker", restart=Restart(policy="never"))
    async with running(python("echo"), python("asker")) as supervisor:
        await switched(supervisor, python("echo"), bad)
        assert supervisor.states == {"echo": "connected", "asker": "error"}
        assert await listed(supervisor) == ["echo__echo"]


async def test_what_was_started_for_nothing_is_stopped_again() -> None:
    async with running(python("echo")) as supervisor:
        specs = [python("echo"), python("asker")]
        staged = await within(supervisor.stage(specs, {}, patience_s=DEADLINE))
        started = child(staged.servers["asker"].link)
        supervisor.discard()
        await gone(started)
        assert set(supervisor.states) == {"echo"}


async def test_no_crowd_of_former_servers_waits_for_one_call_that_does_not_end() -> None:
    async with running(python("echo")) as supervisor:
        over: Over = asyncio.get_running_loop().create_future()
        pids = []
        for turn in range(RETIRING_MOST + 2):
            pids.append(pid(supervisor, "echo"))
            await switched(supervisor, python("echo", env={"TURN": str(turn)}), over=(over,))
        await gone(pids[0])
        await gone(pids[1])
        assert [alive(one) for one in pids[2:]] == [True] * RETIRING_MOST


async def test_a_call_that_a_stopped_server_was_meant_for_makes_no_connection() -> None:
    """It was judged by the configuration before, and held up for longer than that was kept."""
    async with running(python("asker", share="session")) as supervisor:
        server, former = supervisor._servers["asker"], dispatch(supervisor)
        call, process = tool_call(supervisor, "asker/facts"), pid(supervisor, "asker")
        await switched(supervisor, python("asker", env={"NEW": "1"}))
        await gone(process)
        outcome = await within(former(call, FakeBack()))
        assert not isinstance(outcome, Answer)
        assert outcome.reason == "upstream_unavailable"
        assert server.status().sessions == 0


async def test_no_server_is_started_once_the_gateway_stops() -> None:
    async with running(python("echo")) as supervisor:
        await within(supervisor.close())
        with pytest.raises(RuntimeError, match="the gateway stops"):
            await supervisor.stage([python("asker")], {}, patience_s=DEADLINE)


async def test_what_a_server_listed_before_it_served_is_looked_at_once_it_does() -> None:
    """Of one that takes another's place, and of one more: else what was there before would be judged again and again."""
    seen: list[tuple[str, list[str]]] = []

    def shelved(server: str, tools: Sequence[Tool]) -> None:
        seen.append((server, [one.target.name for one in tools]))

    async with running(python("echo"), shelved=shelved) as supervisor:
        seen.clear()
        await switched(supervisor, python("echo", call_s=0.5), python("asker"))
        await asyncio.sleep(0)  # the next turn of the loop, once everything has switched
        assert seen == [("asker", listed_of(supervisor, "asker"))]
        seen.clear()
        await switched(supervisor, replace(python("asker"), id="echo"), python("asker"))
        await asyncio.sleep(0)
        assert seen == [("echo", listed_of(supervisor, "echo"))]


def listed_of(supervisor: Supervisor, server: str) -> list[str]:
    return [one.target.name for one in supervisor.catalogue.shelf(server).tools]
