"""`glimpse`: the first characters of what a server said, for a log line: cut before it is spelled, in as many steps as characters are shown."""

from __future__ import annotations

from typing import Any

__all__ = ["glimpse"]


def glimpse(value: Any, most: int = 500) -> str:
    """How a decoded JSON value begins, on one line. `"%.500r"` spells all of it first, and a server may say a mebibyte."""
    return repr(_Cut(most).copy(value))[:most]


class _Cut:
    def __init__(self, left: int) -> None:
        self._left = left
        """Characters that may still come, where each value has one at least."""

    def copy(self, value: Any) -> Any:
        """As much of a value as is shown."""
        self._left -= 1
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return self._rows(value)
        return self._members(value) if isinstance(value, dict) else value

    def _rows(self, value: list[Any]) -> list[Any]:
        found: list[Any] = []
        for one in value:
            if self._left <= 0:
                break
            found.append(self.copy(one))
        return found

    def _members(self, value: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, one in value.items():
            if self._left <= 0:
                break
            begins = self._text(name)
            if begins in found:  # it was cut, and reads as another one
                break
            found[begins] = self.copy(one)
        return found

    def _text(self, text: str) -> str:
        part = text[: max(0, self._left)]
        self._left -= len(part)
        return part
