"""Names of the environment variables that a command line sets by itself, as `env A=b program`, `sudo` and `doas` do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from gatewright.patterns import Pattern

__all__ = ["assigned"]

_ASSIGNMENT = Pattern(r"([A-Za-z_][A-Za-z0-9_]*)=.*")
_ASSIGNING = frozenset({"env", "sudo", "doas"})
"""Programs that take `NAME=value` before the program that they start."""


def assigned(command: str, args: Sequence[str]) -> Iterator[str]:
    """The variables that a command line sets by itself, as `env NAME=value program` does."""
    if PurePosixPath(command).name in _ASSIGNING:
        yield from (found[1] for one in args if (found := _ASSIGNMENT.fullmatch(one)))
