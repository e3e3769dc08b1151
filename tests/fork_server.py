"""Fork servers for `python -m gatewright`, `python script.py` and worker processes in tests: each starts where its imports are done.

Most of what a short command or a small tool server costs is imports, so each process of pytest starts three such servers when it
needs them first, and `Popen` and `run` have them fork instead of starting Python. What runs is a process of its own with the
given arguments, folder, environment and descriptors; the server tells how it ended. Where that would not be the same (another
interpreter, options of it, a system without `pidfd_open`, measured coverage) the ordinary way is taken.

Gateways have their tool servers and worker processes started so as well: both those that run in a process of pytest, and those that are forked
themselves (`adopt`). How a program is started is the subject of `tests/transport`, whose programs are no scripts.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, cast, overload

from gatewright.transport import launch, workers
from tests.forking import MOST, SAID

__all__ = ["OWN_CHILDREN", "WORKERS", "Popen", "adopt", "begin", "can_fork", "run"]

_ROOT = Path(__file__).resolve().parents[1]
_COMMAND = [sys.executable, "-m", "gatewright"]
_WORKER = [sys.executable, "-I", "-m"]
WORKERS = ("gatewright.app.worker", "gatewright.audit.offload", "gatewright.servers.openapi.reader")
"""Modules of worker processes, which load no gateway."""

Kind = Literal["command", "script", "worker"]
OWN_CHILDREN = "GATEWRIGHT_TESTS_OWN_CHILDREN"
"""Of a gateway whose children are looked at: what is forked for it is a child of the fork server."""

_UNKNOWN_MS = 5000
"""How long a process that was ordered in vain is waited for, to end it."""

_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_INTERPRETER = {
    "PYTHONUTF8": ("1",),
    "PYTHONUNBUFFERED": ("", "1"),
    "PYTHONDONTWRITEBYTECODE": ("", "1"),
}
"""Variables of the interpreter that a fork can honour, with their values. Others have to be those of who forks."""
_OF_PYTHON = {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}
"""As they were when this process began, and are for who forks, whatever a test sets."""
_WITHOUT = frozenset((*_INTERPRETER, "PYTHON"))
"""Who forks may have them where they are not asked for: they change nothing of what a program does. (`PYTHON` is make's, where its
command line says it, and none of the interpreter's.)"""
_LIMITS = sorted({one for name, one in vars(resource).items() if name.startswith("RLIMIT_")})


class Popen(subprocess.Popen[Any]):
    """As `subprocess.Popen`; `forked` says which way it was started."""

    forked = False
    _ended_at = -1

    def _execute_child(self, *given: Any) -> None:
        asked = signature(subprocess.Popen._execute_child).bind(self, *given).arguments  # type: ignore[attr-defined]
        order = _order(asked) if _is_plain(asked) else None
        if order is None or not _server(order[0]).is_ready():
            super()._execute_child(*given)  # type: ignore[misc]
            return
        self.forked = True
        streams = [asked[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        try:
            self.pid, self._ended_at = _server(order[0]).start(
                order[1], [at if one == -1 else one for at, one in enumerate(streams)]
            )
        finally:
            self._close_pipe_fds(*(asked[name] for name in _PIPES))  # type: ignore[attr-defined]
        self._child_created = True

    def _internal_poll(self, *given: Any, **named: Any) -> int | None:
        if not self.forked:
            return cast("int | None", super()._internal_poll(*given, **named))  # type: ignore[misc]
        lock = self._waitpid_lock  # type: ignore[attr-defined]
        if self.returncode is None and lock.acquire(blocking=False):  # else another thread waits
            try:
                if (ended := self._read(0)) is not None:
                    self.returncode = ended
            finally:
                lock.release()
        return cast("int | None", self.returncode)

    def _wait(self, timeout: float | None) -> int | None:
        """Woken by the end. subprocess looks for it again and again, ever more rarely, where there is a limit."""
        if self.forked and timeout is not None and self.returncode is None:
            lock = self._waitpid_lock  # type: ignore[attr-defined]
            if lock.acquire(blocking=False):  # else another thread waits
                try:
                    if (ended := self._read(math.ceil(timeout * 1000))) is not None:
                        self.returncode = ended
                finally:
                    lock.release()
                if self.returncode is None:
                    raise subprocess.TimeoutExpired(self.args, timeout)
        return cast("int | None", super()._wait(timeout=timeout))  # type: ignore[misc]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if not self.forked:
            return cast("tuple[int, int]", super()._try_wait(wait_flags))  # type: ignore[misc]
        if self._ended_at == -1:
            raise AssertionError("how the process ended was said before, and nobody kept it")
        ended = self._read(0 if wait_flags else None)
        return (0, 0) if ended is None else (self.pid, ended)

    def _handle_exitstatus(self, sts: int, *given: Any) -> None:
        if self.forked:
            self.returncode = sts
        else:
            super()._handle_exitstatus(sts, *given)  # type: ignore[misc]

    def _read(self, milliseconds: int | None) -> int | None:
        """How it ended, or None where it has not within that time, or was told before. Only for who has the lock."""
        if self._ended_at == -1:
            return None
        waiting = select.poll()
        waiting.register(self._ended_at, select.POLLIN)
        if not waiting.poll(milliseconds):
            return None
        try:
            return _heard(self._ended_at, b"e")
        finally:
            os.close(self._ended_at)
            self._ended_at = -1


@overload
def run(
    command: Sequence[str],
    *,
    text: Literal[True],
    input: str = ...,
    timeout: float,
    check: bool,
    **options: Any,
) -> subprocess.CompletedProcess[str]: ...


@overload
def run(
    command: Sequence[str],
    *,
    input: bytes = ...,
    timeout: float,
    check: bool,
    **options: Any,
) -> subprocess.CompletedProcess[bytes]: ...


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run`, with both outputs captured."""
    given = options.pop("input", None)
    timeout = options.pop("timeout")
    check = options.pop("check")
    if given is not None:
        options["stdin"] = subprocess.PIPE
    if options.pop("capture_output", True):
        options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(command, **options) as process:
        try:
            out, err = process.communicate(given, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def _heard(descriptor: int, kind: bytes) -> int:
    said = os.read(descriptor, SAID.size)
    if len(said) != SAID.size or said[:1] != kind:
        raise AssertionError(f"the fork server said {said!r}; its own errors are on standard error")
    number: int = SAID.unpack(said)[1]
    return number


def _end_unknown(told_at: int) -> None:
    """End what was ordered by somebody who was interrupted before it said which process it is: nobody else knows it."""
    waiting = select.poll()
    waiting.register(told_at, select.POLLIN)
    if not waiting.poll(_UNKNOWN_MS):
        return
    said = os.read(told_at, SAID.size)
    if len(said) == SAID.size and said[:1] == b"p" and not waiting.poll(0):
        with suppress(ProcessLookupError):
            os.kill(SAID.unpack(said)[1], signal.SIGKILL)


def _is_plain(asked: Mapping[str, Any]) -> bool:
    """Whether nothing is asked for that an order does not say."""
    plain: dict[str, Any] = {
        "preexec_fn": None,
        "pass_fds": (),
        "shell": False,
        "close_fds": True,
        "executable": None,
    }
    plain |= {"gid": None, "gids": None, "uid": None, "umask": -1, "process_group": -1}
    return all(asked[key] == value for key, value in plain.items())


def can_fork(command: Sequence[str], environment: Mapping[str, str]) -> Kind | None:
    """Which server would start it, None where it would not be the same, forked or not."""
    kind = _kind(command)
    if kind not in _kinds or any(one.startswith("COVERAGE_") for one in os.environ):
        return None
    other = any(
        name.startswith(("PYTHON", "LC_", "LANG", "COVERAGE_"))
        and value not in (_theirs().get(name), *_INTERPRETER.get(name, ()))
        for name, value in environment.items()
    )
    return None if other or _OF_PYTHON.keys() - environment.keys() - _WITHOUT else kind


def _theirs() -> dict[str, str]:
    """The environment of who forks."""
    now = {name: one for name, one in os.environ.items() if not name.startswith("PYTHON")}
    return now | _OF_PYTHON


def _kind(command: Sequence[str]) -> Kind | None:
    if list(command[:3]) == _COMMAND:
        return "command"
    if list(command[:3]) == _WORKER and command[3:4] == command[3:] and command[-1] in WORKERS:
        return "worker"
    python = len(command) > 1 and command[0] == sys.executable
    return "script" if python and command[1].endswith(".py") and command[1][0] != "-" else None


def _order(asked: Mapping[str, Any]) -> tuple[Kind, bytes] | None:
    """Who is to start it, and what is said to him; None where it would not be the same."""
    if not isinstance(asked["args"], list | tuple):
        return None
    command = [os.fspath(one) for one in asked["args"]]
    given: Mapping[str, str] | None = asked["env"]
    environment = os.environ if given is None else given
    folder = Path(asked["cwd"] or Path.cwd())
    kind = can_fork(command, environment)
    if kind is None or (kind == "script" and not (folder / command[1]).is_file()):
        return None
    order = {
        "arguments": command[1 if kind == "script" else 3 :],
        "folder": str(folder),
        "environment": dict(environment),
        "session": bool(asked["start_new_session"]),
        "mask": _mask(),
        "limits": [(one, *resource.getrlimit(one)) for one in _LIMITS],
    }
    body = json.dumps(order).encode()
    return (kind, body) if len(body) < MOST else None


def _mask() -> int:
    """What is taken from the modes of new files. The call that says it changes it, for all threads."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("Umask:", 1)[1].split(None, 1)[0], 8)


class _Server:
    """One end of the connection to a process that forks."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control

    def is_ready(self, wait_ms: int = 0) -> bool:
        """Whether it forks at once."""
        return True

    def start(self, order: bytes, streams: Sequence[int]) -> tuple[int, int]:
        """The process, and the descriptor on which its end is said."""
        ended_at, theirs = os.pipe()
        try:
            try:
                socket.send_fds(self.control, [order], [*streams, theirs])
            finally:
                os.close(theirs)
            return _heard(ended_at, b"p"), ended_at
        except BaseException:
            try:
                _end_unknown(ended_at)
            finally:
                os.close(ended_at)
            raise


class _Started(_Server):
    """A process that forks, and the connection to it."""

    def __init__(self, kind: Kind, *others: socket.socket) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(ours)
        self._says = kind == "worker"
        given = [theirs.fileno(), *(one.fileno() for one in others)]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"tests.forked_{kind}", *map(str, given)],
                pass_fds=given,
                cwd=_ROOT,
                # One thread: who forks has no others, and a gateway that searches counts with one anyway.
                env={
                    **_theirs(),
                    "PYTHONUTF8": "1",
                    "PYTHONUNBUFFERED": "",
                    "OPENBLAS_NUM_THREADS": "1",
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def is_ready(self, wait_ms: int = 0) -> bool:
        """What it says stays to be read."""
        waiting = select.poll()
        waiting.register(self.control, select.POLLIN)
        return not self._says or bool(waiting.poll(wait_ms))

    def close(self) -> None:
        """End it, with what it has started."""
        self.control.close()
        self._process.wait(20)


_kept: dict[Kind, _Server] = {}
_OF_GATEWAYS: tuple[Kind, ...] = ("script", "worker")
"""What gateways start."""
_first = threading.Lock()
_kinds: set[Kind | None] = {*_OF_GATEWAYS, "command"} if hasattr(os, "pidfd_open") else set()


def _server(kind: Kind) -> _Server:
    with _first:
        return _kept.get(kind) or _keep(kind)


def _keep(kind: Kind) -> _Server:
    _kept[kind] = server = _begun(kind)
    atexit.register(server.close)
    return server


def _begun(kind: Kind) -> _Started:
    """Processes that fork commands are told over which sockets gateways have other kinds started."""
    others = _OF_GATEWAYS if kind == "command" else ()
    return _Started(kind, *((_kept.get(one) or _keep(one)).control for one in others))


def begin() -> None:
    """Start what forks ahead of the first order, which has to wait for it otherwise."""
    if can_fork(_COMMAND, os.environ):
        _server("command")


def adopt(*others: socket.socket) -> None:
    """Tool servers and worker processes of gateways in this process are started as `Popen` does it. In one that a fork server has made
    they are started over these sockets, and commands as they are everywhere; `OWN_CHILDREN` in the environment has them started as
    they are, too."""
    if others:
        for kind, one in zip(_OF_GATEWAYS, others, strict=True):
            _kept[kind] = _Server(one)
        _kinds.discard("command")
        if OWN_CHILDREN in os.environ:
            return
    module = ModuleType("subprocess")
    vars(module).update(vars(subprocess), Popen=Popen)
    for starts in (launch, workers):
        vars(starts)["subprocess"] = module
