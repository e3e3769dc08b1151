"""Server-sent events codec: incremental parser and encoder (WHATWG HTML §9.2, as MCP uses it).

The parser takes a stream in pieces of any size and returns the events that each piece completes, the same events
however the stream was cut. It looks at every byte a fixed number of times, and holds no more than one event.
Data stays bytes: it is a JSON text that others parse and judge, and what is not UTF-8 must not be repaired here.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

__all__ = ["EventTooLarge", "SseEvent", "SseParser", "encode", "encode_comment"]

BOM = b"\xef\xbb\xbf"
RETRY_DIGITS = 9
"""A retry time of more digits is longer than eleven days and no use to anybody; it is ignored."""
BEGINS_BYTES = 256
"""Of an event that is too long, so much is told."""
ID_BYTES = 1024
"""An event id beyond this is ignored, like one with a NUL: it has to fit into a header again."""


class EventTooLarge(ValueError):  # noqa: N818 - named after what happened
    """An event, or one line of it, is longer than the parser accepts. `limit` is in bytes; `begins` are the first ones of its data; `id` is its
    own, where it was given before what is too long."""

    def __init__(self, limit: int, begins: bytes = b"", id: str = "") -> None:
        super().__init__(f"an event of the stream is longer than {limit} bytes")
        self.limit = limit
        self.begins = begins
        self.id = id


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event. `id` is the last event id of the stream so far, empty when none was given."""

    data: bytes
    event: str = "message"
    id: str = ""


class SseParser:
    """Bytes in, events out. `last_event_id` and `retry_ms` follow what the stream says."""

    def __init__(self, limit: int) -> None:
        self.last_event_id = ""
        self.retry_ms: int | None = None
        self._limit = limit
        self._broken: EventTooLarge | None = None
        self._head = b""
        self._started = False
        self._after_cr = False
        self._pieces: list[bytes] = []
        self._partial = 0
        self._data: bytes | bytearray | None = None
        """The data of the event that has begun: a second line is added at once, so that an event of a million lines is not
        put together in one step."""
        self._held = 0
        self._event = ""
        self._id = ""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next piece of the stream and return the events it completes.

        Raises `EventTooLarge`, for good: a stream that broke the limit once stays broken. Events that were
        complete before it did so are returned first, and the error comes with the next piece.
        """
        events: list[SseEvent] = []
        try:
            self._feed(self._without_bom(chunk), events)
        except EventTooLarge as problem:
            self._broken = problem
            self._pieces.clear()
            self._data = None
            if not events:
                raise
        return events

    def _feed(self, chunk: bytes, events: list[SseEvent]) -> None:
        if self._broken is not None:
            raise self._broken
        *lines, rest = self._one_kind_of_line_end(chunk).split(b"\n")
        for line in lines:
            if self._pieces:
                self._pieces.append(line)
                line = b"".join(self._pieces)  # noqa: PLW2901 - the line began in earlier pieces
                self._pieces.clear()
                self._partial = 0
            if line:
                self._check(len(line), (line,))
                self._field(line)
            else:
                self._dispatch(events)
        if rest:
            self._partial += len(rest)
            self._pieces.append(rest)
            self._check(self._partial, self._pieces)

    def _without_bom(self, chunk: bytes) -> bytes:
        if self._started:
            return chunk
        chunk = self._head + chunk
        if len(chunk) < len(BOM) and BOM.startswith(chunk):
            self._head = chunk
            return b""
        self._started = True
        return chunk.removeprefix(BOM)

    def _one_kind_of_line_end(self, chunk: bytes) -> bytes:
        """CR, LF and CRLF become LF; a CRLF cut in two by the network stays one line end."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_cr = False
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        if b"\r" in chunk:
            # A CR at the end of a piece ends its line at once: whether a LF follows may be known much later.
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _check(self, line: int, pieces: Sequence[bytes]) -> None:
        if self._held + line > self._limit:
            # The network cuts where it likes, and no piece is empty: the first ones may be a byte each.
            begins = b"".join(one[:BEGINS_BYTES] for one in pieces[:BEGINS_BYTES])[:BEGINS_BYTES]
            value = begins.partition(b":")[2].removeprefix(b" ")
            first = value if self._data is None else bytes(self._data[:BEGINS_BYTES])
            own = self._id if self._id != self.last_event_id else ""
            raise EventTooLarge(self._limit, first, own)

    def _field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if colon and value.startswith(b" "):
            value = value[1:]
        if name == b"data":
            self._held += len(value) + 1
            self._add(value)
        elif name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value and len(value) <= ID_BYTES:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= RETRY_DIGITS:
            self.retry_ms = int(value)

    def _add(self, value: bytes) -> None:
        if self._data is None:
            self._data = value
            return
        if type(self._data) is bytes:
            # Grown in place: to join bytes anew for each line would take the square of a long event.
            self._data = bytearray(self._data)
        self._data += b"\n"
        self._data += value

    def _dispatch(self, events: list[SseEvent]) -> None:
        # Also where there is no data: an `id:` alone counts at the end of its event (WHATWG HTML §9.2.6).
        self.last_event_id = self._id
        if self._data is not None:
            events.append(SseEvent(bytes(self._data), self._event or "message", self._id))
            self._data = None
        self._event = ""
        self._held = 0


def encode(
    data: bytes,
    event: str | None = None,
    id: str | None = None,
    retry: int | None = None,
) -> bytes:
    """One event as bytes. Line ends inside `data` become LF at the reader, as the format has it.

    Raises `ValueError` for an `event` or `id` with a line end or a NUL, and for a `retry` (milliseconds) below 0:
    whoever controls those could otherwise write events of their own.
    """
    head = ""
    if event is not None:
        head += f"event: {_one_line('event', event)}\n"
    if id is not None:
        head += f"id: {_one_line('id', id)}\n"
    if retry is not None:
        if retry < 0:
            raise ValueError("retry must be a number of milliseconds from 0 up")
        head += f"retry: {int(retry)}\n"
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\ndata: ")
    return b"".join((head.encode(), b"data: ", data, b"\n\n"))


def encode_comment(text: str = "") -> bytes:
    """A comment: no event, but bytes on the wire, which keeps intermediaries from closing an idle stream."""
    return f": {_one_line('comment', text)}\n\n".encode()


def _one_line(what: str, text: str) -> str:
    if "\n" in text or "\r" in text or "\0" in text:
        raise ValueError(f"the {what} of a server-sent event must be one line without NUL")
    return text
