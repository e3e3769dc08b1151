"""Runs a tool server as a child process: messages over stdio, stderr lines, exit detection, stopping its process group.

Everything runs on the event loop: the pipes are asyncio transports, the exit is a descriptor to read (Linux) or a look every 50 ms
(elsewhere), every step of stopping is a timer. No thread and no task belongs to a child, so none can be forgotten or cancelled halfway.

How a child ends. On Linux its exit is noticed while it is still a zombie: its number cannot be that of another process then, so what is
left of its group is killed, and only then is it reaped. What it wrote before is still delivered. A child that closes one of its streams
without exiting is stopped, as the MCP specification says: close its standard input, wait, SIGTERM, wait, SIGKILL, to the whole group.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from gatewright.transport.base import FROM_SERVERS, SLOW_READER, Closed, Limits, Receiver
from gatewright.transport.exit_watch import ExitWatch
from gatewright.transport.isolation.rules import Isolation
from gatewright.transport.isolation.sandbox import Sandbox
from gatewright.transport.isolation.start import launch_isolated
from gatewright.transport.launch import launch
from gatewright.transport.line_stream import HALF_A_FRAME, LineInbox, LineOutbox
from gatewright.transport.pipe_ends import End
from gatewright.transport.stderr import LogLines

__all__ = ["ChildProcess", "spawn"]

LINGER_S = 1.0
"""How long the exit may lag behind the end of the output, or the end of the output behind the exit."""
CLOSE_GRACE_S = 5.0
"""How patient `close` is at each step of stopping unless told otherwise."""
FLOOD_PAUSE_S = 0.01
"""How long standard error is not read after `turn_bytes` of it; a flood of log lines may wait."""


async def spawn(
    command: str,
    args: Sequence[str] = (),
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    receiver: Receiver,
    limits: Limits = FROM_SERVERS,
    stderr: Callable[[str], None],
    isolation: Isolation | None = None,
) -> ChildProcess:
    """Start a tool server. `stderr` takes its log lines; `env` and `cwd` are as in `transport.launch`.

    Raises `CannotStart`, also where `isolation` cannot be kept here.
    """
    if isolation is None:
        process, sandbox = launch(command, args, env=env or {}, cwd=cwd), None
    else:
        process, sandbox = await launch_isolated(isolation, command, args, env=env or {}, cwd=cwd)
    child = ChildProcess(process, receiver, limits, stderr, sandbox)
    connecting = asyncio.ensure_future(child.connect())
    try:
        await asyncio.shield(connecting)
    except asyncio.CancelledError:
        # A half-made transport cannot be closed safely; it is a whole one in a turn or two.
        connecting.add_done_callback(lambda _: child.close(0))
        raise
    except BaseException:
        child.abandon()
        raise
    return child


class ChildProcess:
    """A running child; a `Pipe` with a `pid`. Made by `spawn`.

    Reasons of its end: `stopped`, `exited with status N`, `killed by SIGNAL` (or `signal N`), `half a frame, then exited …`,
    `slow reader`, `a message longer than N bytes`, `closed its input`, `closed its output`.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        receiver: Receiver,
        limits: Limits,
        stderr: Callable[[str], None],
        sandbox: Sandbox | None = None,
    ) -> None:
        self.pid = process.pid
        self._sandbox = sandbox
        self._removed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._process = process
        self._limits = limits
        self._end = End(receiver)
        self._log = LogLines(limits, stderr)
        self._refused: str | None = None
        self._verdict: str | None = None
        self._half = False
        self._exited = asyncio.Event()
        self._input_open = True
        self._open_outputs = 2  # standard output and standard error
        self._timers: list[asyncio.TimerHandle] = []
        self._due: dict[signal.Signals, float] = {}  # by the loop's time
        self._transports: list[asyncio.BaseTransport] = []
        self._watch = ExitWatch(process, self._on_exit)

    @property
    def returncode(self) -> int | None:
        """The exit status, negative for a signal; None while the child runs."""
        return self._process.returncode

    async def connect(self) -> None:
        """Attach the three pipes to the loop. `spawn` does this."""
        process, loop = self._process, self._loop
        self._stdin, _ = await loop.connect_write_pipe(
            lambda: _Input(self._on_input_lost), process.stdin
        )
        self._transports.append(self._stdin)
        self._outbox = LineOutbox(self._stdin, self._limits, lambda: self._fail(SLOW_READER))
        self.send_soon = self._outbox.send_behind  # as `base.send_soon`
        for pipe, make in ((process.stdout, self._output), (process.stderr, self._errors)):
            transport, _ = await loop.connect_read_pipe(make, pipe)
            self._transports.append(transport)
        self._watch.start()
        self._inbox.start()

    @property
    def waiting(self) -> int:
        """See `Pipe.waiting`."""
        return self._outbox.waiting()

    def send(self, message: bytes) -> None:
        """Write one message to the child's standard input; see `Pipe.send`."""
        if self._refused is not None:
            raise Closed(self._end.reason or self._refused)
        if not self._outbox.send(message):
            self._fail(SLOW_READER)
            raise Closed(SLOW_READER)

    def close(self, grace_s: float = CLOSE_GRACE_S) -> None:
        """Stop the child as `stop` does, without waiting for it."""
        if self._verdict is None:
            self._begin_stop(grace_s)

    async def stop(self, grace_s: float) -> None:
        """Stop the child, giving it `grace_s` seconds after each step, and wait until it is gone."""
        self._begin_stop(grace_s)
        await self._exited.wait()
        await self._end.wait()
        if self._sandbox is not None:
            await self._removed.wait()

    async def wait_closed(self) -> str:
        """Wait until the pipe is closed; the process itself may still be on its way out (see `stop`)."""
        return await self._end.wait()

    def abandon(self) -> None:
        """Undo a start whose `connect` failed: kill, reap, close."""
        self._kill_group()
        self._process.wait()
        if self._sandbox is not None:
            self._sandbox.remove_soon(self._removed.set)
        for transport in self._transports:
            transport.close()
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        for pipe in pipes[len(self._transports) :]:
            if pipe is not None:
                with contextlib.suppress(OSError):  # the loop may have closed its descriptor
                    pipe.close()

    def _begin_stop(self, grace_s: float, reason: str = "stopped") -> None:
        if self._exited.is_set():
            return
        self._refuse(reason)
        self._verdict = self._verdict or reason
        self._outbox.flush()
        self._outbox.stop()
        self._stdin.close()
        self._cancel_timers()
        # Of two stops the nearer end counts: who asks once more, because somebody waits, does not give it more time.
        for steps, number in enumerate((signal.SIGTERM, signal.SIGKILL), 1):
            due = min(self._due.get(number, math.inf), self._loop.time() + steps * grace_s)
            self._due[number] = due
            if due > -math.inf:
                self._timers.append(self._loop.call_at(due, self._step, number))

    def _step(self, number: signal.Signals) -> None:
        self._due[number] = -math.inf
        self._signal(number)

    def _fail(self, reason: str) -> None:
        """End the pipe at once; the process follows as quickly as it can be made to."""
        self._refuse(reason)
        self._finish(reason)
        self._begin_stop(LINGER_S, reason)
        self._signal(signal.SIGTERM)

    def _refuse(self, reason: str) -> None:
        if self._refused is None:
            self._refused = reason
            self._outbox.refuse()

    def _finish(self, reason: str) -> None:
        self._outbox.stop()
        self._end.finish(reason)
        self._inbox.drop()
        if self._input_open and self._stdin.get_write_buffer_size():
            self._stdin.abort()  # nobody will read it, and `close` would wait for somebody to
        for transport in self._transports:
            transport.close()

    def _on_input_lost(self) -> None:
        self._input_open = False
        self._outbox.stop()
        self._refuse("closed its input")
        self._expect_exit("closed its input")

    def _output(self) -> _Output:
        def made(transport: asyncio.ReadTransport) -> LineInbox:
            self._inbox = LineInbox(transport, self._end, self._limits, self._fail)
            return self._inbox

        return _Output(made, self._on_output_end)

    def _errors(self) -> _Errors:
        return _Errors(self._log, self._limits, lambda: self._on_output_end(half=False))

    def _on_output_end(self, half: bool) -> None:
        self._open_outputs -= 1
        self._half = self._half or half
        if not self._exited.is_set():
            self._expect_exit("closed its output")
        elif not self._open_outputs:
            self._finish(self._describe_exit())

    def _expect_exit(self, reason: str) -> None:
        """A stream is over, which usually means that the exit is a moment away; otherwise make it so."""
        if self._verdict is None and not self._exited.is_set():
            self._after(LINGER_S, lambda: self._begin_stop(LINGER_S, reason))

    def _on_exit(self) -> None:
        # Before the zombie is reaped: until then its number cannot be that of another group.
        self._kill_group()
        self._process.wait()
        self._exited.set()
        self._cancel_timers()
        if self._sandbox is not None:
            self._sandbox.remove_soon(self._removed.set)
        self._refuse(self._describe_exit())
        if self._open_outputs:
            # Something that left the group may hold the pipes open; it cannot hold us.
            self._after(LINGER_S, lambda: self._finish(self._describe_exit()))
        else:
            self._finish(self._describe_exit())

    def _describe_exit(self) -> str:
        status = self._process.returncode
        if self._sandbox is not None and status > 128:  # so bwrap tells of a signal
            status = 128 - status
        if status >= 0:
            exit_ = f"exited with status {status}"
        else:
            exit_ = f"killed by {_signal_name(-status)}"
        return f"{HALF_A_FRAME}, then {exit_}" if self._half else self._verdict or exit_

    def _signal(self, number: signal.Signals) -> None:
        if self._exited.is_set():
            return
        # To the outermost process of a sandbox SIGTERM would be the sudden end of all that are in it.
        if (
            self._sandbox is None
            or number == signal.SIGKILL
            or not self._sandbox.signal(self.pid, number)
        ):
            self._signal_group(number)

    def _kill_group(self) -> None:
        self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: signal.Signals) -> None:
        # No such group: all are gone. No permission (macOS): nothing but zombies is left of it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _after(self, delay: float, action: Callable[[], None]) -> None:
        self._timers.append(self._loop.call_later(delay, action))

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()


def _signal_name(number: int) -> str:
    """Its name; of the real-time signals only the first and the last have one."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Input(asyncio.BaseProtocol):
    """The child's standard input, of which we only want to know that it is gone."""

    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost()


class _Output(asyncio.Protocol):
    """The child's standard output: messages."""

    def __init__(
        self,
        made: Callable[[asyncio.ReadTransport], LineInbox],
        over: Callable[[bool], None],
    ) -> None:
        self._made = made
        self._over = over

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inbox = self._made(cast("asyncio.ReadTransport", transport))

    def data_received(self, data: bytes) -> None:
        self._inbox.feed(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._inbox.end(self._over)


class _Errors(asyncio.Protocol):
    """The child's standard error: log lines, read at leisure when there are too many."""

    def __init__(self, lines: LogLines, limits: Limits, over: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines = lines
        self._limits = limits
        self._over = over
        self._budget = limits.turn_bytes
        self._pause: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._lines.feed(data, self._loop.time())
        self._budget -= len(data)
        if self._budget <= 0 and self._pause is None:
            self._transport.pause_reading()
            self._pause = self._loop.call_later(FLOOD_PAUSE_S, self._resume)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._pause is not None:
            self._pause.cancel()
        self._lines.end()
        self._over()

    def _resume(self) -> None:
        self._pause = None
        self._budget = self._limits.turn_bytes
        if not self._transport.is_closing():
            self._transport.resume_reading()
