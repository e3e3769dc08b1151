"""Exceptions of the SDK for tool authors and callers, each with reason code and recovery advice; `error_of` makes one of a reason received.

Seven classes are the contract of the Python interface; the others are what a caller of a governed tool meets
besides. Each carries a reason of `mcp.wire.codes`, so that every endpoint, the client and a test spell one problem the
same way. The table of reasons is read only when a code is asked for: importing this module costs nothing.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, ClassVar

__all__ = [
    "AccessError",
    "InternalError",
    "LimitError",
    "RegistrationError",
    "SchemaError",
    "SdkError",
    "SerializationError",
    "TimeoutError",
    "ToolError",
    "ToolNotFoundError",
    "TransportError",
    "ValidationError",
    "error_class",
    "error_of",
]


class SdkError(Exception):
    """The base of all of them: `except SdkError` catches whatever the SDK raises on purpose.

    `reason` is a row of `mcp.wire.codes.REASONS`; without one the class has its usual one. `details` are JSON values
    for programs. `again` is what an error that was received says of `retryable`, which else follows from the reason.
    `str()` is one sentence about the problem and one about what to do next.
    """

    usual_reason: ClassVar[str] = "internal"
    advice: ClassVar[str] = "Look at the server's log; the call may be repeated once."

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        details: Mapping[str, Any] | None = None,
        advice: str | None = None,
        again: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or self.usual_reason
        self.details: dict[str, Any] = dict(details or {})
        self.what_next = self.advice if advice is None else advice
        self._again = again

    def __str__(self) -> str:
        return f"{self.message}. {self.what_next}" if self.what_next else self.message

    @property
    def code(self) -> int:
        """The JSON-RPC code: -32600 to -32603 for the protocol, -32000 for everything else."""
        from gatewright.mcp.wire.codes import reason_of

        return reason_of(self.reason).codomyrmex_code

    @property
    def retryable(self) -> bool:
        """Whether the same call may be made again: it may succeed later, and the first one did certainly nothing."""
        from gatewright.mcp.wire.codes import UNTOUCHED, reason_of

        if self._again is not None:
            return self._again
        row = reason_of(self.reason)
        # Refused before anything was carried out (by MGP's categories of codes), or never sent.
        return row.retryable and (row.mgp_code in UNTOUCHED or self.details.get("sent") is False)

    @property
    def recovery(self) -> dict[str, Any]:
        """The recovery hints of MGP §14.5: category, retryable and, where so, when, how and how often."""
        from gatewright.mcp.wire.codes import recovery

        return recovery(self.reason, once=not self.retryable, details=self.details)

    def to_error(self) -> dict[str, Any]:
        """The JSON-RPC error object: code, message, and in `data` the class, the reason and the hints."""
        data = {"error_type": type(self).__name__, "reason": self.reason, "advice": self.what_next}
        return {
            "code": self.code,
            "message": self.message,
            "data": {**data, **self.details, "_mgp": self.recovery},
        }


class TransportError(SdkError):
    """The other side could not be reached, did not answer, or answered what is no message."""

    usual_reason = "upstream_unavailable"
    advice = "Check that the server runs and how it is reached; then retry with backoff"


class ToolNotFoundError(SdkError):
    """No registered tool has this name, or not in this version."""

    usual_reason = "tool_not_found"
    advice = "list_registered_tools() says which tools there are"


class SchemaError(SdkError):
    """The arguments do not fit the tool's schema, or one of its validators refused them."""

    usual_reason = "invalid_args"
    advice = "get_tool_schema(name) says which arguments the tool takes"


class ValidationError(SdkError, ValueError):
    """A message is no tool call or no result: members are missing or of a wrong type."""

    usual_reason = "invalid_request"
    advice = "Give every required member in the type that the model says"


class SerializationError(SdkError):
    """A value has no JSON form, or a tool's output does not fit its own output schema."""

    usual_reason = "output_invalid"
    advice = "Return JSON values, dataclasses or models; turn other objects into dicts first"


class TimeoutError(SdkError, builtins.TimeoutError):  # noqa: A001 - the contract's name
    """Something took longer than its limit, which is 30 s for a tool unless it was set."""

    usual_reason = "timeout"
    advice = "Raise the limit, or make the tool do less in one call"


class RegistrationError(SdkError):
    """A tool cannot be registered: no schema, a bad declaration, or its name is taken."""

    usual_reason = "registration_conflict"
    advice = "Correct the declaration"


class AccessError(SdkError):
    """Policy said no: the caller, or the trust gateway, may not run this tool now."""

    usual_reason = "permission_denied"
    advice = "Ask whoever operates the gateway for access"


class LimitError(SdkError):
    """Too much at once, or too much today."""

    usual_reason = "rate_limited"
    advice = "Wait as long as the recovery hints say, then retry"


class ToolError(Exception):
    """For authors: raise it in a tool in order to tell the model, in your own words, what went wrong."""


class InternalError(SdkError):
    """A mistake inside the server or the tool; the original exception is the cause."""


_CLASSES: tuple[type[SdkError], ...] = (
    TransportError,
    ToolNotFoundError,
    SchemaError,
    ValidationError,
    SerializationError,
    TimeoutError,
    RegistrationError,
    AccessError,
    LimitError,
    InternalError,
)
_BY_NAME = {one.__name__: one for one in _CLASSES}


def error_class(reason: str) -> type[SdkError]:
    """The exception class of a reason; `InternalError` where nobody defined it."""
    from gatewright.mcp.wire.codes import reason_of

    return _BY_NAME.get(reason_of(reason).codomyrmex, InternalError)


def error_of(reason: str, message: str, *, details: Mapping[str, Any] | None = None) -> SdkError:
    """The exception for a reason that came over the wire."""
    return error_class(reason)(message, reason=reason, details=details)
