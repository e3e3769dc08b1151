"""The gate `access`: who may use what, for calls and for lists alike."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import EVERYBODY, Grant, Grants, Layer
from gatewright.call import ANONYMOUS, KERNEL, Call, Caller, Refusal, Target, Tool
from gatewright.servers.definition_digest import definition_digest
from tests.gate_parts import AGENT, OPERATOR, Mute, a_call, a_tool, a_tool_call

TOOL = a_tool("echo")
OTHER = a_tool("add")


class Clock:
    """Unix seconds that only the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def _grant(permission: str, tool: str | None = None, **more: object) -> Grant:
    return Grant(AGENT.id, "srv", tool, permission, **more)  # type: ignore[arg-type]


async def _source(access: Access, call: Call) -> str:
    """The level that let the call pass."""
    assert access(call, Mute()) is call
    return str(call.facts["access"])


async def _refusal(access: Access, call: Call) -> Refusal:
    found = access(call, Mute())
    assert isinstance(found, Refusal)
    return found


async def test_a_fresh_kernel_denies_what_nobody_granted() -> None:
    """MGP-5.5-1 and MGP-1.2-3"""
    call = a_tool_call(TOOL)
    found = await _refusal(Access(Grants(), Clock()), call)
    assert (found.reason, found.gate) == ("access_denied", "access")
    assert call.facts == {"access": "default_policy"}


async def test_an_opt_out_server_allows_what_nobody_denied() -> None:
    """MGP-5.5-2"""
    access = Access(Grants([_grant("deny", "add")], {"srv": "opt-out"}), Clock())
    assert await _source(access, a_tool_call(TOOL)) == "default_policy"
    assert (await _refusal(access, a_tool_call(OTHER))).reason == "access_denied"


async def test_a_tool_grant_beats_the_server_grant() -> None:
    """MGP-5.2-1"""
    access = Access(Grants([_grant("deny", "echo"), _grant("allow")]), Clock())
    assert (await _refusal(access, a_tool_call(TOOL))).details == {}
    access = Access(Grants([_grant("allow", "echo"), _grant("deny")]), Clock())
    assert await _source(access, a_tool_call(TOOL)) == "tool_grant"


async def test_without_a_tool_grant_the_server_grant_decides() -> None:
    """MGP-5.2-2 and MGP-5.3-1"""
    access = Access(Grants([_grant("allow")]), Clock())
    assert await _source(access, a_tool_call(TOOL)) == "server_grant"
    assert await _source(access, a_tool_call(OTHER)) == "server_grant"


async def test_without_any_grant_the_default_policy_decides() -> None:
    """MGP-5.2-3"""
    access = Access(Grants([_grant("allow", "add")], {"srv": "opt-out"}), Clock())
    assert await _source(access, a_tool_call(TOOL)) == "default_policy"


async def test_a_grant_ends_with_its_time_although_it_was_asked_before() -> None:
    """MGP-5.4-5"""
    clock = Clock()
    access = Access(Grants([_grant("allow", expires_at=1010.0)]), clock)
    assert await _source(access, a_tool_call(TOOL)) == "server_grant"
    clock.now = 1010.0
    assert (await _refusal(access, a_tool_call(TOOL))).reason == "access_denied"


async def test_a_revoked_grant_does_not_count_for_the_next_call() -> None:
    issued = Layer([_grant("allow")])
    access = Access(Grants(issued=issued), Clock())
    assert await _source(access, a_tool_call(TOOL)) == "server_grant"
    before = access.version()
    issued.remove((AGENT.id, "srv", None))
    assert access.version() != before
    assert not access.may_see(AGENT, TOOL)
    assert (await _refusal(access, a_tool_call(TOOL))).reason == "access_denied"


@pytest.mark.parametrize(
    "grants",
    [
        Grants(),
        Grants([_grant("allow")]),
        Grants([_grant("allow", "echo")]),
        Grants([_grant("deny", "echo"), _grant("allow")]),
        Grants((), {"srv": "opt-out"}),
    ],
)
@pytest.mark.parametrize("caller", [AGENT, OPERATOR, ANONYMOUS, Caller("agent.two")])
async def test_lists_show_exactly_what_can_be_called(grants: Grants, caller: Caller) -> None:
    access = Access(grants, Clock())
    for tool in (TOOL, OTHER):
        call = a_tool_call(tool, caller=caller)
        assert access.may_see(caller, tool) is (access(call, Mute()) is call)


@pytest.mark.parametrize("kind", ["operator", "owner"])
async def test_whoever_runs_the_gateway_may_use_what_the_configured_servers_offer(
    kind: Any,
) -> None:
    access = Access(Grants(), Clock())
    assert await _source(access, a_tool_call(TOOL, caller=Caller("local", kind))) == "owner"


async def test_the_owners_host_is_no_operator() -> None:
    """MGP-5.4-6: who may use tools may not thereby change grants."""
    access = Access(Grants(), Clock())
    call = a_call("method", "", method="mgp/access/grant", caller=Caller("local", "owner"))
    assert (await _refusal(access, call)).reason == "method_not_found"


async def test_an_explicit_word_holds_for_the_operator_too() -> None:
    access = Access(Grants([Grant(EVERYBODY, "srv", "echo", "deny")]), Clock())
    assert (await _refusal(access, a_tool_call(TOOL, caller=OPERATOR))).reason == "access_denied"


async def test_what_an_operator_may_is_not_remembered_for_an_agent_of_the_same_name() -> None:
    access = Access(Grants(), Clock())
    await _source(access, a_tool_call(TOOL, caller=Caller("x", "operator")))
    assert (await _refusal(access, a_tool_call(TOOL, caller=Caller("x")))).reason == "access_denied"


@pytest.mark.parametrize("kind", ["prompt", "resource", "method"])
async def test_besides_tools_the_server_is_granted_as_a_whole(kind: str) -> None:
    issued = Layer([_grant("allow", "echo")])
    access = Access(Grants(issued=issued), Clock())
    call = a_call(kind, "echo", method="x/y", target=Target("srv", "echo"))  # type: ignore[arg-type]
    assert (await _refusal(access, call)).reason == "access_denied"
    assert not access.may_reach(AGENT, "srv")
    issued.put(_grant("allow"))
    assert await _source(access, call) == "server_grant"
    assert access.may_reach(AGENT, "srv")


def _redefined(tool: Tool) -> Tool:
    return replace(tool, definition={**tool.definition, "title": Raw(b'"Another"')})


async def test_a_grant_for_another_definition_does_not_count_and_the_refusal_says_so() -> None:
    digest = definition_digest(TOOL.definition)
    access = Access(Grants([_grant("allow", "echo", tool_digest=digest)]), Clock())
    changed = _redefined(TOOL)
    assert await _source(access, a_tool_call(TOOL)) == "tool_grant"
    found = await _refusal(access, a_tool_call(changed))
    assert "definition has changed since it was granted" in found.message
    assert found.details == {"outdated": "tool_grant"}
    assert not access.may_see(AGENT, changed)
    assert access.may_see(AGENT, TOOL)


async def test_what_would_be_is_judged_like_what_is_and_leaves_no_fact() -> None:
    access = Access(Grants([_grant("allow", "echo")]), Clock())
    for tool in (TOOL, OTHER):
        call = a_tool_call(tool)
        refusal = access.judge(call)
        assert call.facts == {}
        assert (refusal or call) == access(call, Mute())
        allowed, source, word = access.of_tool(AGENT, "srv", tool.target.name, tool)
        assert (allowed, source) == (refusal is None, call.facts["access"])
        assert word.source == source
    assert access.of_server(AGENT, "srv")[:2] == (False, "default_policy")


async def test_a_list_is_open_because_its_lines_are_not() -> None:
    call = a_call("list", "", method="tools/list")
    assert Access(Grants(), Clock())(call, Mute()) is call


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
async def test_a_call_that_lost_its_target_is_refused(kind: str) -> None:
    call = a_call(kind, caller=OPERATOR)  # type: ignore[arg-type]
    assert (await _refusal(Access(Grants(), Clock()), call)).reason == "access_denied"


async def test_the_methods_of_the_kernel_do_not_exist_for_agents_unless_they_are_open() -> None:
    access = Access(Grants(), Clock(), open_methods={"mgp/health/ping"})
    closed = a_call("method", "", method="mgp/access/grant")
    assert (await _refusal(access, closed)).reason == "method_not_found"
    for call in (
        a_call("method", "", method="mgp/health/ping"),
        a_call("method", "", method="logging/setLevel"),
        a_call("method", "", method="mgp/access/grant", caller=OPERATOR),
    ):
        assert access(call, Mute()) is call


async def test_the_gateways_own_tools_are_open_to_operators_and_to_no_owner() -> None:
    """MGP-5.4-6"""
    access = Access(Grants(), Clock())
    query = a_tool("access.query", KERNEL)
    assert access.may_see(OPERATOR, query)
    assert not access.may_see(Caller("local", "owner"), query)
    assert not access.may_see(AGENT, query)


async def test_questions_about_what_there_is_not_are_not_remembered() -> None:
    """Whoever may ask about itself chooses the names, however long and however many."""
    access = Access(Grants([_grant("allow")]), Clock())
    assert await _source(access, a_tool_call(TOOL)) == "server_grant"
    kept = len(access._decided)
    for number in range(100):
        assert access.of_tool(AGENT, "srv", f"none-{number}", None)[0]
        assert not access.of_tool(AGENT, f"none-{number}", "echo", None)[0]
        assert not access.of_server(AGENT, f"none-{number}")[0]
    assert access.of_server(AGENT, "srv")[0]
    assert len(access._decided) == kept


@pytest.mark.parametrize("kind", ["agent", "owner"])
async def test_what_an_agent_registered_is_open_to_it_and_to_no_namesake(kind: Any) -> None:
    """A key may be named as a host of this machine is."""
    creator = Caller("cursor", kind)
    access = Access(Grants(), Clock(), private={"srv": creator.who})
    assert await _source(access, a_tool_call(TOOL, caller=creator)) == "owner"
    assert access.may_see(creator, TOOL)
    assert access.may_reach(creator, "srv")
    others = {"agent": "owner", "owner": "agent"}
    for other in (Caller("cursor", others[kind]), Caller("bob"), Caller("local", "owner")):  # type: ignore[arg-type]
        assert (await _refusal(access, a_tool_call(TOOL, caller=other))).reason == "access_denied"
        assert not access.may_see(other, TOOL)
        assert not access.may_reach(other, "srv")
    assert await _source(access, a_tool_call(TOOL, caller=OPERATOR)) == "owner"


async def test_what_the_table_says_of_a_registered_server_comes_first() -> None:
    creator = Caller("cursor")
    denied = Grant("cursor", "srv", None, "deny")
    access = Access(Grants([denied]), Clock(), private={"srv": creator.who})
    assert (await _refusal(access, a_tool_call(TOOL, caller=creator))).reason == "access_denied"
    given = Grant("bob", "srv", None, "allow")
    access = Access(Grants([given]), Clock(), private={"srv": creator.who})
    assert await _source(access, a_tool_call(TOOL, caller=Caller("bob"))) == "server_grant"


async def test_what_a_nameless_caller_registered_is_no_other_ones() -> None:
    access = Access(Grants(), Clock(), private={"srv": ANONYMOUS.who})
    found = await _refusal(access, a_tool_call(TOOL, caller=ANONYMOUS))
    assert found.reason == "access_denied"
