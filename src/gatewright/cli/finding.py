"""`Finding`: one result of a `gatewright doctor` check with status, cause, fix and optional repair function."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from gatewright.storage.errors import StoreError

__all__ = ["Finding", "Level", "broken_store"]

Level = Literal["ok", "warning", "problem"]
"""A `problem` keeps something from working and makes `doctor` end with 8; a `warning` may be meant so."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a check says of one subject."""

    check: str
    """Which check: config, environment, gateway, state, store, audit, clock, server, host, identity, discovery, context, isolation, doctor."""
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


def broken_store(path: Path, problem: StoreError, also: str = "") -> Finding:
    """A file of the state folder that cannot be used; `also` is what helps besides a copy of it."""
    return Finding(
        check="store",
        subject=str(path),
        level="problem",
        what="cannot be used",
        why=str(problem),
        fix=f"put a copy of the file in its place{also}",
    )
