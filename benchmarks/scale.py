"""What a call costs as things grow: 10 to 10,000 tools, 10 to 100,000 grants, 0 to 1,000,000 rows of
audit. Each pair of gateways runs side by side, 16 calls in flight, loaded by turns in many short
rounds; the large one has to reach nine tenths of the small one's rate. The peer of each row is our
own small one."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.gateway import Upstream, gateway, own_gateway
from benchmarks.measure import Loader, System, measure_pair
from benchmarks.processes import Process, Trouble
from benchmarks.rows import Options, Row, main
from gatewright.audit.trail import AuditLog

__all__ = ["run"]

TOOLS = (10, 10_000)
GRANTS = (10, 100_000)
ROWS = (0, 1_000_000)
FLAT = 0.9
CLIENTS = 16
FILL_SECONDS = 300.0


@contextmanager
def _with_tools(folder: Path, count: int) -> Iterator[Process]:
    upstream = Upstream.echo("echo", "--era", "legacy", "--tools", str(count))
    with gateway(folder, [upstream], name=f"tools_{count}") as process:
        yield process


@contextmanager
def _with_grants(folder: Path, count: int) -> Iterator[Process]:
    upstream = Upstream.echo("echo", "--era", "legacy")
    with own_gateway(folder, [upstream], name=f"grants_{count}", grants=count) as process:
        yield process


@contextmanager
def _with_rows(folder: Path, count: int) -> Iterator[Process]:
    name = f"rows_{count}"
    _fill(folder / name / "data", count)
    upstream = Upstream.echo("echo", "--era", "legacy")
    with gateway(folder, [upstream], name=name) as process:
        yield process


def _fill(state: Path, count: int) -> None:
    """Put so many records into a trail, through the store itself, database included."""
    state.mkdir(parents=True, mode=0o700)
    trail = AuditLog(state, clock=time.time, monotonic=time.monotonic, random=os.urandom)
    deadline = time.monotonic() + FILL_SECONDS
    for number in range(count):
        trail.event("dev.gatewright.benchmark", details={"number": number})
        if number % 5_000 == 0:
            _until_fed(trail, 50_000, deadline)
    _until_fed(trail, 0, deadline)
    asyncio.run(trail.close())


def _until_fed(trail: AuditLog, most: int, deadline: float) -> None:
    """Wait until at most so many records are not yet in the database."""
    while trail.lag > most:
        if time.monotonic() > deadline:
            raise Trouble(f"{trail.lag} records of the trail did not reach the database")
        time.sleep(0.01)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    loader = Loader(options.folder, options.generator)
    kinds = (
        ("tools", TOOLS, _with_tools),
        ("grants", GRANTS, _with_grants),
        ("audit", ROWS, _with_rows),
    )
    for kind, (few, many), started in kinds:
        with ExitStack() as pair:
            small = pair.enter_context(started(options.folder, few))
            large = pair.enter_context(started(options.folder, many))
            pair_of = (
                System("large", large.url, large.pid),
                System("small", small.url, small.pid),
            )
            ours, peer, ratio = measure_pair(
                loader, pair_of, CLIENTS, options.rounds * 5, options.seconds / 3
            )
        yield Row(
            f"scale.{kind}.{many}",
            ours.rate,
            "calls/s",
            peer.rate,
            f"ours, {few:,} {kind}",
            FLAT,
            "ratio >=",
            ours.extras() | {"small_cpu_us_per_call": round(peer.cpu_us or 0.0, 1)},
            ratio,
        )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
