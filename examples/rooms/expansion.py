"""MCPx §9.2: an administrator has seen enough of an agent, and lets it do more. No new connection is needed."""

import asyncio
import json
import os
import urllib.request
from typing import Any

from table import URL, add, seat

from gatewright.rooms.participants import until

KEY = os.environ["OPERATOR"]  # gatewright key create root --operator


def change(participant: str, **change: Any) -> Any:
    """Give and take capabilities; what they were and are."""
    base = URL.replace("ws", "http", 1).removesuffix("/ws")
    request = urllib.request.Request(  # noqa: S310 - it goes to loopback
        f"{base}/admin/participants/{participant}/capabilities",
        data=json.dumps(change).encode(),
        headers={"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - the same
        return json.load(answer)


async def main() -> None:
    """Run the flow."""
    tools = "mcp/request:tools/*"
    async with seat("helper") as helper:
        print(f"helper may send {', '.join(helper.capabilities.patterns)}")
        await asyncio.to_thread(change, "helper", add=[tools], remove=[], reason="a good week")
        await until(helper, lambda: helper.capabilities.allows("mcp/request:tools/list"))
        listed = await helper.request("gatewright", "tools/list")
        print(f"now it sees {len(listed['tools'])} tools, as far as it has grants")
        await asyncio.to_thread(change, "helper", add=[], remove=[tools], reason="the example ends")
    print(f"and a call would have been {add(2, 3)['name']}")


if __name__ == "__main__":
    asyncio.run(main())
