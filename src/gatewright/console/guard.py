"""`Guard` of every console request: checks `Host` and `Origin` (DNS rebinding), bounds the body; security headers of every answer."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

import re2  # type: ignore[import-untyped]
from starlette.requests import Request

from gatewright.console.operations import ApiError

__all__ = ["BODY_BYTES", "HEADERS", "Guard", "body_of"]

BODY_BYTES = 256 * 1024
_HOST = re2.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9.-]+))(?::([0-9]{1,5}))?")
_PORTS = 65_535
HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """Which names the console answers to. A page of another origin, or a name that leads here from elsewhere (DNS rebinding), is
    refused before anything is looked at."""

    def __init__(self, url: str) -> None:
        """`url` is the one at which people reach it, empty where that is its own address."""
        self._url = urlsplit(url) if url else None

    @property
    def secure(self) -> bool:
        """Whether people reach it by TLS alone."""
        return self._url is not None and self._url.scheme == "https"

    def base(self, request: Request) -> str:
        """The URL at which a request reached the console, without a path."""
        if (
            self._url is not None
            and request.headers.get("host", "").lower() == self._url.netloc.lower()
        ):
            return f"{self._url.scheme}://{self._url.netloc}"
        return f"http://{request.headers.get('host', '')}"

    def check(self, request: Request) -> None:
        """Raises `ApiError`."""
        host = request.headers.getlist("host")
        if len(host) != 1 or not self._is_ours(host[0]):
            raise ApiError(
                421,
                "wrong_host",
                "the console is not served under this name",
                "write it in [console] url",
            )
        origin = request.headers.get("origin")
        if origin is None:
            # Browsers say so, also where they leave `Origin` out; programs do not.
            if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and (
                request.method not in ("GET", "HEAD") or not _is_navigation(request)
            ):
                raise ApiError(403, "foreign_origin", "a page of another origin may not ask this")
        elif origin != self.base(request):
            raise ApiError(403, "foreign_origin", "a page of another origin may not ask this")

    def _is_ours(self, host: str) -> bool:
        if self._url is not None and host.lower() == self._url.netloc.lower():
            return True
        found = _HOST.fullmatch(host.lower())
        if found is None or int(found[3] or 0) > _PORTS:
            return False
        try:
            # No address can be made to lead elsewhere, as a name can.
            if found[1]:
                return bool(ipaddress.IPv6Address(found[1]))
            return found[2] == "localhost" or bool(ipaddress.IPv4Address(found[2]))
        except ValueError:
            return False


def _is_navigation(request: Request) -> bool:
    """Whether a person followed a link to here: they see a page of the console, and the page that had the link sees nothing."""
    return request.headers.get("sec-fetch-mode") == "navigate"


async def body_of(request: Request) -> bytes:
    """The whole body. Raises `ApiError` where it is too long."""
    found = bytearray()
    async for piece in request.stream():
        found += piece
        if len(found) > BODY_BYTES:
            raise ApiError(413, "too_large", f"a body has at most {BODY_BYTES} bytes")
    return bytes(found)
