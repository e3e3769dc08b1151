"""Servers that are restarted under load, and started and stopped again and again: calls lost, and what is left behind.

Rolling restart: five servers and one that nobody touches, which has half of them, take 200 calls a second; one of the five after the other is
restarted by the operator's method, and again. Counted is every call that did not bring its own answer; the untouched
server's p99 is compared with what it is while nothing is restarted, and with what it is while as many of the same programs are started by
somebody else, which is what a machine of few cores does to everybody. All three by turns. Cycles: one server is stopped and started 1,000 times; counted are the
processes, zombies, file descriptors and memory that are more than after the first tenth.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.commands import echo_stdio, gatewright
from benchmarks.mcp_client import MODERN
from benchmarks.processes import ROOT, Process, Trouble, children, resident_bytes, started
from benchmarks.rows import Options, Row, main

__all__ = ["Cycles", "Rolling", "cycles", "rolling", "run"]

SERVERS = 5
CALLS_A_SECOND = 200
ROUNDS = 40
CYCLES = 1000
QUIET_S = 0.75
MOST_P99 = 1.1
MOST_GROWTH_MB = 16.0
PATIENCE_S = 60.0

_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {
        "mgp": {"version": "0.2.0", "extensions": ["security", "lifecycle"]}
    },
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
}
_CONFIG = '[gateway]\nanonymous = "allow"\n[storage]\npath = {state}\n'
_SERVER = """
[[servers]]
id = "{name}"
command = {command}
args = {args}
default_policy = "opt-out"
"""


@dataclass
class Rolling:
    """What became of the calls. Times are milliseconds."""

    restarts: int = 0
    answered: int = 0
    lost: list[str] = field(default_factory=list)
    quiet_ms: list[float] = field(default_factory=list)
    """Of the untouched server while nothing was restarted."""
    elsewhere_ms: list[float] = field(default_factory=list)
    """Of the same while as many programs were started and ended that are no servers of the gateway."""
    busy_ms: list[float] = field(default_factory=list)
    """Of the same while other servers were restarted."""
    restarts_ms: list[float] = field(default_factory=list)


@dataclass
class Cycles:
    """What is left after so many stops and starts, and how long one of both took (milliseconds)."""

    count: int = 0
    took_ms: list[float] = field(default_factory=list)
    children: int = 0
    zombies: int = 0
    more_descriptors: int = 0
    growth_mb: float = 0.0


class _Client:
    """Calls tools as anybody, and restarts servers as the operator."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str) -> None:
        self._http = http
        self._url = url
        self._token = token

    async def ask(self, method: str, params: dict[str, Any], *, chief: bool = False) -> Any:
        """The whole reply."""
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
        }
        if "name" in params:
            headers["Mcp-Name"] = params["name"]
        if chief:
            headers["Authorization"] = f"Bearer {self._token}"
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": _META}}
        async with self._http.post(self._url, json=body, headers=headers) as answer:
            text = await answer.text()
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
        return json.loads(lines[-1] if lines else text)

    async def act(self, verb: str, server: str) -> float:
        """How many milliseconds it took. Raises `Trouble` where the server is not as it should be then."""
        began = time.perf_counter()
        reply = await self.ask(f"gatewright/server/{verb}", {"server": server}, chief=True)
        wanted = "disconnected" if verb == "stop" else "connected"
        if reply.get("result", {}).get("status") != wanted:
            raise Trouble(f"{verb} of {server}: {json.dumps(reply)[:300]}")
        return (time.perf_counter() - began) * 1e3


class _Load:
    """Calls at a steady rate, to the servers that are restarted in turn, and as many to the one that is not."""

    def __init__(self, client: _Client, figures: Rolling) -> None:
        self._client = client
        self._figures = figures
        self.times = figures.quiet_ms
        """Where the times of the untouched server's calls go."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, until: asyncio.Event) -> None:
        """Call until told to stop, and wait for every answer."""
        loop = asyncio.get_running_loop()
        began, number = loop.time(), 0
        while not until.is_set():
            task = loop.create_task(self._call(number))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            number += 1
            await asyncio.sleep(max(0.0, began + number / CALLS_A_SECOND - loop.time()))
        await asyncio.gather(*self._tasks)

    async def _call(self, number: int) -> None:
        # Half of them: of a sixth, p99 would be the second worst of a hundred and fifty.
        server = SERVERS if number % 2 else number // 2 % SERVERS
        times, found = self.times, self._figures
        seconds = 0.02 if number % 3 else 0.0
        given = {"text": f"n{number}", "seconds": seconds}
        began = time.perf_counter()
        try:
            params = {"name": f"s{server}__sleep", "arguments": given}
            reply = await self._client.ask("tools/call", params)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as problem:
            found.lost.append(f"s{server}: {type(problem).__name__}: {problem}")
            return
        took = (time.perf_counter() - began) * 1e3 - seconds * 1e3
        content = reply.get("result", {}).get("content") or [{}]
        if content[0].get("text") != given["text"]:
            found.lost.append(f"s{server}: {json.dumps(reply)[:300]}")
            return
        found.answered += 1
        if server == SERVERS:  # which nobody restarts
            times.append(took)


def _gateway(folder: Path, stack: ExitStack, servers: int) -> tuple[Process, str]:
    file, state = folder / "mgp.toml", folder / "state"
    command, *args = echo_stdio()
    words = {"command": json.dumps(command), "args": json.dumps(args)}
    tables = (_SERVER.format(name=f"s{number}", **words) for number in range(servers))
    file.write_text(_CONFIG.format(state=json.dumps(str(state))) + "".join(tables), "utf-8")
    process = stack.enter_context(
        started("gatewright", gatewright("serve", "--config", str(file), "--port", "0"), folder)
    )
    token: str = json.loads((state / "gateway.json").read_text("utf-8"))["operator_token"]
    return process, token


class _Elsewhere:
    """A process of its own that starts servers as the gateway does and ends them: what starts a program stands still meanwhile."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def started(cls) -> _Elsewhere:
        """With nothing started yet."""
        command = [sys.executable, "-m", "benchmarks.starter", *echo_stdio()]
        pipe = asyncio.subprocess.PIPE
        return cls(
            await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, cwd=ROOT)
        )

    async def start(self) -> None:
        """Start one, wait for its hello, end it. Raises `Trouble` where it did not come."""
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None
        assert sink is not None
        sink.write(b"\n")
        if await asyncio.wait_for(source.readline(), PATIENCE_S) != b"ended\n":
            raise Trouble("a server that no gateway has did not start")

    async def end(self) -> None:
        """No more."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


def rolling(folder: Path, stack: ExitStack, rounds: int, quiet_s: float = QUIET_S) -> Rolling:
    """Restart all but one so many times under load. Raises `Trouble`."""
    process, token = _gateway(folder, stack, SERVERS + 1)

    async def measured() -> Rolling:
        found, over = Rolling(), asyncio.Event()
        timeout, connector = aiohttp.ClientTimeout(total=PATIENCE_S), aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as http:
            client = _Client(http, process.url, token)
            load, elsewhere = _Load(client, found), await _Elsewhere.started()
            running = asyncio.create_task(load.run(over))
            try:
                for _ in range(rounds):
                    load.times = found.quiet_ms
                    await asyncio.sleep(quiet_s)
                    load.times = found.elsewhere_ms
                    for _ in range(SERVERS):
                        await elsewhere.start()
                    load.times = found.busy_ms
                    for number in range(SERVERS):
                        found.restarts_ms.append(await client.act("restart", f"s{number}"))
                        found.restarts += 1
            finally:
                over.set()
                await running
                await elsewhere.end()
        return found

    return asyncio.run(measured())


def cycles(folder: Path, stack: ExitStack, count: int) -> Cycles:
    """Stop and start one server so many times. Raises `Trouble`."""
    process, token = _gateway(folder, stack, 1)

    async def measured() -> Cycles:
        found, before = Cycles(), (0, 0)
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE_S)) as http:
            client = _Client(http, process.url, token)
            for number in range(count):
                took = await client.act("stop", "s0") + await client.act("start", "s0")
                found.took_ms.append(took)
                found.count += 1
                if number == count // 10:
                    before = _descriptors(process.pid), resident_bytes(process.pid)
            await asyncio.sleep(1.0)
        left = children(process.pid)
        found.children = len(left)
        found.zombies = sum(_is_zombie(pid) for pid in left)
        found.more_descriptors = _descriptors(process.pid) - before[0]
        found.growth_mb = (resident_bytes(process.pid) - before[1]) / 1e6
        return found

    return asyncio.run(measured())


def _descriptors(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _is_zombie(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] == "Z"


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98] if len(values) > 1 else 0.0


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder / "rolling"
    folder.mkdir()
    with ExitStack() as inner:
        found = rolling(folder, inner, ROUNDS)
    name = f"rolling.{SERVERS}_servers"
    extras = {
        "restarts": found.restarts,
        "answered": found.answered,
        "restart_p50_ms": round(statistics.median(found.restarts_ms), 1),
        "first": found.lost[:1],
    }
    yield Row(f"{name}.lost", len(found.lost), "calls", target=0, test="ours <=", extras=extras)
    for row, peer, peer_name in (
        ("untouched_p99", found.quiet_ms, "while nothing is restarted"),
        ("untouched_p99_starts", found.elsewhere_ms, "while others start such programs"),
    ):
        yield Row(
            f"{name}.{row}",
            _p99(found.busy_ms),
            "ms",
            peer=_p99(peer),
            peer_name=peer_name,
            target=MOST_P99,
            test="ratio <=",
            extras={"calls": len(found.busy_ms), "peer_calls": len(peer)},
        )
    folder = options.folder / "cycles"
    folder.mkdir()
    with ExitStack() as inner:
        left = cycles(folder, inner, CYCLES)
    name = f"cycles.{CYCLES}"
    shown = {"cycle_p50_ms": round(statistics.median(left.took_ms), 1)}
    yield Row(f"{name}.children", left.children, "", target=1, test="ours <=", extras=shown)
    yield Row(f"{name}.zombies", left.zombies, "", target=0, test="ours <=")
    yield Row(f"{name}.descriptors", left.more_descriptors, "more", target=0, test="ours <=")
    yield Row(f"{name}.growth", left.growth_mb, "MB", target=MOST_GROWTH_MB, test="ours <=")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
