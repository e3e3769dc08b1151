"""`Entry`: reads a server table of another program's file key by key: validates and translates values, collects notes and unread keys.

What cannot be said in our file raises `Refused`, which leaves out this server alone. What was not
read in the end is told, by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gatewright.hosts.model import Note, NoteLevel, Refused
from gatewright.hosts.placeholders import Meaning, Syntax, escape, translate
from gatewright.patterns import Pattern

__all__ = ["MAX_CHARS", "MAX_ITEMS", "Entry", "literal", "plain_text"]

MAX_CHARS = 32 * 1024
"""The longest text that is taken over; a system would hardly start a program with more."""
MAX_ITEMS = 1000

_VARIABLE = Pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = Pattern(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_LINES = Pattern(r"[\x00-\x1f\x7f]")


def _nothing(_: str) -> str | None:
    return None


class Entry:
    """A table of a foreign file, and how its texts are to be understood: `syntaxes` are the placeholders
    of its host, none where it has none, None where the texts are ours already."""

    def __init__(
        self,
        data: Mapping[str, Any],
        *,
        syntaxes: tuple[Syntax, ...] | None = None,
        meaning: Meaning = _nothing,
    ) -> None:
        self.data = data
        self.syntaxes = syntaxes
        self.meaning = meaning
        self.used: set[str] = set()
        self.notes: list[Note] = []

    def raw(self, *keys: str) -> Any:
        """The first of these keys that is there and not null; all of them count as used."""
        self.used.update(keys)
        return next((self.data[key] for key in keys if self.data.get(key) is not None), None)

    def has(self, *keys: str) -> bool:
        """Whether one of these keys says something."""
        return any(self.data.get(key) is not None for key in keys)

    def note(self, key: str, what: str, instead: str = "", level: NoteLevel = "warning") -> None:
        """Something to tell about this server."""
        self.notes.append(Note(level=level, server="", key=key, what=what, instead=instead))

    def text(self, *keys: str) -> str:
        """A text in our syntax; empty where there is none."""
        value = self.raw(*keys)
        return "" if value is None else self.said(value, keys[0])

    def word(self, *keys: str) -> str:
        """A text as it is, for names and words of the format itself."""
        value = self.raw(*keys)
        return "" if value is None else plain_text(value, keys[0])

    def said(self, value: Any, key: str) -> str:
        """One value as a text in our syntax."""
        text = plain_text(value, key)
        if self.syntaxes is None or not ("$" in text or "{" in text):
            return text
        return translate(text, self.syntaxes, self.meaning)

    def texts(self, *keys: str) -> tuple[str, ...]:
        """A list of texts; one text counts as a list of it."""
        return tuple(self.said(one, keys[0]) for one in self.items(*keys))

    def words(self, *keys: str) -> tuple[str, ...]:
        """A list of names, without translation."""
        return tuple(plain_text(one, keys[0]) for one in self.items(*keys))

    def variables(self, *keys: str) -> dict[str, str]:
        """A map of environment variables. A null or a list says nothing."""
        found = dict(self._pairs(*keys))
        for name in found:
            if not _VARIABLE.fullmatch(name):
                raise Refused(
                    f"{keys[0]} has a name that no environment variable can have", "correct it"
                )
        return found

    def headers(self, *keys: str) -> dict[str, str]:
        """A map of HTTP headers."""
        found = dict(self._pairs(*keys))
        for name, value in found.items():
            if not _HEADER.fullmatch(name) or _LINES.search(value):
                raise Refused(f"{keys[0]} has a header that HTTP cannot carry", "correct it")
        return found

    def flag(self, *keys: str) -> bool | None:
        """True or false, None where nothing usable was said."""
        value = self.raw(*keys)
        return value if isinstance(value, bool) else None

    def number(self, *keys: str) -> float | None:
        """A positive number; others are told and dropped."""
        value = self.raw(*keys)
        if value is None:
            return None
        # False for NaN and infinity too, which loose JSON, TOML and YAML can write.
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12:
            return float(value)
        self.note(keys[0], "this is no usable number", "the default holds")
        return None

    def table(self, *keys: str) -> Mapping[str, Any]:
        """A table inside; empty where there is none."""
        value = self.raw(*keys)
        return value if isinstance(value, dict) else {}

    def unread(self) -> list[str]:
        """The keys that nothing asked for."""
        return [str(key) for key in self.data if key not in self.used]

    def items(self, *keys: str) -> list[Any]:
        """A list; one value counts as a list of it."""
        value = self.raw(*keys)
        if value is None:
            return []
        items = value if isinstance(value, list) else [value]
        if len(items) > MAX_ITEMS:
            raise Refused(f"{keys[0]} has more than {MAX_ITEMS} elements", "shorten it")
        return items

    def _pairs(self, *keys: str) -> Iterator[tuple[str, str]]:
        value = self.raw(*keys)
        if value is None or value == []:
            return
        if not isinstance(value, dict):
            raise Refused(f"{keys[0]} is not a map of names to texts", "correct it")
        if len(value) > MAX_ITEMS:
            raise Refused(f"{keys[0]} has more than {MAX_ITEMS} names", "shorten it")
        for name, one in value.items():
            if one is not None:
                yield plain_text(name, keys[0]), self.said(one, keys[0])


def plain_text(value: Any, key: str) -> str:
    """A text, or what a hand wrote without quotes, as a text. Raises `Refused` for anything else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        try:
            return str(value)
        # Python writes no integer of more than 4,300 digits.
        except ValueError:
            raise Refused(f"{key} has a number without end", "correct it") from None
    if not isinstance(value, str):
        raise Refused(f"{key} has something else where a text belongs", "write a text")
    if len(value) > MAX_CHARS:
        raise Refused(f"{key} has a text of more than {MAX_CHARS} characters", "shorten it")
    # No argument and no variable can carry a NUL; half a surrogate pair, which JSON can spell, has no UTF-8.
    if "\0" in value or any("\ud800" <= one <= "\udfff" for one in value):
        raise Refused(f"{key} has a character that no file can hold", "correct it")
    return value


def literal(value: Any, key: str) -> str:
    """A text that means itself, in our syntax."""
    return escape(plain_text(value, key))
