"""HTTP/1.1 client connection: strict httptools parsing within limits, cached response heads; says whether it can be reused.

One request at a time, never pipelined. The server is a stranger: how long a head may be, how much may come
that is no body (sizes of chunks, their extensions, trailers), and what may come when nobody asked are all decided here.
Where two readers could disagree on where an answer ends (RFC 9112 §6.3), it is refused, and a connection of which we do
not know for certain that it stands between two answers is never used again.

A server answers with the same head again and again, as long as neither its clock nor the length of the body moves. Between
two answers the parser remembers nothing, so the same bytes mean the same (`KnownHeads`; `request_head_cache` is the other side's).
Only answers that were plain in every way are remembered: whole in one piece, with a length, not packed, no stream, on a
connection that stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

import httptools

from gatewright.transport.http_answer import Answer, Fields, Raw
from gatewright.transport.http_fault import Fault
from gatewright.transport.http_slices import Sliced
from gatewright.transport.read_turns import ReadTurns

__all__ = ["HEADER_BYTES", "HttpClientConnection", "KnownAnswers"]

_END = b"\r\n\r\n"
_HEADS = 4
"""How many are remembered; the oldest goes first."""
_BYTES = 2048
"""A longer head is not remembered."""


class KnownAnswers:
    """Head → (status, headers, the length of the body)."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[int, Fields, int]] = {}

    def settle(self, answer: Answer, data: bytes) -> bool:
        """Whether `data` is an answer, whole, whose head is known: then `answer` has it."""
        cut = data.find(_END, 0, _BYTES) + len(_END)
        known = self._known.get(data[:cut])
        if known is None or len(data) - cut != known[2]:
            return False
        return answer.take_whole(known[0], known[1], data[cut:])

    def learn(self, answer: Answer, data: bytes) -> None:
        """Remember the head of `data`, which the parser took for `answer` and no more than that, on a connection that
        stays. Ignored where the answer is not plain."""
        cut = data.find(_END, 0, _BYTES) + len(_END)
        size = answer.plain_size()
        if cut <= len(_END) or size != len(data) - cut:
            return
        if len(self._known) == _HEADS:
            del self._known[next(iter(self._known))]
        self._known[data[:cut]] = answer.status, answer.headers, size


HEADER_BYTES = 32 * 1024
"""The longest head of an answer, together with those that came before it and said only to wait."""

_JOINED = 64 * 1024
"""A body up to here leaves in one piece with its head; a longer one is not copied for it."""

_BODILESS = (204, 304)


_INTERIM = len(b"HTTP/1.1 100 C\r\n\r\n")
"""Bytes that an interim answer (1xx, RFC 9110 §15.2) has at least, besides its headers."""


class _Surplus(Exception):  # noqa: N818
    """More came than was asked for."""


class HttpClientConnection(Sliced):
    """One connection to a server, lent out by an `HttpPool`. `lost` is called with it when it is closed."""

    transport: asyncio.Transport | None = None

    def __init__(
        self, where: str, lost: Callable[[HttpClientConnection], None], turns: ReadTurns
    ) -> None:
        super().__init__(turns)
        self.idle_since = 0.0
        self._where = where
        self._lost = lost
        self._answer: Answer | None = None
        self._used = False
        self._headers: Raw = []
        self._size = 0  # of the data at hand
        self._held = 0  # bytes of heads before the one that counts is whole
        self._interim = 0  # of those, what belongs to heads that only say to wait
        self._hollow = 0  # bytes within a body that are not body
        self._moved = False  # the data at hand brought a head or a piece of a body
        self._until_close = False
        self._keeps = True  # after this answer, another may be asked for
        self._clogged = False
        self._paused = False
        self._known = KnownAnswers()
        self._parser = httptools.HttpResponseParser(self)
        # Old servers end lines with LF alone and fill chunk sizes up with spaces; neither can be read in two ways.
        self._parser.set_dangerous_leniencies(
            lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )

    # -- the pool's

    def ask(self, head: bytes, body: bytes, limit: int) -> Answer:
        """Send a request. What comes back may be `limit` bytes long, or a stream.

        Raises `Fault` where the server has hung up already: then nothing is sent.
        """
        if self.transport is None or self.transport.is_closing():
            gone = f"{self._where} closed the connection before it was asked"
            raise Fault("unreachable", gone, not_sent=True)
        self._answer = answer = Answer(self._where, limit, self._flow)
        self._held = self._hollow = self._interim = 0
        if len(body) <= _JOINED:
            self.transport.write(head + body if body else head)
        else:
            self.transport.write(head)
            self.transport.write(body)
        return answer

    def free(self) -> bool:
        """Forget the answer. Whether the connection can be used again."""
        answer, self._answer = self._answer, None
        self._used = True
        # Clogged: it was answered before all of the request was written, the rest of which would stand before the next.
        return (
            answer is not None
            and answer.complete
            and self._keeps
            and not (self._clogged or self._paused)
            and self.usable()
        )

    def usable(self) -> bool:
        """Whether it is open."""
        return self.transport is not None and not self.transport.is_closing()

    def abort(self) -> None:
        """Close at once."""
        if self.transport is not None:
            self.transport.abort()

    # -- asyncio's

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.forget()
        self._parser = cast("Any", None)  # it holds us
        answer = self._answer
        if answer is not None:
            answer.fail(self._broken(answer))
        self._lost(self)

    def eof_received(self) -> bool:
        answer = self._answer
        # Without length or coding the end of the connection is that of the body (RFC 9112 §6.3, rule 8).
        if answer is not None and answer.status and self._until_close and not answer.complete:
            answer.finish()
        return False  # a server that says no more gets nothing more

    def pause_writing(self) -> None:
        self._clogged = True

    def resume_writing(self) -> None:
        self._clogged = False

    def feed(self, data: bytes) -> None:
        """Parse what came."""
        answer = self._answer
        if answer is None or answer.complete or self._parser is None:
            self._keeps = False
            self.abort()
            return
        first = not answer.began
        if first and self._known.settle(answer, data):
            self._keeps, self._until_close = True, False
            return
        answer.began = True
        self._size = len(data)
        self._moved = False
        try:
            self._parser.feed_data(data)
            self._parsed(answer, data if first else b"")
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, Fault) as problem:
            self._keeps = False
            answer.fail(self._flaw(problem))
            self.abort()

    # -- the parser's

    def on_message_begin(self) -> None:
        """An answer begins."""
        if self._answer is None or self._answer.complete:
            raise _Surplus
        self._headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer."""
        self._headers.append((name.lower(), value.rstrip(b" \t")))

    def on_headers_complete(self) -> None:
        """The head of an answer is whole, or of one that only says to wait."""
        headers, self._headers = self._headers, []  # trailers are nobody's
        parser, answer = self._parser, cast("Answer", self._answer)
        status = parser.get_status_code()
        if status < 200:
            if status < 100 or status == 101:  # we never offer another protocol
                raise self._bad()
            # They are counted together: a server could send them without end, and none is an answer.
            self._interim += _INTERIM + _size(headers)
            return
        if self._held + self._size > HEADER_BYTES:
            self._weigh_head(headers)
        self._moved = True
        known = dict(headers)
        self._keeps = parser.should_keep_alive()
        self._until_close = False
        if not self._keeps:
            if parser.get_http_version() not in ("1.0", "1.1"):
                raise self._bad()
            framed = b"content-length" in known or b"transfer-encoding" in known
            self._until_close = not framed and status not in _BODILESS
        self._judge(headers, known)
        answer.open(status, headers, known)

    def on_body(self, data: bytes) -> None:
        """A piece of a body."""
        self._moved = True
        cast("Answer", self._answer).feed(data)

    def on_message_complete(self) -> None:
        """An answer is whole, or one that only says to wait."""
        answer = cast("Answer", self._answer)
        if answer.status:
            answer.finish()

    # -- what is awaited of a stranger

    def _judge(self, headers: Raw, known: Mapping[bytes, bytes]) -> None:
        if b"transfer-encoding" in known:
            codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
            if codings != [b"chunked"]:
                raise self._bad()

    def _parsed(self, answer: Answer, data: bytes) -> None:
        """All that came was parsed: `data`, where it is the first of the answer."""
        if not answer.complete:
            self._weigh(answer)
        elif data and self._keeps:
            self._known.learn(answer, data)

    def _weigh(self, answer: Answer) -> None:
        """Part of an answer came."""
        if not answer.status:
            self._held += self._size
            heavy = self._held
        else:
            self._hollow = 0 if self._moved else self._hollow + self._size
            heavy = self._hollow
        if heavy > HEADER_BYTES:
            raise self._too_long()

    def _weigh_head(self, headers: Raw) -> None:
        size = self._interim + _size(headers)
        if size > HEADER_BYTES:
            raise self._too_long()

    def _flow(self, on: bool) -> None:
        """Whether what a stream brings is wanted now."""
        if on != self._paused or not self.usable():
            return
        self._paused = not on
        if on:
            self.read_on()
        elif self.transport is not None:
            self.transport.pause_reading()

    # -- what went wrong

    def _flaw(self, problem: Exception) -> Fault:
        cause = problem.__context__ if isinstance(problem, httptools.HttpParserError) else problem
        return cause if isinstance(cause, Fault) else self._bad()

    def _bad(self) -> Fault:
        return Fault("bad", f"{self._where} answered with something that is not HTTP/1.1")

    def _too_long(self) -> Fault:
        return Fault(
            "bad", f"{self._where} answered with headers of more than {HEADER_BYTES} bytes"
        )

    def _broken(self, answer: Answer) -> Fault:
        where = self._where
        if answer.status:
            return Fault("broken", f"{where} closed the connection in the middle of its answer")
        # A server may close a kept connection for its age just as it is used again; then it saw no request.
        unknown = self._used and not answer.began
        lost = f"{where} closed the connection without an answer"
        return Fault("broken", lost, not_sent=None if unknown else False)


def _size(headers: Raw) -> int:
    return sum(len(name) + len(value) + 4 for name, value in headers)
