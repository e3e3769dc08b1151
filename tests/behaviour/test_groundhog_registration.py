"""Tools that are registered while the gateway runs, at every Groundhog door, and used at all the others."""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from tests.behaviour.groundhog_house import DOORS, INVOKE, REGISTER, GroundhogHouse, houses
from tests.behaviour.hosts import host

pytestmark = pytest.mark.timeout(180)
_COUNT = itertools.count(1)
LITTLE, BIG = 2**25, 2**28
"""The least that may be asked for, and enough for a folder of so many entries."""
MANY, LONG = 10_000, "é" * 120


@pytest.fixture(scope="module")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, GroundhogHouse]]:
    """Gateways of its own: what is registered at them, and made in their folders, stays."""
    with houses(tmp_path_factory.mktemp("registering")) as found:
        yield found


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def house(grounds: dict[str, GroundhogHouse], door: str) -> GroundhogHouse:
    return grounds[door]


def registration(**profile: Any) -> dict[str, Any]:
    """The specification's, in a version that nobody had."""
    found = copy.deepcopy(REGISTER)
    found["tool_metadata"]["version"] = f"0.{next(_COUNT)}.0"
    found["security_profile"] |= profile
    return found


async def test_the_example_of_a_registration_is_registered_listed_and_called(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-msg-5, GRH-reg-5 and GRH-reg-7: in a container that holds; or refused, with the reason, and registered without one."""
    request, level = REGISTER, "container"
    async with house.operator(door) as operator, house.client(door) as client:
        response = await operator.exchange(
            {"jsonrpc": "2.0", "id": "3", "method": "tools/register", "params": request}
        )
        if "error" in response:
            data = response["error"]["data"]
            assert data["error_code"] == "policy_violation"
            assert "sandbox_level 'container' cannot be given here" in data["error_message"]
            level = "process"
            profile = {**REGISTER["security_profile"], "sandbox_level": level}
            request = {**REGISTER, "security_profile": profile}
            response = await operator.exchange(
                {"jsonrpc": "2.0", "id": "4", "method": "tools/register", "params": request}
            )
        result = response["result"]
        assert set(result) == {"tool_id", "tool_instance", "registration_time"}
        assert result["tool_id"] == "directory_list"
        listed = await client.request("tools/list", {"category": "filesystem"})
        tool = next(one for one in listed["tools"] if one["tool_id"] == "directory_list")
        assert tool["author"] == "Groundhog Team"
        assert tool["security_profile"] == {
            "permissions": ["read:filesystem"],
            "sandbox_level": level,
            "resource_limits": {"max_execution_time": 30, "max_memory": 268435456},
        }
        invoked = {**INVOKE, "security_context": {"permissions": ["read:filesystem"]}}
        done = await client.request("tools/invoke", invoked)
        assert "./src/main.rs" in [one["path"] for one in done["data"]["entries"]]
        again = await operator.request("tools/register", request)
        assert again["tool_id"] == "directory_list"


async def test_a_version_that_is_registered_is_there_at_once_and_selected(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-msg-4, GRH-reg-4 and GRH-reg-5."""
    request = registration(sandbox_level="none", resource_limits={})
    version = request["tool_metadata"]["version"]
    async with house.operator(door) as operator, house.client(door) as client:
        call = {"tool_id": "directory_list", "tool_version": version, "parameters": {"path": "."}}
        assert (await client.refusal("tools/invoke", call)).data["error_code"] == "not_found"
        await operator.request("tools/register", request)
        assert (await client.request("tools/invoke", call))["status"] == "success"
        request["tool_metadata"]["description"] = "another"
        conflict = await operator.refusal("tools/register", request)
        assert (conflict.data["error_type"], conflict.data["error_code"]) == (
            "validation_error",
            "conflict",
        )


async def test_limits_of_a_registration_hold(house: GroundhogHouse, door: str) -> None:
    """GRH-reg-6: its process has the memory that it was given, and says what it took."""
    request = registration(sandbox_level="process", resource_limits={"max_memory": BIG})
    version = request["tool_metadata"]["version"]
    async with house.operator(door) as operator, house.client(door) as client:
        await operator.request("tools/register", request)
        result = await client.invoke("directory_list", {"path": "."}, tool_version=version)
    record = house.records(result["security_context"]["audit_id"])[-1]
    assert 1024 * 1024 < record["details"]["memory_bytes"] < BIG


@pytest.mark.parametrize("level", ["none", "process"])
async def test_what_takes_more_memory_than_its_registration_has_ends_as_that(
    house: GroundhogHouse, door: str, level: str
) -> None:
    """GRH-reg-6: over memory → resource error, and the record says so; the same call with room for it is answered."""
    many = house.root / "many"
    many.mkdir(exist_ok=True)
    for number in range(MANY):
        (many / f"{number:05}{LONG}").touch()
    async with house.operator(door) as operator, house.client(door) as client:
        ends = []
        for memory in (LITTLE, BIG):
            request = registration(sandbox_level=level, resource_limits={"max_memory": memory})
            version = request["tool_metadata"]["version"]
            await operator.request("tools/register", request)
            call = {"tool_id": "directory_list", "tool_version": version}
            ends.append({**call, "parameters": {"path": "many", "max_entries": MANY}})
        ends[1]["parameters"]["max_entries"] = (
            10  # what is read is the same, and the answer is short
        )
        refused = await client.refusal("tools/invoke", ends[0])
        done = await client.request("tools/invoke", ends[1])
    assert done["status"] == "success"
    assert refused.data["error_code"] == "resource_limit"
    assert refused.data["details"]["max_memory"] == LITTLE
    record = house.records(refused.data["security_context"]["audit_id"])[-1]
    assert (record["outcome"], record["details"]["reason"]) == ("error", "resource_exhausted")


@pytest.mark.parametrize("door", [one for one in DOORS if one != "http"])
async def test_a_call_ends_when_the_time_of_its_registration_is_over(
    grounds: dict[str, GroundhogHouse], door: str
) -> None:
    """GRH-reg-6: a provider that says nothing is waited for so long, and no longer; another call, which may take longer, goes on."""
    house, name = grounds[door], f"silent_{next(_COUNT)}"

    def request(seconds: float) -> dict[str, Any]:
        return {
            "tool_metadata": {"name": f"{name}_{seconds:g}", "version": "1.0.0"},
            "security_profile": {"resource_limits": {"max_execution_time": seconds}},
            "schema": {"input": {"type": "object"}, "output": {"type": "object"}},
            "implementation": "connection",
        }

    async with house.operator(door) as provider, house.client(door) as client:
        names = [
            (await provider.request("tools/register", request(one)))["tool_id"] for one in (25, 0.2)
        ]
        calls = [
            asyncio.create_task(client.refusal("tools/invoke", {"tool_id": one})) for one in names
        ]
        asked = [(await provider.others.get())["params"]["tool_id"] for _ in calls]
        late = await calls[1]
        assert not calls[0].done()
        calls[0].cancel()
    assert (late.data["error_type"], late.data["error_code"]) == ("tool_error", "timeout")
    assert sorted(asked) == sorted(names)


async def test_isolation_that_is_not_there_is_refused_and_said(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-reg-7: there are no virtual machines here."""
    async with house.operator(door) as operator:
        refused = await operator.refusal("tools/register", registration(sandbox_level="vm"))
    assert refused.data["error_code"] == "policy_violation"
    assert "virtual machines are not made here" in refused.data["error_message"]


@pytest.mark.parametrize(
    ("change", "kind", "field"),
    [
        ({"tool_metadata": {"version": "1"}}, "protocol_error", "tool_metadata.name"),
        ({"schema": {}}, "protocol_error", "schema.input"),
        (
            {"security_profile": {"sandbox_level": "x"}},
            "validation_error",
            "security_profile.sandbox_level",
        ),
        ({"schema": {"input": {"type": "text"}}}, "validation_error", "schema.input"),
    ],
)
async def test_a_registration_that_makes_no_sense_names_the_field(
    house: GroundhogHouse, door: str, change: dict[str, Any], kind: str, field: str
) -> None:
    """GRH-reg-1, GRH-reg-2, GRH-reg-3 and GRH-test-4."""
    async with house.operator(door) as operator:
        refused = await operator.refusal("tools/register", {**registration(), **change})
    assert refused.data["error_type"] == kind
    assert field in refused.data["error_message"]


async def test_registering_takes_a_right(house: GroundhogHouse, door: str) -> None:
    """GRH-test-3: an operator's, or the permission to write the registry."""
    writer = house.user(permissions=("kernel.registry.write",))[1]
    reader = house.user(permissions=("kernel.registry.read", "filesystem.read"))[1]
    request = registration(sandbox_level="none", resource_limits={})
    for key in (house.user()[1], reader):
        async with house.client(door, key) as client:
            refused = await client.refusal("tools/register", request)
            assert refused.data["error_code"] in {"permission_denied", "invalid_method"}
    async with house.client(door, writer) as client:
        assert (await client.request("tools/register", request))["tool_id"] == "directory_list"


@pytest.mark.parametrize("door", ["main websocket", "websocket", "tcp"])
async def test_a_connection_stands_behind_a_tool_as_long_as_it_lasts(
    grounds: dict[str, GroundhogHouse], door: str
) -> None:
    """GRH-reg-5, GRH-reg-6, GRH-reg-8 and GRH-test-7: registered here, called at an MCP door."""
    house = grounds[door]
    name = f"greet_{next(_COUNT)}"
    request = {
        "tool_metadata": {"name": name, "version": "1.0.0", "categories": ["greeting"]},
        "security_profile": {"resource_limits": {"max_execution_time": 20}},
        "schema": {
            "input": {"type": "object", "properties": {"who": {"type": "string"}}},
            "output": {"type": "object", "required": ["greeting"]},
        },
        "implementation": "connection",
    }
    _, key = house.user()
    async with house.operator(door) as provider, house.client(door, key) as client:
        provider.serves = lambda asked: (
            {"data": {"greeting": f"hello {asked['params']['parameters']['who']}"}}
            if asked["params"]["parameters"].get("who")
            else {"data": {"nothing": 1}}
        )
        assert (await provider.request("tools/register", request))["tool_id"] == name
        result = await client.invoke(name, {"who": "ann"})
        assert result["data"] == {"greeting": "hello ann"}
        wrong = await client.refusal("tools/invoke", {"tool_id": name, "parameters": {}})
        assert wrong.data["error_code"] == "invalid_output"
        headers = {"authorization": f"Bearer {key}"}
        async with host(house.gateway, "http 2025-11-25", headers=headers) as mcp:
            called = await mcp.call(name, who="bob")
            assert called["structuredContent"] == {"greeting": "hello bob"}
    async with house.client(door, key) as client:
        gone = await client.refusal("tools/invoke", {"tool_id": name, "parameters": {"who": "x"}})
        assert gone.data["error_code"] in {"not_found", "upstream"}


@pytest.mark.parametrize("door", ["main websocket", "websocket", "tcp"])
async def test_a_connection_that_is_another_callers_now_is_asked_for_nothing_any_more(
    grounds: dict[str, GroundhogHouse], door: str
) -> None:
    """Whoever offered the tool can be revoked, and nobody would end a connection that shows the key of somebody else."""
    house = grounds[door]
    name = f"greet_{next(_COUNT)}"
    request = {
        "tool_metadata": {"name": name, "version": "1.0.0", "categories": ["greeting"]},
        "security_profile": {},
        "schema": {"input": {"type": "object"}, "output": {"type": "object"}},
        "implementation": "connection",
    }
    _, key = house.user()
    heard: list[Any] = []
    async with house.operator(door) as provider, house.client(door, key) as client:

        def serves(asked: dict[str, Any]) -> dict[str, Any]:
            heard.append(asked)
            return {"data": {"n": len(heard)}}

        provider.serves = serves
        await provider.request("tools/register", request)
        assert (await client.invoke(name, {}))["data"] == {"n": 1}
        await provider.request("session/create", {"token": house.user()[1]})
        gone = await client.refusal("tools/invoke", {"tool_id": name, "parameters": {}})
        assert gone.data["error_code"] in {"not_found", "upstream"}
        assert len(heard) == 1


async def test_one_tool_answers_at_every_door_of_the_gateway(
    grounds: dict[str, GroundhogHouse],
) -> None:
    """GRH-int-2 and GRH-test-7: an external request is translated, handled and translated back."""
    house = grounds["websocket"]
    _, key = house.user()
    headers = {"authorization": f"Bearer {key}"}
    async with house.client("websocket", key) as client:
        ours = (await client.invoke("directory_list", {"path": "./src"}))["data"]["entries"]
    async with aiohttp.ClientSession(headers=headers) as http:
        rest = house.gateway.urls["rest"]
        async with http.post(f"{rest}/directory_list", json={"path": "./src"}) as answer:
            assert answer.status == 200, await answer.text()
            body = await answer.json()
    async with host(house.gateway, "http 2025-11-25", headers=headers) as mcp:
        called = (await mcp.call("directory_list", path="./src"))["structuredContent"]
    assert body["entries"] == called["entries"] == ours
