"""`ModelCalls`: runs tool calls in OpenAI, Anthropic or Gemini form: checks schema, allowed tools, risk, permissions; returns `Outcome`.

A model's call is data from outside. Nothing is raised for what it did wrong: it reads that, in the words of an error that says
what to do next, and may try again. Exceptions are for the program.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.permissions import canonical_permission
from gatewright.sdk.client.client import Client
from gatewright.sdk.client.results import ToolInfo, ToolResult
from gatewright.sdk.errors import SdkError

if TYPE_CHECKING:
    from gatewright.schemas.schema import CompiledSchema

__all__ = ["ModelCall", "ModelCalls", "Outcome", "read_call"]

Risk = Literal["safe", "moderate", "dangerous"]

_RISKS: tuple[Risk, ...] = ("safe", "moderate", "dangerous")
_DEPTH, _SUBSCHEMAS = 32, 1000
_AGAIN_S = 10.0
"""So long after tools were asked for because of an unknown name, another such name is not asked for."""

Permit = Callable[["ModelCall", ToolInfo], "bool | Awaitable[bool]"]
"""Whether a call may be made; asked last, after everything else agreed."""


class ModelCall(msgspec.Struct, frozen=True):
    """A tool call, whoever's form it came in."""

    name: str
    arguments: dict[str, Any]
    id: str = ""


class Outcome(msgspec.Struct, frozen=True):
    """What became of a call. `text` is for the model; `result` the tool's own, where it was called."""

    call: ModelCall
    ok: bool
    stage: Literal["validation", "permission", "call", "done"]
    """Where it ended."""
    text: str
    result: ToolResult | None = None
    error: SdkError | None = None


def read_call(given: Mapping[str, Any]) -> ModelCall:
    """A call in the form of OpenAI (`function`, or `name` with `arguments` as text), Anthropic (`name`, `input`), Gemini
    (`functionCall`, `args`) or plain JSON (`name`, `arguments`). Raises `ValueError` for anything else."""
    inner = given.get("function") or given.get("functionCall") or given
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        raise ValueError("a tool call has a name")  # noqa: TRY004 - bad input
    found: Any = next((inner[one] for one in ("arguments", "input", "args") if one in inner), {})
    # In the forms of OpenAI arguments are JSON text, which may be empty.
    if isinstance(found, str):
        found = jsonrpc.decode_whole(found.encode()) if found.strip() else {}
    if found is None:
        found = {}
    if not isinstance(found, dict):
        raise ValueError("the arguments of a tool call are an object")  # noqa: TRY004
    ident = given.get("id") or given.get("call_id") or inner.get("id")
    return ModelCall(inner["name"], found, ident if isinstance(ident, str) else "")


class ModelCalls:
    """The whole way of a model's calls, over one client.

    `allowed` are the tools that may be called, None for all; `permissions` are what the model was given (MGP §3), None for
    whatever a tool wants; a tool above `max_risk` is not called; `permit` has the last word. What is known of the tools is asked
    for anew once the server says that they changed (those of 2026-07-28 say so after `Client.watch`), or was connected to again.
    """

    def __init__(
        self,
        client: Client,
        *,
        allowed: frozenset[str] | None = None,
        permissions: frozenset[str] | None = None,
        max_risk: Risk = "dangerous",
        permit: Permit | None = None,
    ) -> None:
        self._client = client
        self._allowed = allowed
        self._permissions = permissions
        self._max_risk = max_risk
        self._permit = permit
        self._tools: dict[str, ToolInfo] = {}
        self._schemas: dict[str, CompiledSchema] = {}
        self._version: tuple[int, int] | None = None
        """That of the client's tools which is known here; None before there was one."""
        self._sought_at = -math.inf
        """When the tools were last asked for because of a name, in the loop's seconds."""
        self._asking: asyncio.Task[list[ToolInfo]] | None = None

    async def refresh(self) -> list[ToolInfo]:
        """Ask for the tools anew; those that the model may be shown."""
        await self._client.connect()
        version = self._client.tools_version  # what changes meanwhile is newer than the list
        listed = await self._client.list_tools()
        self._version = version
        self._tools = {one.name: one for one in listed}
        self._schemas.clear()
        return [one for one in listed if not self._forbidden(one)]

    async def run(self, given: Mapping[str, Any] | ModelCall) -> Outcome:
        """Validate, check, call, and process. Raises nothing for what the model, the policy or the tool did."""
        try:
            call = given if isinstance(given, ModelCall) else read_call(given)
        except ValueError as problem:
            return Outcome(
                ModelCall("", {}), False, "validation", f"This is no tool call: {problem}"
            )
        tool = await self._known(call.name)
        if tool is None:
            # Those that the model may be shown.
            shown = sorted(one.name for one in self._tools.values() if not self._forbidden(one))
            near = ", ".join(shown[:20])
            text = f"There is no tool {call.name!r}. There are: {near}"
            return Outcome(call, False, "validation", text)
        flaw = self._flaw(call, tool)
        if flaw:
            return Outcome(call, False, "validation", flaw)
        forbidden = self._forbidden(tool) or await self._vetoed(call, tool)
        if forbidden:
            return Outcome(call, False, "permission", forbidden)
        return await self._called(call)

    async def run_all(self, given: list[Mapping[str, Any]]) -> list[Outcome]:
        """Several calls of one turn at the same time, in their order."""
        return list(await asyncio.gather(*(self.run(one) for one in given)))

    async def _known(self, name: str) -> ToolInfo | None:
        """A tool of that name. A model may make up names without end: for those the server is not asked more often than now and then."""
        for _ in range(2):  # the answer to who asked before may be older than the change
            if self._version != self._client.tools_version:
                self._sought_at = asyncio.get_running_loop().time()
                await self._asked()
        if name not in self._tools:
            now = asyncio.get_running_loop().time()
            if self._asking is not None or now - self._sought_at >= _AGAIN_S:
                self._sought_at = now
                await self._asked()
        return self._tools.get(name)

    async def _asked(self) -> None:
        """`refresh`, once for all who need it at the same time."""
        if self._asking is None:
            self._asking = asyncio.create_task(self.refresh())
            self._asking.add_done_callback(self._answered)
        await asyncio.shield(self._asking)

    def _answered(self, asking: asyncio.Task[list[ToolInfo]]) -> None:
        self._asking = None
        if not asking.cancelled():
            asking.exception()  # those who wait raise it; where nobody does any more, it is of no interest

    def _flaw(self, call: ModelCall, tool: ToolInfo) -> str:
        from gatewright.schemas.graph import UnusableSchema
        from gatewright.schemas.schema import compile_schema

        check = self._schemas.get(tool.name)
        if check is None:
            try:
                check = compile_schema(tool.input_schema, _DEPTH, _SUBSCHEMAS)
            except UnusableSchema as problem:
                return f"{tool.name} cannot be called: its schema is unusable: {problem}"
            self._schemas[tool.name] = check
        objection = check.objection(call.arguments)
        if objection is None:
            return ""
        where = objection.path or "/"
        return f"The arguments of {tool.name} do not fit its schema: {where} {objection.message}"

    def _forbidden(self, tool: ToolInfo) -> str:
        """Why the tool may not be called by this model at all, if so."""
        if self._allowed is not None and tool.name not in self._allowed:
            return f"{tool.name} may not be called here"
        security = tool.security
        risk = security.get("risk_level", "moderate")
        # A risk that cannot be read is above every limit.
        if risk not in _RISKS or _RISKS.index(risk) > _RISKS.index(self._max_risk):
            return f"{tool.name} is {risk}, and at most {self._max_risk} tools may be called here"
        wanted = security.get("permissions_required")
        if self._permissions is None or wanted is None:
            return ""
        if not isinstance(wanted, list) or not all(isinstance(one, str) for one in wanted):
            return f"{tool.name} says in a way that cannot be read what it needs"
        held = {canonical_permission(one) or one for one in self._permissions}
        missing = [one for one in wanted if (canonical_permission(one) or one) not in held]
        return f"{tool.name} needs {', '.join(missing)}" if missing else ""

    async def _vetoed(self, call: ModelCall, tool: ToolInfo) -> str:
        if self._permit is None:
            return ""
        said = self._permit(call, tool)
        # Anything but True is a no.
        agreed = said if isinstance(said, bool) else await said
        return "" if agreed is True else f"the call to {tool.name} was not permitted"

    async def _called(self, call: ModelCall) -> Outcome:
        try:
            result = await self._client.call_tool(call.name, call.arguments)
        except SdkError as problem:
            return Outcome(call, False, "call", str(problem), error=problem)
        text = result.text or jsonrpc.encode(result.raw).decode()
        return Outcome(call, not result.is_error, "done", text, result)
