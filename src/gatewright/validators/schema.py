"""One tool's `inputSchema`, compiled once and asked on every call.

Theory: the schema is hostile until measured (`schema_cost`), references are never fetched, and
patterns run on an engine that is linear in the text. A pattern that this engine cannot express
(look-around, back-references) gets the backtracking one with a small budget; running out of it counts
as not matching. Numbers that a float cannot hold are compared as decimals, not as floats.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NoReturn

import jsonschema_rs
import msgspec

from gatewright.validators.leaves import pointer
from gatewright.validators.objection import Objection
from gatewright.validators.schema_cost import affordable, cost_of
from gatewright.validators.schema_graph import UnusableSchema
from gatewright.wire.jsonrpc import Num

__all__ = ["CompiledSchema", "compile_schema"]

_PATTERN_BYTES = 512 * 1024
_BACKTRACKS = 20_000
_MESSAGE_CHARS = 300

_probe = msgspec.json.Encoder().encode
"""Fails on a `Num`, in a fraction of the time that a search in Python takes. The library must never
see one: some keywords take it for no number at all and let it pass."""

_LINEAR = jsonschema_rs.RegexOptions(size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES)
_BOUNDED = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=_BACKTRACKS, size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
)


class CompiledSchema:
    """Judges arguments against one schema."""

    __slots__ = ("_check", "_cost")

    def __init__(self, schema: dict[str, Any] | bool, depth: int, subschemas: int) -> None:
        self._cost = None if isinstance(schema, bool) else cost_of(schema, depth, subschemas)
        self._check = _compiled(_exact(schema))

    def objection(self, value: Any) -> Objection | None:
        """What is wrong with a decoded JSON value, or None."""
        cost = self._cost
        if cost is not None and not (cost.cheap or affordable(cost, value)):
            return Objection("", "too_costly", "is too large or too deep for this tool's schema")
        try:
            self._check.validate(_exact(value))
        except jsonschema_rs.ValidationError as error:
            path = pointer(error.instance_path)
            return Objection(path, error.kind.name, error.message[:_MESSAGE_CHARS])
        return None


def compile_schema(schema: Any, depth: int = 32, subschemas: int = 1000) -> CompiledSchema:
    """Compile a decoded schema of at most `depth` levels and `subschemas` schemas.

    Raises `UnusableSchema`, whose text goes after "the schema".
    """
    if not isinstance(schema, dict | bool):
        raise UnusableSchema("must be an object")
    return CompiledSchema(schema, depth, subschemas)


def _compiled(schema: dict[str, Any] | bool) -> jsonschema_rs.Validator:
    try:
        return _with(schema, _LINEAR)
    except jsonschema_rs.ValidationError as problem:
        if problem.kind.name != "format":
            raise _unusable(problem) from None
    try:
        return _with(schema, _BOUNDED)
    except jsonschema_rs.ValidationError as problem:
        raise _unusable(problem) from None


def _with(
    schema: dict[str, Any] | bool,
    patterns: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions,
) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        schema, retriever=_refuse, mask="value", pattern_options=patterns
    )


def _unusable(problem: jsonschema_rs.ValidationError) -> UnusableSchema:
    where = pointer(problem.instance_path)
    message = f"{where}: {problem.message}" if where else problem.message
    return UnusableSchema(f"cannot be compiled: {message[:_MESSAGE_CHARS]}")


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
    return Decimal(value.text) if isinstance(value, Num) else value
