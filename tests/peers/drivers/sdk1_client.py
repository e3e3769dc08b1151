"""A host on the Python SDK 1.30: handshake era, over each transport it has.

python sdk1_client.py PLAN
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from anyio import BrokenResourceError
from mcp import (  # type: ignore[import-not-found]
    ClientSession,
    McpError,
    StdioServerParameters,
    types,
)
from mcp.client.sse import sse_client  # type: ignore[import-not-found]
from mcp.client.stdio import stdio_client  # type: ignore[import-not-found]
from mcp.client.streamable_http import streamable_http_client  # type: ignore[import-not-found]
from mcp.client.websocket import websocket_client  # type: ignore[import-not-found]

from tests.peers.drivers.tapping import Tapped
from tests.peers.drivers.tour import ANSWERS, CHANGED, DEADLINE_S, RpcError, go

__all__ = ["main"]

REQUESTS: dict[str, tuple[Any, Any]] = {
    "tools/list": (types.ListToolsRequest, types.ListToolsResult),
    "resources/list": (types.ListResourcesRequest, types.ListResourcesResult),
    "resources/templates/list": (
        types.ListResourceTemplatesRequest,
        types.ListResourceTemplatesResult,
    ),
    "resources/read": (types.ReadResourceRequest, types.ReadResourceResult),
    "prompts/list": (types.ListPromptsRequest, types.ListPromptsResult),
    "prompts/get": (types.GetPromptRequest, types.GetPromptResult),
    "completion/complete": (types.CompleteRequest, types.CompleteResult),
}


def _plain(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


class _Host:
    """See `tour.Host`."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.form: dict[str, Any] = {}
        self.logs: list[dict[str, Any]] = []
        self.frames: list[Any] = []
        self._notes: list[dict[str, Any]] = []
        self._noted = asyncio.Event()

    async def connect(self, stack: AsyncExitStack, streams: Any, offer: Any, *, mute: bool) -> None:
        """Shake hands over these streams; with an MGP offer where there is one. Who is mute can be
        asked nothing."""
        self._session = await stack.enter_async_context(
            ClientSession(
                Tapped(streams[0], self.frames),
                streams[1],
                sampling_callback=None if mute else self._sample,
                elicitation_callback=None if mute else self._elicit,
                list_roots_callback=None if mute else self._roots,
                logging_callback=self._log,
                message_handler=self._message,
                client_info=types.Implementation(name="sdk1", version="1"),
            )
        )
        self._hello = await (self._offering(offer) if offer else self._session.initialize())

    async def _offering(self, offer: dict[str, Any]) -> Any:
        """The handshake with capabilities that this SDK has no word for, but lets through."""
        capabilities = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}, "mgp": offer}
        asked = types.InitializeRequest(
            params=types.InitializeRequestParams(
                protocolVersion=types.LATEST_PROTOCOL_VERSION,
                capabilities=types.ClientCapabilities.model_validate(capabilities),
                clientInfo=types.Implementation(name="sdk1", version="1"),
            )
        )
        found = await self._session.send_request(types.ClientRequest(asked), types.InitializeResult)
        done = types.InitializedNotification()
        await self._session.send_notification(types.ClientNotification(done))
        return found

    def hello(self) -> dict[str, Any]:
        return {
            "name": self._hello.serverInfo.name,
            "revision": self._hello.protocolVersion,
            "instructions": self._hello.instructions,
            "offers": sorted(_plain(self._hello.capabilities)),
        }

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        request, result = REQUESTS[method]
        question = request.model_validate({"method": method, "params": params or {}})
        with _rpc_errors():
            return _plain(await self._session.send_request(types.ClientRequest(question), result))

    async def call(
        self, name: str, given: dict[str, Any], progress: Any = None, meta: Any = None
    ) -> Any:
        with _rpc_errors():
            return _plain(
                await self._session.call_tool(name, given, progress_callback=progress, meta=meta)
            )

    async def cancel(self, call: asyncio.Future[Any]) -> None:
        """This SDK does not tell the server by itself that a call was given up."""
        last = self._session._request_id - 1
        note = types.CancelledNotification(
            params=types.CancelledNotificationParams(requestId=last, reason="enough")
        )
        await self._session.send_notification(types.ClientNotification(note))
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call

    async def quiet_below(self, level: str) -> None:
        await self._session.set_logging_level(level)

    async def watch(self, change: str, uri: str, during: Callable[[], Awaitable[None]]) -> Any:
        await self._session.subscribe_resource(uri)
        self._notes.clear()
        await during()
        async with asyncio.timeout(DEADLINE_S):
            while not (found := [n for n in self._notes if n["method"] == CHANGED[change]]):
                self._noted.clear()
                await self._noted.wait()
        await self._session.unsubscribe_resource(uri)
        return found[0].get("params", {}).get("uri", True)

    async def _sample(self, context: Any, params: Any) -> Any:
        return types.CreateMessageResult.model_validate(ANSWERS["sampling/createMessage"])

    async def _elicit(self, context: Any, params: Any) -> Any:
        self.asked.append(_plain(params))
        return types.ElicitResult.model_validate(self.form)

    async def _roots(self, context: Any) -> Any:
        return types.ListRootsResult.model_validate(ANSWERS["roots/list"])

    async def _log(self, params: Any) -> None:
        self.logs.append(_plain(params))

    async def _message(self, message: Any) -> None:
        if isinstance(message, types.ServerNotification):
            self._notes.append(_plain(message.root))
            self._noted.set()


class _rpc_errors:  # noqa: N801 -- used like a function
    """Turns this SDK's errors into the tour's."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: Any, trace: Any) -> None:
        if isinstance(problem, McpError):
            raise RpcError(problem.error.code, problem.error.message) from None


def _streams(wire: str, target: Any) -> Any:
    if wire == "stdio":
        return stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    known = {
        "http": streamable_http_client,
        "sse": sse_client,
        "websocket": websocket_client,
    }
    return known[wire](target)


@asynccontextmanager
async def _connect(plan: dict[str, Any], target: Any) -> AsyncIterator[_Host]:
    toured = False
    try:
        async with AsyncExitStack() as stack:
            streams = await stack.enter_async_context(_streams(plan["wire"], target))
            host = _Host()
            await host.connect(stack, streams, plan.get("offer"), mute="mute" in plan)
            yield host
            toured = True
    except* BrokenResourceError:
        # This SDK closes its own stream first, and then breaks on what the server says until it has gone.
        if not toured:
            raise


def main() -> int:
    """Make the tours that the command line asks for."""
    warnings.simplefilter("ignore", DeprecationWarning)
    return go(_connect)


if __name__ == "__main__":
    sys.exit(main())
