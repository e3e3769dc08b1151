"""`SyslogSink`: sends audit records to syslog (RFC 5424) over UDP (too long ones shortened), TCP, TLS, local socket. No acknowledgement.

A record that is longer than a datagram may be is sent shortened. Syslog has no acknowledgement: what the other end's system took
before its syslog died is lost to it; a connection that is known to be closed is not written to.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import ssl
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import msgspec

from gatewright.audit.records import shortened
from gatewright.audit.sinks.follow import SinkFailed

__all__ = ["SyslogSink", "message"]

_AUDIT = 13 * 8
"""The facility `log audit`."""
_INFORMATIONAL, _WARNING, _ERROR = 6, 4, 3
_SEVERITIES = {"denied": _WARNING, "failure": _WARNING, "error": _ERROR}
_PORTS = {"udp": 514, "tcp": 601, "tls": 6514}
_PATIENCE_S = 15.0


class _Line(msgspec.Struct):
    time: str
    event_type: str
    outcome: str


def message(line: bytes, text: bytes, host: str, process: int) -> bytes:
    """One message about a record: `line` as it is recorded, `text` in the form to send."""
    known = msgspec.json.decode(line, type=_Line)
    severity = _SEVERITIES.get(known.outcome, _INFORMATIONAL)
    named = _word(known.event_type.rpartition(".")[2], 32)
    head = f"<{_AUDIT + severity}>1 {known.time} {_word(host, 255)} gatewright {process} {named} - "
    return head.encode() + text.rstrip(b"\r\n")


class SyslogSink:
    """Sends to `udp://HOST[:PORT]`, `tcp://…`, `tls://…` or `unix:///PATH`."""

    def __init__(
        self, address: str, put: Callable[[bytes], bytes], *, tls: ssl.SSLContext | None = None
    ) -> None:
        """`put` changes a line into the form; `tls` is the system's trust where it is not given."""
        self._where = urlsplit(address)
        self._put = put
        self._tls = tls
        self._stream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """Raises `SinkFailed`, `OSError`."""
        if self._where.scheme in {"udp", "unix"}:
            await self._send_datagrams(lines)
            return
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._send_stream([self._message(line) for line in lines])
        except TimeoutError:
            await self.close()
            raise SinkFailed(f"{self._where.hostname} takes nothing") from None
        except OSError:
            await self.close()
            raise

    async def close(self) -> None:
        """Let go of what is open."""
        if self._stream is not None:
            self._stream[1].close()
            self._stream = None

    def _message(self, line: bytes) -> bytes:
        return message(line, self._put(line), socket.gethostname() or "-", os.getpid())

    async def _send_stream(self, messages: Sequence[bytes]) -> None:
        # What is written to a connection that the peer has closed is lost without an error.
        if self._stream is not None and self._stream[0].at_eof():
            await self.close()
        if self._stream is None:
            self._stream = await self._connect()
        writer = self._stream[1]
        for each in messages:
            writer.write(b"%d %b" % (len(each), each))
        await writer.drain()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        scheme, host = self._where.scheme, self._where.hostname
        tls = (self._tls or ssl.create_default_context()) if scheme == "tls" else None
        port = self._where.port or _PORTS[scheme]
        return await asyncio.open_connection(host, port, ssl=tls)

    async def _send_datagrams(self, lines: Sequence[bytes]) -> None:
        loop = asyncio.get_running_loop()
        if self._where.scheme == "unix":
            family, place = socket.AF_UNIX, self._where.path
        else:
            port = self._where.port or _PORTS["udp"]
            found = await loop.getaddrinfo(self._where.hostname, port, type=socket.SOCK_DGRAM)
            family, _, _, _, place = found[0]  # type: ignore[assignment]  # an address of the family
        with socket.socket(family, socket.SOCK_DGRAM) as target:
            target.setblocking(False)
            async with asyncio.timeout(_PATIENCE_S):
                await loop.sock_connect(target, place)
                for line in lines:
                    await self._send_datagram(target, line)

    async def _send_datagram(self, target: socket.socket, line: bytes) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(target, self._message(line))
        except OSError as problem:
            if problem.errno != errno.EMSGSIZE:
                raise
            # Here and not by a smaller batch: those before it have been sent, and would be again.
            await loop.sock_sendall(target, self._message(shortened(line)))


def _word(text: str, most: int) -> str:
    """Printable ASCII without spaces, or the sign for nothing."""
    return "".join(each for each in text if "!" <= each <= "~")[:most] or "-"
