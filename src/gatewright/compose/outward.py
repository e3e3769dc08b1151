"""What the gateway makes of that which servers say on their own account: cleaned, and with no way back to the gateway itself."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from gatewright.compose.identity import base_of
from gatewright.compose.redaction import hold_secrets, said_of
from gatewright.doors.approval_page import PATH
from gatewright.protocol.web_address import is_loopback
from gatewright.settings import Settings
from gatewright.upstream.hub import Hub

__all__ = ["adopt_words", "ours_of"]

_ANY = frozenset({"0.0.0.0", "::", "[::]"})  # noqa: S104 - compared, not bound
_PORTS = {"http": 80, "https": 443}


def adopt_words(hub: Hub, settings: Settings, key: bytes) -> None:
    """Let what servers say be judged by these settings."""
    hold_secrets(settings)
    hub.clean = said_of(settings, key)
    hub.ours = ours_of(settings)


def ours_of(settings: Settings) -> Callable[[str], bool]:
    """Whether a URL leads to the gateway: to where it listens, to its public address or another name of it, or on this
    machine to the path of the page where operators decide, at whichever port that was opened."""
    gateway, public = settings.gateway, urlsplit(base_of(settings))
    names = {one.lower().rpartition(":")[0] or one.lower() for one in gateway.allowed_hosts}
    names |= {gateway.host.lower(), (public.hostname or "").lower()}
    places = {
        (gateway.host.lower(), gateway.port),
        _place(public.hostname, public.port, public.scheme),
    }

    def ours(url: str) -> bool:
        parts = urlsplit(url)
        host, port = _place(parts.hostname, parts.port, parts.scheme)
        here = _is_here(host)
        if (host, port) in places or (here and (port == gateway.port or _is_page(parts.path))):
            return True
        return host in names and not here and (port == gateway.port or _is_page(parts.path))

    return ours


def _place(host: str | None, port: int | None, scheme: str) -> tuple[str, int]:
    return (host or "").rstrip(".").lower(), port or _PORTS.get(scheme, 0)


def _is_here(host: str) -> bool:
    """Whether a browser takes the name for this machine, also as browsers read addresses: 127.1, 0x7f.1, 2130706433."""
    if host in _ANY or host.endswith(".localhost"):
        return True
    with contextlib.suppress(OSError):
        host = socket.inet_ntoa(socket.inet_aton(host))
    return host in _ANY or is_loopback(f"http://[{host}]/" if ":" in host else f"http://{host}/")


def _is_page(path: str) -> bool:
    return PATH.strip("/") in unquote(path).lower().split("/")
