"""`Context` of a tool call: progress, logs, partial results, elicitation, sampling, roots, time left, cancel flag; finds the parameter for it.

A server fills in the way to the caller (`back`). Without one, in a test or a call inside one process, progress goes
nowhere, log lines go to the log `gatewright.sdk.tool`, and nobody can be asked.
"""

from __future__ import annotations

import inspect
import time
import types
import typing
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from gatewright.sdk.errors import ToolError

if TYPE_CHECKING:
    import asyncio

    from gatewright.call import Back, Call
    from gatewright.sdk.running_call import Running

__all__ = ["CHUNK", "Context", "Elicited", "context_parameter", "is_context", "plain_function"]

T = TypeVar("T")

CHUNK = "notifications/mgp.stream.chunk"

_LEVELS = {
    "debug": 10,
    "info": 20,
    "notice": 20,
    "warning": 30,
    "error": 40,
}
"""MCP's level → that of `logging`, which is imported when something is logged."""


@dataclass(frozen=True, slots=True)
class Elicited(Generic[T]):
    """What the user did with a form."""

    action: str
    """`accept`, `decline` or `cancel`."""
    content: T | None = None
    """What was filled in, where it was accepted."""

    @property
    def accepted(self) -> bool:
        """Whether there is something filled in."""
        return self.action == "accept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One call, seen from inside the tool."""

    tool: str
    version: str = ""
    trace_id: str = ""
    """What joins the records of one call; empty when nobody gave one."""
    caller: str = "local"
    """Who asks, as authentication established it; `local` for a call inside one process."""
    deadline: float = float("inf")
    """When the call will be stopped, in monotonic seconds; later by the time that questions take."""
    back: Back | None = None
    call: Call | None = None
    """The request as it came, with `_meta` and whatever else stands in it."""
    running: Running | None = None

    def remaining_s(self) -> float:
        """Seconds until then, never below zero. While somebody is asked they stand still."""
        running = self.running
        asked = 0.0
        if running is not None and running.loop is not None:
            # `deadline` counts in `time.monotonic`, questions in the loop's clock: only their duration is added.
            asked = running.asked_s(running.loop.time())
        return max(0.0, self.deadline + asked - time.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more. A coroutine is cancelled, and a thread stopped, anyway."""
        return self.running is not None and self.running.cancelled

    # -- telling

    def progress(self, progress: float, total: float | None = None, message: str = "") -> None:
        """Say how far it is, in units of the tool's own; `progress` must not decrease. From any thread, which
        waits only where 64 messages of the call are on their way."""
        params: dict[str, Any] = {"progress": progress}
        if total is not None:
            params["total"] = total
        if message:
            params["message"] = message
        self._emit("notifications/progress", params)

    def stream(self, text: str, *, done: bool = False) -> None:
        """Send a piece of the result ahead of it (MGP §12.4): a caller that asked for a stream gets it at once, all others nothing. What
        is returned in the end has to have all of it; `done` says that no more comes before that. From any thread, as `progress`. A
        tool that yields texts does this by itself."""
        self._emit(CHUNK, {"content": {"type": "text", "text": text}, "done": done})

    def log(self, level: str, data: Any, logger: str = "") -> None:
        """A line for the caller's log: `level` is one of RFC 5424's in MCP's spelling, `data` any JSON value."""
        if self.back is None:
            import logging

            logging.getLogger("gatewright.sdk.tool").log(
                _LEVELS.get(level, logging.ERROR), "%s: %s", self.tool, data
            )
            return
        self._emit(
            "notifications/message", {"level": level, "logger": logger or self.tool, "data": data}
        )

    def debug(self, data: Any) -> None:
        """`log` at level `debug`."""
        self.log("debug", data)

    def info(self, data: Any) -> None:
        """`log` at level `info`."""
        self.log("info", data)

    def warning(self, data: Any) -> None:
        """`log` at level `warning`."""
        self.log("warning", data)

    def error(self, data: Any) -> None:
        """`log` at level `error`."""
        self.log("error", data)

    def _emit(self, method: str, params: dict[str, Any]) -> None:
        back, running = self.back, self.running
        if back is None or running is None or running.loop is None:
            return
        from gatewright.call import Event

        event = Event(method, params)
        if _on(running.loop):
            back.emit(event)
        else:
            running.tell(back.emit, event)

    def close_stream(self, retry_ms: int = 1000) -> None:
        """Let the connection go while the tool goes on: a client that can (MCP 2025-11-25, SSE polling) comes back for the result
        after `retry_ms` milliseconds. Without effect where there is no stream."""
        # An event for the MCP server code (`call.RECONNECT`), which no client sees.
        self._emit("gatewright/reconnect", {"retry_ms": retry_ms})

    # -- asking

    def can_ask(self, method: str) -> bool:
        """Whether the caller said that it answers `elicitation/create`, `sampling/createMessage` or `roots/list`."""
        if self.call is None:
            return False
        from gatewright.mcp.protocol.mcp_server import can_answer

        return can_answer(self.call.client, method)

    @overload
    async def elicit(self, message: str, form: type[T], *, key: str = "") -> Elicited[T]: ...

    @overload
    async def elicit(
        self, message: str, form: Mapping[str, Any], *, key: str = ""
    ) -> Elicited[Any]: ...

    async def elicit(
        self, message: str, form: Mapping[str, Any] | type[Any], *, key: str = ""
    ) -> Elicited[Any]:
        """Ask the user to fill in a form. `form` is a flat JSON Schema of an object, or a dataclass, TypedDict or pydantic model of
        plain members, and then the content is one. `key` names the answer in MCP 2026-07-28.

        Raises `ToolError` where nobody can be asked, or the answer does not fit the form.
        """
        from gatewright.sdk.forms import read_form

        schema, decode = read_form(form)
        params = {"message": message, "requestedSchema": schema}
        answer = await self.ask("elicitation/create", params, key=key)
        action = answer.get("action")
        if action != "accept":
            return Elicited(str(action))
        return Elicited("accept", decode(answer.get("content") or {}))

    async def sample(
        self,
        messages: Sequence[Mapping[str, Any]] | str,
        max_tokens: int = 1000,
        *,
        key: str = "",
        **more: Any,
    ) -> dict[str, Any]:
        """Have the caller's model say something: its message, with `role`, `content` and `model`. A text is one message of
        the user; `more` are other members of `sampling/createMessage`. Raises `ToolError`."""
        if isinstance(messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": messages}}]
        params = {"messages": [dict(one) for one in messages], "maxTokens": max_tokens, **more}
        return await self.ask("sampling/createMessage", params, key=key)

    async def roots(self, *, key: str = "") -> list[dict[str, Any]]:
        """The folders that the caller shows: each with `uri`, perhaps `name`. Raises `ToolError`."""
        found = (await self.ask("roots/list", None, key=key)).get("roots")
        return found if isinstance(found, list) else []

    async def ask(
        self, method: str, params: Mapping[str, Any] | None, *, key: str = ""
    ) -> dict[str, Any]:
        """Put any question to the caller: the result object. Raises `ToolError` where it cannot be asked."""
        if self.back is None or self.running is None:
            raise ToolError(
                f"nobody can be asked {method} here: the tool was called without a server"
            )
        from gatewright.sdk.asking import put

        return await put(self.call, self.back, self.running, method, params, key)

    def wait(self, question: Coroutine[Any, Any, T]) -> T:
        """What a question comes to, for a plain function in its thread: `context.wait(context.elicit(…))`."""
        running = self.running
        loop = None if running is None else running.loop
        if running is None or loop is None or _on(loop):
            # It will never be awaited, which Python would warn of.
            question.close()
            raise ToolError(
                "context.wait is for plain functions; a coroutine function awaits the question"
            )
        from gatewright.sdk.threads import beside_the_rest

        with running.answer() as answer, beside_the_rest(loop):
            # Only now, when the end of the call also ends the question: this thread may be stopped at any instruction.
            loop.call_soon_threadsafe(answer.put, question)
            found: T = answer.result()
            return found


def _on(loop: asyncio.AbstractEventLoop) -> bool:
    from asyncio import get_running_loop

    try:
        return get_running_loop() is loop
    except RuntimeError:
        return False


def is_context(hint: Any) -> bool:
    """Whether a parameter of this type is the context: `Context`, also in `Annotated` or beside `None`."""
    if typing.get_origin(hint) in {typing.Annotated, typing.Union, types.UnionType}:
        return any(map(is_context, typing.get_args(hint)))
    return isinstance(hint, type) and issubclass(hint, Context)


def context_parameter(function: Callable[..., Any]) -> str | None:
    """The parameter that is given the call's context, or None."""
    try:
        hints = typing.get_type_hints(plain_function(function))
    # `function_schema.read_signature` raises for the same hints, with the parameter's name.
    except (NameError, TypeError):
        return None
    hints.pop("return", None)
    return next((name for name, hint in hints.items() if is_context(hint)), None)


def plain_function(function: Callable[..., Any]) -> Any:
    """What carries the type hints: those of a callable object are its `__call__`'s."""
    plain = inspect.unwrap(function)
    if inspect.isroutine(plain):
        return plain
    inner = getattr(plain, "func", None)  # functools.partial
    return inner if inner is not None else type(plain).__call__
