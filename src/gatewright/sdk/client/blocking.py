"""Synchronous MCP client (`SyncClient`): runs the asyncio client on a background thread, and each method blocks for its answer.

    with SyncClient("http://127.0.0.1:8080/mcp") as client:
        print(client.call_tool("add", {"a": 1, "b": 2}).value)

The connection lives on a loop in a thread of its own, so any thread may call, several at once. `submit_tool` does not wait, and
its future can be cancelled, which cancels the call on the server.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from gatewright.call import Mgp
from gatewright.sdk.client.client import Client
from gatewright.sdk.client.connection import Target
from gatewright.sdk.client.handlers import OnProgress
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
from gatewright.sdk.errors import TransportError

if TYPE_CHECKING:
    from gatewright.mcp.protocol.mcp_client import Hello

__all__ = ["SyncClient"]

R = TypeVar("R")


class SyncClient:
    """See the module's text, and `Client` for what each method takes, returns and raises."""

    def __init__(self, target: Target, options: Options | None = None) -> None:
        self._target = target
        self._options = options
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: Client | None = None

    # -- life

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def connect(self) -> Hello:
        """Start the loop's thread and connect. Raises `TransportError`, and leaves no thread behind then."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name="gatewright-client", daemon=True
            )
            self._thread.start()
        try:
            if self._client is None:
                # On the loop's thread: a client belongs to the loop that it is made on.
                self._client = self._wait(_made(self._target, self._options))
            return self._wait(self._client.connect())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection and end the thread. Idempotent."""
        loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        client, self._client = self._client, None
        try:
            if client is not None:
                asyncio.run_coroutine_threadsafe(client.close(), loop).result()
        finally:
            # Other threads wait for calls, which nobody would finish once the loop has stopped.
            asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()

    @property
    def hello(self) -> Hello | None:
        """What the server said of itself."""
        return None if self._client is None else self._client.hello

    @property
    def mgp(self) -> Mgp | None:
        """What MGP negotiation agreed."""
        return None if self._client is None else self._client.mgp

    # -- calls

    def list_tools(self) -> list[ToolInfo]:
        """All tools, every page."""
        return self._wait(self._ready.list_tools())

    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
        repeatable: bool | None = None,
    ) -> ToolResult:
        """Call a tool and wait for its result. `on_progress` runs on the loop's thread."""
        return self._wait(
            self._ready.call_tool(
                name,
                arguments,
                timeout_s=timeout_s,
                on_progress=on_progress,
                repeatable=repeatable,
            )
        )

    def submit_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> concurrent.futures.Future[ToolResult]:
        """Call a tool without waiting. Cancelling the future cancels the call."""
        work = self._ready.call_tool(name, arguments, timeout_s=timeout_s, on_progress=on_progress)
        return asyncio.run_coroutine_threadsafe(work, self._running)

    def list_resources(self) -> list[ResourceInfo]:
        """All resources, every page."""
        return self._wait(self._ready.list_resources())

    def list_resource_templates(self) -> list[ResourceInfo]:
        """All templates of resources, every page."""
        return self._wait(self._ready.list_resource_templates())

    def read_resource(self, uri: str, *, timeout_s: float | None = None) -> ResourceResult:
        """One resource."""
        return self._wait(self._ready.read_resource(uri, timeout_s=timeout_s))

    def list_prompts(self) -> list[PromptInfo]:
        """All prompts, every page."""
        return self._wait(self._ready.list_prompts())

    def get_prompt(
        self,
        name: str,
        arguments: Mapping[str, str] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> PromptResult:
        """A prompt, filled in."""
        return self._wait(self._ready.get_prompt(name, arguments, timeout_s=timeout_s))

    def complete(
        self,
        ref: Mapping[str, Any],
        name: str,
        value: str,
        context: Mapping[str, str] | None = None,
    ) -> Completion:
        """Proposals for an argument."""
        return self._wait(self._ready.complete(ref, name, value, context))

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_s: float | None = None,
        repeatable: bool | None = None,
    ) -> Raw:
        """Any request at all: the result as it came."""
        work = self._ready.request(method, params, timeout_s=timeout_s, repeatable=repeatable)
        return self._wait(work)

    def ping(self) -> None:
        """Whether the server answers."""
        self._wait(self._ready.ping())

    def set_log_level(self, level: str) -> None:
        """From which severity on log lines are wanted."""
        self._wait(self._ready.set_log_level(level))

    def watch(self, *uris: str) -> None:
        """Hear of changes through `on_event`."""
        self._wait(self._ready.watch(*uris))

    # -- inside

    @property
    def _ready(self) -> Client:
        if self._client is None:
            raise TransportError(
                "the client is not connected", advice="Use it in a `with` block, or call connect()"
            )
        return self._client

    @property
    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise TransportError("the client is closed", advice="Make a new client")
        return self._loop

    def _wait(self, work: Coroutine[Any, Any, R]) -> R:
        future = asyncio.run_coroutine_threadsafe(work, self._running)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise TransportError("the client was closed before there was an answer") from None
        except BaseException:
            future.cancel()  # Ctrl-C ends the call, too
            raise


_ENDS_S = 2.0


async def _cancel_all() -> None:
    """Cancel what the loop still does, and let it come to its end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_ENDS_S)


async def _made(target: Target, options: Options | None) -> Client:
    """A client that belongs to the loop it is made on."""
    return Client(target, options)
