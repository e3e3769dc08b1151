from __future__ import annotations

import numpy as np

from gatewright.discovery.views import Views
from gatewright.transport.slices import whole


def test_a_tool_is_asked_about_once_and_again_where_its_slot_is_anothers() -> None:
    views, asked = Views(), list[int]()

    def sees(slot: int) -> bool:
        asked.append(slot)
        return slot != 1

    def seen(key: object, size: int = 3) -> list[int]:
        found = whole(views.of(key, size, lambda: np.ones(size, np.bool_), sees))
        return np.flatnonzero(found).tolist()

    assert seen("ann") == [0, 2]
    assert seen("ann", 4) == [0, 2, 3]
    assert asked == [0, 1, 2, 3]
    views.forget(2)
    views.forget(99)
    assert seen("ann", 4) == [0, 2, 3]
    assert asked[4:] == [2]
    assert seen(None) == [0, 2]
    assert seen(None) == [0, 2]
    assert asked[5:] == [0, 1, 2, 0, 1, 2]


def test_the_dead_are_not_asked_about_and_views_are_few() -> None:
    views, asked = Views(), list[int]()

    def sees(slot: int) -> bool:
        asked.append(slot)
        return True

    alive = np.array([True, False])
    for key in range(70):
        assert whole(views.of(key, 2, lambda: alive, sees)).tolist() == [True, False]
    assert asked == [0] * 70
    whole(views.of(69, 2, lambda: alive, sees))
    assert len(asked) == 70
    whole(views.of(0, 2, lambda: alive, sees))
    assert len(asked) == 71
