"""Gives each isolated server a numeric user id that no other server of this state folder has, the same one each time."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gatewright.transport.isolation.rules import CannotIsolate

__all__ = ["FIRST", "SPAN", "user_id"]

FIRST = 1_900_000_000
"""Above the ids that systemd and container engines give out, below those that programs take for negative."""
SPAN = 1 << 27
_TRIES = 1000


def user_id(state: Path, server: str) -> int:
    """The id of a server. Raises `CannotIsolate` where none can be kept.

    A symbolic link a server, named by the id, whose target is the name of the server: it is made at once or not at all,
    whoever else makes one. Another state folder begins elsewhere in the range.
    """
    folder = state / "isolated" / ".uids"
    start = int.from_bytes(hashlib.sha256(f"{state.resolve()}\0{server}".encode()).digest()[:8])
    try:
        # One by one: the mode is not that of parents that are made on the way.
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        for turn in range(_TRIES):
            number = FIRST + (start + turn) % SPAN
            link = folder / str(number)
            try:
                link.symlink_to(server)
            except FileExistsError:
                if str(link.readlink()) != server:
                    continue
            return number
    except OSError as problem:
        raise CannotIsolate(f"its user id cannot be kept in {folder}: {problem}") from None
    raise CannotIsolate(f"all user ids that {server} could have are taken in {folder}")
