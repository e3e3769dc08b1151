"""What the audit trail costs: a call, an event loop beside the feeder, a million records.

`call.*` is processor time of the loop's thread for open, intent and close of one call; that of a dangerous one is two records. `loop.*` is how
late a timer fires while 15,000 records a second are written, beside the same with the feeder of
the database switched off. `durable.*` counts calls that are on disk before they are answered.
`million.*` is a trail of a million records, about 2 GB while it runs.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal
from unittest.mock import patch

from benchmarks.processes import Trouble
from benchmarks.rows import Options, Row, main
from gatewright.audit.feeder import Feeder
from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.audit.trail import AuditLog, Sync
from gatewright.call import Answer, Call, Caller, Client, Security, Target, Tool

__all__ = ["run"]

RATE = 15_000
RECORDS = 1_000_000
ANSWER = Answer(b'{"content":[{"type":"text","text":"' + b"x" * 256 + b'"}]}')


def _tool(risk: Literal["safe", "moderate", "dangerous"]) -> Tool:
    return Tool(
        Target("files", "write_file"),
        "files.write_file",
        {},
        security=Security(risk_level=risk),
        repeatable=risk == "safe",
    )


def _call(number: int, tool: Tool) -> Call:
    return Call(
        id=f"call-{number}",
        door="http",
        kind="tool",
        method="tools/call",
        name=tool.exposed,
        params={"name": tool.exposed, "arguments": {"path": "/srv/data/file.txt", "limit": 100}},
        caller=Caller(f"agent.{number % 50}", "agent", "Zk3v9QpT"),
        client=Client("2025-11-25"),
        trace_id=_trace(number),
        target=tool.target,
        tool=tool,
        facts={"access": "server_grant"},
    )


def _trace(number: int) -> str:
    return f"{number * 0x9E3779B97F4A7C15 % 2**128:032x}"


def _open(folder: Path, sync: Sync = "process") -> AuditLog:
    return AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom, sync=sync)


def _record(log: AuditLog, call: Call) -> None:
    trail = log.open(call)
    trail.intent(call)
    trail.close(call, ANSWER)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    del stack
    yield from _cost_of_a_call(options)
    yield from _loop_beside_the_feeder(options)
    yield from _durable(options)
    yield from _million(options.folder / "million")


def _cost_of_a_call(options: Options) -> Iterator[Row]:
    for name, tool, target in (
        ("dangerous", _tool("dangerous"), 12.0),
        ("moderate", _tool("moderate"), 8.0),
    ):
        log = _open(options.folder / name)
        call = _call(1, tool)
        rounds = []
        for _ in range(10 * options.rounds):
            before = time.thread_time()
            for _ in range(1000):
                _record(log, call)
            rounds.append((time.thread_time() - before) * 1000)
            time.sleep(0.05)
        asyncio.run(log.close())
        cost = statistics.median(rounds)
        yield Row(f"audit_store.call.{name}", cost, "us CPU", target=target, test="ours <=")


async def _lateness(write: Callable[[int], None], seconds: float) -> list[float]:
    """Each two milliseconds: write what is due, then see how late the timer is, in ms."""
    loop = asyncio.get_running_loop()
    begin = due = loop.time()
    late = []
    written = 0
    while due < begin + seconds:
        due = max(due + 0.002, loop.time())
        await asyncio.sleep(due - loop.time())
        late.append((loop.time() - due) * 1000)
        goal = int((loop.time() - begin) * RATE)
        while written < goal:
            write(written)
            written += 1
    return sorted(late)


def _loop_beside_the_feeder(options: Options) -> Iterator[Row]:
    calls = [_call(number, _tool("safe")) for number in range(1000)]
    p99: dict[bool, list[float]] = {False: [], True: []}
    used: dict[bool, list[float]] = {False: [], True: []}
    lag = 0.0
    for turn in range(2 * options.rounds):
        fed = turn % 2 == 1
        log = _open(options.folder / f"loop-{turn}")
        with ExitStack() as undo:
            if not fed:
                undo.enter_context(patch.object(Feeder, "catch_up", _not_now))

            def write(number: int, log: AuditLog = log) -> None:
                _record(log, calls[number % 1000])

            before = time.process_time()
            late = asyncio.run(_lateness(write, max(options.seconds, 3.0)))
            used[fed].append((time.process_time() - before) / max(options.seconds, 3.0))
            lag = max(lag, log.lag / RATE) if fed else lag
            p99[fed].append(late[len(late) * 99 // 100])
        asyncio.run(log.close())
    beside, alone = statistics.median(p99[True]), statistics.median(p99[False])
    yield Row("audit_store.loop.p99", beside, "ms late", alone, "feeder off", 1.0, "added <=")
    cores = statistics.median(used[True]), statistics.median(used[False])
    yield Row("audit_store.loop.cpu", cores[0], "cores", cores[1], "feeder off")
    yield Row("audit_store.loop.lag", lag, "s", target=3.0, test="ours <=")


def _not_now(feeder: Feeder) -> None:
    del feeder


def _durable(options: Options) -> Iterator[Row]:
    for width in (1, 16, 64):
        log = _open(options.folder / f"durable-{width}", "always")
        rate = asyncio.run(_durably(log, width, options.seconds))
        test: Literal["ours >=", ""] = "ours >=" if width == 16 else ""
        target = 10_000 if width == 16 else None
        yield Row(f"audit_store.durable.{width}", rate, "calls/s", target=target, test=test)


async def _durably(log: AuditLog, width: int, seconds: float) -> float:
    tool = _tool("moderate")
    done = 0
    end = time.monotonic() + seconds

    async def work() -> None:
        nonlocal done
        while time.monotonic() < end:
            call = _call(done, tool)
            trail = log.open(call)
            trail.intent(call)
            trail.close(call, ANSWER)
            if (waits := trail.settled()) is not None:
                await waits
            done += 1

    await asyncio.gather(*(work() for _ in range(width)))
    await log.close()
    return done / seconds


def _million(folder: Path) -> Iterator[Row]:
    tool = _tool("dangerous")  # which leaves two records
    log = _open(folder)
    begin = time.monotonic()
    for number in range(RECORDS // 2):
        _record(log, _call(number, tool))
    written = time.monotonic() - begin
    asyncio.run(log.close())
    ingested = time.monotonic() - begin
    yield Row("audit_store.million.write", RECORDS / written, "rec/s")
    yield Row("audit_store.million.ingest", ingested, "s", target=30.0, test="ours <=")
    reader = AuditReader(folder)
    begin = time.monotonic()
    found = reader.verify()
    if found.problem is not None or found.records != RECORDS:
        raise Trouble(f"the trail is not whole: {found}")
    yield Row("audit_store.million.verify", RECORDS / (time.monotonic() - begin), "rec/s")
    took = sorted(_traces(reader))
    p99 = took[len(took) * 99 // 100]
    yield Row("audit_store.million.trace_p50", took[len(took) // 2], "ms")
    yield Row("audit_store.million.trace_p99", p99, "ms", target=50.0, test="ours <=")
    for name, query in (
        ("newest", Query(limit=100)),
        ("agent", Query(agent="agent.7", limit=100)),
        ("nothing", Query(outcome="denied", limit=100)),
    ):
        begin = time.monotonic()
        list(reader.query(query))
        yield Row(f"audit_store.million.{name}", (time.monotonic() - begin) * 1000, "ms")
    size = sum(path.stat().st_size for path in folder.glob("audit.db*"))
    yield Row("audit_store.million.size", size / RECORDS, "B/record")


def _traces(reader: AuditReader) -> Iterator[float]:
    for step in range(300):
        trace = _trace(step * 7919 % (RECORDS // 2))
        begin = time.perf_counter()
        found = list(reader.query(Query(trace_id=trace)))
        yield (time.perf_counter() - begin) * 1000
        if len(found) != 2:
            raise Trouble(f"{len(found)} records of one call were found, not two")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
