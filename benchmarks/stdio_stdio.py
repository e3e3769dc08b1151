"""stdio in front and behind, one call after the other: a desktop host with the gateway before one
server. What the gateway adds is its median less that of the same server alone."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.commands import echo_stdio, fastmcp_proxy_stdio
from benchmarks.gateway import Upstream, stdio_command
from benchmarks.processes import cpu_seconds
from benchmarks.rows import Options, Row, main
from benchmarks.stdio_client import StdioClient, stdio_client

__all__ = ["run"]


def _round(client: StdioClient, tool: str, seconds: float) -> tuple[float, float, float, float]:
    """Calls a second, median and 99th percentile in microseconds, CPU microseconds a call."""
    before = cpu_seconds(client.pid)
    taken = sorted(client.echo(tool, seconds))
    cpu = (cpu_seconds(client.pid) - before) / len(taken) * 1e6
    p99 = taken[max(0, -(-99 * len(taken) // 100) - 1)]
    return len(taken) / seconds, statistics.median(taken) * 1e6, p99 * 1e6, cpu


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    server = echo_stdio("--era", "legacy")
    commands = {
        "alone": server,
        "ours": stdio_command(folder, [Upstream.echo("echo", "--era", "legacy")]),
        "fastmcp": fastmcp_proxy_stdio(server),
    }
    clients = {
        name: stack.enter_context(stdio_client(f"stdio_{name}", command, folder))
        for name, command in commands.items()
    }
    tools = {name: client.tool("echo") for name, client in clients.items()}
    rounds: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in clients}
    for _ in range(options.rounds):
        for name, client in clients.items():
            _round(client, tools[name], 0.2)  # warm-up
            rounds[name].append(_round(client, tools[name], options.seconds))
    rate, median, p99, cpu = (
        {name: statistics.median(one[part] for one in taken) for name, taken in rounds.items()}
        for part in range(4)
    )
    extras = {"p50_us": round(median["ours"], 1), "p99_us": round(p99["ours"], 1)}
    extras["cpu_us_per_call"] = round(cpu["ours"], 1)
    yield Row(
        "stdio_stdio.sequential",
        rate["ours"],
        "calls/s",
        rate["fastmcp"],
        "FastMCP proxy",
        8_000,
        "ours >=",
        extras,
    )
    yield Row(
        "stdio_stdio.added_p50",
        median["ours"],
        "us",
        median["alone"],
        "the server alone",
        60.0,
        "added <=",
        {"added_us": round(median["ours"] - median["alone"], 1)},
    )
    yield Row("stdio_stdio.fastmcp_p50", median["ours"], "us", median["fastmcp"], "FastMCP proxy")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
