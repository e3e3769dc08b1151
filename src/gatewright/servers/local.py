"""`LocalServer`: in-process tool server whose tools are Python functions of the gateway itself, called directly and without MCP.

A coroutine function runs on the loop; a plain function runs on the loop too, and so must not block:
whoever registers one says by that that it does not.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.listeners import Signal
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import LATEST_LEGACY
from gatewright.servers.listing import Listing
from gatewright.servers.spec import ServerSpec
from gatewright.servers.states import State
from gatewright.servers.status import Status

__all__ = ["Function", "LocalServer", "Tools"]

log = logging.getLogger("gatewright.servers")

Function = (
    Callable[[dict[str, Any], Call, Back], Any]
    | Callable[[dict[str, Any], Call, Back], Awaitable[Any]]
)
"""Takes the arguments, the call and the way back. Returns text, a result object (a dict that has
`content` or `structuredContent`), any other JSON value, which becomes the structured content, or an
outcome as it is to end the call."""


Tools = Mapping[str, tuple[Mapping[str, Any], Function]]
"""Name → definition without the name, and function."""


class LocalServer:
    """A server of this process."""

    def __init__(
        self,
        spec: ServerSpec,
        tools: Tools,
        instructions: str | None = None,
    ) -> None:
        self.spec = spec
        self.id = spec.id
        self.given = tools
        """Those that it was made with."""
        self._functions: dict[str, tuple[Function, bool]] = {}
        for name, (_, function) in tools.items():
            self._put(name, function)
        definitions = [{"name": name, **definition} for name, (definition, _) in tools.items()]
        self.listing = Listing(
            Hello(
                LATEST_LEGACY,
                {"tools": {}},
                {"name": spec.id, "version": "1"},
                instructions,
            ),
            {"tools": [jsonrpc.decode_members(jsonrpc.encode(one)) for one in definitions]},
        )
        self.changed: Signal[Listing] = Signal()
        """What it offers, whenever that is something else than before."""

    def _put(self, name: str, function: Function) -> None:
        self._functions[name] = function, inspect.iscoroutinefunction(function)

    @property
    def hello(self) -> Hello:
        """What the server says of itself."""
        return self.listing.hello

    @property
    def state(self) -> State:
        """Always connected."""
        return "connected"

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Run one tool. Never raises, except for the cancellation of the caller's task."""
        if method != "tools/call":
            return Failure("method_not_found", f"server {self.id} has no {method}")
        found = self._functions.get(params["name"])
        if found is None:
            return Failure("tool_not_found", f"server {self.id} has no tool {params['name']!r}")
        function, waits = found
        try:
            given = function(call.arguments, call, back)
            if waits:
                # Of a plain function nothing can be cut short: it has run by now.
                async with asyncio.timeout_at(call.deadline):
                    given = await given
            return _answer(given)
        except TimeoutError:
            return Failure("timeout", f"tool {params['name']!r} did not end in time")
        except Exception as problem:
            log.exception("tool %s of server %s failed", params["name"], self.id)
            return Answer(_text(f"{type(problem).__name__}: {problem}", error=True), True)

    def status(self) -> Status:
        """What an operator sees."""
        return Status(
            id=self.id,
            state="connected",
            transport="local",
            revision=self.hello.revision,
            info=self.hello.info,
            tools=len(self._functions),
        )


def _answer(given: Any) -> Outcome:
    if isinstance(given, Answer | Refusal | Failure):
        return given
    if isinstance(given, str):
        return Answer(_text(given))
    if isinstance(given, dict) and ("content" in given or "structuredContent" in given):
        return Answer(jsonrpc.encode(given), given.get("isError") is True)
    text = jsonrpc.encode(given).decode()
    structured = given if isinstance(given, dict) else {"result": given}
    return Answer(
        jsonrpc.encode(
            {"content": [{"type": "text", "text": text}], "structuredContent": structured}
        )
    )


def _text(text: str, *, error: bool = False) -> bytes:
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if error:
        result["isError"] = True
    return jsonrpc.encode(result)
