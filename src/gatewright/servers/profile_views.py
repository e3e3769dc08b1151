"""`ProfileViews`: the `View` of each profile, made in slices when first needed, once for all who wait for it; looks tools up by name."""

from __future__ import annotations

import abc
from collections.abc import Awaitable, Generator, Iterable, Sequence

from gatewright.call import Tool
from gatewright.servers.view import View
from gatewright.transport.once import Once
from gatewright.transport.slices import in_slices, whole

__all__ = ["ATTEMPTS", "ProfileViews"]

_FEW = 500
"""A view of so many names takes some milliseconds: nobody has to wait for it."""
ATTEMPTS = 3
"""How often what is made in slices is begun anew because something changed meanwhile."""


class ProfileViews(abc.ABC):
    """A part of `Catalogue`, which says what views are made of."""

    version: int

    def __init__(self) -> None:
        self._views: dict[str, View] = {}
        self._once: Once[str] = Once()

    @abc.abstractmethod
    def knows(self, profile: str) -> bool:
        """Whether there is such a profile."""

    @abc.abstractmethod
    def _entries(self) -> int:
        """How many names it takes, about."""

    @abc.abstractmethod
    def _now(self, profile: str) -> Generator[None, None, View]:
        """The view of a profile as everything is now, step by step."""

    def view(self, profile: str) -> View:
        """The names of one profile. Of one that is not there any more nothing can be seen."""
        found = self._views.get(profile)
        if found is None:
            found = self._views[profile] = whole(self._now(profile))
        return found

    def _viewed(self, profile: str) -> Generator[None, None, View]:
        """The same, made step by step where it is not there."""
        found, version = self._views.get(profile), self.version
        if found is None:
            found = yield from self._now(profile)
            if version == self.version:
                found = self._views.setdefault(profile, found)
        return found

    @property
    def viewed(self) -> frozenset[str]:
        """The profiles that somebody uses."""
        return frozenset(self._views)

    def making(self, profile: str) -> Awaitable[None] | None:
        """What to wait for before names of a profile are looked up; None where its view is there. Once for all who wait."""
        if profile in self._views or not self.knows(profile) or self._entries() <= _FEW:
            return None
        return self._once.once(profile, self._made)

    async def warm(self, profiles: Iterable[str]) -> None:
        """Make the views of profiles in slices, those that there are."""
        for profile in profiles:
            if profile not in self._views and self.knows(profile):
                await self._once.once(profile, self._made)

    async def _made(self, profile: str) -> None:
        for _ in range(ATTEMPTS):
            version = self.version
            view = await in_slices(self._now(profile))
            if version == self.version:
                self._views.setdefault(profile, view)
                return

    def tool(self, profile: str, name: str) -> Tool | None:
        """A tool by its exposed or canonical name."""
        return (self._views.get(profile) or self.view(profile)).tools.get(name)

    def called(self, profile: str, name: str) -> Sequence[Tool]:
        """The tools of a profile that call themselves so, whoever may see them: versions of one, or of several servers."""
        return self.view(profile).called.get(name, ())

    def seen_tool(self, profile: str, name: str) -> Tool | None:
        """The same, where it can be said without making a view."""
        return None if (view := self._views.get(profile)) is None else view.tools.get(name)
