"""`Views`: caches which slots of the tool index each recent caller may see; checks only slots that were not checked, in slices."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Hashable

import numpy as np
from numpy.typing import NDArray

from gatewright.discovery.postings import Bools

__all__ = ["Views"]

_KEPT = 64
_AT_ONCE = 512
_UNKNOWN = -1


class Views:
    """1 for yes, 0 for no, -1 for not asked yet, by slot."""

    def __init__(self) -> None:
        self._views: OrderedDict[Hashable, NDArray[np.int8]] = OrderedDict()

    def forget(self, slot: int) -> None:
        """The slot is another tool's from now on."""
        for view in self._views.values():
            if slot < len(view):
                view[slot] = _UNKNOWN

    def of(
        self,
        key: Hashable,
        size: int,
        alive: Callable[[], Bools],
        sees: Callable[[int], bool],
    ) -> Generator[None, None, Bools]:
        """Which of so many slots are alive and seen. Nothing is remembered where `key` is None."""
        view = self._view(key, size)
        unknown = np.flatnonzero(alive()[:size] & (view[:size] < 0))
        for at in range(0, len(unknown), _AT_ONCE):
            for slot in unknown[at : at + _AT_ONCE]:
                view[slot] = sees(int(slot))
            yield
        seen: Bools = alive()[:size] & (view[:size] == 1)
        return seen

    def _view(self, key: Hashable, size: int) -> NDArray[np.int8]:
        view = self._views.pop(key, None) if key is not None else None
        if view is None:
            view = np.full(size, _UNKNOWN, dtype=np.int8)
        elif len(view) < size:
            view = np.concatenate([view, np.full(size - len(view), _UNKNOWN, np.int8)])
        if key is not None:
            self._views[key] = view
            if len(self._views) > _KEPT:
                self._views.popitem(last=False)
        return view
