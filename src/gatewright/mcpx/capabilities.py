"""MCPx capability patterns (§4.1): grammar, matching, message kinds that a participant may send; `PROFILES`: example capability sets.

The grammar, whole:

1. A trailing `*` matches any rest, also one with `/` and `:` in it.
2. A `*` elsewhere matches one or more characters but never a colon. Otherwise the context of a kind, which its sender
   chooses, would turn `mcp/request:*/list` into every tool: `mcp/request:tools/call:x/list`.
3. A capability without wildcards that names a method and no context also matches every context of that method.
4. Everything else is literal. `chat` is matched by the capability `chat` alone, a bare `*` matches nothing, and what
   only the gateway may say is matched by nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import re2  # type: ignore[import-untyped]

from gatewright.mcpx.envelope import is_reserved

__all__ = ["PROFILES", "Capabilities", "flaw_of", "matches"]

PATTERN_CHARS = 512
_REMEMBERED = 64
_SHORT = 128

PROFILES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "full": ("mcp/*", "chat"),
        "proposal-only": ("mcp/proposal:*", "mcp/response:*", "chat"),
        "response-only": ("mcp/response:*", "chat"),
        "read-only": (
            "mcp/request:resources/read",
            "mcp/request:*/list",
            "mcp/response:*",
            "chat",
        ),
        "tool-only": ("mcp/request:tools/*", "mcp/response:tools/*", "chat"),
    }
)
"""The example sets of MCPx §4.1."""


def flaw_of(pattern: str) -> str:
    """Why a pattern is none, with what to write instead; empty where it is one.

    A pattern that can match nothing but what is reserved is one: it has no effect (`Capabilities.idle`).
    """
    if not 0 < len(pattern) <= PATTERN_CHARS or not pattern.isprintable():
        return f"a capability has 1 to {PATTERN_CHARS} printable characters"
    if not pattern.strip("*"):
        return 'a bare * is no capability; write "mcp/*" and "chat"'
    if "*" in pattern and _compiled(pattern).fullmatch("chat"):
        return 'a wildcard must not reach into chat; write "chat" where that is meant'
    return ""


def matches(pattern: str, kind: str) -> bool:
    """Whether a capability lets its holder send a kind. Total; a pattern that is none matches nothing."""
    return Capabilities((pattern,)).allows(kind)


class Capabilities:
    """What one participant may send. `patterns` are as they were given, each once."""

    __slots__ = ("_exact", "_known", "_wild", "patterns")

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns = tuple(dict.fromkeys(patterns))
        good = [one for one in self.patterns if not flaw_of(one)]
        self._exact = frozenset(one for one in good if "*" not in one)
        self._wild = tuple(_compiled(one) for one in good if "*" in one)
        self._known: dict[str, bool] = {}

    def allows(self, kind: str) -> bool:
        """Whether a message of this kind may be sent."""
        known = self._known.get(kind)
        if known is None:
            known = self._judge(kind)
            if len(self._known) < _REMEMBERED and len(kind) <= _SHORT:  # its sender chooses it
                self._known[kind] = known
        return known

    @property
    def idle(self) -> tuple[str, ...]:
        """Patterns that can never match because what they name is the gateway's own."""
        return tuple(one for one in self.patterns if is_reserved(one.rstrip("*")))

    def _judge(self, kind: str) -> bool:
        if is_reserved(kind):
            return False
        if kind in self._exact:
            return True
        parts = kind.split(":", 2)
        # Rule 3: what names a method and no context covers each context of it.
        if len(parts) == 3 and f"{parts[0]}:{parts[1]}" in self._exact:
            return True
        if kind == "chat":  # rule 4: no wildcard reaches it
            return False
        return any(pattern.fullmatch(kind) is not None for pattern in self._wild)


_OPTIONS = re2.Options()
_OPTIONS.never_nl = False
_OPTIONS.dot_nl = True


def _compiled(pattern: str) -> re2._Regexp:
    """Runs in linear time, whatever the kind: kinds come from strangers."""
    whole, trailing = (pattern[:-1], ".*") if pattern.endswith("*") else (pattern, "")
    middle = "[^:]+".join(re2.escape(part) for part in whole.split("*"))
    return re2.compile(middle + trailing, _OPTIONS)
