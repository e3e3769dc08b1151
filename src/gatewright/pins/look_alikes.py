"""`alike`: which tool names read as another tool's (look-alike characters, case), of the same MCP server, of others, or of the gateway."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from gatewright.call import Tool
from gatewright.schemas.lookalikes import keys, twins

__all__ = ["alike"]

_Listed = tuple[str, Sequence[Tool]]
"""A server, and what it lists."""


def alike(
    server: str, tools: Iterable[Tool], listed: Iterable[_Listed], own: Collection[str]
) -> dict[str, str]:
    """Name → why, of the tools whose names look like another tool's: of the same server, of the gateway itself (`own`), or, with
    the server's id before it, of another server."""
    names = list(dict.fromkeys(tool.target.name for tool in tools))
    pairs = {
        **twins([*own, *names]),
        **{name: name for name in names if name in own},
    }
    found = {name: f"its name looks like {other!r}" for name, other in pairs.items()}
    others = {key: whole for whole in _elsewhere(server, listed) for key in keys(whole)}
    for name in names:
        same = next((others[key] for key in keys(_whole(server, name)) if key in others), None)
        if same is not None:
            found.setdefault(name, f"its name is taken for {same!r} of another server")
    return found


def _elsewhere(server: str, listed: Iterable[_Listed]) -> Iterator[str]:
    """Names of the other servers' tools that could be those of this one: their ids begin alike."""
    mine = keys(server)
    for other, tools in listed:
        both = zip(mine, keys(other), strict=True)
        if other != server and any(a.startswith(b) or b.startswith(a) for a, b in both):
            yield from (_whole(other, tool.target.name) for tool in tools)


def _whole(server: str, name: str) -> str:
    return f"{server}__{name}"
