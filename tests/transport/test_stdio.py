from __future__ import annotations

import asyncio
import os
import pty
import socket
import subprocess
import sys
import tty
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import IO, Any

import pytest

from gatewright.transport.base import FROM_CLIENTS, SLOW_READER, Closed, Limits
from gatewright.transport.process import spawn
from gatewright.transport.stdio import StdioPipe, open_stdio
from tests.transport.collecting import DEADLINE_S, Collector, within

ECHO = """
import asyncio, os, subprocess, sys, uvloop
from gatewright.transport.stdio import open_stdio

class Echo:
    def message(self, data):
        self.pipe.send(b"echo " + data)
    def closed(self, reason):
        print("end:", reason, flush=True)

async def main():
    echo = Echo()
    echo.pipe = await open_stdio(echo)
    print("a stray print", flush=True)
    if sys.stdout is not None:
        os.write(1, b"a stray write\\n")
        subprocess.run(["sh", "-c", "echo a stray child; cat"], check=True)
    await echo.pipe.wait_closed()
    await echo.pipe.stop(10)

loop = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}[sys.argv[1]]
with asyncio.Runner(loop_factory=loop) as runner:
    runner.run(main())
"""
STRAY = ["a stray print", "a stray write", "a stray child"]
LOOPS = ["asyncio", "uvloop"]
Open = Callable[..., Coroutine[Any, Any, tuple[StdioPipe, Collector]]]


def echo(loop: str, stdin: IO[bytes] | int, stdout: IO[bytes] | int) -> list[str]:
    """Run the echo program on such descriptors and return what it logged."""
    done = subprocess.run(
        [sys.executable, "-c", ECHO, loop],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=DEADLINE_S,
        check=True,
    )
    return done.stderr.decode().splitlines()


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    """Opens pipes on descriptors of the test's own, which it also closes."""
    taken: list[int] = []

    async def opener(
        stdin: int, stdout: int, limits: Limits = FROM_CLIENTS
    ) -> tuple[StdioPipe, Collector]:
        collector = Collector()
        taken.extend({stdin, stdout})
        pipe = await open_stdio(collector, limits, stdin=stdin, stdout=stdout)
        return pipe, collector

    yield opener
    for descriptor in taken:
        os.close(descriptor)
    await asyncio.sleep(0.01)


async def test_only_messages_reach_standard_output_whatever_is_printed() -> None:
    collector = Collector()
    child = await spawn(
        sys.executable, ["-c", ECHO, "uvloop"], receiver=collector, stderr=collector.line
    )
    child.send(b'{"a":1}')
    child.send(b'{"b":2}')
    assert await collector.count(2) == [b'echo {"a":1}', b'echo {"b":2}']
    await within(child.stop(DEADLINE_S))
    assert child.returncode == 0
    assert collector.lines == [*STRAY, "end: end of input"]


@pytest.mark.parametrize("loop", LOOPS)
def test_regular_files_serve_as_input_and_output(loop: str, tmp_path: Path) -> None:
    lines = [b"%d" % number for number in range(30_000)]
    (tmp_path / "in").write_bytes(b"\n".join(lines) + b"\n")
    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        assert echo(loop, stdin, stdout) == [*STRAY, "end: end of input"]
    assert (tmp_path / "out").read_bytes().splitlines() == [b"echo " + line for line in lines]


@pytest.mark.parametrize("loop", LOOPS)
def test_the_null_device_is_an_empty_input_and_a_silent_output(loop: str) -> None:
    assert echo(loop, subprocess.DEVNULL, subprocess.DEVNULL) == [*STRAY, "end: end of input"]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_file_that_cannot_grow_ends_the_pipe_with_a_reason(loop: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"1\n" * 100)
    # A run that measures coverage would want to write a file of its own.
    unmeasured = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", sys.executable, "-c", ECHO, loop],
            env=unmeasured,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=DEADLINE_S,
            check=True,
        )
    assert done.stderr.decode().splitlines()[-1] in {
        "end: end of input",
        "end: cannot write: File too large",
    }
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.parametrize("streams", ["<&- >&-", "<&-", ">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("loop", LOOPS)
def test_missing_streams_are_an_empty_input_and_a_silent_output(loop: str, streams: str) -> None:
    filled = "import gatewright.transport.stdio as s; s.fill_missing_streams()\n" + ECHO
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, "-c", filled, loop],
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0


def test_numbers_that_belong_to_the_event_loop_are_left_to_it() -> None:
    """Without the filling, a loop that was made meanwhile owns 0 and 1; taking those away would stop it."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&-', "sh", sys.executable, "-c", ECHO, "asyncio"],
        stderr=subprocess.PIPE,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")


async def test_a_terminal_serves_as_input_and_output_and_stays_blocking(opened: Open) -> None:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    other = os.dup(theirs)
    pipe, collector = await opened(theirs, os.dup(theirs))
    os.write(ours, b"typed\n")
    assert await collector.count(1) == [b"typed"]
    pipe.send(b"shown")
    assert await asyncio.to_thread(os.read, ours, 100) == b"shown\n"
    assert os.get_blocking(other)
    await within(pipe.stop(5))
    os.close(ours)
    os.close(other)


async def test_one_socket_may_serve_both_ways(opened: Open) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        descriptor = theirs.detach()
        pipe, collector = await opened(descriptor, os.dup(descriptor))
        for number in range(3):
            ours.sendall(b"ask\n")
            await collector.count(number + 1)
            pipe.send(b"answer")
            assert await asyncio.to_thread(ours.recv, 100) == b"answer\n"
        ours.shutdown(socket.SHUT_WR)
        assert await collector.end() == "end of input"
        pipe.send(b"still")
        await within(pipe.stop(5))
        assert await asyncio.to_thread(ours.recv, 100) == b"still\n"
        assert await asyncio.to_thread(ours.recv, 100) == b""


async def test_answers_may_be_sent_after_the_end_of_the_input(opened: Open) -> None:
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    pipe, collector = await opened(read_in, write_out)
    os.write(write_in, b"ask\nhalf")
    os.close(write_in)
    assert await collector.end() == "half a frame, then the end of input"
    assert await within(pipe.wait_closed()) == "half a frame, then the end of input"
    pipe.send(b"answer")
    await within(pipe.stop(5))
    assert os.read(read_out, 100) == b"answer\n"
    with pytest.raises(Closed, match="closed"):
        pipe.send(b"late")
    os.close(read_out)


async def test_the_descriptors_are_taken_away_from_everybody_else(opened: Open) -> None:
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    pipe, collector = await opened(read_in, write_out)
    os.write(write_in, b"for the pipe\n")
    assert os.read(read_in, 100) == b""
    assert await collector.count(1) == [b"for the pipe"]
    pipe.close()
    pipe.close()
    assert await collector.end() == "closed"
    assert await asyncio.to_thread(os.read, read_out, 100) == b""
    os.close(read_out)
    os.close(write_in)


async def test_a_host_that_goes_away_ends_the_pipe(opened: Open) -> None:
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    pipe, collector = await opened(read_in, write_out)
    os.close(read_out)
    assert await collector.end() == "closed by the peer"
    with pytest.raises(Closed, match="closed by the peer"):
        pipe.send(b"x")
    await within(pipe.stop(5))
    os.close(write_in)


async def test_a_host_that_does_not_read_is_a_slow_reader(opened: Open) -> None:
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    pipe, collector = await opened(
        read_in, write_out, Limits(queue_bytes=1 << 16, burst_bytes=1 << 18)
    )
    with pytest.raises(Closed) as caught:  # noqa: PT012 - which of the sends raises is the pipe's affair
        for _ in range(100):
            pipe.send(b"x" * 65536)
            await asyncio.sleep(0)
    assert caught.value.reason == SLOW_READER
    assert await collector.end() == SLOW_READER
    os.close(read_out)
    os.close(write_in)


async def test_stopping_does_not_wait_for_ever_for_a_host_that_does_not_read(opened: Open) -> None:
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    pipe, collector = await opened(read_in, write_out)
    pipe.send(b"x" * (1 << 20))
    await within(pipe.stop(0.05))
    assert await collector.end() == "closed"
    os.close(read_out)
    os.close(write_in)


async def test_a_line_over_the_limit_ends_the_pipe(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"ok\n" + b"x" * 200_000)
    read_out, write_out = os.pipe()
    stdin = os.open(tmp_path / "in", os.O_RDONLY)
    _, collector = await opened(stdin, write_out, Limits(frame_bytes=100_000))
    assert await collector.end() == "a message longer than 100000 bytes"
    assert collector.messages == [b"ok"]
    os.close(read_out)


async def test_a_flood_from_a_file_leaves_turns_to_others(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"{}\n" * 100_000)
    stdin = os.open(tmp_path / "in", os.O_RDONLY)
    stdout = os.open(os.devnull, os.O_WRONLY)
    pipe, collector = await opened(stdin, stdout, Limits(turn_messages=100))
    turns = 0
    while not collector.ends:
        turns += 1
        await asyncio.sleep(0)
    assert len(collector.messages) == 100_000
    assert turns >= 1000
    pipe.close()
