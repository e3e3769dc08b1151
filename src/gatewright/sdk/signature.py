"""`Signature`: a tool as explicit input and output fields with constraints; makes its JSON Schema and MCP definition.

The mapping to JSON Schema is a table: String, Integer, Float and Boolean with their machine types; a type
that is none of these is a string; a constraint that nobody knows is ignored. A field is required unless it has a
default or says that it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gatewright.sdk.constraints import Constraint, merged

__all__ = ["InputField", "McpToolDefinition", "OutputField", "Signature", "map_type"]

_TYPES: dict[str, str] = {
    "String": "string",
    "str": "string",
    "Integer": "integer",
    "int": "integer",
    "i32": "integer",
    "i64": "integer",
    "u32": "integer",
    "u64": "integer",
    "Float": "number",
    "float": "number",
    "f32": "number",
    "f64": "number",
    "Boolean": "boolean",
    "bool": "boolean",
}
_KEYWORDS = {
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "min_value": "minimum",
    "max_value": "maximum",
    "enum": "enum",
}


def map_type(name: str | type) -> str:
    """The JSON type of a field's type; `string` for a name that nobody knows."""
    return _TYPES.get(name.__name__ if isinstance(name, type) else name, "string")


class _Unset:
    """Says that there is no default, which is not the default None."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    type: str | type = "String"
    description: str = ""
    min_length: int | None = None
    """Characters."""
    max_length: int | None = None
    pattern: str | None = None
    """A regular expression (ECMA-262)."""
    min_value: float | None = None
    max_value: float | None = None
    enum: tuple[Any, ...] | list[Any] | None = None
    default: Any = UNSET
    required: bool | None = None
    """None: required unless there is a default."""
    constraints: Mapping[str, Any] | Iterable[Constraint] = field(default_factory=tuple)
    """More constraints: objects of `constraints`, or names and values, of which unknown ones are ignored."""

    @property
    def is_required(self) -> bool:
        """Whether a value has to be there."""
        return self.default is UNSET if self.required is None else self.required

    def to_json_schema(self) -> dict[str, Any]:
        """The property: type, description, and each constraint under its JSON Schema name."""
        kind = map_type(self.type)
        schema: dict[str, Any] = {"type": kind, "description": self.description}
        for name, keyword in _KEYWORDS.items():
            value = getattr(self, name)
            if value is not None:
                schema[keyword] = list(value) if name == "enum" else value
        for more in self._more(kind):
            schema = merged(schema, more)
        if self.default is not UNSET:
            schema["default"] = self.default
        return schema

    def _more(self, kind: str) -> Iterable[dict[str, Any]]:
        if isinstance(self.constraints, Mapping):
            known = self.constraints.items()
            yield {_KEYWORDS[name]: value for name, value in known if name in _KEYWORDS}
            return
        for one in self.constraints:
            if isinstance(one, Constraint):
                yield one.keywords(kind)


class InputField(_Field):
    """One argument of a tool."""

    __slots__ = ()


class OutputField(_Field):
    """One member of what a tool returns."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class McpToolDefinition:
    """A tool as MCP lists it."""

    name: str
    description: str
    input_schema: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The definition with its names on the wire: `inputSchema`."""
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
        }


@dataclass(frozen=True, slots=True)
class Signature:
    """What a tool is called, takes and gives."""

    name: str
    description: str = ""
    inputs: tuple[InputField, ...] | list[InputField] = ()
    outputs: tuple[OutputField, ...] | list[OutputField] = ()

    def to_json_schema(self) -> dict[str, Any]:
        """The input schema: an object of the input fields, and the names of those that have to be there."""
        return _object(self.inputs)

    def output_schema(self) -> dict[str, Any] | None:
        """The schema of what the tool returns, or None where no output field says anything."""
        return _object(self.outputs) if self.outputs else None

    def to_mcp_tool(self) -> McpToolDefinition:
        """Name, description and input schema."""
        return McpToolDefinition(self.name, self.description, self.to_json_schema())


def _object(found: Iterable[_Field]) -> dict[str, Any]:
    fields = tuple(found)
    return {
        "type": "object",
        "properties": {one.name: one.to_json_schema() for one in fields},
        "required": [one.name for one in fields if one.is_required],
    }
