"""What is hostile about TLS: handshakes that never end, records that never do, records of one byte, and what else can come before anybody is known.

`attacks(house)` yields (name, what makes the input), against Groundhog's own address. Nothing of it is a real attack on TLS: only its framing is used.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import repeat

from benchmarks.hostile.arguments import objects
from benchmarks.hostile.house import House
from benchmarks.hostile.sockets import said_of
from benchmarks.hostile_floods import (
    BEGIN,
    EMPTY,
    ONE_BYTE,
    PING,
    many,
    pour,
    text_frame,
    upgrade,
)

__all__ = ["Tunnel", "attacks", "hello", "in_records"]

SECONDS = 1.0
_PIECE = 64 * 1024
_RECORD = 16_384


class Tunnel:
    """The client's side of TLS over a socket, whose records can be made without being sent."""

    def __init__(self, line: socket.socket, context: ssl.SSLContext) -> None:
        self._line = line
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname="localhost")

    def shaken(self) -> None:
        """Do the handshake. Raises `OSError`."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._line.sendall(self._out.read())
                got = self._line.recv(_PIECE)
                if not got:
                    raise ConnectionError("the other side hung up") from None
                self._in.write(got)
            else:
                self._line.sendall(self._out.read())
                return

    def records(self, text: bytes, each: int = _RECORD) -> bytes:
        """A text as records of so many bytes."""
        for at in range(0, len(text), each):
            self._tls.write(text[at : at + each])
        return self._out.read()


def hello(context: ssl.SSLContext) -> bytes:
    """A ClientHello, as one record."""
    out = ssl.MemoryBIO()
    shaking = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        shaking.do_handshake()
    return out.read()


def in_records(record: bytes, each: int) -> bytes:
    """The same handshake message in records of so many bytes."""
    head, body = record[:3], record[5:]
    parts = (body[at : at + each] for at in range(0, len(body), each))
    return b"".join(head + len(part).to_bytes(2, "big") + part for part in parts)


def attacks(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    said = hello(house.context())
    beginnings = {
        "no_byte": b"",
        "half_head": said[:3],
        "half_hello": said[: len(said) // 2],
        "hello": said,
        "hello_of_one_byte_records": in_records(said, 1),
        "longest_record": b"\x16\x03\x01\x40\x00" + b"\x01\x00\x3f\xfc" + bytes(1000),
        "too_long_record": b"\x16\x03\x01\xff\xff",
        "empty_records": b"\x16\x03\x01\x00\x00" * 2000,
        "alerts": b"\x15\x03\x01\x00\x02\x01\x5a" * 2000,
        "ciphers_changed": said + b"\x14\x03\x03\x00\x01\x01" * 2000,
        "no_tls": b"GET / HTTP/1.1\r\n\r\n",
        "junk": bytes(range(256)) * 64,
    }
    for name, begin in beginnings.items():
        yield f"tls.{name}", partial(_kept, house, begin, 1000)
        yield f"tls.{name}_again", partial(_again, house, begin)
    yield "tls.handshakes", partial(_handshakes, house)
    yield "tls.connections_1000", partial(_connections, house, 1000)
    yield "tls.half_records", partial(_spoilt, house, b"\x17\x03\x03\x40\x00" + bytes(100))
    yield "tls.clear_handshake", partial(_spoilt, house, said)
    yield "tls.clear_alert", partial(_spoilt, house, b"\x15\x03\x03\x00\x02\x01\x64")
    floods = {"pings": PING, "fragments": ONE_BYTE, "empty_fragments": EMPTY, "junk_frames": text_frame(b"x")}  # fmt: skip
    for name, piece in floods.items():
        first = BEGIN if "fragments" in name else b""
        for each in (1, _RECORD):
            label = f"tls.{name}.in_records_of_{each}"
            yield label, partial(_poured, house, first, piece, each)
    yield "tls.head.in_records_of_1", partial(_poured_head, house)
    for name, text in objects(size):
        yield f"tls.said.{name}", partial(_said, house, text)


def _connected(house: House) -> socket.socket:
    return socket.create_connection((house.host, house.tls_port), timeout=5)


def _kept(house: House, begin: bytes, count: int) -> str:
    """So many connections, each of which says that and then nothing."""
    until, made = time.monotonic() + 3 * SECONDS, 0
    with contextlib.ExitStack() as stack:
        while made < count and time.monotonic() < until:
            with contextlib.suppress(OSError):
                line = stack.enter_context(_connected(house))
                line.sendall(begin)
            made += 1
        time.sleep(SECONDS)
    return f"{made} connections"


def _again(house: House, begin: bytes) -> str:
    """One connection after the other says it and leaves."""
    until, made = time.monotonic() + SECONDS, 0
    while time.monotonic() < until:
        with contextlib.suppress(OSError), _connected(house) as line:
            line.sendall(begin)
        made += 1
    return f"{made} connections"


def _shaken(house: House, context: ssl.SSLContext) -> tuple[socket.socket, Tunnel]:
    line = _connected(house)
    tunnel = Tunnel(line, context)
    try:
        tunnel.shaken()
    except OSError:
        line.close()
        raise
    return line, tunnel


def _handshakes(house: House) -> str:
    """Whole handshakes, eight at a time, and nothing after each."""
    context, until = house.context(), time.monotonic() + SECONDS

    def shake(_: int) -> int:
        made = 0
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                _shaken(house, context)[0].close()
                made += 1
        return made

    with ThreadPoolExecutor(8) as threads:
        return f"{sum(threads.map(shake, range(8)))} handshakes"


def _connections(house: House, count: int) -> str:
    """So many with their handshake done, all kept."""
    context, made, until = house.context(), 0, time.monotonic() + 10 * SECONDS
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            if time.monotonic() > until:
                break
            with contextlib.suppress(OSError):
                stack.enter_context(_shaken(house, context)[0])
                made += 1
        time.sleep(SECONDS)
    return f"{made} of {count} connections"


def _spoilt(house: House, raw: bytes) -> str:
    """After each handshake something that is no whole record, or none that belongs there."""
    context, until, made = house.context(), time.monotonic() + SECONDS, 0
    with contextlib.ExitStack() as stack:
        while time.monotonic() < until:
            with contextlib.suppress(OSError):
                line, _ = _shaken(house, context)
                stack.enter_context(line).sendall(raw)
                made += 1
    return f"{made} connections"


def _upgraded(house: House, context: ssl.SSLContext) -> tuple[socket.socket, Tunnel]:
    line, tunnel = _shaken(house, context)
    header = f"Authorization: Bearer {house.key}\r\n"
    line.sendall(tunnel.records(upgrade(f"localhost:{house.tls_port}", header, "/mcp", "")))
    line.recv(_PIECE)
    return line, tunnel


def _poured(house: House, first: bytes, piece: bytes, each: int) -> str:
    """One frame over and over, in records of so many bytes, as fast as they are taken."""
    line, tunnel = _upgraded(house, house.context())
    line.sendall(tunnel.records(first)) if first else None
    whole = next(many(piece))[: 256 * 1024 if each > 1 else len(piece) * (4096 // len(piece))]
    pieces = (tunnel.records(whole, each) for _ in repeat(0))
    return f"{pour(line, pieces, time.monotonic() + SECONDS)} bytes"


def _poured_head(house: House) -> str:
    """A head of HTTP that goes on and on, a byte a record."""
    line, tunnel = _shaken(house, house.context())
    line.sendall(tunnel.records(b"GET /mcp HTTP/1.1\r\n", 1))
    pieces = (tunnel.records(b"a: b\r\n" * 300, 1) for _ in repeat(0))
    return f"{pour(line, pieces, time.monotonic() + SECONDS)} bytes"


def _said(house: House, text: bytes) -> str:
    """A long message over TLS."""
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/invoke","params":{"tool_id":"hostile__echo","parameters":'
    with house.secure() as socket_:
        return said_of(socket_.asked(head + text + b"}}", 60.0))
