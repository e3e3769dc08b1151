"""Streams (MGP §12) over stdio, in front of the gateway and of the server alone: how late the first chunk
is, and a thousand streams of fifty chunks a second at once, none of which may be lost or out of order."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.commands import gatewright
from benchmarks.gateway import Upstream, config
from benchmarks.processes import ROOT, Trouble, cpu_seconds, end
from benchmarks.rows import Options, Row, main

__all__ = ["run"]

SERVER = [sys.executable, str(ROOT / "benchmarks" / "servers" / "streams.py")]
STREAMS = 1000
RATE = 50
FIRSTS = 200
PATIENCE = 120.0
_OFFER = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": _OFFER,
    "clientInfo": {"name": "streams", "version": "1"},
}
_SAID = re.compile(rb"(\d+) at (\d+) ns ")
_OF = re.compile(rb'"request_id":(\d+)')
_INDEX = re.compile(rb'"index":(\d+)')
_ANSWER = re.compile(rb'"id": ?(\d+)')


@dataclass
class Heard:
    """What came of many streams. Times are in nanoseconds from the server's write to our read."""

    late: list[int] = field(default_factory=list)
    chunks: dict[int, int] = field(default_factory=dict)
    """Stream → how many numbers came, in order and without a gap."""
    indexes: dict[int, int] = field(default_factory=dict)
    """Stream → the index of its next chunk."""
    merged: int = 0
    """Chunks that came together with the one before, because the client was behind: they are there, and in order."""
    flaws: list[str] = field(default_factory=list)
    answers: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0


class Client:
    """An MGP client on two pipes, without an event loop."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._sink = process.stdin.fileno()
        self._source = process.stdout.fileno()
        self._held = b""
        self._number = 0
        self.tool = ""

    def open(self) -> None:
        """Say hello, and find the tool."""
        self.ask("initialize", _HELLO)
        self._write([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
        names = [one["name"] for one in self.ask("tools/list", {})["tools"]]
        self.tool = next(one for one in names if one.endswith("stream"))

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of one request."""
        self._number += 1
        self._write([{"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}])
        while True:
            for line in self._lines():
                reply = json.loads(line)
                if reply.get("id") == self._number and "result" in reply:
                    result: dict[str, Any] = reply["result"]
                    return result

    def streams(self, streams: int, count: int, rate: float) -> Heard:
        """So many streams at once."""
        before, begun = cpu_seconds(self.pid), time.monotonic()
        first = self._number + 1
        self._number += streams
        params = {
            "name": self.tool,
            "arguments": {"count": count, "rate": rate},
            "_mgp": {"stream": True},
        }
        heard = Heard(chunks=dict.fromkeys(range(first, first + streams), 0))
        # Begun one after the other, so that they do not all speak in the same moment.
        threading.Thread(target=self._begin, args=(first, streams, rate, params)).start()
        while heard.answers < streams:
            lines = self._lines()
            now = time.monotonic_ns()
            for line in lines:
                self._take(line, now, heard)
        heard.seconds = time.monotonic() - begun
        heard.cpu_s = cpu_seconds(self.pid) - before
        return heard

    def _begin(self, first: int, streams: int, rate: float, params: dict[str, Any]) -> None:
        for number in range(first, first + streams):
            self._write(
                [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}]
            )
            time.sleep(1 / rate / streams)

    @staticmethod
    def _take(line: bytes, now: int, heard: Heard) -> None:
        if b"stream.chunk" not in line:
            answer = _ANSWER.search(line)
            if b"chunks_sent" not in line and b'"content"' not in line:
                heard.flaws.append(line[:200].decode())
            heard.answers += answer is not None
            return
        said, of, index = _SAID.findall(line), _OF.search(line), _INDEX.search(line)
        if not said or of is None or index is None:
            heard.flaws.append(line[:200].decode())
            return
        stream, at = int(of[1]), int(index[1])
        if at != heard.indexes.get(stream, 0):
            heard.flaws.append(f"{stream}: index {at}")
        heard.indexes[stream] = at + 1
        heard.merged += len(said) - 1
        for number, written in said:
            if int(number) != heard.chunks[stream]:
                heard.flaws.append(f"{stream}: {int(number)} after {heard.chunks[stream]}")
            heard.chunks[stream] = int(number) + 1
            heard.late.append(now - int(written))

    def _write(self, messages: list[dict[str, Any]]) -> None:
        left = memoryview(b"".join(json.dumps(one).encode() + b"\n" for one in messages))
        while left:
            left = left[os.write(self._sink, left) :]

    def _lines(self) -> list[bytes]:
        data = os.read(self._source, 1 << 20)
        if not data:
            raise Trouble("the server ended its output")
        *lines, self._held = (self._held + data).split(b"\n")
        return lines


@contextmanager
def _client(name: str, command: list[str], folder: Path) -> Iterator[Client]:
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
            start_new_session=True,
        )
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            client = Client(process)
            client.open()
            yield client
        finally:
            watchdog.cancel()
            end(process)


def _gateway(folder: Path) -> list[str]:
    home = folder / "streams"
    home.mkdir()
    text = config([Upstream("far", tuple(SERVER))], home / "data")
    speaks = '[servers.mgp]\nextensions = ["streaming"]\n\n[[grants]]'
    (home / "mgp.toml").write_text(text.replace("[[grants]]", speaks, 1), encoding="utf-8")
    return gatewright("serve", "--stdio", "--config", str(home / "mgp.toml"))


def _firsts(client: Client) -> float:
    """The median time of the first chunk of single streams, in microseconds."""
    late = [client.streams(1, 1, 1000.0).late[0] for _ in range(FIRSTS)]
    return statistics.median(late) / 1000


def _flaws(heard: Heard, count: int) -> int:
    """Chunks that were lost or out of order, and whatever else was not as it should be."""
    missing = sum(count - one for one in heard.chunks.values())
    return missing + len(heard.flaws)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    count = max(1, round(RATE * options.seconds))
    found: dict[str, list[tuple[float, Heard]]] = {"alone": [], "ours": []}
    clients = {
        "alone": stack.enter_context(_client("alone", SERVER, options.folder)),
        "ours": stack.enter_context(_client("ours", _gateway(options.folder), options.folder)),
    }
    for _ in range(options.rounds):
        for name, client in clients.items():
            found[name].append((_firsts(client), client.streams(STREAMS, count, RATE)))
    first = {name: statistics.median(one for one, _ in each) for name, each in found.items()}
    runs = {name: [one for _, one in each] for name, each in found.items()}
    took = {name: statistics.median(one.seconds for one in each) for name, each in runs.items()}
    late = {
        name: statistics.median(statistics.median(one.late) for one in each) / 1000
        for name, each in runs.items()
    }
    bad = {name: sum(_flaws(one, count) for one in each) for name, each in runs.items()}
    merged = sum(one.merged for one in runs["ours"])
    cpu = statistics.median(one.cpu_s for one in runs["ours"]) / (STREAMS * count) * 1e6
    alone = "the server alone"
    yield Row(
        *("streams.first_chunk", first["ours"], "us", first["alone"], alone, 1000.0, "ours <="),
        {"added_us": round(first["ours"] - first["alone"], 1)},
    )
    yield Row(
        *("streams.lost_or_reordered", bad["ours"], "chunks", bad["alone"], alone, 0, "ours <="),
        {"streams": STREAMS, "chunks": STREAMS * count * options.rounds, "merged": merged},
    )
    yield Row(
        *("streams.seconds", took["ours"], "s", took["alone"], alone, 1.1, "ratio <="),
        {"asked_s": round(count / RATE, 2), "cpu_us_per_chunk": round(cpu, 1)},
    )
    yield Row("streams.chunk_p50", late["ours"], "us", late["alone"], alone)


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
