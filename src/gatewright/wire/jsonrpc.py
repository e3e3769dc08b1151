"""JSON-RPC 2.0 frames, lossless and bounded.

Theory: only the envelope is decoded here. `params`, `result` and `error` stay the bytes they were,
because a gateway that decodes and re-encodes what it does not judge can only lose something. What is
judged (`params`) is decoded with `decode` and forwarded with `encode`, so that gateway and server can
never read two different calls from one text: a duplicate key collapses to what was judged.

Numbers keep their text: integers of any size are Python integers, and a decimal that a `float` would
spell differently becomes a `Num`, a float that remembers how it was written.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from gatewright.wire.json_bounds import Limits, flaw_of

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
    "Request",
    "Response",
    "decode",
    "decode_members",
    "encode",
    "error",
    "is_utf8",
    "notification",
    "parse",
    "parse_many",
    "request",
    "response",
    "split",
]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class Num(float):
    """A JSON number whose text a plain `float` would not give back; `text` is that text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Num:
        """The number that `text` spells."""
        self = float.__new__(cls, text)
        self.text = text
        return self


def _number(text: str) -> float:
    plain = float(text)
    return plain if repr(plain) == text else Num(text)


def _spell(value: object) -> Any:
    if isinstance(value, Num):
        return msgspec.Raw(value.text.encode())
    raise TypeError(f"{type(value).__name__} has no JSON form")


_decoder = msgspec.json.Decoder(float_hook=_number)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_encoder = msgspec.json.Encoder(enc_hook=_spell)

_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def decode(data: bytes | msgspec.Raw) -> Any:
    """The value of a JSON text, numbers kept exactly. Raises `ValueError` for anything else."""
    try:
        return _decoder.decode(data)
    except _BROKEN as problem:
        raise ValueError(str(problem)) from None


def decode_members(data: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The members of a JSON object, each still its own text. Raises `ValueError`."""
    try:
        return _members.decode(data)
    except (*_BROKEN, msgspec.ValidationError) as problem:
        raise ValueError(str(problem)) from None


def encode(value: Any) -> bytes:
    """One line of JSON for a value made by `decode` or `decode_members`."""
    return _encoder.encode(value)


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are UTF-8, which JSON texts must be; undecoded members were never checked."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


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


_envelope = msgspec.json.Decoder(_Envelope)
_DEFAULT = Limits()


def parse(data: bytes | msgspec.Raw, limits: Limits = _DEFAULT) -> Message:
    """Read one frame. Total: whatever comes in, a message or a `Malformed` comes out."""
    try:
        envelope = _envelope.decode(data)
    except msgspec.ValidationError:
        return _diagnose(data)
    except _BROKEN as problem:
        return Malformed(PARSE_ERROR, f"Parse error: {problem}")
    if envelope.jsonrpc != "2.0":
        return Malformed(INVALID_REQUEST, 'jsonrpc must be "2.0"', _usable(envelope.id, limits))
    if envelope.method is None:
        return _parse_response(envelope, limits)
    return _parse_request(data, envelope, envelope.method, limits)


_ROOM = len(b'{"jsonrpc":"2.0","id":,"method":"","params":}') + len(b',"id":') + 1
"""How long a request is at least that says everything and one thing twice, besides its id, method and params."""


def _parse_request(
    data: bytes | msgspec.Raw, envelope: _Envelope, method: str, limits: Limits
) -> Message:
    params, ident = bytes(envelope.params), bytes(envelope.id)
    size = len(ident)
    room = len(data) - len(params) - len(method) - size
    if (room >= _ROOM or not size or not params) and _repeats(bytes(data)):
        return Malformed(INVALID_REQUEST, "a member of the message stands twice")
    flaw = flaw_of(params, limits)
    if not size:
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
    """The messages of a batch, each still its own text."""
    try:
        items = _array.decode(data)
    except (*_BROKEN, msgspec.ValidationError) as problem:
        return Malformed(PARSE_ERROR, f"Parse error: {problem}")
    if not items:
        return Malformed(INVALID_REQUEST, "a batch needs at least one message")
    if len(items) > limits.batch:
        return Malformed(INVALID_REQUEST, f"a batch has at most {limits.batch} messages")
    return items


def _repeats(data: bytes) -> bool:
    """Whether a member of the envelope stands twice: two readers could take two different ones.

    Only a frame in which such a name occurs twice anywhere, or is perhaps spelled with escapes, pays
    for the exact look.
    """
    count = data.count
    if (
        count(b'"id"') < 2
        and count(b'"method"') < 2
        and count(b'"params"') < 2
        and count(b'"jsonrpc"') < 2
        and data.find(b"\\u") < 0  # quicker than `in`, which tries its left side as a number first
    ):
        return False
    outermost: list[tuple[str, Any]] = []

    def last(pairs: list[tuple[str, Any]]) -> None:
        nonlocal outermost
        outermost = pairs

    try:
        json.loads(data, object_pairs_hook=last)
    except (ValueError, RecursionError):
        return False  # whatever is wrong with it is said by who decodes that part
    return len(outermost) != len({name for name, _ in outermost})


def _parse_response(envelope: _Envelope, limits: Limits) -> Message:
    ident = bytes(envelope.id)
    if envelope.error is _NONE and ident.isdigit() and len(ident) <= limits.id_chars:
        result = bytes(envelope.result)
        if result:
            return Response(ident, result)  # nearly all of them
    result, error_ = bytes(envelope.result), bytes(envelope.error)
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
        members = _members.decode(data)
    except (*_BROKEN, msgspec.ValidationError):
        return Malformed(INVALID_REQUEST, "a message must be one JSON object")
    ident = _usable(members.get("id", msgspec.Raw()), _DEFAULT)
    wrong = [name for name in ("jsonrpc", "method") if bytes(members.get(name, b'"'))[:1] != b'"']
    return Malformed(
        INVALID_REQUEST, f"{' and '.join(wrong) or 'a member'} must be a string", ident
    )


def _valid_id(ident: bytes, limits: Limits) -> bool:
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
        found = _decoder.decode(raw)
    except _BROKEN:
        return None
    return found if isinstance(found, str) else None


def _body(params: bytes | dict[str, Any] | list[Any] | None) -> bytes:
    if isinstance(params, bytes):
        return b',"params":' + params if params else b""
    if not params and type(params) is not dict:
        return b""
    return b',"params":' + _encoder.encode(params)


def request(
    ident: bytes, method: str, params: bytes | dict[str, Any] | list[Any] | None = None
) -> bytes:
    """A request frame. `ident` is JSON text."""
    head = b'{"jsonrpc":"2.0","id":' + ident + b',"method":' + _encoder.encode(method)
    if type(params) is dict:
        return head + b',"params":' + _encoder.encode(params) + b"}"
    return head + _body(params) + b"}"


def notification(method: str, params: bytes | dict[str, Any] | None = None) -> bytes:
    """A notification frame."""
    return b'{"jsonrpc":"2.0","method":' + _encoder.encode(method) + _body(params) + b"}"


def response(ident: bytes, result: bytes) -> bytes:
    """An answer frame around a result's JSON text."""
    return b'{"jsonrpc":"2.0","id":' + ident + b',"result":' + result + b"}"


def error(ident: bytes, error_: bytes | tuple[int, str] | tuple[int, str, Any]) -> bytes:
    """An error frame around an error object's JSON text, or around code, message and data."""
    if not isinstance(error_, bytes):
        body: dict[str, Any] = {"code": error_[0], "message": error_[1]}
        if len(error_) == 3 and error_[2] is not None:
            body["data"] = error_[2]
        error_ = _encoder.encode(body)
    return b'{"jsonrpc":"2.0","id":' + ident + b',"error":' + error_ + b"}"
