"""A WebSocket client that does not judge what it sends or hears: the callers at the doors of MCP, Groundhog and rooms, over TLS where there
is any.

    with WebSocket(host, port, "/mcp", protocol="mcp", key=key) as socket:
        print(socket.asked(b"..."))
"""

from __future__ import annotations

import json
import socket
import ssl
import time
from collections.abc import Collection
from types import TracebackType
from typing import Any

from benchmarks.hostile_floods import text_frame, upgrade
from benchmarks.processes import Trouble

__all__ = ["PATIENCE_S", "WebSocket", "said_of"]

PATIENCE_S = 20.0
_PIECE = 256 * 1024


class WebSocket:
    """One connection; a context manager."""

    def __init__(
        self,
        host: str,
        port: int,
        path: str,
        *,
        protocol: str = "",
        key: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Raises `Trouble` where the upgrade is refused."""
        line: socket.socket = socket.create_connection((host, port), timeout=PATIENCE_S)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._line = line if tls is None else tls.wrap_socket(line, server_hostname="localhost")
        header = f"Authorization: Bearer {key}\r\n" if key else ""
        self._line.sendall(upgrade(f"{host}:{port}", header, path, protocol))
        self._held = bytearray()
        self._wait_for(b"\r\n\r\n")
        head, _, rest = bytes(self._held).partition(b"\r\n\r\n")
        self._held[:] = rest
        if not head.startswith(b"HTTP/1.1 101"):
            self.close()
            raise Trouble(f"{path} was answered {head[:60]!r}")

    def __enter__(self) -> WebSocket:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    def _wait_for(self, mark: bytes) -> None:
        while mark not in self._held:
            self._fill()

    def _fill(self) -> None:
        got = self._line.recv(_PIECE)
        if not got:
            raise ConnectionError("the other side hung up")
        self._held += got

    def say(self, *messages: bytes) -> None:
        """Send each as one text frame. Raises `OSError`."""
        self._line.settimeout(PATIENCE_S)
        self._line.sendall(b"".join(map(text_frame, messages)))

    def hear(self, patience_s: float = PATIENCE_S) -> bytes:
        """The next text. Raises `OSError` where none comes in time or the other side hangs up."""
        until = time.monotonic() + patience_s
        while True:
            frame = self._frame(until)
            if frame[0] & 0x0F == 8:
                raise ConnectionError("the other side closed")
            if frame[0] & 0x0F in {0, 1}:
                return frame[1:]

    def _frame(self, until: float) -> bytes:
        """The first byte of a frame, and its contents."""
        while (size := self._whole()) > len(self._held):
            self._line.settimeout(max(0.001, until - time.monotonic()))
            self._fill()
        begins = {126: 4, 127: 10}.get(self._held[1] & 0x7F, 2)
        found = bytes(self._held[:1]) + bytes(self._held[begins:size])
        del self._held[:size]
        return found

    def _whole(self) -> int:
        """How long the frame at hand is; more than there is, where that is not known yet."""
        held = self._held
        if len(held) < 2:
            return 2
        size = held[1] & 0x7F
        if size < 126:
            return 2 + size
        begins = 4 if size == 126 else 10
        return begins + int.from_bytes(held[2:begins]) if len(held) >= begins else begins

    def asked(self, message: bytes, patience_s: float = PATIENCE_S) -> bytes:
        """Send one message, and hear the next text; what went wrong, where there is none."""
        try:
            self.say(message)
            return self.hear(patience_s)
        except OSError as problem:
            return type(problem).__name__.encode()

    def answer(self, ident: Any, patience_s: float = PATIENCE_S) -> Any:
        """The next message that has this id, or none because it could not be read. Raises `OSError`."""
        return self.answer_of((ident,), patience_s)

    def answer_of(self, idents: Collection[Any], patience_s: float = PATIENCE_S) -> Any:
        """The next message that has one of these ids, or none because it could not be read. Raises `OSError`."""
        until = time.monotonic() + patience_s
        while (left := until - time.monotonic()) > 0:
            message = json.loads(self.hear(left))
            if isinstance(message, dict) and message.get("id", "") in {*idents, None}:
                return message
        raise TimeoutError

    def drained(self, quiet_s: float = 0.2, most_s: float = PATIENCE_S) -> int:
        """Hear until nothing comes for so long; how many texts there were."""
        until, count = time.monotonic() + most_s, 0
        while time.monotonic() < until:
            try:
                self.hear(quiet_s)
            except OSError:
                break
            count += 1
        return count


def said_of(answer: bytes) -> str:
    """The end of an answer of JSON-RPC, or of an envelope, in a few words."""
    for mark in (b'"reason":"', b'"error":"', b'"error_code":"', b'"message":"', b'"result"'):
        at = answer.find(mark, 0, 20_000)
        if at >= 0:
            return answer[at : at + 60].decode("utf-8", "replace").replace("\n", " ")
    return answer[:60].decode("utf-8", "replace")
