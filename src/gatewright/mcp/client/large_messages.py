"""Reads tool servers' JSON-RPC messages: locates a large result without parsing it; refuses long batches, leaves long params unread.

Theory: whoever looks for the end of a value goes through all of it in one call of C, 2 ns a byte where it is made of `[],`: 20 ms of the largest
message, in the turn in which its last bytes come. Of a response the result is all but a hundred bytes, and what stands around it says where it
begins and ends: so it is read by who reads its members (`answers.read_large`), in a turn of its own, which finds out as well whether it is
JSON. Of anything else nothing is passed on that is longer than `DECODED_BYTES`, so it is enough to know what it is.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.patterns import Pattern
from gatewright.transport.large_text import LARGE

__all__ = ["Large", "exact_members", "is_batch", "large_response", "message_in", "whole_result"]

_SPACE = rb"[ \t\r\n]*"
_MEMBER = rb'(?:"jsonrpc"_:_"2\.0"|"id"_:_(?:0|[1-9][0-9]{0,17}))'
_HEAD = Pattern((rb'_\{_((?:%b_,_)*)"result"_:_' % _MEMBER).replace(b"_", _SPACE))
_TAIL = Pattern((rb"((?:_,_%b)*)_\}_\Z" % _MEMBER).replace(b"_", _SPACE))
_IDENT = Pattern(rb'"id"_:_([0-9]+)'.replace(b"_", _SPACE))
_AROUND = 256
"""Bytes on either side in which the other members have room."""
_READ = DECODED_BYTES + 4096
"""The longest message that is read as any other: one whose params have a mebibyte, and a method and an id."""
_SHORT = 1024
"""Bytes; of a longer member it is enough that there is one."""
_STANDS = {b"{": b"{}", b"[": b"[]", b'"': b'""'}
_NO_ID = msgspec.Raw(b"{}")
"""For an id that is longer than any that is read: a short one of its kind would be somebody else's."""


class Large(NamedTuple):
    """A response whose result nobody has read yet: it may be no JSON."""

    id: int
    result: bytes


def large_response(data: bytes) -> Large | None:
    """A response with a number for an id, a result of more than `LARGE` bytes and nothing else; None for anything else."""
    head, tail = _HEAD.match(data[:_AROUND]), _TAIL.search(data[-_AROUND:])
    if head is None or tail is None:
        return None
    around = head[1] + tail[1]
    start, end = head.end(), len(data) - min(len(data), _AROUND) + tail.start()
    if end - start <= LARGE or not around.count(b'"id"') == around.count(b'"jsonrpc"') == 1:
        return None
    ident = _IDENT.search(around)
    return None if ident is None else Large(int(ident[1]), data[start:end])


def is_batch(data: bytes) -> bool:
    """Whether several messages come as one text (2025-03-26), which is short enough to be taken apart."""
    return len(data) <= _READ and data.lstrip()[:1] == b"["


def message_in(data: bytes) -> jsonrpc.Message:
    """Read one message of a server. Total, as `jsonrpc.parse`. A request or notification that is too long to be passed on has all of its
    text for params, which whoever takes it refuses by their length."""
    if len(data) <= _READ:
        return jsonrpc.parse(data)
    if data.lstrip()[:1] == b"[":
        return jsonrpc.Malformed(
            jsonrpc.INVALID_REQUEST, f"a batch of more than {DECODED_BYTES} bytes"
        )
    try:
        members = jsonrpc.decode_members(data)
    except jsonrpc.TooMuch as problem:
        return jsonrpc.Malformed(jsonrpc.INVALID_REQUEST, f"the message {problem}")
    except ValueError as problem:
        return jsonrpc.Malformed(jsonrpc.PARSE_ERROR, f"Parse error: {problem}")
    short = {name: _short(one) for name, one in members.items()}
    if len(members.get("id", b"")) > _SHORT:
        short["id"] = _NO_ID
    message = jsonrpc.parse(jsonrpc.encode(short))
    if type(message) is jsonrpc.Response:
        said = (bytes(members.get(name, b"")) for name in ("result", "error"))
        return jsonrpc.Response(message.id, *said)
    if type(message) is jsonrpc.Request:
        return jsonrpc.Request(message.id, message.method, data)
    return jsonrpc.Notification(message.method, data) if type(message) is jsonrpc.Notification else message  # fmt: skip


def whole_result(result: bytes, ident: bytes) -> bytes | None:
    """The result in what `large_response` took for one, where other members stand behind it; None where it is none, or one of them says
    that it answers something else than `ident`."""
    message = message_in(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (ident, result))
    if type(message) is not jsonrpc.Response or message.id != ident:
        return None
    return message.result or None


def exact_members(response: jsonrpc.Response) -> dict[str, msgspec.Raw]:
    """The members of the result of a response that nobody has read yet, whatever stands behind it. Raises like `jsonrpc.decode_members`."""
    raw = response.result
    try:
        return jsonrpc.decode_members(raw)
    except jsonrpc.TooMuch:
        raise
    except ValueError:
        whole = whole_result(raw, response.id) if len(raw) > LARGE else None
        if whole is None:
            raise
        return jsonrpc.decode_members(whole)


def _short(one: msgspec.Raw) -> msgspec.Raw:
    """The same member, or where it is long a short one of its kind."""
    if len(one) <= _SHORT:
        return one
    return msgspec.Raw(_STANDS.get(bytes(memoryview(one)[:1]), b"0"))
