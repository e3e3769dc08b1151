"""What the audit trail costs: a call, an event loop beside the feeder, a million records.

Run `python -m benchmarks.audit_store` for one JSON object a row (`name`, `ours`, `unit`, `target`,
`met`, where there is a target), or with `--records 100000` for a quick look. It writes about 1.5 KB
a record into a temporary folder (`--folder` to choose the disk).

- `call_*`: processor time of the loop's thread for open, intent and close of one call.
- `loop_*`: how late a timer fires, in milliseconds, while 15,000 records a second are written for
  five seconds: the plain loop, with the journal alone, and with journal, flusher and feeder.
- `durable_*`: calls a second that are on disk before they are answered.
- `ingest`, `verify`, `trace_p99`: a trail of `--records` records.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from gatewright.call import Answer, Call, Caller, Client, Security, Target, Tool
from gatewright.stores.audit import AuditLog, Sync
from gatewright.stores.reader import AuditReader
from gatewright.stores.rows import Query

__all__ = ["main"]

RATE = 15_000
SECONDS = 5
ANSWER = Answer(b'{"content":[{"type":"text","text":"' + b"x" * 256 + b'"}]}')


def _tool(risk: Any, *, read_only: bool = False) -> Tool:
    return Tool(
        Target("files", "write_file"),
        "files.write_file",
        {},
        security=Security(risk_level=risk),
        read_only=read_only,
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
        trace_id=f"550e8400-e29b-41d4-a716-{number:012d}",
        target=tool.target,
        tool=tool,
        facts={"grant": "server_grant"},
    )


def _open(folder: Path, sync: Sync = "process") -> AuditLog:
    return AuditLog(folder, clock=time.time, monotonic=time.monotonic, random=os.urandom, sync=sync)


def _row(name: str, ours: float, unit: str, target: float | None, *, most: bool = True) -> None:
    row: dict[str, Any] = {"name": name, "ours": round(ours, 3), "unit": unit}
    if target is not None:
        row |= {"target": target, "met": ours <= target if most else ours >= target}
    print(json.dumps(row), flush=True)


async def _cost_of_a_call(folder: Path) -> None:
    for name, tool, target in (
        ("call_with_intent", _tool("moderate"), 12.0),
        ("call_read_only", _tool("safe", read_only=True), 8.0),
    ):
        log = _open(folder / name)
        call = _call(1, tool)
        rounds = []
        for _ in range(20):
            before = time.thread_time()
            for _ in range(2000):
                trail = log.open(call)
                trail.intent(call)
                trail.close(call, ANSWER)
            rounds.append((time.thread_time() - before) / 2000 * 1e6)
            await asyncio.sleep(0.05)
        await log.close()
        _row(f"audit/{name}", statistics.median(rounds), "us of CPU a call", target)


async def _lateness(write: Callable[[int], None] | None) -> list[float]:
    """Every two milliseconds: write what is due, then see how late the timer is."""
    loop = asyncio.get_running_loop()
    begin = loop.time()
    late = []
    written = 0
    due = begin
    while due < begin + SECONDS:
        due += 0.002
        await asyncio.sleep(due - loop.time())
        late.append((loop.time() - due) * 1000)
        goal = int((loop.time() - begin) * RATE)
        while write is not None and written < goal:
            write(written)
            written += 1
    return sorted(late)


async def _loop_beside_the_feeder(folder: Path) -> None:
    tool = _tool("safe", read_only=True)
    calls = [_call(number, tool) for number in range(1000)]
    for name in ("plain", "journal_only", "whole"):
        log = _open(folder / name)
        if name != "whole":
            log._feeder.close()

        def write(number: int, log: AuditLog = log) -> None:
            call = calls[number % 1000]
            log.open(call).close(call, ANSWER)

        used = time.process_time()
        late = await _lateness(None if name == "plain" else write)
        used = time.process_time() - used
        lag = log.lag
        _row(f"audit/loop_{name}_p50", late[len(late) // 2], "ms late", None)
        _row(f"audit/loop_{name}_p99", late[len(late) * 99 // 100], "ms late", None)
        _row(f"audit/loop_{name}_max", late[-1], "ms late", None)
        _row(f"audit/loop_{name}_cpu", used / SECONDS, "cores", None)
        if name == "whole":
            _row("audit/feeder_lag", lag / RATE, "s", 3.0)
            with suppress(KeyError):
                await log.close()


async def _durable(folder: Path) -> None:
    tool = _tool("moderate")
    for width in (1, 16, 64):
        log = _open(folder / f"durable-{width}", "always")
        done = 0
        end = time.monotonic() + 2

        async def worker(log: AuditLog = log, end: float = end) -> None:
            nonlocal done
            while time.monotonic() < end:
                call = _call(done, tool)
                trail = log.open(call)
                trail.intent(call)
                trail.close(call, ANSWER)
                await trail.settled()
                done += 1

        await asyncio.gather(*(worker() for _ in range(width)))
        target = 10_000.0 if width == 16 else None
        _row(f"audit/durable_{width}", done / 2, "calls/s", target, most=False)
        await log.close()


async def _million(folder: Path, records: int) -> None:
    tool = _tool("moderate")
    log = _open(folder / "million")
    begin = time.monotonic()
    for number in range(records // 2):
        call = _call(number, tool)
        trail = log.open(call)
        trail.intent(call)
        trail.close(call, ANSWER)
        if number % 200 == 0:
            await asyncio.sleep(0)
    written = time.monotonic() - begin
    await log.close()
    _row("audit/write", records / written, "records/s", None)
    _row("audit/ingest", time.monotonic() - begin, f"s for {records} records", records / 1e6 * 30)
    reader = AuditReader(folder / "million")
    begin = time.monotonic()
    found = reader.verify()
    assert found.problem is None, found
    _row("audit/verify", found.records / (time.monotonic() - begin), "records/s", None)
    took = sorted(_queries(reader, records))
    _row("audit/trace_p50", took[len(took) // 2], "ms", None)
    _row("audit/trace_p99", took[len(took) * 99 // 100], "ms", 50.0)
    for name, query in (
        ("agent_newest_100", Query(agent="agent.7", limit=100)),
        ("denied_none", Query(outcome="denied", limit=100)),
        ("newest_100", Query(limit=100)),
    ):
        begin = time.monotonic()
        list(reader.query(query))
        _row(f"audit/query_{name}", (time.monotonic() - begin) * 1000, "ms", None)
    size = sum(path.stat().st_size for path in (folder / "million").glob("audit.db*"))
    _row("audit/database", size / records, "bytes a record", None)


def _queries(reader: AuditReader, records: int) -> Iterator[float]:
    for step in range(300):
        number = step * 7919 % (records // 2)
        begin = time.perf_counter()
        found = list(reader.query(Query(trace_id=f"550e8400-e29b-41d4-a716-{number:012d}")))
        yield (time.perf_counter() - begin) * 1000
        assert len(found) == 2


async def _run(folder: Path, records: int) -> None:
    await _cost_of_a_call(folder)
    await _loop_beside_the_feeder(folder)
    await _durable(folder)
    await _million(folder, records)


def main(arguments: list[str]) -> None:
    """Measure, and print one JSON object a row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="accepted; rows are always JSON")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=chosen.folder, ignore_cleanup_errors=True) as name:
        asyncio.run(_run(Path(name), chosen.records))


if __name__ == "__main__":
    main(sys.argv[1:])
