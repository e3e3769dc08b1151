"""Settings of `[builtin]`: the shipped tool `directory_list`, and the folders that it may list."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["Builtin", "DirectoryList", "resolved"]


class DirectoryList(msgspec.Struct, frozen=True, kw_only=True):
    """`directory_list`, which lists what is in a folder."""

    roots: tuple[Annotated[str, Meta(min_length=1, max_length=4096)], ...] = ()
    """The folders that it may list, relative to the folder of this file. A relative path of a caller begins at the first.
    Without any the tool is not offered."""


class Builtin(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that the gateway ships.

    They belong to a server called `gatewright`, need grants like any other tool, and are listed under their own names.
    """

    directory_list: DirectoryList = DirectoryList()
    """The tool that lists folders; see `[builtin.directory_list]`."""


def resolved(said: DirectoryList, folder: Path) -> DirectoryList:
    """The same with whole paths, from the folder of its file. Raises `RuntimeError` for `~name` where nobody is called so."""
    return DirectoryList(roots=tuple(str(folder / Path(one).expanduser()) for one in said.roots))
