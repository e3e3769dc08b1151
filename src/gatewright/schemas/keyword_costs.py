"""Computes what one JSON Schema object costs for each value, character and number it validates, and the size of a regular expression.

The figures are measured of `jsonschema_rs` 0.60 and rounded up, in evaluations of some 15 ns. What a keyword costs depends on what
is in the value, so there are several kinds of cost, each multiplied by what a value has of that kind (`value_size`). A keyword
that is not named here takes no longer than one evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Costs", "costs_of", "program_size"]


class Costs(NamedTuple):
    """What one schema object adds; summed along the worst path also what a schema takes."""

    work: int = 1
    """Evaluations for each value."""
    chars: int = 0
    """Evaluations for each character of a text."""
    patterns: int = 0
    """Patterns that judge a text: they may go through it again from each of its characters, where they backtrack."""
    options: int = 0
    """Options that each number is compared with."""
    whole_options: int = 0
    """Whole numbers that each number is compared with that is none: the others are found at once."""
    unique: int = 0
    """Lists whose items are compared with each other where their hashes are the same."""
    errors: int = 1
    """Errors that are made for each value that does not fit."""


_DIVISION = 500
"""`multipleOf` is exact, so a number with a large exponent takes 25 µs."""
_HASHED = 8
_FRACTION = 32
"""A limit that is no whole number of 64 bits."""
_FORMAT = 32
_FORMAT_CHARS = 2
_SHARED = 32
"""So many characters of two texts are compared in one evaluation."""
_COPIED = 150
"""So many options are copied into an error in the time that another error takes."""
_INSIDE = 8
"""An option that is a list or an object."""
_INT64 = 2**63


_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def costs_of(node: Mapping[str, Any]) -> Costs:
    """What a schema object costs by itself, without the schemas in it."""
    options = node.get("enum")
    compared = options if isinstance(options, list) else []
    work, chars, numbers, whole, errors = _of_options(compared)
    if "const" in node:
        work, chars, numbers, whole, errors = map(
            sum,
            zip(
                (work, chars, numbers, whole, errors),
                _of_options([node["const"], None]),
                strict=True,
            ),
        )
    dependent = _names_in(node.get("dependentRequired")) + _names_in(node.get("dependencies"))
    required, pattern = node.get("required"), node.get("pattern")
    patterns = [pattern] if isinstance(pattern, str) else []
    by_pattern = _size(node.get("patternProperties"))
    if by_pattern:
        patterns += node["patternProperties"]
    encoded = "contentEncoding" in node or "contentMediaType" in node
    return Costs(
        1
        + work
        + dependent
        + _size(node.get("properties")) // 8
        + by_pattern
        + 4 * len(patterns)
        + (_HASHED if node.get("uniqueItems") else 0)
        + (_DIVISION if "multipleOf" in node else 0)
        + sum(_FRACTION for name in _LIMITS if not _is_whole(node.get(name, 0)))
        + (_FORMAT if "format" in node or encoded else 0),
        chars
        + sum(1 + program_size(one) // 2 for one in patterns)
        + ("minLength" in node or "maxLength" in node)
        + (_FORMAT_CHARS if "format" in node else 0)
        + (2 * _FORMAT_CHARS if encoded else 0),
        len(patterns),
        numbers,
        whole,
        1 if node.get("uniqueItems") else 0,
        1 + errors + dependent + (len(required) if isinstance(required, list) else 0),
    )


def _of_options(options: list[Any]) -> tuple[int, int, int, int, int]:
    """Work, characters, numbers, whole numbers and errors of what values are compared with."""
    if all(type(one) is str for one in options):
        return 0, 0, 0, 0, len(options) // _COPIED  # looked up by their hash
    if all(map(_is_whole, options)):
        return 0, 0, 0, len(options), len(options) // _COPIED
    numbers = texts = inside = parts = 0
    stack = [*options]
    while stack:
        one = stack.pop()
        parts += 1
        if isinstance(one, dict | list):
            inside += 1
            stack.extend(one.values() if isinstance(one, dict) else one)
        elif isinstance(one, str):
            texts += 1
        elif one is not None and not isinstance(one, bool):
            numbers += 1
    # A value inside another one is compared with what is in its place in each option, not with all that is in them.
    most = len(options)
    return (
        most + _INSIDE * min(inside, most),
        min(texts, most) // _SHARED + (texts > 0),
        min(numbers, most),
        0,
        parts // _COPIED,
    )


def _is_whole(number: Any) -> bool:
    return type(number) is int and -_INT64 <= number < _INT64


def _names_in(listed: Any) -> int:
    """The names of `dependentRequired`: those that ask, and those that are asked for."""
    if not isinstance(listed, dict):
        return 0
    return len(listed) + sum(len(one) for one in listed.values() if isinstance(one, list))


def _size(found: Any) -> int:
    return len(found) if isinstance(found, dict) else 0


_MOST_STATES = 1_000_000


def program_size(pattern: str) -> int:
    """How many states a regular expression may be in at once, at most: its characters and classes, each as often as it is repeated.
    Linear."""
    sizes, last, at, end = [0], 0, 0, len(pattern)
    while at < end:
        sign = pattern[at]
        at += 1
        if sign == "(":
            sizes.append(0)
            last = 0
            continue
        if sign == ")":
            last = sizes.pop() if len(sizes) > 1 else 0
        elif sign == "{":
            times, at = _times(pattern, at)
            last *= max(0, times - 1)
        elif sign in "*+?|^$":
            continue
        else:
            last, at = 1, _behind(pattern, at, sign)
        # A repeat adds to what stands before it, as often as it is more than once.
        sizes[-1] = min(sizes[-1] + last, _MOST_STATES)
    return min(sum(sizes), _MOST_STATES)


def _times(pattern: str, at: int) -> tuple[int, int]:
    """How often `{n,m}` repeats what stands before it, and where it ends."""
    close = pattern.find("}", at, at + 24)
    counts = pattern[at:close].split(",") if close >= 0 else []
    if not counts or not all(one.isdecimal() or not one for one in counts):
        return 2, at  # a brace by itself
    return max((int(one) for one in counts if one), default=1), close + 1


def _behind(pattern: str, at: int, sign: str) -> int:
    """Where an escape, a class or a character ends that began before `at`."""
    if sign == "\\":
        named = pattern[at : at + 1] in ("p", "P", "u", "x") and pattern[at + 1 : at + 2] == "{"
        close = pattern.find("}", at, at + 64) if named else -1
        return at + 1 if close < 0 else close + 1
    if sign != "[":
        return at
    at += pattern[at : at + 1] == "^"
    at += pattern[at : at + 1] == "]"
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at + 1
