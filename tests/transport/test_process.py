from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport.base import FROM_SERVERS, SLOW_READER, Closed, Limits
from gatewright.transport.launch import CommandNotFound
from gatewright.transport.process import ChildProcess, _signal_name, spawn
from tests.transport.collecting import DEADLINE_S, Collector, within

Start = Callable[..., Coroutine[Any, Any, tuple[ChildProcess, Collector]]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts children, and sees to it that none is left and no descriptor is lost."""
    children: list[ChildProcess] = []
    first = await spawn("true", receiver=Collector(), stderr=print)
    await within(first.stop(5))  # a loop may open a descriptor for itself at its first child
    before = descriptors()

    async def starter(
        *command: str, limits: Limits = FROM_SERVERS, **options: Any
    ) -> tuple[ChildProcess, Collector]:
        collector = options.pop("receiver", None) or Collector()
        child = await spawn(
            command[0],
            command[1:],
            receiver=collector,
            limits=limits,
            stderr=collector.line,
            **options,
        )
        children.append(child)
        return child, collector

    yield starter
    for child in children:
        await within(child.stop(0.05))
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)
    await asyncio.sleep(0)  # transports close their descriptors at the end of a turn
    await asyncio.sleep(0)
    assert descriptors() == before


def descriptors() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-S", "-u", "-c", code)


async def test_messages_go_there_and_back_in_order(start: Start) -> None:
    child, collector = await start("cat")
    sent = [b'{"id":%d}' % number for number in range(5000)]
    for message in sent:
        child.send(message)
    assert await collector.count(len(sent)) == sent


async def test_a_message_far_beyond_all_buffers_goes_through_whole(start: Start) -> None:
    child, collector = await start("cat")
    message = b"x" * (8 << 20)
    child.send(message)
    assert await collector.count(1) == [message]


async def test_what_was_sent_before_closing_still_arrives(start: Start) -> None:
    child, collector = await start("cat")
    assert child.send_soon(b"soon", 100)
    for _ in range(10):
        child.send(b"x" * 100_000)
    child.close()
    assert not child.send_soon(b"late", 2_000_000)
    child.close()
    assert await collector.end() == "stopped"
    assert [len(message) for message in collector.messages] == [4] + [100_000] * 10
    assert child.returncode == 0
    assert not child.send_soon(b"late", 100)
    with pytest.raises(Closed, match="stopped"):
        child.send(b"late")


async def test_an_exit_is_told_once_with_its_status_after_the_last_message(start: Start) -> None:
    child, collector = await start("sh", "-c", "echo one; echo two; exit 3")
    assert await collector.end() == "exited with status 3"
    assert collector.messages == [b"one", b"two"]
    assert await within(child.wait_closed()) == "exited with status 3"
    await within(child.stop(1))
    assert (collector.ends, child.returncode) == (["exited with status 3"], 3)


async def test_a_child_killed_by_a_signal_says_which(start: Start) -> None:
    child, collector = await start("cat")
    os.kill(child.pid, signal.SIGKILL)
    assert await collector.end() == "killed by SIGKILL"
    with pytest.raises(Closed, match="killed by SIGKILL"):
        child.send(b"x")


async def test_a_signal_without_a_name_ends_a_child_as_any_other(start: Start) -> None:
    child, collector = await start("cat")
    # Where there are no real-time signals all have names.
    number = getattr(signal, "SIGRTMIN", signal.SIGKILL - 1) + 1
    os.kill(child.pid, number)
    assert await collector.end() == f"killed by {_signal_name(number)}"
    await within(child.stop(5))
    assert _signal_name(200) == "signal 200"


async def test_half_a_frame_at_the_end_is_an_error_and_not_a_message(start: Start) -> None:
    _, collector = await start("sh", "-c", 'echo whole; printf "{\\"half"; exit 1')
    assert await collector.end() == "half a frame, then exited with status 1"
    assert collector.messages == [b"whole"]


async def test_blank_lines_and_carriage_returns_are_tolerated(start: Start) -> None:
    _, collector = await start("printf", "\\n\\r\\na\\r\\n\\nb\\n")
    await collector.end()
    assert collector.messages == [b"a", b"b"]


async def test_a_line_over_the_limit_closes_the_pipe_and_ends_the_child(start: Start) -> None:
    limits = Limits(frame_bytes=1 << 20)
    child, collector = await start("sh", "-c", "cat /dev/zero", limits=limits)
    assert await collector.end() == "a message longer than 1048576 bytes"
    with pytest.raises(Closed, match="longer than"):
        child.send(b"x")
    await within(child.stop(5))
    assert collector.messages == []


async def test_a_flood_of_messages_does_not_starve_the_loop(start: Start) -> None:
    """Turns of the loop go on between portions of the flood, however fast it comes."""
    _, flood = await start("yes", "{}")
    await flood.count(1)  # it has begun
    quiet, calm = await start("cat")
    for number in range(20):
        quiet.send(b"%d" % number)
        await calm.count(number + 1)
    assert len(flood.messages) > 20


async def test_a_child_that_does_not_read_is_closed_as_a_slow_reader(start: Start) -> None:
    limits = Limits(queue_bytes=1 << 16, burst_bytes=1 << 20)
    child, collector = await start("sleep", "1000", limits=limits)
    with pytest.raises(Closed) as caught:  # noqa: PT012 - which of the sends raises is the pipe's affair
        for _ in range(100):
            child.send(b"x" * 65536)
            await asyncio.sleep(0)
    assert caught.value.reason == SLOW_READER
    assert await collector.end() == SLOW_READER
    await within(child.stop(5))
    assert child.returncode == -signal.SIGTERM


async def test_a_child_that_reads_too_little_in_time_is_a_slow_reader_too(start: Start) -> None:
    limits = Limits(queue_bytes=1 << 16, patience_s=0.05)
    child, collector = await start("sleep", "1000", limits=limits)
    child.send(b"x" * (1 << 20))
    assert await collector.end() == SLOW_READER
    assert await within(child.wait_closed()) == SLOW_READER


async def test_log_lines_arrive_one_by_one_and_before_the_end(start: Start) -> None:
    script = "echo a >&2; printf b >&2; echo m; sleep 0; exit 1"
    _, collector = await start("sh", "-c", script)
    await collector.end()
    assert (collector.lines, collector.messages) == (["a", "b"], [b"m"])


async def test_a_flood_of_log_lines_is_bounded_and_disturbs_no_message(start: Start) -> None:
    limits = Limits(stderr_lines_per_s=5, stderr_line_bytes=100)
    code = "import sys\nfor i in range(20000): sys.stderr.write('noise'*100+'\\n')\nprint('done')"
    _, collector = await start(*python(code), limits=limits)
    await collector.end()
    assert collector.messages == [b"done"]
    noise = [line for line in collector.lines if line.startswith("noise")]
    assert 5 <= len(noise) < 1000
    assert all(len(line) == 101 for line in noise)
    assert any("left out" in line for line in collector.lines)


async def test_a_child_that_ignores_everything_is_killed_after_the_grace(start: Start) -> None:
    code = "import signal,time\nsignal.signal(15, signal.SIG_IGN)\nprint('ready')\ntime.sleep(1000)"
    child, collector = await start(*python(code))
    await collector.count(1)
    await within(child.stop(0.1))
    assert child.returncode == -signal.SIGKILL
    assert collector.ends == ["stopped"]


async def test_a_child_that_ends_at_the_end_of_its_input_gets_no_signal(start: Start) -> None:
    code = "import sys,os\nprint(1)\nsys.stdin.read()\nos._exit(7)"
    child, collector = await start(*python(code))
    await collector.count(1)
    await within(child.stop(20))
    assert child.returncode == 7


async def test_a_polite_child_gets_a_chance_at_the_term_signal(start: Start) -> None:
    code = (
        "import signal,time,os\n"
        "signal.signal(15, lambda *_: os._exit(9))\nprint('ready')\ntime.sleep(1000)"
    )
    child, collector = await start(*python(code))
    await collector.count(1)
    await within(child.stop(0.05))
    assert child.returncode == 9


async def test_stopping_takes_grandchildren_along(start: Start) -> None:
    child, collector = await start("sh", "-c", "sleep 1000 & echo $!; wait")
    (pid,) = await collector.count(1)
    await within(child.stop(0.05))
    await within(_gone(int(pid)))


async def test_a_child_that_leaves_grandchildren_behind_leaves_none(start: Start) -> None:
    _, collector = await start("sh", "-c", "sleep 1000 & echo $!")
    assert await collector.end() == "exited with status 0"
    await within(_gone(int(collector.messages[0])))


async def test_one_that_left_the_group_cannot_hold_the_pipe_open(start: Start) -> None:
    code = (
        "import os,time\n"
        "hear, say = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n    print(os.getpid())\n    os.write(say, b'x')\n    time.sleep(1000)\n"
        "os.read(hear, 1)\n"
        "os._exit(4)"
    )
    _, collector = await start(*python(code))
    try:
        assert await collector.end() == "exited with status 4"
    finally:
        os.kill(int(collector.messages[0]), signal.SIGKILL)


async def test_a_child_that_closes_its_output_is_stopped(start: Start) -> None:
    child, collector = await start("sh", "-c", "exec >&- 2>&-; sleep 1000")
    assert await collector.end() == "closed its output"
    assert child.returncode is not None


async def test_a_child_that_closes_its_input_is_stopped(start: Start) -> None:
    child, collector = await start("sh", "-c", "exec <&-; echo ready; sleep 1000")
    await collector.count(1)
    with pytest.raises(Closed) as caught:  # noqa: PT012 - the kernel tells at the second write at the latest
        for _ in range(1000):
            child.send(b"x" * 1000)
            await asyncio.sleep(0.001)
    assert caught.value.reason == "closed its input"
    assert await collector.end() == "closed its input"


async def test_stopping_twice_and_after_the_end_is_harmless(start: Start) -> None:
    child, collector = await start("cat")
    await within(asyncio.gather(child.stop(5), child.stop(5)))
    await within(child.stop(5))
    child.close()
    assert collector.ends == ["stopped"]


async def test_a_cancelled_stop_goes_on_by_itself(start: Start) -> None:
    child, collector = await start("sleep", "1000")
    stopping = asyncio.create_task(child.stop(0.05))
    await asyncio.sleep(0)
    stopping.cancel()
    assert await collector.end() == "stopped"
    assert child.returncode == -signal.SIGTERM


async def test_a_start_that_is_cancelled_leaves_nothing(start: Start) -> None:
    before = descriptors()
    starting = asyncio.create_task(start("sleep", "1000"))
    await asyncio.sleep(0)
    assert descriptors() > before
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    async with asyncio.timeout(DEADLINE_S):
        while descriptors() > before:
            await asyncio.sleep(0.01)


async def test_a_start_that_fails_halfway_leaves_nothing(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    before = descriptors()

    class Full:
        def __getattr__(self, name: str) -> Any:
            if name == "connect_read_pipe":
                raise OSError(errno.ENOSPC, "no room for another watch")
            return getattr(loop, name)

    monkeypatch.setattr("gatewright.transport.process.asyncio.get_running_loop", Full)
    with pytest.raises(OSError, match="another watch"):
        await start("sleep", "1000")
    monkeypatch.undo()
    async with asyncio.timeout(DEADLINE_S):
        while descriptors() > before:
            await asyncio.sleep(0.01)


async def test_without_exit_descriptors_exits_are_noticed_all_the_same(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    child, collector = await start("sh", "-c", "read line; echo $line; exit 5")
    child.send(b"hello")
    assert await collector.end() == "exited with status 5"
    assert collector.messages == [b"hello"]


async def test_a_program_that_does_not_exist_is_not_started(start: Start) -> None:
    with pytest.raises(CommandNotFound):
        await start("no-such-program-anywhere")


async def test_environment_and_working_directory_reach_the_child(
    start: Start, tmp_path: Path
) -> None:
    here = os.path.realpath(tmp_path)  # noqa: ASYNC240
    _, collector = await start("sh", "-c", "pwd; echo $A", env={"A": "1"}, cwd=here)
    assert await collector.count(2) == [here.encode(), b"1"]


async def test_fifty_children_come_and_go_without_a_trace(start: Start) -> None:
    started = await asyncio.gather(*(start("cat") for _ in range(50)))
    for child, _ in started:
        child.send(b"hello")
    for child, collector in started:
        await collector.count(1)
        child.close()
    assert [await collector.end() for _, collector in started] == ["stopped"] * 50


GATEWAY = """
import asyncio, sys
from gatewright.transport.process import spawn

class Nobody:
    def message(self, data): pass
    def closed(self, reason): pass

async def main():
    for _ in range(3):
        child = await spawn("cat", receiver=Nobody(), stderr=print)
        print(child.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_when_the_gateway_is_killed_its_children_see_the_end_of_their_input(
    start: Start,
) -> None:
    """A pipe end inherited by a sibling would keep the others alive for ever."""
    gateway, collector = await start(sys.executable, "-c", GATEWAY)
    pids = [int(pid) for pid in await collector.count(3)]
    os.kill(gateway.pid, signal.SIGKILL)
    for pid in pids:
        await within(_gone(pid))


async def _gone(pid: int) -> None:
    """Wait until a process that is nobody's child here has ended, or is a zombie that nobody reaps."""
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if _is_zombie(pid):
            return
        await asyncio.sleep(0.01)


def _is_zombie(pid: int) -> bool:
    """Linux tells; elsewhere orphans are always reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return False
