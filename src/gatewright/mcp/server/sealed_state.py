"""Makes sealed `requestState` for `input_required` (MCP 2026-07-28): of a pending request's handle, or around a modern server's state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Call, Caller, Failure, Outcome
from gatewright.mcp.protocol import input_required, request_state
from gatewright.mcp.protocol.client_params import Rejected
from gatewright.mcp.protocol.ended_calls import marked
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.pending_input import PENDING_S, bound_to
from gatewright.mcp.server.server_context import Presented, ServerContext
from gatewright.mcp.server.shown_rights import has_all_of
from gatewright.mcp.wire import jsonrpc

__all__ = ["foreign", "opened", "resealed", "state_of"]


def state_of(front: ServerContext, call: Call, handle: str) -> str:
    """The state by which a parked call is taken up, for `PENDING_S` from now on."""
    digest = request_state.request_digest(call.method, call.params)
    whose = bound_to(call.caller, call.door, call.profile)
    state = request_state.State("parked", whose, digest, front.clock() + PENDING_S, handle)
    return front.sealer.seal(state, front.random(12))


def opened(
    front: ServerContext, shown: Presented, profile: str, method: str, params: Mapping[str, Any]
) -> request_state.State:
    """What a state says that somebody comes back with. Raises `ValueError` where it was not given to that one, of whom a key with other limits is
    another: a server's round goes on with the limits with which it began. (A parked call knows its own.)"""
    state = front.sealer.open(
        str(params["requestState"]),
        principal=bound_to(shown.caller, shown.door, profile),
        digest=request_state.request_digest(method, params),
        now=front.clock(),
    )
    if state.kind == "upstream" and not _goes_on(shown.caller, state.rights):
        raise ValueError(request_state.NOT_GIVEN)
    return state


def _goes_on(caller: Caller, rights: request_state.Rights | None) -> bool:
    if rights is None:
        return False
    key, token, user = rights
    return has_all_of(caller, replace(caller, key_id=key, token=token, user=user))


def foreign(inbound: Inbound, problem: str) -> Rejected:
    """The refusal of one."""
    return Rejected(inbound.id, jsonrpc.INVALID_PARAMS, problem, client=inbound.client)


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
        rights=(call.caller.key_id, call.caller.token, call.caller.user),
    )
    return Answer(raw, answer.tool_error, modern=True)
