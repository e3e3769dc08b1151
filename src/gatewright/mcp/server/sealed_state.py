"""Makes sealed `requestState` for `input_required` (MCP 2026-07-28): of a pending request's handle, or around a modern server's state."""

from __future__ import annotations

from gatewright.call import Answer, Call, Failure, Outcome
from gatewright.mcp.protocol import input_required, request_state
from gatewright.mcp.protocol.ended_calls import marked
from gatewright.mcp.server.pending_input import PENDING_S, bound_to
from gatewright.mcp.server.server_context import ServerContext

__all__ = ["resealed", "state_of"]


def state_of(front: ServerContext, call: Call, handle: str) -> str:
    """The state by which a parked call is taken up, for `PENDING_S` from now on."""
    digest = request_state.request_digest(call.method, call.params)
    whose = bound_to(call.caller, call.door, call.profile)
    state = request_state.State("parked", whose, digest, front.clock() + PENDING_S, handle)
    return front.sealer.seal(state, front.random(12))


def resealed(front: ServerContext, call: Call, answer: Answer) -> Outcome:
    """A modern server's answer with its state sealed for the caller; as it is where it asks nothing."""
    try:
        if input_required.read_interim(answer.raw) is None:
            return answer
    except input_required.TooMuchAsked as problem:
        return marked(call, Failure("upstream_error", f"the server {problem}"))
    raw = front.sealer.reseal(
        answer.raw,
        principal=bound_to(call.caller, call.door, call.profile),
        digest=request_state.request_digest(call.method, call.params),
        expires=front.clock() + PENDING_S,
        nonce=front.random(12),
    )
    return Answer(raw, answer.tool_error, modern=True)
