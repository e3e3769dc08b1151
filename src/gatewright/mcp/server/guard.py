"""`Guard`: checks Host and Origin headers against DNS rebinding and cross-site WebSocket pages; caches verdicts, bounded.

A web page must not reach a local port through its visitor's browser (DNS rebinding), so both headers are judged first,
for every endpoint and every handler.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

__all__ = ["Guard"]

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})

_VERDICTS = 1000
_SHORT = 256


class Guard:
    """Which Host and Origin headers are ours. Loopback names always are, at any port."""

    def __init__(self, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._known: dict[tuple[bytes | None, bytes | None], str] = {}
        """Verdicts, for the few pairs that nearly all requests carry."""

    def refuses(self, headers: Mapping[bytes, bytes]) -> str:
        """The reason why a request is refused, or nothing."""
        key = headers.get(b"host"), headers.get(b"origin")
        known = self._known.get(key)
        if known is None:
            known = self._judge(*key)
            # Both headers are the sender's to choose: only so many are kept, and none that is long.
            if len(self._known) < _VERDICTS and sum(len(one or b"") for one in key) < _SHORT:
                self._known[key] = known
        return known

    def refuses_page(self, headers: Mapping[bytes, bytes]) -> str:
        """The same for an upgrade to WebSocket, which browsers let every page make and read, whatever its origin: only pages
        of the gateway itself (same host and port) and of configured origins may."""
        origin = headers.get(b"origin")
        if origin is None:
            return self.refuses(headers)
        # No CORS for WebSockets: the browser sends Origin and leaves the judgement to the server (RFC 6455 §10.2).
        page = origin.decode("latin-1").lower().rstrip("/")
        own = headers.get(b"host", b"").decode("latin-1").lower()
        if page in self._origins or _is_own(page, own):
            return self.refuses(headers)
        return "origin_refused"

    @property
    def remembered(self) -> int:
        """How many verdicts are kept."""
        return len(self._known)

    def _judge(self, host: bytes | None, origin: bytes | None) -> str:
        if host is None or not self._is_host(host.decode("latin-1").lower()):
            return "host_refused"
        if origin is None:
            return ""
        page = origin.decode("latin-1").lower()
        # Only now that Host is found ours: under DNS rebinding a foreign page has the name of its Host, too.
        own = _is_own(page, host.decode("latin-1").lower())
        return "" if own or self._is_origin(page) else "origin_refused"

    def _is_host(self, host: str) -> bool:
        if host in self._hosts:
            return True
        name, port = host, ""
        if not host.endswith("]") and ":" in host:
            name, _, port = host.rpartition(":")
        if port and not (port.isascii() and port.isdigit()):
            return False  # `127.0.0.1:80@elsewhere` names another host
        return name in _LOOPBACK or name in self._hosts

    def _is_origin(self, origin: str) -> bool:
        if origin.rstrip("/") in self._origins:
            return True
        try:
            parts = urlsplit(origin)
            bare = parts.path in ("", "/") and not (parts.query or parts.fragment)
            known = parts.scheme in ("http", "https") and parts.hostname in _LOOPBACK
            return known and bare and "@" not in parts.netloc
        except ValueError:
            return False


def _is_own(origin: str, host: str) -> bool:
    """Whether a page is of this Host, name and port, both in small letters. A proxy in front may have spoken TLS with it."""
    return origin in (f"http://{host}", f"https://{host}")
