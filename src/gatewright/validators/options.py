"""Parses a validator's options strictly, from a server's `security` object or the configuration.

A validator takes a mapping and says what it cannot use; whoever asked refuses every call of the tool
then. Nothing is guessed, because a misspelt option is a rule that somebody believes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

__all__ = ["BadOptions", "read_options"]

_Kind = TypeVar("_Kind", bound=msgspec.Struct)


class BadOptions(ValueError):  # noqa: N818 - a verdict, not a malfunction
    """The options of a validator cannot be used; the text says which and why."""


def read_options(kind: type[_Kind], options: Mapping[str, Any]) -> _Kind:
    """Options as a struct that forbids unknown fields. Raises `BadOptions`."""
    try:
        return msgspec.convert(dict(options), kind)
    except (msgspec.ValidationError, TypeError) as problem:
        raise BadOptions(str(problem)) from None
