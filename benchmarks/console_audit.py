"""What the console's search of a million records costs: a page, whatever it is restricted by; a histogram; the index behind both.

`search.*` is a page of 50 with filters as people combine them: nothing, one fact, two, a rare rule, a value that nothing has, an
interval. `first` is the same before the index is there, in which a search says how far it came instead of taking its time: each by
somebody who comes after nobody has searched for a long time. `catch_up` is how long the worker process then takes to read the rest in, on a
machine that has time for it. About 1 GB while it runs.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.rows import Options, Row, main
from gatewright.audit.offload import BlockReader
from gatewright.audit.search import AuditSearch
from gatewright.audit.search_index import FACTS, Wanted
from gatewright.audit.trail import AuditLog
from gatewright.call import (
    Answer,
    Call,
    Caller,
    Client,
    Failure,
    Outcome,
    Refusal,
    Security,
    Target,
    Tool,
)

__all__ = ["run"]

RECORDS = 1_000_000
_SEARCHES = 400
_BEGIN, _STEP = 1_790_000_000.0, 0.6
_ANSWER = Answer(b'{"content":[{"type":"text","text":"' + b"x" * 256 + b'"}]}')
_TOOLS = [
    Tool(
        Target(f"server{number % 8}", f"tool_{number}"),
        f"server{number % 8}.tool_{number}",
        {},
        security=Security(risk_level="safe"),
        repeatable=True,
    )
    for number in range(200)
]


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    del stack
    folder = options.folder / "million"
    begin = time.monotonic()
    _write(folder)
    yield Row("console_audit.write", RECORDS / (time.monotonic() - begin), "rec/s")
    choose = random.Random(5)
    first = sorted(_took(AuditSearch(folder, time.monotonic), _wanted(choose)) for _ in range(40))
    yield Row("console_audit.first_p95", first[38], "ms", target=150.0, test="ours <=")
    search = AuditSearch(folder, time.monotonic)
    begin = time.monotonic()
    asyncio.run(_caught_up(search, folder))
    yield Row("console_audit.catch_up", time.monotonic() - begin, "s")
    took = sorted(_took(search, _wanted(choose)) for _ in range(_SEARCHES))
    yield Row("console_audit.search_p50", took[_SEARCHES // 2], "ms")
    p95 = took[_SEARCHES * 95 // 100]
    yield Row("console_audit.search_p95", p95, "ms", target=150.0, test="ours <=")
    yield Row("console_audit.search_max", took[-1], "ms")
    counted = sorted(_counted(search, _wanted(choose)) for _ in range(40))
    yield Row("console_audit.histogram_p95", counted[38], "ms", target=150.0, test="ours <=")


async def _caught_up(search: AuditSearch, folder: Path) -> None:
    reader = BlockReader(folder)
    for number in search.missing():
        search.adopt(await reader.read(number))
    await reader.close()


def _write(folder: Path) -> None:
    """A week of calls: a few agents and tools make most of them, one in twenty is refused or breaks."""
    choose, number = random.Random(1), 0
    log = AuditLog(
        folder,
        clock=lambda: _BEGIN + number * _STEP,
        monotonic=time.monotonic,
        random=os.urandom,
    )
    while number < RECORDS:
        call = _call(number, choose)
        log.open(call).close(call, _outcome(choose.random()))
        number += 1
    asyncio.run(log.close())


def _call(number: int, choose: random.Random) -> Call:
    tool = _TOOLS[min(199, int(choose.paretovariate(0.5)))]
    return Call(
        id=f"call-{number}",
        door="http",
        kind="tool",
        method="tools/call",
        name=tool.exposed,
        params={"name": tool.exposed, "arguments": {"path": "/srv/data/file.txt"}},
        caller=Caller(f"agent.{min(49, int(choose.paretovariate(0.8)))}", "agent", "Zk3v9QpT"),
        client=Client("2025-11-25"),
        trace_id=f"{number * 0x9E3779B97F4A7C15 % 2**128:032x}",
        target=tool.target,
        tool=tool,
        facts={"access": "server_grant"},
    )


def _outcome(chance: float) -> Outcome:
    if chance < 0.0001:
        return Refusal("flow", "no", gate="flow")
    if chance < 0.03:
        return Refusal("access_denied", "no", gate="access")
    return Failure("timeout", "no") if chance < 0.05 else _ANSWER


def _wanted(choose: random.Random) -> Wanted:
    facts = {
        "agent": f"agent.{choose.randrange(60)}",
        "server": f"server{choose.randrange(9)}",
        "tool": f"tool_{choose.randrange(220)}",
        "kind": choose.choice(["TOOL_EXECUTED", "TOOL_BLOCKED", "SERVER_CONNECTED"]),
        "outcome": choose.choice(["denied", "error", "success", "failure"]),
        "gate": choose.choice(["flow", "access"]),
        "rule": choose.choice(["flow", "timeout", "server_grant", "nothing"]),
    }
    names = choose.sample(FACTS, choose.choice([0, 1, 1, 2, 2, 3]))
    since = until = None
    if choose.random() < 0.3:
        since = int((_BEGIN + choose.random() * RECORDS * _STEP) * 1000)
        until = since + choose.choice([3_600_000, 86_400_000])
    return Wanted(facts={name: facts[name] for name in names}, since=since, until=until)


def _took(search: AuditSearch, wanted: Wanted) -> float:
    """Milliseconds of a page."""
    begin = time.perf_counter()
    search.search(wanted)
    return (time.perf_counter() - begin) * 1000


def _counted(search: AuditSearch, wanted: Wanted) -> float:
    begin = time.perf_counter()
    first, last = search.span() or (0, 1)
    step = (last - first) // 70 + 1
    search.counted(wanted, [*range(first, last + step, step)])
    return (time.perf_counter() - begin) * 1000


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
