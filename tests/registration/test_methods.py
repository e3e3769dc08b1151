"""Registering and deregistering, over servers that a test stages: what is kept, recorded and answered, and what is undone."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, Client, Failure, Outcome, Unrecorded, UserContext
from gatewright.config import Settings
from gatewright.registration import methods
from gatewright.registration.methods import REGISTERED, RegisteredServers, Registration
from gatewright.registration.registered import Registered
from gatewright.registration.store import KeptServers
from gatewright.servers.catalogue import EVERYTHING
from gatewright.servers.settings_adapters import spec_of
from gatewright.servers.stopped_servers import word_of
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.turns import GoingOn, Turns
from gatewright.storage.errors import StoreError
from gatewright.storage.state import StateDatabase
from tests.gate_parts import Mute
from tests.registration.parts import AGENT, OPERATOR, calling, registered, settings
from tests.storage.parts import state_in

SCRIPT = Path(__file__).parents[1] / "tool_servers" / "registered.py"


class House:
    """A gateway's parts, as far as registration needs them."""

    def __init__(self, folder: Path, state: StateDatabase, text: str = "") -> None:
        self.state = state
        self.settings = settings(folder, text)
        self.events: list[tuple[str, str, str, Any]] = []
        self.fleet = RegisteredServers(KeptServers(state), self)
        self.servers = Supervisor([], info={"name": "test", "version": "1"})
        self.turns = 0
        self.stopped: set[str] = set()
        self.fails: Callable[[], None] = lambda: None
        self.pressing = Turns()
        self.lined = 0
        self.registration = Registration(
            self.fleet,
            self.servers,
            settings=lambda: self.whole,
            going_on=GoingOn(
                again=self.again, in_line=self.in_line, pressing=self.pressing.pressing
            ),
            judged=self.judged,
            stopped=self.stopped.__contains__,
            clock=lambda: 7.0,
        )
        self.whole = self.settings

    def event(self, event_type: str, *, actor: Any, target: Any, details: Any) -> int:
        self.events.append((event_type, actor.id, target.server_id, details))
        return 0

    async def judged(self, one: Registered, call: Call, said: Settings) -> Registered:
        return one

    async def again(self) -> None:
        self.turns += 1
        self.fails()
        whole = self.fleet.extend(self.settings)
        specs = [word_of(spec_of(whole, one), self.stopped) for one in whole.servers]
        wanted = self.pressing.wanted
        staged = await self.servers.stage(specs, {}, patience_s=10, wanted=wanted)
        self.servers.switch(self.servers.fleet_of(staged, {}, EVERYTHING), [])
        self.whole = whole
        self.fleet.adopt(whole)

    async def in_line(self) -> None:
        self.lined += 1
        await self.again()

    async def register(self, caller: Caller = OPERATOR, **more: Any) -> Outcome:
        asked = {
            "id": "dynamic.x",
            "command": "python3",
            "args": [str(SCRIPT)],
            "justification": "why",
        }
        return await self.registration.register(calling(caller, **{**asked, **more}), Mute())

    async def deregister(self, caller: Caller = OPERATOR, **asked: Any) -> Outcome:
        return await self.registration.deregister(calling(caller, **asked), Mute())


@asynccontextmanager
async def house(folder: Path, text: str = "") -> AsyncIterator[House]:
    found = House(folder, state_in(folder), text)
    found.servers.start()
    try:
        yield found
    finally:
        found.registration.close()
        await found.servers.close()


async def test_a_configured_server_that_came_first_is_not_taken_for_it(tmp_path: Path) -> None:
    async with house(tmp_path) as one:
        text = f'[[servers]]\nid = "dynamic.x"\ncommand = "python3"\nargs = ["{SCRIPT}"]\n'

        def reload() -> None:
            one.settings = settings(tmp_path, text)

        one.fails = reload
        made = await one.register()
        assert isinstance(made, Failure)
        assert made.reason == "registration_conflict"
        assert one.fleet.present == {}
        assert KeptServers(one.state).servers == []
        assert one.servers.fleet.servers["dynamic.x"].status().state == "connected"


async def test_it_is_recorded_started_kept_and_ended(tmp_path: Path) -> None:
    async with house(tmp_path) as one:
        made = await one.register(env={"TOKEN": "hunter2"})
        assert isinstance(made, Answer)
        body = json.loads(made.raw)
        assert (body["status"], body["tools"]) == ("connected", ["dynamic_x__shout"])
        event, by, server, details = one.events[0]
        assert (event, by, server, details["justification"]) == (
            REGISTERED,
            "root",
            "dynamic.x",
            "why",
        )
        assert "hunter2" not in str(details)
        assert [kept.id for kept in KeptServers(one.state).servers] == ["dynamic.x"]
        again = await one.register()
        assert isinstance(again, Failure)
        assert again.reason == "registration_conflict"
        ended = await one.deregister(id="dynamic.x", reason="done")
        assert isinstance(ended, Answer)
        assert one.servers.fleet.servers == {}
        assert KeptServers(one.state).servers == []
        assert one.fleet.kept.owner("dynamic.x") == ("operator", "root")
        assert one.events[-1][3]["reason"] == "done"


async def test_the_record_proves_arguments_of_which_it_has_only_the_beginning(
    tmp_path: Path,
) -> None:
    """Of one long word nothing else is recorded, and two that differ behind the beginning are two."""
    said = list[Any]()
    async with house(tmp_path) as one:
        for last in "ab":
            args = [str(SCRIPT), f"--folders={'/srv/data,' * 30}{last}"]
            assert isinstance(await one.register(args=args), Answer)
            details = one.events[-1][3]
            said.append(details["args_sha256"])
            expected = "".join(f"{arg}\0" for arg in args)
            assert said[-1] == sha256(expected.encode()).hexdigest()
            assert isinstance(await one.deregister(id="dynamic.x", reason="done"), Answer)
    assert len(set(said)) == 2


async def test_what_does_not_come_up_is_undone(tmp_path: Path) -> None:
    async with house(tmp_path) as one:
        failed = await one.register(args=["-c", "raise SystemExit(3)"])
        assert isinstance(failed, Failure)
        assert failed.reason == "upstream_error"
        assert (one.fleet.present, one.servers.fleet.servers) == ({}, {})
        assert [event for event, *_ in one.events] == [
            REGISTERED,
            "dev.gatewright.server.deregistered",
        ]


async def test_what_cannot_be_kept_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path) as one:

        def full(*_: Any) -> None:
            raise StoreError("no room")

        monkeypatch.setattr(one.fleet.kept, "put", full)
        failed = await one.register()
        assert isinstance(failed, Failure)
        assert "could not be kept" in failed.message
        assert (one.fleet.present, one.servers.fleet.servers) == ({}, {})


async def test_what_cannot_be_recorded_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path) as one:

        def full(*_: Any, **__: Any) -> int:
            raise Unrecorded

        await one.register(id="dynamic.y")
        monkeypatch.setattr(one, "event", full)
        with pytest.raises(Unrecorded):
            await one.register()
        with pytest.raises(Unrecorded):
            await one.deregister(id="dynamic.y")
        assert [*one.fleet.present] == ["dynamic.y"]


async def test_a_caller_that_goes_away_leaves_nothing_half_done(tmp_path: Path) -> None:
    async with house(tmp_path) as one:
        asked = asyncio.create_task(one.register())
        while not one.turns:
            await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        async with asyncio.timeout(20):
            while not KeptServers(one.state).servers:
                await asyncio.sleep(0.02)
        assert one.servers.fleet.states == {"dynamic.x": "connected"}


async def test_of_agents_so_many_wait_for_each_other_and_operators_are_not_kept_out(
    tmp_path: Path,
) -> None:
    said = UserContext(permissions=("kernel.registry.write",))
    async with house(tmp_path) as one:
        agents = [Caller(f"a{number}", user=(said,)) for number in range(6)]
        callers = [*(agent for agent in agents for _ in range(3)), *[OPERATOR] * 9]
        asked = [asyncio.create_task(one.register(caller, id="no id")) for caller in callers]
        found = [(await each, caller) for each, caller in zip(asked, callers, strict=True)]
        busy = [
            (each, caller.id)
            for each, caller in found
            if getattr(each, "reason", "") == "resource_exhausted"
        ]
        # Two of each of four, which are eight.
        assert [name for _, name in busy] == ["a0", "a1", "a2", "a3", *["a4"] * 3, *["a5"] * 3]
        assert all(getattr(each, "retry_after_ms", None) for each, _ in busy)


async def test_an_operator_waits_for_no_server_that_an_agent_registers(tmp_path: Path) -> None:
    """It may never say hello. Who registered it is told that it is connecting."""
    agent = Caller("ann", user=(UserContext(permissions=("kernel.registry.write",)),))
    async with house(tmp_path, '[registration]\ncommands = ["python3"]\n') as one:
        assert isinstance(await one.register(id="dynamic.y"), Answer)
        assert one.lined == 0
        hung = asyncio.create_task(
            one.register(agent, args=["-c", "import sys; sys.stdin.read()"], code=None)
        )
        next_one = asyncio.create_task(one.register(agent, id="no id"))
        async with asyncio.timeout(10):
            while not one.lined:
                await asyncio.sleep(0.01)
        began = time.monotonic()
        assert isinstance(await one.deregister(id="dynamic.y"), Answer)
        assert time.monotonic() - began < 5
        made = await hung
        assert isinstance(made, Answer), made
        assert json.loads(made.raw)["status"] == "connecting"
        await next_one


async def test_who_may_not_and_who_did_not_negotiate_are_refused(tmp_path: Path) -> None:
    async with house(tmp_path) as one:
        refused = await one.register(AGENT)
        assert getattr(refused, "reason", "") == "permission_denied"
        assert getattr(await one.deregister(AGENT, id="x"), "reason", "") == "permission_denied"
        plain = replace(calling(OPERATOR), client=Client("2025-11-25"))
        for method in (one.registration.register, one.registration.deregister):
            assert getattr(await method(plain, Mute()), "reason", "") == "method_not_found"
        assert one.events == []


async def test_the_configuration_and_what_nobody_registered_stay_as_they_are(
    tmp_path: Path,
) -> None:
    text = '[[servers]]\nid = "files"\ncommand = "true"\nenabled = false\n'
    async with house(tmp_path, text) as one:
        for id, reason in (("files", "registration_conflict"), ("none", "not_found")):
            found = await one.deregister(id=id, reason="x")
            assert getattr(found, "reason", "") == reason
        assert getattr(await one.deregister(id=1), "reason", "") == "invalid_params"
        assert (one.turns, one.events) == (0, [])


async def test_it_is_restored_and_a_configured_id_wins(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    async with house(tmp_path) as one:
        await one.register(id="files")
        await one.register(id="other", lifetime="session")
    text = '[[servers]]\nid = "later"\ncommand = "true"\nenabled = false\n'
    again = House(tmp_path, state, text)
    again.servers.start()
    await again.registration.restore()
    assert again.servers.fleet.states == {"later": "registered", "files": "connected"}
    again.settings = settings(tmp_path, text.replace("later", "files"))
    await again.again()
    assert again.fleet.present == {}
    assert again.events[-1][3]["reason"] == "the configuration has its id"
    await again.servers.close()


async def test_it_ends_with_its_session(tmp_path: Path) -> None:
    async with house(tmp_path) as one:
        await one.register(lifetime="session")
        await one.registration.end_with_sessions(lambda session: session == "s1")
        assert [*one.fleet.present] == ["dynamic.x"]
        await one.registration.end_with_sessions(lambda _: False)
        assert (one.fleet.present, one.events[-1][1]) == ({}, "gatewright")


def test_profiles_of_one_server_keep_its_names(tmp_path: Path) -> None:
    text = '[[servers]]\nid = "files"\ncommand = "true"\n[profiles.p]\nunprefixed = true\n'
    fleet = RegisteredServers(KeptServers(state_in(tmp_path)), House.__new__(House))
    said = settings(tmp_path, text)
    assert fleet.extend(said) is said
    fleet.present["dynamic.x"] = registered()
    whole = fleet.extend(said)
    assert [one.id for one in whole.servers] == ["files", "dynamic.x"]
    assert whole.profiles["p"].servers == ("files",)
    assert [one.registered_by for one in whole.servers] == [None, ("agent", "ann")]
    alone = settings(tmp_path, "[gateway]\nunprefixed = true\n" + text)
    assert fleet.extend(alone) is alone
    fleet.present["no id"] = registered(id="no id")
    assert len(fleet.extend(said).servers) == 2


async def test_the_id_of_a_server_that_an_operator_stopped_waits_for_an_operator(
    tmp_path: Path,
) -> None:
    """Whose server was stopped does not have it run again by registering it anew; and it is said what keeps it down."""
    async with house(tmp_path) as found:
        assert isinstance(await found.register(), Answer)
        found.stopped.add("dynamic.x")
        await found.again()
        assert isinstance(await found.deregister(id="dynamic.x"), Answer)
        refused = await found.register()
        assert isinstance(refused, Failure)
        assert (refused.reason, refused.details) == (
            "registration_conflict",
            {"field": "id", "rule": "stopped"},
        )
        assert "server start dynamic.x" in refused.message
        assert (found.fleet.present, found.events[-1][0]) == (
            {},
            "dev.gatewright.server.deregistered",
        )
        found.stopped.discard("dynamic.x")
        assert isinstance(await found.register(), Answer)


async def test_arguments_are_looked_through_one_by_one_with_turns_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty-four of four thousand characters take as long as a large result, which nobody cleans in one turn of the loop."""
    turn, at = [0], list[int]()

    def shown(text: str, most: int = 0) -> str:
        at.append(turn[0])
        began = time.perf_counter()
        while time.perf_counter() - began < 0.005:  # longer than a slice
            pass
        return text

    async def turns() -> None:
        while True:
            turn[0] += 1
            await asyncio.sleep(0)

    async with house(tmp_path) as there:
        monkeypatch.setattr(methods, "shown", shown)
        counting = asyncio.create_task(turns())
        found = await there.register(args=[str(SCRIPT), *("a" * 40)])
        counting.cancel()
        assert isinstance(found, Answer)
        assert len(there.events[0][3]["args"]) == 41
    # Two of other members beside the arguments.
    assert max(Counter(at).values()) <= 3
