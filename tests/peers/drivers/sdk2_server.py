"""A guest on the Python SDK 2.3, which serves both eras.

    python sdk2_server.py NAME [--http]

With `--http` it prints one line `ready URL` when it listens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import mcp_types as types  # type: ignore[import-not-found]
from mcp.server.lowlevel import (  # type: ignore[import-not-found]
    NotificationOptions,
    Server,
)
from mcp.server.request_state import (  # type: ignore[import-not-found]
    RequestStateBoundary,
    RequestStateSecurity,
)
from mcp.server.stdio import stdio_server  # type: ignore[import-not-found]
from mcp.server.subscriptions import (  # type: ignore[import-not-found]
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import (  # type: ignore[import-not-found]
    MCPDeprecationWarning,
    MCPError,
)
from mcp.shared.message import ServerMessageMetadata  # type: ignore[import-not-found]
from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # type: ignore[import-not-found]

from tests.peers.drivers import guest, listening
from tests.peers.drivers.tapping import Tapped

__all__ = ["main"]

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
QUESTIONS: dict[str, tuple[Any, Any]] = {
    "elicitation/create": (types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": (types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": (types.ListRootsRequest, types.ListRootsResult),
}

bus = InMemorySubscriptionBus()
levels: dict[str, str] = {}
watched: dict[str, set[str]] = {}


def _plain(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


def _peer(ctx: Any) -> str:
    """What tells one handshake-era connection from another (stdio has only one)."""
    headers = getattr(ctx.request, "headers", None) or {}
    return str(headers.get("mcp-session-id", ""))


class _Talk:
    """One call in either era. Answers of earlier rounds travel in the state."""

    def __init__(self, ctx: Any, params: Any) -> None:
        self._ctx = ctx
        self.modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        self.meta = dict(ctx.meta or {})
        self.known: dict[str, Any] = json.loads(params.request_state or "{}")
        given = params.input_responses or {}
        self.known |= {key: _plain(answer) for key, answer in given.items()}

    async def ask(self, key: str, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        if not self.modern:
            request, answer = QUESTIONS[method]
            question = request.model_validate({"method": method, "params": params})
            related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
            return _plain(await self._ctx.session.send_request(question, answer, metadata=related))
        if key not in self.known:
            raise guest.WantedError(key, method, params)
        return dict(self.known[key])

    async def progress(self, done: float, total: float, words: str) -> None:
        await self._ctx.session.report_progress(done, total, words)

    async def log(self, level: Any, words: str) -> None:
        least = "debug" if self.modern else levels.get(_peer(self._ctx), "debug")
        if LEVELS.index(level) >= LEVELS.index(least):
            await self._ctx.session.send_log_message(level, words, "guest", self._ctx.request_id)

    async def tools_changed(self) -> None:
        await bus.publish(ToolsListChanged())
        if not self.modern:
            await self._ctx.session.send_tool_list_changed()

    async def updated(self, uri: str) -> None:
        await bus.publish(ResourceUpdated(uri))
        if not self.modern and uri in watched.get(_peer(self._ctx), set()):
            await self._ctx.session.send_resource_updated(uri)


def _wanted(wanted: guest.WantedError, known: dict[str, Any]) -> Any:
    request, _ = QUESTIONS[wanted.method]
    question = request.model_validate({"method": wanted.method, "params": wanted.params})
    return types.InputRequiredResult(
        input_requests={wanted.key: question}, request_state=json.dumps(known)
    )


async def _list_tools(ctx: Any, params: Any) -> Any:
    return types.ListToolsResult.model_validate({"tools": guest.tools()})


async def _call_tool(ctx: Any, params: Any) -> Any:
    talk = _Talk(ctx, params)
    try:
        found = await guest.call(params.name, params.arguments or {}, talk)
    except guest.WantedError as wanted:
        return _wanted(wanted, talk.known)
    except guest.UnknownError as problem:
        raise MCPError(types.INVALID_PARAMS, str(problem)) from None
    return types.CallToolResult.model_validate(found)


async def _list_resources(ctx: Any, params: Any) -> Any:
    return types.ListResourcesResult.model_validate({"resources": guest.WORDS["resources"]})


async def _list_templates(ctx: Any, params: Any) -> Any:
    found = {"resourceTemplates": guest.WORDS["templates"]}
    return types.ListResourceTemplatesResult.model_validate(found)


async def _read(ctx: Any, params: Any) -> Any:
    try:
        return types.ReadResourceResult.model_validate(guest.read(str(params.uri)))
    except guest.UnknownError as problem:
        raise MCPError(types.INVALID_PARAMS, str(problem), {"uri": str(params.uri)}) from None


async def _subscribe(ctx: Any, params: Any) -> Any:
    watched.setdefault(_peer(ctx), set()).add(str(params.uri))
    return types.EmptyResult()


async def _unsubscribe(ctx: Any, params: Any) -> Any:
    watched.get(_peer(ctx), set()).discard(str(params.uri))
    return types.EmptyResult()


async def _list_prompts(ctx: Any, params: Any) -> Any:
    return types.ListPromptsResult.model_validate({"prompts": guest.WORDS["prompts"]})


async def _get_prompt(ctx: Any, params: Any) -> Any:
    try:
        found = guest.prompt(params.name, params.arguments or {})
    except guest.UnknownError as problem:
        raise MCPError(types.INVALID_PARAMS, str(problem)) from None
    return types.GetPromptResult.model_validate(found)


async def _complete(ctx: Any, params: Any) -> Any:
    return types.CompleteResult.model_validate(guest.complete(params.argument.value))


async def _set_level(ctx: Any, params: Any) -> Any:
    levels[_peer(ctx)] = params.level
    return types.EmptyResult()


def _build(name: str) -> Any:
    server = Server(
        name,
        version="1.0.0",
        instructions=guest.WORDS["instructions"],
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read,
        on_subscribe_resource=_subscribe,
        on_unsubscribe_resource=_unsubscribe,
        on_subscriptions_listen=ListenHandler(bus),
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        on_completion=_complete,
        on_set_logging_level=_set_level,
    )
    security = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(security, default_audience=name))
    plain = server.create_initialization_options
    told = NotificationOptions(tools_changed=True)
    server.create_initialization_options = lambda *_, **__: plain(told)
    return server


async def _stdio(server: Any) -> None:
    async with stdio_server() as (incoming, outgoing):
        tapped = Tapped(incoming, guest.heard)
        await server.run(tapped, outgoing, server.create_initialization_options())


def main() -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="A guest on the Python SDK 2.3")
    parser.add_argument("name")
    parser.add_argument("--http", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    server = _build(options.name)
    if options.http:
        listening.serve(server.streamable_http_app())
    else:
        asyncio.run(_stdio(server))
    return 0


if __name__ == "__main__":
    sys.exit(main())
