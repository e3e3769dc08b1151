"""Servers that never say hello hold nobody up: neither a stop of the gateway, nor what an operator or the configuration wants."""

from __future__ import annotations

import os
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.segments import segment_numbers, segment_path
from gatewright.storage.sqlite import SQLITE
from tests.behaviour.gateway import COMMAND, Gateway, config, running, server, write
from tests.servers.rig import alive

AT_MOST_S = 12.0
"""Far more than it takes on a busy machine, and far less than the hello that is waited for."""
WAITS_S = 60.0
MUTE = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); sys.stdin.read()"


def mute(folder: Path) -> dict[str, Any]:
    """A server that never says hello, and writes down its process id."""
    return {"id": "mute", "command": sys.executable, "args": ["-c", MUTE, str(folder / "pid")]}


def until(true: Callable[[], object], seconds: float = WAITS_S) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        select.select([], [], [], 0.01)


def started(folder: Path, *options: str) -> subprocess.Popen[bytes]:
    """A gateway whose only server is being waited for."""
    path = write(folder, config(mute(folder), gateway={"startup_wait_s": WAITS_S}))
    process = subprocess.Popen(
        [*COMMAND, "serve", "--config", str(path), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    until(lambda: (folder / "pid").exists() and (folder / "pid").read_text())
    return process


def stopped_by(process: subprocess.Popen[bytes], folder: Path, *signals: int) -> None:
    """It ends in time and in order, its server with it, and the state knows the end of the record."""
    began = time.monotonic()
    for number in signals:
        if process.poll() is None:
            process.send_signal(number)
            select.select([], [], [], 0.01)
    out, err = process.communicate(timeout=WAITS_S + AT_MOST_S)
    assert (process.returncode, out, b"Traceback" in err) == (0, b"", False), err
    assert time.monotonic() - began < AT_MOST_S
    assert not alive(int((folder / "pid").read_text()))
    assert not (folder / "state" / "gateway.json").exists()
    ended_in_order(folder)


def ended_in_order(folder: Path) -> None:
    database = sqlite3.connect(folder / "state" / SQLITE.file)
    ((noted,),) = database.execute("SELECT seq FROM recorded").fetchall()
    database.close()
    last = segment_path(folder / "state", max(segment_numbers(folder / "state"))).read_text()
    assert f'"seq":{noted},' in last.splitlines()[-1]


@pytest.mark.parametrize("options", [("--port", "0"), ("--stdio",)])
@pytest.mark.parametrize(
    "signals", [(signal.SIGTERM,), (signal.SIGINT,), (signal.SIGTERM, signal.SIGINT) * 500]
)
def test_a_gateway_that_is_told_to_stop_while_its_servers_start_stops(
    tmp_path: Path, options: tuple[str, ...], signals: tuple[int, ...]
) -> None:
    """The stop began when the wait for the servers was over, after the ready line."""
    process = started(tmp_path, *options)
    if options[0] == "--port":
        until((tmp_path / "state" / "gateway.json").exists)
    stopped_by(process, tmp_path, *signals)


def test_a_host_that_waits_for_servers_holds_up_no_stop(tmp_path: Path) -> None:
    process = started(tmp_path, "--stdio")
    assert process.stdin is not None
    process.stdin.write(
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    )
    process.stdin.flush()
    select.select([], [], [], 0.3)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=WAITS_S + AT_MOST_S)
    assert process.returncode == 0
    assert time.monotonic() - began < AT_MOST_S
    ended_in_order(tmp_path)


def test_a_signal_that_comes_while_the_parts_are_made_is_heeded(tmp_path: Path) -> None:
    """SIGTERM ended the process on the spot, with its servers left and the end of the record unsaid; so did SIGHUP."""
    script = (
        "import os, signal\n"
        "from gatewright.app import gateway\n"
        "make = gateway.Gateway._put_together\n"
        "def slow(self):\n"
        "    os.kill(os.getpid(), signal.{name})\n"
        "    make(self)\n"
        "gateway.Gateway._put_together = slow\n"
        "from gatewright.__main__ import main\n"
        "main()\n"
    )
    path = write(tmp_path, config(server("echo")))
    for name, word in (("SIGTERM", b""), ("SIGHUP", b"ready ")):
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                script.format(name=name),
                "serve",
                "--config",
                str(path),
                "--port",
                "0",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(word)
        if word:
            assert b"read again" in process.stderr.readline()
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=WAITS_S)
        assert process.returncode == 0
        ended_in_order(tmp_path)


def late(flag: Path) -> dict[str, Any]:
    """A server that answers until there is a flag; started after that it never says hello."""
    echo = server("echo", "late")
    pid = flag.with_name("late-pid")
    mute_one = f'echo $$ > "{pid}"; exec "$0" -c "import sys; sys.stdin.read()"'
    run = f'test -e "{flag}" && {{ {mute_one}; }}; exec "$0" "$@"'
    return {**echo, "command": "sh", "args": ["-c", run, echo["command"], *echo["args"]]}


def timed(act: Callable[[], object]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def test_a_server_that_does_not_come_back_holds_up_no_operator_and_no_reload(
    tmp_path: Path,
) -> None:
    flag, table = tmp_path / "flag", {"startup_wait_s": WAITS_S}
    content = config(late(flag), server("echo"), gateway=table)
    with running(tmp_path, content) as gateway:
        flag.write_text("")
        said: list[str] = []

        def restart() -> None:
            said.append(gateway.cli("server", "restart", "late", check=False, timeout=2 * WAITS_S))

        acts: list[Callable[[], object]] = [
            lambda: gateway.cli("server", "stop", "echo"),
            lambda: gateway.reload(
                config(late(flag), server("echo"), gateway=table, grants=[]), told="applied"
            ),
        ]
        for act in acts:
            restarting = threading.Thread(target=restart)
            restarting.start()
            _hung(gateway, len(said))
            assert timed(act) < AT_MOST_S
            restarting.join(AT_MOST_S)
        assert said == ["late\tconnecting\n"] * 2
        assert "echo\tdisconnected" in gateway.cli("server", "list")


@pytest.mark.parametrize("act", ["restart", "start"])
def test_the_very_server_that_does_not_come_back_is_stopped(tmp_path: Path, act: str) -> None:
    """What was being started of it served when the stop was said to be done, and was started again and again."""
    flag, table = tmp_path / "flag", {"startup_wait_s": WAITS_S}
    with running(tmp_path, config(late(flag), server("echo"), gateway=table)) as gateway:
        if act == "start":
            gateway.cli("server", "stop", "late")
        flag.write_text("")
        late_pid = tmp_path / "late-pid"

        def begin() -> None:
            gateway.cli("server", act, "late", check=False, timeout=2 * WAITS_S)

        starting = threading.Thread(target=begin)
        starting.start()
        until(lambda: late_pid.exists() and late_pid.read_text().strip())
        pid = int(late_pid.read_text())
        assert timed(lambda: gateway.cli("server", "stop", "late")) < AT_MOST_S
        starting.join(AT_MOST_S)
        assert "late\tdisconnected" in gateway.cli("server", "list")
        until(lambda: not alive(pid), AT_MOST_S)
        select.select([], [], [], 1.0)
        assert int(late_pid.read_text()) == pid, "nothing starts it anew"


def _hung(gateway: Gateway, acts: int) -> None:
    """Wait until a restart is recorded, and a moment for it to begin."""
    event = "dev.gatewright.server.restarted"
    until(lambda: len(gateway.audit("--event", event)) > acts)
    select.select([], [], [], 1.2)
