"""Error types of the configuration: `Problem` (file, line, key, advice; masks secrets in its texts) `SettingsError`, `NotOfFile`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

__all__ = ["NotOfFile", "Origin", "Problem", "SettingsError"]


_MOST = 8000
"""Characters of one text: what a file would do is one."""


class Origin(msgspec.Struct, frozen=True):
    """Where a value was written. `line` counts from 1; 0 stands for the whole file."""

    file: Path
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


class Problem(msgspec.Struct, frozen=True):
    """One thing that is wrong or odd. `instead` is what to write or do, as a sentence. What the texts repeat of the file
    is masked and visible (`secret_scanning.shown`)."""

    origin: Origin
    key: str
    what: str
    instead: str

    def __post_init__(self) -> None:
        # Only who has something to say pays for knowing secrets when it sees them.
        from gatewright.secret_scanning.message_text import shown  # noqa: PLC0415

        for name in ("key", "what", "instead"):
            text = shown(getattr(self, name), _MOST, named=False)
            msgspec.structs.force_setattr(self, name, text)

    def __str__(self) -> str:
        place = f"{self.origin}: {self.key}" if self.key else str(self.origin)
        return f"{place}: {self.what}; {self.instead}"


class SettingsError(Exception):
    """The configuration cannot be used. `problems` has every reason found, at least one."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class NotOfFile(SettingsError):  # noqa: N818 - a verdict
    """No word in the file is at fault, but its path, or what a command was to make of it: correcting the file would not help."""
