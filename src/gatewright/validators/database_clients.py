"""Refuses command lines of psql, mysql and redis-cli that may do more than read; names the broken rule.

A client reads where each statement of its command line reads, and no option leads into a file, a program or a session without end.
The lists are `clients.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gatewright.patterns import DOTALL, Pattern
from gatewright.word_tables import tables

__all__ = ["CLIENTS"]

_DATA = tables(__file__, "clients.toml")
_META_SECRET = Pattern(_DATA["psql"]["meta_secret"], DOTALL)


class _Sql:
    """A client that is given statements by an option."""

    def __init__(self, row: Mapping[str, str], dialect: str, given: str) -> None:
        self._dialect = dialect
        self._given = frozenset(given.split())
        self._valued, self._plain = (
            frozenset(row["valued"].split()),
            frozenset(row["plain"].split()),
        )
        self._long_valued = frozenset(row["long_valued"].split())
        self._long_plain = frozenset(row["long_plain"].split())
        self._meta = Pattern(row["meta"]) if "meta" in row else None
        self._attached = Pattern(row["attached"]) if "attached" in row else None

    def rule(self, words: Sequence[str]) -> str | None:
        """What speaks against a command by its words, the program first."""
        texts = list(words[1:])
        if texts in (["--version"], ["-V"], ["--help"]):
            return None
        found = list(self._options(texts))
        if any(name == "" for name, _ in found):
            return "option"
        asked = [value for name, value in found if name in self._given]
        if not asked and not any(name in {"l", "list"} for name, _ in found):
            return "option"
        return next((rule for one in asked if (rule := self._statement(one))), None)

    def _statement(self, text: str) -> str | None:
        from gatewright.validators.sql_reading import sql_rule  # noqa: PLC0415 - loaded when it is needed

        plain = text.strip()
        if self._meta is not None and plain.startswith("\\"):
            shown = self._meta.fits(plain) and not _META_SECRET.fits(plain)
            return None if shown else "subcommand"
        # A backslash begins a command of the client, also behind a statement.
        return "subcommand" if "\\" in plain or "`" in plain else sql_rule(plain, self._dialect)

    def _options(self, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Names and values; an empty name for what is not known."""
        rest = list(texts)
        while rest:
            text = rest.pop(0)
            if self._attached is not None and self._attached.fits(text):
                continue
            if text.startswith("--"):
                name, has_value, value = text[2:].partition("=")
                if name in self._long_valued:
                    yield name, value if has_value else (rest.pop(0) if rest else "")
                else:
                    yield (name if name in self._long_plain and not has_value else ""), ""
            elif text.startswith("-"):
                yield from self._cluster(text[1:], rest)

    def _cluster(self, letters: str, rest: list[str]) -> Iterator[tuple[str, str]]:
        for at, letter in enumerate(letters):
            if letter in self._valued:
                more = letters[at + 1 :]
                yield letter, more or (rest.pop(0) if rest else "")
                return
            yield (letter if letter in self._plain else ""), ""
        if not letters:
            yield "", ""


def _redis(words: Sequence[str]) -> str | None:
    row: Mapping[str, Any] = _DATA["redis"]
    valued, plain = row["valued"].split(), row["plain"].split()
    rest = list(words[1:])
    if rest in (["--version"], ["-v"], ["--help"]):
        return None
    alone = False
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in valued:
            del rest[:1]
        elif option not in plain:
            return "option"
        alone = alone or option in {"--scan", "--bigkeys", "--memkeys"}
    if not rest:
        return None if alone else "subcommand"
    first = rest[0].casefold()
    below = row["subcommands"].get(first)
    if below is not None:
        return None if rest[1:] and rest[1].casefold() in below.split() else "subcommand"
    return None if first in row["commands"].split() else "subcommand"


CLIENTS: Mapping[str, Callable[[Sequence[str]], str | None]] = {
    "psql": _Sql(_DATA["psql"], "postgres", "c command").rule,
    **dict.fromkeys(("mysql", "mariadb"), _Sql(_DATA["mysql"], "mysql", "e execute").rule),
    "redis-cli": _redis,
}
"""What speaks against a command of each client by its words: a rule's name, or None."""
