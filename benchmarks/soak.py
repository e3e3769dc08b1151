"""Minutes of calls at a steady rate with faults all the time (fault test 18): what grows, and what is lost without a reason.

    python -m benchmarks.soak            five minutes
    SOAK_MINUTES=480 python -m benchmarks.soak

The faults take turns: the server is killed, the configuration is read again, a crowd comes and hangs up at once. A call that was on its way
to a server that was killed has an unknown outcome, and says so: that is explained. Growth is that of the second half of the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.crowds import come_and_go, files, house_in
from benchmarks.good_client import Crowd, House, good_client
from benchmarks.processes import children, resident_bytes
from benchmarks.rows import Options, Row, main

__all__ = ["Soaked", "run", "soaked"]

MINUTES = float(os.environ.get("SOAK_MINUTES", "5"))
CALLS_A_SECOND = 200.0
FAULT_EACH_S = 25.0
"""Every third fault is a kill: five restarts of a server in 300 s are all that it is given."""
CROWD = 100
_EXPLAINED = ("outcome is unknown", "restarting", "it was not sent", "is gone")


@dataclass
class Soaked(Crowd):
    """What was done, and what has grown since the first half was over."""

    faults: int = 0
    half_mb: float = 0.0
    end_mb: float = 0.0
    more_descriptors: int = 0

    @property
    def unexplained(self) -> list[str]:
        """What was lost without a reason that names one of the faults."""
        return [one for one in self.lost if not any(word in one for word in _EXPLAINED)]


async def soaked(
    house: House, seconds: float, a_second: float = CALLS_A_SECOND, each_s: float = FAULT_EACH_S
) -> Soaked:
    """So many seconds of it."""
    found, half = Soaked(), 0
    async with good_client(house, found, 0.5, a_second):
        began = time.monotonic()
        while (now := time.monotonic() - began) < seconds:
            if not half and now > seconds / 2:
                half, found.half_mb = files(house.pid), resident_bytes(house.pid) / 1e6
            await _fault(house, found.faults % 3)
            found.faults += 1
            await asyncio.sleep(each_s)
        found.end_mb = resident_bytes(house.pid) / 1e6
        found.more_descriptors = files(house.pid) - half
    return found


async def _fault(house: House, which: int) -> None:
    if which == 0:
        for pid in children(house.pid):
            if b"echo" in _command(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
    elif which == 1:
        os.kill(house.pid, signal.SIGHUP)
    else:
        await come_and_go(house, CROWD)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    found = asyncio.run(soaked(house_in(options.folder / "soak", stack), MINUTES * 60))
    name, calls = f"soak.{MINUTES:g}_min", len(found.crowded_ms)
    extras = {"calls": calls, "faults": found.faults, "explained": len(found.lost) - len(found.unexplained)}  # fmt: skip
    first = {**extras, "first": found.unexplained[:1]}
    yield Row(f"{name}.unexplained", len(found.unexplained), "calls", target=0, test="ours <=", extras=first)  # fmt: skip
    growth = 100 * (found.end_mb / max(1.0, found.half_mb) - 1)
    sizes = {"half_mb": round(found.half_mb, 1), "end_mb": round(found.end_mb, 1)}
    yield Row(f"{name}.growth", growth, "%", target=2.0, test="ours <=", extras=sizes)
    yield Row(f"{name}.descriptors", found.more_descriptors, "more", target=8, test="ours <=")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
