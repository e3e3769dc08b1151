"""An MGP server over stdio that streams many results at an even pace: the load of `benchmarks.streams`.

    python benchmarks/servers/streams.py

Tool `stream` (`count` chunks, `rate` a second). Each chunk says its number and the time at which it was written, in nanoseconds of the
monotonic clock, which all processes of a machine share. Pipes are written without an event loop.
"""

from __future__ import annotations

import heapq
import json
import os
import select
import sys
import time
from typing import Any

__all__ = ["main"]

_MGP = {"version": "0.2.0", "extensions": ["streaming"]}
_HELLO = {
    "capabilities": {"tools": {}, "mgp": _MGP},
    "serverInfo": {"name": "streams", "version": "1"},
}
_TOOL = {"name": "stream", "inputSchema": {"type": "object"}}


def _write(data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(1, left) :]


def _answer(ident: Any, result: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}).encode() + b"\n"


class _Streams:
    """The streams that run, each at its own beat."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, int, int, float]] = []

    def begin(self, ident: int, count: int, rate: float) -> None:
        heapq.heappush(self._due, (time.monotonic(), ident, 0, count, 1 / rate))

    def wait_s(self) -> float | None:
        return max(0.0, self._due[0][0] - time.monotonic()) if self._due else None

    def send(self) -> None:
        """Write what is due."""
        said, now = [], time.monotonic()
        while self._due and self._due[0][0] <= now:
            due, ident, index, count, beat = heapq.heappop(self._due)
            if index == count:
                text = "".join(f"{n} " for n in range(count))
                said.append(_answer(ident, {"content": [{"type": "text", "text": text}]}))
                continue
            said.append(
                b'{"jsonrpc":"2.0","method":"notifications/mgp.stream.chunk","params":{"request_id":%d,"index":%d,'
                b'"content":{"type":"text","text":"%d at %d ns "},"done":false}}\n'
                % (ident, index, index, time.monotonic_ns())
            )
            heapq.heappush(self._due, (due + beat, ident, index + 1, count, beat))
        if said:
            _write(b"".join(said))


def _heard(line: bytes, streams: _Streams) -> None:
    message = json.loads(line)
    method, ident, params = message.get("method"), message.get("id"), message.get("params", {})
    if method == "tools/call":
        given = params["arguments"]
        streams.begin(ident, given["count"], given["rate"])
    elif method == "initialize":
        _write(_answer(ident, {"protocolVersion": params["protocolVersion"], **_HELLO}))
    elif method in ("tools/list", "ping"):
        _write(_answer(ident, {"tools": [_TOOL]} if method == "tools/list" else {}))
    elif ident is not None:
        error = {"code": -32601, "message": "Method not found"}
        _write(json.dumps({"jsonrpc": "2.0", "id": ident, "error": error}).encode() + b"\n")


def main() -> int:
    """Serve until the input ends."""
    streams, held = _Streams(), b""
    while True:
        if select.select([0], [], [], streams.wait_s())[0]:
            data = os.read(0, 1 << 20)
            if not data:
                return 0
            *lines, held = (held + data).split(b"\n")
            for line in lines:
                _heard(line, streams)
        streams.send()


if __name__ == "__main__":
    sys.exit(main())
