"""Which servers of one profile say that a resource URI is theirs: by listing it, or by a URI template that it fits.

Two servers that claim one URI are both shown in qualified form, and so are two templates of different servers that one URI could fit.
Whether that is so is decided by what stands before the first expression of each: it errs towards the qualified form, never
towards one server's answering for another's.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence

from gatewright.call import Target
from gatewright.upstream.shelf import Shelf
from gatewright.upstream.templates import Template

__all__ = ["TRIED", "Claims"]


TRIED = 64
"""A server with more templates than this that begin as a URI does claims it, whether one of them fits or not."""


class Claims:
    """Look-ups in memory, linear in the URI, with a bounded number of templates tried for each server."""

    def __init__(self) -> None:
        self._lists: dict[str, set[str]] = defaultdict(set)
        self._begins: dict[str, dict[str, list[Template]]] = {}
        self._heads: list[str] = []
        self._lengths: list[int] = []
        self._another: list[int] = []
        """For each head: the first behind it, or itself, that not the same server alone has."""

    def count(self, shelved: Sequence[Shelf]) -> Generator[None, None, None]:
        """Take in all shelves, once, step by step (`slices`)."""
        for shelf in shelved:
            for entry in shelf.resources:
                yield
                self._lists[entry.target.name].add(entry.target.server)
            for entry, template in shelf.templates:
                yield
                of_head = self._begins.setdefault(_head(template.text), {})
                of_head.setdefault(entry.target.server, []).append(template)
        self._heads = heads = sorted(self._begins)
        self._lengths = sorted({len(head) for head in heads})
        self._another = [len(heads)] * len(heads)
        for at in range(len(heads) - 1, -1, -1):
            yield
            own = self._begins[heads[at]].keys()
            if len(own) > 1:
                self._another[at] = at
            elif at + 1 < len(heads):
                same = own == self._begins[heads[at + 1]].keys()
                self._another[at] = self._another[at + 1] if same else at + 1

    def of(self, uri: str) -> list[str]:
        """The servers that claim a URI."""
        return sorted({*self._lists.get(uri, ()), *self._fitting(uri, "")})

    def beside(self, resource: Target) -> bool:
        """Whether a server claims the URI of another one's resource."""
        own = {resource.server}
        if self._lists.get(resource.name, own) - own:
            return True
        return any(True for _ in self._fitting(resource.name, resource.server))

    def meets(self, template: Target) -> bool:
        """Whether another server has a template that a URI of this one could fit."""
        head, heads = _head(template.name), self._heads
        at = bisect_left(heads, head)
        end = bisect_right(heads, head, lo=at, key=lambda one: one[: len(head)])
        if at < end and (self._other(heads[at], template.server) or self._another[at] < end):
            return True
        shorter = (head[:length] for length in self._lengths if length < len(head))
        return any(self._other(one, template.server) for one in shorter if one in self._begins)

    def _other(self, head: str, server: str) -> bool:
        return any(one != server for one in self._begins[head])

    def _fitting(self, uri: str, but: str) -> Iterator[str]:
        """The servers, other than `but`, that have a template for a URI, or too many to try."""
        tried: dict[str, int] = defaultdict(int)
        for server, template in self._near(uri, but):
            tried[server] += 1
            if tried[server] > TRIED or template.matches(uri):
                yield server

    def _near(self, uri: str, but: str) -> Iterator[tuple[str, Template]]:
        """The templates that begin as the URI does, no more of a server than are tried, and one."""
        left: dict[str, int] = defaultdict(lambda: TRIED + 1)
        for length in self._lengths:
            if length > len(uri):
                return
            for server, templates in self._begins.get(uri[:length], {}).items():
                if server != but and left[server]:
                    for template in templates[: left[server]]:
                        left[server] -= 1
                        yield server, template


def _head(text: str) -> str:
    return text.partition("{")[0]
