"""Group commit: one flush at a time, each answers everybody whose record it covers."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.audit import journal as module
from gatewright.audit.flusher import Flusher
from gatewright.audit.journal import Journal
from gatewright.audit.recovery import recover
from gatewright.audit.segments import read_head
from gatewright.call import Unrecorded
from tests.audit.parts import body, until


class SlowDisk:
    """Holds each flush of the journal until the test lets it go, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0
        self.error: OSError | None = None
        self.gate = threading.Semaphore(0)
        self.open = False
        self._real = module._to_disk
        monkeypatch.setattr(module, "_to_disk", self._flush)

    def _flush(self, file: int) -> None:
        self.begun += 1
        if not self.open:
            assert self.gate.acquire(timeout=20)
        if self.error is not None:
            raise self.error
        self._real(file)

    def let_all_go(self) -> None:
        """No more holding."""
        self.open = True
        self.gate.release(1000)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, recover(tmp_path).end)


@pytest.fixture
def disk(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> SlowDisk:
    return SlowDisk(monkeypatch)


@pytest.fixture
def flusher(journal: Journal, disk: SlowDisk) -> Iterator[Flusher]:
    found = Flusher(journal, on_fault=lambda: None, interval_s=3600)
    yield found
    disk.let_all_go()
    found.close()


async def test_a_waiter_is_answered_after_a_flush_that_began_after_its_record(
    journal: Journal, flusher: Flusher, disk: SlowDisk
) -> None:
    first = asyncio.create_task(flusher.wait_for(journal.append(body(1))))
    await until(lambda: disk.begun == 1)
    second = asyncio.create_task(flusher.wait_for(journal.append(body(2))))
    disk.gate.release()
    await asyncio.wait_for(first, 20)
    await until(lambda: disk.begun == 2)
    assert not second.done()
    assert journal.synced.seq == 1
    disk.gate.release()
    await asyncio.wait_for(second, 20)
    assert journal.synced.seq == 2


async def test_all_who_gather_during_one_flush_share_the_next(
    journal: Journal, flusher: Flusher, disk: SlowDisk
) -> None:
    first = asyncio.create_task(flusher.wait_for(journal.append(body(0))))
    await until(lambda: disk.begun == 1)
    others = [
        asyncio.create_task(flusher.wait_for(journal.append(body(number))))
        for number in range(1, 65)
    ]
    await asyncio.sleep(0)  # let every one of them begin to wait
    disk.gate.release(2)
    await asyncio.wait_for(asyncio.gather(first, *others), 20)
    assert disk.begun == 2


async def test_nobody_waits_for_what_is_on_disk_already(
    journal: Journal, flusher: Flusher, disk: SlowDisk
) -> None:
    disk.let_all_go()
    seq = journal.append(body())
    await flusher.wait_for(seq)
    begun = disk.begun
    await asyncio.wait_for(flusher.wait_for(seq), 20)
    assert disk.begun == begun


async def test_with_nobody_waiting_the_disk_follows_by_itself(
    tmp_path: Path, journal: Journal
) -> None:
    flusher = Flusher(journal, on_fault=lambda: None, interval_s=0.01)
    journal.append(body())
    await until(lambda: read_head(tmp_path) == journal.end)
    assert journal.synced.seq == 1
    flusher.close()


async def test_a_flush_that_fails_fails_everybody_it_was_for(
    journal: Journal, flusher: Flusher, disk: SlowDisk
) -> None:
    disk.error = OSError(5, os.strerror(5))
    disk.let_all_go()
    waits = [flusher.wait_for(journal.append(body(number))) for number in range(3)]
    found = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 20)
    assert [type(each) for each in found] == [Unrecorded] * 3


async def test_a_waiter_that_was_cancelled_disturbs_nobody(
    journal: Journal, flusher: Flusher, disk: SlowDisk
) -> None:
    gone = asyncio.create_task(flusher.wait_for(journal.append(body(1))))
    stays = asyncio.create_task(flusher.wait_for(journal.append(body(2))))
    await until(lambda: disk.begun == 1)
    gone.cancel()
    disk.let_all_go()
    await asyncio.wait_for(stays, 20)
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_while_there_is_a_fault_it_asks_again_and_again_for_a_repair(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def on_fault() -> None:
        asked.append(threading.current_thread().name)
        if len(asked) == 3:
            journal.repair()

    flusher = Flusher(journal, on_fault=on_fault, interval_s=0.01)
    journal.fault = "made up"
    await until(lambda: journal.fault is None)
    assert asked == ["audit-flusher"] * 3
    assert journal.append(body()) == 1
    flusher.close()


async def test_closing_flushes_what_is_written(tmp_path: Path, journal: Journal) -> None:
    flusher = Flusher(journal, on_fault=lambda: None, interval_s=3600)
    journal.append(body())
    await asyncio.to_thread(flusher.close)
    assert read_head(tmp_path) == journal.end
    assert journal.synced.seq == 1


async def test_after_the_end_a_waiter_is_refused_instead_of_left_waiting(journal: Journal) -> None:
    flusher = Flusher(journal, on_fault=lambda: None, interval_s=3600)
    await asyncio.to_thread(flusher.close)
    seq = journal.append(body())
    with pytest.raises(Unrecorded, match="stopping"):
        await asyncio.wait_for(flusher.wait_for(seq), 20)


async def test_a_waiter_that_comes_in_the_moment_of_the_end_is_answered(
    journal: Journal, flusher: Flusher, disk: SlowDisk
) -> None:
    first = asyncio.create_task(flusher.wait_for(journal.append(body(1))))
    await until(lambda: disk.begun == 1)
    end = asyncio.create_task(asyncio.to_thread(flusher.close))
    late = [
        asyncio.create_task(flusher.wait_for(journal.append(body(number)))) for number in (2, 3)
    ]
    await asyncio.sleep(0)
    disk.let_all_go()
    await asyncio.wait_for(asyncio.gather(first, end, *late), 20)
    assert journal.synced.seq == 3


def test_a_loop_that_is_gone_does_not_stop_the_others(journal: Journal) -> None:
    flusher = Flusher(journal, on_fault=lambda: None, interval_s=3600)

    async def leave() -> None:
        waiting = asyncio.ensure_future(flusher.wait_for(journal.append(body())))
        await asyncio.sleep(0)
        waiting.cancel()

    for _ in range(20):
        asyncio.run(leave())
    asyncio.run(asyncio.wait_for(flusher.wait_for(journal.append(body())), 20))
    assert journal.synced.seq == 21
    flusher.close()
