"""When a server hears that roots are others: at once, or with the next call, whose caller can be asked for them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.call import Failure
from gatewright.servers.reconnector import Reconnector


@pytest.mark.parametrize(
    ("link", "late"),
    [
        (None, True),
        (SimpleNamespace(wants_roots=True, busy=False), True),
        (SimpleNamespace(wants_roots=True, busy=True), False),
        (SimpleNamespace(wants_roots=False, busy=False), False),
    ],
)
async def test_other_roots_are_told_once_with_the_next_call_to_who_asks_outside_calls(
    link: Any, late: bool
) -> None:
    keeper, told = Reconnector.__new__(Reconnector), []
    keeper.link, keeper.late = link, False

    async def tells(one: Any) -> None:
        told.append(one)

    keeper.tells = tells
    assert keeper.roots_late() is late
    await keeper.told(Failure("restarting"))
    assert told == []
    for _ in range(2):
        await keeper.told("ready")  # type: ignore[arg-type]
    assert told == ["ready"] * late
