"""Content blocks that a tool may return: text, image, audio, embedded resource and resource link.

Text has a `text`; a picture and sound have base64 `data` and a `mimeType`; a resource has its own contents
(MCP 2025-06-18 and later). A plain value needs none of these: it becomes a text block by itself.
"""

from __future__ import annotations

import base64
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Audio", "Content", "Image", "Link", "Resource", "Text", "is_content"]


@dataclass(frozen=True, slots=True)
class Text:
    """A block of text."""

    text: str

    def to_json(self) -> dict[str, Any]:
        """The content block."""
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its bytes and their media type."""

    data: bytes
    mime_type: str = "image/png"

    def to_json(self) -> dict[str, Any]:
        """The content block."""
        return {"type": "image", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Audio:
    """Sound: its bytes and their media type."""

    data: bytes
    mime_type: str = "audio/wav"

    def to_json(self) -> dict[str, Any]:
        """The content block."""
        return {"type": "audio", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True, slots=True)
class Resource:
    """The contents of something that has a URI: text, or bytes."""

    uri: str
    contents: str | bytes
    mime_type: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The content block."""
        inner: dict[str, Any] = {"uri": self.uri}
        if self.mime_type:
            inner["mimeType"] = self.mime_type
        if isinstance(self.contents, bytes):
            inner["blob"] = _base64(self.contents)
        else:
            inner["text"] = self.contents
        return {"type": "resource", "resource": inner}


@dataclass(frozen=True, slots=True)
class Link:
    """Where something can be read that is not sent along."""

    uri: str
    name: str
    description: str = ""
    mime_type: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The content block."""
        found: dict[str, Any] = {"type": "resource_link", "uri": self.uri, "name": self.name}
        if self.description:
            found["description"] = self.description
        if self.mime_type:
            found["mimeType"] = self.mime_type
        return found


Content = Text | Image | Audio | Resource | Link
"""One content block."""

_KINDS = typing.get_args(Content)


def is_content(what: Any) -> bool:
    """Whether a value, or a return type, is content: a block, or a list or tuple of blocks."""
    if isinstance(what, _KINDS) or what in _KINDS or what == Content:
        return True
    if isinstance(what, list | tuple):
        return bool(what) and all(isinstance(one, _KINDS) for one in what)
    if typing.get_origin(what) in {list, tuple, Sequence, typing.Union, types.UnionType}:
        return all(is_content(one) for one in typing.get_args(what) if one is not Ellipsis)
    return False


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
