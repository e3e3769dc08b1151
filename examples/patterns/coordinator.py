"""Several agents work for one (MGP §10.1): a server that hands tasks to the tools of a gateway and collects what comes of them.

    python examples/patterns/coordinator.py URL        # the key of this coordinator, if any, is in GATEWRIGHT_KEY

An agent is a tool with an argument `task`. To the gateway the coordinator is a caller like any other: what it may use is granted
to its key, each piece of work is a recorded call, and all of one task share its trace.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Awaitable
from typing import Any, Literal

from gatewright.mcp.protocol.negotiate import Face
from gatewright.sdk import Client, Context, Server, ToolError
from gatewright.sdk.client import Options, ToolResult

server = Server("coordinator", "1.0.0", face=Face(("audit",)))  # to be told traces
running: dict[str, asyncio.Task[dict[str, str]]] = {}
numbers = itertools.count(1)


def gateway() -> Client:
    """A connection to the gateway whose tools are the agents."""
    return Client(sys.argv[1], Options(mgp=None, bearer=os.environ.get("GATEWRIGHT_KEY")))


async def agents(client: Client) -> dict[str, str]:
    """Name → what it says of itself."""
    tools = await client.list_tools()
    return {
        one.name: one.description or ""
        for one in tools
        if "task" in one.input_schema.get("properties", {})
    }


@server.tool(read_only=True)
async def query_agents(skill: str = "") -> list[dict[str, str]]:
    """Which agents there are; with a skill, those that mention one of its words."""
    async with gateway() as client:
        found = await agents(client)
    wanted = set(skill.lower().split())
    return [
        {"agent": name, "description": text}
        for name, text in found.items()
        if not wanted or wanted & set(text.lower().replace(",", " ").replace(".", " ").split())
    ]


@server.tool
async def delegate_task(
    context: Context,
    task: str,
    agents_: list[str] | None = None,
    mode: Literal["fan_out", "chain"] = "fan_out",
    skill: str = "",
) -> str:
    """Give a task to agents, all at once or one after the other; without any, to the first who has the skill. Returns the id of
    the task at once."""
    chosen = agents_ or [one["agent"] for one in await query_agents(skill)][:1]
    if not chosen:
        raise ToolError(f"no agent says that it can do {skill!r}; query_agents lists all")
    ident = f"task-{next(numbers)}"
    trace = context.trace_id
    work = _chain(chosen, task, trace) if mode == "chain" else _fan_out(chosen, task, trace)
    running[ident] = asyncio.ensure_future(work)
    return ident


@server.tool
async def collect_results(id: str, wait_s: float = 10.0) -> dict[str, Any]:
    """What came of a task: agent → result, or that it still runs."""
    task = running.get(id)
    if task is None:
        raise ToolError(f"there is no task {id}; delegate_task gives the ids")
    await asyncio.wait([task], timeout=wait_s)
    if not task.done():
        return {"status": "running"}
    return {"status": "done", "results": running.pop(id).result()}


async def _ask(client: Client, agent: str, task: str, trace: str) -> str:
    asked = {"name": agent, "arguments": {"task": task}, "trace_id": trace}
    result = ToolResult((await client.request("tools/call", asked)).raw)
    return f"failed: {result.text}" if result.is_error else result.text


async def _fan_out(chosen: list[str], task: str, trace: str) -> dict[str, str]:
    async with gateway() as client:
        work: list[Awaitable[str]] = [_ask(client, one, task, trace) for one in chosen]
        return dict(zip(chosen, await asyncio.gather(*work), strict=True))


async def _chain(chosen: list[str], task: str, trace: str) -> dict[str, str]:
    found: dict[str, str] = {}
    async with gateway() as client:
        for one in chosen:
            task = found[one] = await _ask(client, one, task, trace)
    return found


if __name__ == "__main__":
    server.run()
