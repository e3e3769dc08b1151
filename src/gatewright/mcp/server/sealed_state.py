"""`requestState` of `input_required` (MCP 2026-07-28): seals the handle of a pending request, and a modern server's own state."""

from __future__ import annotations

from gatewright.call import Answer, Call, Failure, Outcome
from gatewright.mcp.protocol import eras
from gatewright.mcp.protocol.recovery import marked
from gatewright.mcp.server.pending_input import PENDING_S, bound_to
from gatewright.mcp.server.server_context import ServerContext

__all__ = ["resealed", "state_of"]


def state_of(front: ServerContext, call: Call, handle: str) -> str:
    """The state by which a parked call is taken up, for `PENDING_S` from now on."""
    digest = eras.request_digest(call.method, call.params)
    whose = bound_to(call.caller, call.door, call.profile)
    state = eras.State("parked", whose, digest, front.clock() + PENDING_S, handle)
    return front.sealer.seal(state, front.random(12))


def resealed(front: ServerContext, call: Call, answer: Answer) -> Outcome:
    """A modern server's answer with its state sealed for the caller; as it is where it asks nothing."""
    try:
        if eras.read_interim(answer.raw) is None:
            return answer
    except eras.TooMuchAsked as problem:
        return marked(call, Failure("upstream_error", f"the server {problem}"))
    raw = front.sealer.reseal(
        answer.raw,
        principal=bound_to(call.caller, call.door, call.profile),
        digest=eras.request_digest(call.method, call.params),
        expires=front.clock() + PENDING_S,
        nonce=front.random(12),
    )
    return Answer(raw, answer.tool_error, modern=True)
