"""Gives each isolated server a numeric user id that no other server of this state folder has, the same each time, until it is forgotten."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import Counter
from pathlib import Path

from gatewright.transport.isolation.rules import CannotIsolate

__all__ = ["FIRST", "SPAN", "UserInUse", "forget_user", "user_id"]

FIRST = 1_900_000_000
"""Above the ids that systemd and container engines give out, below those that programs take for negative."""
SPAN = 1 << 27
_TRIES = 1000

_turn = threading.Lock()
_in_use: Counter[tuple[Path, str]] = Counter()
"""(state folder, server) → its sandboxes that are not gone yet."""
_forgotten: set[tuple[Path, str]] = set()
"""Those whose id is given back once they are."""


class UserInUse:
    """One sandbox of a server that has a user id, from before its first process until after its last one."""

    def __init__(self, state: Path, server: str) -> None:
        self._key: tuple[Path, str] | None = (state, server)
        with _turn:
            _in_use[state, server] += 1
            _forgotten.discard((state, server))

    def over(self) -> None:
        """None of its processes is there any more; the second time nothing is done."""
        key, self._key = self._key, None
        if key is None:
            return
        with _turn:
            _in_use[key] -= 1
            if _in_use[key] > 0:
                return
            del _in_use[key]
            if key in _forgotten:
                _forgotten.discard(key)
                _give_back(*key)


def forget_user(state: Path, server: str) -> None:
    """Nobody knows a server any more: its user id is free once none of its sandboxes is left. `server` is as for `user_id`."""
    with _turn:
        if (state, server) in _in_use:
            _forgotten.add((state, server))
        else:
            _give_back(state, server)


def _give_back(state: Path, server: str) -> None:
    with contextlib.suppress(OSError):  # where it stays, a number fewer is free
        for link in (state / "isolated" / ".uids").iterdir():
            if str(link.readlink()) == server:
                link.unlink()


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
