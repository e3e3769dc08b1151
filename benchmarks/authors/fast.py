# mypy: ignore-errors
"""The ten tools with FastMCP, as its documentation writes them."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Image
from mcp.types import ToolAnnotations
from pydantic import Field

server = FastMCP("ten")


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
    query: Annotated[str, Field(description="What to look for", min_length=1, max_length=100)],
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
) -> list[str]:
    """Search the notes."""
    return [query] * min(limit, 2)


@server.tool
def convert(amount: Annotated[float, Field(ge=0)], to: Literal["EUR", "USD"]) -> Money:
    """Convert an amount."""
    return Money(amount * 1.1, to)


@server.tool
def remind(when: datetime, text: str) -> str:
    """Set a reminder."""
    return f"{when:%Y-%m-%d %H:%M}: {text}"


@server.tool
def open_ticket(
    title: Annotated[str, Field(min_length=1, max_length=80)], priority: Priority = Priority.LOW
) -> str:
    """Open a ticket."""
    return f"{priority.name}: {title}"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def lookup(order: UUID) -> dict[str, str]:
    """Look an order up."""
    return {"order": str(order)}


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def wipe(folder: Path) -> str:
    """Delete a folder."""
    return f"would delete {folder}"


@server.tool
def chart(values: list[float]) -> Image:
    """Draw a chart."""
    return Image(data=bytes(int(one) % 256 for one in values), format="png")


@server.tool(timeout=5)
async def count(context: Context, to: int) -> int:
    """Count, and say how far it is."""
    for step in range(to):
        await context.report_progress(step + 1, to)
    return to


@server.tool
def fail(reason: str) -> str:
    """Fail with a reason."""
    raise ToolError(reason)


if __name__ == "__main__":
    server.run()
