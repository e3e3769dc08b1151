"""Asks the caller all `inputRequests` of a server's interim result at once, and gathers the answers; one that cannot be asked fails all."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Back, CannotAsk, Failure, Outcome
from gatewright.mcp.client.related_tasks import OF_ITS_CALL, named
from gatewright.mcp.protocol.input_required import Interim
from gatewright.mcp.wire import jsonrpc

__all__ = ["ask_all", "begun"]


async def ask_all(interim: Interim, back: Back, server: str = "") -> dict[str, Any] | Failure:
    """The answers to all questions of an interim result of a server, asked at the same time.

    One that cannot be asked fails the call: a modern server has no way to be told so.
    """
    if any(named(one.params) is not None for one in interim.questions.values()):
        return _cannot(CannotAsk(OF_ITS_CALL))
    tasks = {
        key: asyncio.ensure_future(back.ask(replace(one, server=server)))
        for key, one in interim.questions.items()
    }
    try:
        await asyncio.gather(*tasks.values())
    except CannotAsk as no:
        return _cannot(no)
    finally:
        # `gather` raises with the first that fails, and leaves the others open.
        for task in tasks.values():
            task.cancel()
    return {key: task.result() for key, task in tasks.items()}


def begun(outcome: Outcome) -> Outcome:
    """What a later round of one call came to: the first was sent, whatever became of this one."""
    if isinstance(outcome, Answer) or outcome.details.get("sent") is not False:
        return outcome
    return replace(outcome, details={**outcome.details, "sent": True})


def _cannot(no: CannotAsk) -> Failure:
    error = {"code": no.code, "message": no.message}
    if no.data is not None:
        error["data"] = no.data
    return Failure(
        "upstream_error",
        f"the server needs to ask the caller, and cannot: {no.message}",
        error=jsonrpc.encode(error),
    )
