"""Groundhog's messages at every door that speaks them, through a client written from its text alone."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

import pytest

from tests.behaviour.groundhog_client import DEADLINE, RefusedError
from tests.behaviour.groundhog_house import DOORS, INVOKE, GroundhogHouse

pytestmark = pytest.mark.timeout(180)
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def house(grounds: dict[str, GroundhogHouse], door: str) -> GroundhogHouse:
    return grounds[door]


def names(result: dict[str, Any]) -> list[str]:
    return [one["tool_id"] for one in result["tools"]]


async def test_the_example_of_an_invocation_runs_word_for_word(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-msg-1, GRH-msg-3, GRH-msg-6 and GRH-msg-7: request and success body as they are printed."""
    key = house.user("user123")[1]
    async with house.client(door, key) as client:
        response = await client.exchange(
            {"jsonrpc": "2.0", "id": "2", "method": "tools/invoke", "params": INVOKE}
        )
    assert set(response) == {"jsonrpc", "id", "result"}
    assert (response["jsonrpc"], response["id"]) == ("2.0", "2")
    result = response["result"]
    assert set(result) == {"tool_id", "execution_id", "status", "data", "security_context"}
    assert (result["tool_id"], result["status"]) == ("directory_list", "success")
    assert result["execution_id"].startswith("exec-")
    context = result["security_context"]
    audit_id = context.pop("audit_id")
    assert context == {"access_granted": True, "permissions_used": ["read:filesystem"]}
    record = house.records(audit_id)[-1]
    assert (record["target"]["tool_name"], record["outcome"]) == ("directory_list", "success")
    assert (record["actor"]["id"], record["door"]) == ("user123", "groundhog")
    data = result["data"]
    assert data["path"] == "./src"
    entry = next(one for one in data["entries"] if one["name"] == "main.rs")
    assert MOMENT.fullmatch(entry.pop("modified"))
    assert entry == {
        "name": "main.rs",
        "path": "./src/main.rs",
        "type": "file",
        "size": 1024,
        "permissions": "rw-r--r--",
    }
    assert set(data["metadata"]) == {"total_entries", "execution_time", "truncated"}
    assert data["metadata"]["total_entries"] == len(data["entries"])
    assert data["metadata"]["truncated"] is False


async def test_depth_and_recursion_are_honoured(house: GroundhogHouse, door: str) -> None:
    """GRH-msg-10."""
    async with house.client(door) as client:

        async def found(**more: Any) -> set[str]:
            result = await client.invoke("directory_list", {"path": "./src", **more})
            return {one["path"] for one in result["data"]["entries"]}

        assert await found() == {"./src/main.rs", "./src/one"}
        assert await found(recursive=False, max_depth=3) == {"./src/main.rs", "./src/one"}
        three = await found(recursive=True, max_depth=3)
        assert "./src/one/two/three" in three
        assert "./src/one/two/three/c.txt" not in three
        assert "./src/one/two/three/c.txt" in await found(recursive=True)
        assert "./src/.hidden" in await found(include_hidden=True)


async def test_tools_are_listed_by_category_and_trust(house: GroundhogHouse, door: str) -> None:
    """GRH-msg-2: the specification's request, and each filter by itself."""
    async with house.client(door) as client:
        both = await client.request(
            "tools/list", {"category": "filesystem", "trust_level": "verified"}
        )
        assert names(both) == ["directory_list"]
        every = names(await client.request("tools/list"))
        assert {"directory_list", "echo__echo"} <= set(every)
        assert names(await client.request("tools/list", {"category": "text"})) == ["echo__echo"]
        community = await client.request("tools/list", {"trust_level": "community"})
        assert names(community) == ["echo__echo"]
        assert names(await client.request("tools/list", {"category": "none"})) == []
    (tool,) = both["tools"]
    assert (tool["name"], tool["version"], tool["author"]) == (
        "directory_list",
        "1.0.0",
        "Gatewright",
    )
    assert tool["categories"] == ["filesystem", "utility"]
    assert tool["security_profile"]["permissions"] == ["read:filesystem"]
    assert tool["schema"]["input"]["required"] == ["path"]
    assert tool["schema"]["output"]["required"] == ["path", "entries", "metadata"]


async def test_a_search_is_ranked_and_limited_among_what_the_user_may_use(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-disc-1, GRH-disc-2 and GRH-disc-3."""
    writer = house.user(permissions=("filesystem.read", "filesystem.write"))[1]
    async with house.client(door) as client, house.client(door, writer) as able:
        every = await client.request("tools/list")
        assert "writer__echo" not in names(every)
        assert "writer__echo" in names(await able.request("tools/list"))
        found = await client.request("tools/list", {"query": "list a directory"})
        assert names(found)[0] == "directory_list"
        assert set(found) == {"tools", "total_matches", "search_time"}
        assert found["total_matches"] == len(found["tools"])
        assert 0 <= found["search_time"] < 60
        one = await able.request("tools/list", {"query": "say same again", "limit": 1})
        assert one["total_matches"] == 3  # three servers have one
        assert len(one["tools"]) == 1


async def test_the_example_of_an_error_is_answered_in_its_shape(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-msg-8, GRH-msg-9 and GRH-sec-5: a path outside of the allowed list, with the example's number."""
    async with house.client(door) as client:
        refused = await client.refusal(
            "tools/invoke", {"tool_id": "directory_list", "parameters": {"path": "/etc/passwd"}}
        )
    assert (refused.code, refused.message) == (-32601, "Tool execution failed")
    data = refused.data
    audit_id = data["security_context"].pop("audit_id")
    assert MOMENT.fullmatch(data.pop("timestamp"))
    assert data == {
        "error_type": "security_error",
        "error_code": "path_not_allowed",
        "error_message": "Access to the specified path is not permitted",
        "details": {
            "requested_path": "/etc/passwd",
            "reason": "Path not in allowed list",
            "suggestion": "Request access to an allowed directory",
        },
        "security_context": {"violation_type": "unauthorized_access"},
    }
    assert house.records(audit_id)[-1]["decision"]["reason"] == "path_not_allowed"
    if door == "tcp":
        assert "path_not_allowed" in house.gateway.cli("audit", "show", audit_id)


async def test_links_never_lead_out_of_the_roots(house: GroundhogHouse, door: str) -> None:
    """GRH-msg-8: neither named nor found on the way."""
    async with house.client(door) as client:
        for path in ("./out", "out/ssh", "../..", "src/../../..", "/proc/self/root/etc"):
            refused = await client.refusal(
                "tools/invoke", {"tool_id": "directory_list", "parameters": {"path": path}}
            )
            assert refused.data["error_code"] == "path_not_allowed", path
        result = await client.invoke("directory_list", {"path": ".", "recursive": True})
    kinds = {one["path"]: one["type"] for one in result["data"]["entries"]}
    assert kinds["./out"] == "symlink"
    assert not [path for path in kinds if path.startswith("./out/")]


async def test_the_version_that_is_asked_for_is_the_one_that_runs(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-msg-4: a version that is not there is an error."""
    async with house.client(door) as client:
        for version in ("1.0.0", None):
            params = {"tool_id": "directory_list", "tool_version": version}
            result = await client.request("tools/invoke", {**params, "parameters": {"path": "."}})
            assert result["status"] == "success"
        refused = await client.refusal(
            "tools/invoke",
            {"tool_id": "directory_list", "tool_version": "9.9.9", "parameters": {"path": "."}},
        )
        assert (refused.data["error_type"], refused.data["error_code"]) == (
            "tool_error",
            "not_found",
        )
        unknown = await client.refusal("tools/invoke", {"tool_id": "no_such_tool"})
        assert unknown.data["error_code"] == "not_found"


@pytest.mark.parametrize("ident", ["unique-request-id", "", 7, -1])
async def test_an_id_comes_back_with_its_json_type(
    house: GroundhogHouse, door: str, ident: Any
) -> None:
    """GRH-msg-1."""
    async with house.client(door) as client:
        response = await client.exchange(
            {"jsonrpc": "2.0", "id": ident, "method": "tools/list", "params": {}}
        )
    assert response["id"] == ident
    assert type(response["id"]) is type(ident)


PROTOCOL_ERRORS: tuple[tuple[dict[str, Any], int, str, dict[str, Any]], ...] = (
    (
        {"method": "tools/burn", "params": {}},
        -32601,
        "invalid_method",
        {},
    ),
    (
        {"method": "tools/invoke", "params": {"parameters": {}}},
        -32602,
        "missing_fields",
        {"missing_fields": ["tool_id"]},
    ),
    (
        {"method": "tools/list", "params": {"protocol_version": "0.9"}},
        -32600,
        "unsupported_version",
        {"requested": "0.9", "supported": ["1.0.0"]},
    ),
    (
        {"method": "tools/list", "params": [1]},
        -32600,
        "invalid_message",
        {},
    ),
    (
        {"method": "tools/invoke", "params": {"tool_id": "echo__echo", "parameters": []}},
        -32600,
        "invalid_message",
        {"field": "parameters"},
    ),
)


@pytest.mark.parametrize(("message", "code", "name", "details"), PROTOCOL_ERRORS)
async def test_what_is_wrong_with_a_request_is_named(
    house: GroundhogHouse,
    door: str,
    message: dict[str, Any],
    code: int,
    name: str,
    details: dict[str, Any],
) -> None:
    """GRH-err-1, GRH-err-3, GRH-err-4, GRH-err-5 and GRH-test-1."""
    async with house.client(door) as client:
        response = await client.exchange({"jsonrpc": "2.0", "id": "x", **message})
        error = response["error"]
        assert error["code"] == code
        assert (error["data"]["error_type"], error["data"]["error_code"]) == (
            "protocol_error",
            name,
        )
        told = error["data"]["details"]
        assert {key: told.get(key) for key in details} == details
        assert (await client.invoke("echo__echo", {"message": "still here"}))["status"] == "success"


BROKEN = (
    b'{"jsonrpc"',
    b"[]",
    b'{"jsonrpc":"1.0","id":"1","method":"tools/list"}',
    b'"text"',
    b"7",
)


@pytest.mark.parametrize("frame", BROKEN)
async def test_what_is_no_json_rpc_is_an_invalid_message(
    house: GroundhogHouse, door: str, frame: bytes
) -> None:
    """GRH-err-2 and GRH-test-1."""
    async with house.client(door) as client:
        await client.send(frame)
        answer = await asyncio.wait_for(client.others.get(), DEADLINE)
        assert answer["error"]["code"] in {-32700, -32600}
        assert answer["error"]["data"]["error_code"] == "invalid_message"
        audit_id = answer["error"]["data"]["security_context"]["audit_id"]
        assert (await client.invoke("echo__echo", {"message": "still here"}))["status"] == "success"
    (record,) = house.records(audit_id)
    assert record["details"]["reason"] in {"parse_error", "invalid_request"}


async def test_several_messages_in_one_array_are_answered_in_one(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-test-1: arrays are JSON-RPC's, and this is no MCP door (decision C-51)."""
    frames = b'[{"jsonrpc":"2.0","id":"a","method":"tools/list"},{"jsonrpc":"2.0","method":"x"},7]'
    async with house.client(door) as client:
        await client.send(frames)
        answer: Any = await asyncio.wait_for(client.others.get(), DEADLINE)
    assert [one["id"] for one in answer] == ["a", None]
    assert "result" in answer[0]
    assert "error" in answer[1]


async def test_the_categories_of_errors_are_told_apart(house: GroundhogHouse, door: str) -> None:
    """GRH-err-1, GRH-err-7 and GRH-err-9: validation, tool and security errors of one tool."""
    async with house.client(door) as client:

        async def kind(tool: str, parameters: dict[str, Any]) -> tuple[str, str, int]:
            refused = await client.refusal(
                "tools/invoke", {"tool_id": tool, "parameters": parameters}
            )
            return refused.data["error_type"], refused.data["error_code"], refused.code

        assert await kind("directory_list", {}) == ("validation_error", "schema", -32602)
        assert await kind("directory_list", {"path": "src/main.rs"}) == (
            "tool_error",
            "execution_failed",
            -32601,
        )
        assert await kind("writer__echo", {"message": "x"}) == (
            "security_error",
            "permission_denied",
            -32601,
        )


async def test_a_directory_with_very_many_entries_is_cut(house: GroundhogHouse, door: str) -> None:
    """GRH-msg-7: and says so."""
    place = house.root / "many"
    place.mkdir(exist_ok=True)
    for number in range(30):
        (place / f"{number:03}").touch()
    async with house.client(door) as client:
        result = await client.invoke("directory_list", {"path": "many", "max_entries": 10})
    assert result["data"]["metadata"]["truncated"] is True
    assert result["data"]["metadata"]["total_entries"] == 10


async def test_calls_of_one_connection_do_not_wait_for_each_other(
    grounds: dict[str, GroundhogHouse],
) -> None:
    """GRH-msg-1: answers come as they are ready, by their ids."""
    house = grounds["websocket"]
    async with house.client("websocket") as client:
        began = time.monotonic()
        found = await asyncio.gather(
            *(client.invoke("echo__echo", {"message": str(number)}) for number in range(50))
        )
        assert [one["data"]["content"][0]["text"] for one in found] == list(map(str, range(50)))
        assert time.monotonic() - began < DEADLINE


async def test_mcp_is_spoken_on_the_same_path(grounds: dict[str, GroundhogHouse]) -> None:
    """GRH-cfg-3: by POST, by subprotocol, and by an `initialize` that comes first (decision C-48)."""
    house = grounds["websocket"]
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    key = house.user()[1]
    async with house.client("websocket", key) as client:
        found = await client.request("initialize", hello)
        assert found["protocolVersion"] == "2025-11-25"
        listed = await client.request("tools/list")
        assert "directory_list" in [one["name"] for one in listed["tools"]]
        with pytest.raises(RefusedError):
            await client.invoke("echo__echo", {"message": "x"})
