"""Registry of validators (built-in and plug-ins), and `Checks`: runs one tool's validators on arguments within a cost budget.

The vocabulary is the table below and what other packages offer in the entry point group
`gatewright.validators`; a name of the table cannot be taken over. A name that nobody has, a plug-in that does
not load and options that cannot be used all end the same way: every call of the tool is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points
from types import MappingProxyType
from typing import Any, cast

from gatewright.schemas.json_pointers import Place, is_place, pointer, strings
from gatewright.schemas.member_names import PointedNames
from gatewright.schemas.objection import Objection, Prepare, Validator
from gatewright.schemas.value_weight import light_text, outweighs
from gatewright.validators.options import BadOptions

__all__ = [
    "BUDGET",
    "BUILT_IN",
    "GROUP",
    "Checks",
    "available",
    "checks_for",
    "plugged",
    "preparer",
]

GROUP = "gatewright.validators"

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "sandbox": "gatewright.validators.sandbox",
        "readonly": "gatewright.validators.readonly",
        "network_restricted": "gatewright.validators.network",
        "code_safety": "gatewright.validators.code_safety",
        "paths": "gatewright.validators.paths",
    }
)
"""Name → module with `prepare`. `none` is not here: it is the absence of a check."""

Pointers = Mapping[str, Sequence[str]]

BUDGET = 2_000_000
"""What the arguments of one call may cost their validators, in microseconds as a validator's `cost` counts them: about two seconds
of one processor. Counted and not measured, so that one call has one answer."""
_AT_ONCE = 4096
_WIDE = 3
"""What a character counts of a text that is not ASCII (`outweighs`)."""
_TOO_COSTLY = "is more than can be judged in one call; send less at a time"


@lru_cache(maxsize=1)
def plugged() -> Mapping[str, EntryPoint]:
    """The plug-ins by their names. They are read from the metadata of every installed package, milliseconds of file access, once."""
    return {point.name: point for point in reversed(_points())}


def _points() -> Sequence[EntryPoint]:
    try:
        return tuple(entry_points(group=GROUP))
    except Exception:  # noqa: BLE001 - the file of one distribution may be anything, and is then left out
        return [point for one in distributions() for point in _points_of(one)]


def _points_of(distribution: Distribution) -> Sequence[EntryPoint]:
    try:
        return tuple(distribution.entry_points.select(group=GROUP))
    except Exception:  # noqa: BLE001 - as above
        return ()


@lru_cache(maxsize=64)
def preparer(name: str) -> Prepare | None:
    """What makes the validator of that name, or None where nobody has it."""
    if name in BUILT_IN:
        return cast("Prepare", import_module(BUILT_IN[name]).prepare)
    point = plugged().get(name)
    try:
        return None if point is None else cast("Prepare", point.load())
    except Exception:  # noqa: BLE001 - a plug-in may fail in any way, and is then not there
        return None


def available() -> list[str]:
    """All names that can be used, `none` included, in alphabetical order."""
    return sorted({"none", *BUILT_IN, *plugged()})


class Checks:
    """Everything that judges the calls of one tool."""

    def __init__(self, validators: Sequence[tuple[str, Validator]], pointers: Pointers) -> None:
        self._validators = tuple(
            (name, one, _chooser(one, pointers.get(name, ()))) for name, one in validators
        )
        # The validator that takes longest decides for all.
        self._at_once = min((getattr(one, "at_once", _AT_ONCE) for _, one in validators), default=0)
        self._only = [
            tuple(_steps(one)) for name, _ in validators for one in pointers.get(name, ())
        ]
        self._pointed = PointedNames(self._only) if self._only else None
        self._everywhere = any(not pointers.get(name) for name, _ in validators)
        # Where several pointers lead to one value, it counts as often.
        once = self._everywhere or len(self._only) <= 1
        self._light = light_text(self._at_once) if once else 0
        self.leads_anywhere = any(hasattr(one, "hosts") for _, one in validators)
        """Whether there can be `hosts` at all."""

    def objection(self, arguments: Any, budget: int = BUDGET) -> tuple[str, Objection] | None:
        """The first validator that speaks against these arguments, and what it says. What would cost more than `budget`
        microseconds is refused as a whole."""
        pointed = self._pointed
        # Before any validator: a member that reads like the one pointed at would go to the server unjudged.
        if pointed and not (type(arguments) is dict and arguments.keys() <= pointed.plain):
            twice = pointed.objection(arguments)
            if twice is not None:
                return self._validators[0][0], twice
        left = budget
        for name, validator, parts in self._validators:
            cost = getattr(validator, "cost", _cost)
            for place, value in parts(arguments):
                # Before the value is judged, and over all validators of the tool.
                left -= cost(value)
                if left < 0:
                    return name, Objection(_where(place), "too_costly", _TOO_COSTLY)
                found = validator.judge(value)
                if found is not None:
                    where = _where(place) + found.path
                    return name, Objection(where, found.rule, found.message, found.details)
        return None

    def refused(self, arguments: Any) -> Any:
        """The part that the first validator which speaks against these arguments objects to, as it is judged: a line with what stands
        beside it; None where none does."""
        every = (
            (one, value) for _, one, parts in self._validators for _, value in parts(arguments)
        )
        return next((value for one, value in every if one.judge(value) is not None), None)

    def takes_long(self, arguments: Any, size: int = 0) -> bool:
        """Whether judging these arguments may take more than some milliseconds, so that it is better done elsewhere. `size` is
        what is known of their text (`Call.size`)."""
        if 0 < size <= self._light:
            return False
        if self._everywhere:
            return outweighs(arguments, self._at_once, wide=_WIDE)
        judged = [_at(arguments, one)[1] for one in self._only]
        return outweighs(judged, self._at_once, wide=_WIDE)

    def hosts(self, arguments: Any) -> Iterator[tuple[str, str, str]]:
        """Validator, JSON pointer and name of each host in these arguments that has to be looked up."""
        for name, validator, parts in self._validators:
            found = getattr(validator, "hosts", None)
            if found is not None:
                for place, value in parts(arguments):
                    yield from ((name, _where(place), host) for host in found(value))

    def named(self, arguments: Any, most: int) -> list[tuple[str, str, str]]:
        """The same, each host once, and no more than so many."""
        found: dict[str, tuple[str, str, str]] = {}
        for one in self.hosts(arguments):
            found.setdefault(one[2], one)
            if len(found) >= most:
                break
        return list(found.values())


def _cost(value: Any) -> int:
    """What most values cost: some microseconds, and one for some characters."""
    text = value if type(value) is str else getattr(value, "text", "")
    return 15 + len(text) // 4


def _where(place: Place | None) -> str:
    return "" if place is None else pointer(place.path())


def _chooser(
    validator: Validator, pointers: Sequence[str]
) -> Callable[[Any], Iterator[tuple[Place | None, Any]]]:
    if not pointers:
        return validator.parts
    words = getattr(validator, "takes_words", False)
    steps = [tuple(_steps(one)) for one in pointers]
    return lambda arguments: _declared(arguments, steps, words=words)


def _declared(
    arguments: Any, pointers: Sequence[Sequence[str]], *, words: bool
) -> Iterator[tuple[Place | None, Any]]:
    """Every text at or below some JSON pointers, taken apart; with `words` a list of texts stays one value."""
    for one in pointers:
        place, value = _at(arguments, one)
        if isinstance(value, str) or (
            words
            and isinstance(value, list)
            and value
            and all(isinstance(each, str) for each in value)
        ):
            yield place, value
        else:
            yield from ((_under(place, deep), text) for deep, text, _ in strings(value))


def _under(place: Place | None, deep: Place | None) -> Place | None:
    """A place inside a value, seen from where the value itself is."""
    if deep is None:
        return place
    for step in deep.path():
        place = Place(place, step)
    return place


def _steps(pointer: str) -> Iterator[str]:
    for step in pointer.split("/")[1:]:
        yield step.replace("~1", "/").replace("~0", "~")


def _at(value: Any, steps: Sequence[str]) -> tuple[Place | None, Any]:
    place: Place | None = None
    for name in steps:
        if isinstance(value, list):
            value = value[int(name)] if is_place(name, value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
        place = Place(place, name)
    return place, value


def checks_for(
    names: str, options: Mapping[str, Mapping[str, Any]], pointers: Pointers, tool: str
) -> Checks | str:
    """The checks behind a `Security.validator`, whose names are joined by `+`.

    A text instead says what is missing; every call of the tool has to be refused then.
    """
    made: list[tuple[str, Validator]] = []
    for name in names.split("+"):
        if name == "none":
            continue
        prepare = preparer(name)
        if prepare is None:
            return (
                f"the validator {name[:100]} is not available; there are {', '.join(available())}"
            )
        try:
            made.append((name, prepare(options.get(name, {}), tool)))
        except BadOptions as problem:
            return f"the options of the validator {name[:100]} cannot be used: {problem}"
    return Checks(made, pointers)
