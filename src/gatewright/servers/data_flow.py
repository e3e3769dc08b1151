"""Data-flow marks of a tool (reads untrusted or private data, sends out), from the operator, permissions and annotations.

Theory: what makes an agent leak is three things in one session: text that a stranger wrote, data that is nobody else's
business, and a tool that sends. Each alone is harmless, so no tool is refused for what it is; a tool only has *marks*, and the
gate `flow` asks for a person when they meet.

The operator's word replaces everything. Without it the marks are what a server says of its own tools, joined: its permissions
and side effects (MGP §4.3), and MCP's `openWorldHint` where it is written, in any spelling (`tool_hints`). Its default is true as
well, but a server that says nothing has not said that. No `readOnlyHint` takes the way out back (0118): that a tool changes nothing
says nothing of where its arguments go, and `fetch(url)` is the usual way in which data leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

__all__ = ["Mark", "marks_of"]

Mark = Literal["untrusted", "private", "outbound"]
"""It reads what strangers write; it reads what is private; it sends data out."""

_PERMISSIONS: Mapping[str, tuple[Mark, ...]] = {
    "network.outbound": ("untrusted", "outbound"),
    "network.listen": ("untrusted",),
    "filesystem.read": ("private",),
    "memory.read": ("private",),
    "camera": ("private",),
    "notification": ("outbound",),
}
_EFFECTS: Mapping[str, tuple[Mark, ...]] = {
    "network": ("untrusted", "outbound"),
    "database": ("private",),
    "notification": ("outbound",),
}
_ORDER: tuple[Mark, ...] = ("untrusted", "private", "outbound")


def marks_of(
    permissions: Sequence[str],
    declared: object = None,
    hints: Collection[str] = (),
    operator: Sequence[Mark] | None = None,
) -> tuple[Mark, ...]:
    """The marks of one tool. `permissions` are canonical names, `declared` its decoded `security` member, `hints` what
    its definition says of itself (`tool_hints.hinted`), `operator` what the configuration says (None: nothing)."""
    if operator is not None:
        return _ordered(operator)
    found: list[Mark] = []
    for name in permissions:
        found += _PERMISSIONS.get(name, ())
    for effect in _texts(declared, "side_effects"):
        found += _EFFECTS.get(effect, ())
    if "open_world" in hints:
        found += ("untrusted", "outbound")
    return _ordered(found)


def _texts(declared: object, name: str) -> list[str]:
    said: Any = declared.get(name) if isinstance(declared, Mapping) else None
    return [one for one in said if isinstance(one, str)] if isinstance(said, list) else []


def _ordered(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    return tuple(mark for mark in _ORDER if mark in marks)
