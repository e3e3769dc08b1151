"""Tool search in a running gateway, over HTTP, on one core: latency of `discover` and of plain calls, alone and both at the same time.

Part of `benchmarks.discovery_scale`. The tools are of servers in the gateway's process, so that a run does not wait for a hundred
thousand definitions to be screened; the tool that is called is of a stdio server. The gateway is pinned to one core. What gateway and
client wait for a processor that other programs have is not counted (Linux).
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.gateway import Upstream, own_gateway
from benchmarks.mcp_client import Session
from benchmarks.processes import Process, Trouble
from gatewright.discovery.index import Entry

__all__ = ["definition", "whiles"]

CALLS = 1500
READY_S = 240.0
_DISCOVER = "mgp_tools_discover"
_AT_ONCE_MS = 500
_numbers = itertools.count(1000)


def definition(entry: Entry) -> dict[str, Any]:
    """A tool as its server lists it."""
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in entry.parameters}}
    return {"name": entry.name, "description": entry.description, "inputSchema": schema}


def whiles(listed: Iterable[Sequence[Entry]], queries: Sequence[str]) -> None:
    """Print percentiles of searches and calls, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder, _running(listed, Path(folder)) as ours:
        session = Session(ours.url)
        session.open()
        _until_found(session, queries[0][:2000])
        _on_one_core(ours)
        with closing(_Asking(session, ours.pid)) as line:
            _measured(ours, line, queries)
        session.close()


def _measured(ours: Process, line: _Asking, queries: Sequence[str]) -> None:
    _searched(line, queries)  # who searches first asks of every tool whether it may be seen
    print(f"in a gateway on one core: search {_said(_searched(line, queries))}, alone")
    print(f"  call {_said(_called(line, lambda many: many >= CALLS))}, alone")
    stop, calls = threading.Event(), list[float]()

    def calling() -> None:
        session = Session(ours.url)
        session.open()
        with closing(_Asking(session, ours.pid)) as other:
            calls.extend(_called(other, lambda many: many > 1 and stop.is_set()))
        session.close()

    busy = threading.Thread(target=calling)
    busy.start()
    try:
        both = _searched(line, queries)
    finally:
        stop.set()
        busy.join()
    print(f"  search {_said(both)}, while {len(calls)} calls run one after the other")
    print(f"  call {_said(calls)}, while searches do")


@contextmanager
def _running(listed: Iterable[Sequence[Entry]], folder: Path) -> Iterator[Process]:
    """A gateway with these tools."""
    files = folder / "listed"
    files.mkdir()
    for number, entries in enumerate(listed):
        lines = "\n".join(json.dumps(definition(one)) for one in entries)
        (files / f"many_{number}.jsonl").write_text(lines, encoding="utf-8")
    with own_gateway(folder, [Upstream.echo()], name="search", listed=files) as ours:
        yield ours


def _until_found(session: Session, query: str) -> None:
    """Wait until the index has everything: the same is found three times in a row, at once."""
    deadline, last, times = time.monotonic() + READY_S, -1, 0
    while times < 3:
        if time.monotonic() > deadline:
            raise Trouble("the index is not made in time")
        found = _found(session, query)
        at_once = found["query_time_ms"] < _AT_ONCE_MS
        times = times + 1 if at_once and found["total_available"] == last else 0
        last = found["total_available"]
        time.sleep(1)


def _found(session: Session, query: str) -> dict[str, Any]:
    arguments = {"query": query, "strategy": "keyword"}
    said = session.ask("tools/call", {"name": _DISCOVER, "arguments": arguments})
    found: dict[str, Any] = json.loads(said["content"][0]["text"])
    return found


def _on_one_core(ours: Process) -> None:
    if sys.platform == "linux":
        core = {min(os.sched_getaffinity(0))}
        for thread in Path(f"/proc/{ours.pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), core)


class _Asking:
    """One connection of a session. An answer may be JSON or, where it takes long, a stream of events."""

    def __init__(self, session: Session, pid: int) -> None:
        self._line = http.client.HTTPConnection(session.host, session.port, timeout=60)
        self._line.connect()
        self._session = session
        self._waits = [
            Path(f"/proc/{pid}/task/{pid}/schedstat"),
            Path("/proc/thread-self/schedstat"),
        ]

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def ms(self, name: str, arguments: dict[str, Any]) -> float:
        """How long a call takes."""
        params = {"name": name, "arguments": arguments}
        payload = {"jsonrpc": "2.0", "id": next(_numbers), "method": "tools/call", "params": params}
        headers, body = self._session.headers(payload), json.dumps(payload)
        waited, begun = self._waited(), time.perf_counter()
        self._line.request("POST", "/mcp", body, headers)
        said = self._line.getresponse().read()
        taken = time.perf_counter() - begun - (self._waited() - waited)
        if b'"result"' not in said:
            raise Trouble(f"{name} was answered {said[:300]!r}")
        return max(taken, 0.0) * 1000

    def _waited(self) -> float:
        """Seconds that the gateway's loop and this thread have waited for a processor."""
        if sys.platform != "linux":
            return 0.0
        return sum(int(one.read_text(encoding="ascii").split()[1]) for one in self._waits) / 1e9


def _searched(line: _Asking, queries: Sequence[str]) -> list[float]:
    return [line.ms(_DISCOVER, {"query": query[:2000]}) for query in queries]


def _called(line: _Asking, until: Callable[[int], bool]) -> list[float]:
    times = list[float]()
    while not until(len(times)):
        times.append(line.ms("echo__echo", {"text": "x"}))
    return times


def _said(times: Sequence[float]) -> str:
    cuts = statistics.quantiles(times, n=100)
    return f"{statistics.median(times):.2f} ms median, {cuts[98]:.2f} ms p99"
