"""Encodes the heads of HTTP client requests to one URL (request line, usual and checked headers, Basic credentials) as bytes.

A line break inside a header would end it and begin another, in the name of whoever we are; a header that says where a
body ends is ours alone. Both are refused before anything is sent.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from yarl import URL

from gatewright import __version__
from gatewright.patterns import Pattern
from gatewright.short_cache import cached_if_short

__all__ = ["DELETE", "LISTEN", "POST", "Kind", "Target"]


class Kind:
    """A method, and the headers that go with it unless the caller has their own."""

    def __init__(self, method: str, usual: Mapping[str, str]) -> None:
        self.method = method
        self.usual = usual


POST = Kind(
    "POST",
    {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"},
)
LISTEN = Kind("GET", {"Accept": "text/event-stream", "Cache-Control": "no-store"})
DELETE = Kind("DELETE", {})

_EVERY = {"User-Agent": f"gatewright/{__version__}", "Accept-Encoding": "identity"}
_OURS = frozenset(
    ("content-length", "transfer-encoding", "connection", "upgrade", "expect", "te", "trailer")
)
_TOKEN = Pattern(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


class Target:
    """Where a URL leads. `host` is as a resolver and a certificate have it; `origin` is for messages to people.

    Raises `ValueError` where the URL is none of HTTP.
    """

    def __init__(self, url: str) -> None:
        self.url = URL(url)
        if self.url.scheme not in {"http", "https"} or not self.url.raw_host:
            raise ValueError("the URL of an upstream begins with http:// or https:// and a host")
        self.origin = str(self.url.origin())
        self.secure = self.url.scheme == "https"
        self.host = self.url.raw_host
        self.port = self.url.port or (443 if self.secure else 80)
        self._path = self.url.raw_path_qs or "/"
        self._made: dict[str, tuple[dict[str, str], str]] = {}
        self._last: dict[str, tuple[str, dict[str, str]]] = {}
        """By method: what was spelled last, and of which headers. Nearly always the next are the same."""

    def spell(self, kind: Kind, headers: Mapping[str, str], length: int | None = None) -> bytes:
        """The head of a request with a body of `length` bytes, or with none.

        Raises `ValueError` for a header that cannot be sent; the text names no value.
        """
        opening, last = self._last.get(kind.method) or ("", None)
        if headers != last:
            opening = self._opening(kind, headers)
            self._last[kind.method] = opening, dict(headers)
        framing = "" if length is None else f"Content-Length: {length}\r\n"
        return f"{opening}{framing}\r\n".encode("utf-8", "surrogateescape")

    def _opening(self, kind: Kind, headers: Mapping[str, str]) -> str:
        """All but what says where the body ends."""
        usual, opening = self._made.get(kind.method) or self._make(kind)
        names = [_checked(name) for name in headers]
        if not usual.keys().isdisjoint(names):
            kept = [line for name, line in usual.items() if name not in names]
            opening = self._first_line(kind) + "".join(kept)
        own = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        # Header injection (RFC 9110 §5.5): beyond the line end that each header is given here there is none.
        lines = len(names)
        if own.count("\n") != lines or own.count("\r") != lines or "\0" in own:
            raise ValueError("a header contains a line break or a zero byte")
        return opening + own

    def _make(self, kind: Kind) -> tuple[dict[str, str], str]:
        headers = {"Host": self._authority(), **_EVERY, **kind.usual, **self._credentials()}
        usual = {name.lower(): f"{name}: {value}\r\n" for name, value in headers.items()}
        made = usual, self._first_line(kind) + "".join(usual.values())
        self._made[kind.method] = made
        return made

    def _first_line(self, kind: Kind) -> str:
        return f"{kind.method} {self._path} HTTP/1.1\r\n"

    def _authority(self) -> str:
        host = self.host.partition("%")[
            0
        ]  # the zone of an IPv6 address is a matter of this machine
        host = f"[{host}]" if ":" in host else host
        return host if self.url.is_default_port() else f"{host}:{self.port}"

    def _credentials(self) -> dict[str, str]:
        if self.url.user is None and self.url.password is None:
            return {}
        pair = f"{self.url.user or ''}:{self.url.password or ''}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


@cached_if_short(512)
def _checked(name: str) -> str:
    """The lower-case name of a header that callers may set."""
    lower = name.lower()
    if not _TOKEN.fullmatch(name) or lower in _OURS:
        raise ValueError("a header has no usable name, or one that the connection sets itself")
    return lower
