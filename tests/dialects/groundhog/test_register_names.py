"""A registration takes no name that a reader takes for that of another's tool."""

from __future__ import annotations

import pytest

from gatewright.call import Caller, Failure
from tests.dialects.groundhog.test_register import House, over, refused_name, said

EVE = Caller("eve", "operator")


@pytest.mark.parametrize("name", ["Pay.out", "pay-out", "pay_0ut", "PAY_OUT", "pay.out"])
async def test_a_name_that_reads_as_anothers_registered_tool_is_refused(name: str) -> None:
    house = House()
    said(await house.ask(over("pay_out"), Caller("root", "operator")))
    outcome = await house.ask(over(name), EVE)
    assert refused_name(outcome)
    assert isinstance(outcome, Failure)
    assert f"{name} reads as pay_out" in outcome.message
    assert [one.name for one in house.registry.tools] == ["pay_out"]


async def test_a_name_that_reads_as_a_tool_whose_owner_is_away_is_refused() -> None:
    house = House()
    said(await house.ask(over("pay_out"), Caller("root", "operator")))
    house.registry.remove(("pay_out", "1.0.0"))
    assert refused_name(await house.ask(over("pay.out"), EVE))


async def test_ones_own_tools_may_be_called_alike() -> None:
    house = House()
    for name in ("pay_out", "pay.out"):
        assert said(await house.ask(over(name), EVE))["tool_id"] == name
