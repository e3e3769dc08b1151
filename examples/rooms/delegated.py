"""MCPx §9.4: a person directs an orchestrator, which learns what it may fulfil by itself."""

import asyncio
from functools import partial
from typing import Any

from table import add, seat

from gatewright.rooms.participants import Participant, until


async def tell(person: Participant, tool: str, **arguments: Any) -> Any:
    """Direct the orchestrator."""
    params = {"name": tool, "arguments": arguments}
    result = await person.request("orchestrator", "tools/call", params)
    if result["isError"]:
        raise RuntimeError(result["content"][0]["text"])
    return result["structuredContent"]


async def main() -> None:
    """Run the flow."""
    async with seat("helper") as helper, seat("ana") as ana:
        for round_ in range(3):
            proposal = helper.propose("tools/call", add(40, 2), to=["gatewright"])
            await until(ana, partial(ana.proposals.find, proposal.id))
            result, _ = await asyncio.gather(
                tell(ana, "approve", proposal=proposal.id), proposal.outcome()
            )
            print(f"round {round_ + 1}: ana approved, {result['content'][0]['text']}")
        (suggestion,) = (await tell(ana, "suggestions"))["suggestions"]
        print(
            f"suggested: {suggestion['action']} {suggestion['pattern']} where {suggestion['where']}"
        )
        rule = await tell(ana, "accept", id=suggestion["id"])
        proposal = helper.propose("tools/call", add(40, 2), to=["gatewright"])
        outcome = await proposal.outcome()
        print(f"by {rule['id']}, without ana: {outcome['content'][0]['text']}")
        other = helper.propose("tools/call", add(1, 1), to=["gatewright"])
        await asyncio.sleep(0.5)
        print(f"something else waits for a person: {other.proposal.status}")
        other.withdraw("the example ends")
        await tell(ana, "revoke", id=rule["id"], reason="the example ends")


if __name__ == "__main__":
    asyncio.run(main())
