"""`Reserved`: keeps the tool names each server last listed, also in a store, so that no other server takes one while it is down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from hashlib import sha512

__all__ = ["KEPT_CHARS", "Reserved"]

KEPT_CHARS = 128
"""Of a longer name a digest is kept: what is told to `keep` is written while everybody waits, and it is longer than MCP has names
(2025-11-25, tools)."""

_DIGEST = "sha512:"
"""With its hex digits longer than `KEPT_CHARS`, so that no name that is kept as it is reads like one."""


class Reserved:
    """Server id → the own names of its tools, as it listed them last: in this run, else in an earlier one."""

    def __init__(
        self,
        known: Mapping[str, Collection[str]] | None = None,
        keep: Callable[[str, Collection[str]], None] = lambda *_: None,
    ) -> None:
        """`known` is from earlier runs; `keep` is told of a server whose names are others than before. Either has digests
        instead of long names."""
        self._kept = _frozen(known or {})
        self._keep = keep

    def of(self, server: str) -> frozenset[str]:
        """The names of a server's tools, but for those above `KEPT_CHARS`; none where it never listed any."""
        return frozenset(one for one in self._kept.get(server, ()) if len(one) <= KEPT_CHARS)

    @property
    def count(self) -> int:
        """How many there are of all servers."""
        return sum(map(len, self._kept.values()))

    def has(self, server: str, name: str) -> bool:
        """Whether a tool of the server is called so, whatever the length."""
        return _kept(name) in self._kept.get(server, ())

    def put(self, server: str, names: Collection[str]) -> None:
        """A server lists these now."""
        now, before = frozenset(map(_kept, names)), self._kept.get(server, frozenset())
        if now != before:
            self._kept[server] = now
            self._keep(server, now)

    def again(
        self,
        known: Mapping[str, Collection[str]],
        listed: Callable[[str], Collection[str] | None],
    ) -> bool:
        """Begin anew with what is `known`, which is less where somebody had it forgotten, and with what a server has `listed`,
        where it is there. Whether that is something else."""
        before, self._kept = self._kept, _frozen(known)
        for server in before:
            # What was forgotten of a server that is there is remembered again at once.
            if (names := listed(server)) is not None:
                self.put(server, names)
        return self._kept != before


def _kept(name: str) -> str:
    if len(name) <= KEPT_CHARS:
        return name
    return _DIGEST + sha512(name.encode("utf-8", "surrogatepass")).hexdigest()


def _frozen(known: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    return {
        server: frozenset(one if one.startswith(_DIGEST) else _kept(one) for one in names)
        for server, names in known.items()
    }
