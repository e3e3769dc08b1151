"""What a validator finds wrong with one call's arguments.

A value instead of an exception: a refusal is the ordinary end of a call that should not happen.
The offending text itself is never part of it, because what is refused is also what should not be
copied into logs and records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

__all__ = ["Objection", "Validator"]


class Objection(msgspec.Struct, frozen=True):
    """Why the arguments were refused."""

    path: str
    """JSON pointer of the offending value inside the arguments; empty for the arguments as a whole."""
    rule: str
    """The rule's name, stable enough to be counted: `metacharacter`, `recursive_delete` …"""
    message: str
    """One sentence that says what to change."""


Validator = Callable[[Any], Objection | None]
"""Judges decoded arguments. Pure, total, and never slower than linear in their size."""
