"""A server on the official Python SDK that offers every fixture the conformance suites ask for.

It is the upstream of `make conformance`: the suites are run against it directly, to know that the
ground is sound, and then through the gateway. Both eras are served, over Streamable HTTP
(`--port N`) or over stdio (`--stdio`). It runs in an environment of its own that has `mcp` 2.3.

When it listens it prints one line `ready URL` on stdout.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import socket
import sys
import warnings
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
import uvicorn
from everything_asking import ASKING, Context, Reply, done, is_modern, prompt_with_input
from everything_content import (
    PROMPTS,
    RESOURCES,
    TEMPLATES,
    embedded,
    picture,
    read_resource,
    render_prompt,
    sound,
    text,
)
from everything_data import WIDE_SCHEMA
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

__all__ = ["main"]

NAME = "conformance-everything"
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
TINY_WAIT = 0.05
EVENTS_KEPT = 4096
RETRY_MS = 300

bus = InMemorySubscriptionBus()
extra_tools: set[str] = set()
extra_prompts: set[str] = set()
levels: dict[str, str] = {}
watched: dict[str, set[str]] = {}


class _Events(EventStore):
    """The last few thousand stream events, so that a dropped stream can be taken up again."""

    def __init__(self) -> None:
        self._count = itertools.count(1)
        self._kept: OrderedDict[str, tuple[str, Any]] = OrderedDict()

    async def store_event(self, stream_id: str, message: Any) -> str:
        key = f"e{next(self._count)}"
        self._kept[key] = (stream_id, message)
        if len(self._kept) > EVENTS_KEPT:
            self._kept.popitem(last=False)
        return key

    async def replay_events_after(
        self, last_event_id: str, send_callback: EventCallback
    ) -> str | None:
        if last_event_id not in self._kept:
            return None
        stream = self._kept[last_event_id][0]
        keys = list(self._kept)
        for key in keys[keys.index(last_event_id) + 1 :]:
            owner, message = self._kept[key]
            if owner == stream and message is not None:
                await send_callback(EventMessage(message, key))
        return stream


def _peer(ctx: Context) -> str:
    """What tells one handshake-era connection from another (stdio has only one)."""
    headers = getattr(ctx.request, "headers", None) or {}
    return str(headers.get("mcp-session-id", ""))


async def _log(ctx: Context, level: Any, words: str) -> None:
    """A log line on the stream of this call, when this client wants lines of that weight."""
    if LEVELS.index(level) >= LEVELS.index(levels.get(_peer(ctx), "debug")):
        await ctx.session.send_log_message(level, words, related_request_id=ctx.request_id)


# --- tools that finish by themselves


async def _logging(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    await _log(ctx, "info", "Tool execution started")
    await asyncio.sleep(TINY_WAIT)
    await _log(ctx, "info", "Tool processing data")
    await asyncio.sleep(TINY_WAIT)
    await _log(ctx, "info", "Tool execution completed")
    return done("Three lines were logged")


async def _progress(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    for so_far in (0, 50, 100):
        await ctx.session.report_progress(so_far, 100)
        await asyncio.sleep(TINY_WAIT)
    return done("Progress was reported three times")


async def _reconnection(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    """Drop the stream of this very call; the answer waits for the client to come back."""
    if ctx.close_sse_stream is not None:
        await ctx.close_sse_stream()
    await asyncio.sleep(2 * TINY_WAIT)
    return done("The stream was closed before this answer")


async def _mixed(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    document = embedded(
        "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
    )
    return types.CallToolResult(content=[text("Multiple content types test:"), picture(), document])


async def _header(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    return done(f"region is {(params.arguments or {}).get('region', 'unset')}")


def _toggle(names: set[str], name: str) -> None:
    names.symmetric_difference_update({name})


async def _change_tools(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    _toggle(extra_tools, "test_appearing_tool")
    await bus.publish(ToolsListChanged())
    if not is_modern(ctx):
        await ctx.session.send_tool_list_changed()
    return done("The list of tools is another one now")


async def _change_prompts(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    _toggle(extra_prompts, "test_appearing_prompt")
    await bus.publish(PromptsListChanged())
    if not is_modern(ctx):
        await ctx.session.send_prompt_list_changed()
    return done("The list of prompts is another one now")


def _fixed(*blocks: types.ContentBlock, error: bool = False) -> Callable[..., Awaitable[Reply]]:
    """A tool that always answers the same."""

    async def tool(ctx: Context, params: types.CallToolRequestParams) -> Reply:
        return types.CallToolResult(content=list(blocks), is_error=error)

    return tool


_FAILURE = "This tool intentionally returns an error for testing"

# The first one has to work without arguments: the header scenarios call whatever is listed first.
TOOLS: dict[str, Callable[[Context, types.CallToolRequestParams], Awaitable[Reply]]] = {
    "test_simple_text": _fixed(text("This is a simple text response for testing.")),
    "test_image_content": _fixed(picture()),
    "test_audio_content": _fixed(sound()),
    "test_embedded_resource": _fixed(
        embedded("test://embedded-resource", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": _mixed,
    "test_error_handling": _fixed(text(_FAILURE), error=True),
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_tool_with_progress": _progress,
    "test_reconnection": _reconnection,
    "json_schema_2020_12_tool": _fixed(text("The schema of this tool is what matters")),
    "test_custom_header": _header,
    "test_trigger_tool_change": _change_tools,
    "test_trigger_prompt_change": _change_prompts,
    **ASKING,
}
APPEARING = _fixed(text("Here I am"))


def _one_string(name: str, description: str, **more: Any) -> dict[str, Any]:
    field = {"type": "string", "description": description, **more}
    return {"type": "object", "properties": {name: field}, "required": [name]}


SCHEMAS: dict[str, dict[str, Any]] = {
    "json_schema_2020_12_tool": WIDE_SCHEMA,
    "test_sampling": _one_string("prompt", "What to ask the model"),
    "test_elicitation": _one_string("message", "What to show the user"),
    "test_custom_header": _one_string("region", "Where to run", **{"x-mcp-header": "Region"}),
}


def _describe(name: str) -> types.Tool:
    words = name.removeprefix("test_").replace("_", " ")
    schema = SCHEMAS.get(name, {"type": "object", "properties": {}})
    return types.Tool(name=name, description=f"Conformance fixture: {words}", input_schema=schema)


# --- request handlers


async def _list_tools(ctx: Context, params: Any) -> types.ListToolsResult:
    names = [*TOOLS, *sorted(extra_tools)]
    return types.ListToolsResult(tools=[_describe(name) for name in names])


async def _call_tool(ctx: Context, params: types.CallToolRequestParams) -> Reply:
    tool = APPEARING if params.name in extra_tools else TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await tool(ctx, params)


async def _list_resources(ctx: Context, params: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=RESOURCES)


async def _list_templates(ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=TEMPLATES)


async def _read(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    found = read_resource(str(params.uri))
    if found is None:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": str(params.uri)})
    return types.ReadResourceResult(contents=[found])


async def _subscribe(ctx: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
    watched.setdefault(_peer(ctx), set()).add(str(params.uri))
    return types.EmptyResult()


async def _unsubscribe(ctx: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    watched.get(_peer(ctx), set()).discard(str(params.uri))
    return types.EmptyResult()


async def _list_prompts(ctx: Context, params: Any) -> types.ListPromptsResult:
    more = [types.Prompt(name=name, description="Came later") for name in sorted(extra_prompts)]
    return types.ListPromptsResult(prompts=[*PROMPTS, *more])


async def _get_prompt(
    ctx: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    if params.name == "test_input_required_result_prompt":
        return await prompt_with_input(ctx, params)
    name = "test_simple_prompt" if params.name in extra_prompts else params.name
    found = render_prompt(name, params.arguments or {})
    if found is None:
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return found


async def _complete(ctx: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    words = ["paris", "park", "party", "test", "testing"]
    values = [word for word in words if word.startswith(params.argument.value)]
    return types.CompleteResult(
        completion=types.Completion(values=values, total=len(values), has_more=False)
    )


async def _set_level(ctx: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
    levels[_peer(ctx)] = params.level
    return types.EmptyResult()


def _build() -> Server[Any]:
    """The server with all handlers."""
    one_minute = CacheHint(ttl_ms=60_000, scope="public")
    at_once = CacheHint(ttl_ms=0, scope="private")
    with warnings.catch_warnings():
        # Log levels are deprecated in the newest revision and still required by the older ones.
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        server: Server[Any] = Server(
            NAME,
            version="1.0.0",
            instructions="Every fixture of the conformance suites lives here.",
            cache_hints={
                "tools/list": at_once,
                "prompts/list": at_once,
                "resources/list": one_minute,
                "resources/templates/list": one_minute,
                "resources/read": one_minute,
                "server/discover": one_minute,
            },
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
    server.middleware.append(RequestStateBoundary(security, default_audience=NAME))
    return server


class _Listening(uvicorn.Server):
    """uvicorn that says where it listens once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and sockets:
            host, port = sockets[0].getsockname()[:2]
            print(f"ready http://{host}:{port}/mcp", flush=True)


def _with_list_changes(server: Server[Any]) -> None:
    """Let the handshake say that lists change; the SDK's HTTP side asks for no such options."""
    plain = server.create_initialization_options
    told = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)

    def options(
        notification_options: NotificationOptions | None = None, *args: Any, **kw: Any
    ) -> Any:
        return plain(notification_options or told, *args, **kw)

    server.create_initialization_options = options  # type: ignore[method-assign]


def _serve_http(server: Server[Any], host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM."""
    app = server.streamable_http_app(event_store=_Events(), retry_interval=RETRY_MS, host=host)
    listener = socket.create_server((host, port))
    # Streams that nobody closes must not hold up the end.
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
    _Listening(config).run(sockets=[listener])


async def _serve_stdio(server: Server[Any]) -> None:
    """Serve one client on stdin and stdout until it closes stdin."""
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def main() -> int:
    """Parse the command line and serve."""
    parser = argparse.ArgumentParser(description="Conformance fixture server")
    parser.add_argument("--stdio", action="store_true", help="serve stdin and stdout")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args()
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    server = _build()
    _with_list_changes(server)
    if options.stdio:
        asyncio.run(_serve_stdio(server))
    else:
        _serve_http(server, options.host, options.port)
    return 0


if __name__ == "__main__":
    sys.exit(main())
