from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Caller, Client, Failure, Outcome, Refusal
from gatewright.dialects.groundhog.register import (
    Making,
    Register,
    Shipped,
    definition_of,
    registered_of,
)
from gatewright.dialects.groundhog.registration import Profile, read_registration
from gatewright.dialects.groundhog.sandboxed_run import Level
from gatewright.dialects.groundhog.tool_registry import Registered, Registry
from gatewright.mcp.wire.groundhog import META_TOOL
from gatewright.storage.errors import StoreError
from tests.dialects.groundhog.requests import REGISTER, changed

BASE = {
    "description": "shipped",
    "inputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True},
    "security": {"risk_level": "moderate", "permissions_required": ["filesystem.read"]},
}
NOBODY: Any = None


class House:
    """A registry and what registrations need; `flaw` is why isolation cannot be had."""

    def __init__(self, flaw: str = "") -> None:
        self.registry = Registry()
        self.flaw = flaw
        self.profiles: list[Profile] = []
        self.stored = 0
        self.full = False
        self.asked: list[dict[str, Any]] = []
        self.answers: Any = {"ok": True}
        self.connected = True
        self.behind: list[tuple[str, str, str]] = []
        self.users: dict[str, str] = {}
        self.making = Making(
            registry=self.registry,
            shipped={"directory_list": Shipped(BASE, self._make, self._prove)},
            may_register=lambda caller: caller.kind == "operator",
            connection=self._connection,
            stands_behind=lambda *one: self.behind.append(one),
            used=lambda name: self.users.get(name, ""),
            known=lambda: asyncio.sleep(0),
            ahead=lambda _: asyncio.sleep(0),
            stored=self._store,
            clock=lambda: 1704110400.0,
        )
        self.register = Register(self.making)

    def _make(self, profile: Profile) -> Any:
        self.profiles.append(profile)

        def run(arguments: dict[str, Any], call: Call, back: Back) -> Any:
            return {"path": arguments["path"], "entries": [], "metadata": {}}

        return run

    async def _prove(self, level: Level) -> str:
        return self.flaw if level != "none" else ""

    async def _store(self, one: Registered) -> None:
        assert one in self.registry.tools
        if self.full:
            raise StoreError("No space left on device")
        self.stored += 1

    def _connection(self, connection: str, name: str, version: str) -> Any:
        if not (self.connected and connection):
            return None

        async def run(arguments: dict[str, Any], call: Call, back: Back) -> Any:
            self.asked.append(arguments)
            if isinstance(self.answers, asyncio.Event):
                await self.answers.wait()
            return self.answers

        return run

    async def ask(self, request: dict[str, Any], caller: Caller | None = None) -> Outcome:
        who = caller or Caller("root", "operator")
        return await self.register(call("tools/register", request, who), NOBODY)

    async def invoke(self, name: str, **arguments: Any) -> Outcome:
        params = {"name": name, "arguments": arguments}
        asked = call("tools/call", params, Caller("ann"))
        return await self.registry.call("tools/call", params, asked, NOBODY)


def call(method: str, params: dict[str, Any], caller: Caller) -> Call:
    return Call(
        id="1",
        door="test",
        kind="method",
        method=method,
        name="",
        params=params,
        caller=caller,
        client=Client("2025-11-25"),
        trace_id="t",
        session="s",
        facts={"connection": "c"},
    )


def said(outcome: Outcome) -> Any:
    assert isinstance(outcome, Answer), outcome
    return json.loads(outcome.raw)["structuredContent"]


async def test_a_registered_tool_is_stored_listed_and_callable_at_once() -> None:
    """GRH-reg-5 and GRH-msg-5."""
    house = House()
    assert said(await house.ask(REGISTER)) == {
        "tool_id": "directory_list",
        "tool_instance": {
            "tool_id": "directory_list",
            "version": "1.0.0",
            "state": "ready",
            "sandbox_level": "container",
            "resource_limits": {"max_execution_time": 30.0, "max_memory": 268435456},
        },
        "registration_time": "2024-01-01T12:00:00Z",
    }
    assert house.stored == 1
    assert house.profiles == [Profile(("filesystem.read",), "container", 30.0, 268435456)]
    assert said(await house.invoke("directory_list", path="."))["path"] == "."


async def test_the_same_again_is_the_same_and_another_one_a_conflict() -> None:
    """GRH-reg-4."""
    house = House()
    first, again = said(await house.ask(REGISTER)), said(await house.ask(REGISTER))
    assert first == again
    conflict = await house.ask(changed("tool_metadata.description", "another"))
    assert isinstance(conflict, Failure)
    assert conflict.reason == "registration_conflict"
    assert "another version" in conflict.message
    said(await house.ask(changed("tool_metadata.version", "1.1.0")))
    assert len(house.registry.tools) == 2


async def test_isolation_that_cannot_be_had_is_refused_and_said() -> None:
    """GRH-reg-7: never given less than was asked for."""
    house = House(flaw="this machine refuses it: unshare: operation not permitted")
    refused = await house.ask(REGISTER)
    assert isinstance(refused, Refusal)
    assert refused.reason == "policy_violation"
    assert "unshare: operation not permitted" in refused.message
    assert refused.details["sandbox_level"] == "container"
    assert house.registry.tools == ()
    said(await house.ask(changed("security_profile.sandbox_level", "none")))


@pytest.mark.parametrize("kind", ["agent", "owner", "anonymous"])
async def test_who_may_not_register_is_told_what_it_takes(kind: Any) -> None:
    """GRH-test-3."""
    house = House()
    refused = await house.ask(REGISTER, Caller("ann", kind))
    assert isinstance(refused, Refusal)
    assert refused.reason == "permission_denied"
    assert refused.details == {"missing_permissions": ["kernel.registry.write"]}
    assert house.registry.tools == ()


async def test_a_name_that_nothing_implements_is_refused() -> None:
    """GRH-reg-5: no code comes with a registration."""
    refused = await House().ask(changed("tool_metadata.name", "format_disk"))
    assert isinstance(refused, Failure)
    assert (refused.reason, refused.details) == ("invalid_args", {"field": "tool_metadata.name"})
    assert "directory_list" in refused.message


async def test_what_cannot_be_stored_is_not_registered() -> None:
    """GRH-reg-5."""
    house = House()
    house.full = True
    failed = await house.ask(REGISTER)
    assert isinstance(failed, Failure)
    assert failed.reason == "internal"
    assert house.registry.tools == ()


def by_connection(**profile: Any) -> dict[str, Any]:
    request = changed("security_profile", profile)
    request["tool_metadata"]["name"] = "theirs"
    request["schema"]["output"] = {"type": "object", "required": ["ok"]}
    return {**request, "implementation": "connection"}


async def test_a_connection_can_stand_behind_a_tool() -> None:
    """GRH-reg-5 and GRH-reg-8."""
    house = House()
    said(await house.ask(by_connection(permissions=["connect:network"])))
    assert house.behind == [("c", "theirs", "1.0.0")]
    other = by_connection(permissions=["execute:shell"])
    assert isinstance(await house.ask(other), Failure)
    assert len(house.behind) == 1
    assert said(await house.invoke("theirs", path="x")) == {"ok": True}
    assert house.asked == [{"path": "x"}]
    house.answers = {"not": "what was promised"}
    wrong = await house.invoke("theirs", path="x")
    assert isinstance(wrong, Failure)
    assert wrong.reason == "output_invalid"


async def test_a_connection_that_takes_too_long_is_a_timeout() -> None:
    """GRH-reg-6."""
    house = House()
    said(await house.ask(by_connection(resource_limits={"max_execution_time": 0.01})))
    house.answers = asyncio.Event()
    late = await house.invoke("theirs", path="x")
    assert isinstance(late, Failure)
    assert late.reason == "timeout"


@pytest.mark.parametrize(
    ("profile", "reason", "words"),
    [
        ({"resource_limits": {"max_memory": 2**28}}, "invalid_args", "cannot be kept"),
        ({"sandbox_level": "process"}, "policy_violation", "where the connection comes from"),
        ({"sandbox_level": "vm"}, "policy_violation", "where the connection comes from"),
    ],
)
async def test_what_cannot_be_promised_for_a_connection_is_refused(
    profile: dict[str, Any], reason: str, words: str
) -> None:
    """GRH-reg-6 and GRH-reg-7: memory and isolation of a program that runs elsewhere."""
    house = House()
    refused = await house.ask(by_connection(**profile))
    assert isinstance(refused, Refusal | Failure)
    assert refused.reason == reason
    assert words in refused.message
    assert house.registry.tools == ()


async def test_a_connection_that_cannot_be_asked_stands_behind_nothing() -> None:
    house = House()
    house.connected = False
    refused = await house.ask(by_connection())
    assert isinstance(refused, Failure)
    assert refused.details == {"field": "implementation"}


def test_a_registration_narrows_what_stands_behind_it() -> None:
    """GRH-reg-2: it cannot leave a permission out, nor be called harmless."""
    bare = read_registration(changed("security_profile", {"permissions": ["execute:shell"]}))
    found = definition_of(bare, BASE)
    assert found["security"] == {
        "risk_level": "dangerous",
        "permissions_required": ["shell.execute", "filesystem.read"],
        "validator": "none",
        "confirmation_required": False,
    }
    assert found["annotations"] == {"readOnlyHint": True}
    assert found["_meta"][META_TOOL]["trust_level"] == "verified"
    theirs = definition_of(bare, None)
    assert theirs["security"]["permissions_required"] == ["shell.execute"]
    assert theirs["_meta"][META_TOOL]["trust_level"] == "community"


def test_what_differs_in_anything_has_another_fingerprint() -> None:
    """GRH-reg-4."""

    def run(arguments: dict[str, Any], call: Call, back: Back) -> Any:
        return arguments

    def fingerprint(request: dict[str, Any]) -> str:
        return registered_of(read_registration(request), BASE, run, None).fingerprint

    every = [
        REGISTER,
        changed("tool_metadata.author", "x"),
        changed("security_profile.resource_limits.max_memory", 2**29),
        changed("schema.input.properties", {}),
        changed("implementation", "connection"),
    ]
    assert len({fingerprint(one) for one in every}) == len(every)
    assert fingerprint(REGISTER) == fingerprint(changed("implementation", "shipped"))


# -- names that are somebody's


def over(name: str = "pump", version: str = "1.0.0") -> dict[str, Any]:
    """A registration of a tool that the connection answers for."""
    request = changed("tool_metadata.name", name)
    request["tool_metadata"]["version"] = version
    request["security_profile"] = {"permissions": [], "sandbox_level": "none"}
    return request | {"implementation": "connection"}


def refused_name(outcome: Outcome) -> bool:
    assert isinstance(outcome, Failure), outcome
    return (outcome.reason, outcome.details["field"]) == (
        "registration_conflict",
        "tool_metadata.name",
    )


async def test_a_name_that_leads_to_a_servers_tool_is_refused() -> None:
    house = House()
    house.users = {"pump": "factory"}
    outcome = await house.ask(over())
    assert refused_name(outcome)
    assert isinstance(outcome, Failure)
    assert "pump is what a tool of server factory is called" in outcome.message
    assert (house.registry.tools, house.behind) == ((), [])


async def test_a_name_that_reads_as_one_of_ours_is_refused() -> None:
    for name in ("mgp_approve", "Gate-Wright.confirm"):
        house = House()
        outcome = await house.ask(over(name=name))
        assert refused_name(outcome), name
        assert isinstance(outcome, Failure)
        assert "reads as one of the gateway's own tools" in outcome.message


async def test_a_name_that_was_registered_before_a_server_took_it_stays_registered() -> None:
    house = House()
    said(await house.ask(over()))
    house.users = {"pump": "factory"}
    said(await house.ask(over()))
    assert said(await house.ask(over(version="2.0.0")))["tool_id"] == "pump"


@pytest.mark.parametrize("version", ["1.0.0", "2.0.0", "0.9.0"])
async def test_no_version_of_anothers_tool_can_be_registered(version: str) -> None:
    """A newer one would take its plain name, and one more connection the calls when the first is gone."""
    house = House()
    said(await house.ask(over(), Caller("root", "operator")))
    assert refused_name(await house.ask(over(version=version), Caller("eve", "operator")))
    assert [(one.name, one.version) for one in house.registry.tools] == [("pump", "1.0.0")]
    assert len(house.behind) == 1


async def test_a_connection_takes_no_tool_that_the_gateway_stands_behind() -> None:
    house = House()
    said(await house.ask(REGISTER))
    for version in ("1.0.0", "9.0.0"):
        assert refused_name(await house.ask(over("directory_list", version)))


JSON: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    "",
    "x",
    "x" * 10_000,
    [],
    [1],
    [[]],
    ["x", {}],
    {},
    {"a": {}},
]


def members(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        inner = enumerate(value)
    return [path] * bool(path) + [
        found for key, one in inner for found in members(one, (*path, key))
    ]


@pytest.mark.parametrize("path", members(over()), ids=str)
async def test_every_member_of_every_type_has_a_named_answer(path: tuple[Any, ...]) -> None:
    """A list as `implementation` was an internal error."""
    for value in JSON:
        request = over()
        inner: Any = request
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        outcome = await House().ask(request)
        if not isinstance(outcome, Answer):
            assert outcome.reason in ("invalid_args", "invalid_params", "policy_violation"), value
