"""`Validator` interface, and `Objection`: the reason why a validator refused a call's arguments.

A value instead of an exception: a refusal is the ordinary end of a call that should not happen.
The offending text itself is never part of it, because what is refused is also what should not be
copied into logs and records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from gatewright.schemas.json_pointers import Place

__all__ = ["Objection", "Prepare", "Validator"]


class Objection(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why the arguments were refused."""

    path: str
    """JSON pointer of the offending value inside the arguments; empty for the arguments as a whole."""
    rule: str
    """The rule's name, stable enough to be counted: `metacharacter`, `recursive_delete` …"""
    message: str
    """One sentence that says what to change."""
    details: Mapping[str, Any] = {}
    """What else a caller needs in order to correct the arguments: the rejection body of code (MGP §7.4)."""


class Validator(Protocol):
    """One named check, prepared for one tool. Pure but for names it may look up; total; linear in size.

    More members are used where a validator has them: `takes_words`, true where `judge` takes a list of texts as the words of
    one command; `hosts(value)`, the names that have to be looked up; `cost(value)`, the microseconds that judging a
    value takes at most; `at_once`, the weight (`value_weight.outweighs`) above which that is too long for the event loop.
    """

    def judge(self, value: Any) -> Objection | None:
        """What speaks against one value; the objection's path is left empty."""

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        """Where nobody declared what is judged: each value that `judge` is asked about, and its place."""


Prepare = Callable[[Mapping[str, Any], str], Validator]
"""Makes a validator of its options and the tool's name. Raises `options.BadOptions`. This is also what
a plug-in in the entry point group `gatewright.validators` is."""
