"""Which servers of one profile say that a resource URI is theirs: by listing it, or by a URI template that it fits.

Two servers that claim one URI are both shown in qualified form, and so are two templates of different servers that one URI could fit.
Whether that is so is decided by what stands before the first expression of each: it errs towards the qualified form, never
towards one server's answering for another's.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence

from gatewright.call import Target
from gatewright.upstream.shelf import Shelf
from gatewright.upstream.templates import Template

__all__ = ["Claims"]


class Claims:
    """Of these shelves. Look-ups in memory, linear in the URI and in the templates that begin like it."""

    def __init__(self, shelved: Sequence[Shelf]) -> None:
        self._lists: dict[str, set[str]] = defaultdict(set)
        self._begins: dict[str, list[tuple[Template, str]]] = defaultdict(list)
        for shelf in shelved:
            for entry in shelf.resources:
                self._lists[entry.target.name].add(entry.target.server)
            for entry, template in shelf.templates:
                self._begins[_head(template.text)].append((template, entry.target.server))
        self._heads = sorted(self._begins)
        self._lengths = sorted({len(head) for head in self._heads})

    def of(self, uri: str) -> list[str]:
        """The servers that claim a URI."""
        found = dict.fromkeys(sorted(self._lists.get(uri, ())))
        for template, server in self._near(uri):
            if server not in found and template.matches(uri):
                found[server] = None
        return sorted(found)

    def beside(self, resource: Target) -> bool:
        """Whether a server claims the URI of another one's resource."""
        own = {resource.server}
        if self._lists.get(resource.name, own) - own:
            return True
        return any(
            server != resource.server and template.matches(resource.name)
            for template, server in self._near(resource.name)
        )

    def meets(self, template: Target) -> bool:
        """Whether another server has a template that a URI of this one could fit."""
        head = _head(template.name)
        at = bisect_left(self._heads, head)
        while at < len(self._heads) and self._heads[at].startswith(head):
            if self._other(self._heads[at], template.server):
                return True
            at += 1
        shorter = (head[:length] for length in self._lengths if length < len(head))
        return any(self._other(one, template.server) for one in shorter if one in self._begins)

    def _other(self, head: str, server: str) -> bool:
        return any(one != server for _, one in self._begins[head])

    def _near(self, uri: str) -> Iterable[tuple[Template, str]]:
        """The templates that begin as the URI does."""
        for length in self._lengths:
            if length > len(uri):
                return
            yield from self._begins.get(uri[:length], ())


def _head(text: str) -> str:
    return text.partition("{")[0]
