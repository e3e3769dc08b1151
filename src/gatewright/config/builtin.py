"""Settings of `[builtin]`: the tools shipped with the gateway."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = ["Builtin", "DirectoryList"]


class DirectoryList(msgspec.Struct, frozen=True, kw_only=True):
    """`directory_list`, a tool that the gateway ships."""

    roots: tuple[Annotated[str, Meta(min_length=1, max_length=4096)], ...] = ()
    """The folders that it may list, from the folder of the file; none: it is not offered."""


class Builtin(msgspec.Struct, frozen=True, kw_only=True):
    """The tools that the gateway ships."""

    directory_list: DirectoryList = DirectoryList()
