"""The index is read in behind a search, by a reader that is closed, and not while nobody searches."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

import pytest

from gatewright.audit.search import AuditSearch
from gatewright.audit.search_index import SIZE
from gatewright.audit.trail_reading import read_block
from gatewright.console.audit_filling import AuditFilling
from gatewright.console.audit_threads import AuditThreads
from gatewright.storage.errors import StoreError
from tests.audit.parts import a_call, a_log, a_tool, run


class Reads:
    """Counts what it is asked for; raises `problem` where there is one."""

    def __init__(self, folder: Path, problem: Exception | None = None) -> None:
        self._folder = folder
        self._problem = problem
        self.read_ = list[int]()
        self.closed = 0

    async def read(self, number: int) -> bytes:
        """One block."""
        self.read_.append(number)
        if self._problem is not None:
            raise self._problem
        return read_block(self._folder, number).packed()

    async def close(self) -> None:
        """Once for each run."""
        self.closed += 1


async def _ended(filling: AuditFilling) -> None:
    async with asyncio.timeout(20):
        while vars(filling)["_task"] is not None:
            await asyncio.sleep(0.005)


def _written(folder: Path, count: int) -> None:
    log = a_log(folder)
    for number in range(count):
        run(log, a_call(number, a_tool("safe")))
    asyncio.run(log.close())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trail of three blocks."""
    path = tmp_path_factory.mktemp("trail")
    _written(path, 2 * SIZE + 10)
    return path


async def test_what_is_missing_is_read_once_by_one_reader(folder: Path) -> None:
    search, reads = AuditSearch(folder, time.monotonic), Reads(folder)
    filling = AuditFilling(search, AuditThreads(), lambda: reads)
    for _ in range(3):
        filling.begin()
    await _ended(filling)
    filling.begin()
    await _ended(filling)
    assert (reads.read_, reads.closed) == ([1, 0], 1)
    assert search.missing() == []


@pytest.mark.parametrize(
    ("problem", "said"), [(StoreError("a test"), 0), (OSError("a test"), 2)], ids=["told", "broke"]
)
async def test_what_broke_is_gone_on_with_by_the_next_search(
    folder: Path, problem: Exception, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    reads = Reads(folder, problem)
    filling = AuditFilling(AuditSearch(folder, time.monotonic), AuditThreads(), lambda: reads)
    with caplog.at_level(logging.ERROR, "gatewright.console"):
        for _ in range(2):
            filling.begin()
            await _ended(filling)
    assert (reads.read_, reads.closed, len(caplog.records)) == ([1, 1], 2, said)
