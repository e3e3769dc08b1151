"""Parses tool servers' responses into outcomes: a result's own text and `isError`, or the error object; large ones in slices."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import msgspec

from gatewright.call import Answer, Failure, Outcome
from gatewright.mcp.client.large_messages import whole_result
from gatewright.mcp.client.pending_requests import Reply
from gatewright.mcp.client.server_requests import UNATTRIBUTABLE
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.foreign_json import MOST_MEMBERS
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Response
from gatewright.transport.large_text import LARGE, holds_any, is_utf8
from gatewright.transport.slices import in_one
from gatewright.web.utf8 import is_utf8 as is_utf8_at_once

__all__ = ["is_large", "read_large", "read_reply"]

_BRACE = ord("{")
_TOOL_ERROR = (b"isError", b"\\u")
"""The member's name may be spelled with escapes; a plain search rules out nearly everything."""


def read_reply(reply: Reply, kind: str, modern: bool, mgp: bool = False) -> Outcome:
    """The outcome in an answer: the result's own text, or the error object of a server with which `mgp` was negotiated or not."""
    if type(reply) is not Response:
        return reply  # type: ignore[return-value]
    raw = reply.result
    if not raw:
        return _failed(reply.error, mgp)
    if not (raw.isascii() or is_utf8_at_once(raw)):
        return _NOT_UTF8
    marked = kind == "tool" and (raw.find(b"isError") >= 0 or raw.find(b"\\u") >= 0)
    if not marked and len(raw) <= MOST_MEMBERS and raw[0] == _BRACE:
        return Answer(raw, False, modern)  # nothing in it says anything else
    return _answer(raw, kind, modern, marked=marked)


def is_large(reply: Reply) -> bool:
    """Whether an answer is to be read by `read_large`."""
    return type(reply) is Response and len(reply.result) > LARGE


async def read_large(reply: Reply, kind: str, modern: bool, mgp: bool = False) -> Outcome:
    """The same of a large answer, with turns for others between two pieces of it."""
    if type(reply) is not Response:
        return read_reply(reply, kind, modern, mgp)
    raw, ident = reply.result, reply.id
    if not await is_utf8(raw):
        return _NOT_UTF8
    marked = kind == "tool" and await holds_any(raw, _TOOL_ERROR)
    await asyncio.sleep(0)
    outcome = await in_one(lambda: _answer(raw, kind, modern, marked=marked))
    if (
        outcome is _UNREADABLE
        and (whole := await in_one(lambda: whole_result(raw, ident))) is not None
    ):
        return await in_one(lambda: _answer(whole, kind, modern, marked=marked))
    return outcome


def _answer(raw: bytes, kind: str, modern: bool, *, marked: bool) -> Outcome:
    """The outcome in a result; `marked`: it may say that the tool failed."""
    if raw[0] != _BRACE and kind != "method":
        return Failure("upstream_error", "the server's answer is not an object")
    try:
        members = _members(raw, marked=marked)
    except jsonrpc.TooMuch as problem:
        return Failure("upstream_error", f"the server's answer {problem}")
    except ValueError:
        return _UNREADABLE
    tool_error = marked and bytes(members.get("isError", b"")) == b"true"
    if tool_error and UNATTRIBUTABLE.encode() in raw:
        return Failure(UNATTRIBUTABLE, _UNATTRIBUTABLE)
    # What is no object has no members, and is not to pass for an empty one.
    kept = len(raw) > LARGE and raw[0] == _BRACE
    return Answer(raw, tool_error, modern, read=(raw, members) if kept else None)


def _members(raw: bytes, *, marked: bool) -> Mapping[str, msgspec.Raw]:
    """The members of a result, all of those that have to be read. Of a large one nobody knows before that it is JSON
    (`large_messages`), and whoever changes one of many members is to be able to read them."""
    large = len(raw) > LARGE
    if raw[0] != _BRACE:
        if large:
            jsonrpc.check(raw)
        return {}
    if large or (len(raw) > MOST_MEMBERS and raw.count(b":") > MOST_MEMBERS):
        return jsonrpc.decode_members(raw)
    return jsonrpc.members_named(raw, "isError") if marked else {}


_CODE_BYTES = 16
"""A longer number is none that clients can hold."""
_ERROR_NS = 5_000_000
"""What it may take to read an error once: it is read several times on its way."""
_UNREADABLE = Failure("upstream_error", "the server's answer cannot be read")
_NOT_UTF8 = Failure("upstream_error", "the server's answer is not UTF-8")
_UNATTRIBUTABLE = (
    "the server asked something while calls of several sessions were in flight, and it cannot be "
    'told whose question it was; set share = "session" for this server'
)


def _failed(error: bytes, mgp: bool) -> Failure:
    if len(error) > DECODED_BYTES:
        said = (
            f"the server's error has {len(error)} bytes, and at most {DECODED_BYTES} are passed on"
        )
        return Failure("upstream_error", said)
    flaw = jsonrpc.heavy(error, _ERROR_NS)
    if flaw:
        return Failure("upstream_error", f"the server's error {flaw}")
    if not is_utf8_at_once(error) or error[:1] != b"{":
        return Failure("upstream_error", "the server answered with an error that cannot be read")
    if UNATTRIBUTABLE.encode() in error:
        return Failure(UNATTRIBUTABLE, _UNATTRIBUTABLE)
    if not _is_error(error):
        return Failure(
            "upstream_error", "the server answered with an error without a code or a message"
        )
    return Failure("upstream_error", "the server answered with an error", error=error, mgp=mgp)


def _is_error(error: bytes) -> bool:
    """Whether clients can read it as one (JSON-RPC 2.0, 5.1). Many take nothing else for an answer, and would wait for ever."""
    try:
        found = jsonrpc.members_named(error, "code", "message")
        code = jsonrpc.decode(found["code"]) if len(found["code"]) <= _CODE_BYTES else None
        return type(code) is int and bytes(found["message"])[:1] == b'"'
    except (ValueError, KeyError):
        return False
