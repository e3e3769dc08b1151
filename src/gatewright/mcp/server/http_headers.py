"""Parses and checks HTTP request headers of MCP once per head: credential, session, revision, Accept, content type, routing.

A client that keeps its connection sends the same headers again and again (`transport.request_head_cache`): what is found out
here is found out once for all of those requests. So nothing here may depend on anything else, and least of all on who
the caller is now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatewright.mcp.protocol.introduction import Introduction
from gatewright.mcp.server.http_auth import bearer
from gatewright.mcp.server.http_responses import Whole
from gatewright.mcp.wire.versions import LEGACY, MODERN
from gatewright.short_cache import cached_if_short

__all__ = ["HttpHeaders", "headers_of"]

_ROUTING = (b"mcp-protocol-version", b"mcp-method", b"mcp-name")
_SMALL_EVENTS = b"python-httpx2/"
"""`httpx2.EventSource`, and with it the Python SDK 2 and FastMCP 4, as they are set up unless told otherwise."""


class HttpHeaders:
    """`values` is by name in lower case, where the last of several stands."""

    __slots__ = (
        "_raw",
        "_routing",
        "called",
        "credential",
        "flaw",
        "in_no_session",
        "in_session",
        "introduction",
        "legacy",
        "modern",
        "prepared",
        "reads_streams",
        "session",
        "small_events",
        "values",
        "version",
    )

    def __init__(self, raw: Sequence[tuple[bytes, bytes]]) -> None:
        self._raw = raw
        self.values = values = dict(raw)
        self.credential = bearer(values)
        self.version = values.get(b"mcp-protocol-version", b"").decode("latin-1")
        self.modern = self.version in MODERN
        self.legacy = self.version in LEGACY
        session = values.get(b"mcp-session-id")
        self.session = None if session is None else session.decode("latin-1")
        """The session that is named, whoever it is of."""
        accept = values.get(b"accept")
        if accept is not None and len(values) < len(
            raw
        ):  # RFC 9110 §5.3: several lines of one list are one list
            accept = b", ".join(value for name, value in raw if name == b"accept")
        json, self.reads_streams = _reads(accept)
        """Whether the answer may be an event stream; who says nothing reads JSON only."""
        self.small_events = values.get(b"user-agent", b"").startswith(_SMALL_EVENTS)
        """Whether it gives up on an event of more than 1 MiB, however many lines that has: such a client gets a large answer as
        plain JSON or not at all, so no stream is begun for it before one is needed."""
        self.flaw = _flaw(values.get(b"content-type"), json or self.reads_streams)
        """Why this is no JSON message of somebody who reads JSON or streams: status and text."""
        legacy = self.legacy or not self.version
        self.in_session = session is not None and legacy and self.flaw is None
        """Whether it can be sent in a session that is not modern: most are."""
        self.in_no_session = self.modern and self.flaw is None
        """Whether what is sent with it stands alone, as each modern request does."""
        self.introduction = Introduction() if self.in_no_session else None
        """What its client said of itself last."""
        self.prepared: Any = None
        """Of calls that stand alone: what is prepared of this client's (`prepared.OfClient`)."""
        self._routing: dict[str, str] | None = None
        self.called = self._called() if self.in_no_session else None
        """The tool that a modern request calls, where its name stands here as it is; None for all else, and for a name that is wrapped."""

    def text(self, name: bytes) -> str:
        """A header's value, empty where it is missing. `name` is in lower case."""
        return self.values.get(name, b"").decode("latin-1")

    def routing(self) -> Mapping[str, str]:
        """MCP's own headers as text."""
        found = self._routing
        if found is None:
            found = self._routing = {
                name.decode("latin-1"): value.decode("latin-1")
                for name, value in self.values.items()
                if name[:4] == b"mcp-"
            }
        return found

    def _called(self) -> str | None:
        name = self.routing().get("mcp-name", "=?")
        calls = self.values.get(b"mcp-method") == b"tools/call" and name[:2] != "=?"
        return name if calls and self.duplicated() is None else None

    def duplicated(self) -> str | None:
        """The routing header that stands twice: who reads the first and who reads the last disagree."""
        if len(self._raw) == len(self.values):
            return None
        return _twice([name for name, _ in self._raw])


def headers_of(scope: Mapping[str, Any], whole: Whole | None) -> HttpHeaders:
    """The headers of a request, for an application that notes nothing else about a head."""
    head = None if whole is None else whole.head
    if head is None:
        return HttpHeaders(scope["headers"])
    if head.notes is None:
        head.notes = HttpHeaders(scope["headers"])
    found: HttpHeaders = head.notes
    return found


def _twice(names: list[bytes]) -> str | None:
    seen: set[bytes] = set()
    for name in names:  # there can be thousands
        if name in seen and (name in _ROUTING or name.startswith(b"mcp-param-")):
            return f"{name.decode('latin-1')} appears more than once"
        seen.add(name)
    return None


def _flaw(kind: bytes | None, reads: bool) -> tuple[int, str] | None:
    if not _is_json(kind):
        return 415, "a message is sent as application/json"
    if not reads:
        return 406, "accept application/json and text/event-stream"
    return None


@cached_if_short(128)
def _is_json(kind: bytes | None) -> bool:
    """Whether a body of this content type is JSON. Who says nothing may be a page elsewhere, whose browser asks nobody
    before it sends such a request."""
    return kind is not None and kind.partition(b";")[0].strip().lower() == b"application/json"


@cached_if_short(128)
def _reads(accept: bytes | None) -> tuple[bool, bool]:
    """Whether a client with this `Accept` reads JSON, and whether event streams."""
    if accept is None:
        return True, False
    said = accept.lower()
    every = b"*/*" in said
    return (
        every or b"application/json" in said or b"application/*" in said,
        every or b"text/event-stream" in said or b"text/*" in said,
    )
