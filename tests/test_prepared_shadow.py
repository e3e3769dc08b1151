"""Shadowed: prepared calls are compared with walked ones, and any difference breaks the call and is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.access.gate import Access
from gatewright.call import Call
from gatewright.prepared import PreparedCalls
from gatewright.redaction.filter import Redact
from gatewright.standing import Standing
from tests.prepared_house import EVERYTHING, prepared_house

TELL = "obedient__tell"


@pytest.fixture(autouse=True)
def _shadowed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PreparedCalls.watch is not None
    monkeypatch.setattr(PreparedCalls, "mode", "shadowed")


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("more", [{}, EVERYTHING])
async def test_equal_calls_are_compared_and_take_the_walk(
    tmp_path: Path, revision: str, more: Any
) -> None:
    async with prepared_house(tmp_path, **more) as house:
        client = await house.client(revision=revision)
        for at in range(10):
            how = ("plain", "error", "failed", "long")[at % 4]
            said = await client.text(TELL, f"{at}", how)
            assert said[:1] == f"{at}" or (how == "long" and more)
        shadow = house.gateway.kernel.shadow
        assert shadow is not None
        assert (shadow.compared >= 5, shadow.differences) == (True, [])
        assert house.prepared.served == 0
        client.close()


async def test_a_gate_that_lies_about_its_facts_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        for at in range(4):
            assert await client.text(TELL, f"{at}") == f"{at}"
        for one in house.prepared.known.values():
            one.facts["access"] = "another"
        assert await client.text(TELL, "so") == "internal"
        shadow = house.gateway.kernel.shadow
        assert shadow is not None
        assert "facts" in shadow.differences[0]
        client.close()


async def test_a_gate_whose_word_outlives_what_it_rests_on_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(self: Any, call: Call) -> Standing:
        return Standing(facts={"access": "server_grant"})

    monkeypatch.setattr(Access, "stands", blind)
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        for at in range(4):
            assert await client.text(TELL, f"{at}") == f"{at}"
        gates: Any = house.gateway.kernel.policy.gates
        access = next(one for one in gates if one.name == "access")
        monkeypatch.setattr(Access, "__call__", lambda self, call, back: access._denied(call, access._grants.decide("x", "y", "z", 0.0)))  # fmt: skip
        await client.text(TELL, "so")
        shadow = house.gateway.kernel.shadow
        assert shadow is not None
        assert "the walk says" in shadow.differences[0]
        client.close()


async def test_a_word_that_is_taken_back_while_a_call_is_walked_is_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        for at in range(4):
            assert await client.text(TELL, f"{at}") == f"{at}"
        gates: Any = house.gateway.kernel.policy.gates
        access = next(one for one in gates if one.name == "access")

        def denied(self: Any, call: Call, back: Any) -> Any:
            for one in house.prepared.known.values():
                monkeypatch.setattr(one, "holds", lambda: False)
            return access._denied(call, access._grants.decide("x", "y", "z", 0.0))

        monkeypatch.setattr(Access, "__call__", denied)
        await client.text(TELL, "so")
        shadow = house.gateway.kernel.shadow
        assert shadow is not None
        assert (shadow.compared, shadow.differences) == (1, [])
        client.close()


async def test_a_filter_that_lies_about_what_is_plain_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Redact, "stands", lambda self, call: Standing())
    async with prepared_house(tmp_path, redaction={"terms": ["Nightjar"]}) as house:
        client = await house.client()
        for at in range(4):
            assert await client.text(TELL, f"{at}") == f"{at}"
        await client.text(TELL, "Nightjar")
        shadow = house.gateway.kernel.shadow
        assert shadow is not None
        assert "plain" in shadow.differences[0]
        client.close()
