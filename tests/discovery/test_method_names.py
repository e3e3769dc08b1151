from __future__ import annotations

from gatewright.discovery.costs import Costs
from gatewright.discovery.method_names import INDEX, TOKENS
from tests.discovery.houses import House, defined


def test_commands_ask_by_the_names_that_are_answered() -> None:
    house = House({"a": [defined("one")]})
    assert set(Costs(house.now, house.index, house.meta.lookup).methods) == {INDEX, TOKENS}
