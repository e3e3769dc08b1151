"""JSON-RPC 2.0 codec, lossless: parses and writes requests, notifications, responses, batches; rejects ambiguous members; JSON decoding.

Theory: only the envelope is decoded here. `params`, `result` and `error` stay the bytes they were,
because a gateway that decodes and re-encodes what it does not judge can only lose something. What is
judged (`params`) is decoded with `decode` and forwarded with `encode`, so that gateway and server can
never read two different calls from one text: a duplicate key collapses to what was judged.

Numbers keep their text: integers of any size are Python integers, and a decimal that a `float` would
spell differently becomes a `Num`, a float that remembers how it was written. How much is made of a text is bounded
everywhere (`foreign_json`, whose words these are).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from gatewright.mcp.wire import foreign_json
from gatewright.mcp.wire.json_bounds import Limits, flaw_of
from gatewright.mcp.wire.spellings import flaw_of_members
from gatewright.web.utf8 import is_utf8

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "Malformed",
    "Message",
    "Notification",
    "Num",
    "Plain",
    "Request",
    "Response",
    "TooMuch",
    "check",
    "decode",
    "decode_members",
    "decode_whole",
    "elements",
    "encode",
    "entries",
    "error",
    "first",
    "heavy",
    "is_notification",
    "members_named",
    "names",
    "notification",
    "parse",
    "parse_many",
    "plain_response",
    "request",
    "response",
    "split",
]

Num = foreign_json.Num
TooMuch = foreign_json.TooMuch
check = foreign_json.check
decode = foreign_json.decode
decode_members = foreign_json.decode_members
decode_whole = foreign_json.decode_whole
elements = foreign_json.elements
encode = foreign_json.encode
entries = foreign_json.entries
first = foreign_json.first
heavy = foreign_json.heavy
members_named = foreign_json.members_named
names = foreign_json.names

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class Request(msgspec.Struct, frozen=True, gc=False):
    """A question. `id` is its JSON text, to be echoed as it is; `params` is empty when absent."""

    id: bytes
    method: str
    params: bytes = b""
    trace_id: str | None = None
    """A `trace_id` member beside `params` (MGP §6.5)."""


class Notification(msgspec.Struct, frozen=True, gc=False):
    """A statement nobody answers."""

    method: str
    params: bytes = b""


class Response(msgspec.Struct, frozen=True, gc=False):
    """An answer: exactly one of `result` and `error` is not empty."""

    id: bytes
    result: bytes = b""
    error: bytes = b""


class Malformed(msgspec.Struct, frozen=True, gc=False):
    """What could not be understood, ready to be answered. `id` is `null` where none could be read."""

    code: int
    message: str
    id: bytes = b"null"


Message = Request | Notification | Response | Malformed


_NONE = msgspec.Raw()


class _Envelope(msgspec.Struct, gc=False):
    jsonrpc: str = ""
    method: str | None = None
    id: msgspec.Raw = _NONE
    params: msgspec.Raw = _NONE
    result: msgspec.Raw = _NONE
    error: msgspec.Raw = _NONE
    trace_id: msgspec.Raw = _NONE
    auth: msgspec.Raw = _NONE


class _Bare(_Envelope, gc=False, forbid_unknown_fields=True):
    """One without other members: nearly all of them."""


_MEMBERS = frozenset(_Envelope.__struct_fields__)
_envelope = msgspec.json.Decoder(_Envelope)
_bare = msgspec.json.Decoder(_Bare)
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_DEFAULT = Limits()


def parse(data: bytes | msgspec.Raw, limits: Limits = _DEFAULT) -> Message:
    """Read one frame. Total: whatever comes in, a message or a `Malformed` comes out."""
    # One decode of most frames says that they have no member besides the known ones (decision 0060).
    try:
        envelope = _bare.decode(data)
    except msgspec.ValidationError:
        found = _with_others(data, limits)
        return found if isinstance(found, Malformed) else _parsed(data, found, limits)
    except _BROKEN as problem:
        return Malformed(PARSE_ERROR, f"Parse error: {problem}")
    method = envelope.method
    # The usual request: a number for an id, params that are an object, and nothing else. Then twelve quotes stand outside of the
    # params, and every member that stood twice would bring two more.
    if method is not None and envelope.jsonrpc == "2.0":
        ident, params = bytes(envelope.id), bytes(envelope.params)
        size = len(params)
        if (
            size <= limits.light
            and ident.isdigit()
            and params[:1] == b"{"
            and bytes(data).count(b'"') - params.count(b'"') == _QUOTES
            and params.count(b"{") + params.count(b"[") <= limits.depth
            and len(ident) <= limits.id_chars
        ):
            return Request(ident, method, params)
    elif method is None and envelope.error is _NONE and envelope.jsonrpc == "2.0":
        # And the usual response.
        ident, result = bytes(envelope.id), bytes(envelope.result)
        if result and ident.isdigit() and len(ident) <= limits.id_chars:
            return Response(ident, result)
    return _parsed(data, envelope, limits)


class Plain(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A response with a number for an id, a result and nothing else."""

    jsonrpc: Literal["2.0"]
    id: Annotated[int, msgspec.Meta(ge=0)]
    result: msgspec.Raw


_plain = msgspec.json.Decoder(Plain).decode


def plain_response(data: bytes) -> Plain | None:
    """One such response; None for anything else, which `parse` reads."""
    try:
        return _plain(data)
    except _BROKEN:
        return None


_QUOTES = len('"jsonrpc""2.0""id""method""""params"') - len("jsonrpc2.0idmethodparams")


def _parsed(data: bytes | msgspec.Raw, envelope: _Envelope, limits: Limits) -> Message:
    if envelope.jsonrpc != "2.0":
        return Malformed(INVALID_REQUEST, 'jsonrpc must be "2.0"', _usable(envelope.id, limits))
    # What has a method is a request or notification, whatever stands beside it.
    if envelope.method is None:
        return _parse_response(envelope, limits)
    return _parse_request(data, envelope, envelope.method, limits)


def _with_others(data: bytes | msgspec.Raw, limits: Limits) -> _Envelope | Malformed:
    """The envelope of a message that has members which nobody here knows, none of which may read as a known one."""
    try:
        envelope = _envelope.decode(data)
        flaw = flaw_of_members("the message", names(data, _MOST_MEMBERS), _MEMBERS)
    except msgspec.ValidationError:
        return _diagnose(data)
    except TooMuch as problem:
        return Malformed(INVALID_REQUEST, f"the message {problem}")
    except (*_BROKEN, ValueError) as problem:
        return Malformed(PARSE_ERROR, f"Parse error: {problem}")
    return Malformed(INVALID_REQUEST, flaw, _usable(envelope.id, limits)) if flaw else envelope


_ROOM = len(b'{"jsonrpc":"2.0","id":,"method":"","params":}') + len(b',"id":') + 1
"""How long a request is at least that says everything and one thing twice, besides its id, method and params."""


def _parse_request(
    data: bytes | msgspec.Raw, envelope: _Envelope, method: str, limits: Limits
) -> Message:
    params, ident = bytes(envelope.params), bytes(envelope.id)
    size = len(ident)
    room = len(data) - len(params) - len(method) - size
    twice = _repeats(bytes(data)) if room >= _ROOM or not size or not params else ""
    if twice:
        return Malformed(INVALID_REQUEST, twice)
    flaw = flaw_of(params, limits)
    if not size:  # without an id
        return Malformed(INVALID_REQUEST, flaw) if flaw else Notification(method, params)
    if not ((ident.isdigit() and size <= limits.id_chars) or _valid_id(ident, limits)):
        return Malformed(INVALID_REQUEST, "id must be a string or an integer of bounded length")
    if flaw:
        return Malformed(INVALID_REQUEST, flaw, ident)
    trace = envelope.trace_id
    return Request(ident, method, params, None if trace is _NONE else _text(trace))


def parse_many(data: bytes, limits: Limits = _DEFAULT) -> list[Message] | Malformed:
    """Read a batch (MCP 2025-03-26). An empty or over-long batch is one `Malformed`."""
    items = split(data, limits)
    return items if isinstance(items, Malformed) else [parse(item, limits) for item in items]


def split(data: bytes, limits: Limits = _DEFAULT) -> list[msgspec.Raw] | Malformed:
    """The messages of a batch, each still its own text. All of them together are counted: each by itself may be as much as is read
    at once."""
    flaw = heavy(data)
    if flaw:
        return Malformed(INVALID_REQUEST, f"the batch {flaw}; send its messages one by one")
    try:
        items = elements(data, limits.batch)
    except TooMuch:
        return Malformed(INVALID_REQUEST, f"a batch has at most {limits.batch} messages")
    except ValueError as problem:
        return Malformed(PARSE_ERROR, f"Parse error: {problem}")
    return items or Malformed(INVALID_REQUEST, "a batch needs at least one message")


_MOST_MEMBERS = 1000
"""Of a message whose members are looked at one by one."""
_LONG = 64 * 1024


def _repeats(data: bytes) -> str:
    """What is wrong where a member of the envelope stands twice: two readers could take two different ones.

    Only a long frame, and one in which such a name occurs twice anywhere, or is perhaps spelled with escapes, pays
    for the exact look.
    """
    count = data.count
    # Of a long one the exact look is the quicker one: each of these searches goes through all of it.
    if len(data) <= _LONG and (
        count(b'"id"') < 2
        and count(b'"method"') < 2
        and count(b'"params"') < 2
        and count(b'"jsonrpc"') < 2
        and data.find(b"\\u") < 0  # quicker than `in`, which tries its left side as a number first
    ):
        return ""
    try:
        outermost = names(data, _MOST_MEMBERS)
    except TooMuch as problem:
        return f"the message {problem}"
    except ValueError:
        return ""  # whatever is wrong with it is said by who decodes that part
    twice = len(outermost) != len(set(outermost))
    return "a member of the message stands twice" if twice else ""


def _parse_response(envelope: _Envelope, limits: Limits) -> Message:
    ident, result, error_ = bytes(envelope.id), bytes(envelope.result), bytes(envelope.error)
    if bool(result) == bool(error_):
        return Malformed(
            INVALID_REQUEST,
            "a message needs a method, or exactly one of result and error",
            _usable(envelope.id, limits),
        )
    if ident and ident != b"null" and not _valid_id(ident, limits):
        return Malformed(INVALID_REQUEST, "id must be a string or an integer of bounded length")
    return Response(ident or b"null", result, error_)


def _diagnose(data: bytes | msgspec.Raw) -> Malformed:
    """Why an envelope of wrong types was refused, with its id where one can be read."""
    try:
        members = members_named(data, "id", "jsonrpc", "method")
    except ValueError:
        return Malformed(INVALID_REQUEST, "a message must be one JSON object")
    ident = _usable(members.get("id", msgspec.Raw()), _DEFAULT)
    wrong = [name for name in ("jsonrpc", "method") if bytes(members.get(name, b'"'))[:1] != b'"']
    return Malformed(
        INVALID_REQUEST, f"{' and '.join(wrong) or 'a member'} must be a string", ident
    )


def _valid_id(ident: bytes, limits: Limits) -> bool:
    # A string or an integer (MCP, basic): no null, no fraction. Two characters more for the quotes.
    if len(ident) > limits.id_chars + 2 or not is_utf8(ident):
        return False
    if ident[:1] == b'"':
        return True
    digits = ident[1:] if ident[:1] == b"-" else ident
    return digits.isdigit()


def _usable(ident: msgspec.Raw, limits: Limits) -> bytes:
    text = bytes(ident)
    return text if text and _valid_id(text, limits) else b"null"


def _text(raw: msgspec.Raw) -> str | None:
    if bytes(raw)[:1] != b'"':
        return None
    try:
        found = decode(raw)
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def _body(params: bytes | dict[str, Any] | list[Any] | None) -> bytes:
    if isinstance(params, bytes):
        return b',"params":' + params if params else b""
    if not params and type(params) is not dict:
        return b""
    return b',"params":' + encode(params)


def request(
    ident: bytes, method: str, params: bytes | dict[str, Any] | list[Any] | None = None
) -> bytes:
    """A request frame. `ident` is JSON text."""
    head = b'{"jsonrpc":"2.0","id":' + ident + b',"method":' + encode(method)
    if type(params) is dict:
        return head + b',"params":' + encode(params) + b"}"
    return head + _body(params) + b"}"


def notification(method: str, params: bytes | dict[str, Any] | None = None) -> bytes:
    """A notification frame."""
    return _NOTIFICATION + encode(method) + _body(params) + b"}"


_NOTIFICATION = b'{"jsonrpc":"2.0","method":'


def is_notification(frame: bytes) -> bool:
    """Whether a frame that was written here is a notification: those of requests and answers have the id before all else."""
    return frame.startswith(_NOTIFICATION)


def response(ident: bytes, result: bytes) -> bytes:
    """An answer frame around a result's JSON text."""
    return b'{"jsonrpc":"2.0","id":' + ident + b',"result":' + result + b"}"


def error(ident: bytes, error_: bytes | tuple[int, str] | tuple[int, str, Any]) -> bytes:
    """An error frame around an error object's JSON text, or around code, message and data."""
    if not isinstance(error_, bytes):
        body: dict[str, Any] = {"code": error_[0], "message": error_[1]}
        if len(error_) == 3 and error_[2] is not None:
            body["data"] = error_[2]
        error_ = encode(body)
    return b'{"jsonrpc":"2.0","id":' + ident + b',"error":' + error_ + b"}"
