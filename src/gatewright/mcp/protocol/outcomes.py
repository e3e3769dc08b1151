"""Encodes outcomes and protocol errors for an MCP client: result, `isError` result or JSON-RPC error, HTTP status; MGP recovery data.

A plain MCP caller reads a refused tool call as a result with `isError: true`, because that is what a
model sees; everything else, and everything towards a caller that negotiated MGP, is a JSON-RPC error
whose `data` says the reason, the trace and, for MGP alone, how to recover (§14; decisions C-01, 2.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Answer, Client, Failure, Outcome, Refusal
from gatewright.mcp.protocol import eras
from gatewright.mcp.protocol.read_members import known, members_of
from gatewright.mcp.protocol.retry_hints import COME_AGAIN, unpromised
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import REASONS, SERVER_ERROR, Reason, reason_of, recovery
from gatewright.mcp.wire.headers_and_meta import ERROR_ORIGIN, META_SERVER_INFO
from gatewright.mcp.wire.versions import CACHED, MODERN, corrects_arguments, is_modern

__all__ = ["Spelled", "plain", "spell", "spell_error", "spell_reason"]

_MIRROR = "dev.cloto/mgp"
_STEP_UP = "insufficient_scope"
"""Concerns the request as HTTP carries it in every revision."""
_FLAWED = "invalid_args"
"""The model reads it where its revision wants that (decision C-61)."""


class Spelled(msgspec.Struct, frozen=True, gc=False):
    """A result's or an error's JSON text; exactly one is not empty. `http` is the status around it,
    `scope` what a token would have to have (RFC 6750 §3.1)."""

    result: bytes = b""
    error: bytes = b""
    http: int = 200
    scope: str = ""

    def frame(self, ident: bytes) -> bytes:
        """The JSON-RPC answer to the request `ident`."""
        if self.result:
            return jsonrpc.response(ident, self.result)
        return jsonrpc.error(ident, self.error)


_AT_ONCE = 64 * 1024
"""Bytes of a result that is looked through although it may have to go another way."""


def plain(answer: Answer, method: str, client: Client, tail: bytes) -> bytes | None:
    """The result for the caller where nothing of it has to be read, as most; None for one that is to be spelled (`spell`). `tail` is
    what a modern caller is told besides (`eras.tail`)."""
    raw = answer.raw
    if answer.modern or not (answer.own or raw.find(b'"_mgp"') < 0):
        return None
    if client.revision not in MODERN:
        return raw
    if answer.own or method in CACHED or len(raw) > _AT_ONCE or not eras.lacks_both(raw):
        return None
    return raw[:-1] + tail


def spell(
    outcome: Outcome,
    method: str,
    client: Client,
    trace_id: str,
    server_info: Mapping[str, Any],
) -> Spelled:
    """The answer for the caller."""
    if type(outcome) is Answer:
        raw = outcome.raw
        if outcome.modern != is_modern(client.revision):
            raw = eras.to_caller(outcome, method, client, server_info)
        if outcome.own:
            return Spelled(raw)
        return Spelled(_mgp_members(outcome if raw is outcome.raw else Answer(raw), client))
    if type(outcome) is Failure and outcome.error is not None:
        return _relayed(outcome, method, client, trace_id)
    return spell_reason(outcome, method, client, trace_id, server_info)  # type: ignore[arg-type]


def spell_reason(
    outcome: Refusal | Failure,
    method: str,
    client: Client,
    trace_id: str,
    server_info: Mapping[str, Any],
) -> Spelled:
    """The answer for a refusal or failure that the gateway itself speaks."""
    row = reason_of(outcome.reason)
    modern = is_modern(client.revision)
    http = row.mcp_http if modern or row.name == _STEP_UP else 200
    if outcome.once and http in COME_AGAIN:  # clients of HTTP would send it again by themselves
        http = 200
    message = outcome.message or row.mgp_name.lower().replace("_", " ")
    if client.mgp is not None:
        help_ = recovery(
            outcome.reason,
            once=outcome.once,
            details=outcome.details,
            retry_after_ms=outcome.retry_after_ms,
        )
        data: dict[str, Any] = {"reason": row.name, "trace_id": trace_id, "_mgp": help_}
        data |= _uri(outcome)
        # MGP has no number of its own for what is not there: it keeps the one of the caller's revision.
        plain = row.name == "not_found"
        code = _plain_code(row, method, modern=modern) if plain else row.mgp_code
        return _error(code, message, data, http, _scope(row, outcome))
    data = _plain_data(row, outcome, trace_id)
    told = row.tool_result or (row.name == _FLAWED and corrects_arguments(client.revision))
    if told and method == "tools/call":
        return Spelled(_error_result(message, data, modern, server_info))
    code = _plain_code(row, method, modern=modern)
    if code == SERVER_ERROR:
        data["error_type"] = row.codomyrmex  # what the number does not say
    return _error(code, message, data, http, _scope(row, outcome))


def _plain_code(row: Reason, method: str, *, modern: bool) -> int:
    """The code of a reason in MCP."""
    # -32002 is the code of a missing resource alone; a missing prompt is -32602 in every revision.
    if modern or (row.name == "not_found" and method != "resources/read"):
        return row.mcp_code
    return row.mcp_legacy_code


def _scope(row: Reason, outcome: Refusal | Failure) -> str:
    return str(outcome.details.get("scope", "")) if row.name == _STEP_UP else ""


def _plain_data(row: Reason, outcome: Refusal | Failure, trace_id: str) -> dict[str, Any]:
    data: dict[str, Any] = {"reason": row.name, "trace_id": trace_id}
    if row.retryable and not outcome.once:
        data["retry_after_ms"] = (
            row.retry_after_ms if outcome.retry_after_ms is None else outcome.retry_after_ms
        )
    if outcome.details:
        data["details"] = dict(outcome.details)
    return data | _uri(outcome)


def _uri(outcome: Refusal | Failure) -> dict[str, Any]:
    """The resource that was not found, where MCP says that it stands."""
    return {"uri": outcome.details["uri"]} if "uri" in outcome.details else {}


def spell_error(
    code: int, message: str, client: Client | None, *, data: Any = None, http: int = 200
) -> Spelled:
    """An error of the protocol itself, for a request that never became a call. `http` is the status
    around it; `client` is None where nobody knows yet who speaks."""
    body: dict[str, Any] = {"code": code, "message": message}
    if client is not None and client.mgp is not None:
        reason = _SPOKEN.get(code, "internal")
        given = data if isinstance(data, dict) else {}
        data = {**given, "reason": reason, "_mgp": recovery(reason)}
    if data is not None:
        body["data"] = data
    return Spelled(error=jsonrpc.encode(body), http=http)


def _error(code: int, message: str, data: dict[str, Any], http: int, scope: str = "") -> Spelled:
    body = {"code": code, "message": message, "data": data}
    return Spelled(error=jsonrpc.encode(body), http=http, scope=scope)


def _error_result(
    message: str, data: dict[str, Any], modern: bool, server_info: Mapping[str, Any]
) -> bytes:
    # A model sees the content alone, so reason and trace stand there as well.
    line = jsonrpc.encode(data).decode()
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": f"{message}\n{line}"}],
        "isError": True,
    }
    if modern:
        result = {"resultType": "complete", **result}
        result["_meta"] = {META_SERVER_INFO: server_info}
    return jsonrpc.encode(result)


_STATUS = {
    -32601: 404,
    -32700: 400,
    -32600: 400,
    -32602: 400,
    -32020: 400,
    -32021: 400,
    -32022: 400,
}


_SPOKEN = {
    -32700: "parse_error",
    -32600: "invalid_request",
    -32601: "method_not_found",
    -32602: "invalid_params",
    -32020: "header_mismatch",
    -32021: "missing_capability",
    -32022: "unsupported_version",
}


_MGP_CODES = frozenset(row.mgp_code for row in REASONS.values() if row.mgp_code > 0)


def _relayed(outcome: Failure, method: str, client: Client, trace_id: str) -> Spelled:
    """A server's own error, intact but for MGP's part in it and what the eras number differently;
    its status is what MCP 2026-07-28 asks for its code."""
    error = outcome.error or b""
    if outcome.once:
        error = unpromised(error, mgp=outcome.mgp)
    modern = is_modern(client.revision)
    # Nearly every error: nothing in it would change.
    if not modern and client.mgp is None and b'"_mgp"' not in error:
        return Spelled(error=error)
    try:
        members: dict[str, Any] = dict(jsonrpc.decode_members(error))
        said = jsonrpc.decode(members["code"])
        code = said if isinstance(said, int) else 0  # an odd one has no meaning, and stays
        foreign = not outcome.mgp and code in _MGP_CODES
        helped = _mgp_help(members, code, client, trace_id, once=outcome.once, foreign=foreign)
        changed = _attributed(members, client, foreign=foreign) or helped
    except (ValueError, KeyError):
        return Spelled(error=error)
    new = eras.error_code(code, method, client)
    if new != code:
        members["code"] = new
    if changed or new != code:
        error = jsonrpc.encode(members)
    return Spelled(error=error, http=_STATUS.get(new, 200) if modern else 200)


def _mgp_help(
    members: dict[str, Any], code: int, client: Client, trace_id: str, *, once: bool, foreign: bool
) -> bool:
    """Take `data._mgp` away from who did not negotiate MGP, and see that everybody else has one
    (MGP §14.4). True where something changed. Data that is no object stays what it is, but beside a code that would else be
    read as MGP's (`foreign`): there it becomes the member `data` of an object that says what is to be done."""
    text = bytes(members.get("data", b"null"))
    if text[:1] == b"{":
        data: dict[str, Any] = dict(jsonrpc.decode_members(text))
    elif text == b"null":
        data = {}
    elif foreign and client.mgp is not None:
        data = {"data": members["data"]}
    else:
        return False
    if client.mgp is None:
        if "_mgp" not in data:
            return False
        del data["_mgp"]
    elif bytes(data.get("_mgp", b""))[:1] == b"{":
        return False
    else:
        help_ = recovery(_SPOKEN.get(code, "upstream_error"), once=once)
        data = {"trace_id": trace_id, **data, "_mgp": help_}
    members["data"] = data
    return True


def _attributed(members: dict[str, Any], client: Client, *, foreign: bool) -> bool:
    """Say whose word it is where a server's error names a `reason` of ours, or has a code that is MGP's elsewhere (`foreign`),
    to who acts on reasons. True where something changed."""
    data = members.get("data", b"")
    if client.mgp is None or not (isinstance(data, dict) or bytes(data)[:1] == b"{"):
        return False
    said: dict[str, Any] = dict(data if isinstance(data, dict) else jsonrpc.decode_members(data))
    reason = jsonrpc.decode(said.get("reason", b"null"))
    if not foreign and (not isinstance(reason, str) or reason not in REASONS):
        return False
    meta = jsonrpc.decode(said.get("_meta", b"null"))
    said["_meta"] = {**(meta if isinstance(meta, dict) else {}), ERROR_ORIGIN: "server"}
    members["data"] = said
    return True


def _mgp_members(answer: Answer, client: Client) -> bytes:
    """`_mgp` of a result: mirrored into `_meta` for who negotiated MGP, unseen by everybody else."""
    result, members = answer.raw, known(answer)
    if members is None:  # else it need not be searched, either
        members = _members_with_mgp(answer)
    if "_mgp" not in members:
        return result
    if client.mgp is None:
        return jsonrpc.encode({name: one for name, one in members.items() if name != "_mgp"})
    meta = bytes(members.get("_meta", b"{}"))
    if meta[:1] != b"{":
        return result
    mirrored = {**jsonrpc.decode_members(meta), _MIRROR: members["_mgp"]}
    return jsonrpc.encode({**members, "_meta": mirrored})


def _members_with_mgp(answer: Answer) -> Mapping[str, Any]:
    """The members of an object in which `_mgp` may stand; none of others."""
    raw = answer.raw
    return members_of(answer) if raw[:1] == b"{" and raw.find(b'"_mgp"') >= 0 else {}
