"""Elicitation forms: makes a flat JSON Schema from a type, and decodes the user's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatewright.sdk.errors import ToolError
from gatewright.sdk.shapes import Shapes, UnsayableError

__all__ = ["read_form"]

_PLAIN = ("string", "number", "integer", "boolean", "array")


def read_form(form: Mapping[str, Any] | type[Any]) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """The schema, and what makes the content of an answer. Raises `ToolError` for what MCP's forms cannot say:
    they are objects whose members are texts, numbers, truth values, choices and lists of choices."""
    # Taken at its word: the caller's client judges whether it can show it.
    if isinstance(form, Mapping):
        return dict(form), lambda content: content
    shapes = Shapes()
    try:
        shape = shapes.of(form)
    except UnsayableError as problem:
        raise ToolError(f"the form cannot be shown: {problem}") from problem
    schema = _resolved(shape.schema, shapes.defs)
    members = schema.get("properties", {}).items()
    flat = {name: _without_null(_resolved(one, shapes.defs), shapes.defs) for name, one in members}
    for name, one in flat.items():
        if one.get("type") not in _PLAIN and "enum" not in one and "oneOf" not in one:
            raise ToolError(
                f"the form cannot be shown: {name} is no text, number, truth value or choice"
            )
    found = {"type": "object", "properties": flat, "required": list(schema.get("required", []))}
    return found, _decoder(shape.decode)


def _resolved(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    ref = schema.get("$ref")
    if isinstance(ref, str):
        return {**defs[ref.rpartition("/")[2]], **{k: v for k, v in schema.items() if k != "$ref"}}
    return dict(schema)


def _without_null(schema: dict[str, Any], defs: Mapping[str, Any]) -> dict[str, Any]:
    """A member that may be `None`, as a form has it: one that may be left empty."""
    options = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if len(options) != 1:
        return schema
    # A form has no `null`: a member that is left empty is left out.
    empty = "default" in schema and schema["default"] is None
    rest = {k: v for k, v in schema.items() if k != "anyOf" and not (empty and k == "default")}
    return {**_resolved(options[0], defs), **rest}


def _decoder(decode: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    def checked(content: Any) -> Any:
        try:
            return content if decode is None else decode(content)
        except (TypeError, ValueError, KeyError) as problem:
            raise ToolError(f"the user's answer does not fit the form: {problem}") from problem

    return checked
