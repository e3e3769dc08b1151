"""Judges the options of a read-only shell command by the table of options that are known to read.

A word that begins with a dash has to be a known option, also where it may be the value of the option before it: a table that errs
in which options take values must not hide one. `--` ends the options only where it cannot be such a value.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence

from gatewright.patterns import Pattern
from gatewright.validators.shell_readers import Known

__all__ = ["options_known"]

_OPTION = Pattern(r"-[\w@%.,?#-]")
"""`->` is none anywhere."""
_NUMBER = Pattern(r"-\d[\d.,]*")


def options_known(known: Known, texts: Sequence[str]) -> bool:
    """Whether each option among the arguments of a program is known to read."""
    return all(option is not None for option in _options(known, texts))


def _options(known: Known, texts: Sequence[str]) -> Iterator[str | None]:
    """Each option by its name in the table; None for what is not known."""
    values = 0
    for text in texts:
        if text == "--":
            if not values:
                return
            values -= 1
        elif not _OPTION.begins(text) or (
            _NUMBER.fits(text) and known.letters.get(text[1], 0) <= 0
        ):
            values = max(0, values - 1)
        elif text.startswith("--"):
            values = yield from _long(known, text)
        else:
            values = yield from _letters(known, text)


def _long(known: Known, text: str) -> Generator[str | None, None, int]:
    name, sign, value = text[2:].partition("=")
    wanted = known.long.get(name, known.words.get(name))
    if wanted is None or (sign and wanted == 0):
        yield None
        return 0
    # Behind `=` alone: what follows is seen to be the standard input.
    yield None if name in known.from_input and (not sign or value != "-") else name
    return 0 if sign or wanted < 0 else wanted


def _letters(known: Known, text: str) -> Generator[str | None, None, int]:
    name, sign, _ = text[1:].partition("=")
    wanted = known.words.get(name)
    if wanted is not None:
        yield name
        return 0 if sign else wanted
    for at, letter in enumerate(text[1:], 2):
        wanted = known.letters.get(letter)
        if wanted is None:
            yield None
            return 0
        yield letter
        if wanted:
            return 1 if wanted > 0 and at == len(text) else 0
    return 0
