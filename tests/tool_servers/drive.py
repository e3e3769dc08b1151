"""Starts a test server as a child process and talks to it over its pipes, with a deadline on all."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["DEADLINE", "Child", "listening", "started"]

HERE = Path(__file__).resolve().parent
DEADLINE = 20.0
LINE_LIMIT = 256 * 1024 * 1024


class Child:
    """A server on stdin and stdout. What was read while waiting for something else is in `seen`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen: list[dict[str, Any]] = []
        self._ids = itertools.count(1)

    async def send(self, message: dict[str, Any] | str) -> None:
        """Write one line; a server that has left is noticed when its answer is read."""
        assert self.process.stdin is not None
        text = message if isinstance(message, str) else json.dumps(message)
        self.process.stdin.write(text.encode("utf-8") + b"\n")
        with suppress(ConnectionError):
            async with asyncio.timeout(DEADLINE):
                await self.process.stdin.drain()

    async def line(self) -> str:
        """The next line, "" at the end of the stream."""
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            return (await self.process.stdout.readline()).decode("utf-8")

    async def read(self) -> dict[str, Any]:
        """The next message."""
        line = await self.line()
        assert line, "the server closed its side"
        message: dict[str, Any] = json.loads(line)
        return message

    async def ask(self, method: str, params: Any = None, key: Any = None) -> Any:
        """Send a request without waiting; its id."""
        key = next(self._ids) if key is None else key
        body = {} if params is None else {"params": params}
        await self.send({"jsonrpc": "2.0", "id": key, "method": method, **body})
        return key

    async def answer_to(self, key: Any) -> dict[str, Any]:
        """The answer with this id, as a whole message."""
        while True:
            for message in self.seen:
                if message.get("id") == key and "method" not in message:
                    self.seen.remove(message)
                    return message
            self.seen.append(await self.read())

    async def next_call(self, method: str) -> dict[str, Any]:
        """The next request or notification of that method from the server."""
        while True:
            for message in self.seen:
                if message.get("method") == method:
                    self.seen.remove(message)
                    return message
            self.seen.append(await self.read())

    async def request(self, method: str, params: Any = None) -> Any:
        """The result of a request; fails on an error."""
        message = await self.answer_to(await self.ask(method, params))
        assert "error" not in message, message
        return message["result"]

    async def refused(self, method: str, params: Any = None) -> dict[str, Any]:
        """The error of a request; fails on a result."""
        message = await self.answer_to(await self.ask(method, params))
        assert "result" not in message, message
        error: dict[str, Any] = message["error"]
        return error

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool call."""
        return await self.request("tools/call", {"name": tool, "arguments": arguments})

    async def text(self, tool: str, **arguments: Any) -> str:
        """The first text of the result of a tool call."""
        result = await self.call(tool, **arguments)
        words: str = result["content"][0]["text"]
        return words

    async def hello(self, version: str = "2025-11-25", can: dict[str, Any] | None = None) -> Any:
        """Shake hands, with these client capabilities; the result of initialize."""
        who = {"name": "driver", "version": "1"}
        result = await self.request(
            "initialize",
            {"protocolVersion": version, "capabilities": can or {}, "clientInfo": who},
        )
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return result

    async def end(self) -> int:
        """Close stdin and wait; the exit status. Killed when it does not leave by itself."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            async with asyncio.timeout(DEADLINE):
                return await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
            raise


async def _start(name: str, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(HERE / f"{name}.py"),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LINE_LIMIT,
    )


async def _reap(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    # Reading to the end lets the transport close even after a flood.
    await process.communicate()


@asynccontextmanager
async def started(name: str, *arguments: str) -> AsyncIterator[Child]:
    """A server over pipes, gone when the block ends."""
    process = await _start(name, *arguments)
    try:
        yield Child(process)
    finally:
        await _reap(process)


@asynccontextmanager
async def listening(name: str, *arguments: str) -> AsyncIterator[str]:
    """A server over HTTP on a free port, gone when the block ends; gives its URL."""
    process = await _start(name, "--http", "0", *arguments)
    try:
        assert process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            line = (await process.stdout.readline()).decode()
        assert line.startswith("ready "), line
        yield line.split()[1]
    finally:
        await _reap(process)
