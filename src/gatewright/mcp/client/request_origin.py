"""`RequestOrigin`: attributes a server's request to a call by elimination; `Absent`: parties with no call open; `failed`: error replies."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

from gatewright.call import Failure, Refusal
from gatewright.mcp.client.pending_requests import PendingRequest
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Response, members_named

__all__ = ["CROWD", "TOLD", "Absent", "RequestOrigin", "failed"]

CROWD = "crowd"
"""The key of those whose number is all that is known: more were given up than can be remembered. No number, which a server may answer."""

TOLD = "told "
"""The beginning of the key of a party that said something which nobody answers."""

Key = int | str


def failed(reply: object) -> bool:
    """Whether a request that was sent ended with an error, with a result that is one or without a readable word of its server; of a long
    result, whether it may be one."""
    if isinstance(reply, Failure | Refusal):
        return reply.details.get("sent") is not False
    if not isinstance(reply, Response):
        return False
    raw = reply.result
    if len(raw) > DECODED_BYTES:  # to look through all of it would take longer than others can wait
        return True
    if not raw or not (raw.find(b"isError") >= 0 or raw.find(b"\\u") >= 0):
        return not raw
    try:
        return bytes(members_named(raw, "isError").get("isError", b"false")) != b"false"
    except ValueError:
        return True


class Absent:
    """Who may be meant by a question although no call of theirs is in flight: keys, and whose each is. What is asked of it costs
    the same however many they are."""

    def __init__(self) -> None:
        self._party: dict[Key, str] = {}
        self._parties: dict[str, int] = {}
        self._permanent: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._party)

    def __contains__(self, key: object) -> bool:
        return key in self._party

    @property
    def parties(self) -> Collection[str]:
        """Whose they are."""
        return self._parties.keys()

    @property
    def permanent(self) -> Collection[str]:
        """Whose those are that go no sooner than the connection; a call that was given up may still be answered."""
        return self._permanent.keys()

    def add(self, key: Key, party: str) -> None:
        """One more may be meant."""
        self.remove(key)
        self._party[key] = party
        for counts in self._counts(key):
            counts[party] = counts.get(party, 0) + 1

    def whose(self, key: Key) -> str | None:
        """The party of one; None where it is none."""
        return self._party.get(key)

    def remove(self, key: Key) -> bool:
        """One fewer may be; False where it was none."""
        party = self._party.pop(key, None)
        if party is None:
            return False
        for counts in self._counts(key):
            counts[party] -= 1
            if not counts[party]:
                del counts[party]
        return True

    def _counts(self, key: Key) -> Iterable[dict[str, int]]:
        stays = type(key) is str and (key == CROWD or key.startswith(TOLD))
        return (self._parties, self._permanent) if stays else (self._parties,)

    def clear(self) -> None:
        """Nobody is meant any more."""
        for one in (self._party, self._parties, self._permanent):
            one.clear()

    def copy(self) -> Absent:
        """The same, as it is now."""
        made = Absent()
        made._party, made._parties = self._party.copy(), self._parties.copy()
        made._permanent = self._permanent.copy()
        return made


class RequestOrigin:
    """`live` are the calls that may have asked, oldest first and by their numbers; `ghosts` whose others may have.

    Both only lose parties, so that what is decided once stays so, and from then on `ghosts` do not matter.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, exchanges: Iterable[PendingRequest], ghosts: Absent
    ) -> None:
        self.live = {one.ident: one for one in exchanges}
        self._parties: dict[str, int] = {}
        for one in self.live.values():
            self._parties[one.party] = self._parties.get(one.party, 0) + 1
        self._ghosts = ghosts
        self.waits = False
        """Whether more has to be known before anybody is asked."""
        self.decided: asyncio.Future[None] = loop.create_future()
        """Done when what it waits for is known."""
        self.over: asyncio.Future[None] = loop.create_future()
        """Done when none of the calls is left."""

    @property
    def settled(self) -> bool:
        """Nobody is left to ask, or one party only could have made the server ask."""
        own, others = self._parties, self._ghosts.parties
        return not own or (len(own) == 1 and len(others) <= 1 and own.keys() >= set(others))

    @property
    def hopeless(self) -> bool:
        """Whether no wait can settle it: somebody who has no call here, or several, may be meant for as long as this connection lasts."""
        permanent = self._ghosts.permanent
        return len(permanent) > 1 or not self._parties.keys() >= set(permanent)

    def wait(self) -> None:
        """Begin to wait until it is settled: from now on it has ghosts of its own."""
        self._ghosts, self.waits = self._ghosts.copy(), True

    def end_wait(self) -> bool:
        """Whether it is settled; it waits no longer."""
        settled, self.waits = self.settled, False
        self._ghosts = Absent()
        return settled

    def answered(self, exchange: PendingRequest, *, gave_up: bool = False) -> None:
        """One of the calls, if it is one, is not the one that asks; or it failed, and its server may have waited no longer (`gave_up`)."""
        if self.live.get(exchange.ident) is not exchange:
            return
        if gave_up and self.waits:
            self._ghosts.add(f"{TOLD}of {exchange.ident}", exchange.party)
        del self.live[exchange.ident]
        party = exchange.party
        self._parties[party] -= 1
        if not self._parties[party]:
            del self._parties[party]
        if not self.live and not self.over.done():
            self.over.set_result(None)
        self._look()

    def abandoned(self, exchange: PendingRequest) -> None:
        """One of the calls was given up, and may be the one that asks."""
        if self.waits and self.live.get(exchange.ident) is exchange:
            self._ghosts.add(exchange.ident, exchange.party)

    def stays(self, key: Key, party: str, of: int) -> None:
        """What one of the calls has begun may be what asks."""
        if self.waits and (of in self.live or of in self._ghosts):
            self._ghosts.add(key, party)

    def laid(self, key: Key, *, gave_up: bool = False) -> None:
        """One that may have asked has not, or does so no more; or it failed (`gave_up`)."""
        party = self._ghosts.whose(key) if self.waits else None
        if party is None:
            return
        self._ghosts.remove(key)
        if gave_up:
            self._ghosts.add(f"{TOLD}of {key}", party)
        self._look()

    def _look(self) -> None:
        if self.waits and not self.decided.done() and (self.settled or self.hopeless):
            self.decided.set_result(None)
