"""What isolation costs: from the start of a stdio server to its first answer, and one call, isolated and not.

The levels take turns, so that a busy moment of the machine is shared. The server is plain Python that says the same again.
Nothing is isolated where bubblewrap is not installed; then the benchmark cannot be run.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.processes import Trouble
from benchmarks.rows import Options, Row, main
from gatewright.transport.isolation.rules import Isolation, Level
from gatewright.transport.isolation.start import flaw
from gatewright.transport.process import ChildProcess, spawn

__all__ = ["run"]

STARTS = 50
"""Of each level in one round."""
CALLS = 2000
"""Of each level, one after the other."""
PATIENCE_S = 30.0
_ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
_LEVELS: tuple[Level, ...] = ("confined", "strict")


class _Answers:
    def __init__(self) -> None:
        self._news = asyncio.Event()

    def message(self, data: bytes) -> None:
        del data
        self._news.set()

    def closed(self, reason: str) -> None:
        del reason

    async def one(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self._news.wait()
        self._news.clear()


async def _started(isolation: Isolation | None) -> tuple[ChildProcess, _Answers, float]:
    """A server that has answered once, and the milliseconds that this took."""
    answers, begun = _Answers(), time.perf_counter()
    child = await spawn(
        sys.executable,
        ["-I", "-S", "-c", _ECHO],
        receiver=answers,
        stderr=lambda _: None,
        isolation=isolation,
    )
    child.send(b'{"ready":true}')
    await answers.one()
    return child, answers, (time.perf_counter() - begun) * 1000


async def _call_us(isolation: Isolation | None) -> float:
    child, answers, _ = await _started(isolation)
    begun = time.perf_counter()
    for _ in range(CALLS):
        child.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        await answers.one()
    taken = (time.perf_counter() - begun) * 1e6 / CALLS
    await child.stop(5)
    return taken


async def _measured(options: Options) -> list[Row]:
    for level in _LEVELS:
        if why := await flaw(level):
            raise Trouble(f"{level}: {why}")
    state = str(Path(options.folder) / "state")
    ways: dict[str, Isolation | None] = {"none": None}
    ways |= {one: Isolation(server="bench", level=one, state=state) for one in _LEVELS}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds * STARTS):
        for name, isolation in ways.items():
            child, _, milliseconds = await _started(isolation)
            await child.stop(5)
            taken[name].append(milliseconds)
    calls = {name: await _call_us(isolation) for name, isolation in ways.items()}
    rows = []
    for name in _LEVELS:
        p99, plain = (statistics.quantiles(taken[one], n=100)[98] for one in (name, "none"))
        medians = {
            f"median_{one}": round(statistics.median(taken[one]), 2) for one in (name, "none")
        }
        rows.append(
            Row(
                f"isolation.{name}.start_p99",
                p99,
                "ms",
                plain,
                "not isolated",
                150.0,
                "ours <=",
                medians,
            )
        )
        rows.append(
            Row(
                f"isolation.{name}.call",
                calls[name],
                "us",
                calls["none"],
                "not isolated",
                1.2,
                "ratio <=",
            )
        )
    return rows


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """Start and call at each level."""
    del stack
    yield from asyncio.run(_measured(options))


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
