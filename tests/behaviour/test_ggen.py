"""ggen's JSON-RPC, word for word as its specification has it, through HTTP and WebSocket."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.behaviour.gateway import Gateway
from tests.behaviour.ggen_house import Client, Firm, chunks
from tests.behaviour.hosts import DOORS, host
from tests.tool_servers.finance import ANALYZER

DISCOVERY = """
{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "tools/list",
  "params": {}
}
"""
INVOCATION = """
{
  "jsonrpc": "2.0",
  "id": 2,
  "method": "tools/call",
  "params": {
    "name": "FinancialAnalyzer",
    "arguments": {
      "ticker_symbol": "AAPL",
      "period_days": 90
    }
  }
}
"""
BEARER = """
{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "tools/call",
  "params": {
    "name": "FinancialAnalyzer",
    "arguments": { "ticker_symbol": "AAPL", "period_days": 90 }
  },
  "auth": {
    "type": "bearer",
    "token": "sk-1234567890abcdef"
  }
}
"""
GIVEN = {"ticker": "AAPL", "days": 90, "analysis": "technical", "recommendation": "hold"}


@pytest.fixture
def gateway(firm: Firm) -> Gateway:
    return firm.gateway


@pytest.fixture
def keys(firm: Firm) -> dict[str, str]:
    return firm.keys


@pytest.fixture(params=["http", "websocket"])
async def client(request: pytest.FixtureRequest, firm: Firm) -> AsyncIterator[Client]:
    async with Client(firm.gateway, request.param, firm.keys["analyst"]) as found:
        yield found


@pytest.fixture(params=["http", "websocket"])
async def stranger(request: pytest.FixtureRequest, gateway: Gateway) -> AsyncIterator[Client]:
    """A client without a header."""
    async with Client(gateway, request.param, None) as found:
        yield found


async def test_the_discovery_example_lists_every_tool(client: Client) -> None:
    """GGEN-ex-1, GGEN-core-1, GGEN-core-2, GGEN-p4-9."""
    answer = await client.send(DISCOVERY)
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
    tools = answer["result"]["tools"]
    assert [one["name"] for one in tools] == [
        "FinancialAnalyzer",
        "Crash",
        "Slow",
        "Report",
        "Refuse",
        "ran",
    ]
    assert tools[0] == ANALYZER
    assert all({"name", "description", "inputSchema"} <= set(one) for one in tools)


async def test_the_invocation_example_gets_the_raw_output(client: Client) -> None:
    """GGEN-ex-2, GGEN-core-3."""
    assert await client.send(INVOCATION) == {"jsonrpc": "2.0", "id": 2, "result": GIVEN}


async def test_a_bearer_inside_the_request_says_who_asks(
    stranger: Client, keys: dict[str, str]
) -> None:
    """GGEN-auth-12: the example with a key of ours; its own key is nobody's here."""
    answer = await stranger.send(BEARER.replace("sk-1234567890abcdef", keys["analyst"]))
    assert answer == {"jsonrpc": "2.0", "id": 1, "result": GIVEN}
    answer = await stranger.send(BEARER)
    assert (answer["id"], answer["error"]["code"]) == (1, -32004)


async def test_a_request_with_auth_is_known_at_the_path_of_mcp_too(
    gateway: Gateway, keys: dict[str, str]
) -> None:
    """GGEN-auth-12: no header, no session, and the body says whose it is."""
    async with Client(gateway, "http", None) as client:
        client.url = gateway.url
        answer = await client.send(BEARER.replace("sk-1234567890abcdef", keys["analyst"]))
        assert answer == {"jsonrpc": "2.0", "id": 1, "result": GIVEN}
        answer = await client.send(BEARER)
        assert (client.status, answer["error"]["code"]) == (401, -32004)
        refused = await client.send(INVOCATION)  # MCP, from nobody
        assert (client.status, refused["error"]["code"]) == (401, 1002)


async def test_a_header_and_a_member_that_disagree_are_nobody(
    client: Client, keys: dict[str, str]
) -> None:
    """GGEN-auth-12, decision C-36."""
    own, other = keys["analyst"], keys["clerk"]
    for token, code in ((own, None), (other, -32004)):
        auth = {"type": "bearer", "token": token}
        answer = await client.ask("tools/call", {"name": "ran"}, auth=auth)
        assert answer.get("error", {}).get("code") == code


async def test_the_token_stands_nowhere_but_in_its_request(
    gateway: Gateway, keys: dict[str, str]
) -> None:
    """GGEN-auth-13: not in the log, the record, the state folder or what the server got."""
    secret = "sk-1234567890abcdef"
    async with Client(gateway, "http", None) as client:
        for body in (BEARER, BEARER.replace(secret, keys["analyst"]), "[" + BEARER + "]"):
            await client.send(body)
        broken = BEARER.replace('"bearer"', "7")
        assert (await client.send(broken))["error"]["code"] == -32004
        assert (await client.send(BEARER[:-3]))["error"]["code"] == -32700
    written = [path for path in gateway.folder.rglob("*") if path.is_file()]
    assert len(written) > 3
    for path in written:
        text = path.read_bytes()
        assert secret.encode() not in text, path
        assert keys["analyst"].encode() not in text, path


async def test_validation_tells_every_flaw_and_runs_nothing(client: Client) -> None:
    """GGEN-core-4."""
    before = (await client.call("ran"))["result"]
    good = {"ticker_symbol": "AAPL", "period_days": 90}
    bad = {"ticker_symbol": "invalid123", "analysis_type": "tea leaves"}

    async def validated(arguments: Any) -> Any:
        asked = {"name": "FinancialAnalyzer", "arguments": arguments}
        return (await client.ask("tools/validate", asked))["result"]

    assert await validated(good) == {"valid": True, "errors": []}
    found = await validated(bad)
    assert found["valid"] is False
    fields = sorted(one["field"] for one in found["errors"])
    assert fields == ["analysis_type", "period_days", "ticker_symbol", "ticker_symbol"]
    assert {one["error_type"] for one in found["errors"]} == {"FieldValidation"}
    assert (await client.call("ran"))["result"] == before


@pytest.mark.parametrize("door", DOORS)
async def test_a_host_of_mcp_may_ask_for_validation_too(firm: Firm, door: str) -> None:
    """GGEN-core-4: a method of the gateway, whoever asks."""
    headers = {"authorization": f"Bearer {firm.keys['analyst']}"}
    async with host(firm.gateway, door, headers=headers) as client:
        asked = {"name": "FinancialAnalyzer", "arguments": {"ticker_symbol": "AAPL"}}
        found = await client.request("tools/validate", asked)
        assert (found["valid"], found["errors"][0]["field"]) == (False, "period_days")
        asked["arguments"] = {"ticker_symbol": "AAPL", "period_days": 90}
        assert (await client.request("tools/validate", asked))["valid"] is True


async def test_what_may_not_be_called_cannot_be_asked_about(
    gateway: Gateway, keys: dict[str, str]
) -> None:
    """GGEN-core-4, GGEN-auth-4: asking whether arguments fit tells no more than calling."""
    async with Client(gateway, "http", keys["clerk"]) as clerk:
        asked = {"name": "FinancialAnalyzer", "arguments": {}}
        assert (await clerk.ask("tools/validate", asked))["error"]["code"] == -32005
        unknown = await clerk.ask("tools/validate", {"name": "Nothing"})
        assert unknown["error"]["code"] == (await clerk.call("Nothing"))["error"]["code"]
    async with Client(gateway, "http", keys["analyst"]) as analyst:
        unknown = await analyst.ask("tools/validate", {"name": "Nothing"})
        assert unknown["error"]["code"] == -32002


async def test_resources_are_listed_and_read(client: Client) -> None:
    """GGEN-core-5, GGEN-core-6."""
    listed = (await client.ask("resources/list"))["result"]["resources"]
    assert [one["uri"] for one in listed] == ["ggen://reports/aapl", "ggen://reports/msft"]
    read = (await client.ask("resources/read", {"uri": "ggen://reports/aapl"}))["result"]
    assert read["contents"][0]["text"] == "AAPL: hold"
    missing = (await client.ask("resources/read", {"uri": "ggen://reports/none"}))["error"]
    assert (missing["code"], missing["data"]["error_type"]) == (-32002, "ResourceNotFound")


async def test_a_key_without_the_right_is_refused_by_name(
    gateway: Gateway, keys: dict[str, str]
) -> None:
    """GGEN-err-10, GGEN-auth-4, GGEN-auth-11."""
    async with Client(gateway, "http", keys["clerk"]) as clerk:
        error = (await clerk.call("FinancialAnalyzer", ticker_symbol="A", period_days=1))["error"]
        assert (error["code"], error["data"]["error_type"]) == (-32005, "AuthorizationError")
        listed = (await clerk.ask("tools/list"))["result"]["tools"]
        assert [one["name"] for one in listed] == ["Report"]
    async with Client(gateway, "http", None) as stranger:
        error = (await stranger.call("Report"))["error"]
        assert (stranger.status, error["code"]) == (401, -32004)


async def test_who_may_read_no_tool_is_refused_the_list(
    gateway: Gateway, keys: dict[str, str]
) -> None:
    """GGEN-auth-6, decision C-32."""
    async with Client(gateway, "http", keys["nobody"]) as nobody:
        assert (await nobody.ask("tools/list"))["error"]["code"] == -32005


@pytest.mark.parametrize("ident", [1, 0, -7, "req-1", "é", "", 2**53])
async def test_ids_come_back_as_they_are(client: Client, ident: Any) -> None:
    """GGEN-core-1, decision C-46."""
    body = {"jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": {"name": "ran"}}
    answer = await client.send(json.dumps(body))
    assert answer["id"] == ident
    assert type(answer["id"]) is type(ident)


async def test_a_trace_of_the_callers_own_is_in_the_error_and_in_the_record(
    client: Client, gateway: Gateway
) -> None:
    """GGEN-err-11: `trace_id` is the caller's own where he sends one."""
    trace = f"req-{client.kind}-12345"
    answer = await client.ask("tools/call", {"name": "Crash"}, trace_id=trace)
    assert answer["error"]["data"]["trace_id"] == trace
    found = gateway.audit("--trace", trace)
    assert {one["door"] for one in found} == {"ggen"}


async def test_a_batch_is_answered_as_one(client: Client, keys: dict[str, str]) -> None:
    """Decision C-51: arrays are taken at doors that are not MCP's; each request has its own `auth`."""
    other = {"auth": {"type": "bearer", "token": keys["clerk"]}}
    batch: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Crash"}},
        {"jsonrpc": "2.0", "method": "tools/list"},
        {"jsonrpc": "2.0", "id": "2", "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list", **other},
        7,
    ]
    answers = await client.send(json.dumps(batch))
    assert [one["id"] for one in answers] == [1, "2", 3, None]
    assert [one.get("error", {}).get("code") for one in answers] == [-32003, None, -32004, -32600]


async def test_a_large_output_arrives_in_pieces(gateway: Gateway, keys: dict[str, str]) -> None:
    """GGEN-p4-1: ten megabytes in chunks of the wire, none of them long; whole where the wire has messages."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    body["params"] = {"name": "Report", "arguments": {"kib": 10_240}}
    headers = {"authorization": f"Bearer {keys['clerk']}"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(gateway.urls["rpc"], json=body, headers=headers) as answer,
    ):
        assert answer.headers["transfer-encoding"] == "chunked"
        pieces = await chunks(answer)
    assert sum(pieces) > 10 * 1024 * 1024
    assert len(pieces) > 20
    assert max(pieces) <= 512 * 1024
    async with Client(gateway, "websocket", keys["clerk"]) as client:
        assert len((await client.call("Report", kib=10_240))["result"]) == 10 * 1024 * 1024


async def test_the_output_of_one_tool_feeds_the_next(client: Client) -> None:
    """GGEN-core-8: an agent finds a tool, calls it, and gives what it said to another one."""
    names = [one["name"] for one in (await client.send(DISCOVERY))["result"]["tools"]]
    assert {"FinancialAnalyzer", "Report"} <= set(names)
    first = await client.call("FinancialAnalyzer", ticker_symbol="AAPL", period_days=90)
    second = await client.call(
        "FinancialAnalyzer", ticker_symbol=first["result"]["ticker"], period_days=2
    )
    assert second["result"] == {**GIVEN, "days": 2}


async def test_every_call_is_in_the_record(gateway: Gateway, keys: dict[str, str]) -> None:
    """GGEN-p4-5: authentication, authorization and the record are those of every other door."""
    async with Client(gateway, "http", keys["clerk"]) as clerk:
        await clerk.call("Report", kib=1)
        await clerk.call("Crash")
    records = gateway.audit("--agent", "clerk")
    found = {
        (one["target"].get("tool_name"), one["outcome"], one["door"])
        for one in records
        if "target" in one
    }
    assert {("Report", "success", "ggen"), ("Crash", "denied", "ggen")} <= found


def test_the_ready_line_says_where_it_is(gateway: Gateway) -> None:
    """GGEN-p4-9."""
    assert gateway.urls["rpc"].endswith("/rpc")
