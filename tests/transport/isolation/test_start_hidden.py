"""What is hidden from an isolated server stays hidden while it runs, whatever is done to it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gatewright.config import load
from gatewright.servers import gateway_code
from gatewright.servers.settings_adapters import spec_of
from gatewright.transport.isolation.rules import CannotIsolate, Isolation, Level
from gatewright.transport.process import spawn
from tests.accepting import accept_file
from tests.transport.collecting import Collector, within

MAKES = 'open(os.path.join(work, "sub/mine"), "w").close()'
UNMASKING = """
import os, sys
work = sys.argv[1]
def seen():
    found = []
    for name in ("mgp.toml", "link.toml"):
        for mode in ("r", "r+", "x"):
            try:
                with open(os.path.join(work, name), mode) as file:
                    found.append(f"{name} {mode} {file.read() if mode != 'x' else ''}")
            except OSError:
                pass
    try:
        os.rename(os.path.join(work, "sub/mine"), os.path.join(work, "mgp.toml"))
        found.append("replaced")
    except OSError:
        pass
    return found, sorted(os.listdir(work))
open(os.path.join(work, "sub/mine"), "w").close()
print(seen(), flush=True)
for line in sys.stdin:
    print(seen(), flush=True)
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("level", ["strict", "confined"])
@pytest.mark.parametrize("shown", ["work", "."])
async def test_a_hidden_file_stays_hidden_when_it_is_replaced(
    tmp_path: Path, level: Level, shown: str
) -> None:
    """By a rename, as editors save, by removal and by a new file; whether its folder is shown or one above, to read or to write."""
    top = tmp_path / "top"
    work = top / "work"
    (work / "sub").mkdir(parents=True, mode=0o777)
    (work / "sub").chmod(0o777)
    secret, link = work / "mgp.toml", work / "link.toml"
    secret.write_text("secret = 1")
    link.symlink_to(secret)
    where = str((top / shown).resolve())
    places: dict[str, Any] = {"write": (where,)}
    code = UNMASKING
    if level == "strict":  # which writes nowhere
        places, code = {"read": (where,)}, UNMASKING.replace(MAKES, "")
    isolation = Isolation(server="a", level=level, state=str(tmp_path / "state"), hidden=(str(link),), **places)  # fmt: skip
    collector = Collector()
    child = await spawn(
        sys.executable,
        ["-I", "-S", "-c", code, str(work)],
        receiver=collector,
        stderr=collector.line,
        isolation=isolation,
    )
    await within(collector.count(1))
    for number, replaced in enumerate((secret, link, secret), 2):
        other = work / "saved.tmp"
        other.write_text(f"secret = {number}")
        other.chmod(0o666)
        other.rename(replaced)
        child.send(b"{}")
        await within(collector.count(number))
    secret.unlink()
    secret.write_text("secret = 9")
    child.send(b"{}")
    found = await within(collector.count(5))
    await within(child.stop(5))
    assert set(found) == {b"([], ['sub'])"}, collector.lines
    assert secret.read_text() == "secret = 9"


@pytest.mark.sandbox
async def test_a_server_that_writes_its_own_program_is_shown_no_more_by_that(
    tmp_path: Path,
) -> None:
    """The kernel cuts a first line at blanks and tabs alone, so the program of this one is `LINK\\x0crun`, and it is not to be led by LINK."""
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "canary").write_text("secret")
    server, run = work / "server", work / "link\x0crun"
    for one in (server, run):
        one.write_text(
            f"#!/bin/sh\ncat {outside}/canary >/dev/null 2>&1 && echo seen || echo unseen\nexec cat\n"
        )
        one.chmod(0o755)
    isolation = Isolation(
        server="a", level="confined", state=str(tmp_path / "state"), write=(str(work),)
    )
    assert await _said(server, isolation) == b"unseen"
    (work / "link").symlink_to(outside / "canary")
    server.write_text(f"#!{run}\n")
    assert await _said(server, isolation) == b"unseen"
    server.unlink()
    server.symlink_to(outside / "tool")
    (outside / "tool").write_text(f"#!/bin/sh\ncat {outside}/canary\n")
    (outside / "tool").chmod(0o755)
    with pytest.raises(CannotIsolate, match=r"needs .*outside/tool, which it is not shown; .* if it is you who wrote that"):  # fmt: skip
        await _said(server, isolation)


@pytest.mark.sandbox
@pytest.mark.parametrize("target", ["absolute", "relative"])
async def test_a_place_to_write_to_behind_a_link_beside_the_configuration_can_be_written_to(
    tmp_path: Path, target: str
) -> None:
    work, out = tmp_path / "work", tmp_path / "data" / "out"
    work.mkdir()
    out.mkdir(parents=True)
    (work / "mgp.toml").touch()
    (work / "out").symlink_to(out if target == "absolute" else "../data/out")
    isolation = Isolation(
        server="a",
        level="confined",
        state=str(tmp_path / "state"),
        read=(str(work),),
        write=(str(work / "out"),),
        hidden=(str(work / "mgp.toml"),),
    )
    server = tmp_path / "server"
    server.write_text(
        f"#!/bin/sh\necho new > {work}/out/new && echo written || echo refused\nexec cat\n"
    )
    server.chmod(0o755)
    assert await _said(server, isolation) == b"written"
    assert (out / "new").read_text() == "new\n"


FORGING = """
import os, sys
could = []
for name in ("helpers.py", "__pycache__/tools.cpython-311.pyc", "__pycache__/new.pyc", "common/new.py", "new.py", "own/x.py"):
    try:
        with open(os.path.join(sys.argv[1], name), "w") as file:
            file.write("forged")
        could.append(name)
    except OSError:
        pass
print(could, flush=True)
sys.stdin.read()
"""


@pytest.mark.sandbox
@pytest.mark.parametrize("python", ["./tools.py", "tools", "tools.inner"])
async def test_a_server_cannot_change_what_runs_inside_the_gateway(
    tmp_path: Path, python: str
) -> None:
    """Not the compiled form of a module, not what it imports; data of its own beside them it may write."""
    work = tmp_path / "work"
    for folder in ("__pycache__", "common", "own"):
        (work / folder).mkdir(parents=True)
    for name in ("tools.py", "helpers.py", "__pycache__/tools.cpython-311.pyc"):
        (work / name).touch()
    (work / "mgp.toml").write_text(
        f'[[servers]]\nid = "in"\npython = "{python}"\n[[servers]]\nid = "a"\ncommand = "{sys.executable}"\n'
        'isolation = "confined"\nsandbox.read = ["."]\nsandbox.write = ["own"]\n'
    )
    environ = {"HOME": str(tmp_path), "GATEWRIGHT_STATE": str(tmp_path / "state")}
    accept_file(work / "mgp.toml", environ)
    settings = load(None, environ=environ, cwd=work)
    collector = Collector()
    child = await spawn(
        sys.executable,
        ["-I", "-S", "-c", FORGING, str(work)],
        cwd=str(work),
        receiver=collector,
        stderr=collector.line,
        isolation=spec_of(settings, settings.servers[1]).isolation,
    )
    await collector.until(lambda: bool(collector.messages or collector.ends))
    await within(child.stop(5))
    assert collector.messages == [b"['own/x.py']"], collector.lines


PLANTING = """
import os, sys
could = []
for folder, name in (("", "lib/python3.11/site-packages/own.pth"), ("", "lib/new.so"), ("", "pyvenv.cfg"), ("../plugins", "sitecustomize.py"),
                     ("..", "vendor.zip"), ("../data", "free")):
    path = os.path.join(sys.argv[1], folder, name)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write("forged")
        could.append(name)
    except OSError:
        pass
print(could, flush=True)
sys.stdin.read()
"""


@pytest.mark.sandbox
async def test_a_server_cannot_change_what_the_gateway_runs_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gateway's environment is in the project that the server may write to, below a folder of modules, with more of these in it."""
    project = tmp_path / "proj"
    (project / ".venv" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    (project / "data").mkdir()
    (project / "vendor.zip").touch()
    monkeypatch.setattr(sys, "prefix", str(project / ".venv"))
    searched = (tmp_path, project / "plugins", project / "vendor.zip")
    monkeypatch.setattr(gateway_code, "_PATH", tuple(map(str, searched)))
    (tmp_path / "mgp.toml").write_text(
        f'[[servers]]\nid = "a"\ncommand = "{sys.executable}"\nisolation = "confined"\nsandbox.write = ["proj"]\n'
    )
    settings = load(tmp_path / "mgp.toml", environ={"GATEWRIGHT_STATE": str(tmp_path / "state")})
    collector = Collector()
    child = await spawn(
        sys.executable,
        ["-I", "-S", "-c", PLANTING, str(project / ".venv")],
        cwd=str(tmp_path),
        receiver=collector,
        stderr=collector.line,
        isolation=spec_of(settings, settings.servers[0]).isolation,
    )
    await collector.until(lambda: bool(collector.messages or collector.ends))
    await within(child.stop(5))
    assert collector.messages == [b"['free']"], collector.lines


async def _said(program: Path, isolation: Isolation) -> bytes:
    """Its first line; nothing where it ended without one."""
    collector = Collector()
    child = await spawn(
        str(program), receiver=collector, stderr=collector.line, isolation=isolation
    )
    await collector.until(lambda: bool(collector.messages or collector.ends))
    await within(child.stop(5))
    return b"".join(collector.messages)
