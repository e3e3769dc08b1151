"""Every string in a JSON value, with the place where it stands.

A validator that looks at one well-known parameter protects only tools that use this name. So, where
nobody said which parameter matters, all of them do, at every depth. The walk keeps its own stack,
because nesting is the caller's choice and Python's stack is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["Path", "pointer", "strings"]

Path = tuple[str | int, ...]


def strings(value: Any) -> Iterator[tuple[Path, str, bool]]:
    """Yield (path, text, whether it is a member's name) for every string, in document order."""
    stack: list[tuple[Path, Any]] = [((), value)]
    while stack:
        path, found = stack.pop()
        if isinstance(found, str):
            yield path, found, False
        elif isinstance(found, dict):
            for name in found:
                yield (*path, name), name, True
            stack.extend(((*path, name), found[name]) for name in reversed(found))
        elif isinstance(found, list):
            stack.extend(((*path, at), found[at]) for at in range(len(found) - 1, -1, -1))


def pointer(path: Path | list[str | int]) -> str:
    """The JSON pointer (RFC 6901) of a path; empty for the whole value."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
