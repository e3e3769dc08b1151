"""Parses Groundhog requests (invoke, list, register, session); error codes; `About`: tool metadata that MCP has no member for.

Only shapes are judged here. Whether a user, a session or a permission that a request claims is really the
caller's is never taken from it (decisions C-17 and C-47): `Claims` is what somebody says of himself.
Source: the specification's chapter "Protocol Messages". Beyond its text stand `session/create`,
`session/get` and `session/close`, because it describes sessions and no way to one, and three members of
`tools/list`: `query`, `limit`, and `protocol_version`, which every request may carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from gatewright.mcp.wire.spellings import flaw_of_members

__all__ = [
    "ERROR_CODES",
    "LISTED_MOST",
    "META_TOOL",
    "METHODS",
    "VERSION",
    "WISHES",
    "About",
    "Claims",
    "Flaw",
    "Hello",
    "Invoke",
    "Listing",
    "Method",
    "Register",
    "code_of",
    "read",
]

VERSION = "1.0.0"
"""The protocol version that a configuration without one speaks."""

LISTED_MOST = 1000
"""More tools than that are not listed at once where a search asks for a number of them."""

Method = Literal[
    "tools/list", "tools/invoke", "tools/register", "session/create", "session/get", "session/close"
]
METHODS: tuple[Method, ...] = (
    "tools/list",
    "tools/invoke",
    "tools/register",
    "session/create",
    "session/get",
    "session/close",
)

META_TOOL = "dev.gatewright/tool"
"""The member of a definition's `_meta` that says what MCP has no place for: `version`, `author`,
`categories`, `trust_level`, `permissions`, `sandbox_level`, `resource_limits`."""

WISHES = frozenset({"category", "trust_level", "query", "limit", "described"})
"""The members of `tools/list` that make a list a search (`discovery/search.py`), at every endpoint."""

_NAME_CHARS = 256
_ID_CHARS = 128
_PERMISSIONS_MOST = 256

ERROR_CODES: Mapping[str, int] = {
    "protocol_error/invalid_message": -32600,
    "protocol_error/unsupported_version": -32600,
    "protocol_error/missing_fields": -32602,
    "protocol_error/too_large": -32600,
    "protocol_error/limit_exceeded": -32600,
    "system_error": -32603,
    "validation_error": -32602,
}
"""`error_type/error_code`, or `error_type` alone → the number of JSON-RPC. Everything else, tool and security
failures above all, is -32601, as the specification's example has it (decision C-02)."""


class About(msgspec.Struct, frozen=True):
    """What MCP has no place for, as the tool's author or the operator says it."""

    name: str
    """The tool's own name; its versions share it."""
    version: str = ""
    author: str = ""
    categories: tuple[str, ...] = ()
    trust_level: str = "verified"
    """How far the tool is trusted (not a user: decision C-57): system, verified, community, untrusted."""
    sandbox_level: str = "none"
    limits: dict[str, float] = {}
    """`max_execution_time` in seconds and `max_memory` in bytes, where the tool has such limits."""


class Claims(msgspec.Struct, frozen=True):
    """A `security_context` as it was sent: whom and what the caller claims to be."""

    user: str | None = None
    session: str | None = None
    permissions: tuple[str, ...] | None = None
    """What it wants to use; None: whatever it holds."""


class Invoke(msgspec.Struct, frozen=True):
    """`tools/invoke`."""

    tool: str
    version: str | None
    parameters: dict[str, Any]
    claims: Claims


class Listing(msgspec.Struct, frozen=True):
    """`tools/list`. What is None does not narrow."""

    filters: dict[str, Any]
    """`category`, `trust_level`, `query` and `limit`, as far as they were sent."""
    claims: Claims


class Register(msgspec.Struct, frozen=True):
    """`tools/register`: what is registered, as it came; the registry judges it."""

    params: dict[str, Any]
    claims: Claims


class Hello(msgspec.Struct, frozen=True):
    """`session/create`, `session/get` and `session/close`."""

    token: str | None
    """A credential, for connections that cannot carry it in a header."""
    claims: Claims


class Flaw(msgspec.Struct, frozen=True):
    """Why a request cannot be served. `reason` is a key of `mcp/wire/codes.py`."""

    reason: str
    message: str
    details: Mapping[str, Any] = {}


Read = Invoke | Listing | Register | Hello | Flaw


def code_of(kind: str, code: str) -> int:
    """The JSON-RPC number of an error with this `error_type` and `error_code`."""
    exact = ERROR_CODES.get(f"{kind}/{code}")
    return exact if exact is not None else ERROR_CODES.get(kind, -32601)


def read(method: str, params: Any, version: str) -> Read:
    """What a request asks for. `version` is the protocol version that is spoken here."""
    if method not in METHODS:
        known = ", ".join(METHODS)
        return Flaw("method_not_found", f"there is no method {method[:100]!r}; there are {known}")
    if not isinstance(params, dict):
        return Flaw("invalid_request", "params must be an object")
    asked = params.get("protocol_version", version)
    if asked != version:
        details = {"requested": str(asked)[:_ID_CHARS], "supported": [version]}
        return Flaw("unsupported_version", f"only protocol version {version} is spoken", details)
    flaw = _misread(params)
    # Before anything is read by name: a second spelling could be what a lenient reader takes (decision 0062).
    claims = Flaw("invalid_request", flaw) if flaw else _claims(params.get("security_context"))
    if isinstance(claims, Flaw):
        return claims
    if method == "tools/invoke":
        return _invoke(params, claims)
    if method == "tools/list":
        return _listing(params, claims)
    if method == "tools/register":
        return Register({k: v for k, v in params.items() if k not in _AROUND}, claims)
    return _hello(params, claims)


def _misread(params: Mapping[str, Any]) -> str:
    """What is wrong where a member reads as one of these and is spelled otherwise."""
    claims = params.get("security_context")
    flaw = "" if params.keys() <= _KNOWN else flaw_of_members("params", params, _KNOWN)
    if flaw or not isinstance(claims, dict):
        return flaw
    return flaw_of_members("security_context", claims, _CLAIMED)


_CLAIMED = frozenset({"user_id", "session_id", "permissions"})
_KNOWN = frozenset(
    {"protocol_version", "security_context", "tool_id", "tool_version", "parameters", "category"}
    | {"trust_level", "query", "limit", "token", "session_id"}
)


_AROUND = frozenset({"security_context", "protocol_version"})
"""Members of `params` that are about the request, and not of what it is for."""


def _invoke(params: Mapping[str, Any], claims: Claims) -> Invoke | Flaw:
    flaw = _missing(params, {"tool_id": str})
    flaw = flaw or _wrong(
        params, (("tool_version", str, "a text"), ("parameters", dict, "an object"))
    )
    if flaw is not None:
        return flaw
    version = params.get("tool_version")
    if len(params["tool_id"]) > _NAME_CHARS or len(version or "") > _ID_CHARS:
        return Flaw("invalid_request", "tool_id or tool_version is longer than any")
    return Invoke(params["tool_id"], version, params.get("parameters") or {}, claims)


def _listing(params: Mapping[str, Any], claims: Claims) -> Listing | Flaw:
    flaw = _wrong(
        params,
        (
            ("category", str, "a text"),
            ("trust_level", str, "a text"),
            ("query", str, "a text"),
            ("limit", int, f"a number from 1 to {LISTED_MOST}"),
        ),
    )
    if flaw is not None:
        return flaw
    limit = params.get("limit")
    # `true` is a number to Python.
    if limit is not None and (isinstance(limit, bool) or not 1 <= limit <= LISTED_MOST):
        return Flaw("invalid_request", f"params.limit must be a number from 1 to {LISTED_MOST}")
    names = ("category", "trust_level", "query", "limit")
    return Listing({name: params[name] for name in names if params.get(name) is not None}, claims)


def _hello(params: Mapping[str, Any], claims: Claims) -> Hello | Flaw:
    flaw = _wrong(params, (("token", str, "a text"), ("session_id", str, "a text")))
    if flaw is not None:
        return flaw
    wanted = params.get("session_id")
    # In `params`, or in the context as in all other requests.
    wanted = claims.session if wanted is None else wanted
    if not _id(wanted):
        return Flaw("invalid_request", _BAD_ID)
    return Hello(params.get("token"), msgspec.structs.replace(claims, session=wanted))


_BAD_ID = f"a session_id has 1 to {_ID_CHARS} printable characters"


def _id(found: Any) -> bool:
    return found is None or (0 < len(found) <= _ID_CHARS and found.isprintable())


def _claims(found: Any) -> Claims | Flaw:
    if found is None:
        return Claims()
    if not isinstance(found, dict):
        return Flaw("invalid_request", "security_context must be an object")
    place = "security_context."
    flaw = _wrong(
        found,
        (
            ("user_id", str, "a text"),
            ("session_id", str, "a text"),
            ("permissions", list, "a list"),
        ),
        place,
    )
    if flaw is not None:
        return flaw
    wanted = found.get("permissions")
    if wanted is not None and not _texts(wanted):
        many = f"at most {_PERMISSIONS_MOST} names"
        return Flaw("invalid_request", f"{place}permissions must be a list of {many}")
    if not _id(found.get("session_id")):
        return Flaw("invalid_request", _BAD_ID)
    return Claims(
        found.get("user_id"), found.get("session_id"), None if wanted is None else tuple(wanted)
    )


def _texts(found: list[Any]) -> bool:
    return len(found) <= _PERMISSIONS_MOST and all(
        isinstance(one, str) and len(one) <= _NAME_CHARS for one in found
    )


def _missing(params: Mapping[str, Any], needed: Mapping[str, type]) -> Flaw | None:
    """The members that have to be there, all that are not."""
    absent = [name for name, kind in needed.items() if not isinstance(params.get(name), kind)]
    absent += [name for name in needed if params.get(name) == ""]
    if not absent:
        return None
    return Flaw(
        "invalid_params", f"missing fields: {', '.join(absent)}", {"missing_fields": absent}
    )


def _wrong(
    params: Mapping[str, Any], shapes: Iterable[tuple[str, type, str]], place: str = ""
) -> Flaw | None:
    """A member that is there and of another kind than it may be; null is not there."""
    for name, kind, words in shapes:
        if params.get(name) is not None and not isinstance(params[name], kind):
            return Flaw(
                "invalid_request", f"{place}{name} must be {words}", {"field": place + name}
            )
    return None
