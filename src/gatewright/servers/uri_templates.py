"""Matches URIs against URI templates (RFC 6570), and rejects templates that are too long or have too many expressions.

Only used to find the owner of a resource, so it may be generous: the server itself judges the rest.
"""

from __future__ import annotations

from gatewright.patterns import DOTALL, Pattern, escape

__all__ = ["LONGEST_URI", "Template", "flaw_of_template"]

_EXPRESSION = Pattern(r"\{([+#./;?&]?)([^{}]*)\}")
# What an expression by its operator may come to (RFC 6570, 3.2), more rather than less.
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
_MOST = 8
_LONGEST = 2048
LONGEST_URI = 2048
"""Characters; a longer one comes from no template. More expressions and longer templates fit nothing: everybody waits while a
URI is held against them, and both together say how long."""


class Template:
    """One template; `weight` is the length of its literal text, by which the closest one is chosen."""

    __slots__ = ("_pattern", "text", "weight")

    def __init__(self, text: str) -> None:
        self.text = text
        self._pattern: Pattern[str] | None = None
        self.weight = len(text)
        if flaw_of_template(text):
            return
        parts: list[str] = []
        at = 0
        for match in _EXPRESSION.finditer(text):
            parts += (escape(text[at : match.start()]), _VALUES[match[1]])
            self.weight -= match.end() - match.start()
            at = match.end()
        self._pattern = Pattern("".join((*parts, escape(text[at:]))), DOTALL)

    def matches(self, uri: str) -> bool:
        """Whether the URI could have been made from the template."""
        if self._pattern is None or len(uri) > LONGEST_URI:
            return False
        return self._pattern.fits(uri)


def flaw_of_template(text: str) -> str:
    """Why a template fits nothing, in a few words; empty where it may fit something."""
    if len(text) > _LONGEST:
        return f"it has {len(text)} characters, at most {_LONGEST}"
    count = sum(1 for _ in _EXPRESSION.finditer(text))
    return f"it has {count} expressions, at most {_MOST}" if count > _MOST else ""
