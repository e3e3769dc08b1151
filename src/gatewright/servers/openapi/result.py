"""Converts an HTTP API's response to a tool result (text, structured content, error or binary), in small steps and within a size limit.

JSON stays the text it was: it is shown as text and stands as structured content, both without being
written anew. A status from 400 on is a tool's own error, so that a model reads what was wrong; so is a
redirect, which is never followed.

A body may have many mebibytes, and twice that once it is a text in JSON: all of this is done in steps.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from codecs import BOM_UTF8
from collections.abc import Generator
from http import HTTPStatus
from typing import Any

from msgspec import Raw

from gatewright.mcp.wire import jsonrpc

__all__ = ["Steps", "TooLarge", "result_of"]

_ERROR_CHARS = 8000
_CHAR_BYTES = 4
_WHOLE = ("image", "audio")
_PIECE = 256 * 1024
"""Characters that are written in one step."""

Steps = Generator[None, None, bytes]


class TooLarge(ValueError):  # noqa: N818 - what the body is
    """As a result a body would have more bytes than there may be."""


def result_of(
    status: int,
    media: str,
    body: bytes,
    *,
    location: str = "",
    uri: str = "",
    most: int = sys.maxsize,
) -> Steps:
    """The JSON text of a tool's result, of about `most` bytes at most. `media` is the bare media type, `uri` names what was
    asked. Raises `TooLarge`, as soon as that is known."""
    if status >= 300:
        return _error(status, body, location)
    if not body:
        return jsonrpc.encode({"content": [_said(f"HTTP {status}, without a body")]})
    yield
    if media == "application/json" or media.endswith("+json"):
        return (
            yield from _json(body.removeprefix(BOM_UTF8), most)
        )  # RFC 8259 §8.1: not to be sent, and often is
    block = yield from _block(media, body, uri, most)
    yield
    return jsonrpc.encode({"content": [block]})


def _json(body: bytes, most: int) -> Steps:
    most -= len(body)  # it stands there twice
    if len(body) > most:
        raise TooLarge
    try:
        jsonrpc.check(body)
        yield
        text = _text_of(body)
        if text is None:
            raise ValueError("it is not UTF-8")
    except ValueError as problem:
        said = f"The API answered with JSON that cannot be read: {problem}"
        return jsonrpc.encode({"content": [_said(said)], "isError": True})
    shown = yield from _text(text, most)
    bare = body.strip()
    structured = Raw(bare) if bare[:1] == b"{" else {"result": Raw(bare)}
    yield
    return jsonrpc.encode({"content": [shown], "structuredContent": structured})


def _error(status: int, body: bytes, location: str) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    said = f"HTTP {status} {phrase}".strip()
    if status < 400:
        said += f": a redirect{' to ' + location[:300] if location else ''} is not followed"
    shown = body.lstrip()[: _ERROR_CHARS * _CHAR_BYTES]
    text = shown.decode("utf-8", "replace").strip()[:_ERROR_CHARS]
    return jsonrpc.encode(
        {"content": [_said(f"{said}\n{text}" if text else said)], "isError": True}
    )


def _block(media: str, body: bytes, uri: str, most: int) -> Generator[None, None, dict[str, Any]]:
    kind = media.partition("/")[0]
    text = None if kind in _WHOLE else _text_of(body)
    if text is not None:
        return (yield from _text(text, most))
    if len(body) // 3 * 4 > most:
        raise TooLarge
    yield
    if kind in _WHOLE:
        return {"type": kind, "data": b64encode(body).decode(), "mimeType": media}
    held = {"uri": uri, "mimeType": media or "application/octet-stream"}
    return {"type": "resource", "resource": {**held, "blob": b64encode(body).decode()}}


def _text_of(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _text(text: str, most: int) -> Generator[None, None, dict[str, Any]]:
    """A text, written piece by piece: nearly every character may need an escape."""
    pieces = []
    for at in range(0, len(text), _PIECE):
        yield
        pieces.append(jsonrpc.encode(text[at : at + _PIECE])[1:-1])
        most -= len(pieces[-1])
        if most < 0:
            raise TooLarge
    yield
    return {"type": "text", "text": Raw(b'"%b"' % b"".join(pieces))}


def _said(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
