"""Errors of reading and editing a host's file: `Unreadable` and `CannotEdit`, with secrets masked in their texts."""

from __future__ import annotations

from gatewright.secret_scanning.message_text import shown

__all__ = ["CannotEdit", "Unreadable"]


class Unreadable(Exception):  # noqa: N818 - says what the text is
    """The text is not what the host expects. `line` counts from 1; 0 where there is none."""

    def __init__(self, what: str, line: int = 0) -> None:
        self.what = shown(what)
        super().__init__(f"line {line}: {self.what}" if line else self.what)
        self.line = line


class CannotEdit(Exception):  # noqa: N818 - a verdict about a text, not a malfunction
    """The text is right, but the change cannot be made in it without touching anything else."""

    def __init__(self, what: str) -> None:
        super().__init__(shown(what))
