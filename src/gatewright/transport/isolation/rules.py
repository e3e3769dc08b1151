"""`Isolation`: what a child process may see, change, reach and use up; `CannotIsolate`, raised where that cannot be kept here."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal

import msgspec

from gatewright.transport.launch import CannotStart

__all__ = ["CannotIsolate", "Isolation", "Kept", "Level", "file_name", "real_path"]

Level = Literal["confined", "strict"]


class CannotIsolate(CannotStart):
    """The child is not started, because it could not be kept to its rules here. The message says why and what to do."""


class Kept(msgspec.Struct, frozen=True):
    """A file or a folder, there or not, that no child can change, whatever it may write to."""

    path: str
    """Absolute."""
    why: str = "what the gateway reads because its configuration says so"
    """What it is; said after "is"."""
    whole: bool = False
    """Whether no folder in it is the child's to change either, though `write` names it: all of it is code. Elsewhere it may be data."""
    modules: int | None = None
    """Where the gateway looks for modules in it by their names: how many entries of its path of modules come before it."""


class Isolation(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one child. Paths are absolute; sizes are bytes, times seconds; None is without a bound."""

    server: str
    """Whose processes these are: those of another server have another user id, where ours are root's."""
    level: Level
    """`strict`: no network, nothing to write to, no variable that was not given, a user id of its own under root."""
    state: str
    """The folder where user ids and the homes of servers are kept."""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    scripts: tuple[str, ...] | None = None
    """The folders in which a script must be to be shown because an argument names it; None: anywhere."""
    hidden: tuple[str, ...] = ()
    """Files and folders that it sees none of, wherever they are, whether they are there or not."""
    hidden_folders: tuple[str, ...] = ()
    """Folders of which the same is true; one that is missing where it is shown what is around it is made."""
    kept: tuple[Kept, ...] = ()
    changed_by_others: tuple[str, ...] = ()
    """Where other children may write: no link there decides what this one is shown."""
    network: bool = False
    memory_bytes: int = 512 << 20
    tmp_bytes: int = 64 << 20
    processes: int = 32
    open_files: int = 64
    file_bytes: int | None = 64 << 20
    cpu_s: int | None = None

    @property
    def name(self) -> str:
        """The server as the name of a file."""
        return file_name(self.server)


def file_name(server: str) -> str:
    """The id of a server as the name of a file, or a digest of it where it is none."""
    plain = server.replace("-", "").replace("_", "").replace(".", "")
    if plain.isalnum() and plain.isascii() and server[0] != "." and len(server) <= 64:
        return server
    return f"sha256-{hashlib.sha256(server.encode()).hexdigest()}"


def real_path(path: str | Path) -> Path:
    """Where links lead. `Path.resolve` raises where they lead in a circle, and anybody who may write somewhere can make one. A path with more
    links than Python follows is given as it is: no system follows as many (ELOOP), so nobody gets anywhere by it."""
    try:
        return Path(os.path.realpath(path))
    except RecursionError:  # until Python 3.12 a call for each link
        return Path(path).absolute()
