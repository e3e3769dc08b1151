"""Retries calls to an MGP server by its recovery hints (MGP §14.6), where safe; records attempts; runs a fallback tool as a new call.

The rules are `mcp.protocol.recovery`, the drive is `mcp.client.retry`; here is what a gateway adds. It stands between others,
so a server's word alone lets it repeat nothing that may have had effects: only what was refused before it ran, or what only
reads. A fallback tool is another tool: the call to it is a call of its own, through every gate, by the same caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Failure, Outcome, Unrecorded
from gatewright.mcp.client.retry import Attempt, Sleep, persist
from gatewright.mcp.protocol.recovery import Policy, Retries
from gatewright.mcp.protocol.retry_hints import renamed

__all__ = ["FALLBACK_OF", "Handle", "Note", "Persisting", "Put"]

Put = Callable[[], Awaitable[Outcome]]
"""The same call to its owner once more."""

Handle = Callable[[Call, Back], Awaitable[Outcome]]
"""The kernel's way."""

Note = Callable[[Call, Attempt], None]
"""Records an attempt that is about to be made. Raises `Unrecorded`."""

FALLBACK_OF = "fallback_of"
"""The fact of a call that was made in another's place: the id of that one."""

# A server's word that nothing ran counts only where its code says so (0039), and what was not sent `call_sender` has sent again.
_POLICY = Policy(trusting=False, unsent=False)


class Persisting:
    """Made once for a gateway. `limit_s` gives the seconds a server's calls may take, by its id; `random` numbers in [0, 1);
    `fresh` the id of a new call."""

    def __init__(
        self,
        *,
        handle: Handle,
        note: Note,
        limit_s: Callable[[str], float],
        random: Callable[[], float],
        fresh: Callable[[], str],
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._handle = handle
        self._note = note
        self._limit_s = limit_s
        self._random = random
        self._fresh = fresh
        self._sleep = sleep

    async def __call__(self, outcome: Failure, call: Call, back: Back, put: Put) -> Outcome:
        """The end of a call whose first attempt came to `outcome`. An attempt that cannot be recorded is not made."""
        # A fallback of a fallback could lead back to the tool that failed (0039).
        policy = replace(_POLICY, fallback=FALLBACK_OF not in call.facts and call.kind == "tool")
        retries = Retries(policy, self._random, repeatable=call.repeatable)
        one = _One(self, call, back, put)
        try:
            return await persist(outcome, one, retries, sleep=self._sleep)
        except Unrecorded:
            return outcome

    def deadline(self, call: Call) -> float:
        """When to give up, in the loop's seconds."""
        if call.deadline is not None:
            return call.deadline
        server = "" if call.target is None else call.target.server
        return asyncio.get_running_loop().time() + self._limit_s(server)

    async def fall_back(self, call: Call, tool: str, back: Back) -> Outcome:
        """The same arguments to another tool of the same server, as a call of its own."""
        server = "" if call.target is None else call.target.server
        name = f"{server}/{tool}"
        params: dict[str, Any] = {**call.params, "name": name}
        facts = {FALLBACK_OF: call.id}
        # Without target and tool: the gates resolve the name anew, with the caller's own rights.
        other = replace(
            call, id=self._fresh(), name=name, params=params, target=None, tool=None, facts=facts
        )
        return await self._handle(other, back)

    def note(self, call: Call, attempt: Attempt) -> None:
        """Record an attempt."""
        self._note(call, attempt)


class _One:
    """One call and its attempts (`mcp.client.retry.Trying`)."""

    def __init__(self, owner: Persisting, call: Call, back: Back, put: Put) -> None:
        self._owner = owner
        self._call = call
        self._back = back
        self._put = put
        self._deadline = owner.deadline(call)

    async def again(self) -> Outcome:
        """To its owner once more."""
        return await self._put()

    async def instead(self, tool: str) -> Outcome | None:
        """The fallback; None where the caller may not have it, or it is the very tool that failed, so that the first error
        stands. What a fallback says in its turn of other tools nobody is told: one of them may be the one that it stands
        for."""
        if self._call.target is not None and tool == self._call.target.name:
            return None
        outcome = await self._owner.fall_back(self._call, tool, self._back)
        if isinstance(outcome, Failure) and outcome.error is not None:
            return replace(outcome, error=renamed(outcome.error, lambda _: None))
        # It may have run, and nobody knows: the first error would promise that nothing did, and the fallback would run again.
        unknown = not isinstance(outcome, Answer) and outcome.once
        return outcome if isinstance(outcome, Answer) or unknown else None

    def left(self) -> float:
        """Seconds until the deadline."""
        return self._deadline - asyncio.get_running_loop().time()

    async def note(self, attempt: Attempt) -> None:
        """Record an attempt."""
        self._owner.note(self._call, attempt)
