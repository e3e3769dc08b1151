"""`put`: sends the question of a tool (elicitation, sampling, roots) to its caller, or takes the answer that the request brought along.

A legacy caller is asked at once. A modern one is answered `input_required` and repeats its request, mostly with the state that
names the waiting call; where it comes without that, the tool runs anew, and finds the answers that the request already
carries under the keys of its questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from gatewright.call import Back, Call, CannotAsk, Question
from gatewright.mcp.protocol.mcp_server import can_answer, needed_capability
from gatewright.mcp.wire.versions import is_modern
from gatewright.sdk.errors import ToolError
from gatewright.sdk.running_call import Running

__all__ = ["put"]

# The code of MCP 2026-07-28 for what the client did not declare.
_MISSING_CAPABILITY = -32021


async def put(
    call: Call | None,
    back: Back,
    running: Running,
    method: str,
    params: Mapping[str, Any] | None,
    key: str,
) -> dict[str, Any]:
    """The answer. Raises `ToolError`, and leaves in `running` why nobody could be asked."""
    # Before the capability is asked for: who repeats a request with its answers has answered.
    early = _early(call, key)
    if early is not None:
        return early
    loop = asyncio.get_running_loop()
    running.asks(loop.time())
    try:
        if call is not None:
            _able(call, method)
        question = Question(method, None if params is None else dict(params), key)
        return await back.ask(question)
    except CannotAsk as no:
        running.unanswered = no
        raise ToolError(f"the caller cannot be asked: {no.message}") from no
    finally:
        running.asked(loop.time())


def _early(call: Call | None, key: str) -> dict[str, Any] | None:
    """The answer that the request brought along."""
    given = None if call is None else call.params.get("inputResponses")
    found = given.get(key) if key and isinstance(given, dict) else None
    return found if isinstance(found, dict) else None


def _able(call: Call, method: str) -> None:
    """Raise `CannotAsk` in the words of MCP 2026-07-28 where a modern caller did not say that it answers."""
    need = needed_capability(method)
    if need is None or can_answer(call.client, method) or not is_modern(call.client.revision):
        return
    raise CannotAsk(
        f"this needs a client that answers {method}",
        _MISSING_CAPABILITY,
        {"requiredCapabilities": {need: {}}},
    )
