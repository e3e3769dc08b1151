"""Detects URLs that lead back to the gateway, by the present configuration: no server may send a person there."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import unicodedata
from urllib.parse import SplitResult, unquote, urlsplit

from gatewright.config import Settings
from gatewright.identity.issuers import base_of
from gatewright.secret_scanning.unicode_forms import normal
from gatewright.servers.gateway_url_check import Ours

__all__ = ["OwnUrls", "ours_of"]

_PORTS = {"http": 80, "https": 443}
_DOTS = str.maketrans("\u3002\uff61", "..")
"""What browsers take for a dot, besides what is one by its compatibility form."""

_LOOPBACK = frozenset(
    "localhost localhost4 localhost6 localhost.localdomain localhost4.localdomain4 localhost6.localdomain6 ip6-localhost ip6-loopback".split()
)
"""What `/etc/hosts` of Debian and Fedora calls this machine."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class OwnUrls:
    """Those by the settings of now."""

    def __init__(self, settings: Settings, pages: str = "") -> None:
        """`pages` is the path of the pages on which operators decide, where there are any."""
        self._pages = pages.strip("/")
        self.adopt(settings)

    def adopt(self, settings: Settings) -> None:
        """Go on with these settings."""
        self._ours = ours_of(settings, self._pages)

    def leads_here(self, url: str) -> bool:
        """Whether a URL leads to the gateway itself."""
        return self._ours(url)


def ours_of(settings: Settings, pages: str) -> Ours:
    """Whether a URL leads to the gateway: to where it listens, to its public address or another name of it, or on this
    machine to the path of the page where operators decide (`pages`), at whichever port that was opened."""
    gateway, public = settings.gateway, urlsplit(base_of(settings))
    names = {_host(_split(f"http://{one}").hostname) for one in gateway.allowed_hosts}
    names |= {_host(gateway.host), _host(public.hostname)}
    names.discard("")
    places = {(_host(gateway.host), gateway.port), _place(public)}
    everywhere = _is_any(_address(gateway.host.strip("[]")))

    def ours(url: str) -> bool:
        parts = _split(url)
        if not parts.netloc:
            return False
        host, port = _place(parts)
        if (host, port) in places:
            return True
        here = _is_here(host) or (everywhere and _is_near(host))
        return (here or host in names) and (port == gateway.port or _is_page(parts.path, pages))

    return ours


def _split(url: str) -> SplitResult:
    """A URL in its parts; without any where it cannot be read."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - it raises
    except ValueError:
        return urlsplit("")
    return parts


def _place(parts: SplitResult) -> tuple[str, int]:
    return _host(parts.hostname), parts.port or _PORTS.get(parts.scheme, 0)


def _host(written: str | None) -> str:
    """A host as browsers read it: escapes decoded, in compatibility form, without what shows nothing, addresses in their one
    spelling (127.1, 0x7f.1 and 2130706433 are 127.0.0.1)."""
    shown = normal("NFKC", unquote(written or ""))
    plain = "".join(one for one in shown if unicodedata.category(one) not in ("Cf", "Mn"))
    host = plain.translate(_DOTS).rstrip(".").casefold()
    address = _address(host)
    return host if address is None else str(address)


def _address(host: str) -> Address | None:
    with contextlib.suppress(OSError, ValueError, UnicodeError):
        host = host if ":" in host else socket.inet_ntoa(socket.inet_aton(host))
    with contextlib.suppress(ValueError):
        found = ipaddress.ip_address(host)
        return (isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped) or found
    return None


def _is_any(address: Address | None) -> bool:
    return address is not None and address.is_unspecified


def _is_here(host: str) -> bool:
    """Whether a browser takes the name for this machine."""
    address = _address(host)
    if address is not None:
        return address.is_loopback or address.is_unspecified
    return host in _LOOPBACK or host.endswith(".localhost")


def _is_near(host: str) -> bool:
    """Whether it may be one of this machine's addresses or names, where the gateway listens at all of them."""
    address = _address(host)
    if address is not None:
        return address.is_private or address.is_link_local
    return host.partition(".")[0] == socket.gethostname().partition(".")[0].casefold()


def _is_page(path: str, pages: str) -> bool:
    return pages != "" and pages in unquote(path).lower().split("/")
