"""The gate `access` with callers of whom more is said: tools by name, trust, paths and URIs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.call import KERNEL, Call, Caller, Refusal, Target, Tool, UserContext, verdict_of
from gatewright.mcp.wire.permissions import held_permission
from gatewright.schemas.json_pointers import strings
from gatewright.validators import resources
from tests.gate_parts import AGENT, Mute, a_call, a_tool, a_tool_call

ECHO = a_tool("echo")
ADD = a_tool("add")
OPEN = Grants([], {"srv": "opt-out"})


def _who(*permissions: str, **more: Any) -> Caller:
    held = tuple(held_permission(one) or one for one in permissions)
    return replace(AGENT, user=(UserContext(permissions=held, **more),))


def _access(grants: Grants | None = None, **more: Any) -> Access:
    return Access(grants or Grants(), lambda: 1000.0, **more)


async def _refused(access: Access, call: Call) -> Refusal:
    found = await verdict_of(access, call, Mute())
    assert isinstance(found, Refusal)
    assert found.gate == "access"
    assert access.judge(call) == found
    return found


async def _passes(access: Access, call: Call) -> dict[str, Any]:
    assert await verdict_of(access, call, Mute()) is call
    assert access.judge(call) is None
    return call.facts


async def test_a_tool_that_is_named_needs_no_grant_and_no_other_is_there() -> None:
    """GGEN-auth-4 and GGEN-auth-11: ToolInvoke(name) is for that tool only."""
    caller, access = _who("ToolInvoke(srv/echo)"), _access(OPEN)
    facts = await _passes(_access(), a_tool_call(ECHO, caller=caller, facts={}))
    assert facts["access"] == "caller_permission"
    assert (await _passes(access, a_tool_call(ECHO, caller=caller, facts={})))["access"] == (
        "default_policy"
    )
    found = await _refused(access, a_tool_call(ADD, caller=caller, facts={}))
    assert found.reason == "permission_denied"
    assert found.details["missing_permissions"] == ["kernel.tool.invoke:srv/add"]
    assert "ToolInvoke(srv/add)" in found.message
    assert access.of_tool(caller, "srv", "echo", None)[0]
    assert not access.of_tool(caller, "srv", "add", ADD)[0]


async def test_what_the_table_denies_stays_denied() -> None:
    """GRH-sec-7: a policy of the tool refuses, whatever the user holds."""
    caller = _who("ToolInvoke(srv/echo)", "ToolRead(srv/echo)")
    access = _access(Grants([Grant(AGENT.id, "srv", "echo", "deny")]))
    found = await _refused(access, a_tool_call(ECHO, caller=caller, facts={}))
    assert (found.reason, found.details) == ("access_denied", {})
    assert not access.may_see(caller, ECHO)


async def test_names_of_tools_never_open_the_tools_of_the_gateway() -> None:
    own = a_tool("access.grant", KERNEL)
    caller = _who("ToolInvoke(*)", "ToolsListAll")
    found = await _refused(_access(), a_tool_call(own, caller=caller, facts={}))
    assert found.reason == "access_denied"
    assert not _access().may_see(caller, own)


@pytest.mark.parametrize(
    ("permissions", "seen"),
    [
        (("ToolRead(srv/echo)",), [True, False]),
        (("ToolsListAll",), [True, True]),
        (("ToolInvoke(srv/echo)",), [False, False]),
        (("filesystem.read",), [True, True]),
    ],
)
def test_a_list_shows_what_may_be_read(permissions: tuple[str, ...], seen: list[bool]) -> None:
    """GGEN-auth-5 and GGEN-auth-6; without any word about tools the table decides."""
    caller = _who(*permissions)
    assert [_access(OPEN).may_see(caller, one) for one in (ECHO, ADD)] == seen


async def test_a_tool_that_may_only_be_read_is_not_called() -> None:
    """GGEN-auth-5"""
    caller = _who("ToolRead(srv/echo)")
    found = await _refused(_access(OPEN), a_tool_call(ECHO, caller=caller, facts={}))
    assert found.reason == "permission_denied"


async def test_who_may_read_nothing_gets_no_list() -> None:
    """GGEN-auth-6 and decision C-32."""
    listing = a_call("list", method="tools/list", caller=_who("ToolInvoke(srv/echo)"), facts={})
    found = await _refused(_access(OPEN), listing)
    assert found.reason == "permission_denied"
    assert "ToolsListAll" in found.message
    await _passes(_access(OPEN), replace(listing, caller=_who("ToolRead(srv/echo)")))
    await _passes(_access(OPEN), replace(listing, method="prompts/list"))


@pytest.mark.parametrize(
    ("permission", "method", "opened"),
    [
        ("AdminWrite", "mgp/discovery/register", True),
        ("AdminWrite", "mgp/discovery/deregister", True),
        ("AdminRead", "mgp/discovery/list", True),
        ("AdminRead", "mgp/discovery/register", False),
        ("ToolsListAll", "mgp/discovery/register", False),
        ("AdminWrite", "mgp/access/grant", False),
        ("AdminWrite", "gatewright/server/stop", False),
        ("filesystem.read", "mgp/discovery/register", False),
    ],
)
async def test_the_registry_is_opened_by_a_permission_and_nothing_else_is(
    permission: str, method: str, opened: bool
) -> None:
    """GGEN-auth-7 and GGEN-auth-8"""
    call = a_call("method", "", method=method, caller=_who(permission), facts={})
    if opened:
        await _passes(_access(), call)
    else:
        assert (await _refused_by_name(_access(), call)) == "method_not_found"


async def _refused_by_name(access: Access, call: Call) -> str:
    found = access(call, Mute())
    assert isinstance(found, Refusal)
    return found.reason


@pytest.mark.parametrize(
    ("trust", "risk", "passes"),
    [
        ("untrusted", "safe", True),
        ("untrusted", "moderate", False),
        ("community", "moderate", True),
        ("community", "dangerous", False),
        ("verified", "dangerous", True),
        ("system", "dangerous", True),
    ],
)
async def test_trust_bounds_the_risk(trust: Any, risk: str, passes: bool) -> None:
    """GRH-sec-4 and GRH-sec-8"""
    tool, access = a_tool("echo", risk_level=risk), _access(OPEN)
    call = a_tool_call(tool, caller=_who(trust=trust), facts={})
    assert access.may_see(call.caller, tool) is passes
    if passes:
        assert (await _passes(access, call))["constraints"]["trust_level"] == trust
        return
    found = await _refused(access, call)
    assert (found.reason, found.details["trust_level"]) == ("access_denied", trust)


BOUND = _who(resources=("/srv/data/**", "https://api.example/**"))


@pytest.mark.parametrize(
    ("arguments", "requested"),
    [
        ({"path": "/srv/data/a.txt"}, None),
        ({"url": "https://api.example/x"}, None),
        ({"words": "nothing that names a resource, not even /etc/passwd"}, None),
        ({"path": "/etc/passwd"}, "/etc/passwd"),
        ({"deep": [{"file": "/srv/data/../x"}]}, "/srv/data/../x"),
        ({"anything": "https://evil.example/x"}, "https://evil.example/x"),
    ],
)
async def test_an_argument_outside_is_not_allowed(
    arguments: dict[str, Any], requested: str | None
) -> None:
    """GRH-sec-5: path outside → path_not_allowed."""
    call = a_tool_call(ECHO, caller=BOUND, arguments=arguments, facts={})
    if requested is None:
        await _passes(_access(OPEN), call)
        return
    found = await _refused(_access(OPEN), call)
    assert found.reason == "path_not_allowed"
    assert found.details["requested_path"] == requested
    assert found.details["reason"] == "Path not in allowed list"


async def test_an_argument_that_is_declared_a_path_is_one() -> None:
    tool = a_tool("echo", validator_args={"paths": ("/what",)})
    call = a_tool_call(tool, caller=BOUND, arguments={"what": "plain"}, facts={})
    assert (await _refused(_access(OPEN), call)).details["path"] == "/what"


async def test_a_command_may_not_be_given_by_who_is_bound_to_resources() -> None:
    shell = a_tool("run", validator="sandbox")
    call = a_tool_call(shell, caller=BOUND, arguments={"command": "ls"}, facts={})
    assert (await _refused(_access(OPEN), call)).reason == "path_not_allowed"


async def test_relative_paths_are_read_from_the_folder_of_the_server(tmp_path: Path) -> None:
    caller = _who(resources=(f"{tmp_path}/src/**",))
    access = _access(OPEN, folders={"srv": str(tmp_path)})
    inside = a_tool_call(ECHO, caller=caller, arguments={"path": "./src/main.rs"}, facts={})
    await _passes(access, inside)
    outside = a_tool_call(ECHO, caller=caller, arguments={"path": "./etc/x"}, facts={})
    assert (await _refused(access, outside)).reason == "path_not_allowed"
    assert (await _refused(_access(OPEN), inside)).reason == "path_not_allowed"


async def test_resources_outside_are_neither_read_followed_nor_listed() -> None:
    """GRH-sec-5"""
    caller, access = _who(resources=("memo:///mine/**",)), _access(OPEN)
    mine, other = Target("srv", "memo:///mine/1"), Target("srv", "memo:///other")
    read = a_call("resource", other.name, method="resources/read", caller=caller, facts={})
    assert (await _refused(access, replace(read, target=other))).reason == "path_not_allowed"
    await _passes(access, replace(read, name=mine.name, target=mine))
    assert [access.may_touch(caller, one) for one in (mine, other)] == [True, False]
    assert access.may_touch(AGENT, other)
    follow = a_call("method", "", method="resources/subscribe", caller=caller, facts={})
    await _passes(access, replace(follow, params={"uri": mine.name}))
    found = await _refused(access, replace(follow, params={"uri": other.name}))
    assert found.details["path"] == "/uri"
    await _refused(access, replace(follow, params={"uri": 7}))


async def test_the_arguments_of_a_prompt_are_held_to_the_resources_of_its_caller() -> None:
    """GRH-sec-5"""
    access = _access(OPEN)

    def asked(arguments: Any) -> Call:
        params = {"name": "sum_up", "arguments": arguments}
        call = a_call("prompt", "sum_up", method="prompts/get", caller=BOUND, facts={})
        return replace(call, target=Target("srv", "sum_up"), params=params)

    await _passes(access, asked({"of": "/srv/data/x", "style": "short"}))
    found = await _refused(access, asked({"of": "/etc/passwd"}))
    assert (found.reason, found.details["path"]) == ("path_not_allowed", "/of")


@pytest.mark.parametrize("caller", [BOUND, _who("ToolInvoke(srv/echo)")])
async def test_methods_that_nobody_knows_are_not_tried_for_who_is_limited(caller: Caller) -> None:
    for method in ("completion/complete", "vendor/run"):
        call = a_call("method", "", method=method, caller=caller, facts={})
        assert await _refused_by_name(_access(OPEN), call) == "method_not_found"
    free = a_call("method", "", method="vendor/run", caller=_who("filesystem.read"), facts={})
    await _passes(_access(OPEN), free)


async def test_what_was_applied_is_in_the_record() -> None:
    """GRH-sec-8: the audit shows the constraints, and which permissions were used."""
    tool = a_tool("echo", permissions_required=("filesystem.read",))
    caller = _who("filesystem.read", role="analyst", resources=("/srv/**",))
    facts = await _passes(_access(OPEN), a_tool_call(tool, caller=caller, facts={}))
    assert facts == {
        "access": "default_policy",
        "constraints": {
            "trust_level": "verified",
            "max_risk": "dangerous",
            "role": "analyst",
            "allowed_resources": [["/srv/**"]],
        },
        "permissions_used": ["filesystem.read"],
    }


def _tool_of(server: str, name: str, exposed: str) -> Tool:
    return replace(a_tool(name, server), exposed=exposed)


async def test_a_tool_answers_to_the_name_by_which_it_is_shown() -> None:
    tool = _tool_of("srv", "analyse", "FinancialAnalyzer")
    call = a_tool_call(tool, caller=_who("ToolInvoke(FinancialAnalyzer)"), facts={})
    assert (await _passes(_access(), call))["access"] == "caller_permission"


async def test_a_token_hears_which_scope_would_do_beside_those_it_has() -> None:
    """A client that asks for the new scope alone would lose the others (RFC 6750, section 3.1)."""
    wanted = held_permission("ToolInvoke(srv/add)") or ""
    caller = _who("ToolInvoke(srv/echo)", scopes=("echo", "profile"), steps=((wanted, "adding"),))
    found = await _refused(_access(OPEN), a_tool_call(ADD, caller=caller, facts={}))
    assert found.reason == "insufficient_scope"
    assert found.details["scope"] == "echo profile adding"
    assert "a token with the scope adding does" in found.message


async def test_a_method_for_servers_is_held_to_the_resources_of_its_caller() -> None:
    """GRH-sec-5"""

    def subscribing(caller: Caller, **params: str) -> Call:
        call = a_call("method", "", method="resources/subscribe", caller=caller, facts={})
        return replace(call, params=params)

    bound, access = _who(resources=("/srv/**",)), _access()
    await _passes(access, subscribing(bound, uri="/srv/x"))
    await _passes(access, subscribing(bound))
    await _passes(access, subscribing(_who("filesystem.read"), uri="/etc/x"))
    found = await _refused(access, subscribing(bound, uri="/etc/x"))
    assert found.details["path"] == "/uri"


async def test_more_paths_than_are_judged_on_the_event_loop_are_refused() -> None:
    """Each component of each is a question to the file system."""
    access, caller = _access(OPEN), _who("filesystem.read", resources=("/srv/**",))
    few = {"files": [f"/srv/{number}" for number in range(100)]}
    await _passes(access, a_tool_call(a_tool(), caller=caller, arguments=few, facts={}))
    many = {"files": [f"/srv/{number}" for number in range(5000)]}
    found = await _refused(access, a_tool_call(a_tool(), caller=caller, arguments=many, facts={}))
    assert (found.reason, found.details["rule"]) == ("validation_blocked", "too_costly")
    assert "name fewer paths, or split it into several calls" in found.message
    assert "key create" not in found.message, "none has more room for paths"


@pytest.mark.parametrize("last", ["word", "/srv/a", "/etc/passwd"])
async def test_others_have_their_turn_while_thousands_of_texts_are_looked_through(
    last: str,
) -> None:
    access, caller = _access(OPEN), _who("filesystem.read", resources=("/srv/**",))
    many = {"words": ["word"] * 20_000 + [last]}
    call = a_tool_call(a_tool(), caller=caller, arguments=many, facts={})
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    found = await verdict_of(access, call, Mute())
    task.cancel()
    assert turns > 1
    assert isinstance(found, Refusal) is (last == "/etc/passwd")
    passed = isinstance(found, Call) and replace(found, touches=None) == call
    assert passed or (isinstance(found, Refusal) and found.details["path"] == "/words/20000")
    assert call.facts["constraints"]["allowed_resources"] == [["/srv/**"]]


async def test_what_is_refused_anyway_is_not_looked_through_first() -> None:
    caller = _who("filesystem.read", resources=("/srv/**",))
    many = {"words": ["word"] * 20_000}
    call = a_tool_call(a_tool(), caller=caller, arguments=many, facts={})
    found = _access()(call, Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "access_denied"


async def test_what_was_found_in_a_call_is_kept_for_whoever_asks_again_while_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    access, caller = _access(OPEN), _who("filesystem.read", resources=("/srv/**",))
    many = {"words": ["word"] * 20_000 + ["/srv/a", "/srv/b"]}
    call = await verdict_of(
        access, a_tool_call(a_tool(), caller=caller, arguments=many, facts={}), Mute()
    )
    assert isinstance(call, Call)
    looked = 0

    def counted(value: Any) -> Any:
        nonlocal looked
        for one in strings(value):
            looked += 1
            yield one

    monkeypatch.setattr(resources, "strings", counted)
    assert access.judge(call) is None
    narrower = replace(call, caller=_who("filesystem.read", resources=("/srv/a",)))
    refused = _access(OPEN).judge(narrower)
    assert refused is not None
    assert refused.details["path"] == "/words/20001"
    assert looked == 0
    # Arguments that were changed since are looked at anew, and of more than there is time for nobody can tell.
    other = replace(call, params={"arguments": {"words": ["word", "/etc/passwd"]}})
    refused = access.judge(other)
    assert refused is not None
    assert (refused.reason, looked) == ("path_not_allowed", 3)
    unseen = access.judge(replace(call, touches=None))
    assert unseen is not None
    assert (unseen.reason, looked <= 10_010) == ("validation_blocked", True)
