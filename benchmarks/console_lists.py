"""How long pages of the console take with 1,000 approvals that wait and 10,000 tools.

    python -m benchmarks.console_lists [--json]

Each row is a page as a browser asks for it, from the request to its last byte: the 95th percentile of 40, with a call made between any two,
so that what the gateway keeps of a page is not what is measured.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from hashlib import sha256
from pathlib import Path

from benchmarks.console import Visitor, console_gateway, visitor
from benchmarks.gateway import Upstream
from benchmarks.mcp_client import Session, open_sessions
from benchmarks.processes import Trouble
from benchmarks.rows import Options, Row, main
from gatewright.approvals.request import Asked
from gatewright.approvals.store import WAITING_EACH, Approvals
from gatewright.storage.opening import open_state

__all__ = ["PAGES", "run", "took"]

WAITING = 1_000
TOOLS = 10_000
TIMES = 40
_WITHIN_MS = 100.0
_SERVERS = 4
_CALLED = "echo1__echo"
PAGES: Mapping[str, str] = {
    "inbox": "/inbox",
    "inbox_refreshed": "/inbox/list",
    "inbox_by_agent": "/inbox?sort=agent",
    "inbox_filtered": "/inbox?agent=agent-7",
    "inbox_api": "/api/v1/approvals",
    "tools": "/tools",
    "tools_by_server": "/tools?sort=server&desc=true",
    "tools_of_one": "/tools?server=echo2",
    "tools_found": "/tools?q=give a text back",
    "tool": "/tools/one?server=echo1&tool=echo",
    "tools_api": "/api/v1/tools?limit=200",
    "access": "/access",
    "access_found": "/access?find=echo_77",
    "servers": "/servers",
    "server": "/servers/echo1",
}


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    for name, figures in took(options.folder, stack, WAITING, TOOLS, TIMES).items():
        yield Row(
            f"console_lists.{name}",
            sorted(figures)[len(figures) * 95 // 100],
            "ms",
            target=_WITHIN_MS,
            test="ours <=",
            extras={"worst_ms": round(max(figures), 1), "of": len(figures)},
        )


def took(
    folder: Path, stack: ExitStack, waiting: int, tools: int, times: int
) -> dict[str, list[float]]:
    """Milliseconds of each page, so many times, with so much to show. Raises `Trouble`."""
    name = "lists"
    _ask(folder / name / "data", waiting)
    each = str(tools // _SERVERS)
    upstreams = [Upstream.echo(f"echo{at}", "--tools", each) for at in range(_SERVERS)]
    process, url = stack.enter_context(console_gateway(folder, name, upstreams=upstreams))
    (session,) = open_sessions(process.url, 1)
    stack.callback(session.close)
    who = visitor(url)
    _settle(who, _SERVERS * (tools // _SERVERS))
    return {page: _times(who, session, path, times) for page, path in PAGES.items()}


def _ask(state: Path, count: int) -> None:
    """Put so many requests there, as calls leave them that wait."""
    state.mkdir(parents=True, mode=0o700)
    with closing(open_state(state, lambda _: None)) as database:
        queue = Approvals(database, clock=time.time, random=os.urandom)
        for number in range(count):
            agent, arguments = f"agent-{number // WAITING_EACH}", f'{{"text":"hello {number}"}}'
            digest = sha256(arguments.encode()).hexdigest()
            queue.ask(
                Asked(agent, "echo1", "echo", digest),
                arguments=arguments,
                risk="dangerous" if number % 3 else "moderate",
                reason="its tool asks for a person",
                quorum=1,
                lasts_s=3_600,
            )


def _settle(who: Visitor, tools: int) -> None:
    """Wait until the gateway has looked at so many definitions: what it does when it starts is no page's."""
    line = http.client.HTTPConnection(who.host, who.port, timeout=60)
    headers, ends = {"Cookie": who.cookie, "X-CSRF-Token": who.key}, time.monotonic() + 60
    while time.monotonic() < ends:
        line.request("GET", "/api/v1/tools?limit=1", headers=headers)
        if json.loads(line.getresponse().read())["total"] >= tools:
            line.close()
            return
        time.sleep(0.2)
    raise Trouble(f"the gateway does not list {tools} tools")


def _times(who: Visitor, session: Session, path: str, times: int) -> list[float]:
    line = http.client.HTTPConnection(who.host, who.port, timeout=60)
    headers = {"Cookie": who.cookie, "X-CSRF-Token": who.key}
    found = []
    for number in range(times + 1):
        session.ask("tools/call", {"name": _CALLED, "arguments": {"text": f"{number}"}})
        began = time.perf_counter()
        line.request("GET", path.replace(" ", "+"), headers=headers)
        answer = line.getresponse()
        answer.read()
        found.append((time.perf_counter() - began) * 1000)
        if answer.status != http.client.OK:
            raise Trouble(f"{path} was answered with {answer.status}")
    line.close()
    return found[1:]  # with the first one the gateway makes its screens


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
