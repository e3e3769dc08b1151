"""Pydantic models `MCPToolCall` and `MCPToolResult` (one call and its outcome as JSON-RPC messages); `answer` runs a call.

Both are pydantic models that read and write the message as it stands on the wire. A call can also be made from a
name and arguments alone; then it makes its own id (decision C-40). What does not fit is a `ValidationError` of this
SDK, which is a `ValueError` like pydantic's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal, Self

import pydantic
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from gatewright.sdk.encoding import json_text
from gatewright.sdk.errors import ValidationError
from gatewright.sdk.registry import REGISTRY, Registry
from gatewright.sdk.result import Result

__all__ = [
    "ContentBlock",
    "MCPToolCall",
    "MCPToolResult",
    "ToolCallParams",
    "ToolOutcome",
    "answer",
]

_ids = itertools.count(1)


class _Message(BaseModel):
    """What both have in common: one error class, and JSON text in both directions."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """The message of a mapping. Raises `ValidationError`."""
        try:
            return super().model_validate(obj, **options)
        except pydantic.ValidationError as problem:
            raise _named(cls.__name__, problem) from problem

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """The message of a JSON text. Raises `ValidationError`."""
        try:
            return super().model_validate_json(json_data, **options)
        except pydantic.ValidationError as problem:
            raise _named(cls.__name__, problem) from problem

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """The same. Raises `ValidationError`."""
        return cls.model_validate_json(text)

    def to_json(self) -> dict[str, Any]:
        """The message as it stands on the wire."""
        return self.model_dump(by_alias=True, exclude_none=True)

    def to_text(self) -> str:
        """The message as JSON text. Raises `SerializationError` for a value that has none."""
        return json_text(self.to_json(), type(self).__name__)[1]


class ToolCallParams(BaseModel):
    """Which tool, and with what."""

    model_config = ConfigDict(frozen=True, extra="allow")

    name: StrictStr
    arguments: dict[str, Any] = Field(default_factory=dict)


class MCPToolCall(_Message):
    """A request for one run of one tool: `MCPToolCall(name="memory_put", arguments={…})`, or the whole message.

    Raises `ValidationError` where `params` is missing or anything is of a wrong type.
    """

    jsonrpc: Literal["2.0"] = "2.0"
    method: Literal["tools/call"] = "tools/call"
    id: StrictStr | StrictInt
    """Comes back with the result, as text or number as it was."""
    params: ToolCallParams

    def __init__(self, **members: Any) -> None:
        try:
            super().__init__(**_whole_call(members))
        except pydantic.ValidationError as problem:
            raise _named("MCPToolCall", problem) from problem

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.params.name

    @property
    def arguments(self) -> dict[str, Any]:
        """What the tool is given."""
        return self.params.arguments


class ContentBlock(BaseModel):
    """One block of content. Text needs `text`, a picture and sound `data` and `mimeType`, a resource its contents."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: Literal["text", "image", "resource", "audio", "resource_link"]
    text: str | None = None

    @pydantic.model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Self:
        extra = self.model_extra or {}
        missing = [one for one in _NEEDS[self.type] if one not in extra]
        if self.type == "text" and self.text is None:
            missing = ["text"]
        if missing:
            raise ValueError(f"{self.type} content needs {' and '.join(missing)}")
        return self


_NEEDS: dict[str, tuple[str, ...]] = {
    "text": (),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource": ("resource",),
    "resource_link": ("uri", "name"),
}


class ToolOutcome(BaseModel):
    """What a tool gave: content, whether that is an error, and structure where there is some."""

    model_config = ConfigDict(frozen=True, extra="allow")

    content: list[ContentBlock]
    isError: bool = False  # noqa: N815 - the name on the wire
    structuredContent: dict[str, Any] | None = None  # noqa: N815 - the name on the wire


class MCPToolResult(_Message):
    """The outcome of a tool call: the whole message, or `MCPToolResult(id=1, content=[…], isError=False)`."""

    jsonrpc: Literal["2.0"] = "2.0"
    id: StrictStr | StrictInt
    """That of the call."""
    result: ToolOutcome

    def __init__(self, **members: Any) -> None:
        try:
            super().__init__(**_whole_result(members))
        except pydantic.ValidationError as problem:
            raise _named("MCPToolResult", problem) from problem

    @classmethod
    def of(cls, call: MCPToolCall, result: Result) -> Self:
        """The answer to a call, from what the registry returned."""
        return cls(id=call.id, result=result.to_json())

    @property
    def content(self) -> list[ContentBlock]:
        """The blocks."""
        return self.result.content

    @property
    def isError(self) -> bool:  # noqa: N802 - the contract's name
        """Whether the tool ran and failed."""
        return self.result.isError


async def answer(call: MCPToolCall, registry: Registry = REGISTRY) -> MCPToolResult:
    """Run a call in a registry. Raises what `Registry.invoke` raises."""
    return MCPToolResult.of(call, await registry.invoke(call.name, call.arguments))


def _whole_call(members: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(members)
    if "tool_name" in found:
        found.setdefault("name", found.pop("tool_name"))
    named = {one: found.pop(one) for one in ("name", "arguments") if one in found}
    if named and "params" not in found:
        found = {"id": next(_ids), **found, "params": named}
    return found


def _whole_result(members: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(members)
    names = ("content", "isError", "structuredContent")
    inner = {one: found.pop(one) for one in names if one in found}
    if inner and "result" not in found:
        found["result"] = inner
    return found


def _named(model: str, problem: pydantic.ValidationError) -> ValidationError:
    for one in problem.errors(include_url=False, include_input=False):
        inner = one.get("ctx", {}).get("error")
        if isinstance(inner, ValidationError):
            return inner  # of our own `__init__`, which pydantic called
    errors = problem.errors(include_url=False, include_input=False, include_context=False)
    where = [".".join(map(str, one["loc"])) or "the message" for one in errors]
    said = "; ".join(f"{place}: {one['msg']}" for place, one in zip(where, errors, strict=True))
    return ValidationError(f"{model}: {said}", details={"model": model, "fields": where})
