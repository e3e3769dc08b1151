"""ggen JSON-RPC codec: parses requests with their `auth` member, and encodes results and errors in ggen's form. No I/O.

Three things are its own. A request may carry `auth`, a bearer token beside `params`; it is taken out
here and stands in no other form of the request (decision C-36). The result of `tools/call` is what the
tool gave, not the content that MCP wraps around it. Errors have numbers of their own and data that say
which field is wrong and what to do. Everything else is the same call as at every other endpoint.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from types import NoneType
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Answer, Client, Failure, Refusal
from gatewright.mcp.protocol.eras import to_caller
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.protocol.retry_hints import COME_AGAIN, ONCE
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import Reason, reason_of
from gatewright.mcp.wire.json_bounds import Limits
from gatewright.mcp.wire.spellings import flaw_of_params
from gatewright.mcp.wire.versions import LATEST_LEGACY, Method
from gatewright.mcp.wire.versions import METHODS as OF_MCP
from gatewright.web.utf8 import is_utf8

__all__ = [
    "CLIENT",
    "METHODS",
    "VALIDATE",
    "Asked",
    "Flawed",
    "data_of",
    "described",
    "error_of",
    "output_of",
    "presented",
    "read",
    "refusal_of",
    "result_of",
    "says_auth",
    "tool_error_of",
]

VALIDATE = "tools/validate"

CLIENT = Client(LATEST_LEGACY, info={"name": "ggen"})
"""How ggen's callers speak, as far as policy and servers are concerned: they can be asked nothing."""

METHODS: Mapping[str, Method] = {
    **{
        name: OF_MCP[name]
        for name in ("tools/list", "tools/call", "resources/list", "resources/read")
    },
    VALIDATE: Method("method"),
}

_TEXT_CHARS = 4000
_ID_BYTES = 128


class _Auth(msgspec.Struct):
    auth: msgspec.Raw = msgspec.Raw()


class _Bearer(msgspec.Struct):
    type: str
    token: str


_auth = msgspec.json.Decoder(_Auth)
_bearer = msgspec.json.Decoder(_Bearer)


class Asked(msgspec.Struct, frozen=True):
    """A request that may become a call, and the credential that goes with it."""

    inbound: Inbound
    credential: str | None

    def __repr__(self) -> str:
        """Without the credential: a repr ends in logs."""
        return f"Asked({self.inbound.method!r})"


class Flawed(msgspec.Struct, frozen=True):
    """A request that is answered with an error. `id` is JSON text."""

    id: bytes
    refusal: Refusal


def says_auth(body: bytes) -> bool:
    """Whether a message has the member `auth` beside its method, by which it is known to be ggen's.
    In a batch the first message decides."""
    if b'"auth"' not in body:
        return False
    text: bytes | msgspec.Raw = body
    try:
        if body.lstrip()[:1] == b"[":
            text = jsonrpc.first(body) or b""
        return len(jsonrpc.members_named(text, "auth", "method")) == 2
    except ValueError:
        return False


def read(text: bytes | msgspec.Raw, limits: Limits, header: str | None) -> Asked | Flawed | None:
    """What one message asks for; None where nothing is to be answered. `header` is the credential that
    came around it, in HTTP's `Authorization`."""
    message = jsonrpc.parse(text, limits)
    if isinstance(message, jsonrpc.Malformed):
        return Flawed(message.id, refusal_of(message))
    if isinstance(message, jsonrpc.Notification):
        return None  # ggen has none; one is not answered (JSON-RPC 2.0 §4.1)
    if isinstance(message, jsonrpc.Response):
        return Flawed(message.id, Refusal("invalid_request", "a response answers nothing here"))
    credential = _credential(text, header)
    if isinstance(credential, Refusal):
        return Flawed(message.id, credential)
    inbound = _inbound(message)
    if isinstance(inbound, Refusal):
        return Flawed(message.id, inbound)
    return Asked(inbound, credential)


def presented(text: bytes | msgspec.Raw, header: str | None) -> tuple[bytes, str | None] | None:
    """The id of a message, and the credential that it comes with, while nothing else of it was read; None where that cannot be
    told, which `read` will say."""
    try:
        credential = _credential(text, header)
        ident = bytes(jsonrpc.members_named(text, "id").get("id", b"null"))
    except (ValueError, msgspec.DecodeError):
        return None
    if isinstance(credential, Refusal):
        return None
    known = len(ident) <= _ID_BYTES and ident[:1] in b'"-0123456789' and is_utf8(ident)
    return ident if known else b"null", credential


def refusal_of(flaw: jsonrpc.Malformed) -> Refusal:
    """What cannot be read, as a refusal."""
    reason = "parse_error" if flaw.code == jsonrpc.PARSE_ERROR else "invalid_request"
    return Refusal(reason, flaw.message)


def _credential(text: bytes | msgspec.Raw, header: str | None) -> str | Refusal | None:
    """The one credential of a request, wherever it stands. Raises `msgspec.DecodeError`."""
    raw = bytes(_auth.decode(text).auth)
    if not raw or raw == b"null":
        return header
    try:
        found = _bearer.decode(raw)
    except msgspec.DecodeError:  # its text would quote what was sent
        return Refusal("auth_failed", _NO_BEARER)
    if found.type.lower() != "bearer" or not found.token:
        return Refusal("auth_failed", _NO_BEARER)
    if header is not None and header != found.token:
        return Refusal("auth_failed", "the header Authorization and the member auth disagree")
    return found.token


_NO_BEARER = 'auth must be {"type": "bearer", "token": "…"}'


def _inbound(request: jsonrpc.Request) -> Inbound | Refusal:
    spec = METHODS.get(request.method)
    if spec is None:
        known = ", ".join(METHODS)
        return Refusal(
            "method_not_found", f"there is no method {request.method[:100]!r}; there is {known}"
        )
    params = jsonrpc.decode(request.params) if request.params else {}
    flaw = _flaw_of(request.method, spec, params) or flaw_of_params(request.method, params)
    if flaw:
        return Refusal("invalid_params", flaw)
    return Inbound(request.id, request.method, params, CLIENT, spec, request.trace_id)


def _flaw_of(method: str, spec: Method, params: Any) -> str:
    """What is wrong with the shape of some params, or nothing."""
    if not isinstance(params, dict):
        return "params must be an object"
    names = "name" if method == VALIDATE else spec.names
    if names is not None and not isinstance(params.get(names), str):
        return f"params.{names} must be a string"
    objects = ("_meta", "arguments") if names == "name" else ("_meta",)
    wrong = [one for one in objects if not isinstance(params.get(one), dict | NoneType)]
    return f"params.{wrong[0]} must be an object" if wrong else ""


# -- what comes back


def result_of(answer: Answer, method: str, info: Mapping[str, Any]) -> bytes:
    """The JSON text of a result as ggen has it; of `tools/list` what `described` makes of it is."""
    raw = to_caller(answer, method, CLIENT, info)
    return output_of(raw) if method == "tools/call" else raw


def output_of(raw: bytes) -> bytes:
    """What a tool gave, out of MCP's result: its structured content; else its text, where that is all;
    else the whole content (decision C-35)."""
    members = jsonrpc.decode_members(raw)
    structured = bytes(members.get("structuredContent", b""))
    if structured:
        return structured
    content = bytes(members.get("content", b"[]"))
    try:
        (block,) = _single.decode(content)
    except msgspec.DecodeError:  # none, or several
        return content
    return bytes(block.text) if bytes(block.type) == b'"text"' else content


class _Block(msgspec.Struct, gc=False):
    type: msgspec.Raw = msgspec.Raw()
    text: msgspec.Raw = msgspec.Raw(b'""')


_single = msgspec.json.Decoder(tuple[_Block])
"""Ends at the second element, however many there are."""


def described(raw: bytes) -> Generator[None, None, bytes]:
    """A list in which each tool has the three members that ggen promises; in small steps, since a list may be long."""
    members: dict[str, Any] = dict(jsonrpc.decode_members(raw))
    tools = yield from jsonrpc.entries(members["tools"], _TOOLS_MOST)
    told: list[bytes | msgspec.Raw] = []
    for number, tool in enumerate(tools):
        if number % _A_STEP == 0:
            yield
        said = jsonrpc.decode_members(tool)
        told.append(tool if said.keys() >= _BARE.keys() else jsonrpc.encode({**_BARE, **said}))
    yield
    members["tools"] = msgspec.Raw(b"[" + b",".join(told) + b"]")
    return jsonrpc.encode(members)


_TOOLS_MOST, _A_STEP = 1_000_000, 50
_BARE: Mapping[str, Any] = {
    "name": "",
    "description": "",
    "inputSchema": {"type": "object"},
}


def tool_error_of(answer: Answer) -> Failure:
    """The failure that a tool tells of in its own result."""
    said = output_of(answer.raw)
    try:
        value = jsonrpc.decode(said) if said[:1] == b'"' else None
    except ValueError:
        value = None
    # A character has at most four bytes.
    text = value if isinstance(value, str) else said[: 4 * _TEXT_CHARS].decode(errors="replace")
    text = text[:_TEXT_CHARS] or "the tool failed and did not say why"
    return Failure("tool_failed", text, once=answer.once)


def error_of(
    outcome: Refusal | Failure,
    trace_id: str,
    *,
    method: str = "",
    tool: str = "",
    flaws: list[dict[str, Any]] | None = None,
) -> tuple[bytes, Reason]:
    """The JSON text of an error object, and the row of its reason. `flaws` are those of the arguments, in
    the form of `tools/validate`, where they were looked at."""
    outcome = _of_server(outcome, method)
    row = reason_of(outcome.reason)
    data = data_of(outcome, row, trace_id, tool)
    if flaws:
        data |= flaws[0]
        if len(flaws) > 1:
            data["errors"] = flaws
    body = {"code": row.ggen_code, "message": row.ggen_message, "data": data}
    return jsonrpc.encode(body), _answered(row) if outcome.once else row


def _answered(row: Reason) -> Reason:
    """The row of a call that may have been carried out, without a status that makes clients send it again."""
    http = ONCE if row.http in COME_AGAIN else row.http
    return replace(row, http=http, mcp_http=200 if row.mcp_http in COME_AGAIN else row.mcp_http)


def data_of(
    outcome: Refusal | Failure, row: Reason, trace_id: str, tool: str = ""
) -> dict[str, Any]:
    """ggen's `ErrorData`; besides its own members the canonical kind, and whether to try again
    (decision C-01)."""
    data: dict[str, Any] = {
        "error_type": row.ggen_type,
        "field": None,
        "reason": outcome.message or row.ggen_message,
        "trace_id": trace_id,
        "suggestions": _suggestions(outcome, row),
        "documentation_url": None,
        "kind": row.name,
        "retryable": row.retryable and not outcome.once,
    }
    if row.retryable and not outcome.once:
        after = outcome.retry_after_ms
        data["retry_after_ms"] = row.retry_after_ms if after is None else after
    if row.ggen_type == "ToolTimeout":
        data["tool_name"] = tool
        data["timeout_ms"] = outcome.details.get("timeout_ms")
    return data


def _of_server(outcome: Refusal | Failure, method: str) -> Refusal | Failure:
    """A server's own error in our words: its message, and what it means where that is known."""
    error = outcome.error if isinstance(outcome, Failure) else None
    if error is None:
        return outcome
    try:
        said = jsonrpc.decode(error)
    except ValueError:
        return outcome
    if not isinstance(said, dict):
        return outcome
    message = said.get("message")
    text = message if isinstance(message, str) and message else outcome.message
    # It has a time limit of its own.
    if (
        type(outcome) is Failure
        and outcome.mgp
        and said.get("code") == reason_of("timeout").mgp_code
    ):
        limit = _limit_of(said.get("data"))
        return Failure("timeout", text[:_TEXT_CHARS], limit, once=outcome.once)
    # A resource that its server does not have: -32002 in handshake revisions, -32602 since.
    missing = method == "resources/read" and said.get("code") in (-32002, -32602)
    reason = "not_found" if missing else outcome.reason
    return Failure(reason, text[:_TEXT_CHARS], once=outcome.once)


def _limit_of(data: Any) -> dict[str, Any]:
    """The time limit that an error of an MGP server names (§14.5)."""
    mgp = data.get("_mgp") if isinstance(data, dict) else None
    details = mgp.get("details") if isinstance(mgp, dict) else None
    limit = details.get("timeout_ms") if isinstance(details, dict) else None
    return {"timeout_ms": limit} if type(limit) is int else {}


def _suggestions(outcome: Refusal | Failure, row: Reason) -> list[str]:
    named = outcome.details.get("suggestions")
    if row.name == "tool_not_found":
        close = named if isinstance(named, list) else []
        return [f"Did you mean {one}?" for one in close] or ["See tools/list for what there is"]
    if row.name == "rate_limited" and outcome.retry_after_ms is not None and not outcome.once:
        return [f"Repeat the call after {outcome.retry_after_ms} ms"]
    return list(_ADVICE.get(row.ggen_type, ()))


_ADVICE: Mapping[str, tuple[str, ...]] = {
    "ToolTimeout": (
        "Increase timeout for long-running analysis",
        "Check tool server health",
        "Break request into smaller chunks",
    ),
    "AuthenticationError": (
        "Send the header Authorization: Bearer KEY, or the member auth beside params",
    ),
    "AuthorizationError": ("Ask the operator for a grant of this tool",),
    "ResourceNotFound": ("See resources/list for what there is",),
}
