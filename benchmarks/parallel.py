"""Eight calls at once to one stdio server, each of which takes a second: nobody waits for another."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from benchmarks.commands import echo_stdio, fastmcp_proxy
from benchmarks.gateway import Upstream, gateway
from benchmarks.mcp_client import close_all, open_sessions
from benchmarks.processes import Trouble
from benchmarks.rows import Options, Row, main
from benchmarks.stdio_client import stdio_client

__all__ = ["run"]

CALLS = 8
SECONDS = 1.0


def _arguments(tool: str, number: int) -> dict[str, object]:
    return {"name": tool, "arguments": {"text": f"call {number}", "seconds": SECONDS}}


def _at_once(url: str, tool: str) -> float:
    """Seconds until all eight clients have their answer."""
    sessions = open_sessions(url, CALLS)
    name = sessions[0].tool(tool)
    asked = [_arguments(name, number) for number in range(CALLS)]
    with ThreadPoolExecutor(CALLS) as pool:
        begun = time.perf_counter()
        futures = [
            pool.submit(session.ask, "tools/call", params)
            for session, params in zip(sessions, asked, strict=True)
        ]
        results = [future.result(timeout=60) for future in futures]
        taken = time.perf_counter() - begun
    close_all(sessions)
    for number, result in enumerate(results):
        if result["content"][0]["text"] != f"call {number}":
            raise Trouble(f"call {number} was answered {result}")
    return taken


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    ours = stack.enter_context(gateway(folder, [Upstream.echo()]))
    peer = stack.enter_context(fastmcp_proxy(folder, echo_stdio()))
    alone = stack.enter_context(stdio_client("alone", echo_stdio(), folder))
    taken: dict[str, list[float]] = {"ours": [], "peer": [], "alone": []}
    for _ in range(options.rounds):
        taken["ours"].append(_at_once(ours.url, "sleep"))
        taken["peer"].append(_at_once(peer.url, "sleep"))
        begun = time.perf_counter()
        alone.ask_all("tools/call", [_arguments("sleep", number) for number in range(CALLS)])
        taken["alone"].append(time.perf_counter() - begun)
    middle = {name: statistics.median(times) for name, times in taken.items()}
    extras = {"server_alone_s": round(middle["alone"], 4)}
    yield Row(
        "parallel.8x1s",
        middle["ours"],
        "s",
        middle["peer"],
        "FastMCP proxy",
        1.1,
        "ours <=",
        extras,
    )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
