"""A server's request to a client (elicitation, sampling, roots) held until its call is known or it is answered with an error."""

from __future__ import annotations

import asyncio

from gatewright.mcp.client.pending_requests import PendingRequest

__all__ = ["CROWD", "TOLD", "HeldQuestion"]

CROWD = -1
"""The key of those whose number is all that is known: more were given up than can be remembered."""

TOLD = "told "
"""The beginning of the key of a party that said something which nobody answers."""


class HeldQuestion:
    """`live` are the calls that may have asked, `ghosts` whose others may have."""

    def __init__(self, loop: asyncio.AbstractEventLoop, exchanges: list[PendingRequest]) -> None:
        self.live = exchanges
        self.ghosts: dict[int | str, str] = {}
        self.changed: asyncio.Future[None] = loop.create_future()

    @property
    def settled(self) -> bool:
        """Nobody is left to ask, or one party only could have made the server ask."""
        parties = {one.party for one in self.live}
        return not parties or len(parties.union(self.ghosts.values())) == 1

    @property
    def hopeless(self) -> bool:
        """Whether no wait can settle it: somebody who has no call here, or several, may be meant for as long as this connection lasts."""
        # Only these never go while the connection lasts; a call that was given up may still be answered.
        lasting = {one for key, one in self.ghosts.items() if key == CROWD or str(key).startswith(TOLD)}  # fmt: skip
        return len(lasting) > 1 or not lasting.issubset(one.party for one in self.live)

    def wake(self) -> None:
        """Look again whether it is settled."""
        if not self.changed.done():
            self.changed.set_result(None)
