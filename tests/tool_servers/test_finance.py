"""The example server of ggen's specification does what its docstring says."""

from __future__ import annotations

from tests.tool_servers.drive import started
from tests.tool_servers.finance import ANALYZER


async def test_the_analyzer_answers_with_a_structured_result() -> None:
    """GGEN-ex-2: the arguments of the specification's example."""
    async with started("finance") as child:
        await child.hello("2025-11-25")
        key = await child.ask("tools/list")
        assert (await child.answer_to(key))["result"]["tools"][0] == ANALYZER
        call = {"name": "FinancialAnalyzer"}
        call |= {"arguments": {"ticker_symbol": "AAPL", "period_days": 90}}  # type: ignore[dict-item]
        key = await child.ask("tools/call", call)
        found = (await child.answer_to(key))["result"]["structuredContent"]
        assert found["ticker"] == "AAPL"
        assert (await child.refused("tools/call", {"name": "Refuse"}))["code"] == -32050
        key = await child.ask("tools/call", {"name": "ran"})
        ran = (await child.answer_to(key))["result"]["structuredContent"]
        assert ran == {"FinancialAnalyzer": 1, "Refuse": 1}
