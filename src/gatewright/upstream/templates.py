"""URI templates (RFC 6570), read backwards: could this URI have come from that template?

Only used to find the owner of a resource, so it may be generous: the server itself judges the rest.
"""

from __future__ import annotations

import re

__all__ = ["Template"]

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_VALUES = {
    "": r"[^/?#]*",
    "+": r".*",
    "#": r"(?:#.*)?",
    ".": r"(?:\.[^/?#]*)?",
    "/": r"(?:/[^?#]*)?",
    ";": r"(?:;[^/?#]*)?",
    "?": r"(?:\?[^#]*)?",
    "&": r"(?:&[^#]*)?",
}
_MOST = 32
"""More expressions than that are nobody's template, and make matching slow."""


class Template:
    """One template; `weight` is the length of its literal text, by which the closest one is chosen."""

    __slots__ = ("_pattern", "text", "weight")

    def __init__(self, text: str) -> None:
        self.text = text
        parts: list[str] = []
        at = self.weight = 0
        found = list(_EXPRESSION.finditer(text))
        for match in found:
            parts.append(re.escape(text[at : match.start()]))
            parts.append(_VALUES[match[1]])
            self.weight += match.start() - at
            at = match.end()
        parts.append(re.escape(text[at:]))
        self.weight += len(text) - at
        usable = len(found) <= _MOST and len(text) <= 2048
        self._pattern = re.compile("".join(parts), re.DOTALL) if usable else None

    def matches(self, uri: str) -> bool:
        """Whether the URI could have been made from the template."""
        if self._pattern is None or len(uri) > 8192:
            return False
        return self._pattern.fullmatch(uri) is not None
