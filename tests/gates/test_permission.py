"""The gate `permission`: what a tool needs, the caller must hold."""

from __future__ import annotations

from gatewright.call import Caller, Refusal
from gatewright.gates.permission import Permission
from gatewright.stores.grants import Grant, Grants
from tests.gates.parts import AGENT, OPERATOR, Mute, a_call, a_tool, a_tool_call

SHELL = a_tool("run", permissions_required=("shell.execute", "filesystem.read"))


def _gate(*grants: Grant, now: float = 0.0) -> Permission:
    return Permission(Grants(grants), lambda: now)


async def test_a_missing_permission_is_named() -> None:
    """MGP-4.3-2 and MGP-14.3-1"""
    gate = _gate(Grant(AGENT.id, "srv", permissions=("filesystem.read",)))
    found = await gate(a_tool_call(SHELL), Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "permission_denied"
    assert found.details == {"missing_permissions": ["shell.execute"]}


async def test_permissions_of_the_server_and_of_the_tool_count_together() -> None:
    gate = _gate(
        Grant(AGENT.id, "srv", permissions=("filesystem.read",)),
        Grant(AGENT.id, "srv", "run", permissions=("shell.execute",)),
    )
    call = a_tool_call(SHELL)
    assert await gate(call, Mute()) is call


async def test_permissions_for_another_server_tool_or_agent_do_not_count() -> None:
    both = SHELL.security.permissions_required
    gate = _gate(
        Grant(AGENT.id, "other", permissions=both),
        Grant(AGENT.id, "srv", "walk", permissions=both),
        Grant("agent.two", "srv", permissions=both),
    )
    found = await gate(a_tool_call(SHELL), Mute())
    assert isinstance(found, Refusal)
    assert found.details == {"missing_permissions": list(both)}


async def test_a_permission_ends_with_its_grant() -> None:
    """MGP-3.6-5, as far as the gate goes."""
    grant = Grant(AGENT.id, "srv", permissions=SHELL.security.permissions_required, expires_at=10.0)
    call = a_tool_call(SHELL)
    assert await _gate(grant, now=9.9)(call, Mute()) is call
    assert isinstance(await _gate(grant, now=10.0)(call, Mute()), Refusal)


async def test_a_tool_that_needs_nothing_is_handed_on() -> None:
    for call in (a_tool_call(a_tool()), a_call("prompt"), a_call("list")):
        assert await _gate()(call, Mute()) is call


async def test_the_operator_holds_every_permission_but_an_agent_of_that_name_does_not() -> None:
    call = a_tool_call(SHELL, caller=OPERATOR)
    assert await _gate()(call, Mute()) is call
    assert isinstance(await _gate()(a_tool_call(SHELL, caller=Caller("local")), Mute()), Refusal)
