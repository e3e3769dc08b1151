"""Verifies the audit trail, and reads blocks for its search index, in low-priority child processes apart from those that serve calls.

The worker processes that judge arguments and clean results are two: one that proves the record for minutes would be half of them. So
`python -m gatewright.audit.offload` is started for each verification, and while there is something to be read in, and ends with it. What
is read in comes last of all: a machine that is busy with calls reads it when it has time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from gatewright.audit.reader import AuditReader
from gatewright.audit.trail_reading import read_block
from gatewright.audit.verification import Verification
from gatewright.storage.errors import StoreError
from gatewright.transport.worker_main import answer_orders
from gatewright.transport.worker_requests import Answered
from gatewright.transport.workers import Overtime, Workers

__all__ = ["MODULE", "VERIFY_S", "BlockReader", "answered", "main", "verify_beside"]

MODULE = "gatewright.audit.offload"
VERIFY_S = 250
"""Seconds; a trail that takes longer is verified by the command."""
_NICE = 10
"""Besides what every worker process has: also those that calls wait for come first."""
_ANSWER_BYTES = 16 * 1024 * 1024
_LAST = 19
"""The lowest priority that there is."""
_READ_S = 120
"""Seconds for one block, of a process that others keep from its work."""


async def verify_beside(folder: Path) -> Verification:
    """Prove the trail of a state folder. Raises `StoreError` where it cannot be read, or takes too long."""
    workers = Workers(MODULE, most=1, answer_bytes=_ANSWER_BYTES)
    try:
        found = await _answer(workers, b"", folder, VERIFY_S)
    finally:
        await workers.close()
    return msgspec.json.decode(found, type=Verification)


class BlockReader:
    """Reads blocks for the search index, one after the other, in one process, which lives until it is closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workers = Workers(MODULE, most=1, answer_bytes=_ANSWER_BYTES)

    async def read(self, number: int) -> bytes:
        """One block, `Block.packed`. Raises `StoreError`."""
        return await _answer(self._workers, b"%d" % number, self._folder, _READ_S)

    async def close(self) -> None:
        """End the process."""
        await self._workers.close()


async def _answer(workers: Workers, head: bytes, folder: Path, seconds: int) -> bytes:
    try:
        answer, found = await workers.run("audit", head, os.fsencode(folder), seconds)
    except Overtime:
        raise StoreError(f"it takes more than {seconds} s") from None
    said = msgspec.json.decode(answer)
    if "error" in said:
        raise StoreError(str(said["error"]))
    return found


def answered(head: bytes, load: bytes) -> Answered:
    """The load is the path of the folder, the head the number of a block, or empty: then all of it is proven. What was found comes
    back, or an `error`."""
    folder = Path(os.fsdecode(load))
    try:
        if head:
            os.setpriority(os.PRIO_PROCESS, 0, _LAST)
            return {}, read_block(folder, int(head)).packed()
        return {}, msgspec.json.encode(AuditReader(folder).verify())
    except Exception as problem:  # noqa: BLE001 - whoever asked is told, whatever it is
        return {"error": f"{type(problem).__name__}: {problem}"[:300]}, b""


def main() -> int:
    """Answer until the other side hangs up."""
    os.nice(_NICE)
    return answer_orders(answered)


if __name__ == "__main__":
    sys.exit(main())
