"""The fork server starts commands as Python does: same output, same end, nothing of its own environment."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests import fork_server

COMMAND = [sys.executable, "-m", "gatewright"]
DEADLINE_S = 60.0
UNLIMITED: dict[str, Any] = {"mask": 0o022, "limits": []}
CONFIG = '[gateway]\nname = "${env:GW_NAME}"\n'

LINES: list[tuple[list[str], dict[str, str], str]] = [
    (["--version"], {}, ""),
    (["--help"], {"COLUMNS": "60"}, ""),
    (["nothing"], {}, ""),
    (["key", "list", "--json"], {}, ""),
    (["config", "check", "--config", "own.toml"], {"GW_NAME": "é"}, ""),
    (["config", "show", "--config", "own.toml", "--json"], {"GW_NAME": "é"}, ""),
    (["config", "check", "--config", "-"], {}, '[gateway]\nname = "x"\nnaem = "y"\n'),
]


def _both(run: Any, folder: Path, words: list[str], more: dict[str, str], given: str) -> Any:
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONUTF8": "1"}
    done = run(
        [*COMMAND, *words],
        input=given,
        text=True,
        capture_output=True,
        cwd=folder,
        env={**own, "GATEWRIGHT_STATE": str(folder / "state"), **more},
        timeout=DEADLINE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(("words", "more", "given"), LINES)
def test_a_command_says_and_ends_the_same_both_ways(
    tmp_path: Path, words: list[str], more: dict[str, str], given: str
) -> None:
    (tmp_path / "own.toml").write_text(CONFIG)
    plain = _both(subprocess.run, tmp_path, words, more, given)
    assert _both(fork_server.run, tmp_path, words, more, given) == plain
    assert plain[1] or plain[2]


def test_a_plug_in_in_the_folder_of_a_command_is_found_both_ways(tmp_path: Path) -> None:
    """Though who forks has looked for plug-ins before."""
    about = tmp_path / "odd-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[gatewright.validators]\nodd = odd:prepare\n")
    text = '[[servers]]\nid = "a"\ncommand = "true"\n[servers.tools.x]\nvalidator = "odd"\n'
    (tmp_path / "own.toml").write_text(text)
    words = ["config", "check", "--config", "own.toml"]
    plain = _both(subprocess.run, tmp_path, words, {}, "")
    assert "the validator odd is not available" in plain[1] + plain[2]  # its module is not there
    assert _both(fork_server.run, tmp_path, words, {}, "") == plain


def test_a_gateway_serves_and_ends_the_same_both_ways(tmp_path: Path) -> None:
    """Whatever was served before in the process that forks."""
    plain, opened = _served(tmp_path / "plain", subprocess.Popen)
    forked, has_open = _served(tmp_path / "forked", fork_server.Popen)
    assert forked == plain
    assert plain[-2:] == (0, "")
    # Over which its tool servers and worker processes are started.
    own = {"socket": 2} if fork_server.can_fork(COMMAND, {}) and opened else {}
    assert (has_open - opened, opened - has_open) == (own, {})


def _served(
    folder: Path, kind: type[subprocess.Popen[Any]]
) -> tuple[tuple[Any, ...], Counter[str]]:
    """What a gateway says of itself and how it ends, and what it has open."""
    folder.mkdir()
    (folder / "mgp.toml").write_text('[storage]\npath = "state"\n[gateway]\nanonymous = "allow"\n')
    pipe = subprocess.PIPE
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONUTF8": "1"}
    command = [*COMMAND, "serve", "--port", "0", "--config", "mgp.toml"]
    with kind(command, cwd=folder, env=own, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            ready, url, *more = process.stdout.readline().split()
            answer = _initialized(url)
            about = Path(f"/proc/{process.pid}")
            opened = _settled(about, folder) if about.exists() else Counter()
        finally:
            process.terminate()
            _, err = process.communicate(timeout=DEADLINE_S)
    left = sorted(one.name for one in (folder / "state").iterdir())
    names = [one.split("=")[0] for one in more]
    return (ready, names, answer, left, process.returncode, err), opened


def _initialized(url: str) -> Any:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}}
    params["clientInfo"] = {"name": "c", "version": "1"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(url, body.encode(), {**head, "Connection": "close"})  # noqa: S310 - of a gateway of ours
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:  # noqa: S310 - as above
        return json.loads(answer.read())


def _settled(about: Path, folder: Path) -> Counter[str]:
    """What is open when nothing has been opened or closed for a while: the connection that was asked over is closed a little later."""
    found, alike = Counter[str](), 0
    while alike < 10:
        now = Counter(_opened(about, folder))
        alike = alike + 1 if now == found else 0
        found = now
        time.sleep(0.02)
    return found


def _opened(about: Path, folder: Path) -> Iterator[str]:
    """What a process has open, by kind: other numbers are given to each socket and pipe."""
    for one in (about / "fd").iterdir():
        with suppress(FileNotFoundError):
            kind = str(one.readlink()).partition(":[")[0]
            yield kind.replace(str(folder), "").replace(about.name, "own")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_ends_a_command_the_same_both_ways(tmp_path: Path, number: int) -> None:
    """Whatever caught it in the process that forks. Where this run has it ignored, as `nohup` has a hangup, so do both."""
    ends = []
    for kind in (subprocess.Popen, fork_server.Popen):
        with kind(
            [*COMMAND, "config", "check", "--config", "-"],  # it waits for what it is given
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            cwd=tmp_path,
        ) as process:
            process.send_signal(number)
            process.communicate(b"", timeout=DEADLINE_S)
        ends.append(process.returncode)
    assert ends[0] == ends[1]
    assert (ends[0] == -number) is (signal.getsignal(number) is not signal.SIG_IGN)


def test_a_command_is_forked_unless_it_would_not_be_the_same(tmp_path: Path) -> None:
    """On systems where it can be."""
    can = hasattr(os, "pidfd_open") and not any(one.startswith("COVERAGE_") for one in os.environ)
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    for words, environment, forked in (
        (COMMAND, own, can),
        (COMMAND, {**own, "PYTHONUTF8": "1"}, can),
        (COMMAND, {**own, "PYTHONUTF8": "0"}, False),
        (COMMAND, {**own, "PYTHONDONTWRITEBYTECODE": "1"}, can),
        (COMMAND, {**own, "LC_ALL": "no_SUCH"}, False),
        (COMMAND, {**own, "COVERAGE_PROCESS_START": ""}, False),
        ([sys.executable, "-I", "-m", "gatewright"], own, False),
    ):
        with fork_server.Popen([*words, "--version"], env=environment, stdout=-1) as process:
            assert process.communicate(timeout=DEADLINE_S)[0].startswith(b"gatewright ")
        assert (process.forked, process.returncode) == (forked, 0)


def test_a_process_is_waited_for_signalled_and_in_the_session_that_was_asked_for(
    tmp_path: Path,
) -> None:
    for kind in (subprocess.Popen, fork_server.Popen):
        for session in (True, False):
            with kind(
                [*COMMAND, "config", "check", "--config", "-"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                cwd=tmp_path,
                start_new_session=session,
            ) as process:
                assert process.poll() is None
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.01)
                assert os.getsid(process.pid) == (process.pid if session else os.getsid(0))
                process.kill()
            assert process.returncode == -signal.SIGKILL


def test_two_processes_end_one_before_the_other_and_hold_no_pipe_of_each_other(
    tmp_path: Path,
) -> None:
    command = [*COMMAND, "config", "check", "--config", "-"]
    pipes: dict[str, Any] = {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
    }
    with (
        fork_server.Popen(command, cwd=tmp_path, **pipes) as first,
        fork_server.Popen(command, cwd=tmp_path, **pipes) as second,
    ):
        for one in (first, second):
            out, _ = one.communicate(b"", timeout=DEADLINE_S)
            assert one.returncode == 0, out


def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "--port", "0", "--config", "none.toml"]
    (tmp_path / "none.toml").write_text("")
    with pytest.raises(subprocess.TimeoutExpired):
        fork_server.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "GATEWRIGHT_STATE": str(tmp_path)},
            timeout=0.1,
            check=False,
        )


def test_who_waits_and_who_polls_read_the_end_one_at_a_time(tmp_path: Path) -> None:
    with fork_server.Popen([*COMMAND, "--version"], cwd=tmp_path, stdout=-1) as process:
        process.communicate(timeout=DEADLINE_S)
    assert (process.wait(), process.poll()) == (0, 0)
    with fork_server.Popen([*COMMAND, "--version"], cwd=tmp_path, stdout=-1) as process:
        if process.forked:
            assert select.select([process._ended_at], [], [], DEADLINE_S)[0]
            with process._waitpid_lock:  # type: ignore[attr-defined]
                assert process.poll() is None
        assert process.wait(DEADLINE_S) == 0
        assert process._read(0) is None
        assert process.poll() == 0


def test_who_is_interrupted_while_a_process_starts_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(os, "pidfd_open"):
        return

    def interrupted(descriptor: int, kind: bytes) -> int:
        raise KeyboardInterrupt

    given, ours = os.pipe()
    shown, theirs = os.pipe()
    order = {
        "arguments": ["config", "check", "--config", "-"],  # it waits for what it is given
        "folder": str(tmp_path),
        "environment": {"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        "session": False,
        **UNLIMITED,
    }
    server = fork_server._server("command")
    monkeypatch.setattr(fork_server, "_heard", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            server.start(json.dumps(order).encode(), [given, theirs, theirs])
        os.close(theirs)
        assert select.select([shown], [], [], DEADLINE_S)[0]
        assert os.read(shown, 1) == b""  # nobody holds its other end
    finally:
        for one in (given, ours, shown):
            os.close(one)


def test_what_a_run_leaves_when_it_is_killed_is_ended(tmp_path: Path) -> None:
    if not hasattr(os, "pidfd_open"):
        return
    given, ours = os.pipe()
    shown, theirs = os.pipe()
    order = {
        "arguments": ["config", "check", "--config", "-"],  # it waits for what it is given
        "folder": str(tmp_path),
        "environment": {"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        "session": True,
        **UNLIMITED,
    }
    server = fork_server._begun("command")
    _, ended_at = server.start(json.dumps(order).encode(), [given, theirs, theirs])
    os.close(theirs)
    try:
        server.close()  # as the system does for a process that is killed
        assert select.select([shown], [], [], DEADLINE_S)[0]
        assert os.read(shown, 1) == b""  # nobody holds its other end
    finally:
        for one in (given, ours, shown, ended_at):
            os.close(one)


def test_what_a_run_leaves_is_ended_though_it_does_not_listen(tmp_path: Path) -> None:
    if not hasattr(os, "pidfd_open"):
        return
    script = tmp_path / "deaf.py"
    script.write_text(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1, flush=True)\ntime.sleep(1000)"
    )
    shown, theirs = os.pipe()
    order = {
        "arguments": [str(script)],
        "folder": str(tmp_path),
        "environment": {"PATH": os.environ["PATH"]},
        "session": True,
        **UNLIMITED,
    }
    server = fork_server._Started("script")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - its descriptor
        _, ended_at = server.start(json.dumps(order).encode(), [nothing.fileno(), theirs, theirs])
    os.close(theirs)
    try:
        assert os.read(shown, 2) == b"1\n"
        server.close()
        assert select.select([shown], [], [], DEADLINE_S)[0]
        assert os.read(shown, 1) == b""  # nobody holds its other end
    finally:
        for one in (shown, ended_at):
            os.close(one)
