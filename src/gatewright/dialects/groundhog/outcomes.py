"""Encodes outcomes as Groundhog responses: success results, tool lists, and error objects in four levels of detail.

An error is built whole and then thinned by how far its user is trusted, never the other way round: what is
not named for a level is not in it. `System` reads everything, `Verified` what happened to the request and how
to do better, `Community` the bare sentence, `Untrusted` only of which kind it was.
Source: the specification's "Response Format" and "Error Response Generation"; decisions C-01, C-02 and 2.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Answer, Failure, Outcome, Refusal
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import Reason, reason_of
from gatewright.mcp.wire.groundhog import META_TOOL, code_of
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.permissions import groundhog_permission

__all__ = [
    "Trust",
    "Written",
    "data_of",
    "failure_of",
    "listed",
    "said_by_tool",
    "spell_error",
    "succeeded",
    "with_path",
]

Trust = str
"""`system`, `verified`, `community` or `untrusted`; everything else is read as `untrusted`."""

_VIOLATIONS = {
    "authentication_failed": "authentication_failure",
    "session_expired": "authentication_failure",
    "invalid_security_context": "forged_context",
    "rate_limit_exceeded": "rate_limit",
    "policy_violation": "policy_violation",
}
_UNAUTHORIZED = "unauthorized_access"

_TOLD = frozenset(
    "requested_path reason suggestion suggestions missing_permissions missing_fields field requested "
    "supported path rule limit window_secs retry_after_ms max_execution_time max_memory "
    "sandbox_level available content".split()
)
"""Members of `details` that are about the request itself. What else a gate writes down (which server, which
validator, whose grant) is ours."""

_REASONS = {
    "path_not_allowed": ("Path not in allowed list", "Request access to an allowed directory"),
    "permission_denied": (
        "A permission is missing",
        "Ask the operator for a grant with this permission",
    ),
    "rate_limit_exceeded": ("Too many requests", "Repeat the request after retry_after_ms"),
    "invalid_security_context": (
        "security_context is not that of the caller",
        "Leave user_id and session_id out, or send your own",
    ),
    "session_expired": ("The session has ended", "Open another one with session/create"),
    "authentication_failed": (
        "Nobody is authenticated",
        "Send the header Authorization: Bearer KEY, or session/create with params.token",
    ),
    "not_found": ("There is no such tool or version", "tools/list shows what there is"),
}
_MESSAGES = {
    -32700: "Parse error",
    -32600: "Invalid Request",
    -32602: "Invalid params",
    -32603: "Internal error",
}
_FAILED = "Tool execution failed"
_NO_METHOD = "Method not found"


class Written(msgspec.Struct, frozen=True):
    """What every answer says of its own record."""

    audit_id: str
    timestamp: str
    """RFC 3339, UTC."""


def succeeded(
    answer: Answer, tool_id: str, facts: Mapping[str, Any], execution: str, audit_id: str
) -> bytes:
    """The result object of a tool that ran, with what the facts of its call say of permissions and of what was taken out of it."""
    used = [groundhog_permission(one) for one in facts.get("permissions_used", ())]
    result = {
        "tool_id": tool_id,
        "execution_id": execution,
        "status": "success",
        "data": data_of(answer.raw),
        "security_context": {
            "access_granted": True,
            "permissions_used": used,
            "audit_id": audit_id,
        },
    }
    metadata = dict(facts.get("redaction", {}))
    if "injection" in facts:
        # As in `_meta` of MCP: by which signals, and none of the words.
        said = facts["injection"]
        metadata["injection"] = (
            {"signals": sorted(said["signals"])} if "signals" in said else {"unread": True}
        )
    if metadata:
        result["metadata"] = metadata
    return jsonrpc.encode(result)


def data_of(raw: bytes) -> Any:
    """What a tool said, to be encoded: its structured content where it has one, else its content blocks."""
    if raw[:1] != b"{":
        return msgspec.Raw(raw)
    members = jsonrpc.decode_members(raw)
    if "structuredContent" in members:
        return members["structuredContent"]
    return {"content": members.get("content", [])}


def listed(answer: Answer) -> bytes:
    """The result object of `tools/list`: each definition of the catalogue in Groundhog's words."""
    result = jsonrpc.decode_whole(answer.raw)
    return jsonrpc.encode({**result, "tools": [_tool(one) for one in result["tools"]]})


def _tool(definition: Mapping[str, Any]) -> dict[str, Any]:
    said = (definition.get("_meta") or {}).get(META_TOOL) or {}
    permissions = [groundhog_permission(one) for one in said.get("permissions", ())]
    return {
        "tool_id": definition["name"],
        "name": said.get("name", definition["name"]),
        "version": said.get("version", ""),
        "description": definition.get("description", ""),
        "author": said.get("author", ""),
        "categories": said.get("categories", []),
        "trust_level": said.get("trust_level", "untrusted"),
        "security_profile": {
            "permissions": permissions,
            "sandbox_level": said.get("sandbox_level", "none"),
            "resource_limits": said.get("resource_limits", {}),
        },
        "schema": {
            "input": definition.get("inputSchema", {}),
            "output": definition.get("outputSchema", {}),
        },
    }


def said_by_tool(answer: Answer) -> Failure:
    """A tool that ran and says that it failed, as a failure."""
    if len(answer.raw) > DECODED_BYTES:
        said = f"the tool failed and says so in {len(answer.raw)} bytes, of which at most {DECODED_BYTES} are passed on"
        return Failure("tool_failed", said, once=answer.once)
    flaw = jsonrpc.heavy(answer.raw)
    if flaw:
        return Failure("tool_failed", f"the tool failed, and what it says {flaw}", once=answer.once)
    result = jsonrpc.decode(answer.raw)
    blocks = result.get("content") if isinstance(result, dict) else None
    texts = [
        one["text"]
        for one in blocks or ()
        if isinstance(one, dict) and isinstance(one.get("text"), str)
    ]
    details = {"content": blocks} if blocks and len(texts) < len(blocks) else {}
    text = "\n".join(texts) or "the tool failed and did not say why"
    return Failure("tool_failed", text, details, once=answer.once)


def failure_of(outcome: Outcome) -> Refusal | Failure:
    """What is wrong with an outcome that is no success. A server's own words stay its own."""
    if isinstance(outcome, Answer):
        return said_by_tool(outcome)
    if isinstance(outcome, Failure) and outcome.error is not None and not outcome.message:
        error = jsonrpc.decode(outcome.error)
        said = error.get("message") if isinstance(error, dict) else None
        text = str(said or "the tool's server failed")
        return Failure(outcome.reason, text, outcome.details, once=outcome.once)
    return outcome


def spell_error(
    outcome: Refusal | Failure, trust: Trust, written: Written, *, strict: bool = False
) -> bytes:
    """The JSON-RPC error object. With `strict` its number is MGP's instead of the example's."""
    row = reason_of(outcome.reason)
    code = row.mgp_code if strict else _code(row)
    body: dict[str, Any] = {"code": code, "message": _headline(row, code, strict)}
    data = _data(outcome, row, written)
    body["data"] = _THIN.get(trust, _minimal)(data)  # a level that is not known is told least
    if trust not in _THIN:
        body["message"] = "Request failed"
    return jsonrpc.encode(body)


def _code(row: Reason) -> int:
    if row.name == "parse_error":
        return jsonrpc.PARSE_ERROR
    return code_of(row.groundhog_type, row.groundhog_code)


def _headline(row: Reason, code: int, strict: bool) -> str:
    if row.name == "method_not_found":
        return _NO_METHOD
    return _MESSAGES.get(code, _FAILED) if not strict else _MESSAGES.get(row.mgp_code, _FAILED)


def _data(outcome: Refusal | Failure, row: Reason, written: Written) -> dict[str, Any]:
    """Everything there is to say."""
    details = {"canonical": row.name, **outcome.details}
    reason, suggestion = _REASONS.get(row.groundhog_code, ("", ""))
    if reason:
        details.setdefault("reason", reason)
        details.setdefault("suggestion", suggestion)
    if row.retryable and not outcome.once:
        given = outcome.retry_after_ms
        details["retry_after_ms"] = row.retry_after_ms if given is None else given
    context = {"audit_id": written.audit_id}
    if row.groundhog_type == "security_error":
        violation = _VIOLATIONS.get(row.groundhog_code, _UNAUTHORIZED)
        context = {"violation_type": violation, **context}
    if isinstance(outcome, Refusal) and outcome.gate:
        details["gate"] = outcome.gate
    return {
        "error_type": row.groundhog_type,
        "error_code": row.groundhog_code,
        "error_message": outcome.message or row.name.replace("_", " "),
        "details": details,
        "security_context": context,
        "timestamp": written.timestamp,
    }


def _system(data: dict[str, Any]) -> dict[str, Any]:
    return data


def _verified(data: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in data["details"].items() if name in _TOLD}
    return {**data, "details": told}


def _community(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in ("error_type", "error_code", "error_message")}


def _minimal(data: dict[str, Any]) -> dict[str, Any]:
    return {name: data[name] for name in ("error_type", "error_code")}


_THIN: Mapping[str, Any] = {"system": _system, "verified": _verified, "community": _community}


def with_path(outcome: Refusal | Failure, parameters: dict[str, Any]) -> Refusal | Failure:
    """A refusal because of a path, with the path that was asked for."""
    if outcome.reason != "path_not_allowed" or "requested_path" in outcome.details:
        return outcome
    where = str(outcome.details.get("path") or "/path").removeprefix("/")
    found = parameters.get(where)
    if not isinstance(found, str):
        return outcome
    return replace(outcome, details={**outcome.details, "requested_path": found[:4096]})
