"""Converts return values of authors' functions to MCP results: resource contents, prompt messages, completions."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

from gatewright.sdk.content import is_content
from gatewright.sdk.encoding import json_text, to_json
from gatewright.sdk.errors import SerializationError
from gatewright.sdk.server.resources_and_prompts import ResourceOffer

__all__ = ["completion_of", "contents_of", "messages_of"]

_PROPOSALS = 100
"""How many proposals one answer may carry (MCP, completion/complete)."""


def contents_of(offer: ResourceOffer, uri: str, given: Any) -> list[dict[str, Any]]:
    """The contents of `resources/read`: text and bytes as they are, any other value as its JSON text.

    Raises `SerializationError` for what has no JSON form.
    """
    if isinstance(given, str):
        return [_content(uri, offer.mime_type or "text/plain", text=given)]
    if isinstance(given, bytes | bytearray):
        blob = base64.b64encode(given).decode()
        return [_content(uri, offer.mime_type or "application/octet-stream", blob=blob)]
    _, text = json_text(given, f"what the resource {uri} returned")
    return [_content(uri, offer.mime_type or "application/json", text=text)]


def _content(uri: str, mime_type: str, **value: str) -> dict[str, Any]:
    return {"uri": uri, "mimeType": mime_type, **value}


def messages_of(name: str, given: Any) -> list[dict[str, Any]]:
    """The messages of `prompts/get`: a text or a content block is one message of the user; a list may mix these with
    messages (`{"role": …, "content": …}`) and pairs of role and text. Raises `SerializationError`."""
    found = given if isinstance(given, list | tuple) and not _is_pair(given) else [given]
    return [_message(name, one) for one in found]


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and given[0] in ("user", "assistant")


def _message(name: str, one: Any) -> dict[str, Any]:
    if _is_pair(one):
        return {"role": one[0], "content": _block(name, one[1])}
    if isinstance(one, Mapping) and "role" in one and "content" in one:
        return {"role": one["role"], "content": _block(name, one["content"])}
    return {"role": "user", "content": _block(name, one)}


def _block(name: str, one: Any) -> dict[str, Any]:
    if isinstance(one, str):
        return {"type": "text", "text": one}
    if is_content(one):
        return dict(one.to_json())
    if isinstance(one, Mapping) and isinstance(one.get("type"), str):
        return dict(to_json(dict(one)))
    raise SerializationError(
        f"prompt {name} returned {type(one).__name__}, which is no message",
        advice="Return a text, a content block, or a list of messages with role and content",
    )


def completion_of(given: Any) -> dict[str, Any]:
    """The result of `completion/complete`. Raises `SerializationError` for anything but texts."""
    values = (
        list(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else None
    )
    if values is None or not all(isinstance(one, str) for one in values):
        raise SerializationError(
            "a completion has to give texts", advice="Return a list of strings"
        )
    return {
        "completion": {
            "values": values[:_PROPOSALS],
            "total": len(values),
            "hasMore": len(values) > _PROPOSALS,
        }
    }
