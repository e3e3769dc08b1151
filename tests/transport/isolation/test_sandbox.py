"""The command line of an isolated child, without starting it, and what is told where there can be none."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport.isolation import sandbox as made
from gatewright.transport.isolation.cgroups import Group
from gatewright.transport.isolation.rules import CannotIsolate, Isolation
from gatewright.transport.isolation.sandbox import Sandbox, missing, prepare
from gatewright.transport.isolation.user_ids import forget_user
from gatewright.transport.launch import CommandNotFound

NOWHERE = Path("/sys/fs/cgroup/none")


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One on which everything is installed, and no control group can be had."""
    real = shutil.which

    def which(name: str, path: str | None = None) -> str | None:
        return f"/usr/bin/{name}" if name in made._TOOLS else real(name, path=path)

    monkeypatch.setattr(shutil, "which", which)
    monkeypatch.setattr(made, "make_group", lambda *_: Group())
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.fixture
def ready(tmp_path: Path) -> Iterator[Any]:
    held: list[Sandbox] = []

    def make(
        *args: str, env: dict[str, str] | None = None, user: int = 1000, **rules: Any
    ) -> tuple[list[str], list[str]]:
        """The command line, and the options that travel through a descriptor."""
        given = {"server": "a", "level": "strict", "state": str(tmp_path / "state"), **rules}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "geteuid", lambda: user)
            one = prepare(Isolation(**given), "sh", args, env or {}, "/")
        held.append(one)
        text = os.pread(one.descriptors[-1], 1 << 20, 0).decode()
        return one.command, text.split("\0")[:-1]

    yield make
    for one in held:
        one.started()
        one.started()
        assert one.descriptors == ()


def test_a_child_of_root_gets_a_user_of_its_own(ready: Any) -> None:
    command, options = ready("-c", "true", user=0)
    assert "--unshare-user" not in options
    at = command.index("/usr/bin/setpriv")
    assert int(command[at + 2]) >= 1_900_000_000
    assert {"--clear-groups", "--bounding-set=-all", "--no-new-privs"} <= {*command}
    assert command[-3:] == [shutil.which("sh"), "-c", "true"]


def test_a_confined_child_of_root_is_root_without_privileges(ready: Any) -> None:
    command, _ = ready(user=0, level="confined")
    assert "--reuid" not in command
    assert "--bounding-set=-all" in command


def test_a_child_of_anybody_else_has_a_user_namespace(ready: Any) -> None:
    command, options = ready()
    assert {"--unshare-user", "--disable-userns", "--unshare-net"} <= {*options}
    assert "/usr/bin/setpriv" not in command


def test_every_child_has_namespaces_of_its_own_and_dies_with_us(ready: Any) -> None:
    always = {"--die-with-parent", "--new-session", "--clearenv", "--unshare-pid", "--unshare-ipc"}
    for level in ("strict", "confined"):
        for user in (0, 1000):
            _, options = ready(level=level, user=user)
            assert {*always, "--unshare-uts", "--seccomp"} <= {*options}
            assert options[-2:] == ["--remount-ro", "/"]


def test_a_network_is_left_to_it_where_the_rules_say_so(ready: Any) -> None:
    assert "--unshare-net" not in ready(level="confined", network=True)[1]


def test_nobody_reads_its_variables_in_the_list_of_processes(ready: Any) -> None:
    command, options = ready(env={"TOKEN": "hunter2"})
    assert "hunter2" not in str(command)
    at = options.index("TOKEN")
    assert options[at - 1 : at + 2] == ["--setenv", "TOKEN", "hunter2"]


def test_what_a_loader_reads_is_set_last_of_all(ready: Any) -> None:
    """Else it would choose what runs before the child has given up its privileges."""
    command, options = ready(env={"LD_PRELOAD": "/x.so"}, user=0)
    assert "LD_PRELOAD" not in options
    at = command.index("LD_PRELOAD=/x.so")
    assert command.index("/usr/bin/setpriv") < command.index("/usr/bin/prlimit") < at


def test_a_strict_child_has_the_variables_that_it_was_given_and_no_others(
    ready: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "xx_XX")
    _, options = ready(env={"A": "1"})
    names = {options[at + 1] for at, one in enumerate(options) if one == "--setenv"}
    assert names == {"A", "HOME", "TMPDIR", "USER", "LOGNAME", "PATH"}
    _, options = ready(level="confined")
    assert options[(at := options.index("LANG")) - 1 : at + 2] == ["--setenv", "LANG", "xx_XX"]
    assert os.environ["HOME"] not in options


def test_bounds_that_no_control_group_keeps_are_kept_process_by_process(
    ready: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = {"memory_bytes": 1 << 26, "processes": 7, "cpu_s": 3, "open_files": 99}
    command, _ = ready(**rules)
    for one in ("--data=67108864:67108864", "--nproc=7:7", "--cpu=3:3", "--nofile=99:99"):
        assert one in command
    assert "--core=0:0" in command
    group = Group((NOWHERE,), frozenset({"memory", "pids"}), (NOWHERE / "tasks",))
    monkeypatch.setattr(made, "make_group", lambda *_: group)
    command, _ = ready(**rules)
    assert not [one for one in command if one.startswith(("--data", "--nproc"))]
    assert command[:2] == ["/bin/sh", "-c"]
    assert f"{NOWHERE}/tasks" in command


@pytest.mark.parametrize(
    ("platform", "machine", "there", "what"),
    [
        ("darwin", "x86_64", True, "Linux namespaces"),
        ("linux", "riscv64", True, "no system call filter for riscv64"),
        ("linux", "x86_64", False, "`apt-get install bubblewrap`"),
    ],
)
def test_where_it_cannot_be_isolated_it_is_not_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    machine: str,
    there: bool,
    what: str,
) -> None:
    """GRH-reg-7"""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(os, "uname", lambda: type("U", (), {"machine": machine}))
    if not there:
        monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert what in missing()
    rules = Isolation(server="a", level="strict", state=str(tmp_path))
    with pytest.raises(CannotIsolate, match="cannot be given here"):
        prepare(rules, "sh", [], {}, None)


@pytest.mark.parametrize("value", ["x\0--bind\0/\0/all", "\ud800"])
def test_a_variable_never_becomes_an_option_and_nothing_is_left_open(
    ready: Any, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    group = Group()
    monkeypatch.setattr(made, "make_group", lambda *_: group)
    removed: list[Group] = []

    def remove(one: Group) -> bool:
        removed.append(one)
        return True

    monkeypatch.setattr(Group, "remove", remove)
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(CannotIsolate, match="cannot be described"):
        ready(env={"A": value})
    assert len([*Path("/proc/self/fd").iterdir()]) == before
    assert removed == [group]


def test_what_cannot_be_had_in_the_middle_leaves_nothing_open(
    ready: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = os.memfd_create, [2]

    def few(name: str) -> int:
        if not left[0]:
            raise OSError(24, "Too many open files")
        left[0] -= 1
        return real(name)

    monkeypatch.setattr(os, "memfd_create", few)
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(CannotIsolate, match="Too many open files"):
        ready()
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_program_that_is_not_there_is_told_as_ever(ready: Any, tmp_path: Path) -> None:
    rules = Isolation(server="a", level="strict", state=str(tmp_path))
    with pytest.raises(CommandNotFound):
        prepare(rules, "no-such-program", [], {}, None)


def test_signals_reach_those_who_are_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = {1: [2], 2: [3, 4], 3: [5], 4: [], 5: []}
    monkeypatch.setattr(made, "_children", lambda pid: tree[pid])
    told: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: told.append(pid))
    assert Sandbox([], ()).signal(1, signal.SIGTERM)
    assert told == [3, 5, 4]
    assert not Sandbox([], ()).signal(5, signal.SIGTERM)


def test_children_are_found() -> None:
    with subprocess.Popen(["sleep", "60"]) as one:
        try:
            assert one.pid in made._children(os.getpid())
        finally:
            one.kill()


async def test_what_is_not_gone_yet_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Sandbox([], ())
    told: list[int] = []
    answers = iter([False, False, True])
    monkeypatch.setattr(one, "remove", lambda: next(answers))
    monkeypatch.setattr(made, "_LOOK_S", 0.001)
    done = asyncio.Event()

    def over() -> None:
        told.append(1)
        done.set()

    one.remove_soon(over)
    async with asyncio.timeout(5):
        await done.wait()
    assert told == [1]


async def test_what_stays_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Sandbox([], ())
    monkeypatch.setattr(one, "remove", lambda: False)
    told: list[int] = []
    one.remove_soon(lambda: told.append(1), 0)
    assert told == [1]


def test_a_user_id_is_in_use_until_what_is_left_of_the_sandbox_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    one = prepare(Isolation(server="a", level="strict", state=str(tmp_path)), "sh", [], {}, "/")
    ids = tmp_path / "isolated" / ".uids"
    one.started()
    forget_user(tmp_path, "a")
    assert len([*ids.iterdir()]) == 1
    assert one.remove()
    assert [*ids.iterdir()] == []


def test_what_a_strict_child_s_env_finds_is_looked_for_on_its_own_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose PATH has shims of pyenv first starts servers that the system's Python runs in the sandbox."""
    shims, script = tmp_path / ".pyenv" / "shims", tmp_path / "srv" / "server"
    for file, text in (
        (shims / "sh", '#!/bin/sh\nexec "/home/ann/.pyenv/libexec/pyenv" exec "$@"\n'),
        (script, "#!/usr/bin/env sh\n"),
    ):
        file.parent.mkdir(parents=True)
        file.write_text(text)
        file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shims}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    rules = Isolation(server="a", level="strict", state=str(tmp_path / "state"))
    one = prepare(rules, str(script), (), {}, "/")
    text = os.pread(one.descriptors[-1], 1 << 20, 0).decode()
    one.started()
    assert str(shims) not in text
    assert f"{script.parent}:/usr/local/sbin" in text
    said = "sh is a shim.*set PATH in `env`"
    confined = Isolation(server="a", level="confined", state=str(tmp_path / "state"))
    with pytest.raises(CannotIsolate, match=said):
        prepare(confined, str(script), (), {}, "/")
    with pytest.raises(CannotIsolate, match=said):
        prepare(rules, str(script), (), {"PATH": f"{shims}:/usr/bin"}, "/")
