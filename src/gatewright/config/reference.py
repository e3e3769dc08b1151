"""Reads each key of a `mgp.toml` table (type, unit, default, docstring) from its validating struct, for writers of JSON Schema and docs.

The JSON Schema (`schema`) and the pages of docs/configuration say what this module finds. Sentences are the docstrings
below the fields of a shape. Python does not keep those, so they are read from its source: by the commands that write
schema and pages, never by a running gateway.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta

__all__ = ["Key", "keys_of", "literal", "paragraphs", "sentences"]

_WORDS: Mapping[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "float",
    str: "string",
    datetime: "offset date-time",
    Any: "any value",
}
"""What TOML calls the types."""


class Key(msgspec.Struct, frozen=True):
    """One key of a table."""

    name: str
    kind: str
    """Its type in the words of TOML, with the values that are allowed, as Markdown."""
    unit: str
    default: str
    """As TOML, in backticks; `required` and `unset` without them; empty where the default is another table's."""
    sentence: str


def keys_of(shape: type[msgspec.Struct]) -> Iterator[Key]:
    """The keys of a table in the order of its shape; one without a docstring has an empty sentence."""
    said = sentences(shape)
    for field in msgspec.structs.fields(shape):
        default = _default(field)
        yield Key(
            field.name, _kind(field.type), _unit(field.type), default, said.get(field.name, "")
        )


def paragraphs(shape: type[msgspec.Struct]) -> list[str]:
    """The docstring of a table, each of its paragraphs on one line; the first says what the table is."""
    return [_line(one) for one in inspect.cleandoc(shape.__doc__ or "").split("\n\n")]


def sentences(shape: type[msgspec.Struct]) -> dict[str, str]:
    """Key → the docstring below its field, on one line."""
    found = {}
    for field, below in pairwise(_bodies(inspect.getfile(shape))[shape.__name__]):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            text = below.value.value if isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                found[ast.unparse(field.target)] = _line(text)
    return found


def literal(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {literal(one)}' for key, one in value.items())}}}"
    return msgspec.json.encode(value).decode()


@cache
def _bodies(path: str) -> dict[str, list[ast.stmt]]:
    """Class → what stands in it, of one module."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return {node.name: node.body for node in tree.body if isinstance(node, ast.ClassDef)}


def _line(text: str) -> str:
    return " ".join(text.split())


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default
    if value is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is msgspec.NODEFAULT:
        return "required"
    if isinstance(value, msgspec.Struct):
        return ""
    return "unset" if value is None else f"`{literal(value)}`"


def _kind(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in {Union, types.UnionType}:
        return " or ".join(_kind(one) for one in inner if one is not types.NoneType)
    if origin is Annotated:
        return _bounded(inner[0], next(one for one in inner[1:] if isinstance(one, Meta)))
    if origin is Literal:
        return ", ".join(f"`{literal(one)}`" for one in inner)
    if origin is tuple:
        return f"array of {_kind(inner[0])}"
    if origin is dict:
        return f"table of {_kind(inner[1])}"
    return _WORDS.get(kind, "table")


def _bounded(bare: Any, meta: Meta) -> str:
    word = _kind(bare)
    if meta.description:
        return f"{word}: {meta.description}"
    if meta.pattern:
        pattern = meta.pattern.replace("\\A", "^").replace("\\Z", "$")
        return f"{word} that matches `{pattern}`"
    return word + _lengths(bare, meta) + _range(meta)


def _lengths(bare: Any, meta: Meta) -> str:
    of = "characters" if bare is str else "elements"
    if meta.max_length is not None:
        return f", {meta.min_length or 0} to {meta.max_length} {of}"
    return ", not empty" if meta.min_length else ""


def _range(meta: Meta) -> str:
    least = f"above {meta.gt}" if meta.gt is not None else meta.ge
    if least is None:
        return ""
    return f", {least} to {_number(meta.le)}"


def _number(most: Any) -> str:
    """A bound; a large power of two, which is there only to be one, as a power."""
    if isinstance(most, int) and most >= 2**32 and most & (most - 1) == 0:
        return f"2^{most.bit_length() - 1}"
    return f"{int(most) if most == int(most) else most}"


def _unit(kind: Any) -> str:
    for one in get_args(kind):
        extra = one.extra if isinstance(one, Meta) else None
        unit = (extra or {}).get("unit", "") or _unit(one)
        if unit:
            return str(unit)
    return ""
