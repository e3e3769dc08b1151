"""Every method and tool that concerns access, with every credential that must not do, at every door."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest

from gatewright.access.issued_grants import Issued
from gatewright.call import UserContext
from gatewright.identity.keys import KeyStore
from tests.behaviour.access_house import OFFER, House, about, seed_grant
from tests.behaviour.hosts import EVERY_DOOR, META, RpcError, host
from tests.behaviour.wires import MODERN
from tests.storage.parts import state_in

AGENT = "somebody"
ASKED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mgp/access/query", about(AGENT)),
    ("mgp/access/grant", seed_grant(AGENT)),
    ("mgp/access/revoke", about(AGENT)),
    ("gatewright/policy/explain", {"agent": AGENT, "tool": "echo__echo"}),
    ("tools/call", {"name": "mgp_access_query", "arguments": about(AGENT)}),
    ("tools/call", {"name": "mgp_access_grant", "arguments": seed_grant(AGENT)}),
    ("tools/call", {"name": "mgp_access_revoke", "arguments": about(AGENT)}),
)
NAMES = [params.get("name", method) for method, params in ASKED]
REVISIONS = tuple(door.split()[1] for door in EVERY_DOOR if door.startswith("http "))
CREDENTIALS = ("no", "wrong", "not even one", "revoked", "expired")


@pytest.fixture(scope="module")
def credentials(house: House) -> dict[str, str | None]:
    """What callers show; each is of somebody who would be an operator."""
    state = state_in(house.gateway.folder / "state")
    past = KeyStore(state, clock=lambda: time.time() - 1000, random=os.urandom)
    try:
        expired = past.create("late", kind="operator", expires=time.time() - 500, by="test")[1]
        key, revoked = past.create("gone", kind="operator", by="test")
        past.revoke(key.id, by="test")
    finally:
        past.close()
    wrong = revoked[:-4] + ("aaaa" if not revoked.endswith("aaaa") else "bbbb")
    return {
        "no": None,
        "wrong": wrong,
        "not even one": "x",
        "revoked": revoked,
        "expired": expired,
    }


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as found:
        yield found


def headers_of(key: str | None) -> dict[str, str]:
    return {} if key is None else {"authorization": f"Bearer {key}"}


def frame(revision: str, method: str, params: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    """One POST without a session: its body and headers."""
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": revision}
    if revision == MODERN:
        meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": OFFER}
        params = {**params, "_meta": meta}
        headers |= {"mcp-method": method}
        if method == "tools/call":
            headers["mcp-name"] = str(params["name"])
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers


def shape(body: Any) -> Any:
    """An answer without what differs from one to the next."""
    data = {**(body["error"].get("data") or {})}
    data.pop("trace_id", None)
    return {**body, "error": {**body["error"], "data": data}}


def granted(house: House) -> list[str]:
    """Who was granted anything of what is asked for here."""
    issued = Issued(state_in(house.gateway.folder / "state"), clock=time.time)
    try:
        return [one.agent for one in issued.grants() if one.agent == AGENT]
    finally:
        issued.close()


@pytest.mark.parametrize(("method", "params"), ASKED, ids=NAMES)
@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_credential_that_is_no_good_gets_the_same_answer_whatever_is_asked(
    house: House,
    credentials: dict[str, str | None],
    http: aiohttp.ClientSession,
    revision: str,
    method: str,
    params: dict[str, Any],
) -> None:
    """MGP-5.4-6, MGP-14.3-3, MGP-14.3-4: nothing is revealed, of the credential as little as of what it is for."""
    said = {}
    for name, key in credentials.items():
        for asked, given in ((method, params), ("mgp/no/such", {})):
            body, headers = frame(revision, asked, given)
            async with http.post(
                house.gateway.url, json=body, headers={**headers, **headers_of(key)}
            ) as answer:
                assert answer.status == 401
                said[name, asked] = shape(await answer.json())
    for name in credentials:
        assert said[name, method] == said[name, "mgp/no/such"]
    reasons = {name: said[name, method]["error"]["data"]["reason"] for name in credentials}
    assert reasons == dict(
        zip(
            CREDENTIALS,
            ("auth_required", "auth_failed", "auth_failed", "auth_failed", "auth_expired"),
            strict=True,
        )
    )
    codes = {name: said[name, method]["error"]["code"] for name in credentials}
    assert codes == dict(zip(CREDENTIALS, (1002, 1002, 1002, 1002, 1003), strict=True))
    assert said["wrong", method] == said["revoked", method] == said["not even one", method]
    assert granted(house) == []


@pytest.mark.parametrize("door", ["websocket", "sse"])
@pytest.mark.parametrize("name", CREDENTIALS)
async def test_a_connection_is_refused_before_anything_can_be_asked(
    house: House,
    credentials: dict[str, str | None],
    http: aiohttp.ClientSession,
    door: str,
    name: str,
) -> None:
    headers = headers_of(credentials[name])
    if door == "sse":
        async with http.get(house.gateway.urls["sse"], headers=headers) as answer:
            assert answer.status == 401
        return
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await http.ws_connect(house.gateway.urls["websocket"], protocols=("mcp",), headers=headers)
    assert caught.value.status == 401


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_the_credential_of_an_agent_does_for_none_of_it(house: House, door: str) -> None:
    """MGP-5.4-6: 1000 where the method is negotiated, unknown where it is for operators alone."""
    agent, key = ("local", "") if door.startswith("stdio") else house.agent()
    async with house.host(door, key) as client:
        for method, params in ASKED:
            with pytest.raises(RpcError) as caught:
                await client.request(method, params)
            if method == "tools/call":
                assert caught.value.code == 1001
            elif method.startswith("gatewright/"):
                with pytest.raises(RpcError) as unknown:
                    await client.request("gatewright/no/such", params)
                assert caught.value.code == unknown.value.code == -32601
                said = caught.value.message.replace(method, "gatewright/no/such")
                assert said == unknown.value.message
            else:
                assert caught.value.code == 1000
        assert agent != AGENT
    assert granted(house) == []


@pytest.mark.parametrize(
    "said", [UserContext(), UserContext(role="analyst"), UserContext(trust="community")]
)
async def test_a_tool_that_is_not_there_is_refused_like_one_that_may_not_be_used(
    house: House, said: UserContext
) -> None:
    """MGP-14.3-2: whatever a key says of its owner, unless it names tools."""
    _, key = house.agent(said)
    async with house.host("http 2026-07-28", key) as client:
        heard = []
        for tool in ("echo__echo", "echo__none", "nobody__none"):
            with pytest.raises(RpcError) as caught:
                await client.call(tool, message="x")
            told = json.dumps({"said": caught.value.message, "data": caught.value.data})
            heard.append((caught.value.code, told.replace(tool, "TOOL")))
        codes = {code for code, _ in heard}
        assert codes == {1001}
        assert len({re.sub(r'"trace_id": "[^"]*"', "", told) for _, told in heard}) == 1


async def test_a_session_of_another_caller_is_answered_like_one_that_never_was(
    house: House, http: aiohttp.ClientSession
) -> None:
    """The session of an operator is no credential for who knows its id."""
    _, key = house.agent()
    async with house.operator("http 2025-11-25") as operator:
        assert operator.session is not None
        for method, params in ASKED:
            said = []
            for session in (operator.session, "made-up-session"):
                body, headers = frame("2025-11-25", method, params)
                headers |= {"mcp-session-id": session, **headers_of(key)}
                async with http.post(house.gateway.url, json=body, headers=headers) as answer:
                    assert answer.status == 404
                    said.append(json.dumps(shape(await answer.json())))
            assert said[0] == said[1]
    assert granted(house) == []


async def test_a_key_that_is_revoked_ends_what_its_session_may_do(house: House) -> None:
    state = state_in(house.gateway.folder / "state")
    callers = KeyStore(state, clock=time.time, random=os.urandom)
    try:
        key, secret = callers.create("short-lived", kind="operator", by="test")
        async with house.host("websocket 2025-11-25", secret) as client:
            await client.request("mgp/access/query", about(AGENT))
            callers.revoke(key.id, by="test")
            deadline = time.monotonic() + 20
            code = 0
            while code == 0 and time.monotonic() < deadline:
                try:
                    await client.request("mgp/access/query", about(AGENT))
                except RpcError as problem:
                    code = problem.code
                except ConnectionError:  # it was closed between two of them
                    code = 1002
        assert code == 1002
    finally:
        callers.close()


async def test_the_owner_of_the_pipes_shows_no_credential_and_gets_no_more(
    house: House,
) -> None:
    """MGP-5.4-6 at the stdio door, whatever it claims to be."""
    async with host(house.gateway, "stdio 2025-11-25", can=OFFER) as client:
        for claim in ({}, {"_mgp": {"agent_id": "root"}}, {"auth": "operator"}):
            with pytest.raises(RpcError) as caught:
                await client.request("mgp/access/grant", {**seed_grant(AGENT), **claim})
            assert caught.value.code == 1000
