"""A client that calls one tool at a steady rate, first alone and then beside whatever a benchmark does: how it fares."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from benchmarks.mcp_client import MODERN
from benchmarks.processes import ROOT, Trouble

__all__ = ["Crowd", "House", "good_client"]

CALLS_A_SECOND = 50
PATIENCE_S = 30.0
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
}


@dataclass(frozen=True)
class House:
    """A gateway and a tool of it that says its argument `text` again."""

    url: str
    pid: int
    tool: str
    text: str
    log: Path

    @property
    def place(self) -> tuple[str, int]:
        """Its address."""
        where = urlsplit(self.url)
        return where.hostname or "", where.port or 80


@dataclass
class Crowd:
    """How a good client fared. Times are milliseconds."""

    alone_ms: list[float] = field(default_factory=list)
    crowded_ms: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


class _Client:
    def __init__(
        self, http: aiohttp.ClientSession, house: House, found: Crowd, a_second: float
    ) -> None:
        self._http = http
        self._house = house
        self._found = found
        self._pause_s = 1 / a_second
        self._tasks: set[asyncio.Task[None]] = set()
        self.into = found.alone_ms
        self.over = False

    async def run(self) -> None:
        """Call until told to stop, and wait for every answer."""
        await self._call("first", [])
        print("ready", flush=True)
        number, began = 0, time.monotonic()
        while not self.over:
            task = asyncio.create_task(self._call(f"n{number}", self.into))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            number += 1
            await asyncio.sleep(max(0.0, began + number * self._pause_s - time.monotonic()))
        await asyncio.gather(*self._tasks)

    async def _call(self, text: str, into: list[float]) -> None:
        began = time.perf_counter()
        try:
            said = await self._said(text)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as problem:
            self._found.lost.append(f"{type(problem).__name__}: {problem}")
            return
        if said != text:
            self._found.lost.append(said[:200])
        into.append((time.perf_counter() - began) * 1e3)

    async def _said(self, text: str) -> str:
        house = self._house
        params = {"name": house.tool, "arguments": {house.text: text}, "_meta": _META}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": house.tool,
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        async with self._http.post(house.url, json=body, headers=headers) as answer:
            whole = await answer.text()
        lines = [line[5:] for line in whole.splitlines() if line.startswith("data:")]
        reply = json.loads(lines[-1] if lines else whole)
        content = reply.get("result", {}).get("content") or [{}]
        return str(content[0].get("text", whole))


async def _serve(house: House, a_second: float) -> Crowd:
    """Call for as long as standard input is open; its first line says that the client is not alone any more."""
    loop, said = asyncio.get_running_loop(), asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(said), sys.stdin)
    found = Crowd()
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=PATIENCE_S)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
        client = _Client(http, house, found, a_second)
        running = asyncio.create_task(client.run())
        await said.readline()
        client.into = found.crowded_ms
        await said.read()
        client.over = True
        await running
    return found


@asynccontextmanager
async def good_client(
    house: House, found: Crowd, alone_s: float, a_second: float = CALLS_A_SECOND
) -> AsyncIterator[None]:
    """Calls at a steady rate, first alone, and then for as long as the block, from a process of its own: what a crowd costs the
    process that makes it is not to be seen."""
    words = house.url, house.tool, house.text, str(a_second)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "benchmarks.good_client", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        limit=1 << 26,
    )
    if process.stdin is None or process.stdout is None:
        raise Trouble("the good client has no pipes")
    try:
        # Its first line comes when it has had an answer.
        await process.stdout.readline()
        await asyncio.sleep(alone_s)
        process.stdin.write(b"crowded\n")
        yield
    finally:
        process.stdin.close()
        said = await process.stdout.read()
        await process.wait()
    whole = json.loads(said)
    found.alone_ms, found.crowded_ms = whole["alone_ms"], whole["crowded_ms"]
    found.lost = whole["lost"]


if __name__ == "__main__":
    URL, TOOL, TEXT, RATE = sys.argv[1:]
    print(json.dumps(asdict(asyncio.run(_serve(House(URL, 0, TOOL, TEXT, ROOT), float(RATE))))))
