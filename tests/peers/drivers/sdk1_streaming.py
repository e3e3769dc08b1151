"""An MGP server on the Python SDK 1.30 that streams: MGP in `experimental`, chunks as notifications, and a method of its own to cancel.

    python sdk1_streaming.py

The SDK knows nothing of MGP, so the wire is read before it and written beside it. The final text is a JSON text with `_mgp` within,
the partial result of a cancellation a plain string.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import anyio
from mcp import types  # type: ignore[import-not-found]
from mcp.server.lowlevel import NotificationOptions, Server  # type: ignore[import-not-found]
from mcp.server.stdio import stdio_server  # type: ignore[import-not-found]
from mcp.shared.message import SessionMessage  # type: ignore[import-not-found]

__all__ = ["main"]

OFFER = {"mgp": {"version": "0.1.0", "extensions": ["streaming"]}}
TOOL = {"name": "think", "inputSchema": {"type": "object"}}


class _Mgp:
    """What of MGP stands beside the SDK: which requests want a stream, which run, which were cancelled."""

    def __init__(self) -> None:
        self.wanting: set[Any] = set()
        self.said: dict[Any, list[str]] = {}
        self.ended: set[Any] = set()
        self.write: Any = None

    async def send(self, **message: Any) -> None:
        """Write one message past the SDK."""
        text = json.dumps({"jsonrpc": "2.0", **message})
        await self.write.send(SessionMessage(types.JSONRPCMessage.model_validate_json(text)))

    async def heard(self, item: Any) -> bool:
        """Look at a message; whether it was ours alone."""
        root: Any = getattr(getattr(item, "message", None), "root", None)
        method, params = getattr(root, "method", ""), getattr(root, "params", None) or {}
        if method == "tools/call" and (params.get("_mgp") or {}).get("stream") is True:
            self.wanting.add(root.id)
        if method != "mgp/stream/cancel":
            return False
        ident = params.get("request_id")
        found: dict[str, Any] = {"cancelled": False, "reason": "not_active"}
        if ident in self.said:
            self.ended.add(ident)
            found = {
                "cancelled": True,
                "partial_result": {"content": "".join(self.said[ident])},
            }
        await self.send(id=root.id, result=found)
        return True

    async def think(self, ident: Any, text: str, pause: float) -> str:
        """Say a text, word by word; what was said."""
        said = self.said[ident] = []
        words = text.split()
        for index, word in enumerate(words):
            if ident in self.ended:
                break
            said.append(f"{word} ")
            if ident in self.wanting:
                params = {
                    "request_id": ident,
                    "index": index,
                    "content": {"type": "text", "text": said[-1]},
                    "done": index == len(words) - 1,
                }
                await self.send(method="notifications/mgp.stream.chunk", params=params)
            await asyncio.sleep(pause)
        del self.said[ident]
        whole = "".join(said)
        mgp = {"streamed": ident in self.wanting, "chunks_sent": len(said)}
        return json.dumps({"text": whole, "_mgp": mgp})


def _build(mgp: _Mgp) -> Any:
    server = Server("streaming", version="1.0.0")

    async def list_tools(request: Any) -> Any:
        return types.ServerResult(types.ListToolsResult.model_validate({"tools": [TOOL]}))

    async def call_tool(request: Any) -> Any:
        given = request.params.arguments or {}
        ident = server.request_context.request_id
        text = await mgp.think(ident, given["text"], given.get("pause", 0.0))
        content = {"content": [{"type": "text", "text": text}]}
        return types.ServerResult(types.CallToolResult.model_validate(content))

    server.request_handlers |= {
        types.ListToolsRequest: list_tools,
        types.CallToolRequest: call_tool,
    }
    return server


async def _serve() -> None:
    mgp = _Mgp()
    server = _build(mgp)
    options = server.create_initialization_options(NotificationOptions(), OFFER)
    send, receive = anyio.create_memory_object_stream[Any](0)

    async def feed(read: Any) -> None:
        async with send:
            async for item in read:
                if not await mgp.heard(item):
                    await send.send(item)

    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        mgp.write = write
        tasks.start_soon(feed, read)
        await server.run(receive, write, options)
        tasks.cancel_scope.cancel()


def main() -> int:
    """Serve until the input ends."""
    anyio.run(_serve)
    return 0


if __name__ == "__main__":
    sys.exit(main())
