"""Methods and kernel tools `mgp/access/query`, `grant` and `revoke` (MGP §5.4): query access; issue and revoke grants.

Operators ask about anybody and change grants; everybody else may ask about themselves and no more. Who
asks is known from authentication: `granted_by` is what the operator wants to be read, the record says who
it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec

from gatewright.access.grants import Decision, Grant, Key
from gatewright.access.issued_grants import NAME_CHARS
from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.command_text import to_type
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.permissions import canonical_permission
from gatewright.mcp.wire.timestamps import moment_of, moment_text
from gatewright.servers.local import Function, Tools

__all__ = [
    "AccessMethods",
    "Answered",
    "Authority",
    "access_methods",
    "access_tools",
    "entry_of",
]

Answered = dict[str, Any] | Refusal | Failure
"""The members of a result, or why there is none."""

_Entry = Literal["tool_grant", "server_grant"]
_Asked = TypeVar("_Asked", bound=msgspec.Struct)


class Authority(Protocol):
    """The access table as these methods use it (`access.authority`)."""

    def judged(
        self, call: Call, agent: str, server: str, tool: str | None
    ) -> tuple[bool, Decision]:
        """What the gate would say of an agent: whether it may, and the table's word. Without a tool, of
        the server as a whole. `call` asks."""

    def issue(self, call: Call, grant: Grant) -> Grant:
        """Issue a grant; the result is as it holds from now on. Raises `ValueError`."""

    def take_back(self, call: Call, key: Key) -> Grant:
        """Take a grant back; it holds for nobody any more. Raises `KeyError` where none was issued."""

    def written(self, key: Key) -> str:
        """Where the configuration has a grant for the same; empty where it has none."""


_Name = Annotated[str, msgspec.Meta(max_length=NAME_CHARS)]
"""No grant has a longer one, so a longer one is a mistake, and nobody has to search for it."""


class _Query(msgspec.Struct):
    agent_id: _Name
    server_id: _Name
    tool_name: _Name | None = None


class _Revoke(_Query):
    entry_type: _Entry | None = None


class _Grant(_Revoke):
    permission: Literal["allow", "deny"] = "allow"
    granted_by: str | None = None
    justification: str | None = None
    expires_at: str | None = None
    permissions: list[str] = []


class AccessMethods:
    """See the module's text."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    async def __call__(self, call: Call, back: Back) -> Outcome:
        """Answer one of the three methods."""
        mgp = call.client.mgp
        if mgp is None or "access_control" not in mgp.extensions:
            return Failure("method_not_found", f"Method not found: {call.method}")
        found = self.answer(call.method.rpartition("/")[2], call, call.params)
        return Answer(jsonrpc.encode(found)) if isinstance(found, dict) else found

    def answer(self, what: str, call: Call, params: Mapping[str, Any]) -> Answered:
        """The same for whatever way it was asked; `what` is `query`, `grant` or `revoke`."""
        ways: dict[str, Callable[[Call, Mapping[str, Any]], Answered]] = {
            "query": self._query,
            "grant": self._grant,
            "revoke": self._revoke,
        }
        if what not in ways:
            return Failure("method_not_found", f"Method not found: mgp/access/{what}")
        if what != "query" and call.caller.kind != "operator":
            return _refused(
                f"only an operator may change grants, with `{to_type('grant add AGENT SERVER')}`"
            )
        return ways[what](call, params)

    def _query(self, call: Call, params: Mapping[str, Any]) -> Answered:
        asked = _read(params, _Query)
        if isinstance(asked, Failure):
            return asked
        if call.caller.kind != "operator" and asked.agent_id != call.caller.id:
            # No name in it: it would tell whether that agent exists.
            shows = to_type("grant show AGENT SERVER/TOOL")
            return _refused(
                f"only an operator may ask about others than {call.caller.id}, with `{shows}`"
            )
        allowed, word = self._authority.judged(
            call, asked.agent_id, asked.server_id, asked.tool_name
        )
        found: dict[str, Any] = {
            "permission": "allow" if allowed else "deny",
            "source": word.source,
            "granted_by": word.granted_by,
            "granted_at": _text(word.granted_at or None),
            "expires_at": _text(word.expires_at),
        }
        return {**found, "outdated": True} if word.outdated else found

    def _grant(self, call: Call, params: Mapping[str, Any]) -> Answered:
        asked = _read(params, _Grant)
        if isinstance(asked, Failure):
            return asked
        try:
            expires = None if asked.expires_at is None else moment_of(asked.expires_at)
            grant = Grant(
                asked.agent_id,
                asked.server_id,
                _tool_of(asked),
                asked.permission,
                granted_by=call.caller.id if asked.granted_by is None else asked.granted_by,
                expires_at=expires,
                justification=asked.justification or "",
                permissions=tuple(canonical_permission(one) or one for one in asked.permissions),
            )
            made = self._authority.issue(call, grant)
        except ValueError as problem:
            return Failure("invalid_params", str(problem))
        return {"status": "granted", **entry_of(made)}

    def _revoke(self, call: Call, params: Mapping[str, Any]) -> Answered:
        asked = _read(params, _Revoke)
        if isinstance(asked, Failure):
            return asked
        try:
            key = asked.agent_id, asked.server_id, _tool_of(asked)
            gone = self._authority.take_back(call, key)
        except ValueError as problem:
            return Failure("invalid_params", str(problem))
        except KeyError:
            where = self._authority.written(key)
            also = (
                f"; the one at {where} is the configuration's: take it out there" if where else ""
            )
            said = f"no such grant was issued{also}, or issue one that denies"
            return Failure("invalid_params", said)
        return {"status": "revoked", **entry_of(gone)}


def access_methods(authority: Authority) -> dict[str, AccessMethods]:
    """The three by their names."""
    methods = AccessMethods(authority)
    return dict.fromkeys(("mgp/access/query", "mgp/access/grant", "mgp/access/revoke"), methods)


def access_tools(authority: Authority) -> Tools:
    """The same as tools of the kernel: name → definition and function."""
    methods = AccessMethods(authority)
    return {f"access.{what}": _tool(methods, what, told) for what, told in _TOLD.items()}


def _tool(
    methods: AccessMethods, what: str, told: tuple[str, tuple[str, ...]]
) -> tuple[Mapping[str, Any], Function]:
    text, members = told
    definition: dict[str, Any] = {
        "description": text,
        "inputSchema": {
            "type": "object",
            "properties": {name: _MEMBERS[name] for name in members},
            "required": ["agent_id", "server_id"],
        },
        "security": {"risk_level": "safe" if what == "query" else "moderate"},
    }
    if what == "query":
        definition["annotations"] = {"readOnlyHint": True}

    def answer(arguments: dict[str, Any], call: Call, back: Back) -> Any:
        found = methods.answer(what, call, arguments)
        if isinstance(found, Failure) and found.reason == "invalid_params":
            return Failure("invalid_args", found.message)
        return found

    return definition, answer


_TEXT = {"type": "string"}
_MEMBERS: Mapping[str, Any] = {
    "agent_id": {**_TEXT, "description": "The agent, by the name of its key; * is everybody."},
    "server_id": _TEXT,
    "tool_name": {"type": ["string", "null"], "description": "The server's own name for the tool."},
    "entry_type": {"enum": ["server_grant", "tool_grant"]},
    "permission": {"enum": ["allow", "deny"]},
    "granted_by": {"type": ["string", "null"]},
    "justification": {"type": ["string", "null"]},
    "expires_at": {"type": ["string", "null"], "description": "ISO 8601."},
    "permissions": {"type": "array", "items": _TEXT},
}
_TOLD = {
    "query": (
        "Whether an agent may use a server or one of its tools, and which grant says so.",
        ("agent_id", "server_id", "tool_name"),
    ),
    "grant": ("Let an agent use a server or one of its tools, or forbid it.", tuple(_MEMBERS)),
    "revoke": (
        "Take a grant back that was issued; calls that need it end.",
        ("agent_id", "server_id", "tool_name", "entry_type"),
    ),
}


def entry_of(grant: Grant) -> dict[str, Any]:
    """A grant in the words of MGP §5.4."""
    return {
        "entry_type": grant.entry_type,
        "agent_id": grant.agent,
        "server_id": grant.server,
        "tool_name": grant.tool,
        "permission": grant.permission,
        "granted_by": grant.granted_by,
        "granted_at": _text(grant.granted_at or None),
        "expires_at": _text(grant.expires_at),
        "justification": grant.justification,
        "permissions": list(grant.permissions),
        "tool_digest": grant.tool_digest,
    }


def _refused(message: str) -> Refusal:
    return Refusal("permission_denied", message, {"missing": "operator"}, gate="access")


def _read(params: Mapping[str, Any], kind: type[_Asked]) -> _Asked | Failure:
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as problem:
        return Failure("invalid_params", f"params: {problem}")


def _tool_of(asked: _Revoke) -> str | None:
    """The tool that is meant. Without an entry type, its name says whether one is."""
    if asked.entry_type == "server_grant":
        if asked.tool_name is not None:
            raise ValueError(
                "a server_grant has no tool_name: leave it out, or make it a tool_grant"
            )
        return None
    if asked.entry_type == "tool_grant" and not asked.tool_name:
        raise ValueError("a tool_grant needs tool_name")
    return asked.tool_name


def _text(moment: float | None) -> str | None:
    return None if moment is None else moment_text(moment)
