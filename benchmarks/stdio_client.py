"""A client over stdio: it starts a server, asks one question after the other, and times each.

Pipes are read and written without an event loop, so that its own share is a few microseconds. A
watchdog ends a server that falls silent, which ends the read.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.load.generate import PLACE, right
from benchmarks.mcp_client import HELLO, is_called
from benchmarks.processes import ROOT, Trouble, end

__all__ = ["StdioClient", "stdio_client"]

PATIENCE = 60.0
CHUNK = 1 << 20


class StdioClient:
    """A server on two pipes, in the legacy era."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._sink = process.stdin.fileno()
        self._source = process.stdout.fileno()
        self._held = b""
        self._number = 0

    def open(self) -> None:
        """Say hello."""
        self.ask("initialize", HELLO)
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One request and its result. Raises `Trouble` for an error or silence."""
        self._number += 1
        payload = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._write(payload)
        while True:
            reply = json.loads(self._line())
            if reply.get("id") == self._number and "method" not in reply:
                break
        if "result" not in reply:
            raise Trouble(f"{method} over stdio was answered {str(reply)[:300]}")
        result: dict[str, Any] = reply["result"]
        return result

    def tool(self, name: str) -> str:
        """What the server calls a tool; see `is_called`."""
        listed = [each["name"] for each in self.ask("tools/list", {})["tools"]]
        for each in listed:
            if is_called(each, name):
                return str(each)
        raise Trouble(f"no tool {name} over stdio, only {listed[:10]}")

    def echo(self, tool: str, seconds: float) -> list[float]:
        """Call a tool again and again; the seconds that each call took. Every answer is checked."""
        asked = {"name": tool, "arguments": {"text": f"hello {PLACE.decode()}"}}
        payload = {"jsonrpc": "2.0", "id": int(PLACE), "method": "tools/call", "params": asked}
        parts = (json.dumps(payload, separators=(",", ":")).encode() + b"\n").split(PLACE)
        number, taken = int(PLACE), []
        stop = time.monotonic() + seconds
        at = time.monotonic()
        while at < stop:
            number += 1
            request = str(number).encode().join(parts)
            sent = time.monotonic()
            os.write(self._sink, request)
            line = self._line()
            at = time.monotonic()
            if not right(line, number):
                raise Trouble(f"call {number} over stdio was answered {line[:300]!r}")
            taken.append(at - sent)
        return taken

    def ask_all(self, method: str, every: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send many requests at once; their results as they come."""
        first = self._number + 1
        for params in every:
            self._number += 1
            payload = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
            self._write(payload)
        replies = [json.loads(self._line()) for _ in every]
        if {reply.get("id") for reply in replies} != set(range(first, self._number + 1)):
            raise Trouble(f"{method} over stdio was answered {str(replies)[:300]}")
        return [reply["result"] for reply in replies]

    def _write(self, payload: dict[str, Any]) -> None:
        os.write(self._sink, json.dumps(payload).encode() + b"\n")

    def _line(self) -> bytes:
        while b"\n" not in self._held:
            chunk = os.read(self._source, CHUNK)
            if not chunk:
                raise Trouble("a server ended or fell silent over stdio")
            self._held += chunk
        line, _, self._held = self._held.partition(b"\n")
        return line


@contextmanager
def stdio_client(name: str, command: Sequence[str], folder: Path) -> Iterator[StdioClient]:
    """A started server that has said hello, for as long as the block."""
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    watchdog = threading.Timer(PATIENCE * 10, process.kill)
    hello = threading.Timer(PATIENCE, process.kill)
    for timer in (watchdog, hello):
        timer.daemon = True
        timer.start()
    try:
        client = StdioClient(process)
        client.open()
        hello.cancel()
        yield client
    finally:
        hello.cancel()
        watchdog.cancel()
        end(process)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
