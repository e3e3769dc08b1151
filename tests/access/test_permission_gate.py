"""The gate `permission`: what a tool needs, the caller must hold."""

from __future__ import annotations

from msgspec.structs import replace

from gatewright.access.grants import Grant, Grants
from gatewright.access.permission_gate import Permission
from gatewright.call import Call, Caller, Refusal, UserContext
from gatewright.mcp.wire.permissions import Value
from gatewright.servers.definition_digest import definition_digest
from tests.gate_parts import AGENT, OPERATOR, Mute, a_call, a_tool, a_tool_call

SHELL = a_tool("run", permissions_required=("shell.execute", "filesystem.read"))


def _gate(*grants: Grant, now: float = 0.0) -> Permission:
    return Permission(Grants(grants), lambda: now)


async def test_a_missing_permission_is_named() -> None:
    """MGP-4.3-2 and MGP-14.3-1"""
    gate = _gate(Grant(AGENT.id, "srv", permissions=("filesystem.read",)))
    found = gate(a_tool_call(SHELL), Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "permission_denied"
    assert found.details == {"missing_permissions": ["shell.execute"]}


async def test_permissions_of_the_server_and_of_the_tool_count_together() -> None:
    gate = _gate(
        Grant(AGENT.id, "srv", permissions=("filesystem.read",)),
        Grant(AGENT.id, "srv", "run", permissions=("shell.execute",)),
    )
    call = a_tool_call(SHELL)
    assert gate(call, Mute()) is call


async def test_permissions_for_another_server_tool_or_agent_do_not_count() -> None:
    both = SHELL.security.permissions_required
    gate = _gate(
        Grant(AGENT.id, "other", permissions=both),
        Grant(AGENT.id, "srv", "walk", permissions=both),
        Grant("agent.two", "srv", permissions=both),
    )
    found = gate(a_tool_call(SHELL), Mute())
    assert isinstance(found, Refusal)
    assert found.details == {"missing_permissions": list(both)}


async def test_a_permission_given_for_another_definition_does_not_count() -> None:
    needs = SHELL.security.permissions_required
    given = Grant(AGENT.id, "srv", "run", permissions=needs, tool_digest="of another")
    assert isinstance(_gate(given)(a_tool_call(SHELL), Mute()), Refusal)
    digest = definition_digest(SHELL.definition)
    same = Grant(AGENT.id, "srv", "run", permissions=needs, tool_digest=digest)
    call = a_tool_call(SHELL)
    assert _gate(same)(call, Mute()) is call


async def test_a_permission_ends_with_its_grant() -> None:
    """MGP-3.6-5, as far as the gate goes."""
    grant = Grant(AGENT.id, "srv", permissions=SHELL.security.permissions_required, expires_at=10.0)
    call = a_tool_call(SHELL)
    assert _gate(grant, now=9.9)(call, Mute()) is call
    assert isinstance(_gate(grant, now=10.0)(call, Mute()), Refusal)


async def test_a_tool_that_needs_nothing_is_handed_on() -> None:
    for call in (a_tool_call(a_tool()), a_call("prompt"), a_call("list")):
        assert _gate()(call, Mute()) is call


async def test_the_operator_holds_every_permission_but_an_agent_of_that_name_does_not() -> None:
    call = a_tool_call(SHELL, caller=OPERATOR)
    assert _gate()(call, Mute()) is call
    assert isinstance(_gate()(a_tool_call(SHELL, caller=Caller("local")), Mute()), Refusal)


def _holding(*permissions: str) -> Caller:
    return Caller(AGENT.id, user=(UserContext(permissions=permissions),))


async def test_who_is_said_to_hold_permissions_holds_these_and_no_others() -> None:
    """GRH-sec-6: every requested permission, whatever grants give."""
    both = SHELL.security.permissions_required
    call = a_tool_call(SHELL, caller=_holding(*both))
    assert _gate()(call, Mute()) is call
    given = Grant(AGENT.id, "srv", permissions=both)
    found = _gate(given)(a_tool_call(SHELL, caller=_holding("filesystem.read")), Mute())
    assert isinstance(found, Refusal)
    assert found.details == {"missing_permissions": ["shell.execute"]}


async def test_rights_over_tools_say_nothing_of_permissions() -> None:
    named = _holding("kernel.tool.invoke:srv/run")
    given = Grant(AGENT.id, "srv", permissions=SHELL.security.permissions_required)
    call = a_tool_call(SHELL, caller=named)
    assert _gate(given)(call, Mute()) is call
    assert isinstance(_gate()(call, Mute()), Refusal)


def _over(*grants: Grant, **values: Value) -> Permission:
    """The gate where some permissions of the server stand somehow; `_` for the dot."""
    known = {name.replace("_", "."): value for name, value in values.items()}
    return Permission(Grants(grants), lambda: 0.0, value=lambda _, name: known.get(name))


async def _reason(gate: Permission, call: Call | None = None) -> str:
    found = gate(call or a_tool_call(SHELL), Mute())
    return found.reason if isinstance(found, Refusal) else ""


async def test_what_the_server_was_approved_for_its_callers_may_use() -> None:
    """MGP-3.6-2"""
    both = _over(shell_execute="approved", filesystem_read="approved")
    assert await _reason(both) == ""
    assert await _reason(_over(shell_execute="approved")) == "permission_denied"


async def test_a_grant_that_gives_permissions_says_all_that_its_caller_has() -> None:
    """An approval for the server is no permission for an agent to whom less was given."""
    less = Grant(AGENT.id, "srv", permissions=("filesystem.read",))
    both = _over(less, shell_execute="approved", filesystem_read="approved")
    assert await _reason(both) == "permission_denied"


async def test_what_the_server_does_not_have_nobody_can_have_done_by_it() -> None:
    """MGP-3.6-3 and MGP-3.6-4: not a caller with a grant for it, and not an operator."""
    given = Grant(AGENT.id, "srv", permissions=SHELL.security.permissions_required)
    operator = a_tool_call(SHELL, caller=OPERATOR)
    denied = _over(given, shell_execute="denied", filesystem_read="deferred")
    assert await _reason(denied) == "permission_denied"
    assert await _reason(denied, operator) == "permission_denied"
    waiting = _over(given, shell_execute="approved", filesystem_read="deferred")
    assert await _reason(waiting) == "permission_deferred"
    assert await _reason(waiting, operator) == "permission_deferred"


async def test_no_call_passes_to_a_server_that_is_barred() -> None:
    """MGP-3.4-1: whatever it is about, and from the moment on from which it is so."""
    barred: dict[str, Refusal] = {}
    gate = Permission(Grants(()), lambda: 0.0, barred=barred)
    call = a_tool_call(a_tool("free"))
    assert gate(call, Mute()) is call
    barred["srv"] = Refusal("permission_deferred", "it waits")
    assert gate(call, Mute()) is barred["srv"]
    assert gate.judge(call) is barred["srv"]
    del barred["srv"]
    assert gate(call, Mute()) is call


async def test_permissions_that_were_not_asked_for_are_not_used() -> None:
    """GRH-sec-9: effective is what was requested and is held (decision C-47), for operators too."""
    both = SHELL.security.permissions_required
    gate = _gate(Grant(AGENT.id, "srv", permissions=("filesystem.read",)))
    for caller, requested, missing in (
        (AGENT, frozenset(both), ["shell.execute"]),
        (AGENT, frozenset(), list(both)),
        (OPERATOR, frozenset({"shell.execute"}), ["filesystem.read"]),
        (OPERATOR, frozenset({*both, "camera"}), []),
        (OPERATOR, None, []),
    ):
        call = replace(a_tool_call(SHELL), caller=caller, requested=requested, facts={})
        found = gate(call, Mute())
        if missing:
            assert isinstance(found, Refusal)
            assert found.details == {"missing_permissions": missing}
        else:
            assert found is call
            assert call.facts["permissions_used"] == list(both)


def test_everything_that_a_caller_holds_is_listed_once() -> None:
    """GRH-sec-1: what a session shows."""
    gate = _gate(
        Grant(AGENT.id, "srv", permissions=("filesystem.read", "camera")),
        Grant("*", "other", "walk", permissions=("camera", "system.info")),
        Grant(AGENT.id, "ended", permissions=("notification",), expires_at=5.0),
        Grant(AGENT.id, "denied", permission="deny", permissions=("shell.execute",)),
        Grant("agent.two", "srv", permissions=("memory.read",)),
        now=5.0,
    )
    assert gate.held(AGENT) == ["camera", "filesystem.read", "system.info"]
    limited = Caller(AGENT.id, user=(UserContext(permissions=("camera", "memory.write")),))
    assert gate.held(limited) == ["camera", "memory.write"]
    assert "shell.execute" in gate.held(OPERATOR)
