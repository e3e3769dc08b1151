"""`Result` of a tool run: content blocks, structured content and the value, checked against the output schema.

A mapping is its own structure; any other value, and a mapping where the return type allows other values besides,
stands in a member `result`, because MCP wants an object. The text block of structured data is its JSON text, for those who read only text (decision C-35).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gatewright.sdk.content import Content, Text, is_content
from gatewright.sdk.encoding import json_text
from gatewright.sdk.errors import SerializationError
from gatewright.sdk.tool import Tool

__all__ = ["Result", "result_of", "tool_failure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The outcome of a call that reached its tool."""

    content: tuple[dict[str, Any], ...] = ()
    """MCP content blocks."""
    structured: dict[str, Any] | None = None
    value: Any = None
    """What the tool returned, as a JSON value; None where it returned content blocks."""
    is_error: bool = False
    """The tool ran and failed. What it said stands in the content."""
    warnings: tuple[str, ...] = ()
    """What the caller should know besides: that the tool is deprecated."""
    meta: Mapping[str, Any] | None = None
    """`_meta` of the result: for programs, under names with a prefix of one's own."""

    @property
    def text(self) -> str:
        """All text blocks, one under the other."""
        return "\n".join(one["text"] for one in self.content if one.get("type") == "text")

    def to_json(self) -> dict[str, Any]:
        """The result object of `tools/call`."""
        found: dict[str, Any] = {"content": list(self.content), "isError": self.is_error}
        if self.structured is not None:
            found["structuredContent"] = self.structured
        if self.warnings or self.meta:
            found["_meta"] = dict(self.meta or {})
        if self.warnings:
            found["_meta"]["gatewright/warnings"] = list(self.warnings)
        return found


def result_of(tool: Tool, given: Any) -> Result:
    """The result of what a function returned, checked against the output schema.

    Raises `SerializationError` for what has no JSON form and for what the schema does not allow.
    """
    warnings = _warnings(tool)
    if isinstance(given, Result):
        # What failed has no structure to promise.
        if tool.output_schema is not None and not given.is_error:
            _check(tool, given.structured)
        return replace(given, warnings=(*warnings, *given.warnings)) if warnings else given
    if is_content(given):
        # Blocks have no structure, so what promises one must not return them alone.
        if tool.output_schema is not None:
            _check(tool, None)
        blocks: Iterable[Content] = given if isinstance(given, list | tuple) else (given,)
        return Result(content=tuple(one.to_json() for one in blocks), warnings=warnings)
    value, text = json_text(given, f"what {tool.name} returned")
    structured = _structured(tool, value)
    if tool.output_schema is not None:
        _check(tool, structured)
    if value is None and structured is None:
        return Result(warnings=warnings)
    shown = value if isinstance(value, str) else text
    block = Text(shown).to_json()
    return Result(content=(block,), structured=structured, value=value, warnings=warnings)


def tool_failure(message: str) -> Result:
    """The result of a tool that failed with these words."""
    return Result(content=(Text(message).to_json(),), is_error=True)


def _structured(tool: Tool, value: Any) -> dict[str, Any] | None:
    if tool.wraps_result:
        return {"result": value}
    if isinstance(value, dict) or value is None:
        return value
    # A text has its text block already (C-35); any other value is structured, schema or not.
    return None if isinstance(value, str) else {"result": value}


def _check(tool: Tool, structured: dict[str, Any] | None) -> None:
    objection = tool.output_check().objection(structured)
    if objection is not None:
        raise SerializationError(
            f"what {tool.name} returned does not fit its output schema: "
            f"{objection.path or '/'}: {objection.message}",
            details={"tool_name": tool.name, "path": objection.path, "rule": objection.rule},
            advice="Return what the output schema says, or change the schema",
        )


def _warnings(tool: Tool) -> tuple[str, ...]:
    if tool.deprecated_in is None:
        return ()
    return (f"{tool.name} is deprecated since {tool.deprecated_in}",)
