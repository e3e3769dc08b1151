"""`LeftNames`: keeps tool names reserved for owners that disconnected; when full, evicts the oldest name of the owner with the most names.

One that leaves ten thousand names costs a step for each: who left most is known without counting.
"""

from __future__ import annotations

__all__ = ["LeftNames"]


class LeftNames:
    """Name → who answered for it last. Of more than `most` names the oldest of whoever left most is forgotten, so that nobody pushes
    out another's."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._owners: dict[str, str] = {}
        self._of: dict[str, dict[str, None]] = {}
        """Owner → its names, oldest first."""
        self._with: dict[int, dict[str, None]] = {}
        """How many names → who left so many."""
        self._top = 0
        """The largest of these."""

    def items(self) -> list[tuple[str, str]]:
        """All names with their owners."""
        return list(self._owners.items())

    def owner(self, name: str) -> str | None:
        """Whose a name is; None where it is nobody's."""
        return self._owners.get(name)

    def keep(self, name: str, owner: str) -> str:
        """Somebody answers for a name no more. The name that is forgotten for it; empty where none is."""
        before = self._owners.get(name)
        if before is not None:
            self._drop(name, before)
        self._owners[name] = owner
        names = self._of.setdefault(owner, {})
        names[name] = None
        self._counted(owner, len(names) - 1, len(names))
        if len(self._owners) > self._most:
            greedy = next(iter(self._with[self._top]))
            forgotten = next(iter(self._of[greedy]))
            self._drop(forgotten, greedy)
            return forgotten
        return ""

    def _drop(self, name: str, owner: str) -> None:
        del self._owners[name]
        names = self._of[owner]
        del names[name]
        self._counted(owner, len(names) + 1, len(names))
        if not names:
            del self._of[owner]

    def _counted(self, owner: str, before: int, now: int) -> None:
        if before:
            some = self._with[before]
            del some[owner]
            if not some:
                del self._with[before]
        if now:
            self._with.setdefault(now, {})[owner] = None
        # By one at a time, so the largest is this one, the one before, or the same.
        if now > self._top or self._top not in self._with:
            self._top = now
