"""Which cookies may open something: a theme and a language do not."""

from __future__ import annotations

import re

__all__ = ["may_open"]

_OPENS = re.compile(r"(?i:sess|sid|token|auth|csrf|xsrf|remember|jwt|secret|login|user|^id$|key)")
_HARMLESS = re.compile(r"[A-Za-z_-]{0,16}|[0-9]{1,3}")
_ATTRIBUTES = frozenset({"samesite", "expires", "max-age", "path", "domain"})


def may_open(line: str) -> str:
    """The values of cookies that may open something, in one; empty where there are none."""
    kept = []
    for one in line.split(";"):
        name, _, value = one.strip().partition("=")
        if name.lower() in _ATTRIBUTES:
            continue
        if value and (_OPENS.search(name) or not _HARMLESS.fullmatch(value)):
            kept.append(value)
    return "".join(kept)
