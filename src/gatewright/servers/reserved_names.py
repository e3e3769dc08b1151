"""`Reserved`: keeps the tool names each server last listed, told to a store, so that no other server takes one while it is down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

__all__ = ["KEPT_CHARS", "Reserved"]

KEPT_CHARS = 128
"""A longer name is not told to `keep`, which writes while everybody waits: it is longer than MCP has names (2025-11-25, tools)."""


class Reserved:
    """Server id → the own names of its tools, as it listed them last: in this run, else in an earlier one."""

    def __init__(
        self,
        known: Mapping[str, Collection[str]] | None = None,
        keep: Callable[[str, Collection[str]], None] = lambda *_: None,
    ) -> None:
        """`known` is from earlier runs; `keep` is told of a server whose names are others than before, those that are written."""
        self._names = _frozen(known or {})
        self._keep = keep

    def of(self, server: str) -> frozenset[str]:
        """The names of a server's tools; none where it never listed any."""
        return self._names.get(server, frozenset())

    def put(self, server: str, names: Collection[str]) -> None:
        """A server lists these now."""
        now, before = frozenset(names), self.of(server)
        if now != before:
            self._names[server] = now
            if (kept := _kept(now)) != _kept(before):
                self._keep(server, kept)

    def again(
        self,
        known: Mapping[str, Collection[str]],
        listed: Callable[[str], Collection[str] | None],
    ) -> bool:
        """Begin anew with what is `known`, which is less where somebody had it forgotten, and with what a server has `listed`,
        where it is there. Whether that is something else."""
        before, self._names = self._names, _frozen(known)
        for server in before:
            # What was forgotten of a server that is there is remembered again at once.
            if (names := listed(server)) is not None:
                self.put(server, names)
        return self._names != before


def _kept(names: Collection[str]) -> frozenset[str]:
    return frozenset(one for one in names if len(one) <= KEPT_CHARS)


def _frozen(known: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    return {server: frozenset(names) for server, names in known.items()}
