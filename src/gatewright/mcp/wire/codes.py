"""Table of all error reasons: codes by protocol, HTTP status, exit code, retry policy; and MGP's recovery object made from it.

One table. A gate, the dispatcher or an endpoint names a reason; no other file writes an error number.
The canonical kinds are those of the decision record (conflicts C-01 to C-07); below them stand
the reasons that only a gateway has. Two columns decide how a plain MCP caller sees a reason:
`tool_result` says that a tool call is answered by a result with `isError: true`, so that the model
reads it, and `mcp_code` is the JSON-RPC code wherever that form does not exist.

Codes of MGP keep out of the JSON-RPC reserved range, so they are also what a plain caller of MCP 2026-07-28, which asks new
code to stay outside it, gets for a refused prompt, resource or list. Earlier revisions leave -32000 to -32099 to servers, and
their plain callers are told -32000 (decision 0072).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

__all__ = [
    "REASONS",
    "SERVER_ERROR",
    "UNTOUCHED",
    "Category",
    "Reason",
    "Strategy",
    "reason_of",
    "recovery",
]

Category = Literal["security", "lifecycle", "resource", "validation", "external"]
Strategy = Literal["immediate", "fixed_delay", "exponential_backoff"]


class Reason(msgspec.Struct, frozen=True):
    """One row: a reason and its code or name at every endpoint."""

    name: str
    mgp_code: int
    mgp_name: str
    category: Category
    tool_result: bool
    """Plain MCP answers a tool call with `isError: true` instead of a JSON-RPC error."""
    mcp_code: int
    """The JSON-RPC code towards plain MCP where `tool_result` does not apply."""
    mcp_legacy_code: int
    """The same in handshake revisions; differs for what 2026-07-28 renumbered, and is -32000 for all that is MGP's.
    For `not_found` it belongs to `resources/read` alone: an unknown prompt is -32602 everywhere."""
    ggen_code: int
    groundhog_type: str
    groundhog_code: str
    codomyrmex: str
    """The exception class named in `data`; `isError` where the result itself says it."""
    http: int
    """The status at REST endpoints, and of a request refused before it was read as a message."""
    mcp_http: int
    """The status around a JSON-RPC error on Streamable HTTP, as 2026-07-28 has it. Handshake
    revisions answer 200 to an unknown method."""
    exit: int
    """The exit code of the command line."""
    retryable: bool = False
    retry_strategy: Strategy | None = None
    max_retries: int = 0
    retry_after_ms: int = 0
    """What to say when the refusing part knows no better."""

    @property
    def codomyrmex_code(self) -> int:
        """JSON-RPC keeps its own numbers on that door, everything else is -32000 (CDM-con-7)."""
        return self.mgp_code if self.mgp_code in _JSONRPC else SERVER_ERROR

    @property
    def ggen_type(self) -> str:
        """The `error_type` of ggen's error data."""
        return (_GGEN_OF.get(self.name) or _GGEN[self.ggen_code])[0]

    @property
    def ggen_message(self) -> str:
        """The `message` of ggen's errors; what happened this time stands in `data.reason`."""
        return (_GGEN_OF.get(self.name) or _GGEN[self.ggen_code])[1]


_GGEN = {
    -32700: ("ParseError", "Parse error"),
    -32600: ("InvalidRequest", "Invalid request"),
    -32601: ("MethodNotFound", "Method not found"),
    -32602: ("InvalidParams", "Invalid params"),
    -32603: ("InternalError", "Internal error"),
    -32001: ("ValidationError", "Validation failed"),
    -32002: ("ToolNotFound", "Tool not found"),
    -32003: ("ToolExecution", "Tool execution failed"),
    -32004: ("AuthenticationError", "Authentication failed"),
    -32005: ("AuthorizationError", "Permission denied"),
}
"""ggen's own table: code → error type and message."""

_TIMED_OUT = ("ToolTimeout", "Tool execution timeout")
_GGEN_OF = {
    "timeout": _TIMED_OUT,
    "upstream_timeout": _TIMED_OUT,
    "rate_limited": ("RateLimitExceeded", "Rate limit exceeded"),
    "not_found": ("ResourceNotFound", "Resource not found"),
    "quota_exceeded": ("QuotaExceeded", "Quota exceeded"),
}
"""Reasons for which ggen has a name of their own (its time-limit example; decision C-39)."""

_NAMES = {
    -32700: "PARSE_ERROR",
    -32600: "INVALID_REQUEST",
    -32601: "METHOD_NOT_FOUND",
    -32602: "INVALID_PARAMS",
    -32603: "INTERNAL_ERROR",
    -32020: "HEADER_MISMATCH",
    -32021: "MISSING_CLIENT_CAPABILITY",
    1000: "PERMISSION_DENIED",
    1001: "ACCESS_DENIED",
    1002: "AUTH_REQUIRED",
    1003: "AUTH_EXPIRED",
    1010: "VALIDATION_BLOCKED",
    1011: "CODE_SAFETY_VIOLATION",
    2000: "SERVER_NOT_READY",
    2001: "SERVER_DRAINING",
    2002: "SERVER_RESTARTING",
    # MGP has no word for it; counted from the end of the range so that its next codes stay free.
    2099: "CANCELLED",
    3000: "RATE_LIMITED",
    3001: "RESOURCE_EXHAUSTED",
    3002: "QUOTA_EXCEEDED",
    3003: "TIMEOUT",
    4000: "INVALID_TOOL_ARGS",
    4001: "TOOL_NOT_FOUND",
    4002: "TOOL_DISABLED",
    5000: "UPSTREAM_ERROR",
    5001: "UPSTREAM_TIMEOUT",
    5002: "UPSTREAM_UNAVAILABLE",
}

SERVER_ERROR = -32000
"""JSON-RPC's first number for errors of an application, where nothing more exact may be said."""
_JSONRPC = (-32700, -32600, -32601, -32602, -32603)

_RANGES: dict[int, Category] = {
    1: "security",
    2: "lifecycle",
    3: "resource",
    4: "validation",
    5: "external",
}

# What MCP 2026-07-28 renumbered, or has a number for that revisions with a handshake do not know.
_LEGACY = {
    "not_found": -32002,
    "unsupported_version": -32602,
    "header_mismatch": -32600,
    "missing_capability": -32600,
}

_NEVER = None
_Retry = tuple[Strategy, int, int]
_SOON: _Retry = ("fixed_delay", 5, 1000)
_BACK_OFF: _Retry = ("exponential_backoff", 3, 1000)
_ONCE: _Retry = ("fixed_delay", 1, 1000)
_HUMAN: _Retry = ("fixed_delay", 10, 5000)

_HTTP: Literal["http"] = "http"
"""In the last column: this concerns the request as HTTP carries it, so the status says it too."""

_TOOL = 0
"""In the column of plain MCP: `isError` for a tool call; for anything else the MGP code, or -32000 in handshake revisions."""


def _category(name: str, code: int) -> Category:
    if code > 0:
        return _RANGES[code // 1000]
    return "resource" if name == "internal" else "validation"


def _row(
    name: str,
    codes: tuple[int, int, int],
    http: int,
    exit_code: int,
    then: _Retry | Literal["http"] | None,
    words: tuple[str, str],
) -> Reason:
    mgp, mcp, ggen = codes
    groundhog, codomyrmex = words
    mcp_code = mgp if mcp == _TOOL else mcp
    kind, _, code = groundhog.partition("/")
    strategy, most, after = then if isinstance(then, tuple) else (None, 0, 0)
    return Reason(
        name=name,
        mgp_code=mgp,
        mgp_name=_NAMES[mgp],
        category=_category(name, mgp),
        tool_result=mcp == _TOOL,
        mcp_code=mcp_code,
        mcp_legacy_code=_LEGACY.get(name, mcp_code if mcp_code < 0 else SERVER_ERROR),
        ggen_code=ggen,
        groundhog_type=kind + "_error",
        groundhog_code=code,
        codomyrmex=codomyrmex,
        http=http,
        mcp_http=http if then == _HTTP else 200,
        exit=exit_code,
        retryable=strategy is not None,
        retry_strategy=strategy,
        max_retries=most,
        retry_after_ms=after,
    )


# fmt: off
_ROWS = (
    # reason, (MGP, plain MCP, ggen), HTTP status, exit code, what then,
    #      (Groundhog type/code, codomyrmex)
    # JSON-RPC itself
    _row("parse_error",             (-32700, -32700, -32700), 400,   1, _HTTP,
         ("protocol/invalid_message", "TransportError")),
    _row("invalid_request",         (-32600, -32600, -32600), 400,   1, _HTTP,
         ("protocol/invalid_message", "ValidationError")),
    _row("unsupported_version",     (-32600, -32022, -32600), 400,   1, _HTTP,
         ("protocol/unsupported_version", "TransportError")),
    _row("method_not_found",        (-32601, -32601, -32601), 404,   1, _HTTP,
         ("protocol/invalid_method", "TransportError")),
    _row("invalid_params",          (-32602, -32602, -32602), 400,   2, _NEVER,
         ("protocol/missing_fields", "ValidationError")),
    _row("internal",                (-32603, -32603, -32603), 500,   1, _ONCE,
         ("system/internal", "InternalError")),
    # who asks
    _row("auth_required",             (  1002,   1002, -32004), 401,   3, _HTTP,
         ("security/authentication_failed", "TransportError")),
    _row("auth_failed",               (  1002,   1002, -32004), 401,   3, _HTTP,
         ("security/authentication_failed", "TransportError")),
    _row("auth_expired",              (  1003,   1003, -32004), 401,   3, _HTTP,
         ("security/session_expired", "TransportError")),
    _row("issuer_unavailable",        (  1002,   1002, -32004), 503,   4, _HTTP,
         ("security/authentication_failed", "TransportError")),
    _row("insufficient_scope",        (  1000,   1000, -32005), 403,   6, _HTTP,
         ("security/permission_denied", "AccessError")),
    _row("bad_security_context",      (  1000,  _TOOL, -32005), 403,   6, _NEVER,
         ("security/invalid_security_context", "AccessError")),
    # what policy says
    _row("permission_denied",         (  1000,  _TOOL, -32005), 403,   6, _NEVER,
         ("security/permission_denied", "AccessError")),
    _row("permission_deferred",       (  1000,  _TOOL, -32005), 403,   7, _HUMAN,
         ("security/permission_denied", "AccessError")),
    _row("confirmation_required",     (  1000,  _TOOL, -32005), 403,   6, _NEVER,
         ("security/permission_denied", "AccessError")),
    _row("access_denied",             (  1001,  _TOOL, -32005), 403,   6, _NEVER,
         ("security/permission_denied", "AccessError")),
    _row("policy_violation",          (  1010,  _TOOL, -32001), 403,   6, _NEVER,
         ("security/policy_violation", "AccessError")),
    _row("path_not_allowed",          (  1010,  _TOOL, -32001), 403,   6, _NEVER,
         ("security/path_not_allowed", "AccessError")),
    _row("validation_blocked",        (  1010,  _TOOL, -32001), 403,   6, _NEVER,
         ("security/policy_violation", "SchemaError")),
    _row("code_safety",               (  1011,  _TOOL, -32001), 403,   6, _NEVER,
         ("security/policy_violation", "SchemaError")),
    _row("destructive_gate",          (  1000,  _TOOL, -32005), 403,   6, _NEVER,
         ("security/policy_violation", "AccessError")),
    # the owner's state
    _row("server_not_ready",          (  2000,  _TOOL, -32003), 503,   4, _SOON,
         ("system/unavailable", "TransportError")),
    _row("draining",                  (  2001,  _TOOL, -32003), 503,   4, _SOON,
         ("system/unavailable", "TransportError")),
    _row("restarting",                (  2002,  _TOOL, -32003), 503,   4, _SOON,
         ("system/unavailable", "TransportError")),
    _row("cancelled",                 (  2099,  _TOOL, -32003), 499, 130, _NEVER,
         ("system/cancelled", "TransportError")),
    # how much
    _row("rate_limited",              (  3000,  _TOOL, -32003), 429,   6, _BACK_OFF,
         ("security/rate_limit_exceeded", "LimitError")),
    _row("resource_exhausted",        (  3001,  _TOOL, -32003), 503,   4, _BACK_OFF,
         ("system/resource_limit", "LimitError")),
    _row("audit_unavailable",         (  3001,  _TOOL, -32003), 503,   4, _BACK_OFF,
         ("system/audit_unavailable", "TransportError")),
    _row("quota_exceeded",            (  3002,  _TOOL, -32005), 429,   6, _NEVER,
         ("system/quota", "LimitError")),
    _row("timeout",                   (  3003,  _TOOL, -32003), 504,   5, _ONCE,
         ("tool/timeout", "TimeoutError")),
    # what was asked for
    _row("invalid_args",              (  4000, -32602, -32001), 400,   2, _NEVER,
         ("validation/schema", "SchemaError")),
    _row("tool_not_found",            (  4001, -32602, -32002), 404,   2, _NEVER,
         ("tool/not_found", "ToolNotFoundError")),
    _row("not_found",               (-32602, -32602, -32002), 404,   2, _NEVER,
         ("tool/not_found", "ToolNotFoundError")),
    _row("tool_disabled",             (  4002,  _TOOL, -32002), 403,   6, _NEVER,
         ("tool/disabled", "ToolNotFoundError")),
    _row("schema_unusable",           (  4002,  _TOOL, -32001), 502,   5, _NEVER,
         ("tool/schema_unusable", "SchemaError")),
    _row("registration_conflict",     (  4000, -32602, -32001), 409,   2, _NEVER,
         ("validation/conflict", "RegistrationError")),
    # what the owner did
    _row("tool_failed",               (  5000,  _TOOL, -32003), 502,   5, _ONCE,
         ("tool/execution_failed", "isError")),
    _row("output_invalid",            (  5000,  _TOOL, -32003), 502,   5, _NEVER,
         ("tool/invalid_output", "SerializationError")),
    _row("upstream_error",            (  5000,  _TOOL, -32003), 502,   5, _BACK_OFF,
         ("tool/upstream", "TransportError")),
    _row("upstream_timeout",          (  5001,  _TOOL, -32003), 504,   4, _BACK_OFF,
         ("tool/upstream", "TransportError")),
    _row("upstream_unavailable",      (  5002,  _TOOL, -32003), 503,   4, _BACK_OFF,
         ("tool/upstream", "TransportError")),
    _row("question_unattributable",   (  5000,  _TOOL, -32003), 502,   5, _NEVER,
         ("tool/question_unattributable", "TransportError")),
    # the request as a transport carries it
    _row("session_unknown",         (-32600, -32600, -32004), 404,   4, _HTTP,
         ("security/session_expired", "TransportError")),
    _row("origin_refused",            (  1001, -32600, -32005), 403,   6, _HTTP,
         ("security/permission_denied", "TransportError")),
    _row("host_refused",              (  1001, -32600, -32005), 403,   6, _HTTP,
         ("security/permission_denied", "TransportError")),
    _row("header_mismatch",         (-32020, -32020, -32600), 400,   1, _HTTP,
         ("protocol/invalid_message", "ValidationError")),
    _row("missing_capability",      (-32021, -32021, -32600), 400,   1, _HTTP,
         ("protocol/missing_capability", "ValidationError")),
    _row("too_large",                 (  3001, -32600, -32600), 413,   2, _HTTP,
         ("protocol/too_large", "ValidationError")),
    _row("limit_exceeded",            (  3001, -32600, -32600), 400,   2, _HTTP,
         ("protocol/limit_exceeded", "ValidationError")),
    _row("not_acceptable",          (-32600, -32600, -32600), 406,   1, _HTTP,
         ("protocol/invalid_message", "ValidationError")),
    _row("unsupported_media",       (-32600, -32600, -32600), 415,   1, _HTTP,
         ("protocol/invalid_message", "ValidationError")),
    _row("client_too_slow",           (  3001, -32600, -32003), 408,   4, _HTTP,
         ("system/resource_limit", "TransportError")),
)
# fmt: on

REASONS: Mapping[str, Reason] = MappingProxyType({row.name: row for row in _ROWS})
"""Reason → row. The keys are the vocabulary of `Refusal.reason` and `Failure.reason`."""


def reason_of(name: str) -> Reason:
    """The row of a reason. A name that nobody defined is an internal error, never a success."""
    return REASONS.get(name) or REASONS["internal"]


UNTOUCHED = frozenset(
    {
        row.mgp_code
        for row in _ROWS
        if row.category in ("security", "lifecycle", "validation") and row.name != "cancelled"
    }
    | {3000, 3002}
)
"""The codes that say, by MGP's table, that nothing was carried out. Not 3001, 3003 and 5xxx: those are also said of calls that
ran, or may have run."""


def recovery(
    reason: str,
    *,
    once: bool = False,
    details: Mapping[str, Any] | None = None,
    retry_after_ms: int | None = None,
    fallback_tool: str | None = None,
) -> dict[str, Any]:
    """The `_mgp` object of an error (MGP §14.5): what the caller may do about it.

    `retry_after_ms` is milliseconds from now. A reason that never becomes better carries no retry
    members at all, whatever was passed: a client that sees them would be tempted. Neither does one of
    a call that may have been carried out (`once`), nor is another tool proposed in its place.
    """
    row = reason_of(reason)
    retryable = row.retryable and not once
    found: dict[str, Any] = {"category": row.category, "retryable": retryable}
    if retryable:
        found["retry_after_ms"] = row.retry_after_ms if retry_after_ms is None else retry_after_ms
        found["retry_strategy"] = row.retry_strategy
        found["max_retries"] = row.max_retries
    if fallback_tool is not None and not once:
        found["fallback_tool"] = fallback_tool
    found["details"] = dict(details or {})
    return found
