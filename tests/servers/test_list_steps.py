"""One profile's list in steps."""

from __future__ import annotations

import json

from msgspec import Raw

from gatewright.servers.list_steps import made_list, seen_items
from gatewright.servers.view import Item
from gatewright.transport.slices import whole

ITEMS = [Item("s", {"uri": Raw(f'"x://{n}"'.encode())}, {}) for n in range(4)]


def _plain(_: Item, number: tuple[int, int]) -> int:
    return number[0]


def test_who_sees_all_as_it_stands_shares_one_list_with_everybody_who_does() -> None:
    assert whole(seen_items(ITEMS, lambda _: True, _plain, 0)) is None
    some = whole(seen_items(ITEMS, ITEMS[1:3].__contains__, _plain, 0))
    assert some == frozenset({1, 2})
    inverted = whole(seen_items(ITEMS, lambda _: True, lambda _, number: ~number[0], 4))
    assert inverted == frozenset({-1, -2, -3, -4})
    assert whole(seen_items([], lambda _: True, _plain, 0)) is None


def test_a_list_is_judged_and_written_one_item_a_step() -> None:
    assert sum(1 for _ in seen_items(ITEMS, lambda _: True, _plain, 0)) == 4
    steps = made_list("resources/list", ITEMS, frozenset({0, 3}), mgp=False)
    assert sum(1 for _ in steps) == 2
    text = whole(made_list("resources/list", ITEMS, frozenset({0, 3}), mgp=False))
    assert json.loads(text) == {"resources": [{"uri": "x://0"}, {"uri": "x://3"}]}
