"""Builds refusals of gates `access`, `permission`: permission or scope missing, tool too risky, path outside, too many names, server barred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatewright.call import Call, Refusal
from gatewright.command_text import to_type
from gatewright.identity.rights import rights_of
from gatewright.mcp.wire.permissions import ggen_permission

__all__ = ["BY_CALLER", "GATE", "lacks", "outside", "server_lacks", "too_many", "too_risky"]

GATE = "access"
BY_CALLER = "caller_permission"
"""The source of a decision by what is said of the caller."""
_ENOUGH = {"safe": "untrusted", "moderate": "community", "dangerous": "verified"}
"""The least trust for each risk."""
_PATH_CHARS = 256


def lacks(call: Call, permission: str) -> Refusal:
    """A caller does not hold a permission that a method of the gateway's own needs; with the scope that a new token asks for (RFC 6750)."""
    scopes = rights_of(call.caller.user).step_up(permission)
    if scopes:
        # A client that asks for more must not lose those that its token has (RFC 6750 §3.1).
        held = dict.fromkeys(scope for said in call.caller.user for scope in said.scopes)
        return Refusal(
            "insufficient_scope",
            f"{call.caller.id} does not hold {ggen_permission(permission)}: a token with the scope "
            f"{scopes[0]} does",
            {
                "scope": " ".join((*held, scopes[0])),
                "missing_permissions": [permission],
                "source": BY_CALLER,
            },
            gate=GATE,
        )
    wanted = ggen_permission(permission)
    made = to_type("key create {} --another --permission {}", _holder(call), wanted)
    return Refusal(
        "permission_denied",
        f"{call.caller.id} does not hold {wanted}{_other_key(made)}",
        {"missing_permissions": [permission], "source": BY_CALLER},
        gate=GATE,
    )


def _other_key(command: str) -> str:
    """What an operator can do about a caller who is limited by its key, as the end of a sentence."""
    return f": where its key says so, an operator makes another one with `{command}`"


def _holder(call: Call) -> str:
    return "NAME" if call.caller.kind == "anonymous" else call.caller.id


def too_risky(call: Call) -> Refusal | None:
    """Why a tool's risk is above what the caller is trusted with; None where it is not."""
    rights, tool = rights_of(call.caller.user), call.tool or call.task_tool
    if tool is None or not rights.too_risky(tool.security):
        return None
    risk = tool.security.risk_level
    made = to_type("key create {} --another --trust {}", _holder(call), _ENOUGH[risk])
    return Refusal(
        "access_denied",
        f"{call.caller.id} is trusted as {rights.trust}, which is enough for tools up to the risk "
        f"{rights.most_risk}; {tool.exposed} is {risk}{_other_key(made)}",
        {"source": "trust_level", "trust_level": rights.trust, "risk_level": risk},
        gate=GATE,
    )


def outside(call: Call, details: Mapping[str, Any], path: str = "") -> Refusal:
    """The refusal in the words of Groundhog's error example."""
    said = {
        "reason": "Path not in allowed list",
        "suggestion": "Request access to an allowed directory",
        **details,
    }
    if path:
        said["path"] = path
    wanted = str(said.get("requested_path", "PATTERN"))[:_PATH_CHARS]
    made = to_type("key create {} --another --resource {}", _holder(call), wanted)
    return Refusal(
        "path_not_allowed",
        f"{call.caller.id} may not touch what {path[1:] or call.name[:100]} names: "
        f"{said['reason'].lower()}{_other_key(made)}",
        said,
        gate=GATE,
    )


def too_many(call: Call, path: str = "") -> Refusal:
    """What a call names is more than is held against the caller's `allowed_resources`. No key or grant changes that."""
    details = {"rule": "too_costly", **({"path": path} if path else {})}
    return Refusal(
        "validation_blocked",
        f"{call.name[:100]} names more than can be held in one call against what {call.caller.id} may touch: name fewer paths, or "
        "split it into several calls",
        details,
        gate=GATE,
    )


def server_lacks(server: str, missing: Sequence[str], denied: bool) -> Refusal:
    """A server lacks permissions, denied ones or such as wait for an operator."""
    names = ", ".join(missing)
    details = {"server": server, "missing_permissions": list(missing)}
    if denied:
        return Refusal(
            "permission_denied",
            f"server {server} needs the permission {names}, which it does not have; an operator gives it "
            f"with `{to_type('server permit {}' + ' {}' * len(missing), server, *missing)}`",
            details,
        )
    return Refusal(
        "permission_deferred",
        f"server {server} waits for an operator to approve {names}. `{to_type('approve')}` "
        f"shows what waits; `{to_type('server permit {}' + ' {}' * len(missing), server, *missing)}` gives it",
        {"status": "pending_approval", **details},
    )
