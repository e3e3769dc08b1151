"""Verifies the whole audit trail in a worker process: a million records take seconds of processor time, which no call waits for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from gatewright.audit.reader import AuditReader
from gatewright.audit.verification import Verification
from gatewright.storage.errors import StoreError
from gatewright.transport.worker_requests import Answered
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["VERIFY_S", "verified", "verify_beside"]

VERIFY_S = 250
"""Seconds; a trail that takes longer is verified by the command."""
_ORDER = msgspec.json.encode({"do": "verify"})


async def verify_beside(workers: Workers, folder: Path) -> Verification:
    """Prove the trail of a state folder. Raises `StoreError` where it cannot be read, or nobody has the time."""
    try:
        answer, found = await workers.run("audit verify", _ORDER, os.fsencode(folder), VERIFY_S)
    except Busy:
        raise StoreError("too much waits for the worker processes already") from None
    except Overtime:
        raise StoreError(f"it takes more than {VERIFY_S} s") from None
    said = msgspec.json.decode(answer)
    if "error" in said:
        raise StoreError(str(said["error"]))
    return msgspec.json.decode(found, type=Verification)


def verified(_: Mapping[str, Any], load: bytes) -> Answered:
    """The load is the path of the folder; what was found comes back."""
    return {}, msgspec.json.encode(AuditReader(Path(os.fsdecode(load))).verify())
