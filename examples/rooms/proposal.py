"""MCPx §9.1: an agent that may only propose, and a person who fulfils."""

import asyncio

from table import add, seat

from gatewright.rooms.participants import NotAllowedError, until


async def main() -> None:
    """Run the flow."""
    async with seat("helper") as helper, seat("ana") as ana:
        try:
            await helper.request("gatewright", "tools/call", add(2, 3))
        except NotAllowedError as problem:
            print(f"helper: {problem}")
        proposal = helper.propose("tools/call", add(2, 3), to=["gatewright"])
        print(f"helper proposed {proposal.id}")
        await until(ana, lambda: ana.proposals.find(proposal.id) is not None)
        result, outcome = await asyncio.gather(ana.fulfil(proposal.id), proposal.outcome())
        print(f"ana got {result['content'][0]['text']}, helper got {outcome['content'][0]['text']}")


if __name__ == "__main__":
    asyncio.run(main())
