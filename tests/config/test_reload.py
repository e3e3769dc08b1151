"""Following a configuration: when it is read, what is taken over, what is said and recorded."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatewright.config import FileSource, Origin, Problem, Settings, SettingsError
from gatewright.config.changes import policy_version
from gatewright.config.reload import Reloader
from gatewright.config.trust import place_of, trust_of
from tests.accepting import accept_file

DEADLINE_S = 10.0
ONE = '[[servers]]\nid = "one"\ncommand = "x"\n'
TWO = '[[servers]]\nid = "two"\ncommand = "x"\n'
APPLIED, REFUSED = "dev.gatewright.config.applied", "dev.gatewright.config.refused"


class World:
    """A file that is followed, and everything that comes of it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "mgp.toml"
        self.adopted: list[Settings] = []
        self.told: list[str] = []
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        self.fails = False
        self.cannot: SettingsError | None = None
        environ = {"HOME": str(folder), "GATEWRIGHT_STATE": str(folder / "state")}
        self.environ = environ
        self.write(ONE)
        source = FileSource(environ=environ, cwd=folder)
        self.running = source.load()
        self.reloader = Reloader(
            source,
            self.running,
            self._adopt,
            tell=self.told.append,
            event=lambda *args: self.events.append(args),
            polled_s=0.02,
        )

    def write(self, text: str) -> None:
        """As the user does: what they write is accepted."""
        self.file.write_text(text)
        with contextlib.suppress(SettingsError):
            accept_file(self.file, self.environ)

    async def _adopt(self, settings: Settings) -> None:
        await asyncio.sleep(0)
        if self.fails:
            raise RuntimeError("broken on purpose")
        if self.cannot is not None:
            raise self.cannot
        self.adopted.append(settings)

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(DEADLINE_S):
            while not true():
                await asyncio.sleep(0.005)

    async def said(self, words: str) -> str:
        """The first line with these words, which are then forgotten with all before."""
        await self.until(lambda: any(words in line for line in self.told))
        number = next(n for n, line in enumerate(self.told) if words in line)
        line = self.told[number]
        del self.told[: number + 1]
        return line


@asynccontextmanager
async def followed(folder: Path) -> AsyncIterator[World]:
    world = World(folder)
    task = asyncio.create_task(world.reloader.follow())
    try:
        yield world
    finally:
        task.cancel()
        await asyncio.wait([task], timeout=DEADLINE_S)


async def test_a_file_is_taken_over_when_it_changed_and_stands_still(tmp_path: Path) -> None:
    async with followed(tmp_path) as world:
        world.write(ONE + TWO)
        line = await world.said("configuration applied")
        assert [one.id for one in world.adopted[-1].servers] == ["one", "two"]
        after = policy_version(world.adopted[-1])
        assert line == f"configuration applied, policy {after}: servers.two"
        (event,) = world.events
        assert event == (
            APPLIED,
            "success",
            {
                "policy": after,
                "before": policy_version(world.running),
                "changed": ["servers.two"],
                "restart_to_apply": [],
                "files": [str(world.file)],
            },
        )
        assert len(world.adopted) == 1


async def test_being_told_to_read_again_says_so_even_where_nothing_changed(tmp_path: Path) -> None:
    async with followed(tmp_path) as world:
        world.reloader.force()
        line = await world.said("nothing changed")
        assert line.endswith(policy_version(world.running))
        assert (world.adopted, world.events) == ([], [])


async def test_a_broken_file_is_told_once_and_again_when_it_is_mended(tmp_path: Path) -> None:
    async with followed(tmp_path) as world:
        world.write(ONE + ONE)
        line = await world.said("not applied")
        assert f"{world.file}:5: servers.one.id: line 1 has a server of this id" in line
        world.write(ONE + ONE + "\n")
        world.reloader.force()
        await world.said("not applied")
        world.write(ONE)
        assert "usable again" in await world.said("configuration")
        assert [event for event, *_ in world.events] == [REFUSED, REFUSED, APPLIED]
        assert world.adopted == []


async def test_what_this_gateway_cannot_do_is_told_and_the_running_one_stays(
    tmp_path: Path,
) -> None:
    async with followed(tmp_path) as world:
        missing = Problem(Origin(world.file, 3), "flow.then", "no such feature", "remove it")
        world.cannot = SettingsError([missing])
        world.write(TWO)
        await world.until(lambda: bool(world.told))
        assert "the running one stays" in world.told[0]
        assert "flow.then: no such feature" in world.told[0]
        assert [event for event, _, _ in world.events] == [REFUSED]
        assert world.adopted == []
        world.cannot = None
        world.reloader.force()
        await world.until(lambda: bool(world.adopted))


async def test_several_problems_are_one_line_with_their_number(tmp_path: Path) -> None:
    async with followed(tmp_path) as world:
        world.write(ONE + ONE + "[limits]\ndepth = 0\n")
        line = await world.said("not applied")
        assert line.endswith("(and 1 more: `gatewright config check` lists them)")
        assert len(world.events[0][2]["problems"]) == 2


async def test_a_file_that_is_gone_stops_nothing_and_its_return_is_noticed(tmp_path: Path) -> None:
    async with followed(tmp_path) as world:
        world.file.unlink()
        assert "the file is gone; put it back" in await world.said("not applied")
        world.write(TWO)
        await world.said("usable again")
        assert [one.id for one in world.adopted[-1].servers] == ["two"]


async def test_what_needs_a_restart_is_said_with_its_place_and_not_taken_over(
    tmp_path: Path,
) -> None:
    async with followed(tmp_path) as world:
        world.write(ONE + "[gateway]\nport = 9\n")
        line = await world.said("restart to apply")
        assert line == f"configuration: restart to apply gateway.port ({world.file}:5)"
        assert world.adopted == []
        world.write(TWO + "[gateway]\nport = 9\n")
        assert "servers.one, servers.two" in await world.said("applied")
        assert world.adopted[-1].gateway.port == world.running.gateway.port
        assert not any("restart" in line for line in world.told)


async def test_what_is_odd_now_is_said_once(tmp_path: Path) -> None:
    async with followed(tmp_path) as world:
        world.write(ONE + '[nonsense]\nx = 1\n[servers.env]\nA = "${NOT_SET_HERE}"\n')
        await world.said("nonsense")
        assert "NOT_SET_HERE is not set" in await world.said("one stays down")
        world.write(world.file.read_text() + TWO)
        await world.said("servers.two")
        world.reloader.force()
        await world.said("nothing changed")
        assert world.told == []


async def test_a_take_over_that_fails_leaves_what_runs_and_can_be_tried_again(
    tmp_path: Path,
) -> None:
    async with followed(tmp_path) as world:
        world.fails = True
        world.write(TWO)
        await world.said("internal error")
        world.fails = False
        world.reloader.force()
        await world.said("configuration applied")
        assert [one.id for one in world.adopted[-1].servers] == ["two"]


async def test_files_that_never_stand_still_are_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may touch the project's file must not keep the user's from being read."""
    moments = itertools.count()

    def restless(_: FileSource) -> Hashable:
        return next(moments)

    monkeypatch.setattr(FileSource, "stamp", restless)
    async with followed(tmp_path) as world:
        world.write(ONE + TWO)
        await world.said("configuration applied")
        assert len(world.adopted[-1].servers) == 2


async def test_a_file_whose_acceptance_was_taken_back_is_left_out_and_is_not_gone(
    tmp_path: Path,
) -> None:
    """Else what it names would go on running, and a user's own file would not be read any more."""
    user = tmp_path / ".config" / "mgp" / "servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text(TWO)
    async with followed(tmp_path) as world:
        assert [one.id for one in world.running.servers] == ["one", "two"]
        assert trust_of(world.environ).forget(place_of(world.file))
        assert "servers.one" in await world.said("configuration applied")
        assert [one.id for one in world.adopted[-1].servers] == ["two"]
        assert str(world.file) in await world.said("it does not count")
        user.write_text(TWO + ONE.replace("one", "three"))
        assert "servers.three" in await world.said("configuration applied")
        world.file.unlink()
        user.write_text(TWO + ONE.replace("one", "four"))
        assert "servers.four" in await world.said("configuration applied")
