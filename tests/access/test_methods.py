"""`mgp/access/*`: what each method takes, answers and refuses, and to whom."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.access.grants import Decision, Grant, Grants, Key, Layer
from gatewright.access.methods import AccessMethods, access_tools
from gatewright.call import Answer, Call, Caller, Client, Failure, Mgp, Refusal
from tests.servers.rig import FakeBack, make_call

CLIENT = Client("2025-11-25", mgp=Mgp("0.2.0", ("access_control",)))
OPERATOR, AGENT = Caller("root", "operator"), Caller("ann")
NOW = 1_800_000_000.0


class Registry:
    """An authority whose word is a table in memory."""

    def __init__(self, *grants: Grant) -> None:
        self.layer = Layer(grants)
        self.grants = Grants(issued=self.layer)

    def judged(
        self, call: Call, agent: str, server: str, tool: str | None
    ) -> tuple[bool, Decision]:
        word = self.grants.decide(agent, server, tool or "", NOW)
        return word.permission == "allow", word

    def issue(self, call: Call, grant: Grant) -> Grant:
        self.layer.put(grant)
        return grant

    def take_back(self, call: Call, key: Key) -> Grant:
        gone = self.layer.remove(key)
        if gone is None:
            raise KeyError(key)
        return gone

    def written(self, key: Key) -> str:
        return "mgp.toml:7" if key[0] == "written" else ""


def asking(what: str, caller: Caller = OPERATOR, client: Client = CLIENT, **params: Any) -> Call:
    return make_call("method", f"mgp/access/{what}", params, client=client, caller=caller)


async def answered(registry: Registry, call: Call) -> dict[str, Any]:
    outcome = await AccessMethods(registry)(call, FakeBack())
    assert isinstance(outcome, Answer), outcome
    found: dict[str, Any] = json.loads(outcome.raw)
    return found


async def refused(registry: Registry, call: Call) -> Refusal | Failure:
    outcome = await AccessMethods(registry)(call, FakeBack())
    assert not isinstance(outcome, Answer)
    return outcome


async def test_a_query_has_the_five_members_of_the_specification() -> None:
    """MGP-5.4-1"""
    registry = Registry(
        Grant("ann", "files", None, "allow", "admin", NOW - 10, NOW + 0.5, "because")
    )
    found = await answered(registry, asking("query", agent_id="ann", server_id="files"))
    assert found == {
        "permission": "allow",
        "source": "server_grant",
        "granted_by": "admin",
        "granted_at": "2027-01-15T07:59:50Z",
        "expires_at": "2027-01-15T08:00:00.500Z",
    }
    nothing = await answered(registry, asking("query", agent_id="bob", server_id="files"))
    assert nothing == {
        "permission": "deny",
        "source": "default_policy",
        "granted_by": None,
        "granted_at": None,
        "expires_at": None,
    }


async def test_a_grant_for_another_definition_is_said_to_be_outdated() -> None:
    registry = Registry(Grant("ann", "files", "read", tool_digest="d1"))
    call = asking("query", agent_id="ann", server_id="files", tool_name="read")
    assert (await answered(registry, call))["outdated"] is True


async def test_who_grants_is_the_operator_unless_another_name_is_to_be_read() -> None:
    registry = Registry()
    made = await answered(
        registry,
        asking(
            "grant",
            entry_type="tool_grant",
            agent_id="ann",
            server_id="files",
            tool_name="run",
            permissions=["shell", "com.example.reports"],
            expires_at="2027-01-15T08:00:00",
        ),
    )
    assert made["granted_by"] == "root"
    assert made["permissions"] == ["shell.execute", "com.example.reports"]
    assert made["expires_at"] == "2027-01-15T08:00:00Z"
    assert made["status"] == "granted"
    (grant,) = registry.layer
    assert (grant.key, grant.expires_at) == (("ann", "files", "run"), NOW)
    gone = await answered(
        registry, asking("revoke", agent_id="ann", server_id="files", tool_name="run")
    )
    assert gone == {**made, "status": "revoked"}


@pytest.mark.parametrize(
    ("what", "params", "said"),
    [
        ("query", {}, "agent_id"),
        ("query", {"agent_id": 1, "server_id": "s"}, "agent_id"),
        ("query", {"agent_id": "a", "server_id": "s", "tool_name": 3}, "tool_name"),
        ("grant", {"agent_id": "a", "server_id": "s", "entry_type": "x"}, "entry_type"),
        ("grant", {"agent_id": "a", "server_id": "s", "permission": "x"}, "permission"),
        ("grant", {"agent_id": "a", "server_id": "s", "expires_at": "x"}, "write it like"),
        ("grant", {"agent_id": "a", "server_id": "s", "expires_at": 5}, "expires_at"),
        ("grant", {"agent_id": "a", "server_id": "s", "entry_type": "tool_grant"}, "tool_name"),
        ("grant", {"agent_id": "", "server_id": "s"}, "names an agent"),
        ("revoke", {"agent_id": "a", "server_id": "s"}, "no such grant was issued"),
        ("revoke", {"agent_id": "written", "server_id": "s"}, "mgp.toml:7"),
        (
            "revoke",
            {"agent_id": "a", "server_id": "s", "tool_name": "t", "entry_type": "server_grant"},
            "has no tool_name",
        ),
    ],
)
async def test_params_that_cannot_be_meant_are_refused_by_name(
    what: str, params: dict[str, Any], said: str
) -> None:
    """MGP-5.4-4"""
    found = await refused(Registry(), asking(what, **params))
    assert isinstance(found, Failure)
    assert found.reason == "invalid_params"
    assert said in found.message


@pytest.mark.parametrize("kind", ["agent", "owner", "anonymous"])
@pytest.mark.parametrize("what", ["grant", "revoke"])
async def test_who_is_no_operator_changes_nothing(kind: Any, what: str) -> None:
    """MGP-5.4-6: not even what is asked for is looked at."""
    registry = Registry(Grant("ann", "files"))
    every: tuple[dict[str, Any], ...] = ({"agent_id": "ann", "server_id": "files"}, {})
    for params in every:
        found = await refused(registry, asking(what, Caller("ann", kind), **params))
        assert isinstance(found, Refusal)
        assert (found.reason, found.gate) == ("permission_denied", "access")
    assert len(registry.layer) == 1


async def test_an_agent_may_ask_about_itself_alone() -> None:
    registry = Registry()
    mine = asking("query", AGENT, agent_id="ann", server_id="files")
    assert (await answered(registry, mine))["permission"] == "deny"
    other = await refused(registry, asking("query", AGENT, agent_id="bob", server_id="files"))
    assert isinstance(other, Refusal)
    assert other.reason == "permission_denied"


@pytest.mark.parametrize("mgp", [None, Mgp("0.2.0", ("security",))])
@pytest.mark.parametrize("what", ["query", "grant", "revoke"])
async def test_without_the_extension_no_method_exists(mgp: Mgp | None, what: str) -> None:
    """MGP-1.2-2"""
    client = Client("2025-11-25", mgp=mgp)
    found = await refused(Registry(), asking(what, client=client, agent_id="a", server_id="s"))
    assert isinstance(found, Failure)
    assert found.reason == "method_not_found"


async def test_another_word_is_no_method() -> None:
    found = await refused(Registry(), asking("own", agent_id="a", server_id="s"))
    assert isinstance(found, Failure)
    assert found.reason == "method_not_found"


async def test_as_tools_they_take_and_answer_the_same() -> None:
    registry = Registry()
    tools = access_tools(registry)
    assert set(tools) == {"access.query", "access.grant", "access.revoke"}

    def use(name: str, caller: Caller, **arguments: Any) -> Any:
        return tools[name][1](arguments, asking("query", caller), FakeBack())

    made = use("access.grant", OPERATOR, agent_id="ann", server_id="files")
    assert made["status"] == "granted"
    assert use("access.query", AGENT, agent_id="ann", server_id="files")["permission"] == "allow"
    refusal = use("access.revoke", AGENT, agent_id="ann", server_id="files")
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "permission_denied"
    flawed = use("access.grant", OPERATOR, agent_id="a", server_id="s", entry_type="tool_grant")
    assert isinstance(flawed, Failure)
    assert flawed.reason == "invalid_args"


@pytest.mark.parametrize("member", ["agent_id", "server_id", "tool_name"])
@pytest.mark.parametrize("what", ["query", "grant", "revoke"])
async def test_a_name_that_no_grant_can_have_is_refused(what: str, member: str) -> None:
    names: dict[str, Any] = {"agent_id": "ann", "server_id": "files", "tool_name": "read"}
    found = await refused(Registry(), asking(what, **{**names, member: "n" * 257}))
    assert found.reason == "invalid_params"
    assert member in found.message
    assert "256" in found.message


async def test_the_longest_name_may_be_asked_about() -> None:
    names: dict[str, Any] = {"agent_id": "a" * 256, "server_id": "s" * 256, "tool_name": "t" * 256}
    assert (await answered(Registry(), asking("query", **names)))["permission"] == "deny"
