from __future__ import annotations

import pytest

from gatewright.discovery.categories import letters, within


@pytest.mark.parametrize(
    ("categories", "wanted", "fits"),
    [
        (("data/storage",), {"data"}, True),
        (("data/storage",), {"data/storage"}, True),
        (("data/storage",), {"data/storage/disk"}, False),
        (("data/storage",), {"storage"}, False),
        (("database",), {"data"}, False),
        (("/Data/Storage/",), {"data"}, True),
        (("mail", "data"), {"data"}, True),
        ((), {"data"}, False),
        (("", "/"), {""}, False),
    ],
)
def test_a_tool_is_in_a_category_and_in_all_above_it(
    categories: tuple[str, ...], wanted: set[str], fits: bool
) -> None:
    assert within(categories, wanted) is fits


def test_letters_of_all_categories_count() -> None:
    assert letters(("data", "mail/in")) == 11
