"""What an operator does to servers: stopped ones stay down, started ones come back, each act is recorded first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.call import Answer, Caller, Failure, Unrecorded
from gatewright.servers import administration
from gatewright.servers.administration import Administration
from gatewright.servers.catalogue import EVERYTHING
from gatewright.servers.server_life import ServerLife
from gatewright.servers.spec import ServerSpec
from gatewright.servers.stopped_servers import word_of
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.turns import Turns
from gatewright.storage.errors import StoreError
from tests.servers.rig import (
    DEADLINE,
    FakeBack,
    alive,
    ask,
    dispatch,
    make_call,
    python,
    running,
    text,
    within,
)
from tests.servers.test_ending import MUTE

OPERATOR = Caller("root", "operator", "key1")


class Desk:
    """An administration over real servers, and what it has recorded."""

    def __init__(self, supervisor: Supervisor, *specs: ServerSpec) -> None:
        self.supervisor = supervisor
        self.specs = specs
        self.recorded: list[tuple[str, ...]] = []
        self.turns = Turns()
        self.fails = False
        self.over: tuple[asyncio.Future[None], ...] = ()
        """Done when no call of any server runs under the configuration before."""
        self.on(set())

    def on(self, stopped: set[str]) -> None:
        """Go on with this set of those that stay down."""
        self.stopped = stopped
        self.all = Administration(self.supervisor, self._again, self._acted, stopped)

    async def _again(self, anew: Collection[str]) -> None:
        async with self.turns.at_once():
            words, wanted = [word_of(spec, self.stopped) for spec in self.specs], self.turns.wanted
            stage = self.supervisor.stage
            staged = await stage(words, {}, patience_s=2 * DEADLINE, anew=anew, wanted=wanted)
            self.supervisor.switch(self.supervisor.fleet_of(staged, {}, EVERYTHING), self.over)

    def _acted(self, caller: Caller, event: str, server: str, why: str) -> None:
        if self.fails:
            raise Unrecorded("the disk is full")
        self.recorded.append((caller.id, event, server, *filter(None, (why,))))

    async def ask(self, verb: str, **params: Any) -> Any:
        """The decoded answer of one method, or its failure."""
        call = make_call("method", f"gatewright/server/{verb}", params, caller=OPERATOR)
        outcome = await within(
            dispatch(self.supervisor, methods=self.all.methods)(call, FakeBack())
        )
        return json.loads(outcome.raw) if isinstance(outcome, Answer) else outcome


@asynccontextmanager
async def desk(*specs: ServerSpec) -> AsyncIterator[Desk]:
    async with running(*specs) as supervisor:
        yield Desk(supervisor, *specs)


async def test_a_stopped_server_stays_down_until_it_is_started() -> None:
    async with desk(python("echo"), python("asker")) as found:
        stopped = await found.ask("stop", server="echo")
        assert (stopped["status"], "server start echo" in stopped["reason"]) == (
            "disconnected",
            True,
        )
        other = found.supervisor._servers["asker"]
        await found._again(())  # whatever the configuration says meanwhile
        assert found.supervisor.states == {"echo": "disconnected", "asker": "connected"}
        assert (await found.ask("start", server="echo"))["status"] == "connected"
        assert found.supervisor._servers["asker"] is other
        assert found.recorded == [
            ("root", "dev.gatewright.server.stopped", "echo"),
            ("root", "dev.gatewright.server.started", "echo"),
        ]


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not true():
            await asyncio.sleep(0.005)


async def slow(supervisor: Supervisor, server: str, seconds: float) -> asyncio.Future[Any]:
    """A call that runs there."""
    life = supervisor._servers[server].life
    call = asyncio.ensure_future(ask(supervisor, f"{server}__slow", {"seconds": seconds}))
    await until(lambda: life.pending)
    return call


async def test_a_server_that_is_stopped_ends_whatever_calls_of_others_run() -> None:
    """It waited for the calls of all servers, and was started again meanwhile."""
    async with desk(python("living", id="a"), python("living", id="b")) as found:
        found.over = (asyncio.get_running_loop().create_future(),)
        pids = [int(text(await ask(found.supervisor, f"{one}__pid"))) for one in "ab"]
        other = await slow(found.supervisor, "b", 1.0)
        assert (await found.ask("stop", server="a"))["status"] == "disconnected"
        assert [alive(one) for one in pids] == [False, True]
        assert text(await within(other)) == "done"


async def test_what_a_restart_has_left_of_a_server_is_stopped_with_it() -> None:
    async with desk(python("living", id="a")) as found:
        found.over = (asyncio.get_running_loop().create_future(),)
        before = int(text(await ask(found.supervisor, "a__pid")))
        assert (await found.ask("restart", server="a"))["status"] == "connected"
        after = int(text(await ask(found.supervisor, "a__pid")))
        assert (alive(before), alive(after)) == (True, True)
        assert (await found.ask("stop", server="a"))["status"] == "disconnected"
        assert (alive(before), alive(after)) == (False, False)


async def test_calls_of_a_server_that_is_stopped_have_their_time_and_so_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(administration, "_MOMENT_S", 0.05)
    async with desk(python("living", id="a", call_s=15.0)) as found:
        found.over = (asyncio.get_running_loop().create_future(),)
        pid = int(text(await ask(found.supervisor, "a__pid")))
        call = await slow(found.supervisor, "a", 0.5)
        said = await found.ask("stop", server="a")
        assert said["status"] == "draining"
        assert said["reason"] == "it takes no more calls; 1 calls run, for 15 s at most"
        await found._again(())  # a reload meanwhile has it as stopped, and it still drains
        assert found.supervisor.states["a"] == "disconnected"
        assert (await found.ask("stop", server="a"))["status"] == "draining"
        assert alive(pid)
        assert text(await within(call)) == "done"
        await until(lambda: not found.all._settling)
        assert not alive(pid)
        assert found.supervisor.status()[0].reason.startswith("stopped by")
        assert (await found.ask("start", server="a"))["status"] == "connected"


@pytest.mark.parametrize("verb", ["stop", "drain"])
async def test_a_server_that_never_says_hello_is_ended_at_once(verb: str) -> None:
    """Until no call of any server could need it, it was started again and again."""
    async with running(MUTE, startup_wait_s=0.0) as supervisor:
        found = Desk(supervisor, MUTE)
        found.over = (asyncio.get_running_loop().create_future(),)
        server = supervisor._servers["mute"]
        await until(lambda: server.stderr.lines)
        pid = int(server.stderr.lines[0])
        if verb == "stop":
            assert (await found.ask("stop", server="mute"))["status"] == "disconnected"
        else:
            await within(found.all.shut_down(OPERATOR, "mute", "operator_request", 1.0))
        await until(lambda: not alive(pid))
        await until(lambda: not found.all._settling)
        assert supervisor.states["mute"] == "disconnected"


async def test_a_gateway_that_stops_waits_for_no_server_that_is_being_stopped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(administration, "_MOMENT_S", 0.05)
    async with desk(python("living", id="a")) as found:
        call = await slow(found.supervisor, "a", 15)
        await found.ask("stop", server="a")
        found.all.close()
        await asyncio.sleep(0)
        await within(found.supervisor.close(0.5))
        assert isinstance(await within(call), Failure)
    assert "could not be taken over" not in caplog.text


async def test_a_server_that_was_started_again_while_it_ended_is_left_alone_whoever_else_is_stopped() -> (
    None
):
    async with desk(python("echo")) as found:
        taken: list[Collection[str]] = []

        async def again(anew: Collection[str]) -> None:
            taken.append(anew)

        for stopped, times in (({"another"}, 0), ({"another", "echo"}, 1)):
            one = Administration(found.supervisor, again, found._acted, stopped)
            await within(one._settle(found.supervisor._servers["echo"], 1.0))
            assert len(taken) == times


async def test_a_server_that_runs_is_started_by_nobody_and_restarted_on_demand() -> None:
    async with desk(python("echo")) as found:
        before = found.supervisor._servers["echo"]
        assert (await found.ask("start", server="echo"))["status"] == "connected"
        assert found.supervisor._servers["echo"] is before
        assert (await found.ask("restart", server="echo"))["status"] == "connected"
        assert found.supervisor._servers["echo"] is not before


async def test_what_cannot_be_recorded_is_not_done() -> None:
    """MGP-1.2-5"""
    async with desk(python("echo")) as found:
        found.fails = True
        for verb in ("restart", "stop"):
            with pytest.raises(Unrecorded):
                await found.ask(verb, server="echo")
        await found._again(())  # nor with the next reload
        assert found.supervisor.states == {"echo": "connected"}
        found.fails = False
        await found.ask("stop", server="echo")
        found.fails = True
        for verb in ("restart", "start"):
            with pytest.raises(Unrecorded):
                await found.ask(verb, server="echo")
        await found._again(())
        assert found.supervisor.states == {"echo": "disconnected"}


class Full(set[str]):
    """As `StoppedServers` on a disk that is full."""

    def add(self, value: str) -> None:
        super().add(value)
        raise StoreError("the disk is full")

    def discard(self, value: object) -> None:
        super().discard(value)
        raise StoreError("the disk is full")


async def test_a_server_is_stopped_and_started_also_where_that_cannot_be_kept() -> None:
    """The record had it as stopped, and it ran on."""
    async with desk(python("echo")) as found:
        found.on(Full())
        for verb, status in (("stop", "disconnected"), ("start", "connected")):
            said = await found.ask(verb, server="echo")
            assert said["status"] == status
            assert "a restart of the gateway forgets it; the disk is full" in said["reason"]
        assert [one[1] for one in found.recorded] == [
            "dev.gatewright.server.stopped",
            "dev.gatewright.server.started",
        ]


async def test_a_server_is_shut_down_also_where_that_cannot_be_kept() -> None:
    """Whoever asked for it is told."""
    async with desk(python("living", id="s")) as found:
        found.on(Full())
        begun = await within(found.all.shut_down(OPERATOR, "s", "operator_request", 1.0))
        assert begun is not None
        assert begun.note.startswith("not kept: a restart of the gateway forgets it")
        async with asyncio.timeout(DEADLINE):
            while found.supervisor.states["s"] != "disconnected":
                await asyncio.sleep(0.01)


async def test_what_was_stopped_and_is_gone_is_started_so_that_its_id_is_free_again() -> None:
    """As one that was registered, stopped and deregistered."""
    async with desk(python("echo"), python("asker")) as found:
        await found.ask("stop", server="echo")
        found.specs = found.specs[1:]
        await found._again(())
        for verb in ("stop", "restart"):
            assert isinstance(await found.ask(verb, server="echo"), Failure)
        assert found.all.is_stopped("echo")
        said = await found.ask("start", server="echo")
        assert (said["id"], "no server of this id" in said["reason"]) == ("echo", True)
        assert not found.all.is_stopped("echo")
        assert found.recorded[-1] == ("root", "dev.gatewright.server.started", "echo")
        assert isinstance(await found.ask("start", server="echo"), Failure)


async def test_log_lines_are_told_from_where_somebody_has_read_to() -> None:
    async with desk(python("echo", id="x")) as found:
        server = found.supervisor._servers["x"]
        take = server.stderr.process(main=True)
        for number in range(300):
            take(str(number))
        last = await found.ask("logs", server="x", lines=2)
        assert last == {"id": "x", "next": 300, "lines": ["298", "299"]}
        assert (await found.ask("logs", server="x", after=300))["lines"] == []
        assert (await found.ask("logs", server="x", after=299))["lines"] == ["299"]
        everything = await found.ask("logs", server="x", lines=1000)
        assert (len(everything["lines"]), everything["lines"][0]) == (200, "100")


@pytest.mark.parametrize(
    ("verb", "params", "reason"),
    [
        ("stop", {"server": "nobody"}, "not_found"),
        ("start", {}, "invalid_params"),
        ("start", {"server": []}, "invalid_params"),
        ("restart", {"server": 5}, "invalid_params"),
        ("logs", {"server": "echo", "lines": 0}, "invalid_params"),
        ("logs", {"server": "echo", "after": True}, "invalid_params"),
    ],
)
async def test_what_names_no_server_is_refused(
    verb: str, params: dict[str, Any], reason: str
) -> None:
    async with desk(python("echo")) as found:
        outcome = await found.ask(verb, **params)
        assert isinstance(outcome, Failure)
        assert (outcome.reason, found.recorded) == (reason, [])


def slow_to_say(life: ServerLife) -> asyncio.Event:
    """Have whoever shuts a server down wait for the event: the server is asked how long it takes."""
    shut_down, answers = life.shut_down, asyncio.Event()

    async def slowly(*arguments: Any) -> Any:
        begun = await shut_down(*arguments)
        await answers.wait()
        return begun

    life.shut_down = slowly  # type: ignore[method-assign, assignment]
    return answers


async def test_a_server_that_is_started_while_it_shuts_down_is_started() -> None:
    """Whoever wants it down waits for the server's word of how long it takes; what is wanted meanwhile counts."""
    async with desk(python("living", id="s")) as found:
        life = found.supervisor._servers["s"].life
        slow = asyncio.ensure_future(ask(found.supervisor, "s__slow", {"seconds": 0.3}))
        async with asyncio.timeout(DEADLINE):
            while not life.pending:
                await asyncio.sleep(0.005)
        answers = slow_to_say(life)
        asked = found.all.shut_down(OPERATOR, "s", "operator_request", 10.0)
        shutting = asyncio.ensure_future(asked)
        await asyncio.sleep(0.02)
        assert (await found.ask("start", server="s"))["status"] == "connected"
        answers.set()
        await within(shutting)
        await within(slow)
        await asyncio.sleep(0.05)
        assert found.supervisor.states["s"] == "connected"


async def test_what_is_to_be_down_stays_down_whoever_asked_and_left() -> None:
    async with desk(python("living", id="s")) as found:
        slow_to_say(found.supervisor._servers["s"].life)
        asked = found.all.shut_down(OPERATOR, "s", "operator_request", 1.0)
        shutting = asyncio.ensure_future(asked)
        await asyncio.sleep(0.01)
        shutting.cancel()
        async with asyncio.timeout(DEADLINE):
            while found.supervisor.states["s"] != "disconnected":
                await asyncio.sleep(0.01)
        await found._again(("s",))
        assert found.supervisor.states["s"] == "disconnected"


async def test_a_reason_is_recorded_and_has_a_bound() -> None:
    async with desk(python("echo")) as found:
        assert (await found.ask("restart", server="echo", reason="it leaks"))["id"] == "echo"
        assert found.recorded == [("root", "dev.gatewright.server.restarted", "echo", "it leaks")]
        for wrong in ("x" * 501, 5, None):
            refused = await found.ask("stop", server="echo", reason=wrong)
            assert isinstance(refused, Failure)
            assert refused.reason == "invalid_params"
        assert found.supervisor.states == {"echo": "connected"}
