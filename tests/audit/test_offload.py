"""The whole record is verified in a worker process, with what `audit verify` would say."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from gatewright.app.worker import MODULE
from gatewright.audit.offload import verified, verify_beside
from gatewright.audit.reader import AuditReader
from gatewright.audit.verification import Verification
from gatewright.storage.errors import StoreError
from gatewright.transport.workers import Workers
from tests.audit.parts import fill


async def test_a_worker_says_what_the_reader_says(tmp_path: Path) -> None:
    await fill(tmp_path, 5)
    workers = Workers(MODULE)
    try:
        found = await verify_beside(workers, tmp_path)
        with pytest.raises(StoreError):
            await verify_beside(workers, tmp_path / "nothing")
    finally:
        await workers.close()
    assert found == AuditReader(tmp_path).verify()
    assert (found.records > 0, found.problem) == (True, None)


async def test_the_answer_holds_all_that_was_found(tmp_path: Path) -> None:
    await fill(tmp_path, 2)
    said, text = verified({}, os.fsencode(tmp_path))
    assert said == {}
    assert msgspec.json.decode(text, type=Verification) == AuditReader(tmp_path).verify()
