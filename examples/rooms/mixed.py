"""MCPx §9.3: an administrator, a service, a new agent and a monitor in one topic, each with its own rights."""

import asyncio
from typing import Any

from table import seat

from gatewright.rooms.participants import NotAllowedError
from gatewright.rooms.participants.tool_responder import Tools


async def greet(sender: str, name: str) -> Any:
    """What the service offers."""
    return {"greeting": f"hello {name}, says {sender}"}


async def main() -> None:
    """Run the flow."""
    tools = Tools("greeter")
    tools.offer("greet", "Greets.", {"name": {"type": "string"}}, greet, ["name"])
    async with (
        seat("service", responder=tools),
        seat("ana") as ana,
        seat("helper") as helper,
        seat("monitor") as monitor,
    ):
        call = {"name": "greet", "arguments": {"name": "world"}}
        found = await ana.request("service", "tools/call", call)
        print(f"ana: {found['structuredContent']['greeting']}")
        listed = await monitor.request("service", "tools/list")
        print(f"monitor sees {[tool['name'] for tool in listed['tools']]}")
        for who in (monitor, helper):
            try:
                await who.request("service", "tools/call", call)
            except NotAllowedError:
                print(f"{who.id} may not call it")
        print(f"helper proposes instead: {helper.propose('tools/call', call, to=['service']).id}")


if __name__ == "__main__":
    asyncio.run(main())
