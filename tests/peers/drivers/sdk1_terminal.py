"""An MGP runner of jobs on the Python SDK 1.30: asks for a confirmation before what destroys, and reports tokens and commands as events.

    python sdk1_terminal.py

MGP stands in `experimental`; the SDK does not know it, so its three methods are taken off the wire in front of the SDK. Whoever waits for
an answer waits in the handler of its tool.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any

import anyio
from mcp import types  # type: ignore[import-not-found]
from mcp.server.lowlevel import NotificationOptions, Server  # type: ignore[import-not-found]
from mcp.server.stdio import stdio_server  # type: ignore[import-not-found]
from mcp.shared.message import SessionMessage  # type: ignore[import-not-found]

__all__ = ["main"]

OFFER = {"mgp": {"version": "0.1.0", "extensions": ["bidirectional"]}}
CHANNELS = ("model.token_usage", "tool.command_started")
TOOL = {"name": "submit_job", "inputSchema": {"type": "object"}}


class _Terminal:
    """Who wants events, who waits for an answer, and what was run."""

    def __init__(self) -> None:
        self.wanted: dict[str, list[str]] = {}
        self.answers: dict[str, tuple[anyio.Event, list[str]]] = {}
        self.ran: list[str] = []
        self.write: Any = None

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message beside the SDK."""
        text = json.dumps({"jsonrpc": "2.0", **message})
        await self.write.send(SessionMessage(types.JSONRPCMessage.model_validate_json(text)))

    async def takes(self, item: Any) -> bool:
        """Whether a message was for the terminal, and not for the SDK."""
        root: Any = getattr(getattr(item, "message", None), "root", None)
        method = str(getattr(root, "method", ""))
        if not method.startswith("mgp/"):
            return False
        result = self.answer(method, root.params or {})
        if result is None:
            error = {"code": -32602, "message": "unknown id"}
            await self.send({"id": root.id, "error": error})
        else:
            await self.send({"id": root.id, "result": result})
        return True

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """The result of one of MGP's methods."""
        if method == "mgp/events/subscribe":
            found = [one for one in params["channels"] if one in CHANNELS]
            ident = f"sub-{len(self.wanted):03}"
            self.wanted[ident] = found
            rest = [one for one in params["channels"] if one not in found]
            return {"subscribed": found, "unsupported": rest, "subscription_id": ident}
        if method == "mgp/events/unsubscribe":
            return {} if self.wanted.pop(params["subscription_id"], None) is not None else None
        waiting = self.answers.get(params.get("callback_id", ""))
        if waiting is None:
            return None
        waiting[1].append(params["response"])
        waiting[0].set()
        return {"received": True}

    async def emit(self, channel: str, data: dict[str, Any]) -> None:
        """Tell whoever wants to hear of it."""
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        for ident, names in self.wanted.items():
            if channel in names:
                params = {"subscription_id": ident, "channel": channel, "timestamp": now}
                said = {"method": "notifications/mgp.event", "params": {**params, "data": data}}
                await self.send(said)

    async def confirmed(self, request: Any, command: str) -> bool:
        """Ask for a confirmation, and wait for it."""
        ident = f"cb-{len(self.answers):03}"
        event, found = self.answers[ident] = anyio.Event(), []
        params = {
            "callback_id": ident,
            "request_id": request,
            "type": "confirmation",
            "message": f"Run {command}?",
            "options": ["confirm", "cancel"],
            "timeout_ms": 60000,
        }
        await self.send({"method": "notifications/mgp.callback.request", "params": params})
        await event.wait()
        return found[0] == "confirm"

    async def run(self, request: Any, command: str) -> str:
        """Run a command, which is to remember it."""
        if command.startswith("delete ") and not await self.confirmed(request, command):
            return "not run"
        await self.emit("tool.command_started", {"command": command})
        self.ran.append(command)
        await self.emit("model.token_usage", {"tokens_used": len(command)})
        return " && ".join(self.ran)


def _build(terminal: _Terminal) -> Any:
    server = Server("terminal", version="1.0.0")

    async def list_tools(request: Any) -> Any:
        return types.ServerResult(types.ListToolsResult.model_validate({"tools": [TOOL]}))

    async def call_tool(request: Any) -> Any:
        command = (request.params.arguments or {})["job"]
        text = await terminal.run(server.request_context.request_id, command)
        content = {"content": [{"type": "text", "text": text}]}
        return types.ServerResult(types.CallToolResult.model_validate(content))

    handlers = {types.ListToolsRequest: list_tools, types.CallToolRequest: call_tool}
    server.request_handlers |= handlers
    return server


async def _serve() -> None:
    terminal = _Terminal()
    server = _build(terminal)
    options = server.create_initialization_options(NotificationOptions(), OFFER)
    send, receive = anyio.create_memory_object_stream[Any](0)

    async def sort(read: Any) -> None:
        async with send:
            async for item in read:
                if not await terminal.takes(item):
                    await send.send(item)

    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        terminal.write = write
        tasks.start_soon(sort, read)
        await server.run(receive, write, options)
        tasks.cancel_scope.cancel()


def main() -> int:
    """Serve until the input ends."""
    anyio.run(_serve)
    return 0


if __name__ == "__main__":
    sys.exit(main())
