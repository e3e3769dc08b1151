"""The head of a request judged, and the head of a response spelled: bytes in, bytes out, no I/O.

The parser is strict about characters; what is judged here is meaning: where a body ends, and for whom it is meant.
Two readers who disagree about either can be made to see two different requests in one text, so whatever could be
read in two ways is refused (RFC 9112 §6.3 and §11.2, RFC 9110 §7.2), whether or not the parser refuses it too.
"""

from __future__ import annotations

import http
import urllib.parse
from collections.abc import Iterable, Mapping

import httptools

__all__ = ["Flaw", "Headers", "end_of_head", "judge", "refusal", "request", "spell", "split_target"]

Headers = list[tuple[bytes, bytes]]

_VERSIONS = ("1.0", "1.1")
_ONCE = (b"host", b"content-length", b"transfer-encoding")
_OURS = frozenset((b"content-length", b"transfer-encoding", b"connection"))

_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
    for status in http.HTTPStatus
}


class Flaw(Exception):  # noqa: N818 - what the client did, not what is wrong with us
    """A request that is answered by the connection itself, with `status`, and then closed."""

    def __init__(self, status: http.HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


def judge(headers: Headers, known: Mapping[bytes, bytes], version: str) -> None:
    """Raise `Flaw` where framing or addressee are in doubt. `known` is the same headers as a mapping."""
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
    lines = 2
    for spelling, value in headers:
        name = spelling.lower()
        if name in _OURS:
            if name == b"content-length":
                length = int(value)
            elif name == b"connection":
                close = close or b"close" in value.lower()
            continue
        parts += (name, b": ", value, b"\r\n")
        lines += 1
    head = b"".join(parts)
    if head.count(b"\n") != lines or head.count(b"\r") != lines or b"\0" in head:
        raise ValueError("a response header contains a line break or a zero byte")
    return head, length, close


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
