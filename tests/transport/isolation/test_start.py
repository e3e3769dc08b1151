"""Fail-closed starts: no child runs before a probe has proven its level, and only a proof is remembered."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport.isolation import sandbox
from gatewright.transport.isolation import start as starting
from gatewright.transport.isolation.cgroups import _parents
from gatewright.transport.isolation.rules import CannotIsolate, Isolation, Level
from gatewright.transport.isolation.sandbox import Sandbox, means, prepare
from gatewright.transport.isolation.start import flaw, launch_isolated
from gatewright.transport.process import spawn
from tests.transport.collecting import Collector, within

CYCLES = int(os.environ.get("GATEWRIGHT_SANDBOX_CYCLES", "100"))
ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


@pytest.fixture(autouse=True)
def _nothing_proven() -> Iterator[None]:
    before = dict(starting._proven)
    starting._proven.clear()
    yield
    starting._proven.clear()
    starting._proven.update(before)


def rules(tmp_path: Path, level: Level = "strict") -> Isolation:
    return Isolation(server="a", level=level, state=str(tmp_path / "state"))


async def test_what_is_missing_is_told_and_nothing_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "missing", lambda: "bwrap is not installed")
    monkeypatch.setattr(starting, "_prove", lambda _: pytest.fail("it was tried"))
    with pytest.raises(
        CannotIsolate, match="'strict' cannot be given here: bwrap is not installed"
    ):
        await launch_isolated(rules(tmp_path), "sh", [], env={}, cwd=None)


async def test_a_level_that_was_not_proven_is_not_given_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    answers = iter(["a trial server could see /x", ""])
    monkeypatch.setattr(starting, "missing", lambda: "")

    def prove(level: str) -> str:
        tried.append(level)
        return next(answers)

    monkeypatch.setattr(starting, "_prove", prove)
    monkeypatch.setattr(starting, "_started", lambda *_: pytest.fail("it was started"))
    with pytest.raises(CannotIsolate, match="could see /x"):
        await launch_isolated(rules(tmp_path), "sh", [], env={}, cwd=None)
    assert await flaw("strict") == ""
    assert await flaw("strict") == ""
    assert tried == ["strict", "strict"]


async def test_a_proof_ends_with_the_means_that_it_was_made_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandbox program that was replaced is another one, also where its time of modification says that it is not."""
    program = tmp_path / "bwrap"
    program.write_text("one")
    before = program.stat()
    tried: list[str] = []

    def prove(level: str) -> str:
        tried.append(level)
        return ""

    monkeypatch.setattr(starting, "missing", lambda: "")
    monkeypatch.setattr(sandbox, "_tool", lambda name: str(tmp_path / name))
    monkeypatch.setattr(starting, "_prove", prove)
    assert await flaw("strict") == await flaw("strict") == ""
    assert tried == ["strict"]
    program.write_text("two")
    os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert await flaw("strict") == ""
    assert tried == ["strict", "strict"]


async def test_what_is_replaced_during_a_trial_is_not_what_it_proves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither for who waited for it from the beginning, nor for who came later."""
    program, goes = tmp_path / "bwrap", threading.Event()
    program.write_text("one")
    tried: list[str] = []

    def prove(_: str) -> str:
        tried.append(program.read_text())
        goes.wait(20)
        return "" if tried[-1] == "one" else "a trial server could see /x"

    monkeypatch.setattr(starting, "missing", lambda: "")
    monkeypatch.setattr(sandbox, "_tool", lambda name: str(tmp_path / name))
    monkeypatch.setattr(starting, "_prove", prove)
    first = asyncio.create_task(flaw("strict"))
    async with asyncio.timeout(20):
        while not tried:
            await asyncio.sleep(0.001)
    program.write_text("another one")
    second = asyncio.create_task(flaw("strict"))
    await asyncio.sleep(0)
    goes.set()
    assert {await first, await second} == {"a trial server could see /x"}
    assert not starting._trials


async def test_what_is_replaced_over_and_over_is_never_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def prove(level: str) -> str:
        tried.append(level)
        (tmp_path / "bwrap").write_text(str(tried))
        return ""

    monkeypatch.setattr(starting, "missing", lambda: "")
    monkeypatch.setattr(sandbox, "_tool", lambda name: str(tmp_path / name))
    monkeypatch.setattr(starting, "_prove", prove)
    assert "replaced" in await flaw("strict")


async def test_servers_that_start_together_wait_for_one_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []
    goes = threading.Event()

    def prove(level: str) -> str:
        tried.append(level)
        goes.wait(20)
        return ""

    monkeypatch.setattr(starting, "missing", lambda: "")
    monkeypatch.setattr(starting, "_prove", prove)
    waiting = [asyncio.create_task(flaw("strict")) for _ in range(5)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    goes.set()
    assert await asyncio.gather(*waiting[1:]) == [""] * 4
    assert tried == ["strict"]
    assert not starting._trials


async def test_who_gives_up_while_it_is_prepared_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "missing", lambda: "")
    starting._proven["strict"] = means()
    going, goes = threading.Event(), threading.Event()
    read, write = os.pipe()

    def slowly(*_: Any) -> Sandbox:
        going.set()
        goes.wait(20)
        return Sandbox([], (read, write))

    monkeypatch.setattr(starting, "prepare", slowly)
    work = launch_isolated(rules(tmp_path), "sh", [], env={}, cwd=None)
    task = asyncio.create_task(work)
    await asyncio.to_thread(going.wait, 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    goes.set()
    async with asyncio.timeout(20):
        while _is_open(read) or _is_open(write):
            await asyncio.sleep(0.01)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@pytest.mark.sandbox
async def test_this_machine_gives_both_levels() -> None:
    assert (await flaw("strict"), await flaw("confined")) == ("", "")


@pytest.mark.sandbox
async def test_a_sandbox_that_does_not_hold_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the filter of system calls, say."""

    def leaky(*given: Any) -> Sandbox:
        one = prepare(*given)
        held = one.descriptors[-1]
        text = os.pread(held, 1 << 20, 0)
        before = text.split(b"\0")
        at = before.index(b"--seccomp")
        os.ftruncate(held, 0)
        os.pwrite(held, b"\0".join([*before[:at], *before[at + 2 :]]), 0)
        return one

    monkeypatch.setattr(starting, "prepare", leaky)
    assert "make every system call" in await flaw("strict")


async def answered(tmp_path: Path, level: Level, message: bytes = b'{"a":1}') -> float:
    loop = asyncio.get_running_loop()
    began, collector = loop.time(), Collector()
    child = await spawn(
        sys.executable,
        ["-I", "-S", "-c", ECHO],
        receiver=collector,
        stderr=collector.line,
        isolation=rules(tmp_path, level),
    )
    child.send(message)
    assert await within(collector.count(1)) == [message]
    took = loop.time() - began
    await within(child.stop(5))
    assert collector.ends == ["stopped"]
    return took


@pytest.mark.sandbox
async def test_starting_and_stopping_leaves_nothing(tmp_path: Path) -> None:
    """A hundred times; `GATEWRIGHT_SANDBOX_CYCLES=1000` for more."""
    await answered(tmp_path, "strict")
    before = traces(tmp_path)
    for _ in range(CYCLES):
        await answered(tmp_path, "strict")
    await asyncio.sleep(0.05)
    assert traces(tmp_path) == before


def traces(tmp_path: Path) -> tuple[object, ...]:
    groups = [
        str(one)
        for parent in {*_parents().values()}
        for one in parent.glob(f"gatewright-{os.getpid()}.*")
    ]
    return (
        groups,
        Path("/proc/self/mountinfo").read_text(),
        len([*Path("/proc/self/fd").iterdir()]),
        sorted(str(one) for one in tmp_path.rglob("*")),
        starting_children(),
    )


def starting_children() -> list[str]:
    return [
        text
        for one in Path("/proc/self/task").glob("*/children")
        for text in one.read_text().split()
    ]


@pytest.mark.sandbox
@pytest.mark.parametrize("level", ["strict", "confined"])
async def test_who_does_not_end_is_asked_and_then_killed_with_all_that_it_started(
    tmp_path: Path, level: Level
) -> None:
    before = starting_children()
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: print('asked', flush=True))\n"
        "if os.fork() == 0:\n os.setsid()\n"
        "print(os.getpid(), flush=True)\n"
        "while True: time.sleep(1)\n"
    )
    collector = Collector()
    child = await spawn(
        sys.executable,
        ["-I", "-S", "-c", code],
        receiver=collector,
        stderr=collector.line,
        isolation=rules(tmp_path, level),
    )
    await within(collector.count(2))
    await within(child.stop(0.3))
    assert b"asked" in collector.messages
    assert collector.ends == ["stopped"]
    assert starting_children() == before


@pytest.mark.sandbox
async def test_a_signal_that_ends_it_is_told(tmp_path: Path) -> None:
    collector = Collector()
    child = await spawn(
        "sh", ["-c", "kill -SEGV $$"], receiver=collector, stderr=print, isolation=rules(tmp_path)
    )
    assert await within(child.wait_closed()) == f"killed by {signal.SIGSEGV.name}"
    await within(child.stop(1))


@pytest.mark.sandbox
async def test_a_confined_server_keeps_its_home_and_writes_where_it_may(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "mgp.toml").write_text("secret = 1")
    code = (
        "import os, pathlib\n"
        "home = pathlib.Path.home()\n"
        "known = (home / 'kept').exists(); (home / 'kept').write_text('x')\n"
        f"pathlib.Path({str(work)!r}, 'sub', 'new').write_text('y')\n"
        f"try: open(os.path.join({str(work)!r}, 'mgp.toml')).read(); seen = True\n"
        "except OSError: seen = False\n"
        "print([known, seen, str(home)], flush=True)\n"
    )
    found = []
    for _ in range(2):
        collector = Collector()
        confined = Isolation(
            server="a",
            level="confined",
            state=str(tmp_path / "state"),
            write=(str(work),),
            hidden=(str(work / "mgp.toml"),),
        )
        child = await spawn(
            sys.executable,
            ["-I", "-S", "-c", code],
            receiver=collector,
            stderr=collector.line,
            isolation=confined,
        )
        found += await within(collector.count(1))
        await within(child.stop(5))
    assert found == [
        b"[False, False, '/home/server']",
        b"[True, False, '/home/server']",
    ], collector.lines
    assert (work / "sub" / "new").read_text() == "y"
    assert (work / "mgp.toml").read_text() == "secret = 1"


@pytest.mark.peers
@pytest.mark.sandbox
async def test_a_package_runner_works_in_a_confined_sandbox_and_keeps_its_cache(
    tmp_path: Path,
) -> None:
    """npx installs a package, offline from an archive that it may read, and starts what is in it."""
    archive = tmp_path / "packed.tgz"
    parts = {
        "package/package.json": b'{"name":"packed","version":"1.0.0","bin":{"packed":"cli.js"}}',
        "package/cli.js": b'#!/usr/bin/env node\nconsole.log(require("os").homedir())\n',
    }
    with tarfile.open(archive, "w:gz") as file:
        for name, content in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            file.addfile(entry, io.BytesIO(content))
    confined = Isolation(
        server="packed",
        level="confined",
        state=str(tmp_path / "state"),
        read=(str(archive),),
        network=False,
        processes=512,
        open_files=4096,
        memory_bytes=2 << 30,
    )
    collector = Collector()
    child = await spawn(
        "npx",
        ["--offline", "-y", f"--package=file:{archive}", "packed"],
        env={"npm_config_update_notifier": "false"},
        receiver=collector,
        stderr=collector.line,
        isolation=confined,
    )
    async with asyncio.timeout(60):
        await child.wait_closed()
    await within(child.stop(5))
    assert collector.messages == [b"/home/server"], collector.lines
    assert (tmp_path / "state" / "isolated" / "packed" / ".npm").is_dir()
