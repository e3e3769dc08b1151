"""The fork server starts scripts as Python does: same arguments, folder, `__main__`, output and end."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport import launch
from tests import fork_server
from tests.house_rules.tree import ROOT

DEADLINE_S = 60.0
ECHO = str(ROOT / "tests" / "tool_servers" / "echo.py")

LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)

SCRIPTS = {
    "what it finds": """
import json, os, sys
import __main__
print(json.dumps([sys.argv, sys.path[0], os.getcwd(), sorted(os.environ), __name__, __file__, sys.stdin.read()]))
print(json.dumps([__main__.__dict__ is globals(), vars().get("__package__"), vars().get("__spec__")]))
print(sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering, sys.stderr.line_buffering, file=sys.stderr)
""",
    "an end with a number": "import sys; print('é'); sys.exit(3)",
    "an end with words": "import sys; sys.exit('it broke')",
    "an end without any": "import sys; sys.exit()",
    "an error": "def f():\n    raise ValueError('x')\nf()",
    "a syntax error": "def f(:\n",
    "a file that is left open": "kept = open('left.txt', 'w'); kept.write('written')",
    "a thread that goes on": """
import threading, time
def late():
    time.sleep(0.1)
    print(word)
word = "late"
threading.Thread(target=late).start()
""",
    "a word at the end": "import atexit; word = 'end'; atexit.register(lambda: print(word))",
    "a child of its own": """
import subprocess, sys
print(subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True, check=True).stdout)
""",
    "a module of the tests, which are on nobody's path": "import tests.tool_servers.wires",
    "its time zone": "import os, time; print(time.tzname, time.localtime(0).tm_hour)",
    "a signal to itself": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "Ctrl-C": "import signal; signal.raise_signal(signal.SIGINT)",
    "a pool": """
import asyncio
async def main():
    print(await asyncio.to_thread(str, 7), flush=True)
asyncio.run(main())
""",
}


def _ran(run: Callable[..., Any], folder: Path, command: list[str]) -> Any:
    folder.mkdir()
    own = {"PATH": os.environ["PATH"], "OWN": "1", "TZ": "HERE-5"}
    done = run(
        command,
        input="given",
        text=True,
        capture_output=True,
        cwd=folder,
        env=own,
        timeout=DEADLINE_S,
        check=False,
    )
    left = {one.name: one.read_text() for one in folder.iterdir()}
    return done.returncode, done.stdout, done.stderr, left


@pytest.mark.parametrize("what", list(SCRIPTS))
def test_a_script_finds_says_leaves_and_ends_the_same_both_ways(tmp_path: Path, what: str) -> None:
    script = tmp_path / "one" / "script.py"
    script.parent.mkdir()
    script.write_text(SCRIPTS[what])
    command = [sys.executable, str(script), "-x", "é"]
    folder = tmp_path / "folder"
    plain = _ran(subprocess.run, folder, command)
    folder.rename(tmp_path / "before")
    assert _ran(fork_server.run, folder, command) == plain
    assert plain != (0, "", "", {}) or what == "an end without any"


def test_a_script_is_forked_and_an_option_of_python_or_a_module_is_not(tmp_path: Path) -> None:
    """On systems where it can be."""
    can = hasattr(os, "pidfd_open") and not any(one.startswith("COVERAGE_") for one in os.environ)
    (tmp_path / "script.py").write_text("print(1)")
    for words, forked in (
        (["script.py"], can),
        (["-I", "script.py"], False),
        (["-c", "print(1)", "script.py"], False),
    ):
        with fork_server.Popen([sys.executable, *words], cwd=tmp_path, stdout=-1) as process:
            assert process.communicate(timeout=DEADLINE_S) == (b"1\n", None)
        assert (process.forked, process.returncode) == (forked, 0)


def test_a_script_has_the_limits_and_the_mask_of_who_starts_it_and_no_path_of_his(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, resource, sys\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_FSIZE), os.umask(0), 'theirs' in sys.path)"
    )
    command, own = [sys.executable, str(script)], {"PATH": os.environ["PATH"]}
    fork_server.run(command, timeout=DEADLINE_S, check=True, env=own)  # whoever forks is there
    monkeypatch.setenv("PYTHONPATH", "theirs")
    files, sizes = (resource.getrlimit(one) for one in LIMITS)
    mask = os.umask(0o027)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, files[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, sizes[1]))
        both = [
            run(command, stdout=subprocess.PIPE, timeout=DEADLINE_S, check=True, env=own).stdout
            for run in (subprocess.run, fork_server.run)
        ]
        inner = {**own, "PYTHONPATH": "theirs"}
        both.append(fork_server.run(command, timeout=DEADLINE_S, check=True, env=inner).stdout)
    finally:
        os.umask(mask)
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
        resource.setrlimit(resource.RLIMIT_FSIZE, sizes)
    assert both[0] == both[1]
    assert both[0].startswith(b"(200, ")


def test_what_cannot_be_said_in_one_order_is_started_as_ever(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import os; print(len(os.environ['LARGE']))")
    large = {"LARGE": "x" * 120_000, "MORE": "x" * 120_000}
    with fork_server.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=-1, env=large
    ) as process:
        assert process.communicate(timeout=DEADLINE_S)[0] == b"120000\n"
    assert not process.forked


def test_a_gateways_tool_server_is_forked_leads_its_session_and_has_its_environment_alone(
    tmp_path: Path,
) -> None:
    script = tmp_path / "server.py"
    said = "[os.getpid(), os.getsid(0), os.getpgid(0), sorted(os.environ), os.getcwd(), sorted(os.listdir('/proc/self/fd'))]"
    script.write_text(
        f"import json, os, sys\nprint(json.dumps({said}), flush=True)\nsys.stdin.read()"
    )
    child = launch.launch(sys.executable, [str(script)], env={"MINE": "1"}, cwd=str(tmp_path))
    try:
        assert isinstance(child, fork_server.Popen) == hasattr(os, "pidfd_open")
        assert child.stdout is not None
        pid, session, group, names, folder, descriptors = json.loads(child.stdout.readline())
        assert (pid, session, group, folder) == (child.pid, child.pid, child.pid, str(tmp_path))
        assert "MINE" in names
        assert not {*names} - {"MINE", "LC_CTYPE", *launch.INHERITED}
        assert len(descriptors) == 4  # the three streams, and the one that lists them
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait(DEADLINE_S) == -signal.SIGKILL
    finally:
        child.kill()
        child.communicate()


def test_many_processes_may_order_at_once(tmp_path: Path) -> None:
    """The gateways that a fork server has made order over one socket: nobody gets what another has ordered."""
    started = [
        fork_server.Popen([sys.executable, ECHO], stdin=-1, stdout=-1, cwd=tmp_path)
        for _ in range(20)
    ]
    for number, one in enumerate(started):
        asked = {"jsonrpc": "2.0", "id": number, "method": "ping"}
        out, _ = one.communicate(json.dumps(asked).encode(), timeout=DEADLINE_S)
        assert json.loads(out) == {"jsonrpc": "2.0", "id": number, "result": {}}
        assert one.returncode == 0
