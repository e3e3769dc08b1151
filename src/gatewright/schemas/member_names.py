"""Rejects argument members that a case-insensitive or loose parser would take for a known parameter.

Theory: a schema, a validator and a person judge `command`; a decoder that minds neither case nor separators lets a `Command`
beside it win. So at each place for which names are known (the properties of a schema, the steps of pointers) a member that is none
of them and reads as one is refused, and so are two unknown ones that read alike. Where nothing is known, as in a table of
words, names are data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gatewright.mcp.wire.spellings import fold
from gatewright.schemas.graph import Graph, Schema
from gatewright.schemas.json_strings import Place, pointer
from gatewright.schemas.objection import Objection

__all__ = ["RULE", "PointedNames", "SchemaNames", "misread_among"]

RULE = "names"
_TOO_MANY = "has more members than are compared with the names that the tool knows"
_LOOKED_AT = 2_000_000
"""Parts of a schema, and members, that are looked at for one value; a schema's own budget is as large."""
_BESIDE = 10_000
"""Members beside what a pointer leads to."""
_KEPT = 1000
_CHARS = 256
_OF_TABLES = ("additionalProperties", "patternProperties", "unevaluatedProperties")
_SIMPLE = frozenset(
    ("type", "description", "title", "default", "enum", "const", "format", "pattern")
)
_SIMPLE |= {"minLength", "maxLength", "minimum", "maximum", "examples", "x-mcp-header"}


def misread_among(members: Iterable[str], known: frozenset[str], *, among: bool = True) -> str:
    """What is said of the first member that reads as a known one, or `among` the others as one before it; empty where none does.
    Numbers read as nothing else."""
    strange = [one for one in members if one not in known and len(one) <= _CHARS]
    read = {fold(one): one for one in known} if strange else {}
    for name in strange:
        folded = fold(name)
        other = read.get(folded)
        if folded.isdigit() or not folded:
            continue
        if other is not None:
            return f"has {name!a}, which reads as {other!a}"
        if among:
            read[folded] = name
    return ""


class _At:
    """What is known of one place: the parts of the schema that judge it, and its names."""

    __slots__ = ("names", "parts", "table")

    def __init__(self, parts: Sequence[Schema]) -> None:
        self.parts = parts
        self.table = any(isinstance(part.get(one), dict) for part in parts for one in _OF_TABLES)
        """Whether further names are data."""
        self.names = frozenset(name for part in parts for name in _object(part.get("properties")))


class SchemaNames:
    """The names of one schema. `plain` are those behind which there are none: arguments that have no others are as they should be."""

    __slots__ = ("_graph", "_known", "_root", "plain")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[tuple[int, ...], _At] = {}
        self._root = self._at([graph.root])
        given = (_object(part.get("properties")) for part in self._root.parts)
        self.plain = self._root.names - {
            name for one in given for name, part in one.items() if not _is_simple(part)
        }

    def objection(self, value: Any) -> Objection | None:
        """The first member in a decoded JSON value that reads as another."""
        left = _LOOKED_AT
        stack: list[tuple[Place | None, Any, _At]] = [(None, value, self._root)]
        while stack:
            place, found, at = stack.pop()
            compared = type(found) is dict and bool(at.names or place is None)
            left -= len(at.parts) + (len(found) if compared else 0)
            if left < 0:
                return Objection(_where(place), RULE, _TOO_MANY)
            said = misread_among(found, at.names, among=not at.table) if compared else ""
            if said:
                return Objection(_where(place), RULE, said)
            for step, one in _inside(found):
                below = self._below(at, step)
                if below.parts:
                    stack.append((Place(place, step), one, below))
        return None

    def _at(self, parts: Iterable[Schema]) -> _At:
        """The place that some parts of the schema judge, with all that they refer to."""
        found: dict[int, Schema] = {}
        waiting = [*parts]
        key = tuple(sorted({id(one) for one in waiting}))
        if key in self._known:
            return self._known[key]
        while waiting:
            one = waiting.pop()
            if id(one) not in found:
                found[id(one)] = one
                waiting.extend(self._graph.same_place(one))
        if len(self._known) >= _KEPT:
            self._known.clear()
        self._known[key] = at = _At([*found.values()])
        return at

    def _below(self, at: _At, step: str | int) -> _At:
        """A place one level down."""
        named = at.names if isinstance(step, str) else ()
        parts: list[Schema] = []
        for part in at.parts:
            if step in named:
                one = _object(part.get("properties")).get(str(step))
                parts += [one] if isinstance(one, dict) else []
            else:
                parts += self._graph.below(part)
                if isinstance(step, int):
                    parts += self._graph.one_of_below(part)[1]
        return self._at(parts)


class PointedNames:
    """The names that some JSON pointers are made of."""

    __slots__ = ("_first", "_pointers", "plain")

    def __init__(self, pointers: Sequence[Sequence[str]]) -> None:
        self._pointers = tuple(pointers)
        self._first = frozenset(one[0] for one in pointers if one)
        self.plain = self._first - {one[0] for one in pointers if len(one) > 1}
        """Arguments that have no other members are as they should be."""

    def objection(self, value: Any) -> Objection | None:
        """The first member on the way to what they point at that reads as a step of theirs."""
        for steps in self._pointers:
            place, here = None, value
            for step in steps:
                said = _beside(here, step, self._first if place is None else frozenset((step,)))
                if said:
                    return Objection(_where(place), RULE, said)
                here = _step(here, step)
                place = Place(place, step)
        return None


def _beside(found: Any, step: str, known: frozenset[str]) -> str:
    if type(found) is not dict:
        return ""
    if len(found) > _BESIDE:
        return _TOO_MANY
    wanted = fold(step)
    for name in found:
        if name not in known and len(name) <= _CHARS and fold(name) == wanted:
            return f"has {name!a}, which reads as {step!a}"
    return ""


def _step(found: Any, step: str) -> Any:
    if isinstance(found, list):
        return found[int(step)] if step.isdecimal() and int(step) < len(found) else None
    return found.get(step) if isinstance(found, dict) else None


def _inside(found: Any) -> Iterator[tuple[str | int, Any]]:
    """The objects and lists right inside a value."""
    if type(found) is dict:
        yield from ((name, one) for name, one in found.items() if type(one) in (dict, list))
    elif type(found) is list:
        yield from ((at, one) for at, one in enumerate(found) if type(one) in (dict, list))


def _is_simple(part: Any) -> bool:
    return not isinstance(part, dict) or part.keys() <= _SIMPLE


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _where(place: Place | None) -> str:
    return "" if place is None else pointer(place.path())
