"""ggen's example server: the financial analyzer of its specification, and tools that end in other ways.

    python tests/tool_servers/finance.py

Tools: `FinancialAnalyzer` (a structured result, as its schema in the specification has it), `Crash` (says
that it failed), `Slow` (answers after `seconds`), `Report` (a text of `kib` KiB), `Refuse` (a JSON-RPC
error), `ran` (how often any other tool was run). Resources: two reports.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import LEGACY, Call, RefusalError, serve_stdio

__all__ = ["ANALYZER", "main"]

ANALYZER: dict[str, Any] = {
    "name": "FinancialAnalyzer",
    "description": "Analyzes stock data and returns investment recommendations",
    "inputSchema": {
        "type": "object",
        "properties": {
            "ticker_symbol": {
                "type": "string",
                "description": "Stock ticker symbol (e.g., AAPL)",
                "pattern": "^[A-Z]{1,5}$",
                "minLength": 1,
                "maxLength": 5,
                "externalDocs": {"url": "https://docs.example.com/ticker-format"},
            },
            "period_days": {
                "type": "integer",
                "description": "Historical analysis period in days",
                "minimum": 1,
                "maximum": 365,
            },
            "analysis_type": {
                "type": "string",
                "description": "Type of analysis",
                "enum": ["technical", "fundamental", "sentiment"],
                "default": "technical",
            },
        },
        "required": ["ticker_symbol", "period_days"],
    },
}


def _tool(name: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {"name": name, "description": f"{name}, for tests", "inputSchema": schema}


TOOLS = [
    ANALYZER,
    _tool("Crash"),
    _tool("Slow", seconds={"type": "number", "minimum": 0, "maximum": 60}),
    _tool("Report", kib={"type": "integer", "minimum": 0, "maximum": 20_000}),
    _tool("Refuse"),
    _tool("ran"),
]
REPORTS = {
    "ggen://reports/aapl": "AAPL: hold",
    "ggen://reports/msft": "MSFT: buy",
}
RAN: Counter[str] = Counter()


async def _call(name: str, given: dict[str, Any]) -> dict[str, Any]:
    if name == "ran":
        return {"content": [], "structuredContent": dict(RAN)}
    RAN[name] += 1
    if name == "FinancialAnalyzer":
        found = {
            "ticker": given["ticker_symbol"],
            "days": given["period_days"],
            "analysis": given.get("analysis_type", "technical"),
            "recommendation": "hold",
        }
        return {"content": [{"type": "text", "text": "hold"}], "structuredContent": found}
    if name == "Crash":
        return {"content": [{"type": "text", "text": "division by zero"}], "isError": True}
    if name == "Slow":
        await asyncio.sleep(given.get("seconds", 0))
        return {"content": [{"type": "text", "text": "done"}]}
    if name == "Report":
        return {"content": [{"type": "text", "text": "x" * 1024 * given.get("kib", 1)}]}
    raise RefusalError(-32050, "no analyst is in today", {"until": "tomorrow"})


async def app(call: Call) -> Any:
    """Answer one message."""
    if call.id is None:
        return None
    params = call.params
    if call.method == "tools/call":
        return await _call(params["name"], params.get("arguments") or {})
    if call.method == "resources/read":
        if params["uri"] not in REPORTS:
            raise RefusalError(-32002, f"no such report: {params['uri']}")
        text = REPORTS[params["uri"]]
        return {"contents": [{"uri": params["uri"], "mimeType": "text/plain", "text": text}]}
    lists: dict[str, Any] = {
        "tools/list": {"tools": TOOLS},
        "resources/list": {"resources": [{"uri": one, "name": one[-4:]} for one in REPORTS]},
        "ping": {},
        "initialize": {
            "protocolVersion": LEGACY[-1],
            "capabilities": {"tools": {}, "resources": {}},
            "serverInfo": {"name": "finance", "version": "1.0.0"},
        },
    }
    if call.method not in lists:
        raise RefusalError(-32601, f"Unknown method: {call.method}")
    return lists[call.method]


def main() -> int:
    """Serve over stdin and stdout."""
    return serve_stdio(app)


if __name__ == "__main__":
    sys.exit(main())
