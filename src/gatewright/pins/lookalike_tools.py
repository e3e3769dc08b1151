"""`lookalikes`: finds tools named like another tool of their server, of the gateway or, behind the server's id, of another one; in steps."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence

from gatewright.call import Tool
from gatewright.schemas.lookalikes import keys, twins

__all__ = ["lookalikes"]

Steps = Generator[None, None, dict[str, str]]


def lookalikes(
    server: str,
    tools: Iterable[Tool],
    own: Collection[str],
    others: Iterable[tuple[str, Sequence[Tool]]],
) -> Steps:
    """Name → why, of a server's tools whose names look like another tool's: of the same server, of the gateway's `own` or, with
    the server's id before it, of the `others`. One name a step: a character of a name may stand for eighteen (U+FDFA)."""
    names = list(dict.fromkeys(tool.target.name for tool in tools))
    pairs = yield from twins([*own, *names])
    pairs |= {name: name for name in names if name in own}
    found = {name: f"its name looks like {other!r}" for name, other in pairs.items()}
    taken: dict[str, str] = {}
    for whole in _elsewhere(server, others):
        taken.update((key, whole) for key in keys(whole))
        yield
    for name in names if taken else ():
        same = next((taken[key] for key in keys(_whole(server, name)) if key in taken), None)
        if same is not None:
            found.setdefault(name, f"its name is taken for {same!r} of another server")
        yield
    return found


def _elsewhere(server: str, others: Iterable[tuple[str, Sequence[Tool]]]) -> Iterator[str]:
    """Names of the other servers' tools that could be those of this one: their ids begin alike."""
    mine = keys(server)
    for other, tools in others:
        both = zip(mine, keys(other), strict=True)
        if any(a.startswith(b) or b.startswith(a) for a, b in both):
            yield from (_whole(other, tool.target.name) for tool in tools)


def _whole(server: str, name: str) -> str:
    return f"{server}__{name}"
