"""A guest on the Python SDK 1.30, which knows the handshake era only.

    python sdk1_server.py NAME [--http | --sse]

With `--http` (Streamable HTTP) or `--sse` (HTTP+SSE of 2024-11-05) it prints one line `ready URL` when
it listens.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from mcp import types  # type: ignore[import-not-found]
from mcp.server.lowlevel import (  # type: ignore[import-not-found]
    NotificationOptions,
    Server,
)
from mcp.server.sse import SseServerTransport  # type: ignore[import-not-found]
from mcp.server.stdio import stdio_server  # type: ignore[import-not-found]
from mcp.server.streamable_http_manager import (  # type: ignore[import-not-found]
    StreamableHTTPSessionManager,
)
from mcp.shared.exceptions import McpError  # type: ignore[import-not-found]
from mcp.shared.message import ServerMessageMetadata  # type: ignore[import-not-found]
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

from tests.peers.drivers import guest, listening
from tests.peers.drivers.tapping import Tapped

__all__ = ["main"]

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
QUESTIONS: dict[str, tuple[Any, Any]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}

levels: dict[int, str] = {}
watched: dict[int, set[str]] = {}


class _Talk:
    """One call of a handshake-era client."""

    def __init__(self, context: Any) -> None:
        self._session = context.session
        self._related = context.request_id
        self.meta = context.meta.model_dump(by_alias=True) if context.meta else {}

    async def ask(self, key: str, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        request, answer = QUESTIONS[method]
        question = request.model_validate({"method": method, "params": params})
        found = await self._session.send_request(
            types.ServerRequest(question),
            answer,
            metadata=ServerMessageMetadata(related_request_id=self._related),
        )
        return dict(found.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def progress(self, done: float, total: float, words: str) -> None:
        token = self.meta.get("progressToken")
        if token is not None:
            await self._session.send_progress_notification(
                token, done, total, words, related_request_id=str(self._related)
            )

    async def log(self, level: Any, words: str) -> None:
        if LEVELS.index(level) >= LEVELS.index(levels.get(id(self._session), "debug")):
            await self._session.send_log_message(level, words, "guest", self._related)

    async def tools_changed(self) -> None:
        await self._session.send_tool_list_changed()

    async def updated(self, uri: str) -> None:
        if uri in watched.get(id(self._session), set()):
            await self._session.send_resource_updated(uri)


def _error(problem: guest.UnknownError, code: int) -> Any:
    return McpError(types.ErrorData(code=code, message=str(problem)))


def _build(name: str) -> Any:
    server = Server(name, version="1.0.0", instructions=guest.WORDS["instructions"])

    async def list_tools(request: Any) -> Any:
        return types.ServerResult(types.ListToolsResult.model_validate({"tools": guest.tools()}))

    async def call_tool(request: Any) -> Any:
        talk = _Talk(server.request_context)
        try:
            found = await guest.call(request.params.name, request.params.arguments or {}, talk)
        except guest.UnknownError as problem:
            raise _error(problem, types.INVALID_PARAMS) from None
        return types.ServerResult(types.CallToolResult.model_validate(found))

    async def set_level(request: Any) -> Any:
        levels[id(server.request_context.session)] = request.params.level
        return types.ServerResult(types.EmptyResult())

    server.request_handlers |= {
        types.ListToolsRequest: list_tools,
        types.CallToolRequest: call_tool,
        types.SetLevelRequest: set_level,
    }
    _add_resources(server)
    _add_prompts(server)
    return server


def _add_resources(server: Any) -> None:
    async def list_resources(request: Any) -> Any:
        found = {"resources": guest.WORDS["resources"]}
        return types.ServerResult(types.ListResourcesResult.model_validate(found))

    async def list_templates(request: Any) -> Any:
        found = {"resourceTemplates": guest.WORDS["templates"]}
        return types.ServerResult(types.ListResourceTemplatesResult.model_validate(found))

    async def read(request: Any) -> Any:
        try:
            found = guest.read(str(request.params.uri))
        except guest.UnknownError as problem:
            raise _error(problem, -32002) from None
        return types.ServerResult(types.ReadResourceResult.model_validate(found))

    async def subscribe(request: Any) -> Any:
        session = id(server.request_context.session)
        watched.setdefault(session, set()).add(str(request.params.uri))
        return types.ServerResult(types.EmptyResult())

    async def unsubscribe(request: Any) -> Any:
        session = id(server.request_context.session)
        watched.get(session, set()).discard(str(request.params.uri))
        return types.ServerResult(types.EmptyResult())

    server.request_handlers |= {
        types.ListResourcesRequest: list_resources,
        types.ListResourceTemplatesRequest: list_templates,
        types.ReadResourceRequest: read,
        types.SubscribeRequest: subscribe,
        types.UnsubscribeRequest: unsubscribe,
    }


def _add_prompts(server: Any) -> None:
    async def list_prompts(request: Any) -> Any:
        found = {"prompts": guest.WORDS["prompts"]}
        return types.ServerResult(types.ListPromptsResult.model_validate(found))

    async def get_prompt(request: Any) -> Any:
        try:
            found = guest.prompt(request.params.name, request.params.arguments or {})
        except guest.UnknownError as problem:
            raise _error(problem, types.INVALID_PARAMS) from None
        return types.ServerResult(types.GetPromptResult.model_validate(found))

    async def complete(request: Any) -> Any:
        found = guest.complete(request.params.argument.value)
        return types.ServerResult(types.CompleteResult.model_validate(found))

    server.request_handlers |= {
        types.ListPromptsRequest: list_prompts,
        types.GetPromptRequest: get_prompt,
        types.CompleteRequest: complete,
    }


def _options(server: Any) -> Any:
    """What the handshake says; the SDK never advertises subscriptions by itself."""
    found = server.create_initialization_options(NotificationOptions(tools_changed=True))
    found.capabilities.resources.subscribe = True
    return found


async def _stdio(server: Any) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(Tapped(incoming, guest.heard), outgoing, _options(server))


def _http(server: Any) -> None:
    plain = server.create_initialization_options
    told = _options(server)
    server.create_initialization_options = lambda *_, **__: told or plain()
    manager = StreamableHTTPSessionManager(server)

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with manager.run():
            yield

    listening.serve(Starlette(routes=[Mount("/", app=manager.handle_request)], lifespan=lifespan))


def _sse(server: Any) -> None:
    transport = SseServerTransport("/messages/")

    async def connected(request: Any) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as streams:
            await server.run(*streams, _options(server))
        return Response()

    post = Mount("/messages/", app=transport.handle_post_message)
    listening.serve(Starlette(routes=[Route("/sse", endpoint=connected), post]), "/sse")


def main() -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="A guest on the Python SDK 1.30")
    parser.add_argument("name")
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--sse", action="store_true")
    options = parser.parse_args()
    server = _build(options.name)
    if options.http:
        _http(server)
    elif options.sse:
        _sse(server)
    else:
        asyncio.run(_stdio(server))
    return 0


if __name__ == "__main__":
    sys.exit(main())
