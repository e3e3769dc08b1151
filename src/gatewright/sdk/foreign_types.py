"""Converts pydantic models and msgspec structs to JSON Schema and decoders, and `annotated_types` metadata to schema keywords.

Nothing here imports those libraries unless the author did: a class is recognised by what it has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal

__all__ = ["foreign_shape", "is_foreign", "meta_keywords"]

_REF = "#/$defs/"


def is_foreign(what: Any) -> bool:
    """Whether pydantic or msgspec defines what this means: a model, a struct, or a pydantic note."""
    if isinstance(what, type):
        return hasattr(what, "__pydantic_core_schema__") or hasattr(what, "__struct_fields__")
    return type(what).__module__.partition(".")[0] == "pydantic"


def foreign_shape(
    hint: Any, defs: dict[str, dict[str, Any]], *, output: bool = False
) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    """The schema and the decoder of such a hint; its definitions go into `defs`, renamed where taken."""
    if hasattr(hint, "__struct_fields__"):
        return _struct(hint, defs)
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(hint)
    mode: Literal["serialization", "validation"] = "serialization" if output else "validation"
    schema = adapter.json_schema(ref_template=f"{_REF}{{model}}", mode=mode)
    # As JSON: a strict model takes no text for a time of Python, and bytes are what the schema says they are.
    return _with_defs(schema, schema.pop("$defs", {}), defs), _from_json(adapter.validate_json)


def _struct(
    hint: Any, defs: dict[str, dict[str, Any]]
) -> tuple[dict[str, Any], Callable[[Any], Any]]:
    import msgspec

    (schema,), own = msgspec.json.schema_components([hint], ref_template=f"{_REF}{{name}}")
    return _with_defs(schema, own, defs), _from_json(msgspec.json.Decoder(hint).decode)


def _from_json(read: Callable[[bytes], Any]) -> Callable[[Any], Any]:
    def decode(value: Any) -> Any:
        from gatewright.mcp.wire import jsonrpc

        return read(jsonrpc.encode(value))

    return decode


def _with_defs(
    schema: dict[str, Any], own: Mapping[str, Any], defs: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    # Two models of one name, from two modules, are two definitions.
    names = {name: _free(name, one, defs) for name, one in own.items()}
    renamed: dict[str, Any] = _renamed({"schema": schema, "own": dict(own)}, names)
    for name, one in renamed["own"].items():
        defs[names[name]] = one
    found: dict[str, Any] = renamed["schema"]
    only = found.get("$ref", "")
    # The root alone uses that definition, so it is written out in place: many models read no `$ref`.
    if set(found) == {"$ref"} and str(renamed["own"]).count(only) == 0:
        return defs.pop(only.removeprefix(_REF))
    return found


def _free(name: str, schema: Any, defs: Mapping[str, Any]) -> str:
    while name in defs and defs[name] != schema:
        name += "_"
    return name


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: _renamed(one, names) for key, one in value.items()}
    target = found.get("$ref")
    if isinstance(target, str) and target.startswith(_REF):
        name = target.removeprefix(_REF)
        found["$ref"] = _REF + names.get(name, name)
    return found


_BOUNDS = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "exclusiveMinimum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
    "title": "title",
    "description": "description",
    "documentation": "description",
    "examples": "examples",
}
_LENGTHS = {"array": "Items", "object": "Properties"}


def meta_keywords(note: Any, kind: str) -> dict[str, Any]:
    """The keywords that a note of `annotated_types`, `msgspec.Meta` or `typing_extensions.Doc` means.

    Raises `TypeError` for a predicate, which no schema can say. Any other note is for somebody else.
    """
    if type(note).__name__ == "Predicate" and type(note).__module__ == "annotated_types":
        raise TypeError("a Predicate has no JSON form; register a validator for the tool instead")
    found = {
        keyword: value
        for name, keyword in _BOUNDS.items()
        if (value := getattr(note, name, None)) is not None and _is_note(note)
    }
    for name, side in (("min_length", "min"), ("max_length", "max")):
        value = getattr(note, name, None)
        if value is not None and _is_note(note):
            found[side + _LENGTHS.get(kind, "Length")] = value
    return found


def _is_note(note: Any) -> bool:
    module = type(note).__module__.partition(".")[0]
    return module in {"annotated_types", "msgspec", "typing_extensions"} and module in sys.modules
