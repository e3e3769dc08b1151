"""The service levels of seed 004 (model_context_protocol): each of its figures beside the target that it names.

Registration, listing, schemas, discovery and validation are measured in this process (discovery in a fresh one, on a cold tree of
modules). Dispatch and throughput are those of a server written with the SDK, in a process of its own, through the SDK's client: stdio one
call after the other and pipelined, HTTP one after the other and from 50 callers at once. Latencies are percentiles of single calls.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.commands import own_sdk, own_sdk_stdio
from benchmarks.processes import Trouble
from benchmarks.rows import Options, Row, main
from gatewright.sdk import Client, MCPToolCall, Registry, mcp_tool

__all__ = ["TARGETS", "in_process", "percentile", "run"]

TARGETS: dict[str, tuple[float, str]] = {
    "sdk.import": (60.0, "ms"),
    "slo.registration": (1.0, "ms"),
    "slo.list": (5.0, "ms"),
    "slo.schema": (1.0, "ms"),
    "slo.validation": (1.0, "ms"),
    "slo.discovery": (2000.0, "ms"),
    "slo.dispatch.stdio": (10.0, "ms"),
    "slo.dispatch.http": (100.0, "ms"),
    "slo.throughput.stdio": (1000.0, "calls/s"),
    "slo.throughput.http": (100.0, "calls/s"),
}
"""Row → what the seed's table asks for, and its unit. `sdk.import` is our own promise to authors."""

TOOLS = 10_000
MODULES = 1_000
IN_FLIGHT = 64
CALLERS = 50
_MODULE = """
from gatewright.sdk import mcp_tool

@mcp_tool
def look(query: str, limit: int = 5) -> dict[str, object]:
    \"\"\"Look something up.\"\"\"
    return {"query": query, "limit": limit}
"""
_IMPORT = """
import time
begun, busy = time.perf_counter(), time.process_time()
from gatewright.sdk import Registry, mcp_tool
print((time.perf_counter() - begun) * 1000, (time.process_time() - busy) * 1000)
"""
_IMPORTS = 7
_SCAN = """
import json, sys, time
from gatewright.sdk import Discovery
begun = time.perf_counter()
found = Discovery(sys.argv[1]).scan()
print(json.dumps([(time.perf_counter() - begun) * 1000, len(found.tools), len(found.problems)]))
"""
_CALL = {
    "jsonrpc": "2.0",
    "method": "tools/call",
    "id": 1,
    "params": {"name": "memory_put", "arguments": {"key": "a", "value": "b" * 100}},
}


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of them are."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _row(name: str, ours: float, **extras: Any) -> Row:
    target, unit = TARGETS[name]
    test: Any = "ours >=" if unit == "calls/s" else "ours <="
    return Row(name, ours, unit, target, "target", target, test, extras)


def _timed(function: Callable[[], object], times: int) -> list[float]:
    """The milliseconds that each run took."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        function()
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


def in_process(tools: int, times: int = 1000) -> Iterator[Row]:
    """Registration, list, schema and validation, with so many tools; each `times` times."""
    registry = Registry("slo")

    def declare(number: int) -> Callable[[], object]:
        def look(query: str, limit: int = 5) -> dict[str, object]:
            """Look something up.

            Args:
                query: What to look for.
                limit: How many at most.
            """
            return {"query": query, "limit": limit}

        return lambda: mcp_tool(registry=registry, name=f"tool_{number}")(look)

    declare(-1)()  # whatever is loaded for the first tool of a process
    taken = [_timed(declare(number), 1)[0] for number in range(tools)]
    yield _row("slo.registration", percentile(taken, 0.99), median=_short(percentile(taken, 0.5)))
    taken = _timed(registry.list_registered_tools, times)
    yield _row("slo.list", percentile(taken, 0.99), tools=len(registry))
    taken = _timed(lambda: registry.get_tool_schema(f"tool_{tools // 2}"), times)
    yield _row("slo.schema", percentile(taken, 0.99), tools=len(registry))
    MCPToolCall.model_validate(_CALL)
    taken = _timed(lambda: MCPToolCall.model_validate(_CALL), times)
    yield _row("slo.validation", percentile(taken, 0.99))


def _import() -> Row:
    """What the first import costs a program that has imported nothing else; the median of a few."""
    command = [sys.executable, "-c", _IMPORT]
    runs = [
        subprocess.run(command, capture_output=True, timeout=60, check=True).stdout.split()
        for _ in range(_IMPORTS)
    ]
    taken = [float(wall) for wall, _ in runs]
    processor = _short(min(float(busy) for _, busy in runs))
    return _row("sdk.import", percentile(taken, 0.5), processor_ms=processor)


def _discovery(folder: Path) -> Row:
    tree = folder / "tree"
    for number in range(MODULES):
        package = tree / f"area_{number // 50}" / f"part_{number}"
        package.mkdir(parents=True)
        (package / "mcp_tools.py").write_text(_MODULE, encoding="utf-8")
    command = [sys.executable, "-B", "-c", _SCAN, str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise Trouble(f"the scan failed: {done.stderr[-500:]}")
    taken, tools, problems = json.loads(done.stdout)
    if (tools, problems) != (MODULES, 0):
        raise Trouble(f"{tools} tools and {problems} problems in {MODULES} modules")
    return _row("slo.discovery", taken, modules=MODULES)


async def _latencies(client: Client, seconds: float) -> list[float]:
    taken = []
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        begun = time.perf_counter()
        await client.call_tool("echo", {"text": "hello"})
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


async def _rate(call: Callable[[], Awaitable[object]], callers: int, seconds: float) -> float:
    stop = time.monotonic() + seconds

    async def one() -> int:
        count = 0
        while time.monotonic() < stop:
            await call()
            count += 1
        return count

    begun = time.perf_counter()
    done = await asyncio.gather(*(one() for _ in range(callers)))
    return sum(done) / (time.perf_counter() - begun)


async def _served(kind: str, target: Any, callers: int, options: Options) -> list[Row]:
    async with Client(target) as client:

        async def call() -> None:
            result = await client.call_tool("echo", {"text": "hello"})
            if result.is_error:
                raise Trouble(f"the call over {kind} failed: {result}")

        await _rate(call, callers, 0.2)  # warm-up
        taken = await _latencies(client, options.seconds)
        rate = await _rate(call, callers, options.seconds)
    return [
        _row(
            f"slo.dispatch.{kind}",
            percentile(taken, 0.99),
            median=_short(percentile(taken, 0.5)),
            calls=len(taken),
        ),
        _row(f"slo.throughput.{kind}", rate, in_flight=callers),
    ]


def _short(figure: float) -> float:
    return round(figure, 4)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    yield _import()
    yield from in_process(TOOLS)
    yield _discovery(options.folder)
    yield from asyncio.run(_served("stdio", own_sdk_stdio(), IN_FLIGHT, options))
    server = stack.enter_context(own_sdk(options.folder))
    yield from asyncio.run(_served("http", server.url, CALLERS, options))


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
