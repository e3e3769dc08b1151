"""Who could fulfil a proposal: each set of capabilities is judged once, and nobody behind those who are enough."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

from gatewright.mcpx.capabilities import Capabilities
from gatewright.rooms.fulfilling import fulfilling
from gatewright.rooms.hub import Hub
from gatewright.transport.slices import whole

CAN, CANNOT = ("mcp/request:tools/*",), ("chat",)
KIND = "mcp/request:tools/call:x"


class _Hub:
    def __init__(self, **members: tuple[str, ...]) -> None:
        self.members = {name: Capabilities(one) for name, one in members.items()}

    def place(self, topic: str, name: str) -> Any:
        one = self.members.get(name)
        return None if one is None else SimpleNamespace(member=SimpleNamespace(capabilities=one))


def _able(hub: _Hub, known: dict[str, tuple[str, ...]], most: int = 8) -> list[str]:
    return whole(fulfilling(cast("Hub", hub), "t", known, KIND, proposer="me", most=most))


def test_those_who_may_by_name_without_the_proposer_and_who_has_left_or_knows_nothing() -> None:
    hub = _Hub(me=CAN, b=CAN, a=CAN, c=CANNOT, silent=CAN)
    known = {"b": CAN, "me": CAN, "a": CAN, "c": CAN, "left": CAN, "silent": ()}
    assert _able(hub, known) == ["a", "b"]
    assert _able(_Hub(), known) == []


def test_of_five_thousand_with_the_same_capabilities_one_is_judged_and_no_more_than_wanted() -> (
    None
):
    names = [f"p{at:04}" for at in range(5000)]
    for can, found in ((CAN, names[:8]), (CANNOT, [])):
        hub = _Hub(**dict.fromkeys(names, can))
        with patch.object(
            Capabilities, "allows", autospec=True, side_effect=Capabilities.allows
        ) as judged:
            assert _able(hub, dict.fromkeys(names, can)) == found
        assert judged.call_count == 1


def test_it_stops_at_as_many_as_are_wanted_and_has_a_step_for_each() -> None:
    names = [f"p{at:04}" for at in range(5000)]
    hub = _Hub(**dict.fromkeys(names, CAN))
    known = dict.fromkeys(names, CAN)
    steps = fulfilling(cast("Hub", hub), "t", known, KIND, proposer="me", most=3)
    assert len(list(steps)) == 3
