"""Extracts the values of cookies that may carry a session or credential, and leaves harmless ones (theme, language) out."""

from __future__ import annotations

from gatewright.patterns import Pattern

__all__ = ["may_open"]

_OPENS = Pattern(r"(?i:sess|sid|token|auth|csrf|xsrf|remember|jwt|secret|login|user|^id\Z|key)")
_HARMLESS = Pattern(r"[A-Za-z_-]{0,16}|[0-9]{1,3}")
_ATTRIBUTES = frozenset({"samesite", "expires", "max-age", "path", "domain"})


def may_open(line: str) -> str:
    """The values of cookies that may open something, in one; empty where there are none."""
    kept = []
    for one in line.split(";"):
        name, _, value = one.strip().partition("=")
        # RFC 6265, 4.1: attributes of `Set-Cookie` stand among the pairs.
        if name.lower() in _ATTRIBUTES:
            continue
        if value and (_OPENS.within(name) or not _HARMLESS.fits(value)):
            kept.append(value)
    return "".join(kept)
