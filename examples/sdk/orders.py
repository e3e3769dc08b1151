"""A shop's tools as an MCP and MGP server: `python examples/sdk/orders.py` speaks to whoever starts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gatewright.sdk import Context, Server, ToolError, ToolSecurity

server = Server("shop", "1.0.0", instructions="Ask before you order.")


@dataclass
class Order:
    """What may be ordered."""

    size: Literal["small", "large"]


@server.tool(read_only=True, security=ToolSecurity(risk_level="safe"))
def total(prices: list[float]) -> float:
    """The sum of prices."""
    if not prices:
        raise ToolError("there is nothing to add up; give at least one of the prices")
    return float(sum(prices))


@server.tool(
    security=ToolSecurity(risk_level="dangerous", permissions_required=("network.outbound",))
)
async def order(context: Context) -> str:
    """Order something, after asking which size."""
    context.progress(1, 2, "asking")
    answer = await context.elicit("Which size?", Order)
    if answer.content is None:
        return f"nothing ordered: {answer.action}"
    context.progress(2, 2)
    return f"one {answer.content.size}"


@server.resource("shop://prices", ttl_s=60)
def prices() -> dict[str, float]:
    """What everything costs."""
    return {"small": 1.0, "large": 2.0}


if __name__ == "__main__":
    server.run()
