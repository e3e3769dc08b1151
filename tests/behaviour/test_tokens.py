"""Access tokens of OAuth issuers, at every door: who gets in, where a client is sent, and where no token goes."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from gatewright.oauth.documents import challenge_of
from tests.behaviour.access_house import KEYED, OFFER
from tests.behaviour.hosts import META, Host, RpcError
from tests.behaviour.token_house import TokenHouse
from tests.behaviour.wires import MODERN

WELL_KNOWN = "/.well-known/oauth-protected-resource"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream"}
REQUESTS: dict[str, tuple[str, str, Any]] = {
    "streamable": ("POST", "/mcp", LIST),
    "profile": ("POST", "/mcp/narrow", LIST),
    "stream": ("GET", "/mcp", None),
    "sse": ("GET", "/sse", None),
    "messages": ("POST", "/messages", LIST),
    "ggen": ("POST", "/rpc", LIST),
    "rest": ("GET", "/tools", None),
    "rest of a profile": ("GET", "/profiles/narrow/tools", None),
    "metrics": ("GET", "/metrics", None),
}


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(headers=ACCEPT, timeout=timeout) as found:
        yield found


async def _ask(
    http: aiohttp.ClientSession, tokens: TokenHouse, door: str, token: str | None
) -> tuple[int, str, Any]:
    """Status, challenge and body of one request at a door."""
    method, path, body = REQUESTS[door]
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    async with http.request(method, tokens.base + path, json=body, headers=headers) as answer:
        text = await answer.text()
        challenge = answer.headers.get("www-authenticate", "")
        return answer.status, challenge, json.loads(text) if text[:1] == "{" else text


@pytest.mark.parametrize("door", KEYED)
async def test_a_good_token_lets_in_as_a_caller_of_its_issuer(
    tokens: TokenHouse, door: str
) -> None:
    async with tokens.host(door, tokens.token()) as client:
        assert await client.text("echo__echo", message="hello") == "hello"
        assert "echo__echo" in await client.tools()
    last = tokens.gateway.audit("--agent", "corp:alice", "--tool", "echo")[-1]
    assert (last["actor"]["id"], last["actor"]["key_id"]) == ("corp:alice", "oauth:client-1")


async def test_an_opaque_token_does_as_well(tokens: TokenHouse) -> None:
    """RFC 7662; of its issuer nothing was said about scopes, so grants decide."""
    token = tokens.asked.opaque(tokens.base, "anything")
    async with tokens.host("http 2026-07-28", token) as client:
        assert await client.text("open__echo", message="x") == "x"


@pytest.mark.parametrize("door", REQUESTS)
async def test_whoever_has_no_token_is_sent_to_who_gives_one(
    tokens: TokenHouse, http: aiohttp.ClientSession, door: str
) -> None:
    """RFC 9728 §5.1: the challenge names a document, which names exactly this resource."""
    status, header, _ = await _ask(http, tokens, door, None)
    assert status == 401
    challenge = challenge_of([header])
    assert challenge is not None
    path = REQUESTS[door][1]
    assert challenge.resource_metadata == f"{tokens.base}{WELL_KNOWN}{path}"
    assert challenge.scopes == ("mcp",)
    async with http.get(challenge.resource_metadata) as answer:
        assert (answer.status, answer.content_type) == (200, "application/json")
        found = await answer.json()
    assert found["resource"] == tokens.base + path
    assert found["authorization_servers"] == [tokens.corp.issuer, tokens.asked.issuer]
    assert found["scopes_supported"] == ["mcp", "mcp:all"]


async def test_documents_are_there_for_what_is_there(
    tokens: TokenHouse, http: aiohttp.ClientSession
) -> None:
    async with http.get(tokens.base + WELL_KNOWN) as answer:
        assert (await answer.json())["resource"] == tokens.base
    async with http.get(f"{tokens.base}{WELL_KNOWN}/mcp/unknown") as answer:
        assert answer.status == 404
    async with http.post(f"{tokens.base}{WELL_KNOWN}/mcp") as answer:
        assert answer.status == 405
    async with http.head(f"{tokens.base}{WELL_KNOWN}/mcp") as answer:
        assert answer.status == 200


@pytest.mark.parametrize("door", REQUESTS)
async def test_every_bad_token_is_refused_at_every_door_and_alike(
    tokens: TokenHouse, http: aiohttp.ClientSession, door: str
) -> None:
    """Wrong, expired, foreign, revoked: 401, and nothing says which of them it was but the end of its time."""
    said = {name: await _ask(http, tokens, door, token) for name, token in tokens.bad().items()}
    assert {status for status, _, _ in said.values()} == {401}
    assert all('error="invalid_token"' in header for _, header, _ in said.values())
    del said["expired"]
    bodies = {json.dumps(_plain(body)) for _, _, body in said.values()}
    assert len(bodies) == 1, said


def _plain(body: Any) -> Any:
    """An answer without what differs from one to the next."""
    error = body["error"]
    data = {name: one for name, one in (error.get("data") or {}).items() if name != "trace_id"}
    return {**error, "data": data}


@pytest.mark.parametrize("door", ["websocket", "ggen"])
async def test_no_bad_token_opens_a_websocket(
    tokens: TokenHouse, http: aiohttp.ClientSession, door: str
) -> None:
    path = {"websocket": "/mcp", "ggen": "/rpc"}[door]
    for token in [*tokens.bad().values(), ""]:
        headers = {"authorization": f"Bearer {token}"}
        url = tokens.base.replace("http", "ws") + path
        if door == "websocket":
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await http.ws_connect(url, protocols=("mcp",), headers=headers)
            assert caught.value.status == 401
            assert WELL_KNOWN in caught.value.headers["www-authenticate"]  # type: ignore[index]
            continue
        async with http.ws_connect(url, headers=headers) as socket:
            await socket.send_json(LIST)
            answer = await socket.receive_json(timeout=30)
            assert answer["error"]["code"] == -32004


async def test_a_token_in_ggen_s_member_is_as_good_as_in_the_header(
    tokens: TokenHouse, http: aiohttp.ClientSession
) -> None:
    call = {"name": "echo__echo", "arguments": {"message": "x"}}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    auth = {"type": "bearer", "token": tokens.token(place="")}
    async with http.post(f"{tokens.base}/rpc", json={**frame, "auth": auth}) as answer:
        assert "result" in await answer.json()


async def test_a_token_for_the_tools_is_for_each_of_them(
    tokens: TokenHouse, http: aiohttp.ClientSession
) -> None:
    """One resource, whichever tool is called, and the document of the API besides."""
    headers = {"authorization": f"Bearer {tokens.token(place='/tools')}"}
    url = f"{tokens.base}/tools/echo__echo"
    async with http.post(url, json={"message": "x"}, headers=headers) as answer:
        assert (answer.status, await answer.json()) == (200, "x")
    async with http.get(f"{tokens.base}/openapi.json", headers=headers) as answer:
        assert answer.status == 200
    async with http.post(url, json={"message": "x"}) as answer:
        challenge = challenge_of([answer.headers["www-authenticate"]])
        assert answer.status == 401
        assert challenge is not None
        assert challenge.resource_metadata == f"{tokens.base}{WELL_KNOWN}/tools"


async def test_a_token_for_a_profile_opens_that_profile_alone(
    tokens: TokenHouse, http: aiohttp.ClientSession
) -> None:
    """RFC 8707: the audience is the resource that it is shown for, or one above it."""
    narrow = tokens.token(place="/mcp/narrow")
    assert (await _ask(http, tokens, "profile", narrow))[0] == 200
    assert (await _ask(http, tokens, "streamable", narrow))[0] == 401
    assert (await _ask(http, tokens, "sse", narrow))[0] == 401
    for wide in (tokens.token(place="/mcp"), tokens.token()):
        assert (await _ask(http, tokens, "profile", wide))[0] == 200
        assert (await _ask(http, tokens, "streamable", wide))[0] == 200


@pytest.mark.parametrize("door", [one for one in REQUESTS if REQUESTS[one][1][:4] != "/mcp"])
async def test_a_token_for_one_endpoint_opens_no_other_beside_it(
    tokens: TokenHouse, http: aiohttp.ClientSession, door: str
) -> None:
    """RFC 8707, and decision 0023: one for `…/mcp` opens what stands below it, and one for the URL everything."""
    assert (await _ask(http, tokens, door, tokens.token(place="/mcp")))[0] == 401
    if door != "sse":  # its answer does not end
        assert (await _ask(http, tokens, door, tokens.token()))[0] != 401


async def test_a_token_for_the_stream_is_enough_to_speak_on_it(tokens: TokenHouse) -> None:
    async with tokens.host("sse 2024-11-05", tokens.token(place="/sse")) as client:
        assert await client.text("echo__echo", message="hello") == "hello"


async def test_a_token_without_what_all_need_is_told_so(
    tokens: TokenHouse, http: aiohttp.ClientSession
) -> None:
    status, header, body = await _ask(http, tokens, "streamable", tokens.token(scope="other"))
    challenge = challenge_of([header])
    assert challenge is not None
    assert (status, challenge.error, challenge.scopes) == (
        403,
        "insufficient_scope",
        ("other", "mcp"),
    )
    assert challenge.resource_metadata == f"{tokens.base}{WELL_KNOWN}/mcp"
    assert body["error"]["data"]["reason"] == "insufficient_scope"


def _call(revision: str, tool: str) -> tuple[Any, dict[str, str]]:
    params: dict[str, Any] = {"name": tool, "arguments": {"message": "x"}}
    headers = {"mcp-protocol-version": revision}
    if revision == MODERN:
        params["_meta"] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        headers |= {"mcp-method": "tools/call", "mcp-name": tool}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, headers


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_token_that_is_not_enough_for_a_tool_is_told_what_would_be(
    tokens: TokenHouse, http: aiohttp.ClientSession, revision: str
) -> None:
    """MCP, scope challenge: 403, and a new token with those scopes goes through."""
    body, headers = _call(revision, "open__echo")
    bearer = {"authorization": f"Bearer {tokens.token()}"}
    async with http.post(tokens.gateway.url, json=body, headers=headers | bearer) as answer:
        assert answer.status == 403
        challenge = challenge_of(answer.headers.getall("www-authenticate"))
        assert (await answer.json())["error"]["data"]["reason"] == "insufficient_scope"
    assert challenge is not None
    assert (challenge.error, challenge.scopes) == ("insufficient_scope", ("mcp", "mcp:all"))
    assert challenge.resource_metadata == f"{tokens.base}{WELL_KNOWN}/mcp"
    bearer = {"authorization": f"Bearer {tokens.token(scope=' '.join(challenge.scopes))}"}
    async with http.post(tokens.gateway.url, json=body, headers=headers | bearer) as answer:
        assert answer.status == 200
        assert "error" not in await answer.json()


@pytest.mark.parametrize("path", ["/rpc", "/tools/open__echo"])
async def test_the_same_is_told_at_the_doors_of_ggen(
    tokens: TokenHouse, http: aiohttp.ClientSession, path: str
) -> None:
    body: Any = {"message": "x"} if path != "/rpc" else _call("2025-11-25", "open__echo")[0]
    bearer = {"authorization": f"Bearer {tokens.token()}"}
    async with http.post(tokens.base + path, json=body, headers=bearer) as answer:
        challenge = challenge_of(answer.headers.getall("www-authenticate"))
        assert answer.status == 403
        error = (await answer.json())["error"]
    assert (error["code"], error["data"]["kind"]) == (-32005, "insufficient_scope")
    assert challenge is not None
    assert (challenge.error, challenge.scopes) == ("insufficient_scope", ("mcp", "mcp:all"))
    resource = "/tools" if path != "/rpc" else path
    assert challenge.resource_metadata == f"{tokens.base}{WELL_KNOWN}{resource}"


async def test_no_token_of_a_caller_goes_anywhere(
    tokens: TokenHouse, http: aiohttp.ClientSession
) -> None:
    """No passthrough: not to a server, into a log, or into the record; GGEN-auth-13."""
    good = [
        tokens.token(scope="mcp mcp:all", jti=f"canary-{number}") for number in range(len(KEYED))
    ]
    for door, token in zip(KEYED, good, strict=True):
        async with tokens.host(door, token) as client:
            await client.call("heard__knock")
            assert await client.text("taped__echo", message="over pipes") == "over pipes"
            with pytest.raises(RpcError):
                await client.request("no/such/method")
    for door in REQUESTS:
        for token in tokens.bad().values():
            await _ask(http, tokens, door, token)
    shown = [*good, *tokens.bad().values()]
    assert len(tokens.heard.requests) >= len(KEYED)
    state = tokens.gateway.folder / "state"
    kept = [path.read_bytes() for path in state.rglob("*") if path.is_file()]
    kept += [line.encode() for line in (*tokens.gateway.said(), *tokens.heard.requests)]
    taped = [tokens.gateway.folder / f"taped.{what}" for what in ("env", "lines")]
    kept += [path.read_bytes() for path in taped]
    assert kept[-1].count(b"over pipes") == len(KEYED)
    # The signature is enough to tell a token by, wherever it might stand.
    marks = [token.rpartition(".")[2].encode() or token.encode() for token in shown]
    found = [mark for mark in marks if any(mark in text for text in kept)]
    assert found == []


async def test_a_token_of_an_issuer_that_cannot_be_asked_is_refused_by_name(
    tokens: TokenHouse, http: aiohttp.ClientSession
) -> None:
    tokens.asked.broken.add("/introspect")
    try:
        token = tokens.asked.opaque(tokens.base)
        status, header, body = await _ask(http, tokens, "streamable", token)
    finally:
        tokens.asked.broken.clear()
    assert (status, header) == (503, "")
    assert body["error"]["data"]["reason"] == "issuer_unavailable"


async def test_a_token_ends_in_the_middle_of_a_session(tokens: TokenHouse) -> None:
    """MGP-14.3-4: the gate asks for each call, whatever was good when the connection was made."""
    token = tokens.token(exp=time.time() - 28)  # two seconds more, with the leeway
    async with tokens.host("websocket 2025-11-25", token, can=OFFER) as client:
        while (refused := await _refused(client)) is None:
            continue
        assert refused == (1003, "auth_expired")


async def _refused(client: Host) -> tuple[int, str] | None:
    """The code of a call that is refused, and why; None where it is not."""
    try:
        await client.call("echo__echo", message="x")
    except RpcError as problem:
        return problem.code, str(problem.data["reason"])
    return None


async def test_keys_of_our_own_are_as_good_as_ever(
    tokens: TokenHouse, http: aiohttp.ClientSession
) -> None:
    made = tokens.gateway.cli("key", "create", "bot", "--key", tokens.gateway.operator_token)
    asked = tokens.asked.count("/introspect")
    assert (await _ask(http, tokens, "streamable", made.strip()))[0] == 200
    assert (await _ask(http, tokens, "streamable", "gw_wrong"))[0] == 401
    assert tokens.asked.count("/introspect") == asked
