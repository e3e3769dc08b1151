"""What an API answered, as the result of a tool.

JSON stays the text it was: it is shown as text and stands as structured content, both without being
written anew. A status from 400 on is a tool's own error, so that a model reads what was wrong; so is a
redirect, which is never followed.
"""

from __future__ import annotations

from base64 import b64encode
from codecs import BOM_UTF8
from http import HTTPStatus
from typing import Any

import msgspec

from gatewright.wire import jsonrpc

__all__ = ["result_of"]

_ERROR_CHARS = 8000


def result_of(status: int, media: str, body: bytes, *, location: str = "", uri: str = "") -> bytes:
    """The JSON text of a tool's result. `media` is the bare media type, `uri` names what was asked."""
    if status >= 300:
        return _error(status, body, location)
    if not body:
        return jsonrpc.encode({"content": [_text(f"HTTP {status}, without a body")]})
    if media == "application/json" or media.endswith("+json"):
        body = body.removeprefix(BOM_UTF8)  # RFC 8259 §8.1: not to be sent, and often is
        try:
            jsonrpc.check(body)
            if not jsonrpc.is_utf8(body):
                raise ValueError("it is not UTF-8")
        except ValueError as problem:
            said = f"The API answered with JSON that cannot be read: {problem}"
            return jsonrpc.encode({"content": [_text(said)], "isError": True})
        return _structured(body)
    return jsonrpc.encode({"content": [_block(media, body, uri)]})


def _structured(body: bytes) -> bytes:
    text = body.strip()
    raw = msgspec.Raw(text)
    structured = raw if text[:1] == b"{" else {"result": raw}
    return jsonrpc.encode(
        {"content": [_text(body.decode("utf-8", "replace"))], "structuredContent": structured}
    )


def _error(status: int, body: bytes, location: str) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    said = f"HTTP {status} {phrase}".strip()
    if status < 400:
        said += f": a redirect{' to ' + location[:300] if location else ''} is not followed"
    text = body.decode("utf-8", "replace").strip()[:_ERROR_CHARS]
    return jsonrpc.encode(
        {"content": [_text(f"{said}\n{text}" if text else said)], "isError": True}
    )


def _block(media: str, body: bytes, uri: str) -> dict[str, Any]:
    kind = media.partition("/")[0]
    if kind in ("image", "audio"):
        return {"type": kind, "data": b64encode(body).decode(), "mimeType": media}
    try:
        return _text(body.decode())
    except UnicodeDecodeError:
        held = {"uri": uri, "mimeType": media or "application/octet-stream"}
        return {"type": "resource", "resource": {**held, "blob": b64encode(body).decode()}}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
