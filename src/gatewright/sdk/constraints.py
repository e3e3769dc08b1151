"""Constraints (`Length`, `Pattern`, `MinValue`, `OneOf`, …) on fields and `Annotated` types, each of which becomes JSON Schema keywords.

Each becomes keywords of JSON Schema and nothing else, so that what the author wrote, what the model reads and
what is enforced are one thing. `AllOf`, `AnyOf` and `Not` compose.

    Ticker = Annotated[str, Pattern("^[A-Z]+$"), AnyOf(Length(1, 5), OneOf("INDEX"))]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

__all__ = [
    "AllOf",
    "AnyOf",
    "Constraint",
    "Length",
    "MaxLength",
    "MaxValue",
    "MinLength",
    "MinValue",
    "MultipleOf",
    "Not",
    "OneOf",
    "Pattern",
    "merged",
]

V = TypeVar("V")


@runtime_checkable
class Constraint(Protocol):
    """What narrows a value."""

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """The JSON Schema members for a value of JSON type `kind`; a length counts what that type has."""


_LENGTHS = {"array": ("minItems", "maxItems"), "object": ("minProperties", "maxProperties")}
_TEXT = ("minLength", "maxLength")


class _Bound(Generic[V]):
    """One value. No dataclass: making one takes longer than everything else in this module."""

    __slots__ = ("value",)

    def __init__(self, value: V) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.keywords() == self.keywords()

    def __hash__(self) -> int:
        return hash((type(self), self.value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """The JSON Schema members; each constraint says its own."""
        return {}


class MinLength(_Bound[int]):
    """At least so many characters, items or members."""

    __slots__ = ()

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """`minLength`, `minItems` or `minProperties`."""
        return {_LENGTHS.get(kind, _TEXT)[0]: self.value}


class MaxLength(_Bound[int]):
    """At most so many characters, items or members."""

    __slots__ = ()

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """`maxLength`, `maxItems` or `maxProperties`."""
        return {_LENGTHS.get(kind, _TEXT)[1]: self.value}


class Length(_Bound[int]):
    """Between `least` and `most` characters, items or members, both included."""

    __slots__ = ("most",)

    def __init__(self, least: int, most: int) -> None:
        super().__init__(least)
        self.most = most

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """Both bounds."""
        return MinLength(self.value).keywords(kind) | MaxLength(self.most).keywords(kind)


class Pattern(_Bound[str]):
    """A regular expression (ECMA-262) that the text contains; anchor it with `^` and `$` for all of it."""

    __slots__ = ()

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """`pattern`."""
        return {"pattern": self.value}


class MinValue(_Bound[float]):
    """At least this number."""

    __slots__ = ()

    def keywords(self, kind: str = "number") -> dict[str, Any]:
        """`minimum`."""
        return {"minimum": self.value}


class MaxValue(_Bound[float]):
    """At most this number."""

    __slots__ = ()

    def keywords(self, kind: str = "number") -> dict[str, Any]:
        """`maximum`."""
        return {"maximum": self.value}


class MultipleOf(_Bound[float]):
    """A whole number of times this number."""

    __slots__ = ()

    def keywords(self, kind: str = "number") -> dict[str, Any]:
        """`multipleOf`."""
        return {"multipleOf": self.value}


class OneOf:
    """One of these JSON values."""

    __slots__ = ("values",)

    def __init__(self, *values: Any) -> None:
        self.values = values

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """`enum`."""
        return {"enum": list(self.values)}


class _Composed:
    __slots__ = ("parts",)
    _keyword = ""

    def __init__(self, *parts: Constraint | Mapping[str, Any]) -> None:
        """Constraints, or schemas where no constraint says it."""
        self.parts = parts

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """The composition of the parts."""
        return {self._keyword: [_schema(one, kind) for one in self.parts]}


class AllOf(_Composed):
    """Every part holds."""

    __slots__ = ()
    _keyword = "allOf"


class AnyOf(_Composed):
    """At least one part holds."""

    __slots__ = ()
    _keyword = "anyOf"


class Not:
    """The part does not hold."""

    __slots__ = ("part",)

    def __init__(self, part: Constraint | Mapping[str, Any]) -> None:
        self.part = part

    def keywords(self, kind: str = "string") -> dict[str, Any]:
        """`not`."""
        return {"not": _schema(self.part, kind)}


def _schema(part: Constraint | Mapping[str, Any], kind: str) -> dict[str, Any]:
    return dict(part) if isinstance(part, Mapping) else part.keywords(kind)


def merged(schema: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Both together. A keyword that both have is not overwritten: then the second stands in `allOf`."""
    # Two patterns, say, both hold only in `allOf`: a keyword stands once in an object.
    if not any(name in schema and schema[name] != value for name, value in more.items()):
        return {**schema, **more}
    parts = [*schema.get("allOf", []), dict(more)]
    return {**schema, "allOf": parts}
