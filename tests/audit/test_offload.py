"""The whole record is verified in a process of its own, with what `audit verify` would say."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from gatewright.app import worker
from gatewright.audit import offload
from gatewright.audit.offload import BlockReader, answered, verify_beside
from gatewright.audit.reader import AuditReader
from gatewright.audit.search_index import Block
from gatewright.audit.trail_reading import read_block
from gatewright.audit.verification import Verification
from gatewright.storage.errors import StoreError
from gatewright.transport.workers import Workers
from tests.audit.parts import fill


async def test_a_worker_says_what_the_reader_says(tmp_path: Path) -> None:
    await fill(tmp_path, 5)
    found = await verify_beside(tmp_path)
    with pytest.raises(StoreError):
        await verify_beside(tmp_path / "nothing")
    assert found == AuditReader(tmp_path).verify()
    assert (found.records > 0, found.problem) == (True, None)


async def test_the_answer_holds_all_that_was_found(tmp_path: Path) -> None:
    await fill(tmp_path, 2)
    said, text = answered(b"", os.fsencode(tmp_path))
    assert said == {}
    assert msgspec.json.decode(text, type=Verification) == AuditReader(tmp_path).verify()


async def test_it_runs_after_everybody_else_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(tmp_path, 2)
    seen: list[tuple[int, int]] = []
    made: list[Workers] = []

    class Seen(Workers):
        def __init__(self, module: str, most: int = 2, answer_bytes: int = 0) -> None:
            super().__init__(module, most, answer_bytes)
            made.append(self)

        async def close(self) -> None:
            pids = [one.pid for one in self._alive]
            seen.extend((pid, os.getpriority(os.PRIO_PROCESS, pid)) for pid in pids)
            await super().close()

    monkeypatch.setattr(offload, "Workers", Seen)
    await verify_beside(tmp_path)
    ((pid, nice),) = seen
    assert nice > os.getpriority(os.PRIO_PROCESS, 0) + 5 or nice == 19
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert made[0]._most == 1


async def test_blocks_are_read_in_one_process_that_comes_after_all_others(tmp_path: Path) -> None:
    await fill(tmp_path, 5)
    reader = BlockReader(tmp_path)
    found = [Block.unpacked(await reader.read(0)) for _ in range(2)]
    (process,) = vars(reader)["_workers"]._alive
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == 19
    await reader.close()
    assert [vars(one) for one in found] == [vars(read_block(tmp_path, 0))] * 2
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


async def test_a_trail_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    reader = BlockReader(tmp_path / "nothing")
    with pytest.raises(StoreError):
        await reader.read(0)
    await reader.close()


async def test_the_workers_that_calls_wait_for_do_not_verify(tmp_path: Path) -> None:
    """Two hang in orders of their own; the record is verified all the same, and the other way round."""
    await fill(tmp_path, 2)
    said, _ = worker.answered(b'{"do":"verify"}', os.fsencode(tmp_path))
    assert "error" in said
    assert (await asyncio.wait_for(verify_beside(tmp_path), 60)).problem is None
