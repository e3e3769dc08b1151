"""A registration takes no name that a reader takes for that of another's tool."""

from __future__ import annotations

import msgspec
import pytest

from gatewright.call import Caller, Failure
from gatewright.dialects.groundhog.register import Register
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


AGENT = Caller("ann")


@pytest.mark.parametrize(
    ("name", "about", "named"),
    [
        ("pay_0ut", ("gatewright", "pay_out"), "reads as pay_out"),
        ("pay_out", ("gatewright", "pay_out"), "somebody else answers for"),
        ("paid", ("bank", ""), "is what a tool of server bank is called"),
    ],
)
async def test_who_may_not_see_what_has_a_name_hears_that_it_is_taken(
    name: str, about: tuple[str, str], named: str
) -> None:
    """Or whoever may register would learn names of servers and tools that do not exist for it."""
    house, known = House(), set[tuple[str, str]]()
    making = msgspec.structs.replace(
        house.making,
        may_register=lambda _: True,
        knows=lambda caller, *of: of in known,
    )
    house.register = Register(making)
    house.users = {"paid": "bank"}
    said(await house.ask(over("pay_out"), EVE))
    hidden = await house.ask(over(name), AGENT)
    assert isinstance(hidden, Failure)
    assert hidden.message == f"{name} is taken: register it under another name"
    known.add(about)
    seen = await house.ask(over(name), AGENT)
    assert isinstance(seen, Failure)
    assert named in seen.message
    known.clear()
    operators = await house.ask(over(name), Caller("root", "operator"))
    assert isinstance(operators, Failure)
    assert operators.message == seen.message
