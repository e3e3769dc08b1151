"""Maps a failed or refused call to the SDK's exceptions, with the server's error object in `details`."""

from __future__ import annotations

from typing import Any

from gatewright.call import Failure, Refusal
from gatewright.mcp.protocol.recovery import read_hint
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import REASONS
from gatewright.sdk import errors
from gatewright.sdk.errors import SdkError, error_of

__all__ = ["raised"]

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
        return _answered(outcome.error)
    if outcome.reason == "upstream_timeout":
        return errors.TimeoutError(f"no answer within {timeout_s:g} s: {outcome.message}")
    return error_of(outcome.reason, outcome.message or outcome.reason, details=outcome.details)


def _answered(text: bytes) -> SdkError:
    try:
        error = jsonrpc.decode_whole(text)
    except ValueError:
        error = None
    if not isinstance(error, dict):
        return errors.TransportError("the server answered with an error that cannot be read")
    code, message = error.get("code"), str(error.get("message", "the server gave no message"))
    reason = _reason(error.get("data")) or _BY_CODE.get(code if isinstance(code, int) else 0)
    kind = _JSONRPC.get(code if isinstance(code, int) else 0, errors.InternalError)
    if reason is not None:
        kind = errors.error_class(reason)
    # `SdkError.retryable` reads it.
    if read_hint(error).unsent:
        error = {**error, "sent": False}
    # What is to be done next the server has said itself, or nobody knows.
    return kind(message, reason=reason, details=error, advice="")


def _reason(data: Any) -> str | None:
    """The reason that one of us gave; any other word there means nothing to us."""
    found = data.get("reason") if isinstance(data, dict) else None
    return found if isinstance(found, str) and found in REASONS else None
