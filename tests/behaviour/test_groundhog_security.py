"""Who gets in, who is who, and what a request that says more of itself than is true gets; at every Groundhog door."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import aiohttp
import pytest

from gatewright.call import Trust
from tests.behaviour.groundhog_client import DEADLINE, RefusedError, connected
from tests.behaviour.groundhog_house import DOORS, REGISTER, SHUT_OUT, GroundhogHouse

pytestmark = pytest.mark.timeout(180)
ESCAPE = {"tool_id": "directory_list", "parameters": {"path": "/etc/passwd"}}
LEVELS: tuple[Trust, ...] = ("system", "verified", "community", "untrusted")


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def house(grounds: dict[str, GroundhogHouse], door: str) -> GroundhogHouse:
    return grounds[door]


async def test_four_users_are_told_four_depths_of_the_same_failure(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-err-12, GRH-err-13, GRH-err-14, GRH-err-15 and GRH-sec-4."""
    found = {}
    for level in LEVELS:
        async with house.client(door, house.trusted(level)) as client:
            # A tool of moderate risk is out of reach for who is untrusted: another refusal, as short.
            found[level] = (await client.refusal("tools/invoke", ESCAPE)).data
    assert found["system"]["details"]["requested_path"] == "/etc/passwd"
    assert found["system"]["details"]["gate"] == "roots"
    assert found["system"]["security_context"]["audit_id"]
    verified = found["verified"]["details"]
    assert set(verified) == {"requested_path", "reason", "suggestion"}
    assert set(found["community"]) == {"error_type", "error_code", "error_message"}
    assert set(found["untrusted"]) == {"error_type", "error_code"}
    sizes = [len(json.dumps(found[level])) for level in LEVELS]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 4


async def test_a_session_shows_its_user_and_what_it_may(house: GroundhogHouse, door: str) -> None:
    """GRH-sec-1, GRH-sec-3 and GRH-sec-4."""
    name, key = house.user(role="reader", trust="community", resources=(str(house.root / "src"),))
    async with house.client(door, key) as client:
        view = await client.request("session/get", {"session_id": f"of-{name}"})
    assert set(view) == {
        "session_id",
        "user_context",
        "permissions",
        "created_at",
        "expires_at",
        "rate_limit_state",
        "protocol_version",
    }
    assert view["user_context"] == {
        "user_id": name,
        "role": "reader",
        "trust_level": "community",
        "allowed_resources": [str(house.root / "src")],
    }
    assert view["permissions"] == ["read:filesystem"]
    assert view["protocol_version"] == "1.0.0"
    assert view["rate_limit_state"] == {"requests": 0, "limited": False, "retry_after_ms": None}


async def test_a_user_touches_only_its_allowed_resources(house: GroundhogHouse, door: str) -> None:
    """GRH-sec-5 and GRH-sec-8: the constraints that held are in the record."""
    _, key = house.user(resources=(str(house.root / "src"),))
    async with house.client(door, key) as client:
        result = await client.invoke("directory_list", {"path": "./src"})
        record = house.records(result["security_context"]["audit_id"])[-1]
        refused = await client.refusal(
            "tools/invoke", {"tool_id": "directory_list", "parameters": {"path": "./private"}}
        )
    assert record["details"]["constraints"]["allowed_resources"] == [[str(house.root / "src")]]
    assert refused.data["error_code"] == "path_not_allowed"
    assert refused.data["details"]["requested_path"] == "./private"


async def test_a_permission_that_is_lacking_is_named(house: GroundhogHouse, door: str) -> None:
    """GRH-sec-6 and GRH-err-7."""
    call = {"tool_id": "writer__echo", "parameters": {"message": "x"}}
    able = house.user(permissions=("filesystem.write",))[1]
    async with house.client(door) as client, house.client(door, able) as writer:
        refused = await client.refusal("tools/invoke", call)
        assert refused.data["error_code"] == "permission_denied"
        assert refused.data["details"]["missing_permissions"] == ["filesystem.write"]
        result = await writer.request("tools/invoke", call)
        assert result["security_context"]["permissions_used"] == ["write:filesystem"]


async def test_permissions_in_a_request_are_wishes(house: GroundhogHouse, door: str) -> None:
    """GRH-sec-9 and GRH-test-3: effective is what was requested and is held (decision C-47)."""
    able = house.user(permissions=("filesystem.write",))[1]

    def call(*permissions: str) -> dict[str, Any]:
        wanted = {"permissions": list(permissions)}
        parameters = {"message": "x"}
        return {"tool_id": "writer__echo", "parameters": parameters, "security_context": wanted}

    async with house.client(door) as client, house.client(door, able) as writer:
        forged = await client.refusal("tools/invoke", call("write:filesystem", "execute:shell"))
        assert forged.data["error_code"] == "permission_denied"
        narrow = await writer.refusal("tools/invoke", call("read:filesystem"))
        assert narrow.data["error_code"] == "permission_denied"
        wide = await writer.request("tools/invoke", call("write:filesystem", "execute:shell"))
        assert wide["security_context"]["permissions_used"] == ["write:filesystem"]


async def test_nobody_is_somebody_else_by_saying_so(house: GroundhogHouse, door: str) -> None:
    """GRH-err-10 and GRH-test-3: neither another user nor another user's session, and it is recorded."""
    victim, key = house.user()
    mine = f"session-of-{victim}"
    async with house.client(door, key) as owner, house.client(door) as client:
        await owner.invoke("echo__echo", {"message": "x"}, security_context={"session_id": mine})
        for claim in ({"user_id": victim}, {"session_id": mine}, {"user_id": "local"}):
            refused = await client.refusal(
                "tools/invoke",
                {"tool_id": "echo__echo", "parameters": {}, "security_context": claim},
            )
            data = refused.data
            assert data["error_code"] == "invalid_security_context"
            assert data["security_context"]["violation_type"] == "forged_context"
            record = house.records(data["security_context"]["audit_id"])[-1]
            assert record["actor"]["id"] != victim
            assert record["decision"] == {"gate": "session", "reason": "bad_security_context"}
        result = await owner.invoke(
            "echo__echo", {"message": "x"}, security_context={"session_id": mine}
        )
        assert result["status"] == "success"


async def test_a_grant_that_denies_holds_here_as_at_every_other_door(
    house: GroundhogHouse, door: str
) -> None:
    """MGP-5.5-3: of somebody whom a grant shuts out nothing is called, and nothing is listed."""
    async with house.client(door, house.user(SHUT_OUT)[1]) as client, house.client(door) as other:
        call = {"tool_id": "echo__echo", "parameters": {"message": "x"}}
        refused = await client.refusal("tools/invoke", call)
        listed = [one["tool_id"] for one in (await client.request("tools/list"))["tools"]]
        assert (await other.request("tools/invoke", call))["status"] == "success"
    assert (refused.data["error_type"], refused.data["error_code"]) == (
        "security_error",
        "permission_denied",
    )
    assert "echo__echo" not in listed
    record = house.records(refused.data["security_context"]["audit_id"])[-1]
    assert record["event_type"] == "TOOL_BLOCKED"
    assert record["decision"]["reason"] == "access_denied"


async def test_a_policy_of_the_tool_refuses_whoever_holds_everything(
    house: GroundhogHouse, door: str
) -> None:
    """GRH-sec-7 and GRH-err-9: tool-specific policy, here the validator of its paths, and its own roots."""
    async with house.operator(door) as client:
        refused = await client.refusal(
            "tools/invoke", {"tool_id": "guarded__echo", "parameters": {"message": "../../x"}}
        )
        assert (refused.data["error_type"], refused.data["error_code"]) == (
            "security_error",
            "policy_violation",
        )
        result = await client.invoke("guarded__echo", {"message": "inside/x"})
        assert result["status"] == "success"


@pytest.mark.parametrize("key", [None, "gw_nobody00_x", "x"])
async def test_without_a_good_credential_nothing_is_served(
    house: GroundhogHouse, door: str, key: str | None
) -> None:
    """GRH-cfg-5, GRH-err-6 and GRH-test-2: every method, at every door."""
    url = house.url(door)
    if url.startswith("ws") and key is not None:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            async with connected(url, key):
                raise AssertionError("it was let in")
        assert caught.value.status == 401
        return
    if url.startswith("tcp") and key is not None:
        with pytest.raises(RefusedError) as refused:
            async with connected(url, key):
                raise AssertionError("it was let in")
        assert refused.value.data["error_code"] == "authentication_failed"
        return
    async with connected(url, key) as client:
        for method, params in (
            ("tools/list", {}),
            ("tools/invoke", {"tool_id": "echo__echo", "parameters": {"message": "x"}}),
            ("tools/register", REGISTER),
            ("session/get", {}),
            ("session/create", {"security_context": {"user_id": "local", "session_id": "x"}}),
        ):
            problem = await client.refusal(method, params)
            assert problem.data["error_code"] == "authentication_failed"


async def test_a_socket_that_never_says_who_it_is_can_still_say_it(
    grounds: dict[str, GroundhogHouse],
) -> None:
    """GRH-cfg-5 and GRH-cfg-6: a credential in the first message instead of a header."""
    house = grounds["websocket"]
    name, key = house.user()
    async with connected(house.url("websocket")) as client:
        refused = await client.refusal("tools/list")
        assert refused.data["error_code"] == "authentication_failed"
        view = await client.request("session/create", {"token": key})
        assert view["user_context"]["user_id"] == name
        assert (await client.invoke("echo__echo", {"message": "x"}))["status"] == "success"


async def test_a_session_that_is_closed_is_over(house: GroundhogHouse, door: str) -> None:
    """GRH-sec-2."""
    name, key = house.user()
    context = {"security_context": {"session_id": f"s-{name}"}}
    async with house.client(door, key) as client:
        await client.invoke("echo__echo", {"message": "x"}, **context)
        closed = await client.request("session/close", {"session_id": f"s-{name}"})
        assert closed == {"closed": f"s-{name}"}
        refused = await client.refusal(
            "tools/invoke", {"tool_id": "echo__echo", "parameters": {"message": "x"}, **context}
        )
        assert refused.data["error_code"] == "session_expired"
        await client.request("session/create", {"session_id": f"s-{name}"})
        await client.invoke("echo__echo", {"message": "x"}, **context)


INPUTS: tuple[dict[str, Any], ...] = (
    {},
    {"path": 7},
    {"path": "", "recursive": True},
    {"path": ".", "max_depth": 0},
    {"path": ".", "max_depth": 10**9},
    {"path": ".", "unknown": 1},
    {"path": "x" * 5000},
)


@pytest.mark.parametrize("number", range(len(INPUTS)))
async def test_arguments_that_do_not_fit_never_reach_the_tool(
    house: GroundhogHouse, door: str, number: int
) -> None:
    """GRH-test-4 and GRH-val-1."""
    async with house.client(door) as client:
        refused = await client.refusal(
            "tools/invoke", {"tool_id": "directory_list", "parameters": INPUTS[number]}
        )
    assert (refused.data["error_type"], refused.data["error_code"]) == (
        "validation_error",
        "schema",
    )
    assert refused.code == -32602
    audit_id = refused.data["security_context"]["audit_id"]
    record = house.records(audit_id)[-1]
    said = record.get("decision") or record["details"]  # by the gate, or by the tool before it ran
    assert said["reason"] == "invalid_args"


async def test_a_revoked_key_ends_what_its_connection_may_do(
    grounds: dict[str, GroundhogHouse],
) -> None:
    """GRH-test-2."""
    house = grounds["websocket"]
    _, key = house.user()
    call = {"tool_id": "echo__echo", "parameters": {"message": "x"}}
    async with house.client("websocket", key) as client:
        await client.request("tools/invoke", call)
        house.revoke(key)
        asked = {"jsonrpc": "2.0", "id": "r", "method": "tools/invoke", "params": call}
        codes: set[str] = set()
        async with asyncio.timeout(DEADLINE):
            while not client.over.done():
                with contextlib.suppress(ConnectionError):
                    error = (await client.exchange(asked)).get("error", {})
                    codes.add(error.get("data", {}).get("error_code", ""))
        assert codes <= {"", "authentication_failed"}
