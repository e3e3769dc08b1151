"""`CompiledSchema`: validates values and their member names by a JSON Schema within a cost bound; bounded patterns, exact decimals.

Theory: the schema is hostile until measured (`schemas/cost`), references are never fetched, and
patterns run on an engine that is linear in the text. A pattern that this engine cannot express
(look-around, back-references) gets the backtracking one with a small budget; running out of it counts
as not matching. Numbers that a float cannot hold are compared as decimals, not as floats.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any, NoReturn

import jsonschema_rs
import msgspec

from gatewright.mcp.wire.jsonrpc import Num
from gatewright.schemas.cost import BUDGET, Load, cost_of
from gatewright.schemas.graph import UnusableSchema
from gatewright.schemas.json_pointers import pointer
from gatewright.schemas.member_names import SchemaNames
from gatewright.schemas.objection import Objection

__all__ = ["CompiledSchema", "TakesLongError", "Violation", "compile_schema"]

_MIB = 1024 * 1024
_ONE_PATTERN = 10 * _MIB
_BACKTRACKS = 20_000
_TOO_COSTLY = "is too large or too deep for this tool's schema"
_MANY = "does not fit the tool's schema, in more ways than are told"
_ERRORS = 40_000
"""Errors that may be made of one value, half a second. A list of what is wrong, or an error of `anyOf`, holds them all."""
_ERRORS_AT_ONCE = 4_000
_ASKED = (
    *("pattern", "limit", "types", "options"),
    *("property", "unexpected", "expected_value", "multiple_of"),
)
"""The library's names for what a rule asks for."""
_MESSAGE_CHARS = 300
_TIERS = ((_MIB, False), (_MIB, True), (16 * _MIB, False), (16 * _MIB, True))
"""What all patterns of a schema together may take, in bytes of compiled program (which is also about
3 ms a MiB to compile), and whether they may backtrack. The first that works is taken; from the third
on a schema is `heavy`."""

_BEYOND = 10**17
"""An exponent that every `Decimal` can have."""
_probe = msgspec.json.Encoder().encode
"""Fails on a `Num`, in a fraction of the time that a search in Python takes. The library must never
see one: some keywords take it for no number at all and let it pass."""


_NOTHING = Load(0, 0, 0)


class TakesLongError(Exception):
    """The value is to be judged by a worker: on the event loop that takes too long."""


class Violation(msgspec.Struct, frozen=True):
    """One rule of a schema that a value breaks. `expected` is what the rule asks for, as the schema has it:
    a limit, a pattern, names of types, options, the missing property, the unexpected ones."""

    path: tuple[str | int, ...]
    rule: str
    expected: Any
    message: str


class CompiledSchema:
    """Judges arguments against one schema. A `heavy` one takes megabytes and should not be kept long."""

    __slots__ = ("_cost", "_is_valid", "_light", "_names", "_plain", "backtracks", "check", "heavy")

    def __init__(self, schema: dict[str, Any] | bool, depth: int, subschemas: int) -> None:
        self._cost = None if isinstance(schema, bool) else cost_of(schema, depth, subschemas)
        self._names = None if self._cost is None else SchemaNames(self._cost.graph)
        self._plain: frozenset[str] = frozenset() if self._names is None else self._names.plain
        patterns = 0 if self._cost is None else self._cost.graph.patterns
        self.check, self.heavy, self.backtracks = _compiled(_exact(schema), patterns)
        self._is_valid = self.check.is_valid
        if self._cost is not None:
            self._cost.backtracks = self.backtracks
        self._light = self._cost is None or (self._cost.cheap and not self._cost.gathers)

    def objection(self, value: Any, *, at_once: bool = False) -> Objection | None:
        """What is wrong with a decoded JSON value, or None. `at_once` raises `TakesLongError` where it takes too long for the event
        loop."""
        if self._light:  # most of them: nothing has to be weighed, and nothing tried before
            error = self._breaks(value)
        else:
            load = self._load(value)
            if load is None:
                return Objection("", "too_costly", _TOO_COSTLY)
            if at_once and load.takes_long:
                raise TakesLongError
            error = self._first(value, load, at_once)
        if error is not None:
            return Objection(pointer(error.path), error.rule, error.message[:_MESSAGE_CHARS])
        # Most calls end here: known names only, behind none of which there are others.
        if self._names is None or (type(value) is dict and value.keys() <= self._plain):
            return None
        return self._names.objection(value)

    def accepts(self, value: dict[str, Any]) -> bool:
        """Whether `objection` has none, where that is told at once; else it raises `TakesLongError`."""
        if self._light and value.keys() <= self._plain:
            try:
                _probe(value)
            except TypeError:  # a number that kept its own text
                return self.objection(value, at_once=True) is None
            return self._is_valid(value)
        return self.objection(value, at_once=True) is None

    def violations(self, value: Any, most: int, *, at_once: bool = False) -> list[Violation]:
        """The first `most` things that are wrong with a decoded JSON value, in the schema's order; `at_once` as for `objection`."""
        load = self._load(value)
        if load is None:
            return [Violation((), "too_costly", None, _TOO_COSTLY)]
        if at_once and load.takes_long:
            raise TakesLongError
        if not self._may_tell(value, load, at_once):
            only = self._first(value, load, at_once)
            found = [] if only is None else [only]
        else:
            errors = self.check.iter_errors(_exact(value))
            found = [_violation(one) for one in islice(errors, most)]
        named = None if self._names is None else self._names.objection(value)
        if named is not None and len(found) < most:
            found.append(Violation(_steps(value, named.path), named.rule, None, named.message))
        return found

    def _load(self, value: Any) -> Load | None:
        """What validating the value may take, all 0 where it is never much; None where it is too much."""
        if self._cost is None or self._cost.cheap:
            return _NOTHING
        load = self._cost.load(value)
        return None if load is None or load.work > BUDGET else load

    def _may_tell(self, value: Any, load: Load, at_once: bool) -> bool:
        """Whether all errors of a value that does not fit may be made."""
        if self._cost is not None and load is _NOTHING:
            load = self._cost.load(value) or load
        return load.errors <= (_ERRORS_AT_ONCE if at_once else _ERRORS)

    def _first(self, value: Any, load: Load, at_once: bool) -> Violation | None:
        """The first thing that is wrong."""
        if self._cost is not None and self._cost.gathers:
            if self.check.is_valid(_exact(value)):
                return None
            if not self._may_tell(value, load, at_once):
                if at_once:
                    raise TakesLongError
                return Violation((), "schema", None, _MANY)
        return self._breaks(value)

    def _breaks(self, value: Any) -> Violation | None:
        try:
            self.check.validate(_exact(value))
        except jsonschema_rs.ValidationError as error:
            return _violation(error)
        return None


def _violation(error: jsonschema_rs.ValidationError) -> Violation:
    path = tuple(error.instance_path)
    return Violation(path, error.kind.name, _expected(error.kind), error.message)


def _steps(value: Any, path: str) -> tuple[str | int, ...]:
    """The steps of a pointer into a value: an index of a list is a number."""
    found: list[str | int] = []
    for one in path.split("/")[1:]:
        step: str | int = one.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and str(step).isdecimal():
            step = int(step)
        found.append(step)
        value = _within(value, step)
    return tuple(found)


def _within(value: Any, step: str | int) -> Any:
    """What a step leads to; None where a pointer was cut short and leads nowhere."""
    try:
        return value[step]
    except (LookupError, TypeError):
        return None


def _expected(kind: jsonschema_rs.ValidationErrorKind) -> Any:
    """What a rule asks for, by whichever name the library has it."""
    said = kind.as_dict()
    return next((said[name] for name in _ASKED if name in said), None)


def compile_schema(schema: Any, depth: int = 32, subschemas: int = 1000) -> CompiledSchema:
    """Compile a decoded schema of at most `depth` levels and `subschemas` schemas.

    Raises `UnusableSchema`, whose text goes after "the schema".
    """
    if not isinstance(schema, dict | bool):
        raise UnusableSchema("must be an object")
    return CompiledSchema(schema, depth, subschemas)


def _compiled(
    schema: dict[str, Any] | bool, patterns: int
) -> tuple[jsonschema_rs.Validator, bool, bool]:
    """The validator, whether it is heavy, and whether its patterns backtrack. Raises `UnusableSchema`."""
    why = ""
    for tier, (budget, backtracking) in enumerate(_TIERS):
        size = min(_ONE_PATTERN, budget // max(1, patterns))
        try:
            return _with(schema, _engine(size, backtracking)), tier > 1, backtracking
        except jsonschema_rs.ValidationError as problem:
            where = pointer(problem.instance_path)
            why = f"{where}: {problem.message}" if where else problem.message
            if problem.kind.name != "format":
                break  # no pattern, so another engine would say the same
    raise UnusableSchema(f"cannot be compiled: {why[:_MESSAGE_CHARS]}")


def _engine(
    size: int, backtracking: bool
) -> jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions:
    if backtracking:
        return jsonschema_rs.FancyRegexOptions(_BACKTRACKS, size, size)
    return jsonschema_rs.RegexOptions(size, size)


def _with(
    schema: dict[str, Any] | bool,
    patterns: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions,
) -> jsonschema_rs.Validator:
    # Nothing is retrieved: a tool server could have the gateway fetch any URL. The value is masked in messages, because it
    # may be a secret.
    return jsonschema_rs.validator_for(
        schema, retriever=_refuse, mask="value", pattern_options=patterns
    )


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri[:200]} is not fetched")


def _exact(value: Any) -> Any:
    """The value, or a copy of it in which every number that kept its own text is a decimal."""
    try:
        _probe(value)
    except TypeError:
        return _decimals(value)
    return value


def _decimals(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _decimals(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_decimals(one) for one in value]
    return _decimal(value.text) if isinstance(value, Num) else value


def _decimal(text: str) -> Decimal:
    """The number; of one with an exponent that no `Decimal` can have, another beyond all that is compared with it."""
    try:
        return Decimal(text)
    except InvalidOperation:
        mantissa, _, power = text.lower().partition("e")
        sign = "-" if mantissa.startswith("-") else ""
        if not mantissa.strip("-0."):
            return Decimal(0)
        return Decimal(f"{sign}1e{'-' if power.startswith('-') else ''}{_BEYOND}")
