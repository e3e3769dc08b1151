"""A tool declared by a Signature (seed 002), behind every kind of MCP door and ggen's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.ggen_house import Client
from tests.behaviour.hosts import DOORS, host
from tests.sdk.test_signature import SEED

pytestmark = pytest.mark.timeout(180)

MODULE = """
import asyncio
from gatewright.sdk import InputField, OutputField, Signature, mcp_tool

FINANCIAL = Signature(
    "FinancialAnalyzer",
    "Analyzes stock data and returns investment recommendations",
    inputs=[
        InputField("ticker_symbol", "String", "Stock ticker symbol (e.g., AAPL)",
                   pattern="^[A-Z]{1,5}$", min_length=1, max_length=5),
        InputField("period_days", "u32", "Historical analysis period in days", min_value=1, max_value=365),
        InputField("analysis_type", "String", "Type of analysis",
                   enum=["technical", "fundamental", "sentiment"], default="technical"),
    ],
    outputs=[OutputField("score", "f64", min_value=0)],
)

@mcp_tool(signature=FINANCIAL, category="finance", timeout_s=0.3)
async def analyze(ticker_symbol, period_days, analysis_type="technical"):
    if ticker_symbol == "SLOW":
        await asyncio.Event().wait()
    return {"score": -1 if ticker_symbol == "WRONG" else period_days}
"""


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("signatures")
    (home / "mcp_tools.py").write_text(MODULE)
    content = config({"id": "market", "python": str(home)}, gateway={"unprefixed": True})
    with running(home, content) as gateway:
        yield gateway


@pytest.mark.parametrize("door", DOORS)
async def test_a_signature_is_listed_and_held_at_every_mcp_door(market: Gateway, door: str) -> None:
    """GGEN-sig-1, GGEN-sig-2, GGEN-sig-12, GGEN-sig-15, GGEN-sig-16, GGEN-p4-2: the seed's schema, JSON equal."""
    async with host(market, door) as client:
        (tool,) = (await client.request("tools/list"))["tools"]
        assert {name: tool[name] for name in SEED} == SEED
        good = await client.call("FinancialAnalyzer", ticker_symbol="AAPL", period_days=90)
        assert good["structuredContent"] == {"score": 90}
        wrong = await client.call("FinancialAnalyzer", ticker_symbol="WRONG", period_days=90)
        assert wrong["isError"] is True
        assert "does not fit its output schema: /score" in wrong["content"][0]["text"]


@pytest.mark.parametrize("kind", ["http", "websocket"])
async def test_a_signature_is_held_at_the_door_of_its_own_dialect(
    market: Gateway, kind: str
) -> None:
    """GGEN-sig-9, GGEN-sig-16, GGEN-to-1, GGEN-to-6, GGEN-p4-7: -32001 for the pattern, -32003 for a wrong output and a time-out."""

    async def error(client: Client, **arguments: Any) -> dict[str, Any]:
        answer = await client.ask(
            "tools/call", {"name": "FinancialAnalyzer", "arguments": arguments}
        )
        found: dict[str, Any] = answer["error"]
        return found

    async with Client(market, kind, None) as client:
        bad = await error(client, ticker_symbol="invalid123", period_days=90)
        assert (bad["code"], bad["data"]["field"]) == (-32001, "ticker_symbol")
        wrong = await error(client, ticker_symbol="WRONG", period_days=90)
        assert wrong["code"] == -32003
        late = await error(client, ticker_symbol="SLOW", period_days=90)
        assert (late["code"], late["data"]["tool_name"]) == (-32003, "FinancialAnalyzer")
        assert late["message"] == "Tool execution timeout"
        assert (late["data"]["error_type"], late["data"]["timeout_ms"]) == ("ToolTimeout", 300)
        assert len(late["data"]["suggestions"]) == 3
