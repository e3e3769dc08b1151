"""URI templates (RFC 6570), read backwards: could this URI have come from that template?

Only used to find the owner of a resource, so it may be generous: the server itself judges the rest.
"""

from __future__ import annotations

from gatewright.patterns import DOTALL, Pattern, escape

__all__ = ["Template"]

_EXPRESSION = Pattern(r"\{([+#./;?&]?)([^{}]*)\}")
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
_LONGEST = 2048
_LONGEST_URI = 8192
"""More expressions and longer ones are nobody's template: it fits nothing."""


class Template:
    """One template; `weight` is the length of its literal text, by which the closest one is chosen."""

    __slots__ = ("_pattern", "text", "weight")

    def __init__(self, text: str) -> None:
        self.text = text
        self._pattern: Pattern[str] | None = None
        self.weight = len(text)
        if len(text) > _LONGEST:
            return
        parts: list[str] = []
        at = 0
        found = list(_EXPRESSION.finditer(text))
        for match in found:
            parts += (escape(text[at : match.start()]), _VALUES[match[1]])
            self.weight -= match.end() - match.start()
            at = match.end()
        if len(found) <= _MOST:
            self._pattern = Pattern("".join((*parts, escape(text[at:]))), DOTALL)

    def matches(self, uri: str) -> bool:
        """Whether the URI could have been made from the template."""
        if self._pattern is None or len(uri) > _LONGEST_URI:
            return False
        return self._pattern.fits(uri)
