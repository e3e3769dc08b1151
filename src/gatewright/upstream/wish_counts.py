"""Limit on resource subscriptions: how many each caller has at one server, over all its sessions and listen requests."""

from __future__ import annotations

from collections import Counter

from gatewright.call import Refusal

__all__ = ["WISHES_EACH", "WishCounts"]

WISHES_EACH = 1000
"""How many resources of one server one caller may wait to hear of."""

_Who = tuple[str, str]


class WishCounts:
    """By holder: what it asks for or holds, each resource under each name of it."""

    def __init__(self) -> None:
        self._of: dict[str, set[tuple[str, str]]] = {}
        self._whose: dict[str, _Who] = {}
        self._counts: Counter[_Who] = Counter()

    def refusal(self, who: _Who, holder: str, wish: tuple[str, str]) -> Refusal | None:
        """Why one wish more is too many, where it is."""
        if self._counts[who] < WISHES_EACH or wish in self._of.get(holder, ()):
            return None
        return Refusal(
            "resource_exhausted",
            f"one caller may wait to hear of at most {WISHES_EACH} resources of a server",
        )

    def set(self, who: _Who, holder: str, wish: tuple[str, str], *, wanted: bool) -> None:
        """Count a wish, or count it no more."""
        wishes = self._of.get(holder, set())
        if wanted == (wish in wishes):
            return
        if wanted:
            self._whose[holder] = who
            self._of.setdefault(holder, wishes).add(wish)
            self._counts[who] += 1
        elif len(wishes) == 1:
            self.forget(holder)
        else:
            wishes.remove(wish)
            self._counts[who] -= 1

    def forget(self, holder: str) -> None:
        """A session or a listening is over."""
        wishes, who = self._of.pop(holder, None), self._whose.pop(holder, None)
        if wishes and who is not None:
            self._counts[who] -= len(wishes)
            if self._counts[who] <= 0:
                del self._counts[who]

    def follow(self, before: WishCounts) -> None:
        """Count what is wanted of the server in whose place this one is."""
        for holder, wishes in before._of.items():
            for wish in wishes:
                self.set(before._whose[holder], holder, wish, wanted=True)
