"""Elicitation forms of SDK tools: makes a flat JSON Schema from a type, and validates and decodes the user's answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatewright.schemas.graph import UnusableSchema
from gatewright.sdk.errors import ToolError
from gatewright.sdk.shapes import Shapes, UnsayableError

__all__ = ["read_form"]

_PLAIN = ("string", "number", "integer", "boolean")


def read_form(form: Mapping[str, Any] | type[Any]) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """The schema, and what makes the content of an answer. Raises `ToolError` for what MCP's forms cannot say:
    they are objects whose members are texts, numbers, truth values, choices and lists of choices."""
    # Taken at its word: the caller's client judges whether it can show it.
    if isinstance(form, Mapping):
        return dict(form), _decoder(form, None)
    shapes = Shapes()
    try:
        shape = shapes.of(form)
    except UnsayableError as problem:
        raise ToolError(f"the form cannot be shown: {problem}") from problem
    schema = _resolved(shape.schema, shapes.defs)
    members = schema.get("properties", {}).items()
    flat = {name: _without_null(_resolved(one, shapes.defs), shapes.defs) for name, one in members}
    for name, one in flat.items():
        if isinstance(one.get("items"), Mapping):
            # A form takes no definitions along.
            one["items"] = _resolved(one["items"], shapes.defs)
        if not _is_sayable(one):
            raise ToolError(
                f"the form cannot be shown: {name} is no text, number, truth value, choice or list of choices"
            )
    found = {"type": "object", "properties": flat, "required": list(schema.get("required", []))}
    return found, _decoder(found, shape.decode)


def _is_sayable(schema: Mapping[str, Any]) -> bool:
    if schema.get("type") != "array":
        return schema.get("type") in _PLAIN or "enum" in schema or "oneOf" in schema
    # What is chosen of a list are texts (2025-11-25, ElicitResult).
    items = schema.get("items")
    inner = items if isinstance(items, Mapping) else {}
    titled = inner.get("anyOf") or inner.get("oneOf") or ()
    chosen = inner.get("enum") or [
        one.get("const") if isinstance(one, Mapping) else None for one in titled
    ]
    return bool(chosen) and all(isinstance(one, str) for one in chosen)


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


def _filled(content: Any, schema: Mapping[str, Any]) -> Any:
    """An answer without the members that were left empty: some clients say `null` for them, which no form has."""
    if not isinstance(content, dict):
        return content
    required = schema.get("required") or ()
    return {name: one for name, one in content.items() if one is not None or name in required}


def _decoder(
    schema: Mapping[str, Any], decode: Callable[[Any], Any] | None
) -> Callable[[Any], Any]:
    """What makes the content of an answer, once it fits the form: a client may send anything, also for what its user refused."""

    def checked(content: Any) -> Any:
        from gatewright.schemas.schema import compile_schema

        filled = _filled(content, schema)
        try:
            found = compile_schema(dict(schema)).objection(filled)
        except UnusableSchema as problem:
            raise ToolError(f"the form cannot be used: the schema {problem}") from problem
        if found is not None:
            where = f"{found.path}: " if found.path else ""
            raise ToolError(f"the user's answer does not fit the form: {where}{found.message}")
        try:
            return filled if decode is None else decode(filled)
        except (TypeError, ValueError, KeyError, AttributeError) as problem:
            raise ToolError(f"the user's answer does not fit the form: {problem}") from problem

    return checked
