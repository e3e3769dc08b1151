"""One blocking connection that times a prepared request from its first byte to the last of its
answer. For answers of any size, one at a time."""

from __future__ import annotations

import socket
import time
from types import TracebackType

from benchmarks.processes import Trouble

__all__ = ["Line"]

PATIENCE = 30.0


class Line:
    """A connection to one server; a context manager."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._room = memoryview(bytearray(1 << 24))

    def __enter__(self) -> Line:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def ask(self, request: bytes) -> tuple[float, bytes]:
        """The seconds that one request took, and the answer with its head. HTTP 200 only."""
        sent = time.perf_counter()
        self._socket.sendall(request)
        used, whole = 0, None
        while whole is None or used < whole:
            got = self._socket.recv_into(self._room[used:])
            if not got:
                raise Trouble("the server hung up in the middle of an answer")
            used += got
            if whole is None:
                whole = self._whole(used)
        taken = time.perf_counter() - sent
        return taken, bytes(self._room[:used])

    def _whole(self, used: int) -> int | None:
        """How long the answer is, once its head is there."""
        start = bytes(self._room[: min(used, 8192)])
        head, split, _ = start.partition(b"\r\n\r\n")
        if not split:
            return None
        if head[9:12] != b"200":
            raise Trouble(f"answered {start[:300]!r}")
        for each in head.lower().split(b"\r\n"):
            if each.startswith(b"content-length:"):
                return len(head) + 4 + int(each[15:])
        raise Trouble(f"an answer without a length: {head[:300]!r}")
