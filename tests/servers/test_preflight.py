"""Servers are tried before anybody depends on them: started, listed, timed, stopped."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from gatewright.config import Settings, load
from gatewright.servers.preflight import AT_ONCE, Found, preflight
from tests.servers.rig import SERVERS, alive, within


def configured(folder: Path, *servers: str) -> Settings:
    path = folder / "mgp.toml"
    path.write_text("\n".join(servers))
    return load(path, environ={"GATEWRIGHT_STATE": str(folder / "state")})


def server(ident: str, script: str, *args: str, more: str = "") -> str:
    words = [str(SERVERS / f"{script}.py"), *args]
    return (
        f"[[servers]]\nid = {json.dumps(ident)}\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps(words)}\n{more}\n"
    )


async def test_a_good_server_is_described_and_timed(tmp_path: Path) -> None:
    settings = configured(tmp_path, server("echo", "echo"))
    (found,) = await within(preflight(settings, settings.servers))
    assert (found.id, found.transport, found.state, found.reason) == ("echo", "stdio", "ready", "")
    assert "echo" in [tool.target.name for tool in found.shelf.tools]
    assert found.hello.revision
    assert found.hello_ms is not None
    assert found.ready_ms is not None
    assert 0 < found.hello_ms <= found.ready_ms


async def test_each_way_to_fail_is_told_and_none_keeps_the_others_back(tmp_path: Path) -> None:
    settings = configured(
        tmp_path,
        '[[servers]]\nid = "absent"\ncommand = "no-such-program-here"\n',
        server("crash", "no_such_file"),
        '[[servers]]\nid = "refused"\nurl = "http://127.0.0.1:9/mcp"\n',
        server("unset", "echo", more='[servers.env]\nTOKEN = "${NO_SUCH_VARIABLE}"'),
        server("off", "echo", more="enabled = false"),
        server("echo", "echo"),
    )
    told: list[Found] = []
    found = await within(preflight(settings, settings.servers, done=told.append))
    assert [(one.id, one.state) for one in found] == [
        ("absent", "down"),
        ("crash", "down"),
        ("refused", "down"),
        ("unset", "down"),
        ("off", "disabled"),
        ("echo", "ready"),
    ]
    absent, crash, refused, unset, off, _ = found
    assert "no-such-program-here" in absent.reason
    assert any("no_such_file.py" in line for line in crash.last_words)
    assert refused.reason
    assert "NO_SUCH_VARIABLE" in unset.reason
    assert off.reason == ""
    assert sorted(one.id for one in told) == sorted(one.id for one in found)


async def test_a_server_that_never_says_hello_is_given_up_after_the_time_that_was_given(
    tmp_path: Path,
) -> None:
    settings = configured(tmp_path, '[[servers]]\nid = "mute"\ncommand = "sleep"\nargs = ["60"]\n')
    (found,) = await within(preflight(settings, settings.servers, connect_s=0.5))
    assert (found.state, found.reason) == ("down", "no hello within 0.5 s")


async def test_no_process_is_left_and_only_a_few_run_at_a_time(tmp_path: Path) -> None:
    names = [f"s{number}" for number in range(AT_ONCE + 2)]
    script = tmp_path / "counting.py"
    script.write_text(
        "import os, pathlib, runpy, sys\n"
        "here = pathlib.Path(sys.argv[1])\n"
        "(here / f'{os.getpid()}.pid').write_text(str(len(list(here.glob('*.pid')))))\n"
        f"sys.argv = [sys.argv[0]]\nsys.path.insert(0, {str(SERVERS.parents[1])!r})\n"
        "import atexit\n"
        "atexit.register(lambda: (here / f'{os.getpid()}.pid').rename(here / f'{os.getpid()}.gone'))\n"
        f"runpy.run_path({str(SERVERS / 'echo.py')!r}, run_name='__main__')\n"
    )
    marks = tmp_path / "marks"
    marks.mkdir()
    text = "".join(
        f"[[servers]]\nid = {json.dumps(name)}\ncommand = {json.dumps(sys.executable)}\n"
        f"args = {json.dumps([str(script), str(marks)])}\n"
        for name in names
    )
    settings = configured(tmp_path, text)
    found = await within(preflight(settings, settings.servers))
    assert [one.state for one in found] == ["ready"] * len(names)
    seen = list(marks.iterdir())
    assert len(seen) == len(names)
    assert max(int(path.read_text()) for path in seen) < AT_ONCE
    for path in seen:
        for _ in range(1000):
            if not alive(int(path.stem)):
                break
            await asyncio.sleep(0.01)
        assert not alive(int(path.stem))
