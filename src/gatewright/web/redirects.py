"""`redirect_said`: words for an HTTP redirect that is not followed: where it leads (RFC 9110 `Location`), bounded and safe to show."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

from gatewright.patterns import Pattern
from gatewright.web.urls import bare

__all__ = ["redirect_said"]

_REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
_LONGEST = 200
_PLAIN = Pattern(r"(?:https?|wss?)://[A-Za-z0-9.:\[\]-]+(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?")
"""Who answers writes it: nothing but a host and a path, and no markup, is repeated."""


def redirect_said(url: str, status: int, headers: Mapping[str, str]) -> str:
    """What a redirect in answer to what went to `url` is told as; empty where it is none. Whoever runs this decides by hand where
    requests go, with their headers and bodies: the new place may be anybody's."""
    if status not in _REDIRECTS:
        return ""
    where = _shown(url, headers.get("Location", ""))
    if not where:
        return f"answered with a redirect, which is not followed (HTTP {status}); ask who runs it for its URL"
    query = ", with the query that it wants" if where.endswith("?…") else ""
    return f"answered with a redirect to {where}, which is not followed (HTTP {status}); write that as its URL{query}"


def _shown(url: str, location: str) -> str:
    """Where a redirect leads; empty where that is nothing to repeat."""
    try:
        found = urljoin(bare(url), location) if 0 < len(location) <= _LONGEST else ""
        query = bool(urlsplit(found).query)
    except ValueError:
        return ""
    plain = bare(found)
    if len(plain) > _LONGEST or not _PLAIN.fullmatch(plain):
        return ""
    return f"{plain}?…" if query else plain
