"""One thing that was looked at: what is the case, why, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

__all__ = ["Finding", "Level"]

Level = Literal["ok", "warning", "problem"]
"""A `problem` keeps something from working and makes `doctor` end with 8; a `warning` may be meant so."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a check says of one subject."""

    check: str
    """Which check: config, environment, gateway, state, store, audit, clock, server, host, identity."""
    subject: str
    level: Level
    what: str
    why: str = ""
    fix: str = ""
    """A sentence or a command; empty where nothing is to be done."""
    fixed: bool = False
    """`--fix` has mended it."""
    mend: Callable[[], None] | None = None
    """Mends it. Raises `OSError` where it cannot."""

    def document(self) -> dict[str, Any]:
        """The same for `--json`."""
        names = (one for one in self.__struct_fields__ if one != "mend")
        return {name: getattr(self, name) for name in names} | {"fixable": self.mend is not None}
