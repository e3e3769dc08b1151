"""Typed views of servers' answers (tools, resources, prompts, results) that keep the raw JSON.

Each object holds the decoded JSON it was made of in `raw`, unknown members included, and reads from there: nothing that a server
said is lost because this release does not know it. Numbers that a float cannot hold keep their text (`mcp.wire.jsonrpc.Num`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from gatewright.mcp.protocol.negotiate import SECURITY_META
from gatewright.mcp.wire import jsonrpc
from gatewright.sdk.errors import SerializationError

__all__ = [
    "Completion",
    "Progress",
    "PromptInfo",
    "PromptResult",
    "Raw",
    "ResourceInfo",
    "ResourceResult",
    "ToolInfo",
    "ToolResult",
]

T = TypeVar("T")


class Raw:
    """An object of a server: `raw` is all of it."""

    __slots__ = ("raw",)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw: dict[str, Any] = dict(raw)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.raw == self.raw

    __hash__ = None  # type: ignore[assignment]

    @property
    def meta(self) -> dict[str, Any]:
        """`_meta`, empty where there is none."""
        return _object(self.raw.get("_meta"))

    def _text(self, name: str) -> str:
        found = self.raw.get(name)
        return found if isinstance(found, str) else ""


class _Named(Raw):
    """What a list shows."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """What it is called by in requests."""
        return self._text("name")

    @property
    def title(self) -> str:
        """What a person may be shown; the name where there is no title."""
        return self._text("title") or self.name

    @property
    def description(self) -> str:
        """What it is for, in the server's words; empty where it says nothing."""
        return self._text("description")


class ToolInfo(_Named):
    """One entry of `tools/list`."""

    __slots__ = ()

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return _object(self.raw.get("inputSchema"))

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """JSON Schema of `structuredContent`; None where the tool promises nothing."""
        found = self.raw.get("outputSchema")
        return found if isinstance(found, dict) else None

    @property
    def annotations(self) -> dict[str, Any]:
        """MCP's hints, which nobody has checked."""
        return _object(self.raw.get("annotations"))

    @property
    def security(self) -> dict[str, Any]:
        """MGP's security object (§4.3), or its mirror in `_meta` where a stack in between dropped it (C-50)."""
        return _object(self.raw.get("security")) or _object(self.meta.get(SECURITY_META))

    @property
    def repeatable(self) -> bool:
        """Whether the tool says of itself that calling it twice does no more than calling it once."""
        hints = self.annotations
        return hints.get("readOnlyHint") is True or hints.get("idempotentHint") is True


class ResourceInfo(_Named):
    """One entry of `resources/list` or of `resources/templates/list`."""

    __slots__ = ()

    @property
    def uri(self) -> str:
        """Its URI, or its template (RFC 6570)."""
        return self._text("uri") or self._text("uriTemplate")

    @property
    def mime_type(self) -> str:
        """Its media type; empty where the server does not say."""
        return self._text("mimeType")


class PromptInfo(_Named):
    """One entry of `prompts/list`."""

    __slots__ = ()

    @property
    def arguments(self) -> list[dict[str, Any]]:
        """What it can be filled with: name, description, required."""
        return _objects(self.raw.get("arguments"))


class ToolResult(Raw):
    """What a tool returned. `is_error` says that the tool ran and failed; protocol errors are raised instead."""

    __slots__ = ()

    @property
    def is_error(self) -> bool:
        """Whether the tool says that it failed."""
        return self.raw.get("isError") is True

    @property
    def content(self) -> list[dict[str, Any]]:
        """The content blocks: text, image, audio, resource, resource_link, or what comes later."""
        return _objects(self.raw.get("content"))

    @property
    def text(self) -> str:
        """All text blocks, one after the other, joined by newlines."""
        return "\n".join(one["text"] for one in self.content if isinstance(one.get("text"), str))

    @property
    def structured(self) -> Any:
        """`structuredContent`; None where there is none."""
        return self.raw.get("structuredContent")

    @property
    def value(self) -> Any:
        """What the function behind the tool returned, as far as it can be told: the structured content (without
        the wrapper `{"result": …}` around a single value), else the text read as JSON, else the text."""
        found = self.structured
        if isinstance(found, dict):
            # MCP wants an object, so a single value travels in a member `result`.
            return found["result"] if list(found) == ["result"] else found
        if found is not None:
            return found
        text = self.text
        try:
            return jsonrpc.decode_whole(text.encode())
        except ValueError:
            return text

    def as_type(self, kind: type[T]) -> T:
        """The value as a dataclass, msgspec struct, pydantic model, TypedDict or plain type.

        Raises `SerializationError` saying where the value does not fit.
        """
        validate = getattr(kind, "model_validate", None)
        try:
            if validate is not None:
                found: T = validate(self.value)
                return found
            return msgspec.convert(self.value, kind)
        except (msgspec.ValidationError, ValueError) as problem:
            raise SerializationError(
                f"the result is no {kind.__name__}: {problem}",
                advice="Compare the tool's outputSchema with the type that was asked for",
            ) from problem


class ResourceResult(Raw):
    """What `resources/read` answered."""

    __slots__ = ()

    @property
    def contents(self) -> list[dict[str, Any]]:
        """Each with `uri`, perhaps `mimeType`, and `text` or `blob` (base64)."""
        return _objects(self.raw.get("contents"))

    @property
    def text(self) -> str:
        """All text contents, joined by newlines."""
        return "\n".join(one["text"] for one in self.contents if isinstance(one.get("text"), str))


class PromptResult(Raw):
    """What `prompts/get` answered."""

    __slots__ = ()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Each with `role` and `content`."""
        return _objects(self.raw.get("messages"))


class Completion(Raw):
    """What `completion/complete` answered."""

    __slots__ = ()

    @property
    def values(self) -> list[str]:
        """At most 100 proposals."""
        found = _object(self.raw.get("completion")).get("values")
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


class Progress(Raw):
    """One `notifications/progress`."""

    __slots__ = ()

    @property
    def progress(self) -> float:
        """How far it is, in the server's own units; never decreases."""
        found = self.raw.get("progress")
        return float(found) if isinstance(found, int | float) else 0.0

    @property
    def total(self) -> float | None:
        """Where it ends, in the same units; None where nobody knows."""
        found = self.raw.get("total")
        return float(found) if isinstance(found, int | float) else None

    @property
    def message(self) -> str:
        """What a person may be shown; empty where there is nothing."""
        return self._text("message")


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _objects(found: Any) -> list[dict[str, Any]]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
