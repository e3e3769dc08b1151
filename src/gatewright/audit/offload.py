"""Verifies the audit trail in a child process of low priority: seconds for a million records, which neither calls nor workers wait for.

The worker processes that judge arguments and clean results are two: one that proves the record for minutes would be half of them. So
`python -m gatewright.audit.offload` is started for each verification, and ends with it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from gatewright.audit.reader import AuditReader
from gatewright.audit.verification import Verification
from gatewright.storage.errors import StoreError
from gatewright.transport.worker_main import answer_orders
from gatewright.transport.worker_requests import Answered
from gatewright.transport.workers import Overtime, Workers

__all__ = ["MODULE", "VERIFY_S", "main", "verified", "verify_beside"]

MODULE = "gatewright.audit.offload"
VERIFY_S = 250
"""Seconds; a trail that takes longer is verified by the command."""
_NICE = 10
"""Besides what every worker process has: also those that calls wait for come first."""
_ANSWER_BYTES = 1024 * 1024


async def verify_beside(folder: Path) -> Verification:
    """Prove the trail of a state folder. Raises `StoreError` where it cannot be read, or takes too long."""
    workers = Workers(MODULE, most=1, answer_bytes=_ANSWER_BYTES)
    try:
        answer, found = await workers.run("audit verify", b"", os.fsencode(folder), VERIFY_S)
    except Overtime:
        raise StoreError(f"it takes more than {VERIFY_S} s") from None
    finally:
        await workers.close()
    said = msgspec.json.decode(answer)
    if "error" in said:
        raise StoreError(str(said["error"]))
    return msgspec.json.decode(found, type=Verification)


def verified(_: bytes, load: bytes) -> Answered:
    """The load is the path of the folder; what was found comes back, or an `error`."""
    try:
        found = AuditReader(Path(os.fsdecode(load))).verify()
    except Exception as problem:  # noqa: BLE001 - whoever asked is told, whatever it is
        return {"error": f"{type(problem).__name__}: {problem}"[:300]}, b""
    return {}, msgspec.json.encode(found)


def main() -> int:
    """Verify until the other side hangs up."""
    os.nice(_NICE)
    return answer_orders(verified)


if __name__ == "__main__":
    sys.exit(main())
