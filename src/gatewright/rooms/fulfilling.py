"""`fulfilling`: the first participants of a topic, by name, whose capabilities let them fulfil an MCPx proposal; a generator for slices."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from gatewright.rooms.hub import Hub

__all__ = ["fulfilling"]


def fulfilling(
    hub: Hub,
    topic: str,
    known: Mapping[str, Sequence[str]],
    kind: str,
    *,
    proposer: str,
    most: int,
) -> Generator[None, None, list[str]]:
    """At most so many of those who are `known` to be there, and with which capabilities. The kind is a new one each time, its proposer
    chooses it: it is judged once for all who may do the same, and for nobody behind those who are enough."""
    found: list[str] = []
    judged: dict[tuple[str, ...], bool] = {}
    for name in sorted(name for name, patterns in known.items() if patterns and name != proposer):
        if len(found) == most:
            break
        yield
        place = hub.place(topic, name)
        if place is None:
            continue
        able = place.member.capabilities
        may = judged.get(able.patterns)
        if may is None:
            may = judged[able.patterns] = able.allows(kind)
        if may:
            found.append(name)
    return found
