"""Converts a Python type hint to JSON Schema and a decoder from the checked JSON value.

Theory: one walk over the hint makes both, so that what a schema lets in is what the function can be given.
Where JSON already has the value (a string for `str`) there is no way to go and none is paid for. Schemas are
written out in place; only a type that contains itself becomes a `$ref`, because many models read none.

What cannot be said in JSON raises `UnsayableError` with what to write instead; the caller knows which parameter it was.
"""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from gatewright.sdk.constraints import Constraint, merged
from gatewright.sdk.foreign_types import foreign_shape, is_foreign, meta_keywords
from gatewright.sdk.scalars import literal_schema, scalar_of

__all__ = ["Decode", "Shape", "Shapes", "UnsayableError"]

Decode = Callable[[Any], Any]


class UnsayableError(TypeError):
    """A hint that has no JSON form."""


class Shape(NamedTuple):
    """The schema of a hint, and how a value that fits it becomes the Python value; None where it is one."""

    schema: dict[str, Any]
    decode: Decode | None = None


_LISTS = (list, Sequence, Iterable, typing.Sequence, typing.Iterable)
_SETS = (set, frozenset, AbstractSet)
_UNIONS = (typing.Union, types.UnionType)


class Shapes:
    """The shapes of one schema document. `defs` are the definitions that its `$ref`s mean."""

    def __init__(self, *, output: bool = False) -> None:
        """`output` asks models for the schema of what they write instead of what they read."""
        self._output = output
        self.defs: dict[str, dict[str, Any]] = {}
        self._open: dict[Any, str] = {}
        self._recursive: set[str] = set()
        self._decoders: dict[str, Decode | None] = {}

    def of(self, hint: Any) -> Shape:
        """The shape of a hint that `typing.get_type_hints(…, include_extras=True)` gave."""
        if hint is Any or hint is object:
            return Shape({})
        found = scalar_of(hint)
        if found is not None:
            return Shape(*found)
        if hint is None or hint is type(None):
            return Shape({"type": "null"})
        origin = typing.get_origin(hint)
        return self._class(hint) if origin is None else self._generic(hint, origin)

    def _generic(self, hint: Any, origin: Any) -> Shape:
        arguments = typing.get_args(hint)
        if origin is typing.Annotated:
            return self._annotated(hint, arguments[0], arguments[1:])
        if origin is typing.Literal:
            return Shape(literal_schema(arguments))
        if origin in _UNIONS:
            return self._union(arguments)
        if origin in {typing.Required, typing.NotRequired}:
            return self.of(arguments[0])
        return self._collection(hint, origin, arguments)

    def _collection(self, hint: Any, origin: Any, arguments: Sequence[Any]) -> Shape:
        if origin in _LISTS:
            return self._array(arguments[0], list)
        if origin in _SETS:
            return self._array(arguments[0], frozenset if origin is frozenset else set)
        if origin is tuple:
            return self._tuple(arguments)
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return self._mapping(*arguments)
        return self._foreign_or_not(hint, origin)

    def _class(self, hint: Any) -> Shape:
        if hint in _LISTS or hint is tuple:
            return self._array(Any, tuple if hint is tuple else list)
        if hint in _SETS:
            return self._array(Any, frozenset if hint is frozenset else set)
        if isinstance(hint, type) and hint is not str and issubclass(hint, Mapping):
            return self._mapping(str, Any) if not typing.is_typeddict(hint) else self._members(hint)
        if typing.is_typeddict(hint):
            return self._members(hint)
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return _enum(hint)
        if isinstance(hint, typing.NewType):
            return self.of(hint.__supertype__)
        if hasattr(hint, "__value__"):  # `type X = …` of Python 3.12
            return self.of(hint.__value__)
        return self._foreign_or_not(hint, hint)

    def _foreign_or_not(self, hint: Any, origin: Any) -> Shape:
        if is_foreign(origin):
            return self._hoisted(hint)
        if dataclasses.is_dataclass(origin) and isinstance(origin, type):
            return self._members(origin)
        name = getattr(hint, "__name__", repr(hint))
        raise UnsayableError(
            f"{name} has no JSON form; use str, int, float, bool, list, dict, Literal, an enum, a TypedDict, "
            "a dataclass or a pydantic model"
        )

    def _hoisted(self, hint: Any) -> Shape:
        schema, decode = foreign_shape(hint, self.defs, output=self._output)
        return Shape(schema, decode)

    def _annotated(self, hint: Any, inner: Any, notes: Sequence[Any]) -> Shape:
        if any(is_foreign(note) for note in notes):
            return self._hoisted(hint)
        shape = self.of(inner)
        schema, decode = shape
        kind = _kind(schema)
        for note in notes:
            if isinstance(note, str):
                schema = {**schema, "description": note}
            elif isinstance(note, Constraint):
                schema = merged(schema, note.keywords(kind))
            else:
                schema = merged(schema, meta_keywords(note, kind))
        return Shape(schema, decode)

    def _union(self, members: Sequence[Any]) -> Shape:
        shapes = [self.of(one) for one in members]
        schema = {"anyOf": [one.schema for one in shapes]}
        if all(one.decode is None for one in shapes):
            return Shape(schema)
        return Shape(schema, _first_that_fits(shapes, self.defs))

    def _array(self, item: Any, make: Callable[[Iterable[Any]], Any]) -> Shape:
        inner = self.of(item)
        schema: dict[str, Any] = {"type": "array", "items": inner.schema}
        # A set would silently drop what stands twice.
        if make in {set, frozenset}:
            schema["uniqueItems"] = True
        decode = inner.decode
        if decode is not None:
            return Shape(schema, lambda value: make(map(decode, value)))
        return Shape(schema, None if make is list else make)

    def _tuple(self, arguments: Sequence[Any]) -> Shape:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return self._array(arguments[0], tuple)
        # `tuple[()]`: some versions of Python give no argument, others one that is empty.
        if arguments in ((), ((),)):
            arguments = ()
        shapes = [self.of(one) for one in arguments]
        count = len(shapes)
        schema = {
            "type": "array",
            "prefixItems": [one.schema for one in shapes],
            "minItems": count,
            "maxItems": count,
        }
        decoders = [one.decode for one in shapes]
        return Shape(
            schema,
            lambda value: tuple(
                one if decode is None else decode(one)
                for one, decode in zip(value, decoders, strict=True)
            ),
        )

    def _mapping(self, key: Any, value: Any) -> Shape:
        keys, values = self.of(key), self.of(value)
        if _kind(keys.schema) != "string":
            raise UnsayableError("the keys of a JSON object are text; use dict[str, …]")
        schema: dict[str, Any] = {"type": "object", "additionalProperties": values.schema or True}
        if keys.schema != {"type": "string"}:
            schema["propertyNames"] = keys.schema
        of_key, of_value = keys.decode or _same, values.decode or _same
        if of_key is _same and of_value is _same:
            return Shape(schema)
        return Shape(schema, lambda found: {of_key(k): of_value(v) for k, v in found.items()})

    def _members(self, owner: type) -> Shape:
        # The type contains itself: only then there is a `$ref`.
        if owner in self._open:
            name = self._open[owner]
            self._recursive.add(name)
            return Shape({"$ref": f"#/$defs/{name}"}, lambda value: self._late(name, value))
        name = self._open[owner] = self._free_name(owner.__name__)
        schema, decode = self._object(owner)
        del self._open[owner]
        self._decoders[name] = decode
        if name in self._recursive:
            self.defs[name] = schema
            return Shape({"$ref": f"#/$defs/{name}"}, decode)
        return Shape(schema, decode)

    def _late(self, name: str, value: Any) -> Any:
        # Asked for at the call: while a type is open its decoder is not made yet.
        decode = self._decoders[name]
        return value if decode is None else decode(value)

    def _free_name(self, name: str) -> str:
        taken = {*self.defs, *self._open.values()}
        return name if name not in taken else self._free_name(f"{name}_")

    def _object(self, owner: type) -> Shape:
        try:
            hints = typing.get_type_hints(owner, include_extras=True)
        except NameError as problem:
            raise UnsayableError(
                f"the type hints of {owner.__name__} cannot be read: {problem}; import every name that a hint uses at "
                "the top of its module"
            ) from problem
        fields = _fields(owner)
        shapes = {name: self.of(hints[name]) for name in fields}
        properties: dict[str, Any] = {}
        for name, default in fields.items():
            properties[name] = dict(shapes[name].schema)
            if default is not _REQUIRED and default is not _OPTIONAL:
                properties[name]["default"] = default
        schema: dict[str, Any] = {
            "type": "object",
            "properties": properties,
            "required": [name for name, default in fields.items() if default is _REQUIRED],
        }
        if not self._output:  # what is returned may be of a subclass, or have members that are made
            schema["additionalProperties"] = False
        decoders = {name: one.decode for name, one in shapes.items() if one.decode is not None}
        plain = typing.is_typeddict(owner)
        if plain and not decoders:
            return Shape(schema)

        def decode(value: dict[str, Any]) -> Any:
            found = {k: decoders[k](v) if k in decoders else v for k, v in value.items()}
            return found if plain else owner(**found)

        return Shape(schema, decode)


_REQUIRED = object()
_OPTIONAL = object()


def _fields(owner: type) -> dict[str, Any]:
    """Member → its default in JSON, or whether it has to be there."""
    if typing.is_typeddict(owner):
        hints = typing.get_type_hints(owner, include_extras=True)
        return {name: _presence(owner, name, hint) for name, hint in hints.items()}
    found: dict[str, Any] = {}
    for one in dataclasses.fields(owner):
        if not one.init:
            continue
        if one.default is not dataclasses.MISSING:
            plain = isinstance(one.default, str | int | float | bool | None)
            found[one.name] = one.default if plain else _OPTIONAL
        else:
            factory = one.default_factory is not dataclasses.MISSING
            found[one.name] = _OPTIONAL if factory else _REQUIRED
    return found


def _presence(owner: type, name: str, hint: Any) -> object:
    """`__required_keys__` is wrong where annotations are strings, so the hint itself has the first word."""
    origin = typing.get_origin(hint)
    if origin in {typing.Required, typing.NotRequired}:
        return _REQUIRED if origin is typing.Required else _OPTIONAL
    required: frozenset[str] = getattr(owner, "__required_keys__", frozenset())
    return _REQUIRED if name in required else _OPTIONAL


def _enum(owner: type[enum.Enum]) -> Shape:
    return Shape(literal_schema([one.value for one in owner]), owner)


def _kind(schema: Mapping[str, Any]) -> str:
    """The JSON type that lengths and bounds are about."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    for one in schema.get("anyOf", ()):
        if one.get("type") not in {None, "null"}:
            return str(one["type"])
    return "string"


def _first_that_fits(shapes: Sequence[Shape], defs: dict[str, dict[str, Any]]) -> Decode:
    """The decoder of the first member whose schema the value satisfies and whose decoder takes it."""
    checks: list[Callable[[Any], Any]] = []

    def decode(value: Any) -> Any:
        if not checks:
            from gatewright.schemas.schema import compile_schema

            checks.extend(compile_schema({**one.schema, "$defs": defs}).objection for one in shapes)
        problem: Exception | None = None
        for shape, objection in zip(shapes, checks, strict=True):
            if objection(value) is not None:
                continue
            try:
                return value if shape.decode is None else shape.decode(value)
            except Exception as found:  # noqa: BLE001 - an author's class may raise anything
                problem = found
        raise problem or ValueError("fits none of the alternatives")

    return decode


def _same(value: Any) -> Any:
    return value
