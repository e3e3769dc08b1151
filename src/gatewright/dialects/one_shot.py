"""`OneShotCalls`: runs sessionless calls of REST, ggen, console; encodes results (caches short lists), argument errors; cancels on disconnect.

ggen and REST are like that: one request, one answer, no session. A server that needs to ask
its caller something is told that it cannot.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from gatewright.call import Answer, Call, Caller, CannotAsk, Event, Outcome, Question, Refusal, Tool
from gatewright.command_text import to_type
from gatewright.mcp.protocol import ggen
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.http_request import HttpRequest
from gatewright.mcp.server.server_context import ServerContext
from gatewright.schemas.flaws import Flaw, Flaws
from gatewright.transport.slices import in_slices

__all__ = ["BROKEN", "OneShotCalls", "Shown", "Who", "told", "unless_gone", "unreadable"]

T = TypeVar("T")

BROKEN = "internal error; the details are in the gateway's log"
"""What a caller hears of a defect of ours."""


_REMEMBERED, _REMEMBERED_BYTES = 16, 256 * 1024


class Who(NamedTuple):
    """The caller of a request, the credential that it came with, and the profile that it is for."""

    caller: Caller
    credential: str | None
    profile: str


class Shown(Protocol):
    """The catalogue of tools, as the endpoints of one-shot calls need it."""

    def tool(self, profile: str, name: str, caller: Caller) -> Tool | None:
        """A tool by any of its names, where the caller may see it."""

    def offers(self, profile: str) -> bool:
        """Whether there is any tool in a profile, whoever may see it."""


class _NoWayBack:
    """The kernel's `Back` where there is none."""

    def emit(self, event: Event) -> None:
        """Nobody hears it."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("the caller speaks a dialect in which it cannot be asked anything")


_NO_WAY_BACK = _NoWayBack()


class OneShotCalls:
    """Runs one-shot calls through the kernel. `door` is the endpoint's name in the audit record."""

    def __init__(self, front: ServerContext, shown: Shown, door: str) -> None:
        self._front = front
        self._shown = shown
        self._flaws = Flaws()
        self._lists: OrderedDict[bytes, bytes] = OrderedDict()
        """What was made of the last lists that are short."""
        self.door = door

    async def handle(
        self, inbound: Inbound, who: Who, facts: Mapping[str, Any] | None = None
    ) -> tuple[Call, Outcome]:
        """Walk one call to its end; `facts` are for its record. Never raises, except for the cancellation of its task."""
        front = self._front
        await front.upstream.settled()  # what is still starting is not missing
        call = front.call(
            inbound,
            who.caller,
            door=self.door,
            credential=who.credential,
            session=None,
            profile=who.profile,
        )
        call.facts.update(facts or {})
        return call, await front.kernel.handle(call, _NO_WAY_BACK)

    async def result(self, answer: Answer, method: str) -> bytes:
        """The JSON text of a result as ggen has it; a long list is made a little at a time, and a short one is remembered."""
        raw = ggen.result_of(answer, method, self._front.info)
        if method != "tools/list":
            return raw
        # By its text and not by who asked: two callers who may see the same share one.
        found = self._lists.get(raw)
        if found is None:
            found = await in_slices(ggen.described(raw))
            if len(raw) <= _REMEMBERED_BYTES:
                self._lists[raw] = found
            if len(self._lists) > _REMEMBERED:
                self._lists.popitem(last=False)
        return found

    def hides(self, profile: str) -> bool:
        """Whether who sees no tool at all only may not see any (decision C-32)."""
        return self._shown.offers(profile)

    def flaws(self, call: Call) -> list[dict[str, Any]]:
        """What is wrong with the arguments of a call that was refused for them."""
        tool = self._shown.tool(call.profile, call.name, call.caller)
        if tool is None:
            return []
        return [told(one) for one in self._flaws.of(tool.schema, call.arguments)]


def unreadable(caller: Caller) -> Refusal:
    """What a caller is told that may not read the definition of any tool there is."""
    granted = to_type("grant add {} SERVER", caller.id)
    return Refusal(
        "permission_denied",
        f"none of the tools here may be read by this caller; `{granted}` grants those of a server",
    )


def told(flaw: Flaw) -> dict[str, Any]:
    """One flaw as ggen's error data has it."""
    return {
        "error_type": "ValidationError" if flaw.field is None else "FieldValidation",
        "field": flaw.field,
        "reason": flaw.reason,
        "suggestions": list(flaw.suggestions),
        "documentation_url": flaw.documentation_url,
    }


async def unless_gone(http: HttpRequest, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of some work, which is cancelled when the client closes its connection; then None."""
    doing = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(http.gone())
    try:
        await asyncio.wait((doing, gone), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        doing.cancel()
        await asyncio.wait((doing,))
        return None
    finally:  # also where this task is cancelled itself
        gone.cancel()
        doing.cancel()
