"""Sixty-four clients at one server: how many children run, and how much memory the gateway holds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack

from benchmarks.commands import echo_stdio, fastmcp_proxy
from benchmarks.gateway import Upstream, gateway
from benchmarks.mcp_client import Session, close_all, open_sessions
from benchmarks.processes import Process, Trouble, children, resident_bytes
from benchmarks.rows import Options, Row, main

__all__ = ["run"]

SESSIONS = 64
CALLS = 20


def _use(sessions: list[Session]) -> None:
    """Each client lists the tools and calls one some times."""
    tool = sessions[0].tool("echo")
    for session in sessions:
        session.ask("tools/list", {})
        for number in range(CALLS):
            asked = {"name": tool, "arguments": {"text": f"hello {number}"}}
            text = session.ask("tools/call", asked)["content"][0]["text"]
            if text != f"hello {number}":
                raise Trouble(f"call {number} was answered {text!r}")


def _cost(process: Process) -> tuple[int, float, float]:
    """Children that are the echo server, and megabytes before and with the sessions."""
    before = resident_bytes(process.pid) / 1e6
    sessions = open_sessions(process.url, SESSIONS)
    _use(sessions)
    running = [line for line in children(process.pid).values() if "echo_stdio" in line]
    after = resident_bytes(process.pid) / 1e6
    close_all(sessions)
    return len(running), before, after


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    ours = stack.enter_context(gateway(folder, [Upstream.echo()]))
    peer = stack.enter_context(fastmcp_proxy(folder, echo_stdio()))
    if not children(ours.pid):
        raise Trouble("the gateway has no child that /proc knows; this benchmark needs Linux")
    count, before, after = _cost(ours)
    peer_count, _, peer_after = _cost(peer)
    yield Row("sessions.64.children", count, "", peer_count, "FastMCP proxy", 1, "ours <=")
    yield Row(
        "sessions.64.rss",
        after,
        "MB",
        peer_after,
        "FastMCP proxy",
        150,
        "ours <=",
        {"before_mb": round(before, 1), "kb_per_session": round((after - before) * 1e3 / SESSIONS)},
    )


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
