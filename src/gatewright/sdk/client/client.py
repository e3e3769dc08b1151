"""`Client`: asynchronous MCP client for all revisions and MGP: tools, resources, prompts, completion, subscriptions; reconnects, retries.

    async with Client(["python", "-m", "weather"]) as client:
        result = await client.call_tool("forecast", {"city": "Bern"})
        print(result.value)

It finds out by itself which of the five revisions the server speaks. It connects at the first need, and again when the
connection was lost; a call that was surely not carried out is then made on the new one. What an error says of asking
again is honoured (MGP §14.6). Every call has a time limit, and cancelling its task cancels it on the server.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from gatewright.call import Mgp, Tool
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import param_headers
from gatewright.mcp.wire.versions import is_modern
from gatewright.sdk import errors
from gatewright.sdk.client.calls import Calls, shown_tool
from gatewright.sdk.client.connection import Connection, Target
from gatewright.sdk.client.handlers import CallHandlers, OnProgress
from gatewright.sdk.client.options import Options
from gatewright.sdk.client.results import (
    Completion,
    PromptInfo,
    PromptResult,
    Raw,
    ResourceInfo,
    ResourceResult,
    ToolInfo,
    ToolResult,
)
from gatewright.sdk.client.subscriptions import Subscriptions
from gatewright.sdk.errors import SdkError, TransportError, ValidationError

if TYPE_CHECKING:
    from gatewright.mcp.client.link import Link
    from gatewright.mcp.protocol.mcp_client import Hello

__all__ = ["Client"]

log = logging.getLogger("gatewright.sdk")

R = TypeVar("R", bound=Raw)

_PAGES = 1000
"""So many pages of one list are read; a server that goes on giving out cursors is broken."""

_HEADER_MISMATCH = -32020


class Client:
    """See the module's text. Belongs to one event loop. All methods raise `gatewright.sdk.errors.SdkError`s.

    `target` is an address (`http:`, `https:`, `ws:`, `wss:`), a command as a list of strings, or a `Server` object of
    this process. Raises `ValueError` for anything else.
    """

    def __init__(self, target: Target, options: Options | None = None) -> None:
        self.options = options or Options()
        self._connection = Connection(target, self.options, self._changed, self._renewed)
        self._calls = Calls(self._connection, self.options)
        self._tools: dict[str, Tool] = {}
        """What is known of tools by the last list; forgotten when the server says that it changed."""
        self._changes = 0
        self._subscriptions = Subscriptions(self.options.timeout_s)
        self._watched: list[str] | None = None
        """What a modern server was asked to tell of, while it is wanted."""
        self._watching: asyncio.Task[None] | None = None

    # -- life

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def connect(self) -> Hello:
        """Connect now, and return what the server said of itself. Raises `TransportError`."""
        link = await self._connection.link()
        if link.hello is None:
            raise TransportError("the server did not say hello")
        return link.hello

    async def close(self) -> None:
        """Close the connection; a stdio server's process is gone afterwards. Idempotent."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
            self._watching = None
        await self._subscriptions.close()
        await self._connection.close()

    @property
    def hello(self) -> Hello | None:
        """What the server said of itself, once connected: revision, capabilities, name, instructions."""
        link = self._connection.current
        return None if link is None else link.hello

    @property
    def mgp(self) -> Mgp | None:
        """What MGP negotiation agreed (§2); None towards a plain MCP server."""
        hello = self.hello
        return None if hello is None else hello.mgp

    # -- tools

    @property
    def tools_version(self) -> tuple[int, int]:
        """Another value once the server has said that its tools changed, or was connected to again."""
        return self._connection.opened, self._changes

    async def list_tools(self) -> list[ToolInfo]:
        """All tools, every page. Over modern HTTP without those whose `x-mcp-header` annotations are broken: a
        client must not offer them (MCP 2026-07-28, transports)."""
        found = [ToolInfo(one) async for one in self._listed("tools/list", "tools")]
        return [tool for tool in found if self._know(tool)]

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
        repeatable: bool | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Call a tool. `arguments` are JSON values by name; `timeout_s` is seconds for all attempts together.

        A tool that ran and failed is a result with `is_error`. `repeatable` says that calling it twice does no more than calling it
        once: give it where you know so, for instance from `ToolInfo.repeatable` of a server that you trust. Without it a call
        whose outcome is unknown is never made again. `meta` becomes `_meta`.
        """
        params: dict[str, Any] = {"name": name, "arguments": dict(arguments or {})}
        if meta or on_progress is not None:
            params["_meta"] = dict(meta or {})
        if on_progress is not None:
            # Only says that progress is wanted: the client connection gives each request a token of its own.
            params["_meta"].setdefault("progressToken", name)
        voice = CallHandlers(self.options, on_progress)

        async def put() -> bytes:
            return await self._calls.make(
                "tools/call",
                params,
                voice,
                timeout_s=timeout_s,
                tool=self._tools.get(name),
                repeatable=repeatable,
            )

        try:
            return _object(await put(), ToolResult)
        except SdkError as problem:
            # A modern HTTP server wants some arguments repeated as headers; its list says which (x-mcp-header).
            # Once, and only where the list was not known: the header may be wrong for other reasons.
            known = name in self._tools or not self._connection.has_headers
            if known or problem.details.get("code") != _HEADER_MISMATCH:
                raise
            await self.list_tools()
            tool = self._tools.get(name)
            if tool is None or not tool.headers:
                raise  # it would be the same request once more
        return _object(await put(), ToolResult)

    # -- resources and prompts

    async def list_resources(self) -> list[ResourceInfo]:
        """All resources, every page."""
        return [ResourceInfo(one) async for one in self._listed("resources/list", "resources")]

    async def list_resource_templates(self) -> list[ResourceInfo]:
        """All templates of resources, every page."""
        listed = self._listed("resources/templates/list", "resourceTemplates")
        return [ResourceInfo(one) async for one in listed]

    async def read_resource(self, uri: str, *, timeout_s: float | None = None) -> ResourceResult:
        """One resource."""
        params = {"uri": uri}
        return _object(await self._put("resources/read", params, timeout_s), ResourceResult)

    async def list_prompts(self) -> list[PromptInfo]:
        """All prompts, every page."""
        return [PromptInfo(one) async for one in self._listed("prompts/list", "prompts")]

    async def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> PromptResult:
        """The messages of a prompt with these arguments."""
        params = {"name": name, "arguments": dict(arguments or {})}
        return _object(await self._put("prompts/get", params, timeout_s), PromptResult)

    async def complete(
        self,
        ref: Mapping[str, Any],
        name: str,
        value: str,
        context: Mapping[str, str] | None = None,
    ) -> Completion:
        """Proposals for argument `name` that begins with `value`. `ref` is `{"type": "ref/prompt", "name": …}` or
        `{"type": "ref/resource", "uri": …}`; `context` are the arguments that are settled already."""
        params: dict[str, Any] = {"ref": dict(ref), "argument": {"name": name, "value": value}}
        if context:
            params["context"] = {"arguments": dict(context)}
        return _object(await self._put("completion/complete", params), Completion)

    # -- the connection itself

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        repeatable: bool | None = None,
    ) -> Raw:
        """Any request at all, also of methods that this release does not know: the result as it came."""
        raw = await self._calls.make(
            method,
            dict(params or {}),
            CallHandlers(self.options),
            timeout_s=timeout_s,
            repeatable=repeatable,
        )
        return _object(raw, Raw)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification."""
        (await self._connection.link()).notify(method, dict(params or {}))

    async def ping(self) -> None:
        """Whether the server answers. Raises where it does not."""
        hello = await self.connect()
        await self._put("server/discover" if is_modern(hello.revision) else "ping", {})

    async def set_log_level(self, level: str) -> None:
        """From which severity on (RFC 5424, `debug` to `emergency`) log lines are wanted; they go to `on_event`."""
        hello = await self.connect()
        self._calls.log_from(level)
        if not is_modern(hello.revision):
            await self._subscriptions.log_from(level, self._put)

    async def watch(self, *uris: str) -> None:
        """Hear of changed lists, and of changes of these resources, through `on_event`. A second call takes the
        place of the first. Where the connection is lost, the next call makes a new one, which is told the same."""
        hello = await self.connect()
        if not is_modern(hello.revision):
            await self._subscriptions.watch(uris, self._put)
            return
        self._watched = None
        if self._watching is not None:
            self._watching.cancel()
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # By its own name: meanwhile another call may take its place.
        watching = self._watching = asyncio.create_task(self._listen(list(uris), told))
        watching.add_done_callback(_log_end)
        limit_s = self.options.timeout_s
        await asyncio.wait([told, watching], timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if watching.cancelled():
            return  # a later call took its place
        if not told.done() and not watching.done():
            watching.cancel()
            raise errors.TimeoutError(
                f"the server did not agree to the subscription in {limit_s:g} s"
            )
        if watching.done():
            # Raises what ended the subscription before the server had agreed to it.
            watching.result()
        self._watched = list(uris)

    async def _listen(self, uris: list[str], told: asyncio.Future[None]) -> None:
        await self._listen_on(await self._connection.link(), uris, told)

    async def _listen_on(self, link: Link, uris: list[str], told: asyncio.Future[None]) -> None:
        from gatewright.mcp.client.link import ServerFailed

        wanted = {
            "toolsListChanged": True,
            "promptsListChanged": True,
            "resourcesListChanged": True,
            "resourceSubscriptions": uris,
        }
        try:
            await link.listen({"notifications": wanted}, told)
        except ServerFailed as problem:
            raise TransportError(f"the server ended the subscription: {problem}") from problem

    # -- inside

    async def _put(
        self, method: str, params: dict[str, Any], timeout_s: float | None = None
    ) -> bytes:
        return await self._calls.make(
            method, params, CallHandlers(self.options), timeout_s=timeout_s
        )

    async def _listed(self, method: str, member: str) -> AsyncIterator[dict[str, Any]]:
        cursor: str | None = None
        for _ in range(_PAGES):
            page = _object(
                await self._put(method, {} if cursor is None else {"cursor": cursor}), Raw
            ).raw
            for one in page.get(member) or []:
                if isinstance(one, dict):
                    yield one
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                return
        raise TransportError(f"the server gave more than {_PAGES} pages of {member}")

    def _know(self, tool: ToolInfo) -> bool:
        """Remember what calls need of a tool; False where it may not be offered."""
        try:
            headers = param_headers(tool.input_schema)
        except ValueError:
            if self._connection.has_headers:
                return False
            headers = {}
        self._tools[tool.name] = shown_tool(tool.name, headers=headers)
        return True

    def _changed(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/tools/list_changed":
            self._tools.clear()
            self._changes += 1
        self.options.on_event(method, params)

    def _renewed(self, link: Link) -> None:
        """There is a new connection, or a new session: tell it what is wanted, since it knows nothing of that."""
        if not link.modern:
            self._subscriptions.renew(link)
        elif self._watched is not None:
            if self._watching is not None:
                self._watching.cancel()
            # On this link alone: another one would be made for a server that ends with each.
            told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._watching = asyncio.create_task(self._listen_on(link, self._watched, told))
            self._watching.add_done_callback(_log_end)


def _log_end(watching: asyncio.Task[None]) -> None:
    """Say that nothing is heard any more: who watches would else wait for changes for ever."""
    if not watching.cancelled() and (problem := watching.exception()) is not None:
        log.warning("%s", problem)


def _object(raw: bytes, kind: type[R]) -> R:
    """The result as an object of a kind. Raises `ValidationError` where it is none."""
    try:
        found = jsonrpc.decode_whole(raw)
    except ValueError as problem:
        raise ValidationError(f"the server's result cannot be read: {problem}") from None
    if not isinstance(found, dict):
        raise ValidationError("the server's result is no object")
    return kind(found)
