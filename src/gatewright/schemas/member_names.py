"""Rejects argument members that a case-insensitive or loose parser reads as a known parameter or as each other; caches known names.

Theory: a schema, a validator and a person judge `command`; a decoder that minds neither case nor separators lets a `Command`
beside it win. So at each place for which names are known (the properties of a schema, the steps of pointers) a member that is none
of them and reads as one is refused, and so are two unknown ones that read alike. Where nothing is known, as in a table of
words, names are data.

What is known of a place is found out once for each way that leads to it, and how much is found out, folded and compared for one
value is counted: a schema can have a thousand parts that all judge one place, and a value five hundred objects in which each of a
thousand names would be looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gatewright.mcp.wire.spellings import MOST_FOLDED, fold, weight
from gatewright.schemas.graph import Graph, Schema
from gatewright.schemas.json_pointers import Place, is_place, pointer
from gatewright.schemas.objection import Objection

__all__ = ["RULE", "PointedNames", "SchemaNames", "misread_among"]

RULE = "names"
_TOO_MANY = "has more members than are compared with the names that the tool knows"
_LOOKED_AT = 2_000_000
"""Parts of a schema, and members, that are looked at for one value; a schema's own budget is as large."""
_LEARNED = 20_000
"""Parts of a schema that are led from, for one value, to places that were not asked about before: a microsecond each."""
_BESIDE = 10_000
"""Members beside what a pointer leads to."""
_KEPT = 50_000
"""Parts and names of all the places of one schema that are remembered."""
_CHARS = 256
_OF_TABLES = ("additionalProperties", "patternProperties", "unevaluatedProperties")
# Keywords of a schema that leave no room for names below it.
_SIMPLE = frozenset(
    ("type", "description", "title", "default", "enum", "const", "format", "pattern")
)
_SIMPLE |= {"minLength", "maxLength", "minimum", "maximum", "examples", "x-mcp-header"}


class _Left:
    """What may still be done for one value."""

    __slots__ = ("folded", "learned", "looked_at")

    def __init__(self) -> None:
        self.looked_at, self.folded, self.learned = _LOOKED_AT, MOST_FOLDED, _LEARNED

    def fold(self, name: str) -> str:
        """What a name reads as. Raises `_TooMuchError`."""
        self.folded -= weight(name)
        if self.folded < 0:
            raise _TooMuchError
        return fold(name)


class _TooMuchError(Exception):
    """More would have to be compared than is."""


def misread_among(
    members: Iterable[str],
    known: frozenset[str],
    read: Mapping[str, str],
    fold: Callable[[str], str] = fold,
    *,
    among: bool = True,
) -> str:
    """What is said of the first member that reads as a known one (`read`: what those read as), or `among` the others as one before
    it; empty where none does. Numbers read as nothing else. Raises what `fold` raises."""
    before: dict[str, str] = {}
    for name in members:
        if name in known or len(name) > _CHARS:
            continue
        folded = fold(name)
        other = read.get(folded) or before.get(folded)
        if folded.isdigit() or not folded:
            continue
        if other is not None:
            return f"has {name!a}, which reads as {other!a}"
        if among:
            before[folded] = name
    return ""


class _At:
    """What is known of one place: the parts of the schema that judge it, its names, and what they read as."""

    __slots__ = ("below", "names", "parts", "read", "table")

    def __init__(self, parts: Sequence[Schema]) -> None:
        self.parts = parts
        self.table = any(isinstance(part.get(one), dict) for part in parts for one in _OF_TABLES)
        """Whether further names are data."""
        self.names = frozenset(name for part in parts for name in _object(part.get("properties")))
        self.read: dict[str, str] | None = None
        self.below: dict[str | int, _At] = {}
        """Places a level down: by the names that are known here, `_ELSE` for all others, and `_ITEM` for those of a list."""

    def reading(self, left: _Left) -> Mapping[str, str]:
        """What the names read as."""
        if self.read is None:
            self.read = {left.fold(one): one for one in self.names if len(one) <= _CHARS}
        return self.read


# Integers, which no member is called.
_ELSE, _ITEM = -1, 0


class SchemaNames:
    """The names of one schema. `plain` are those behind which there are none: arguments that have no others are as they should be."""

    __slots__ = ("_graph", "_kept", "_known", "_root", "plain")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._kept = 0
        self._known: dict[tuple[int, ...], _At] = {}
        self._root = self._at([graph.root])
        given = (_object(part.get("properties")) for part in self._root.parts)
        self.plain = self._root.names - {
            name for one in given for name, part in one.items() if not _is_simple(part)
        }

    def objection(self, value: Any) -> Objection | None:
        """The first member in a decoded JSON value that reads as another."""
        left = _Left()
        stack: list[tuple[Place | None, Any, _At]] = [(None, value, self._root)]
        while stack:
            place, found, at = stack.pop()
            try:
                said = self._said(place, found, at, left)
                stack += self._inside(place, found, at, left) if not said else ()
            except _TooMuchError:
                # Refused, not passed: a caller could otherwise hide a second `command` behind a thousand members.
                said = _TOO_MANY
            if said:
                return Objection(_where(place), RULE, said)
        return None

    def _said(self, place: Place | None, found: Any, at: _At, left: _Left) -> str:
        """What is said of the members of one object. Raises `_TooMuchError`."""
        # Arguments themselves are always compared: two unknown ones that read alike are one parameter to a loose parser.
        compared = type(found) is dict and bool(at.names or place is None)
        left.looked_at -= len(at.parts) + (len(found) if compared else 0)
        if left.looked_at < 0:
            raise _TooMuchError
        if not compared or found.keys() <= at.names:
            return ""
        return misread_among(found, at.names, at.reading(left), left.fold, among=not at.table)

    def _inside(
        self, place: Place | None, found: Any, at: _At, left: _Left
    ) -> Iterator[tuple[Place, Any, _At]]:
        """The objects and lists right inside a value for which something is known. Raises `_TooMuchError`."""
        for step, one in _inside(found):
            below = self._below(at, step, left)
            if below.parts:
                yield Place(place, step), one, below

    def _at(self, parts: Iterable[Schema], left: _Left | None = None) -> _At:
        """The place that some parts of the schema judge, with all that they refer to."""
        found: dict[int, Schema] = {}
        waiting = [*parts]
        key = tuple(sorted({id(one) for one in waiting}))
        if key in self._known:
            return self._known[key]
        while waiting:
            one = waiting.pop()
            if left is not None:
                _learn(left, 1)
            if id(one) not in found:
                found[id(one)] = one
                waiting.extend(self._graph.same_place(one))
        at = _At([*found.values()])
        self._kept += 1 + len(at.parts) + len(at.names)
        if self._kept > _KEPT and self._known:
            # Keys are ids of parts, which live as long as the graph: none is another part's later.
            self._known.clear()
            self._root.below.clear()  # all others are led to from there
            self._kept = 0
        self._known[key] = at
        return at

    def _below(self, at: _At, step: str | int, left: _Left) -> _At:
        """A place one level down. Raises `_TooMuchError`."""
        key = _ITEM if isinstance(step, int) else step if step in at.names else _ELSE
        known = at.below.get(key)
        if known is not None:
            return known
        parts: list[Schema] = []
        for part in at.parts:
            _learn(left, 1)
            if isinstance(key, str):
                one = _object(part.get("properties")).get(key)
                parts += [one] if isinstance(one, dict) else []
            else:
                parts += self._graph.below(part)
                if key == _ITEM:
                    parts += self._graph.one_of_below(part)[1]
        _learn(left, len(parts))
        found = at.below[key] = self._at(parts, left)
        return found


def _learn(left: _Left, parts: int) -> None:
    left.learned -= parts
    if left.learned < 0:
        raise _TooMuchError


class _Steps:
    """What some pointers say of one place: their next steps, and what these read as."""

    __slots__ = ("below", "names", "read")

    def __init__(self) -> None:
        self.below: dict[str, _Steps] = {}

    def close(self) -> None:
        """All pointers are known."""
        self.names = frozenset(self.below)
        self.read = {fold(one): one for one in self.names if len(one) <= _CHARS}


class PointedNames:
    """The names that some JSON pointers are made of."""

    __slots__ = ("_root", "plain")

    def __init__(self, pointers: Sequence[Sequence[str]]) -> None:
        self._root, every = _Steps(), []
        for steps in pointers:
            here = self._root
            for step in steps:
                here = here.below.setdefault(step, _Steps())
                every.append(here)
        for one in (self._root, *every):
            one.close()
        self.plain = self._root.names - {
            step for step, one in self._root.below.items() if one.below
        }
        """Arguments that have no other members are as they should be."""

    def objection(self, value: Any) -> Objection | None:
        """The first member on the way to what they point at that reads as a step of theirs."""
        left = _Left()
        stack: list[tuple[Place | None, Any, _Steps]] = [(None, value, self._root)]
        while stack:
            place, found, at = stack.pop()
            try:
                said = _beside(found, at, left)
            except _TooMuchError:
                said = _TOO_MANY
            if said:
                return Objection(_where(place), RULE, said)
            for step, below in _led(found, at):
                stack.append((Place(place, step), _step(found, step), below))
        return None


def _beside(found: Any, at: _Steps, left: _Left) -> str:
    """What is said of the members of what pointers lead through. Raises `_TooMuchError`."""
    if type(found) is not dict or not at.below:
        return ""
    if len(found) > _BESIDE:
        raise _TooMuchError
    return misread_among(found, at.names, at.read, left.fold, among=False)


def _led(found: Any, at: _Steps) -> Iterator[tuple[str, _Steps]]:
    """The steps that lead on, last ones first: they are taken from the end of a stack."""
    steps = () if type(found) not in (dict, list) else at.below
    there = [
        step for step in steps if (step in found if type(found) is dict else is_place(step, found))
    ]
    return ((step, at.below[step]) for step in reversed(there))


def _step(found: Any, step: str) -> Any:
    if isinstance(found, list):
        return found[int(step)] if is_place(step, found) else None
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
