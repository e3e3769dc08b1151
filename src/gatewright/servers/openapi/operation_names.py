"""Names of the tools of one OpenAPI document: unique, of at most 64 characters, from `operationId` or else method and path.

Of operations with one name the second ends in `_2`, the third in `_3`. What was given last is remembered: thousands of
one name take no longer than thousands of different ones.
"""

from __future__ import annotations

from gatewright.patterns import Pattern

__all__ = ["OperationNames"]

_CHARS = 64
_FOREIGN = Pattern(r"[^A-Za-z0-9_-]+")


class OperationNames:
    """The names that were given, and the last number behind each of their beginnings."""

    def __init__(self) -> None:
        self._given: set[str] = set()
        self._last: dict[str, int] = {}

    def give(self, said: str, otherwise: str) -> str:
        """A name that nobody has, like what an operation is called; `otherwise` where that has no letter that counts."""
        clean = _FOREIGN.sub("_", said).strip("_")[:_CHARS] or otherwise
        name = clean if clean not in self._given else self._numbered(clean)
        self._given.add(name)
        return name

    def _numbered(self, clean: str) -> str:
        first = head = clean[: _CHARS - 4]
        count = self._last.get(head, 1)
        while True:
            count += 1
            end = f"_{count}"
            if len(head) + len(end) > _CHARS:
                # The shorter beginning may be that of other names, too, and have numbers already.
                head = clean[: _CHARS - len(end)]
                count = max(count, self._last.get(head, 1) + 1)
                end = f"_{count}"
            name = head[: _CHARS - len(end)] + end
            if name not in self._given:
                break
        self._last[first] = self._last[head] = count
        return name
