"""A server that shows everything, and clients of it that need no wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from gatewright.sdk.client import Client, Options
from gatewright.sdk.server import Context, Server

__all__ = ["ERAS", "Order", "clients", "made", "yes"]

ERAS: tuple[Literal["legacy", "modern"], ...] = ("legacy", "modern")


@dataclass
class Order:
    size: Literal["small", "large"]
    count: int = 1


def yes(params: dict[str, Any]) -> dict[str, Any]:
    """A user who orders three."""
    return {"action": "accept", "content": {"size": "large", "count": 3}}


def made(**options: Any) -> Server:
    """A server with a tool, a resource or a prompt of every kind."""
    server = Server("made", "2.0", **options)
    _tools(server)
    _asking(server)
    _others(server)
    return server


def _tools(server: Server) -> None:
    @server.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(timeout_s=0.05)
    async def slow(seconds: float) -> str:
        """Take longer than it may."""
        await asyncio.sleep(seconds)
        return "awake"

    @server.tool(destructive=True)
    def wipe() -> str:
        """Delete everything."""
        return "gone"

    @server.tool
    def broken() -> str:
        """Fail."""
        raise ValueError("not today")


def _asking(server: Server) -> None:
    @server.tool
    async def told(context: Context) -> str:
        """Say how far it is, and log."""
        context.progress(1, 2, "half")
        context.warning({"odd": True})
        context.progress(2, 2)
        return context.caller

    @server.tool
    async def order(context: Context) -> str:
        """Ask the user."""
        found = await context.elicit("What may it be?", Order, key="order")
        return f"{found.content.count} {found.content.size}" if found.content else found.action

    @server.tool
    def order_in_a_thread(context: Context) -> str:
        """The same for a plain function."""
        found = context.wait(context.elicit("What may it be?", Order))
        context.progress(1)
        return str(found.content)


def _others(server: Server) -> None:
    @server.resource("config://app", mime_type="application/json", ttl_s=60)
    def config() -> dict[str, Any]:
        """How it is set up."""
        return {"debug": False}

    @server.resource("user://{name}/photo")
    def photo(name: str) -> bytes:
        return name.encode()

    @server.prompt(title="Greeting")
    def greet(name: str, tone: str = "kind") -> list[Any]:
        """Greet somebody."""
        return [f"Greet {name}, be {tone}.", ("assistant", "Hello!")]

    @server.completion("greet", "name")
    def names(typed: str) -> list[str]:
        return [one for one in ("Ann", "Anna", "Bob") if one.startswith(typed)]

    @server.method("com.example/echo")
    def echo(params: dict[str, Any], context: Context) -> dict[str, Any]:
        return {"said": params["text"]}


@asynccontextmanager
async def clients(server: Server, **options: Any) -> AsyncIterator[list[Client]]:
    """One client of each era, in memory."""
    async with (
        Client(server, Options(era="legacy", **options)) as legacy,
        Client(server, Options(era="modern", **options)) as modern,
    ):
        yield [legacy, modern]
