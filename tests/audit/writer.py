"""A gateway reduced to its trail, for the tests that kill it.

Prints one number for each call that its caller has seen answered, after it was answered, until it
is killed. `python -m tests.audit.writer FOLDER SYNC FIRST`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import cast

from gatewright.audit.trail import AuditLog, Sync
from gatewright.call import Outcome
from tests.audit.parts import ANSWER, a_call, a_tool

__all__ = ["main"]


async def _answer(log: AuditLog, number: int) -> Outcome:
    call = a_call(number, a_tool("dangerous" if number % 10 == 0 else "moderate"))
    trail = log.open(call)
    if trail.intent(call):
        await trail.on_disk()
    outcome = trail.close(call, ANSWER)
    if (waits := trail.settled()) is not None:
        await waits
    return outcome


async def _work(log: AuditLog, first: int) -> None:
    number = first
    while True:
        batch = range(number, number + 8)
        outcomes = await asyncio.gather(*(_answer(log, each) for each in batch))
        if any(each is not ANSWER for each in outcomes):
            raise SystemExit(f"refused: {outcomes}")
        os.write(1, "".join(f"{each}\n" for each in batch).encode())
        number += 8


async def main(folder: Path, sync: Sync, first: int) -> None:
    """Write until killed."""
    log = AuditLog(
        folder,
        clock=time.time,
        monotonic=time.monotonic,
        random=os.urandom,
        sync=sync,
        segment_bytes=300_000,
    )
    os.write(1, b"ready\n")
    await _work(log, first)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), cast("Sync", sys.argv[2]), int(sys.argv[3])))
