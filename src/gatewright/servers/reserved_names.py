"""`Reserved`: keeps the tool names each server last listed, also in a store, so that no other server takes one while it is down."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Generator, Mapping
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
        self._short = {server: _short(names) for server, names in self._kept.items()}
        self._keep = keep

    def of(self, server: str) -> frozenset[str]:
        """The names of a server's tools, but for those above `KEPT_CHARS`; none where it never listed any."""
        return self._short.get(server, frozenset())

    def absent(
        self, there: Mapping[str, Container[str]], coming: Mapping[str, Collection[str]]
    ) -> Generator[None, None, dict[str, list[str]]]:
        """Server → names of its tools that are not `there`, of those as they are now, one a step. `coming` are those that a server is
        about to list."""
        names = {server: coming.get(server, self.of(server)) for server in there}
        found: dict[str, list[str]] = {}
        for server, named in names.items():
            absent, has = [], there[server]
            for name in named:
                yield
                if name not in has:
                    absent.append(name)
            if absent:
                found[server] = absent
        return found

    @property
    def count(self) -> int:
        """How many there are of all servers."""
        return sum(map(len, self._kept.values()))

    def has(self, server: str, name: str) -> bool:
        """Whether a tool of the server is called so, whatever the length."""
        return _kept(name) in self._kept.get(server, ())

    def put(self, server: str, names: Collection[str]) -> None:
        """A server lists these now."""
        now, before = _set_of(names), self._kept.get(server, frozenset())
        if now != before:
            self._kept[server], self._short[server] = now, _short(now)
            self._keep(server, now)

    def again(
        self,
        known: Mapping[str, Collection[str]],
        listed: Callable[[str], Collection[str] | None],
    ) -> bool:
        """Begin anew with what is `known`, which is less where somebody had it forgotten, and with what a server has `listed`,
        where it is there. Whether that is something else."""
        before, self._kept = self._kept, _frozen(known)
        self._short = {server: _short(names) for server, names in self._kept.items()}
        for server in before:
            # What was forgotten of a server that is there is remembered again at once.
            if (names := listed(server)) is not None:
                self.put(server, names)
        return self._kept != before


def _kept(name: str) -> str:
    if len(name) <= KEPT_CHARS:
        return name
    return _DIGEST + sha512(name.encode("utf-8", "surrogatepass")).hexdigest()


def _are_long(names: Collection[str]) -> bool:
    return max(map(len, names), default=0) > KEPT_CHARS


def _set_of(names: Collection[str]) -> frozenset[str]:
    # Those of a server that can be a tool's (`server_catalogue`) are all short: then none is looked at by itself.
    return frozenset(map(_kept, names) if _are_long(names) else names)


def _short(kept: frozenset[str]) -> frozenset[str]:
    return frozenset(one for one in kept if len(one) <= KEPT_CHARS) if _are_long(kept) else kept


def _frozen(known: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    return {
        server: frozenset(one if one.startswith(_DIGEST) else _kept(one) for one in names)
        for server, names in known.items()
    }
