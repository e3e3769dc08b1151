"""`Operators`: operators' consent for one call: redeems an approval, else queues a request and holds the call, with progress and page URL.

A caller that repeats a waiting call polls it. What a poll costs, and which caller pays for the call that runs in the end, is
`limits.polls`; this file says when a call begins to wait and when it no longer does.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from hashlib import sha256
from typing import NamedTuple, Protocol

from gatewright.approvals import texts
from gatewright.approvals.request import Approval, Asked
from gatewright.call import Back, Call, CannotAsk, Question, Refusal, Tool
from gatewright.limits.polls import LOOK, Polls
from gatewright.mcp.protocol.tasks import TASK
from gatewright.servers.definition_digest import canonical_steps, digest_steps
from gatewright.transport.slices import in_slices

__all__ = ["Agreed", "ApprovalRequests", "Operators", "Queue"]

_NEWS_EVERY_S = 5.0
"""How often a caller that waits for an operator hears that it does."""


class ApprovalRequests(Protocol):
    """The queue of what waits for a person."""

    def in_turn(self) -> AbstractAsyncContextManager[None]:
        """While inside, it is this call's turn to ask: of many, one after the other."""

    def redeem(self, asked: Asked) -> Approval | None:
        """Use an approval of this very question up, where there is one."""

    def ask(
        self,
        asked: Asked,
        *,
        arguments: str,
        risk: str,
        reason: str,
        quorum: int,
        began: Callable[[str], None] = ...,
    ) -> Approval | None:
        """The request for this question; `began` is told its id where it is a new one. None where its caller has too many waiting."""

    async def decided(self, id: str) -> None:
        """Wait until a request is no longer undecided."""


class Queue(NamedTuple):
    """What is needed in order to ask operators. `policy` says the version of the policy in force, to which an
    approval of a call to a server is bound; `hold_s` is how long a call waits before its caller is told to come back; `page` gives the URL of a page on
    which an operator decides, empty where there is none."""

    desk: ApprovalRequests
    policy: Callable[[str], str]
    hold_s: float
    page: Callable[[Approval], str] = lambda _: ""


class Agreed(NamedTuple):
    """Who agreed, and by which approval where there is one, to which other arguments where there are any."""

    by: str
    approval: str = ""
    edited: str = ""


class Operators:
    """Asks operators about calls, by the queue and the rules of one configuration."""

    def __init__(
        self,
        queue: Queue,
        looks: Polls,
        redeemed: Callable[[Call], None],
        waiting: Callable[[str, Call, Tool], AbstractContextManager[object]] = lambda *_: (
            contextlib.nullcontext()
        ),
        began: Callable[[str, Call], None] = lambda *_: None,
    ) -> None:
        """`redeemed` hears of a call that runs and was counted, though it had been counted when it was first asked; `waiting` is
        entered with the id of its request while a call waits, `began` hears of a request that was made for a call."""
        self._queue = queue
        self._looks = looks
        self._redeemed = redeemed
        self._waiting = waiting
        self._began = began

    async def ask(
        self, call: Call, tool: Tool, back: Back, quorum: int, why: str
    ) -> Agreed | Refusal:
        """Who agreed to this call, or why it does not run, at least not now. `why` is what operators are told."""
        queue, desk = self._queue, self._queue.desk
        try:
            asked, arguments = await _asked(call, tool, queue.policy)
        except ValueError as problem:
            return texts.refused(call, tool, f"it cannot be put to an operator: {problem}")

        def put() -> Approval | None:
            risk = tool.security.risk_level
            return desk.ask(
                asked,
                arguments=arguments,
                risk=risk,
                reason=why,
                quorum=quorum,
                began=lambda id: self._began(id, call),
            )

        # First the approval that an earlier try of the same call may have got, then the request for one.
        async with desk.in_turn():
            used = self._used(call, asked, first=False)
            if used is not None:
                return used
            made = put()
        if made is None:
            return texts.crowded(call, tool)
        if made.state == "pending":
            lasts_s = made.expires - made.requested
            # Not in turn: a call that waits must not keep others from asking.
            with (
                self._waiting(made.id, call, tool),
                self._looks.held(call, made.id, lasts_s) as first,
            ):
                await _held(queue, made, call, back)
            async with desk.in_turn():
                used = self._used(call, asked, first=first)
                if used is not None:
                    return used
                made = put()
        if made is None or made.state != "pending":
            self._looks.over(call)
        return texts.crowded(call, tool) if made is None else texts.undecided(call, tool, made)

    def passed(self, call: Call) -> None:
        """The call runs. Where it came as a look at itself, that was the last one, whoever agreed in the end."""
        if LOOK in call.facts and call.tool is not None:
            self._looks.over(call)

    def _used(self, call: Call, asked: Asked, *, first: bool) -> Agreed | None:
        """The approval of this call, used up. `first` is the call that put the question: its count is the run's."""
        used = self._queue.desk.redeem(asked)
        if used is None:
            return None
        self._looks.over(call)
        if used.uses == 1 and not first and LOOK not in call.facts:
            self._redeemed(call)
        return Agreed(used.by, used.id, used.edited)


async def _held(queue: Queue, made: Approval, call: Call, back: Back) -> None:
    """Wait for a decision for as long as a call may wait, and let the caller know that it does. One whose caller takes
    a task waits in that instead."""
    if TASK in call.facts:  # the caller polls the task, so no call is held open
        return
    waiting = asyncio.ensure_future(queue.desk.decided(made.id))
    showing = asyncio.ensure_future(_show(queue, made, call, back))
    try:
        steps = max(1, int(queue.hold_s / _NEWS_EVERY_S))
        for step in range(steps if queue.hold_s > 0 else 0):
            back.emit(texts.news(made, step, steps))
            done, _ = await asyncio.wait([waiting], timeout=queue.hold_s / steps)
            if done:
                return
    finally:
        waiting.cancel()
        showing.cancel()


async def _show(queue: Queue, made: Approval, call: Call, back: Back) -> None:
    """Give a caller that can show pages the one of this request. What its user does with it decides nothing."""
    can = call.client.capabilities.get("elicitation")
    if queue.hold_s <= 0 or not isinstance(can, dict) or not isinstance(can.get("url"), dict):
        return
    url = queue.page(made)
    if url:
        said = f"{made.who} wants to {made.wish}. An operator decides on it on this page."
        params = {
            "mode": "url",
            "elicitationId": made.id,
            "url": url,
            "message": texts.visible(said),
        }
        with contextlib.suppress(CannotAsk):
            await back.ask(Question("elicitation/create", params))


async def _asked(call: Call, tool: Tool, version: Callable[[str], str]) -> tuple[Asked, str]:
    """What an approval is bound to, and the arguments as text. Raises `ValueError`. A call that waits goes on in the profile
    in which it was made. In slices: both may be large."""
    arguments = await in_slices(canonical_steps(call.arguments))
    definition = await in_slices(digest_steps(tool.definition))
    policy = version(tool.target.server)
    asked = Asked(
        agent=call.caller.id,
        server=tool.target.server,
        tool=tool.target.name,
        arguments_digest=sha256(arguments).hexdigest(),
        definition_digest=definition,
        policy=f"{policy} {call.profile}" if call.profile else policy,
        kind=call.caller.kind,
        session=_session(call),
    )
    return asked, arguments.decode()


def _session(call: Call) -> str:
    """What tells a caller without a name from others of that kind, who are strangers to it. Those that come without a session, as in newer MCP
    and over REST, are one caller: of a call that is repeated nobody can tell whose it is."""
    if call.caller.kind != "anonymous" or not call.session:
        return ""
    return sha256(call.session.encode()).hexdigest()
