"""`Said`: context for judging an effect of a shell line: granted capabilities, files it wrote, whether it fetched code, command traits."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

__all__ = ["Said"]


class Said(NamedTuple):
    """What the policy knows of a line."""

    granted: frozenset[str]
    """Capabilities."""
    writes: bool
    """Whether the preset works inside the workspace."""
    made: Set[tuple[str, ...]] = frozenset()
    """Paths of files that the line itself has made, by their parts; `*` at the end stands for all below."""
    typed: Set[tuple[str, ...]] = frozenset()
    """Paths of source files whose text stands on the line: tests of them may run, they themselves may not."""
    tainted: bool = False
    """Whether the line has fetched or made what may be taken for code."""
    builds: bool = False
    """Whether the command puts what it makes into the workspace."""
    project: bool = False
    """Whether the command runs code of the workspace, so that what it reads is settings or code as well."""
    local: bool = False
    """Whether all hosts of the command are this machine."""
    reads: bool = False
    """Whether the command does nothing but read, and write what an option says."""

    def has_made(self, parts: tuple[str, ...]) -> bool:
        """Whether the line has made a file of this path."""
        return parts in self.made or any(
            one[-1:] == ("*",) and parts[: len(one) - 1] == one[:-1] for one in self.made
        )
