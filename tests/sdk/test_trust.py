from __future__ import annotations

import pytest

from gatewright.sdk import AccessError, Registry, Tool, TrustGateway, TrustState, mcp_tool


def registry_with_wipe(trust: TrustGateway) -> tuple[Registry, list[str]]:
    registry, done = Registry(trust=trust), []

    @mcp_tool(registry=registry, name="wipe", destructive=True)
    def wipe() -> str:
        done.append("wiped")
        return "wiped"

    @mcp_tool(registry=registry, name="look")
    def look() -> str:
        return "looked"

    return registry, done


def test_a_destructive_tool_is_blocked_until_the_gateway_is_trusted() -> None:
    """CDM-con-8, CDM-con-9, CDM-con-10: the tool checks nothing; promote lets it run, reset blocks it."""
    trust = TrustGateway()
    registry, done = registry_with_wipe(trust)
    for state in (TrustState.UNTRUSTED, TrustState.VERIFIED):
        assert trust.state is state
        with pytest.raises(AccessError, match=f"the trust gateway is {state.name}") as caught:
            registry.invoke_sync("wipe")
        assert caught.value.reason == "destructive_gate"
        assert not done
        trust.promote()
    assert trust.state is TrustState.TRUSTED
    assert registry.invoke_sync("wipe").text == "wiped"
    trust.reset()
    with pytest.raises(AccessError):
        registry.invoke_sync("wipe")
    assert done == ["wiped"]


def test_a_tool_that_changes_nothing_runs_in_every_state() -> None:
    registry, _ = registry_with_wipe(TrustGateway())
    assert registry.invoke_sync("look").text == "looked"


def test_changes_are_told_and_the_highest_state_stays() -> None:
    told: list[tuple[str, str]] = []
    trust = TrustGateway(on_change=lambda a, b: told.append((a.name, b.name)))
    assert [trust.promote() for _ in range(3)][-1] is TrustState.TRUSTED
    assert trust.reset() is TrustState.UNTRUSTED
    assert told == [
        ("UNTRUSTED", "VERIFIED"),
        ("VERIFIED", "TRUSTED"),
        ("TRUSTED", "UNTRUSTED"),
    ]


def test_the_gateway_admits_by_the_declaration_alone() -> None:
    made = Tool(name="x", description="", input_schema={"type": "object"}, function=print)
    TrustGateway().admit(made)
    assert TrustGateway(TrustState.TRUSTED).state is TrustState.TRUSTED
