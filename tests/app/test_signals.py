"""SIGHUP reads the configuration again, except where it says that the terminal was closed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap

import pytest

from gatewright.app.signals import before

PROGRAM = textwrap.dedent(
    """
    import asyncio
    from gatewright.app.signals import on_hangup, stop_signal

    async def main():
        stop = stop_signal()
        on_hangup(lambda: print("again", flush=True))
        print("ready", flush=True)
        await stop
        print("stopped", flush=True)

    asyncio.run(main())
    """
)
HEEDED = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
"""The tests themselves may have been started by `nohup`, which every child inherits."""
AT_TERMINAL = HEEDED + "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
DEADLINE_S = 30.0


def test_a_hangup_is_a_wish_to_read_again() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2):
            process.send_signal(1)
            assert process.stdout.readline() == "again\n"
        process.terminate()
        assert process.communicate(timeout=DEADLINE_S)[0] == "stopped\n"


def closed_terminal(before: str) -> subprocess.Popen[str]:
    """The program at a terminal that was closed once it was ready. Its standard output is a pipe."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", AT_TERMINAL + before + PROGRAM],
        stdin=theirs,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    os.close(theirs)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.close(ours)
    return process


def test_a_terminal_that_is_closed_ends_the_program_in_order() -> None:
    with closed_terminal("") as process:
        assert process.communicate(timeout=DEADLINE_S)[0] == "stopped\n"
        assert process.returncode == 0


def test_a_program_that_was_to_outlive_its_terminal_does() -> None:
    with closed_terminal("import signal; signal.signal(1, signal.SIG_IGN)\n") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "again\n"
        process.terminate()
        assert process.communicate(timeout=DEADLINE_S)[0] == "stopped\n"


async def test_what_takes_long_is_given_up_when_we_are_told_to_stop() -> None:
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    given_up = asyncio.Event()

    async def long() -> None:
        try:
            await asyncio.sleep(DEADLINE_S)
        finally:
            given_up.set()

    asyncio.get_running_loop().call_later(0.01, stop.set_result, None)
    assert not await before(stop, long())
    await asyncio.wait_for(given_up.wait(), DEADLINE_S)
    assert not await before(stop, asyncio.sleep(0))


async def test_what_is_done_before_we_are_told_to_stop_says_so_or_fails() -> None:
    stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def fails() -> None:
        raise OSError("it fails")

    assert await before(stop, asyncio.sleep(0))
    with pytest.raises(OSError, match="it fails"):
        await before(stop, fails())
