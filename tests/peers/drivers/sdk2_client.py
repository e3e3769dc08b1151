"""A host on the Python SDK 2.3: either era, over Streamable HTTP and stdio.

python sdk2_client.py PLAN
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import mcp_types as types  # type: ignore[import-not-found]
from mcp import Client  # type: ignore[import-not-found]
from mcp.client import advertise  # type: ignore[import-not-found]
from mcp.client.stdio import (  # type: ignore[import-not-found]
    StdioServerParameters,
    stdio_client,
)
from mcp.client.streamable_http import streamable_http_client  # type: ignore[import-not-found]
from mcp.shared.exceptions import (  # type: ignore[import-not-found]
    MCPDeprecationWarning,
    MCPError,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # type: ignore[import-not-found]

from tests.peers.drivers.tapping import Tapped
from tests.peers.drivers.tour import ANSWERS, CHANGED, DEADLINE_S, EXTENSION, RpcError, go

__all__ = ["main"]

MODES = {"legacy": "legacy", "auto": "auto", "modern": "2026-07-28"}


def _plain(model: Any) -> dict[str, Any]:
    found: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return found


class _Host:
    """See `tour.Host`."""

    def __init__(self, plan: dict[str, Any], target: Any) -> None:
        self.asked: list[dict[str, Any]] = []
        self.form: dict[str, Any] = {}
        self.logs: list[dict[str, Any]] = []
        self.frames: list[Any] = []
        self._notes: list[dict[str, Any]] = []
        self._noted = asyncio.Event()
        mute = "mute" in plan
        self.client = Client(
            self._streams(plan["wire"], target),
            mode=MODES[plan["era"]],
            sampling_callback=None if mute else self._sample,
            elicitation_callback=None if mute else self._elicit,
            list_roots_callback=None if mute else self._roots,
            logging_callback=self._log,
            log_level="info",
            message_handler=self._message,
            client_info=types.Implementation(name="sdk2", version="1"),
            extensions=[advertise(EXTENSION, plan["offer"])] if "offer" in plan else None,
        )

    @asynccontextmanager
    async def _streams(self, wire: str, target: Any) -> AsyncIterator[Any]:
        inner = (
            stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
            if wire == "stdio"
            else streamable_http_client(target)
        )
        async with inner as (incoming, outgoing):
            yield Tapped(incoming, self.frames), outgoing

    @property
    def _modern(self) -> bool:
        return self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    def hello(self) -> dict[str, Any]:
        info = self.client.server_info
        return {
            "name": info.name if info else None,
            "revision": self.client.protocol_version,
            "instructions": self.client.instructions,
            "offers": sorted(_plain(self.client.server_capabilities)),
        }

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        with _rpc_errors():
            return _plain(await self._request(method, params or {}))

    async def _request(self, method: str, params: dict[str, Any]) -> Any:
        client = self.client
        if method == "resources/read":
            return await client.read_resource(params["uri"])
        if method == "prompts/get":
            return await client.get_prompt(params["name"], params["arguments"])
        if method == "completion/complete":
            ref = types.PromptReference.model_validate(params["ref"])
            return await client.complete(ref, params["argument"])
        lists = {
            "tools/list": client.list_tools,
            "resources/list": client.list_resources,
            "resources/templates/list": client.list_resource_templates,
            "prompts/list": client.list_prompts,
        }
        return await lists[method]()

    async def call(
        self, name: str, given: dict[str, Any], progress: Any = None, meta: Any = None
    ) -> Any:
        with _rpc_errors():
            return _plain(
                await self.client.call_tool(name, given, progress_callback=progress, meta=meta)
            )

    async def cancel(self, call: asyncio.Future[Any]) -> None:
        """This SDK tells the server by itself, each way its transport does it."""
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call

    async def quiet_below(self, level: str) -> None:
        """In the modern era each request says it (`log_level` above)."""
        if not self._modern:
            await self.client.set_logging_level(level)

    async def watch(self, change: str, uri: str, during: Callable[[], Awaitable[None]]) -> Any:
        if self._modern:
            return await self._listen(change, uri, during)
        await self.client.subscribe_resource(uri)
        self._notes.clear()
        await during()
        async with asyncio.timeout(DEADLINE_S):
            while not (found := [n for n in self._notes if n["method"] == CHANGED[change]]):
                self._noted.clear()
                await self._noted.wait()
        await self.client.unsubscribe_resource(uri)
        return found[0].get("params", {}).get("uri", True)

    async def _listen(self, change: str, uri: str, during: Callable[[], Awaitable[None]]) -> Any:
        wanted: dict[str, Any] = (
            {"tools_list_changed": True} if change == "tools" else {"resource_subscriptions": [uri]}
        )
        async with self.client.listen(**wanted) as heard:
            await during()
            event = await asyncio.wait_for(anext(aiter(heard)), DEADLINE_S)
        return getattr(event, "uri", True)

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
        if not isinstance(message, Exception):
            self._notes.append(_plain(message))
            self._noted.set()


class _rpc_errors:  # noqa: N801 -- used like a function
    """Turns this SDK's errors into the tour's."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: Any, trace: Any) -> None:
        if isinstance(problem, MCPError):
            raise RpcError(problem.error.code, problem.error.message) from None


@asynccontextmanager
async def _connect(plan: dict[str, Any], target: Any) -> AsyncIterator[_Host]:
    host = _Host(plan, target)
    async with host.client:
        yield host


def main() -> int:
    """Make the tours that the command line asks for."""
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    return go(_connect)


if __name__ == "__main__":
    sys.exit(main())
