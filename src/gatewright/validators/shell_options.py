"""How one program reads its arguments, and what of it is refused.

Theory: the danger of a known program is in few of its options, so a program is described by those:
letters and long names that are refused, and letters that take a value, without which a cluster such
as `-uo` cannot be read. Long options may be shortened by their user, so every prefix of a refused
name is refused. A value that looks like an option is judged as one, too: if a letter were described
wrongly, nothing could hide behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gatewright.validators.shell_syntax import Word

__all__ = ["Program", "option_rule"]


class Program(NamedTuple):
    """What is known of one program. Everything that is not refused is allowed."""

    short: str = ""
    """Refused letters."""
    valued: str = ""
    """Letters that take a value, in the same word or the next."""
    long: tuple[str, ...] = ()
    """Refused long options, without dashes."""
    words: frozenset[str] = frozenset()
    """Refused words, for programs whose options are whole words; without leading dashes."""
    operands: int | None = None
    """The most operands; None: any number."""
    subs: Mapping[str, Program] | None = None
    """The allowed subcommands; one of them has to come first."""
    check: Callable[[Sequence[Word]], str | None] | None = None
    """Asked instead of all this: a rule's name, or None where nothing speaks against it."""
    textual: bool = False
    """Whether its arguments are text and never files."""

    @property
    def closed(self) -> bool:
        """Whether some of its arguments are refused, so that unknown ones cannot be added."""
        return self._replace(valued="", textual=False) != Program()


_ASKING = frozenset({"--version", "--help"})


def option_rule(program: Program, arguments: Sequence[Word]) -> str | None:
    """What speaks against these arguments of this program: a rule's name, or None."""
    texts = [word.text for word in arguments]
    if len(texts) == 1 and texts[0] in _ASKING:
        return None
    if program.subs is not None:
        sub = program.subs.get(texts[0]) if texts else None
        return "subcommand" if sub is None else option_rule(sub, arguments[1:])
    if program.check is not None:
        return program.check(arguments)
    if program.words and any(text.lstrip("-").partition("=")[0] in program.words for text in texts):
        return "option"
    return _options(program, texts)


def _options(program: Program, texts: Sequence[str]) -> str | None:
    operands = 0
    value_next = only_operands = False
    for text in texts:
        is_option = len(text) > 1 and text[0] == "-" and not only_operands
        if text == "--":
            only_operands, value_next = True, False
            continue
        if is_option and _refused(program, text):
            return "option"
        if value_next:
            value_next = False
        elif is_option:
            value_next = _wants_value(program, text)
        else:
            operands += 1
    if program.operands is not None and operands > program.operands:
        return "operand"
    return None


def _refused(program: Program, text: str) -> bool:
    if text.startswith("--"):
        name = text[2:].partition("=")[0]
        return any(one.startswith(name) for one in program.long)
    for letter in text[1:]:
        if letter in program.short:
            return True
        if letter in program.valued:
            return False
    return False


def _wants_value(program: Program, text: str) -> bool:
    if text.startswith("--"):
        return False
    for at, letter in enumerate(text[1:], 2):
        if letter in program.valued:
            return at == len(text)
    return False
