"""Sends a client's requests, retries and falls back by recovery hints (MGP §14.6), audits retries; maps failures to exceptions."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gatewright.call import (
    Answer,
    Call,
    Caller,
    Client,
    Failure,
    Kind,
    Outcome,
    Refusal,
    Target,
    Tool,
)
from gatewright.mcp.client.retry import Attempt, persist
from gatewright.mcp.protocol.recovery import Retries, read_hint
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import REASONS
from gatewright.mcp.wire.headers_and_meta import ERROR_ORIGIN
from gatewright.mcp.wire.versions import LATEST_LEGACY, METHODS
from gatewright.sdk import errors
from gatewright.sdk.client.connection import Connection
from gatewright.sdk.client.handlers import CallHandlers
from gatewright.sdk.client.options import Options
from gatewright.sdk.errors import SdkError, TransportError, error_of

if TYPE_CHECKING:
    from gatewright.mcp.protocol.mcp_client import Hello

__all__ = ["RETRY_EVENT", "Calls", "raised", "shown_tool"]

# Reversed, so that of several reasons with one code the first stays.
_BY_CODE = {row.mgp_code: row.name for row in reversed(list(REASONS.values())) if row.mgp_code > 0}
"""MGP's codes → the first reason of the table that has them."""

_JSONRPC: dict[int, type[SdkError]] = {
    jsonrpc.PARSE_ERROR: errors.TransportError,
    jsonrpc.INVALID_REQUEST: errors.ValidationError,
    jsonrpc.METHOD_NOT_FOUND: errors.TransportError,
    jsonrpc.INVALID_PARAMS: errors.SchemaError,
    jsonrpc.INTERNAL_ERROR: errors.InternalError,
    -32002: errors.ToolNotFoundError,
}
"""Where nothing but the code says what it was. -32002 is ggen's, and an old MCP server's for a missing resource."""


def raised(outcome: Failure | Refusal, timeout_s: float) -> SdkError:
    """The exception for a call that has no answer. `timeout_s` is the limit that it had."""
    if isinstance(outcome, Failure) and outcome.error is not None:
        return _answered(outcome.error, mgp=outcome.mgp)
    if outcome.reason == "upstream_timeout":
        return errors.TimeoutError(f"no answer within {timeout_s:g} s: {outcome.message}")
    return error_of(outcome.reason, outcome.message or outcome.reason, details=outcome.details)


def _answered(text: bytes, *, mgp: bool) -> SdkError:
    try:
        error = jsonrpc.decode_whole(text)
    except ValueError:
        error = None
    if not isinstance(error, dict):
        return errors.TransportError("the server answered with an error that cannot be read")
    code, message = error.get("code"), str(error.get("message", "the server gave no message"))
    reason = _reason(error.get("data"))
    if reason is None and mgp and not _relayed(error.get("data")):
        reason = _BY_CODE.get(code if isinstance(code, int) else 0)
    kind = _JSONRPC.get(code if isinstance(code, int) else 0, errors.InternalError)
    if reason is not None:
        kind = errors.error_class(reason)
    hint = read_hint(error, mgp=mgp)
    if hint.unsent:
        error = {**error, "sent": False}
    # What is to be done next the server has said itself, or nobody knows.
    again = hint.retryable and (hint.refused or hint.unsent)
    return kind(message, reason=reason, details=error, advice="", again=again)


def _reason(data: Any) -> str | None:
    """The reason that one of us gave; any other word there means nothing to us."""
    found = data.get("reason") if isinstance(data, dict) else None
    return found if isinstance(found, str) and found in REASONS else None


def _relayed(data: Any) -> bool:
    """Whether a gateway says that these are the words of a server behind it."""
    meta = data.get("_meta") if isinstance(data, dict) else None
    return isinstance(meta, dict) and meta.get(ERROR_ORIGIN) == "server"


RETRY_EVENT = "dev.gatewright.retry"
"""The event type of a repetition in `notifications/mgp.audit`: MGP §6.4 names none, and lets others be reverse-domain."""

_SESSION = "client"


class Calls:
    """Makes the calls of one client."""

    def __init__(self, connection: Connection, options: Options) -> None:
        self._connection = connection
        self._options = options
        self._me = Caller(options.actor)
        # Questions in the middle of a call are put to us by the link, whatever era the server is of.
        self._client = Client(LATEST_LEGACY, options.capabilities, options.info)

    def log_from(self, level: str | None) -> None:
        """From which severity on servers without sessions are asked for log lines."""
        options = self._options
        self._client = Client(LATEST_LEGACY, options.capabilities, options.info, log_level=level)

    async def make(
        self,
        method: str,
        params: dict[str, Any],
        voice: CallHandlers,
        *,
        timeout_s: float | None = None,
        tool: Tool | None = None,
        repeatable: bool | None = None,
    ) -> bytes:
        """The JSON text of the result. Raises an `SdkError`.

        `repeatable` None: lists, prompts and resources are; a tool is not, whatever its server says of it.
        """
        limit_s = self._options.timeout_s if timeout_s is None else timeout_s
        # One for all attempts: retries do not prolong a call.
        deadline = asyncio.get_running_loop().time() + limit_s
        call = self._call(method, params, tool)
        one = _One(self._connection, self._options, call, voice, deadline)
        outcome = await one.again()
        if type(outcome) is Failure and self._options.retry is not None:
            # The annotations of a server that nobody vetted are no reason to call a tool twice.
            harmless = call.repeatable if repeatable is None else repeatable
            retries = Retries(self._options.retry, self._options.random, repeatable=harmless)
            outcome = await persist(outcome, one, retries, sleep=self._options.sleep)
        if isinstance(outcome, Answer):
            return outcome.raw
        raise raised(outcome, limit_s)

    def _call(self, method: str, params: dict[str, Any], tool: Tool | None) -> Call:
        spec = METHODS.get(method)
        kind: Kind = "method" if spec is None else spec.kind
        name = params.get(spec.names) if spec is not None and spec.names else None
        return Call(
            id=uuid.uuid4().hex,
            door="sdk",
            kind=kind,
            method=method,
            name=name if isinstance(name, str) else "",
            params=params,
            caller=self._me,
            client=self._client,
            trace_id=str(uuid.uuid4()),
            session=_SESSION,
            tool=tool,
        )


class _One:
    """One call and its attempts (`mcp.client.retry.Trying`)."""

    def __init__(
        self,
        connection: Connection,
        options: Options,
        call: Call,
        voice: CallHandlers,
        deadline: float,
    ) -> None:
        self._connection = connection
        self._options = options
        self._call = call
        self._voice = voice
        self._deadline = deadline

    async def again(self) -> Outcome:
        """Put the call, over a new connection where the old one is gone."""
        return await self._put(self._call)

    async def instead(self, tool: str) -> Outcome | None:
        """The same arguments to another tool. What we know of the first one does not hold for it."""
        if self._call.kind != "tool":
            return None
        call = self._call
        if tool == call.name:
            return None  # it would be the same call once more
        params = {**call.params, "name": tool}
        other = Call(
            id=uuid.uuid4().hex,
            door=call.door,
            kind=call.kind,
            method=call.method,
            name=tool,
            params=params,
            caller=call.caller,
            client=call.client,
            trace_id=call.trace_id,
            session=call.session,
        )
        return await self._put(other)

    def left(self) -> float:
        """Seconds until the deadline."""
        return self._deadline - asyncio.get_running_loop().time()

    async def note(self, attempt: Attempt) -> None:
        """Tell the server's audit trail, where that was negotiated (§14.6, 5), and whoever listens here."""
        link = self._connection.current
        hello = None if link is None else link.hello
        event = self._event(attempt, hello)
        self._options.on_event("notifications/mgp.audit", event)
        mgp = None if hello is None else hello.mgp
        if link is not None and mgp is not None and "audit" in mgp.extensions:
            link.notify("notifications/mgp.audit", event)

    async def _put(self, call: Call) -> Outcome:
        outcome = await self._put_once(call)
        if type(outcome) is Failure and outcome.details.get("sent") is False:
            current = self._connection.current
            if current is not None and not current.open:
                # It was lost unnoticed, and nothing was sent: a new one is made at once.
                outcome = await self._put_once(call)
        return outcome

    async def _put_once(self, call: Call) -> Outcome:
        try:
            link = await self._connection.link()
        except TransportError as problem:
            if self._connection.closed:
                raise
            return Failure("upstream_unavailable", problem.message, {"sent": False})
        return await link.request(
            call.method, call.params, call=call, back=self._voice, deadline=self._deadline
        )

    def _event(self, attempt: Attempt, hello: Hello | None) -> dict[str, Any]:
        call = self._call
        moment = datetime.fromtimestamp(self._options.clock(), UTC)
        server = str(hello.info.get("name", "")) if hello is not None else ""
        details: dict[str, Any] = {
            "attempt": attempt.number,
            "wait_ms": round(attempt.wait_s * 1000),
            "error": {"code": attempt.code, "message": attempt.message},
        }
        if attempt.fallback_tool is not None:
            details["fallback_tool"] = attempt.fallback_tool
        return {
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "trace_id": call.trace_id,
            "event_type": RETRY_EVENT,
            "actor": {"type": "agent", "id": self._options.actor},
            "target": {"server_id": server, "tool_name": call.name},
            "result": "FAILURE",
            "details": details,
        }


def shown_tool(name: str, *, headers: dict[tuple[str, ...], str]) -> Tool:
    """What a link wants to know of a tool: which arguments are headers, too."""
    return Tool(Target("", name), name, {}, headers=headers)
