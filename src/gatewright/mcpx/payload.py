"""Parses MCPx payloads (MCP request or response, proposal, chat, system) and checks that kind and payload agree (§4.3).

The gateway looks at the kind alone; so a sender that may send one kind could put another operation into the payload.
Every receiver has to compare the two before it does anything: the method, and the context, which is the tool's or the
prompt's name or the resource's URI. A kind without a context fits every name, because its sender needed the broader
capability for it (grammar rule 5 of decision C-22). A payload in which a member stands twice fits nothing: two readers
could read two different operations in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.foreign_json import MOST_NS
from gatewright.mcp.wire.json_bounds import Limits, flaw_of
from gatewright.mcp.wire.spellings import flaw_of_members, flaw_of_params
from gatewright.mcpx.envelope import GATEWAY, Envelope, Kind, split_kind

__all__ = [
    "Chat",
    "Content",
    "Operation",
    "Proposed",
    "Requested",
    "Responded",
    "Said",
    "Unfit",
    "context_of",
    "examine",
    "kind_of",
]

_NAMED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tools/call": ("name",),
        "prompts/get": ("name",),
        "resources/read": ("uri",),
        "resources/subscribe": ("uri",),
        "resources/unsubscribe": ("uri",),
        "completion/complete": ("ref", "name"),
    }
)
"""Method → where in its params the context stands."""
_LIMITS = Limits()
"""Of what is read here: as much as of any other call."""
_BESIDE = frozenset({"_meta", "task", "trace_id"})
"""Members of params that say how an operation is to be answered, and not what it does."""
_OF_RESOURCE = ("ref", "uri")
"""Where it stands for `completion/complete` of a resource; the other references are to prompts."""


class Operation(msgspec.Struct, frozen=True):
    """An MCP method and its params."""

    method: str
    params: dict[str, Any]

    @property
    def context(self) -> str | None:
        """What it is about: a tool's or a prompt's name, or a URI; None for methods that name nothing."""
        return context_of(self.method, self.params)

    @property
    def essence(self) -> tuple[str, dict[str, Any]]:
        """What two messages about one operation have in common: clients add a progress token or a trace id by themselves, and leave
        out arguments that are empty."""
        kept = {name: value for name, value in self.params.items() if name not in _BESIDE}
        if kept.get("arguments") in ({}, None):
            kept.pop("arguments", None)
        return self.method, kept


class Requested(msgspec.Struct, frozen=True):
    """An MCP request, or a notification where `ident` (the JSON text of its id) is None. `frame` is the payload."""

    operation: Operation
    ident: bytes | None
    frame: bytes


class Responded(msgspec.Struct, frozen=True):
    """An MCP response: `result`, or the JSON-RPC `error`."""

    ident: bytes
    result: Any = None
    error: Any = None


class Proposed(msgspec.Struct, frozen=True):
    """An operation that somebody asks others to make."""

    operation: Operation


class Chat(msgspec.Struct, frozen=True):
    """Something for people to read."""

    text: str
    format: Literal["plain", "markdown"] = "plain"


class Said(msgspec.Struct, frozen=True):
    """What the gateway says: `what` is the part behind `system/`."""

    what: str
    payload: dict[str, Any]


class Unfit(msgspec.Struct, frozen=True):
    """Why a message means nothing. `ident` is the JSON text of the id to answer with an error, None where there is
    nobody to answer; `forged` marks a kind that says something else than the payload."""

    message: str
    ident: bytes | None = None
    forged: bool = False


Content = Requested | Responded | Proposed | Chat | Said | None
"""None is a kind that this version of the protocol does not know; it is nobody's to judge."""


def context_of(method: str, params: Mapping[str, Any]) -> str | None:
    """What an operation is about (see `Operation.context`)."""
    found: Any = params
    for name in _place(method, params):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) and method in _NAMED else None


def _place(method: str, params: Mapping[str, Any]) -> tuple[str, ...]:
    ref = params.get("ref")
    if method == "completion/complete" and isinstance(ref, dict):
        return _OF_RESOURCE if ref.get("type") == "ref/resource" else _NAMED[method]
    return _NAMED.get(method, ())


def kind_of(family: str, operation: Operation) -> str:
    """The kind of a message about an operation, with its context."""
    context = operation.context
    return f"{family}:{operation.method}" + (f":{context}" if context else "")


def examine(envelope: Envelope) -> Content | Unfit:
    """What a message says, or why it says nothing that anybody may act upon."""
    kind = split_kind(envelope.kind)
    judge = _JUDGES.get(kind.family)
    if judge is None and not kind.family.startswith("system/"):
        return None
    try:
        payload = _decoded(envelope.payload)
    except ValueError as problem:
        return Unfit(f"the payload cannot be read: {problem}")
    if judge is None:
        return _said(envelope, kind, payload)
    return judge(envelope, kind, payload)


_MOST_NS = MOST_NS // 4
"""Each object is looked at by itself."""


def _decoded(payload: bytes) -> dict[str, Any]:
    flaw = flaw_of(payload, _LIMITS)
    if flaw:
        raise ValueError(flaw)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a member stands twice")
        return found

    flaw = jsonrpc.heavy(payload, _MOST_NS)
    if flaw:
        raise ValueError(f"it {flaw}")
    try:
        # Twice: this decoder shows each pair of an object, the other keeps numbers as they were written.
        json.loads(payload, object_pairs_hook=once)
        value = jsonrpc.decode(payload)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - bad input, not a bad program
    return value


def _said(envelope: Envelope, kind: Kind, payload: dict[str, Any]) -> Said | Unfit:
    if envelope.sender != GATEWAY:
        return Unfit("only the gateway says system/…", forged=True)
    return Said(kind.family.removeprefix("system/"), payload)


def _request(envelope: Envelope, kind: Kind, payload: dict[str, Any]) -> Requested | Unfit:
    message = jsonrpc.parse(envelope.payload)
    if isinstance(message, jsonrpc.Malformed):
        return Unfit(message.message, None if message.id == b"null" else message.id)
    if isinstance(message, jsonrpc.Response) or "result" in payload or "error" in payload:
        return Unfit("the kind is a request, the payload a response", forged=True)
    ident = message.id if isinstance(message, jsonrpc.Request) else None
    found = _operation(kind, payload)
    if isinstance(found, Unfit):
        return Unfit(found.message, ident, found.forged)
    return Requested(found, ident, envelope.payload)


def _operation(kind: Kind, payload: dict[str, Any]) -> Operation | Unfit:
    """The operation in a payload, where it is the one that the kind says."""
    method, params = payload.get("method"), payload.get("params", {})
    if not isinstance(method, str) or not kind.method:
        return Unfit("kind and payload must each have a method")
    if method != kind.method:
        return Unfit(f"the kind says {kind.method}, the payload {method[:128]}", forged=True)
    if not isinstance(params, dict):
        return Unfit("params must be an object")
    context = context_of(method, params)
    if context is None and method in _NAMED and kind.context is None:
        return Unfit(f"{method} needs {'.'.join(_place(method, params))} in its params")
    # A kind without a context needed the broader capability, and fits every name (decision C-22).
    if kind.context is not None and kind.context != context:
        said = (
            f"the kind is about {kind.context[:128]!r}, the payload about {(context or '')[:128]!r}"
        )
        return Unfit(said, forged=True)
    # A second spelling would be another operation to a reader that minds no case.
    flaw = flaw_of_params(method, params)
    return Unfit(flaw, forged=True) if flaw else Operation(method, params)


def _response(envelope: Envelope, kind: Kind, payload: dict[str, Any]) -> Responded | Unfit:
    if envelope.correlation_id is None:
        return Unfit("a response has the id of its request as correlation_id")
    if "method" in payload:
        return Unfit("the kind is a response, the payload a request", forged=True)
    message = jsonrpc.parse(envelope.payload)
    if not isinstance(message, jsonrpc.Response) or not kind.method:
        problem = message.message if isinstance(message, jsonrpc.Malformed) else "no response"
        return Unfit(f"the payload is no JSON-RPC response: {problem}")
    return Responded(message.id, payload.get("result"), payload.get("error"))


_OF_PROPOSAL = frozenset(("method", "params", "jsonrpc", "id"))


def _proposal(envelope: Envelope, kind: Kind, payload: dict[str, Any]) -> Proposed | Unfit:
    if envelope.correlation_id is not None:
        return Unfit("a proposal begins something new and has no correlation_id")
    if "jsonrpc" in payload or "id" in payload:
        return Unfit("a proposal is {method, params}: it is no request yet")
    flaw = flaw_of_members("the proposal", payload, _OF_PROPOSAL)
    if flaw:
        return Unfit(flaw, forged=True)
    found = _operation(kind, payload)
    return found if isinstance(found, Unfit) else Proposed(found)


def _chat(envelope: Envelope, kind: Kind, payload: dict[str, Any]) -> Chat | Unfit:
    del envelope
    text, form = payload.get("text"), payload.get("format", "plain")
    if kind.method is not None:
        return Unfit("the kind of chat is chat and nothing more")
    if not isinstance(text, str) or form not in ("plain", "markdown"):
        return Unfit('chat has a text, and as format "plain" or "markdown"')
    return Chat(text, form)


_JUDGES = MappingProxyType(
    {
        "mcp/request": _request,
        "mcp/response": _response,
        "mcp/proposal": _proposal,
        "chat": _chat,
    }
)
