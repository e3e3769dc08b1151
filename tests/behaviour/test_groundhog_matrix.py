"""The authorisation matrix at Groundhog's doors: every method with every credential that must not do."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.behaviour.groundhog_client import RefusedError, connected
from tests.behaviour.groundhog_house import DOORS, INVOKE, REGISTER, GroundhogHouse
from tests.behaviour.matrix import METHODS, credentials

pytestmark = pytest.mark.timeout(180)
OURS: dict[str, Any] = {
    **{name: dict(params) for name, params in METHODS.items()},
    "tools/invoke": INVOKE,
    "tools/register": REGISTER,
    "session/get": {"session_id": "session456"},
    "session/close": {"session_id": "session456"},
    "session/create": {"security_context": {"user_id": "user123"}},
}


def shape(problem: RefusedError) -> str:
    """A refusal without what differs from one to the next."""
    return json.dumps([problem.code, problem.message, problem.data], sort_keys=True)


async def refusals(url: str, key: str | None) -> set[str]:
    """What every method is answered with this credential, or how it is turned away before."""
    try:
        async with connected(url, key) as client:
            return {
                shape(await client.refusal(method, params))
                for method, params in OURS.items()
                if not (method == "initialize" and url.startswith("ws"))
            }
    except aiohttp.WSServerHandshakeError as turned:
        return {f"turned away with {turned.status}"}
    except RefusedError as problem:  # at a line, the credential is the first message
        return {shape(problem)}


@pytest.mark.parametrize("door", DOORS)
async def test_no_bad_credential_gets_anything_of_any_method(
    grounds: dict[str, GroundhogHouse], door: str
) -> None:
    """GRH-test-2 and GRH-test-3: one answer for all methods, and for all credentials of one kind."""
    house = grounds[door]
    said: dict[str, str] = {}
    for name, key in credentials(house).items():
        found = await refusals(house.url(door), key)
        assert len(found) == 1, (name, found)
        (said[name],) = found
    assert said["a wrong key"] == said["a revoked key"] == said["no key"]
    assert all("turned away with 401" in one or "security_error" in one for one in said.values())


@pytest.mark.parametrize("door", DOORS)
async def test_the_key_of_an_agent_does_for_nothing_of_operators(
    grounds: dict[str, GroundhogHouse], door: str
) -> None:
    """GRH-test-3: neither registration nor another's session nor a tool of the gateway itself."""
    house = grounds[door]
    operators = ("mgp_access_grant", "mgp_access_revoke", "mgp_access_query", "mgp/access.query")
    async with house.client(door) as client:
        for tool in operators:
            refused = await client.refusal("tools/invoke", {"tool_id": tool, "parameters": {}})
            assert refused.data["error_type"] in {"security_error", "tool_error"}, tool
        refused = await client.refusal("tools/register", REGISTER)
        assert refused.data["error_code"] == "permission_denied"
        listed = await client.request("tools/list")
    assert not [one for one in listed["tools"] if one["tool_id"].startswith("mgp")]
