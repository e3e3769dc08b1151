"""Processes of their own for shipped tools: limits that hold, isolation that is proven. No attack, only bytes and clocks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from gatewright.dialects.groundhog import sandboxed_run
from gatewright.dialects.groundhog.sandboxed_run import (
    LEVELS,
    PROCESSES,
    Crowded,
    Isolation,
    Level,
    Places,
    Ran,
    run_confined,
)

SECONDS = 60.0
MEMORY = 256 * 1024 * 1024


@pytest.fixture
def root(tmp_path: Path) -> str:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a")
    (tmp_path / "out.txt").write_text("o")
    return str(tmp_path / "in")


async def ran(
    tool: str, arguments: dict[str, Any], root: str, level: Level = "process", **more: Any
) -> Ran:
    limits = {"seconds": SECONDS, "memory": MEMORY, **more}
    return await run_confined(tool, arguments, [root], level=level, **limits)


async def test_a_tool_runs_in_a_process_and_says_how_much_it_took(root: str) -> None:
    """GRH-reg-6."""
    found = await ran("directory_list", {"path": "."}, root)
    assert [one["name"] for one in found.said["result"]["entries"]] == ["a.txt"]
    assert 1024 * 1024 < found.memory < MEMORY


async def test_more_memory_than_the_limit_is_an_end_of_its_own(root: str) -> None:
    """GRH-reg-6: over memory → resource error."""
    assert (await ran("probe", {"bytes": 2 * MEMORY}, root)).said == {"no_memory": True}
    fits = await ran("probe", {"bytes": 1000}, root)
    assert fits.said["result"]["bytes"] == 1000


async def test_a_process_that_ends_before_it_speaks_is_told_apart(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GRH-reg-6: where its memory was limited, that is what ended it."""
    monkeypatch.setattr(sandboxed_run, "_COMMAND", (sys.executable, "-c", "pass"))
    assert (await ran("probe", {}, root)).said == {"no_memory": True}
    assert (await ran("probe", {}, root, memory=None)).said == {"broken": True}


async def test_more_time_than_the_limit_ends_the_process(root: str) -> None:
    """GRH-reg-6: over time → timeout, and nothing is left of it."""
    started: list[int] = []
    real = asyncio.create_subprocess_exec

    async def noted(*given: Any, **more: Any) -> Any:
        process = await real(*given, **more)
        started.append(process.pid)
        os.kill(process.pid, signal.SIGSTOP)  # so that it certainly does not end in time
        return process

    asyncio.create_subprocess_exec = noted
    try:
        with pytest.raises(TimeoutError):
            await ran("probe", {}, root, seconds=0.2)
    finally:
        asyncio.create_subprocess_exec = real
    with pytest.raises(ProcessLookupError):
        os.kill(started[0], 0)


async def test_a_caller_who_gives_up_leaves_no_process(root: str) -> None:
    task = asyncio.create_task(ran("probe", {}, root))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_in_a_container_nothing_but_the_roots_can_be_seen(root: str) -> None:
    """GRH-reg-7: a tool tries to see outside, and cannot; or the machine gives no containers, and says why."""
    outside = [str(Path(root).parent / "out.txt"), "/etc", "/proc/self", "/usr"]
    paths = [*outside, root, f"{root}/a.txt"]
    assert (await ran("probe", {"paths": paths}, root)).said["result"]["seen"] == paths
    flaw = await Isolation().flaw("container", [root])
    found = await ran("probe", {"paths": paths}, root, "container")
    if flaw:
        assert found.said["no_isolation"] in flaw
    else:
        assert found.said["result"]["seen"] == [root, f"{root}/a.txt"]
        listed = await ran("directory_list", {"path": "."}, root, "container")
        assert [one["name"] for one in listed.said["result"]["entries"]] == ["a.txt"]


class Scripted:
    """Processes that say what a test wants."""

    def __init__(self, *said: Any) -> None:
        self.said = list(said)
        self.levels: list[str] = []
        self.paths: list[str] = []

    async def __call__(self, tool: str, *given: Any, level: str, **more: Any) -> Ran:
        self.levels.append(level)
        self.paths = given[0]["paths"]
        found = self.said.pop(0)
        if isinstance(found, Exception):
            raise found
        return Ran(found)


async def test_a_level_is_promised_only_once_it_was_proven() -> None:
    """GRH-reg-7: explicit refusal when unavailable."""
    seen = Isolation(Scripted({"result": {"seen": ["/etc"]}}))
    assert "/etc can be seen from inside" in await seen.flaw("container")
    open_ = Isolation(Scripted({"result": {"seen": [], "filtered": False}}))
    assert "system calls are not filtered" in await open_.flaw("container")
    refused = Isolation(Scripted({"no_isolation": "unshare: operation not permitted"}))
    assert "unshare: operation not permitted" in await refused.flaw("container")
    broken = Isolation(Scripted({"broken": True}))
    assert "it broke" in await broken.flaw("container")
    unstartable = Isolation(Scripted(OSError("no processes left")))
    assert "no processes left" in await unstartable.flaw("process")


@pytest.mark.parametrize("root", ["/home/ann/files", "/root", "/var/lib", "/usr/share/doc", "/etc"])
async def test_the_way_to_a_root_is_no_leak(root: str) -> None:
    """GRH-reg-7: a container has the folders above a root, and nothing else that is in them."""
    asked: list[str] = []

    async def contained(tool: str, given: Any, roots: Any, **more: Any) -> Ran:
        asked.extend(given["paths"])
        shown = [one for one in asked if f"{root}/".startswith(f"{one}/")]
        return Ran({"result": {"seen": shown, "filtered": True}})

    assert await Isolation(contained).flaw("container", [root]) == ""
    assert "/proc/self" in asked
    assert not any(one.startswith(f"{root}/") for one in asked)


async def test_a_neighbour_of_the_way_to_a_root_is_a_leak(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GRH-reg-7: what is looked for beside the way is really there, so that not to see it says something."""
    above = Path(root).parent
    monkeypatch.setattr(sandboxed_run, "_OUTSIDE", (str(above.parent), "/etc"))
    flaw = await Isolation().flaw("container", [root])
    assert "can be seen" not in flaw
    beside = str(above / "out.txt")
    open_ = Isolation(Scripted({"result": {"seen": [beside], "filtered": True}}))
    assert beside in await open_.flaw("container", [root])
    script = Scripted({"result": {"seen": [], "filtered": True}})
    assert await Isolation(script).flaw("container", [root]) == ""
    assert beside in script.paths


async def test_where_everything_is_a_root_nothing_can_be_proven() -> None:
    script = Scripted()
    assert "nothing is outside" in await Isolation(script).flaw("container", ["/"])
    assert script.levels == []


@pytest.mark.parametrize("passing", [OSError("no room"), TimeoutError(), {"broken": True}])
async def test_a_proof_that_could_not_be_made_is_tried_again(passing: Any) -> None:
    """GRH-reg-7: what a machine without a free process could not show is no word about its isolation."""
    script = Scripted(passing, {"result": {"seen": [], "filtered": True}})
    now = [100.0]
    isolation = Isolation(script, lambda: now[0])
    told = await isolation.flaw("container")
    assert "cannot be tried now" in told
    assert told.endswith(("no room", "took too long", "it broke"))
    assert [await isolation.flaw("container") for _ in range(9)] == [told] * 9
    assert len(script.levels) == 1
    now[0] += 6
    assert [await isolation.flaw("container") for _ in range(2)] == ["", ""]
    assert len(script.levels) == 2


async def test_those_who_ask_at_once_wait_for_one_trial() -> None:
    go, begun = asyncio.Event(), [0]

    async def slow(*given: Any, **more: Any) -> Ran:
        begun[0] += 1
        await go.wait()
        return Ran({"result": {"seen": [], "filtered": True}})

    isolation = Isolation(slow)
    asking = [asyncio.create_task(isolation.flaw("container")) for _ in range(20)]
    while not begun[0]:
        await asyncio.sleep(0)
    asking[0].cancel()
    await asyncio.sleep(0)
    go.set()
    assert await asyncio.gather(*asking[1:]) == [""] * 19
    assert begun == [1]


async def test_what_a_proof_has_shown_is_remembered() -> None:
    script = Scripted({"no_isolation": "unshare: operation not permitted"})
    isolation = Isolation(script)
    told = [await isolation.flaw("container") for _ in range(2)]
    assert told[0] == told[1] != ""


async def test_a_proof_is_made_once_and_only_for_what_needs_one() -> None:
    """GRH-reg-7."""
    script = Scripted({"result": {"seen": [], "filtered": True}})
    isolation = Isolation(script)
    assert [await isolation.flaw("container") for _ in range(3)] == ["", "", ""]
    assert await isolation.flaw("none") == ""
    assert "virtual machines" in await isolation.flaw("vm")
    assert script.levels == ["container"]


async def test_nobody_waits_for_ever_for_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without a time of its own, on a mount that does not answer, keeps its place for as long as it likes."""
    monkeypatch.setattr(sandboxed_run, "_WAIT_S", 0.01)
    places, who = Places(), ("agent", "ann")
    async with contextlib.AsyncExitStack() as held:
        for _ in range(PROCESSES):
            await held.enter_async_context(places.place(who))
        with pytest.raises(Crowded):
            await asyncio.wait_for(held.enter_async_context(places.place(who)), SECONDS)
    async with places.place(who):
        pass


def test_the_levels_are_in_their_order() -> None:
    """GRH-reg-7."""
    assert LEVELS == ("none", "process", "container", "vm")
    assert sandboxed_run.Ran({}).memory == 0
