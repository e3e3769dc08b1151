"""A list of 1,000 tools: what the gateway adds the first time, and what it costs from its cache.

The first time is the first `tools/list` that a fresh gateway is asked, less the first one that the
same server is asked alone over stdio. From the cache is the whole round trip of a later one, less
the round trip of a `ping` on the same connection: the server's work and the moving of the bytes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.commands import echo_stdio, fastmcp_proxy
from benchmarks.gateway import Upstream, gateway
from benchmarks.line import Line
from benchmarks.mcp_client import Session
from benchmarks.processes import Trouble
from benchmarks.rows import Options, Row, main
from benchmarks.stdio_client import stdio_client

__all__ = ["run"]

TOOLS = 1_000
STARTS = 5
REPEATS = 300


def _alone(folder: Path, command: list[str]) -> float:
    """Seconds of the first list of a fresh server, alone."""
    with stdio_client("alone", command, folder) as client:
        begun = time.perf_counter()
        listed = client.ask("tools/list", {})["tools"]
        taken = time.perf_counter() - begun
    if len(listed) < TOOLS:
        raise Trouble(f"the server lists {len(listed)} tools, not {TOOLS}")
    return taken


def _checked(answer: bytes) -> int:
    """The size of the body of a list, which must be whole."""
    body = answer.partition(b"\r\n\r\n")[2]
    listed = json.loads(body)["result"]
    if len(listed["tools"]) < TOOLS or listed.get("nextCursor"):
        raise Trouble(f"a list has {len(listed['tools'])} tools, not {TOOLS}")
    return len(body)


def _through(url: str, era: str, repeats: int) -> tuple[float, float, float, int]:
    """Seconds: the first list, a later one, a ping (or its like); and the body's size."""
    session = Session(url, era)
    session.open()
    calm = "server/discover" if session.modern else "ping"
    with Line(session.host, session.port) as line:
        ask, ping = session.spelled("tools/list", {}), session.spelled(calm, {})
        first, answer = line.ask(ask)
        size = _checked(answer)
        later, pings = [], []
        for _ in range(repeats):
            later.append(line.ask(ask)[0])
            pings.append(line.ask(ping)[0])
        _checked(line.ask(ask)[1])
    session.close()
    return first, statistics.median(later), statistics.median(pings), size


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    command = echo_stdio("--tools", str(TOOLS), "--era", "both")
    upstream = Upstream("echo", command)
    alone, legacy, modern = [], [], []
    for number in range(STARTS):
        alone.append(_alone(folder, command))
        with gateway(folder, [upstream], name=f"lists_{number}") as ours:
            legacy.append(_through(ours.url, "legacy", REPEATS))
            modern.append(_through(ours.url, "modern", REPEATS))
    peer = stack.enter_context(fastmcp_proxy(folder, command))
    session = Session(peer.url)
    session.open()
    theirs = []
    for _ in range(STARTS):
        begun = time.perf_counter()
        session.ask("tools/list", {})
        theirs.append(time.perf_counter() - begun)
    yield from _rows(alone, legacy, modern, theirs)


Taken = list[tuple[float, float, float, int]]


def _rows(alone: list[float], legacy: Taken, modern: Taken, theirs: list[float]) -> Iterator[Row]:
    first = statistics.median(one[0] for one in legacy) * 1000
    by_itself = statistics.median(alone) * 1000
    extras = {"added_ms": round(first - by_itself, 3), "bytes": legacy[0][3]}
    yield Row(
        "tools_list.1000.first",
        first,
        "ms",
        by_itself,
        "the server alone",
        15.0,
        "added <=",
        extras,
    )
    for era, taken in (("legacy", legacy), ("modern", modern)):
        later = statistics.median(one[1] for one in taken) * 1000
        ping = statistics.median(one[2] for one in taken) * 1000
        yield Row(
            f"tools_list.1000.cached.{era}",
            later,
            "ms",
            ping,
            "ours, ping" if era == "legacy" else "ours, server/discover",
            0.2,
            "added <=",
            {"added_ms": round(later - ping, 4), "bytes": taken[0][3]},
        )
    later = statistics.median(one[1] for one in legacy) * 1000
    peer = statistics.median(theirs[1:]) * 1000
    yield Row("tools_list.1000.again", later, "ms", peer, "FastMCP proxy")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
