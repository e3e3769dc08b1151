"""Checks untrusted URLs: HTTPS only (or loopback), same origin, path containment; `bare` strips user, password and query.

A protected server names an authorization server, which names endpoints: each of these URLs is a
chance to make the gateway, or the browser of its operator, speak to somebody it should not.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import SplitResult, urlsplit

from gatewright.patterns import Pattern

__all__ = ["bare", "flaw_of", "is_loopback", "is_same_origin", "is_within", "origin_of"]

_LONGEST = 2048
_LONGEST_WRITTEN = 512
"""Characters of a URL that has some which URLs do not have: `urlsplit` puts the marks of a host in order, in the square of their number."""
# What browsers and `urlsplit` read differently, such as `https://a\@b`, or what no URL has (RFC 3986 §2).
_ODD = Pattern(r"[^\x21-\x7e]|[\\<>\"`{}|^]")
_PORTS = {"http": 80, "https": 443}


def flaw_of(url: str, *, loopback: bool) -> str:
    """Why a URL must not be asked, or an empty text. Only HTTPS passes, and with `loopback` also
    plain HTTP to this machine."""
    if len(url) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    if _ODD.search(url):
        return "it has characters that a URL cannot have"
    parts = _split(url)
    if parts is None or not parts.hostname or parts.scheme not in _PORTS:
        return "it is not an HTTP URL"
    if "@" in parts.netloc:
        return "it carries a user name"
    if parts.fragment:
        return "it has a fragment"
    if parts.scheme == "https":
        return ""
    if loopback and is_loopback(url):
        return ""
    return "only https is acceptable" + (", or http to this machine" if loopback else "")


def bare(url: str) -> str:
    """A URL without what may be secret: user, password, query."""
    scheme, sign, rest = url.partition("?")[0].partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{sign}{host.rpartition('@')[2]}{slash}{path}"


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine by its own words, without asking a name server."""
    parts = _split(url)
    host = (parts.hostname if parts is not None else None) or ""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # `::ffff:127.0.0.1` is this machine, and `is_loopback` of it says so in later Pythons only.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def origin_of(url: str) -> str:
    """Scheme and authority, as they are written."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def is_same_origin(one: str, other: str) -> bool:
    """Whether two URLs have one scheme, host and port."""
    parts = [_split(one), _split(other)]
    origins = {
        None if part is None or not part.hostname else (part.scheme, part.hostname, _port(part))
        for part in parts
    }
    return len(origins) == 1 and None not in origins


def is_within(url: str, parent: str) -> bool:
    """Whether `parent` is `url` or stands above it: one origin, and a path that begins whole
    segments of the other's."""
    one, other = _split(url), None if _ODD.search(parent) else _split(parent)
    if one is None or other is None or other.fragment or "@" in other.netloc:
        return False
    if (one.scheme, one.hostname, _port(one)) != (other.scheme, other.hostname, _port(other)):
        return False
    if other.query:
        return (one.path, one.query) == (other.path, other.query)
    above = other.path.rstrip("/")
    return one.path.rstrip("/") == above or one.path.startswith(f"{above}/")


def _port(parts: SplitResult) -> int | None:
    return _PORTS.get(parts.scheme) if parts.port is None else parts.port


def _split(url: str) -> SplitResult | None:
    if len(url) > _LONGEST_WRITTEN and not url.isascii():
        return None
    try:
        parts = urlsplit(url)
        # `port` is read when it is asked for, and raises for what is no number up to 65535.
        return parts if parts.port != 0 else None
    except ValueError:
        return None
