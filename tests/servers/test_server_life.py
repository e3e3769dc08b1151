"""Transitions of a real server: what is told and recorded, and how it is shut down."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Caller, Failure
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.server_life import LIFECYCLE, _passed_on
from gatewright.servers.spec import Restart, ServerSpec
from gatewright.servers.states import NO_MORE_RESTARTS, Change
from tests.servers.rig import alive, ask, make_call, python, running, text, within
from tests.servers.scripted import linked

FAST = Restart(first_s=0.01, most_s=0.02)


def ends(told: list[Change]) -> list[str]:
    return [one.after for one in told]


async def until(true: Any) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.005)


async def test_a_server_that_starts_and_crashes_is_told_step_by_step() -> None:
    """MGP-11.2-2, MGP-6.4-8 and MGP-6.4-9"""
    told: list[Change] = []
    events: list[tuple[str, str]] = []
    spec = python("living", id="s", restart=FAST)
    async with running(
        spec, changed=told.append, event=lambda e, s, d: events.append((e, s))
    ) as on:
        assert ends(told) == ["connecting", "connected"]
        await ask(on, "s__leave", {"status": 3})
        await until(lambda: ends(told)[-1] == "connected" and len(told) > 2)
        assert ends(told)[2:] == ["disconnected", "restarting", "connected"]
        assert told[2].cause == "connection_lost"
    assert [one for one, _ in events][:3] == [
        "SERVER_CONNECTED",
        "SERVER_DISCONNECTED",
        "SERVER_CONNECTED",
    ]


async def test_a_failed_start_is_an_error_that_keeps_its_reason() -> None:
    """MGP-11.2-3"""
    told: list[Change] = []
    spec = python("bad", "exit-at-start", id="s", restart=Restart(policy="never"))
    async with running(spec, changed=told.append) as on:
        await until(lambda: on.states["s"] == "error")
        assert ends(told) == ["connecting", "error"]
        assert "exited with status" in on.status()[0].reason


async def test_too_many_crashes_are_recorded_with_their_detail() -> None:
    """MGP-11.5-6 and MGP-11.5-7"""
    told: list[Change] = []
    details: list[dict[str, Any]] = []

    def event(name: str, server: str, more: dict[str, Any]) -> None:
        if name == "SERVER_DISCONNECTED":
            details.append(more)

    rule = Restart(max=5, first_s=0.001, most_s=0.01)
    spec = python("bad", "exit-at-start", id="s", restart=rule)
    async with running(spec, changed=told.append, event=event):
        await until(lambda: told and told[-1].cause == NO_MORE_RESTARTS)
        assert ends(told).count("restarting") == 5
        assert details == [{"reason": details[0]["reason"], "detail": "restart_limit_exceeded"}]
        await asyncio.sleep(0.1)
        assert ends(told).count("restarting") == 5


async def test_what_was_mended_comes_back_from_error_by_the_next_call(tmp_path: Path) -> None:
    """MGP-11.2-4"""
    told: list[Change] = []
    mended, spec = tmp_path / "mended", python("living", id="s")
    script = f'test -e "{mended}" || exit 3; exec "$0" "$@"'
    args = ("-c", script, spec.command, *spec.args)
    rule = Restart(max=2, window_s=0.5, first_s=0.001, most_s=0.01)
    spec = replace(spec, command="sh", args=args, restart=rule)
    async with running(spec, changed=told.append) as on:
        await until(lambda: told and told[-1].cause == NO_MORE_RESTARTS)
        mended.write_text("")
        before = len(told)
        await until(lambda: on.status()[0].state == "error")
        async with asyncio.timeout(20):
            while await on.fleet.servers["s"].ready_for(None) is not None:  # as a call waits
                await asyncio.sleep(0.05)
        assert ends(told)[before - 1 :] == ["error", "restarting", "connected"]


async def test_a_drain_waits_for_the_call_and_restarts_where_it_always_runs() -> None:
    """MGP-11.2-6, MGP-11.2-7: and the process before has ended by then."""
    told: list[Change] = []
    spec = python("living", id="s", restart=Restart(policy="always", first_s=0.01))
    async with running(spec, changed=told.append) as on:
        pid = int(text(await ask(on, "s__pid")))
        slow = asyncio.ensure_future(ask(on, "s__slow", {"seconds": 0.5}))
        life = on.fleet.servers["s"].life
        await until(lambda: life.pending == 1)
        begun = await life.shut_down("configuration_change", 20.0)
        assert begun is not None
        assert begun.pending == 1
        refused = await ask(on, "s__pid")
        assert isinstance(refused, Failure)
        assert refused.reason == "draining"
        assert isinstance(await slow, Answer)
        await until(lambda: ends(told)[-1] == "connected" and len(told) > 2)
        assert ends(told)[2:] == ["draining", "restarting", "connected"]
        assert {one.cause for one in told[2:4]} == {"configuration_change"}
        assert not alive(pid)
        assert int(text(await ask(on, "s__pid"))) != pid


async def test_one_that_is_shut_down_stays_down_until_it_is_started() -> None:
    async with running(python("living", id="s")) as on:
        life = on.fleet.servers["s"].life
        assert await life.shut_down("operator_request", 1.0) is not None
        await within(life.shut())
        assert on.states["s"] == "disconnected"
        refused = await ask(on, "s__pid")
        assert isinstance(refused, Failure)
        assert "server start s" in refused.message
        assert await life.shut_down("operator_request", 1.0) is None


async def test_connections_of_sessions_drain_with_it() -> None:
    """Whatever a session has for itself is of the same server."""
    async with running(python("living", id="s", share="session")) as on:
        pid = int(text(await ask(on, "s__pid", session="one")))
        slow = asyncio.ensure_future(ask(on, "s__slow", {"seconds": 0.4}, session="one"))
        life = on.fleet.servers["s"].life
        await until(lambda: life.pending == 1)
        await life.shut_down("operator_request", 20.0)
        for session in ("one", "two"):
            refused = await ask(on, "s__pid", session=session)
            assert isinstance(refused, Failure)
            assert refused.reason == "draining"
        assert isinstance(await slow, Answer)
        await until(lambda: not alive(pid))


async def test_a_connection_of_a_session_that_is_still_made_is_given_up() -> None:
    """Else its server would run on, and take calls, although the server was shut down."""
    async with running(python("living", id="s", share="session", connect_s=60.0)) as on:
        server = on.fleet.servers["s"]
        made: list[Any] = []
        make, go = server._make, asyncio.Event()

        async def slowly(*args: Any, **more: Any) -> Any:
            made.append(args)
            await go.wait()
            return await make(*args, **more)

        server._make = slowly  # type: ignore[method-assign]
        call = asyncio.ensure_future(ask(on, "s__pid", session="one"))
        await until(lambda: made)
        assert await server.life.shut_down("operator_request", 20.0) is not None
        refused = await within(call)
        assert isinstance(refused, Failure)
        assert "told to shut down (operator_request)" in refused.message
        assert refused.details["sent"] is False
        await within(server.life.shut())
        go.set()
        await asyncio.sleep(0.1)
        assert len(made) == 1
        assert server._lanes.own("one") is not None
        assert all(one.link is None for one in server._lanes.all())


async def test_an_idle_server_waits_to_be_called() -> None:
    """MGP-11.4-5"""
    told: list[Change] = []
    async with running(python("living", id="s", idle_s=0.3), changed=told.append) as on:
        life = on.fleet.servers["s"].life
        await until(lambda: life.waits)
        assert (ends(told)[-2:], told[-1].cause) == (["draining", "disconnected"], "idle_timeout")
        assert text(await ask(on, "s__pid")).isdigit()
        assert not life.waits


async def test_a_server_that_says_that_it_drains_cannot_undo_what_an_operator_wants() -> None:
    told: list[Change] = []
    spec = python("living", "--mgp", id="s", restart=Restart(policy="always", first_s=0.01))
    async with running(spec, changed=told.append) as on:
        server = on.fleet.servers["s"]
        link = server.link
        assert link is not None
        slow = asyncio.ensure_future(ask(on, "s__slow", {"seconds": 0.4}))
        await until(lambda: server.life.pending == 1)
        await server.life.shut_down("operator_request", 20.0)
        server.said(link, LIFECYCLE, {"new_state": "draining"})  # as it does when it is told to
        assert isinstance(await slow, Answer)
        await within(server.life.shut())
        assert ends(told)[2:] == ["draining", "disconnected"]


async def test_a_server_that_drains_each_time_is_restarted_as_often_as_its_rule_says() -> None:
    """MGP-11.5-6: what it says of itself is no way around the limit."""
    told: list[Change] = []
    rule = Restart(policy="always", max=3, first_s=0.01, most_s=0.02)
    async with running(python("living", id="s", restart=rule), changed=told.append) as on:
        server = on.fleet.servers["s"]

        def again() -> bool:
            if server.link is not None:
                server.said(server.link, LIFECYCLE, {"new_state": "draining"})
            return told[-1].after == "error"

        await until(again)
        assert told[-1].cause == NO_MORE_RESTARTS
        assert ends(told).count("connected") == 4


async def test_a_server_that_is_down_is_not_started_for_another_session() -> None:
    async with running(python("living", id="s", share="session")) as on:
        assert isinstance(await ask(on, "s__pid", session="one"), Answer)
        life = on.fleet.servers["s"].life
        await life.shut_down("kernel_shutdown", 1.0)
        await within(life.shut())
        for session in ("one", "two"):
            refused = await ask(on, "s__pid", session=session)
            assert isinstance(refused, Failure)
            assert "server start s" in refused.message


async def test_a_call_of_a_session_wakes_the_whole_server() -> None:
    """Else it would be listed as down, and watched by nobody for idleness, while it serves."""
    async with running(python("living", id="s", share="session", idle_s=0.3)) as on:
        life = on.fleet.servers["s"].life
        for _ in range(2):
            await until(lambda: life.waits)
            assert isinstance(await ask(on, "s__pid", session="one"), Answer)
            await until(lambda: on.states["s"] == "connected")


async def test_a_server_where_somebody_has_a_task_is_not_idle() -> None:
    async with running(python("living", id="s", idle_s=0.2)) as on:
        life, made = on.fleet.servers["s"].life, on.tasks.made
        call = make_call("tool", "tools/call", {}, caller=Caller("ann", "agent"))
        task = await made.make(call, "s", "", "t1", 3600.0)
        assert task is not None
        began = life.since
        await asyncio.sleep(0.8)
        assert (on.states["s"], life.since) == ("connected", began)
        await made.forget(task)
        await until(lambda: life.waits)


async def test_a_connection_of_one_session_that_says_it_drains_gets_no_more_calls() -> None:
    """MGP-11.4: the common one, and those of other sessions, go on."""
    rule = Restart(policy="on_failure", first_s=0.01)
    spec = python("living", "--mgp", id="s", share="session", restart=rule)
    async with running(spec) as on:
        server = on.fleet.servers["s"]
        pids = {one: text(await ask(on, "s__pid", session=one)) for one in ("one", "two")}
        slow = asyncio.ensure_future(ask(on, "s__slow", {"seconds": 0.4}, session="one"))
        await until(lambda: server.life.pending == 1)
        link = server.own_link("one")
        assert link is not None
        server.said_to("two", link, LIFECYCLE, {"new_state": "draining"})  # another's connection
        assert server.own_link("two") is not None
        server.said_to("one", link, LIFECYCLE, {"new_state": "draining"})
        refused = await ask(on, "s__pid", session="one")
        assert isinstance(refused, Failure)
        assert refused.reason == "draining"
        assert isinstance(await slow, Answer)
        assert text(await ask(on, "s__pid", session="two")) == pids["two"]
        assert on.states["s"] == "connected"
        await until(lambda: not server.reconnector_of("one").drain)
        assert text(await ask(on, "s__pid", session="one")) != pids["one"]


def _fickle(folder: Path, rule: Restart) -> tuple[ServerSpec, Path, Path]:
    """A server that crashes when it starts as long as there is a file, and the file that has a letter for each start."""
    broken, starts = folder / "broken", folder / "starts"
    living = python("living", id="s", share="session", restart=rule)
    code = (
        f"import os, runpy, sys; open({str(starts)!r}, 'a').write('x'); "
        f"os.path.exists({str(broken)!r}) and sys.exit(3); "
        f"sys.argv = ['x']; runpy.run_path({living.args[0]!r}, run_name='__main__')"
    )
    return replace(living, args=("-c", code)), broken, starts


async def test_a_server_that_is_not_started_again_is_not_for_another_session(
    tmp_path: Path,
) -> None:
    """MGP-11.5-6: each session's connection would start it as often as the rule lets it."""
    rule = Restart(policy="always", max=2, first_s=0.01, most_s=0.02)
    spec, broken, starts = _fickle(tmp_path, rule)
    async with running(spec) as on:
        link = on.fleet.servers["s"].link
        assert link is not None
        broken.touch()
        link.close("it crashes")
        await until(lambda: on.states["s"] == "error")
        before = starts.read_text()
        for session in ("one", "two"):
            refused = await ask(on, "s__pid", session=session)
            assert isinstance(refused, Failure)
            assert "exited with status 3" in str(refused.message)
        await asyncio.sleep(0.2)
        assert starts.read_text() == before


async def test_a_call_of_a_session_tries_the_server_again_once_its_rule_has_room(
    tmp_path: Path,
) -> None:
    """Calls of sessions do not reach the common connection, and nobody else might ever call."""
    rule = Restart(policy="always", max=2, window_s=0.8, first_s=0.01, most_s=0.02)
    spec, broken, _ = _fickle(tmp_path, rule)
    async with running(spec) as on:
        link = on.fleet.servers["s"].link
        assert link is not None
        broken.touch()
        link.close("it crashes")
        await until(lambda: on.states["s"] == "error")
        broken.unlink()
        await asyncio.sleep(0.9)
        assert isinstance(await ask(on, "s__pid", session="one"), Answer)
        assert on.states["s"] == "connected"


@pytest.mark.parametrize("more", ["1e1", "[]", '"x"'])
@pytest.mark.parametrize("size", [60_000, 3_000_000])
async def test_how_long_a_server_says_that_its_drain_takes_is_read_from_a_short_answer_alone(
    more: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    dear = f"[{','.join([more] * (size // (len(more) + 1)))}]"
    decode, decoded = jsonrpc.decode, list[int]()
    async with linked() as (link, server):
        telling = asyncio.ensure_future(_passed_on(link, {}))
        ident = (await server.next())["id"]
        monkeypatch.setattr(
            jsonrpc, "decode", lambda data: (decoded.__iadd__([len(data)]), decode(data))[1]
        )
        result = f'{{"estimated_drain_ms":70,"more":{dear}}}'
        server.write(f'{{"jsonrpc":"2.0","id":{ident},"result":{result}}}'.encode())
        cheap = size < 64_000 and more == '"x"'
        assert await within(telling) == (70.0 if cheap else None)
    assert max(decoded, default=0) < 64_000 if cheap else decoded == []
