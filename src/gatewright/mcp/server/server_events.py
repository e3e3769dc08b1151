"""Filters notifications to one client by revision, MGP extensions, log level; sets its progress token, request id; fast path of chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gatewright.call import Client, Event
from gatewright.chunk_way import ChunkEnd
from gatewright.mcp.protocol.mcp_server import Conversation, Inbound
from gatewright.mcp.server.server_context import Reply
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.methods import defined, is_known
from gatewright.mcp.wire.plain_chunk import frames
from gatewright.secret_scanning.chunks import CHUNK

__all__ = ["chunk_end_of", "hears", "wanted"]

_MGP_NEEDS = {
    "stream": "streaming",
    "event": "bidirectional",
    "callback": "bidirectional",
    "lifecycle": "lifecycle",
    "audit": "audit",
}


def hears(client: Client, method: str) -> bool:
    """Whether a notification may go to this client: MCP's where its revision has it, MGP's where it negotiated that part."""
    if not method.startswith("notifications/mgp."):
        return not is_known(method) or defined(method, "server", client.revision)
    need = _MGP_NEEDS.get(method.split(".")[1])
    return client.mgp is not None and (need is None or need in client.mgp.extensions)


def wanted(event: Event, inbound: Inbound, conversation: Conversation) -> dict[str, Any] | None:
    """The params of an event of a call as the request `inbound` is to see them, or None where it does not want the event."""
    method, params = event.method, event.params
    if not hears(inbound.client, method):
        return None
    if method == "notifications/message":
        return params if conversation.wants_log(inbound.client, params.get("level")) else None
    if method == "notifications/progress":
        meta = inbound.params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        return None if token is None else {**params, "progressToken": token}
    if "request_id" in params and method.startswith("notifications/mgp."):
        return {**params, "request_id": jsonrpc.decode(inbound.id)}
    return params


def chunk_end_of(
    reply: Reply | None, inbound: Inbound, waits: Callable[[], Reply | None]
) -> ChunkEnd | None:
    """Where chunks of a call leave as long as the same reply `waits`: what `wanted` makes of them, in one step."""
    if reply is None or not hears(inbound.client, CHUNK):
        return None
    frame, event = frames(jsonrpc.encode(jsonrpc.decode(inbound.id))), reply.event
    return ChunkEnd(
        lambda most: waits() is reply and reply.behind <= most,
        lambda index, text: event(frame(index, text)),
    )
