"""Ten tools of ten kinds. Start it with `python examples/sdk/ten_tools.py`; docs/authors.md sets it beside two other SDKs."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from gatewright.sdk import Context, Image, Length, MaxValue, MinValue, Server, ToolError

server = Server("ten")


class Priority(Enum):
    """How urgent."""

    LOW = "low"
    HIGH = "high"


@dataclass
class Money:
    """An amount of a currency."""

    amount: float
    currency: str


@server.tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool
def search(
    query: Annotated[str, "What to look for", Length(1, 100)],
    limit: Annotated[int, MinValue(1), MaxValue(50)] = 10,
) -> list[str]:
    """Search the notes."""
    return [query] * min(limit, 2)


@server.tool
def convert(amount: Annotated[float, MinValue(0)], to: Literal["EUR", "USD"]) -> Money:
    """Convert an amount."""
    return Money(amount * 1.1, to)


@server.tool
def remind(when: datetime, text: str) -> str:
    """Set a reminder."""
    return f"{when:%Y-%m-%d %H:%M}: {text}"


@server.tool
def open_ticket(title: Annotated[str, Length(1, 80)], priority: Priority = Priority.LOW) -> str:
    """Open a ticket."""
    return f"{priority.name}: {title}"


@server.tool(read_only=True)
def lookup(order: UUID) -> dict[str, str]:
    """Look an order up."""
    return {"order": str(order)}


@server.tool(destructive=True)
def wipe(folder: Path) -> str:
    """Delete a folder."""
    return f"would delete {folder}"


@server.tool
def chart(values: list[float]) -> Image:
    """Draw a chart."""
    return Image(bytes(int(one) % 256 for one in values))


@server.tool(timeout_s=5)
async def count(context: Context, to: int) -> int:
    """Count, and say how far it is."""
    for step in range(to):
        context.progress(step + 1, to)
    return to


@server.tool
def fail(reason: str) -> str:
    """Fail with a reason."""
    raise ToolError(reason)


if __name__ == "__main__":
    server.run()
