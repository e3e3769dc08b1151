"""`gatewright` for shells of tests: a program of that name that has the fork server of this process run the command.

`path()` is a PATH with that program in front. What it starts has the arguments, the folder, the environment (but for the way to
the program itself) and the three standard streams of the shell; signals that end a program are passed on to it, and the program
ends as it does. It is for commands that a shell runs one after the other: they are in no session or group of the shell's.
"""

from __future__ import annotations

import atexit
import marshal
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests import fork_server

__all__ = ["path"]

_REAL = Path(sys.executable).absolute().with_name("gatewright")
_NUMBER = 4
"""Bytes of a number that is said: the process, 0 where the program is to become the command itself, and then its exit code."""
_PROGRAM = """\
#!{python} -IS
import _signal, _socket, marshal, os, sys
def number():
    said = line.recv(4, _socket.MSG_WAITALL)
    return int.from_bytes(said, "little", signed=True) if len(said) == 4 else sys.exit("the process of the test has gone")
order = marshal.dumps((sys.argv[1:], os.getcwd(), dict(os.environ)))
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
line.connect({socket!r})
streams = b"".join(one.to_bytes(4, sys.byteorder) for one in (0, 1, 2))
line.sendmsg([len(order).to_bytes(4, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
line.sendall(order)
if (pid := number()) == 0:
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
for ends in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
    _signal.signal(ends, lambda which, _: os.kill(pid, which))
if (code := number()) < 0:
    _signal.signal(-code, _signal.SIG_DFL) if -code != _signal.SIGKILL else None
    os.kill(os.getpid(), -code)
os._exit(code)
"""


@cache
def path() -> str:
    """A PATH on which `gatewright` is forked."""
    folder = Path(tempfile.mkdtemp(prefix="gatewright-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / "orders"))
    listening.listen(64)
    program = folder / "gatewright"
    program.write_text(
        _PROGRAM.format(python=sys.executable, socket=str(folder / "orders"), real=str(_REAL))
    )
    program.chmod(0o755)
    threading.Thread(target=_serve, args=(listening, folder), daemon=True).start()
    return f"{folder}{os.pathsep}{_REAL.parent}{os.pathsep}{os.environ['PATH']}"


def _serve(listening: socket.socket, folder: Path) -> None:
    while True:
        line, _ = listening.accept()
        threading.Thread(target=_run, args=(line, str(folder)), daemon=True).start()


def _run(line: socket.socket, folder: str) -> None:
    """One command, to its end. Where the program is killed, so is the command."""
    with line, ExitStack() as stack:
        head, streams, _, _ = socket.recv_fds(line, _NUMBER, 3)
        for one in streams:
            stack.callback(os.close, one)
        order = line.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)
        arguments, where, environ = marshal.loads(order)  # noqa: S302 - from the program above
        process = _started(arguments, where, environ, streams, folder)
        if process is None:
            _say(line, 0)
            return
        stack.close()
        _say(line, process.pid)
        threading.Thread(target=_watch, args=(line, process), daemon=True).start()
        _say(line, process.wait())


def _started(
    arguments: list[str], folder: str, environ: dict[str, str], streams: list[int], own: str
) -> subprocess.Popen[Any] | None:
    ways = environ.get("PATH", "").split(os.pathsep)
    environ["PATH"] = os.pathsep.join(one for one in ways if one != own)
    if environ.get("LC_CTYPE") == "C.UTF-8" and not {"LANG", "LC_ALL"} & {*environ}:
        del environ["LC_CTYPE"]  # Python's own, of the program
    stdin, stdout, stderr = streams
    command = [sys.executable, "-m", "gatewright", *arguments]
    options: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
    if not fork_server.can_fork(command, environ):
        return None
    return fork_server.Popen(command, cwd=folder, env=environ, **options)


def _watch(line: socket.socket, process: subprocess.Popen[Any]) -> None:
    with suppress(OSError):  # closed: the command has ended before
        if not line.recv(1):
            process.send_signal(signal.SIGTERM)


def _say(line: socket.socket, number: int) -> None:
    with suppress(OSError):
        line.sendall(number.to_bytes(_NUMBER, "little", signed=True))
