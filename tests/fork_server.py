"""Fork server for `python -m gatewright` in tests: commands start in a process that has imported the package already.

Most of what a short command costs is imports, so each process of pytest starts one such server when it needs it first, and
`Popen` and `run` have it fork instead of starting Python. What runs is a process of its own with the given arguments, folder,
environment and descriptors; the server tells how it ended. Where that would not be the same (another interpreter, options of
it, a system without `pidfd_open`, measured coverage) the ordinary way is taken.
"""

from __future__ import annotations

import atexit
import gc
import json
import math
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any, Literal, NoReturn, cast, overload

from tests.forked_process import become, leave
from tests.huge_pages import collapse

__all__ = ["Popen", "can_fork", "main", "run"]

_ROOT = Path(__file__).resolve().parents[1]
_HEAD = struct.Struct("!I")
_SAID = struct.Struct("!ci")
"""`p` and the number of a process that has started, then `e` and its exit code."""
_COMMAND = [sys.executable, "-m", "gatewright"]
_DESCRIPTORS = 4
"""What comes with an order: the three standard streams, and where to say which process it is and how it ended."""

_UNKNOWN_MS = 5000
"""How long a process that was ordered in vain is waited for, to end it."""

_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_INTERPRETER = {"PYTHONUTF8": ("1",), "PYTHONUNBUFFERED": ("", "1")}
"""Variables of the interpreter that a fork can honour, with their values. Others have to be those of this process."""


class Popen(subprocess.Popen[Any]):
    """As `subprocess.Popen`; `forked` says which way it was started."""

    forked = False
    _ended_at = -1

    def _execute_child(self, *given: Any) -> None:
        asked = signature(subprocess.Popen._execute_child).bind(self, *given).arguments  # type: ignore[attr-defined]
        if not _can_fork(asked):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        self.forked = True
        streams = [asked[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        try:
            self.pid, self._ended_at = _server().start(
                _order(asked), [at if one == -1 else one for at, one in enumerate(streams)]
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
    said = os.read(descriptor, _SAID.size)
    if len(said) != _SAID.size or said[:1] != kind:
        raise AssertionError(f"the fork server said {said!r}; its own errors are on standard error")
    number: int = _SAID.unpack(said)[1]
    return number


def _end_unknown(told_at: int) -> None:
    """End what was ordered by somebody who was interrupted before it said which process it is: nobody else knows it."""
    waiting = select.poll()
    waiting.register(told_at, select.POLLIN)
    if not waiting.poll(_UNKNOWN_MS):
        return
    said = os.read(told_at, _SAID.size)
    if len(said) == _SAID.size and said[:1] == b"p" and not waiting.poll(0):
        with suppress(ProcessLookupError):
            os.kill(_SAID.unpack(said)[1], signal.SIGKILL)


def _can_fork(asked: Mapping[str, Any]) -> bool:
    plain: dict[str, Any] = {
        "preexec_fn": None,
        "pass_fds": (),
        "shell": False,
        "close_fds": True,
        "executable": None,
    }
    plain |= {"gid": None, "gids": None, "uid": None, "umask": -1, "process_group": -1}
    if any(asked[key] != value for key, value in plain.items()):
        return False
    command = asked["args"]
    return isinstance(command, list | tuple) and can_fork(command, _environment(asked))


def can_fork(command: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether it would be the same, forked or not."""
    known = hasattr(os, "pidfd_open") and list(command[:3]) == _COMMAND
    return known and not any(
        name.startswith("COVERAGE_")
        or (
            name.startswith(("PYTHON", "LC_", "LANG"))
            and value not in (os.environ.get(name), *_INTERPRETER.get(name, ()))
        )
        for name, value in environment.items()
    )


def _environment(asked: Mapping[str, Any]) -> Mapping[str, str]:
    given: Mapping[str, str] | None = asked["env"]
    return os.environ if given is None else given


def _order(asked: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "arguments": [os.fspath(one) for one in asked["args"][3:]],
        "folder": os.fspath(asked["cwd"] or Path.cwd()),
        "environment": dict(_environment(asked)),
        "session": bool(asked["start_new_session"]),
    }


class _Server:
    """One end of the connection to the process that forks."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fork_server", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                cwd=_ROOT,
                env={**os.environ, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": ""},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def start(self, order: Mapping[str, Any], streams: Sequence[int]) -> tuple[int, int]:
        """The process, and the descriptor on which its end is said."""
        body = json.dumps(order).encode()
        ended_at, theirs = os.pipe()
        try:
            try:
                with self._turn:
                    socket.send_fds(self._control, [_HEAD.pack(len(body))], [*streams, theirs])
                    self._control.sendall(body)
            finally:
                os.close(theirs)
            return _heard(ended_at, b"p"), ended_at
        except BaseException:
            try:
                _end_unknown(ended_at)
            finally:
                os.close(ended_at)
            raise

    def close(self) -> None:
        """End it, with what it has started."""
        self._control.close()
        self._process.wait(20)


_kept: list[_Server] = []
_first = threading.Lock()


def _server() -> _Server:
    with _first:
        if not _kept:
            _kept.append(_Server())
            atexit.register(_kept[0].close)
        return _kept[0]


# -- the process that forks


class _Forking:
    """Forks for each order and says how what it started has ended."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._waiting = select.poll()
        self._waiting.register(control, select.POLLIN)
        self._children: dict[int, tuple[int, int]] = {}
        """Descriptor of a process → its number, and where its end is said."""

    def next(self) -> dict[str, Any] | None:
        """In a new process what it is to do; None, in the server alone, when nobody orders any more."""
        while True:
            for at, _ in self._waiting.poll():
                if at != self._control.fileno():
                    self._ended(at)
                elif (order := self._received()) is None:
                    self._end_all()
                    return None
                elif (mine := self._forked(*order)) is not None:
                    return mine

    def _received(self) -> tuple[dict[str, Any], list[int]] | None:
        head, found, _, _ = socket.recv_fds(self._control, _HEAD.size, _DESCRIPTORS)
        if len(head) < _HEAD.size:
            return None
        rest = _HEAD.unpack(head)[0]
        body = bytearray()
        while len(body) < rest:
            body += self._control.recv(rest - len(body))
        return json.loads(body), found

    def _forked(self, order: dict[str, Any], found: list[int]) -> dict[str, Any] | None:
        *streams, told_at = found
        pid = os.fork()
        if pid == 0:
            self._leave()
            become(order, streams)
            os.write(told_at, _SAID.pack(b"p", os.getpid()))
            os.close(told_at)
            return order
        for one in streams:
            os.close(one)
        child = os.pidfd_open(pid)
        self._children[child] = pid, told_at
        self._waiting.register(child, select.POLLIN)
        return None

    def _end_all(self) -> None:
        """Nobody is left who would: a run of tests that is killed leaves no gateway behind."""
        for pid, _ in self._children.values():
            os.kill(pid, signal.SIGTERM)

    def _leave(self) -> None:
        """A new process keeps nothing of the server's."""
        self._control.close()
        for child, (_, told_at) in self._children.items():
            os.close(child)
            os.close(told_at)

    def _ended(self, child: int) -> None:
        pid, told_at = self._children.pop(child)
        self._waiting.unregister(child)
        os.close(child)
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):  # nobody waits for it
            os.write(told_at, _SAID.pack(b"e", os.waitstatus_to_exitcode(status)))
        os.close(told_at)


def main() -> NoReturn:
    """Fork for whoever holds the other end of the socket whose descriptor is the argument."""
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # it ends with whoever holds the other end, and says until then what ended
        signal.signal(number, signal.SIG_IGN)
    from gatewright import __main__  # noqa: PLC0415 - only in the process that forks
    from tests.preloaded import preload  # noqa: PLC0415

    forking = _Forking(socket.socket(fileno=int(sys.argv[1])))
    preload()
    sys.argv[:] = [str(__main__.__file__)]
    gc.collect()
    gc.freeze()
    collapse()
    order = forking.next()
    if order is None:
        os._exit(0)
    from gatewright.cli import main as command  # noqa: PLC0415 - in the new process

    sys.argv += order["arguments"]
    try:
        command()
    except SystemExit as said:
        leave(said)
    raise AssertionError("a command ends by itself")


if __name__ == "__main__":
    main()
