"""`Claims`: index of all servers' resource URIs and templates; finds which servers claim a URI, and what must be shown in qualified form.

Two servers that claim one URI, in whatever spelling (`uri_normal_form`), are both shown in qualified form, and so is whatever a template
of another server could come to. How things are shown is decided by what stands before the first expression of a template, and
by no more than its first `_HEAD` characters: it errs towards the qualified form, never towards one server's answering for
another's. So nobody's templates make it dear to show what others have, however many they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Sequence

from gatewright.call import Target
from gatewright.servers.server_catalogue import ServerCatalogue
from gatewright.servers.uri_normal_form import alike, begins
from gatewright.servers.uri_templates import LONGEST_URI, Template

__all__ = ["TRIED", "Claims"]

TRIED = 64
"""A server with more templates than this that begin as a URI does claims it, whether one of them fits or not."""

_HEAD = 128
"""So many lengths of heads there are at most, each of which is looked up for every resource that is shown."""


class Claims:
    """Of these shelves. Look-ups in memory, linear in the URI and in the templates that begin like it, of which each server has
    a bounded number looked at."""

    def __init__(self) -> None:
        self._lists: dict[str, set[str]] = defaultdict(set)
        self._begins: dict[str, list[tuple[Template, str]]] = defaultdict(list)
        self._whose: dict[str, set[str]] = defaultdict(set)
        self._heads: list[str] = []
        self._alone: list[int] = []
        """For each head, in order: up to where they are one server's alone."""
        self._lengths: list[int] = []
        self._heads_by: dict[str, list[str]] = {}
        """By server, in order."""

    def count(self, shelved: Sequence[ServerCatalogue]) -> Generator[None, None, None]:
        """Take in all shelves, once, step by step (`slices`)."""
        for shelf in shelved:
            for entry in shelf.resources:
                yield
                self._lists[alike(entry.target.name)].add(entry.target.server)
            for entry, template in shelf.templates:
                yield
                # Its own text, too, by which completions ask for it: many a template does not fit that.
                self._lists[alike(entry.target.name)].add(entry.target.server)
                text = begins(template.text)
                same, head = text == template.text, _head(text)
                kept = template if same else Template(text)
                self._begins[head].append((kept, entry.target.server))
                self._whose[head].add(entry.target.server)
        self._heads = sorted(self._begins)
        self._alone = yield from self._ends()
        self._heads_by = yield from self._sorted()
        self._lengths = sorted({len(head) for head in self._heads})

    def of(self, uri: str) -> list[str]:
        """The servers that claim a URI."""
        found = set(self._lists.get(alike(uri), ()))
        uri, asked = begins(uri), Counter[str]()
        for template, server in self._near(uri) if len(uri) <= LONGEST_URI else ():
            if server in found:
                continue
            asked[server] += 1
            # Beyond the bound a server counts as a claimant unasked: at worst the URI is nobody's, and is read qualified.
            if asked[server] > TRIED or template.matches(uri):
                found.add(server)
        return sorted(found)

    def beside(self, resource: Target) -> bool:
        """Whether a URI may be another server's as well as of the one that has it: it lists it, or has a template that begins
        as it does."""
        others = self._lists.get(alike(resource.name), ())
        if any(server != resource.server for server in others):
            return True
        heads = self._heads_of(begins(resource.name))
        return any(self._other(head, resource.server) for head in heads)

    def meets(self, template: Target) -> bool:
        """Whether another server has a template that a URI of this one could fit."""
        head = _head(begins(template.name))
        if any(self._other(one, template.server) for one in self._heads_of(head)):
            return True
        # In a sorted list all heads that begin with this one stand together, at its place.
        first = bisect_left(self._heads, head)
        end = bisect_left(self._heads, True, first, key=lambda longer: not longer.startswith(head))
        return first < end and (
            self._other(self._heads[first], template.server) or self._alone[first] < end
        )

    def others(self, resource: Target) -> frozenset[str]:
        """Those servers: who may see none of them is shown the URI as it stands, and so hears nothing of what they have."""
        listed = self._lists.get(alike(resource.name), ())
        heads = (self._whose[one] for one in self._heads_of(begins(resource.name)))
        return frozenset().union(listed, *heads) - {resource.server}

    def met(self, template: Target) -> frozenset[str]:
        """The servers that have one, as in `others`. A look-up for each server, and no more than that: how many templates it has is its own affair."""
        head = _head(begins(template.name))
        found = set().union(*(self._whose[one] for one in self._heads_of(head)))
        for server, heads in self._heads_by.items():
            at = bisect_left(heads, head)
            if at < len(heads) and heads[at].startswith(head):
                found.add(server)
        return frozenset(found - {template.server})

    def _sorted(self) -> Generator[None, None, dict[str, list[str]]]:
        found: dict[str, list[str]] = defaultdict(list)
        for head in self._heads:
            yield
            for server in self._whose[head]:
                found[server].append(head)
        return found

    def _ends(self) -> Generator[None, None, list[int]]:
        size = len(self._heads)
        ends = [size] * size
        for at in range(size - 2, -1, -1):
            yield
            here, after = self._whose[self._heads[at]], self._whose[self._heads[at + 1]]
            ends[at] = ends[at + 1] if here == after and len(here) == 1 else at + 1
        return ends

    def _other(self, head: str, server: str) -> bool:
        whose = self._whose[head]
        return len(whose) > 1 or server not in whose

    def _heads_of(self, text: str) -> Iterable[str]:
        """What templates begin with that a text begins with, too."""
        for length in self._lengths:
            if length > len(text):
                return
            if text[:length] in self._begins:
                yield text[:length]

    def _near(self, uri: str) -> Iterable[tuple[Template, str]]:
        """The templates that begin as the URI does."""
        for head in self._heads_of(uri):
            yield from self._begins[head]


def _head(text: str) -> str:
    return text[:_HEAD].partition("{")[0]
