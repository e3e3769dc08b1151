"""REST and its document on a real gateway: the endpoint that is documented works, and a tool answers alike
at every door."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from openapi_spec_validator import OpenAPIV30SpecValidator

from tests.behaviour.ggen_house import Client, Firm, chunks
from tests.behaviour.hosts import DOORS, host

GOOD = {"ticker_symbol": "AAPL", "period_days": 90}
GIVEN = {"ticker": "AAPL", "days": 90, "analysis": "technical", "recommendation": "hold"}


class Rest:
    """A client of the REST door."""

    def __init__(self, http: aiohttp.ClientSession, base: str) -> None:
        self.http = http
        self.base = base

    async def get(self, path: str, key: str | None) -> tuple[int, Any]:
        """Status and body."""
        async with self.http.get(self.base + path, headers=self._head(key)) as answer:
            return answer.status, await answer.json()

    async def post(self, tool: str, body: Any, key: str | None) -> tuple[int, Any]:
        """Status and body."""
        url = f"{self.base}/tools/{tool}"
        async with self.http.post(url, json=body, headers=self._head(key)) as answer:
            return answer.status, await answer.json()

    def _head(self, key: str | None) -> dict[str, str]:
        return {} if key is None else {"authorization": f"Bearer {key}"}


@pytest.fixture
async def rest(firm: Firm) -> AsyncIterator[Rest]:
    timeout = aiohttp.ClientTimeout(total=30)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        yield Rest(http, firm.gateway.urls["rest"].removesuffix("/tools"))


async def test_the_documented_endpoint_really_works(firm: Firm, rest: Rest) -> None:
    """GGEN-oas-3: 200, 400 and 404 as the document says."""
    key = firm.keys["analyst"]
    assert await rest.post("FinancialAnalyzer", GOOD, key) == (200, GIVEN)
    status, said = await rest.post("FinancialAnalyzer", {"ticker_symbol": "invalid123"}, key)
    assert (status, said["error"]["code"]) == (400, -32001)
    status, said = await rest.post("Nothing", {}, key)
    assert (status, said["error"]["code"]) == (404, -32002)


@pytest.mark.parametrize(
    ("tool", "body", "who", "status"),
    [
        ("FinancialAnalyzer", GOOD, None, 401),
        ("FinancialAnalyzer", GOOD, "clerk", 403),
        ("Crash", {}, "analyst", 502),
        ("Refuse", {}, "analyst", 422),
        ("Slow", {"seconds": 50}, "analyst", 504),
    ],
)
async def test_what_goes_wrong_has_its_status(
    firm: Firm, rest: Rest, tool: str, body: Any, who: str | None, status: int
) -> None:
    """GGEN-oas-2, GGEN-auth-11, GGEN-to-6."""
    key = None if who is None else firm.keys[who]
    found, said = await rest.post(tool, body, key)
    assert found == status
    if status == 504:
        data = said["error"]["data"]
        assert (data["error_type"], data["timeout_ms"]) == ("ToolTimeout", 1500)


async def test_the_document_is_the_callers_own(firm: Firm, rest: Rest) -> None:
    """GGEN-oas-1, GGEN-oas-2: valid, and of the tools that this caller may call."""
    for who, tools in (("analyst", 6), ("clerk", 1), ("nobody", 0)):
        status, said = await rest.get("/openapi.json", firm.keys[who])
        assert status == 200
        OpenAPIV30SpecValidator(said).validate()
        assert len(said["paths"]) == tools + 2
    assert (await rest.get("/openapi.json", None))[0] == 401


async def test_what_is_listed_can_be_read_and_nothing_else(firm: Firm, rest: Rest) -> None:
    """GGEN-auth-5: the schema of a tool is for who may call it."""
    status, listed = await rest.get("/tools", firm.keys["clerk"])
    assert [one["name"] for one in listed["tools"]] == ["Report"]
    assert (await rest.get("/tools/Report", firm.keys["clerk"]))[0] == status == 200
    assert (await rest.get("/tools/finance/Report", firm.keys["clerk"]))[0] == 200
    assert (await rest.get("/tools/FinancialAnalyzer", firm.keys["clerk"]))[0] == 404
    assert (await rest.get("/tools", firm.keys["nobody"]))[0] == 403


async def test_one_tool_answers_alike_at_every_door(firm: Firm, rest: Rest) -> None:
    """GRH-int-2, GGEN-p4-9: an external request is the same call, and its answer the same output."""
    key = firm.keys["analyst"]
    said = [(await rest.post("FinancialAnalyzer", GOOD, key))[1]]
    for kind in ("http", "websocket"):
        async with Client(firm.gateway, kind, key) as client:
            said.append((await client.call("FinancialAnalyzer", **GOOD))["result"])
    headers = {"authorization": f"Bearer {key}"}
    for door in DOORS:
        async with host(firm.gateway, door, headers=headers) as mcp:
            said.append((await mcp.call("FinancialAnalyzer", **GOOD))["structuredContent"])
    assert said == [GIVEN] * len(said)


async def test_ten_megabytes_arrive_in_pieces(firm: Firm, rest: Rest) -> None:
    """GGEN-p4-1."""
    async with rest.http.post(
        f"{rest.base}/tools/Report",
        json={"kib": 10_240},
        headers={"authorization": f"Bearer {firm.keys['clerk']}"},
    ) as answer:
        sizes = await chunks(answer)
    assert len(sizes) > 20
    assert max(sizes) <= 512 * 1024
    assert sum(sizes) == 10 * 1024 * 1024 + 2


async def test_the_record_says_through_which_door(firm: Firm, rest: Rest) -> None:
    """GGEN-p4-5."""
    await rest.post("Report", {"kib": 0}, firm.keys["clerk"])
    records = firm.gateway.audit("--agent", "clerk")
    doors = {one.get("door") for one in records if one.get("method") == "tools/call"}
    assert "rest" in doors
    assert not any(firm.keys["clerk"] in json.dumps(one) for one in records)
