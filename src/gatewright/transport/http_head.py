"""HTTP/1.1 heads on the server: validates requests' (framing, Host), builds ASGI scopes, writes responses'; `KnownHead` matches repeated ones.

The parser is strict about characters; what is judged here is meaning: where a body ends, and for whom it is meant.
Two readers who disagree about either can be made to see two different requests in one text, so whatever could be
read in two ways is refused (RFC 9112 §6.3 and §11.2, RFC 9110 §7.2), whether or not the parser refuses it too.
"""

from __future__ import annotations

import http
import logging
import urllib.parse
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal

import httptools

__all__ = [
    "JSON",
    "Flaw",
    "Headers",
    "KnownHead",
    "end_of_head",
    "judge",
    "new_parser",
    "offered",
    "refusal",
    "request",
    "scope_of",
    "scope_of_connection",
    "spell",
    "split_target",
    "status_of",
    "weigh",
    "whole_head",
]

log = logging.getLogger(__name__)

Headers = list[tuple[bytes, bytes]]

JSON = ((b"content-type", b"application/json"),)
"""The header of an answer that is JSON."""

_ASGI = {"version": "3.0", "spec_version": "2.3"}
_VERSIONS = ("1.0", "1.1")
_ONCE = (
    b"host",
    b"content-length",
    b"transfer-encoding",
    b"authorization",
    b"content-type",
    b"origin",
    b"mcp-session-id",
    b"mcp-protocol-version",
    b"last-event-id",
    b"upgrade",
    b"sec-websocket-key",
    b"sec-websocket-version",
)
"""What has one value: of two, who stands before us would go by the one and we by the other."""

_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    for status in http.HTTPStatus
}


class Flaw(Exception):  # noqa: N818 - what the client did, not what is wrong with us
    """A request that is answered by the connection itself, with `status`, and then closed."""

    def __init__(self, status: http.HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class KnownHead:
    """A head that a connection sends again and again: its bytes, ASGI's scope of it, and how long its body was, which may be another
    each time.

    `notes` is the application's: what it found out from the head alone, its length apart. `serve` is, too: how it serves a request
    with this head, given the exchange, where it has a shorter way than ASGI's; and `straight`, how it does so at once, without a task:
    False where it did nothing. All go with the head.
    """

    __slots__ = (
        "_at",
        "_length",
        "_place",
        "_scope",
        "form",
        "notes",
        "serve",
        "size",
        "straight",
    )

    def __init__(self, text: bytes, length: bytes, scope: dict[str, Any]) -> None:
        """`length` is the value of its `Content-Length`. Raises `ValueError` where that is not to be found in the text once, or is not
        spelled as whoever counts does."""
        headers = scope["headers"]
        self._place = [name for name, _ in headers].index(b"content-length")
        before, named, after = _around_length(text, length)
        around = before + named, after
        self.form = b"%d".join([one.replace(b"%", b"%%") for one in around])
        """The head but for its length; `size` is how many bytes that are."""
        self._at, self.size = len(around[0]), len(around[0]) + len(after)
        self._length = int(length)
        if length != b"%d" % self._length:
            raise ValueError("a length with zeros before it")
        self._scope = scope
        self.notes: Any = None
        self.serve: Callable[[Any], Awaitable[None]] | None = None
        self.straight: Callable[[Any], bool] | None = None

    def body(self, data: bytes) -> bytes | None:
        """The body of the request that `data` is, where it is one, whole, and no more than one, with this head."""
        # Of what is no part of the head itself: the digits of the length, and the body. There is at most one length for so many.
        size = len(data) - self.size
        digits = 3 if 102 < size < 1003 else _digits(size)
        # As it is written by whoever counts: what only some readers take for a number is the parser's.
        body = data.removeprefix(self.form % (size - digits))
        return None if body is data or not digits else body

    def declared(self, head: bytes) -> int | None:
        """The length that `head` gives, where that is this head, and nothing besides."""
        at, digits = self._at, len(head) - self.size
        length = head[at : at + digits] if 0 < digits <= _LENGTH_DIGITS else b""
        return int(length) if length.isdigit() and head == self.form % int(length) else None

    def scope(self, length: int) -> dict[str, Any]:
        """ASGI's scope of a request whose body is so long."""
        if length == self._length:
            return self._scope
        headers = list(self._scope["headers"])
        headers[self._place] = (b"content-length", b"%d" % length)
        return {**self._scope, "headers": headers}


_LENGTH_DIGITS = 9


def _digits(size: int) -> int:
    """How many digits a length has that takes `size` bytes together with the body that it counts; 0 where there is none."""
    for digits in range(1, _LENGTH_DIGITS + 1):
        if (10 ** (digits - 1) if digits > 1 else 0) <= size - digits < 10**digits:
            return digits
    return 0


def _around_length(text: bytes, length: bytes) -> tuple[bytes, bytes, bytes]:
    """A head before its `Content-Length`, that field to its value, and what follows the value. Raises `ValueError`."""
    at = text.lower().find(b"\r\ncontent-length:")
    value = text.find(length, at)
    end = value + len(length)
    if at < 0 or value < 0 or text[end : end + 2] != b"\r\n":
        raise ValueError("a length that stands elsewhere")
    if text[at + len(b"\r\ncontent-length:") : value].strip(b" \t"):
        raise ValueError("a length with something before it")
    return text[:at], text[at:value], text[end:]


def new_parser(protocol: object) -> httptools.HttpRequestParser:
    """A parser that calls `protocol` back."""
    parser = httptools.HttpRequestParser(protocol)
    # What follows a request that closes is then ignored; else it would be an error, and spoil the answer.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def status_of(problem: httptools.HttpParserError) -> http.HTTPStatus:
    """What to answer when the parser stopped: at nonsense, at a `Flaw` that it was told of, or at a bug of ours."""
    cause = problem.__context__
    if isinstance(cause, Flaw):
        return cause.status
    if isinstance(problem, httptools.HttpParserCallbackError):
        log.error("a request could not be taken in", exc_info=cause)
        return http.HTTPStatus.INTERNAL_SERVER_ERROR
    return http.HTTPStatus.BAD_REQUEST


def judge(headers: Headers, known: Mapping[bytes, bytes], version: str, target: bytes) -> None:
    """Raise `Flaw` where framing, addressee or sender are in doubt. `known` is the same headers as a mapping."""
    if target[:1] != b"/" and target != b"*" and _host_in(target) != known.get(b"host"):
        raise Flaw(http.HTTPStatus.BAD_REQUEST)
    if version not in _VERSIONS:
        raise Flaw(http.HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
    if b"host" not in known and version == "1.1":
        raise Flaw(http.HTTPStatus.BAD_REQUEST)
    if len(known) != len(headers):
        names = [name for name, _ in headers]
        if any(names.count(name) > 1 for name in _ONCE):
            raise Flaw(http.HTTPStatus.BAD_REQUEST)
    coding = known.get(b"transfer-encoding")
    if coding is not None and (
        coding.lower() != b"chunked" or version != "1.1" or b"content-length" in known
    ):
        raise Flaw(http.HTTPStatus.BAD_REQUEST)


def weigh(target: bytes, headers: Headers, most: int) -> None:
    """Raise `Flaw` where a head has more than so many bytes."""
    if len(target) + sum(len(name) + len(value) + 4 for name, value in headers) > most:
        raise Flaw(http.HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)


def offered(
    method: str, known: Mapping[bytes, bytes], before: object
) -> Literal["websocket", "other"]:
    """Which other protocol a client offers. Raises `Flaw` where that cannot be; `before` is the request before it where that still
    runs: its answer would come after the handshake, among frames."""
    websocket = known.get(b"upgrade", b"").lower() == b"websocket"
    if method == "CONNECT" or (websocket and before is not None):
        raise Flaw(http.HTTPStatus.BAD_REQUEST)
    return "websocket" if websocket else "other"


def _host_in(target: bytes) -> bytes:
    """Whom a target in absolute form is meant for: the same as `Host`, byte by byte, or who stands before us and we read two
    addressees (RFC 9112 §3.2.2). Raises `Flaw` where it says who asks as well."""
    scheme, mark, rest = target.partition(b"://")
    if scheme.lower() not in (b"http", b"https") or not mark or b"@" in rest.partition(b"/")[0]:
        raise Flaw(http.HTTPStatus.BAD_REQUEST)
    return rest.partition(b"/")[0].partition(b"?")[0]


def split_target(target: bytes) -> tuple[str, bytes, bytes]:
    """Path with its percent signs decoded, path as it came, and query. Raises `Flaw`."""
    if target[:1] == b"/" and b"%" not in target and b"#" not in target:
        raw, _, query = target.partition(b"?")
        return raw.decode("latin-1"), raw, query
    if target == b"*":
        return "*", target, b""
    try:
        parsed = httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError:
        raise Flaw(http.HTTPStatus.BAD_REQUEST) from None
    raw = parsed.path or b"/"
    return urllib.parse.unquote(raw.decode("latin-1")), raw, parsed.query or b""


def spell(
    status: int, date: bytes, headers: Iterable[tuple[bytes, bytes]]
) -> tuple[bytes, int | None, bool]:
    """Status line and headers, the length they declare, and whether they ask to close.

    The block has neither its end nor the headers that say how the body is framed: see `end_of_head`. `date` is a
    whole line. Raises `ValueError` where a header contains a line break, which would end it early.
    """
    parts = [_STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status, date]
    length: int | None = None
    close = False
    for header in headers:
        line = _LINES.get(header)
        if line is not None:
            parts.append(line)
            continue
        name = header[0].lower()
        if name == b"content-length":
            length = int(header[1])
        elif name == b"connection":
            close = close or b"close" in header[1].lower()
        elif name != b"transfer-encoding":
            parts.append(_line(name, header))
    return b"".join(parts), length, close


def whole_head(status: int, date: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> bytes | None:
    """`spell` for a response whose length its sender adds; None where the headers say more about the framing or ask
    to close. Blocks made of steady headers alone are kept."""
    known = _BLOCKS.get((status, headers))
    if known is not None and known[0] == date:
        return known[1]
    block, length, close = spell(status, date, headers)
    if length is not None or close:
        return None
    # A known block is only made anew for another second, so that there are never more than `_LINES_KEPT`.
    if known is not None or (
        len(_BLOCKS) < _LINES_KEPT and all(header in _LINES for header in headers)
    ):
        _BLOCKS[status, headers] = date, block
    return block


_BLOCKS: dict[tuple[int, tuple[tuple[bytes, bytes], ...]], tuple[bytes, bytes]] = {}
"""Blocks, each with the date that it was spelled for, which is another one every second."""


def _line(name: bytes, header: tuple[bytes, bytes]) -> bytes:
    line = b"%b: %b\r\n" % (name, header[1])
    if line.count(b"\n") != 1 or line.count(b"\r") != 1 or b"\0" in line:
        raise ValueError("a response header contains a line break or a zero byte")
    if name in _STEADY and len(_LINES) < _LINES_KEPT:
        _LINES[header] = line
    return line


_LINES: dict[tuple[bytes, bytes], bytes] = {}
"""Headers as lines, found good: of names that have few values, so that they stay few."""
_LINES_KEPT = 64
_STEADY = frozenset((b"content-type", b"cache-control", b"x-accel-buffering", b"allow", b"vary"))


def end_of_head(length: int | None, *, chunked: bool, close: bool) -> bytes:
    """The framing headers, and the empty line."""
    if length is not None:
        return b"content-length: %d\r\n%b" % (length, _CLOSE if close else _END)
    if chunked:
        return b"transfer-encoding: chunked\r\n" + (_CLOSE if close else _END)
    return _CLOSE if close else _END


_END = b"\r\n"
_CLOSE = b"connection: close\r\n\r\n"


def refusal(status: http.HTTPStatus) -> bytes:
    """A whole response that says no more than `status`."""
    text = status.phrase.encode()
    return b"%bconnection: close\r\ncontent-type: text/plain\r\ncontent-length: %d\r\n\r\n%b" % (
        _STATUS_LINES[status],
        len(text),
        text,
    )


def request(
    method: str, target: bytes, version: str, headers: Iterable[tuple[bytes, bytes]]
) -> bytes:
    """The head of a request, for another parser to read."""
    fields = b"".join([b"%b: %b\r\n" % header for header in headers])
    return b"%b %b HTTP/%b\r\n%b\r\n" % (method.encode(), target, version.encode(), fields)


def scope_of(
    always: dict[str, Any],
    version: str,
    method: str,
    split: tuple[str, bytes, bytes],
    headers: Headers,
) -> dict[str, Any]:
    """The ASGI scope of a request: `always` is its connection's (`scope_of_connection`), `split` its target's (`split_target`)."""
    path, raw_path, query = split
    return {
        **always,
        "http_version": version,
        "method": method,
        "path": path,
        "raw_path": raw_path,
        "query_string": query,
        "headers": headers,
    }


def scope_of_connection(extra_info: Callable[[str], Any]) -> dict[str, Any]:
    """What the ASGI scopes of all requests of one connection share; `extra_info` is its transport's."""
    return {
        "type": "http",
        "asgi": _ASGI,
        "root_path": "",
        "scheme": "https" if extra_info("sslcontext") else "http",
        "client": _address(extra_info("peername")),
        "server": _address(extra_info("sockname")),
    }


def _address(name: Any) -> tuple[str, int | None] | None:
    """A socket's name as ASGI spells it. Of Unix sockets only the server's has one."""
    if isinstance(name, (tuple, list)) and len(name) > 1:
        return str(name[0]), int(name[1])
    return (name, None) if isinstance(name, str) and name else None
