"""Splits a shell command's words into options and operands by its table entry: clusters, attached values, `--`; refuses unknown options.

An option that is not in the entry is refused, an abbreviation of a long one among them: what it means depends on the version that is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gatewright.validators.shell.table import FLAG, MAYBE, VALUED, Entry, Opt
from gatewright.validators.shell_syntax import Word

__all__ = ["Given", "Option", "Refused", "given"]


class Refused(Exception):  # noqa: N818 - a verdict, not a malfunction
    """What speaks against a line: a rule's name, and what of the line it is about."""

    def __init__(self, rule: str, why: str = "") -> None:
        super().__init__(rule, why)
        self.rule, self.why = rule, why


class Option(NamedTuple):
    """One option as it was given."""

    name: str
    """As it is spelled, with its dashes."""
    opt: Opt
    value: Word | None


class Given(NamedTuple):
    """The words of a command behind its name."""

    options: list[Option]
    operands: list[Word]


def given(
    entry: Entry, words: Sequence[Word], *, most: int | None = None, more: Entry | None = None
) -> tuple[Given, int]:
    """The options and operands, and how many words were read. Behind `most` operands nothing is read any more; `more` is an entry whose options
    count as well. Raises `Refused`."""
    options: list[Option] = []
    operands: list[Word] = []
    at, end = 0, len(words)
    while at < end and (most is None or len(operands) < most):
        word = words[at]
        text = word.text
        at += 1
        if text[:1] != "-" or text == "-":
            operands.append(word)
        elif text == "--":
            left = end if most is None else min(end, at + most - len(operands))
            operands.extend(words[at:left])
            return Given(options, operands), left
        elif text[1] == "-":
            at = _long(entry, more, words, at, options)
        else:
            at = _short(entry, more, words, at, options)
    return Given(options, operands), at


def _unknown(entry: Entry, name: str) -> Refused:
    return Refused("option", f"{entry.names[0]} {name}")


def _long(
    entry: Entry, more: Entry | None, words: Sequence[Word], at: int, options: list[Option]
) -> int:
    word = words[at - 1]
    name, sign, value = word.text[2:].partition("=")
    opt = entry.longs.get(name) or (more.longs.get(name) if more is not None else None)
    if opt is None or (sign and opt.takes == FLAG):
        raise _unknown(entry, f"--{name}")
    if sign:
        found = word._replace(text=value)
    elif opt.takes == VALUED:
        if at == len(words):
            raise _unknown(entry, f"--{name}")
        found = words[at]
        at += 1
    else:
        found = None
    options.append(Option(f"--{name}", opt, found))
    return at


def _short(
    entry: Entry, more: Entry | None, words: Sequence[Word], at: int, options: list[Option]
) -> int:
    word = words[at - 1]
    if entry.words and (end := _whole(entry, words, at, options)):
        return end
    for place, letter in enumerate(word.text[1:], 1):
        opt = entry.letters.get(letter) or (more.letters.get(letter) if more is not None else None)
        if opt is None:
            raise _unknown(entry, word.text if place == 1 else f"-{letter}")
        if opt.takes == FLAG:
            options.append(Option(f"-{letter}", opt, None))
            continue
        rest = word.text[place + 1 :]
        if rest or opt.takes == MAYBE:
            options.append(Option(f"-{letter}", opt, word._replace(text=rest) if rest else None))
            return at
        options.append(Option(f"-{letter}", opt, _next(entry, f"-{letter}", words, at)))
        return at + 1
    return at


def _whole(entry: Entry, words: Sequence[Word], at: int, options: list[Option]) -> int:
    """A whole word behind one dash: where the next word stands, 0 where it is none."""
    word = words[at - 1]
    name, sign, value = word.text[1:].partition("=")
    opt = entry.words.get(name)
    if opt is None or (opt.takes == FLAG and sign):
        return 0
    if opt.takes == VALUED and not sign:
        options.append(Option(f"-{name}", opt, _next(entry, word.text, words, at)))
        return at + 1
    options.append(Option(f"-{name}", opt, word._replace(text=value) if sign else None))
    return at


def _next(entry: Entry, name: str, words: Sequence[Word], at: int) -> Word:
    """The value in the next word."""
    if at == len(words):
        raise _unknown(entry, name)
    return words[at]
