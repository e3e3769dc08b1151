"""`Program` and `option_rule`: refuse a program's dangerous options (also clustered or abbreviated), operands and subcommands.

Theory: the danger of a known program is in few of its options, so a program is described by those:
letters and long names that are refused, and letters that take a value, without which a cluster such
as `-uo` cannot be read. Long options may be shortened by their user, so every prefix of a refused
name is refused. A word that looks like a refused option is refused as a value and behind `--`, too: which
options take a value is known of few, and `--` itself may be one (`grep -e --`), so that options go on behind it.
What speaks for a line is held to the opposite: it counts where it certainly is no value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell_known import options_known
from gatewright.validators.shell_readers import Known
from gatewright.validators.shell_syntax import Word

__all__ = ["Program", "option_rule", "shaped"]


class Program(NamedTuple):
    """What is known of one program. Everything that is not refused is allowed."""

    short: str = ""
    """Refused letters."""
    valued: str = ""
    """Letters that take a value, in the same word or the next."""
    long: tuple[str, ...] = ()
    """Refused long options, without dashes."""
    words: frozenset[str] = frozenset()
    """Refused options of programs whose options are whole words; without leading dashes."""
    operands: int | None = None
    """The most operands; None: any number."""
    choosing: frozenset[str] = frozenset()
    """Whole options with which operands only choose what is shown, so that any number is allowed."""
    plain: frozenset[str] = frozenset()
    """Whole long options that take no value from the next word; only behind these may one of `choosing` stand."""
    keyed: frozenset[str] = frozenset()
    """Whole long options that take a value which may begin with a dash from the next word, of more than one letter."""
    refused: Callable[[str], bool] | None = None
    """Says which words are refused wherever they stand."""
    subs: Mapping[str, Program] | None = None
    """The allowed subcommands; one of them has to come first."""
    leading: frozenset[str] = frozenset()
    """Whole options that may stand before the subcommand."""
    leading_valued: frozenset[str] = frozenset()
    """Those that take a value, behind `=` or in the next word, where it never begins with a dash."""
    leading_value: Callable[[str], bool] | None = None
    """Says which values those may have; None: any."""
    alone: bool = False
    """Whether no subcommand at all is allowed, too."""
    check: Callable[[Sequence[Word]], str | None] | None = None
    """Asked instead of all this: a rule's name, or None where nothing speaks against it."""
    textual: bool = False
    """Whether its arguments are text and never files."""
    known: Known | None = None
    """Its options that only read; no other passes then. None: all that are not refused."""

    @property
    def closed(self) -> bool:
        """Whether some of its arguments are refused, so that unknown ones cannot be added."""
        return self._replace(valued="", plain=frozenset(), textual=False, known=None) != Program()


def shaped(options: str, operands: str = ".*") -> Program:
    """A program all of whose options and operands have to be like these patterns."""
    of_options, of_operands = Pattern(options), Pattern(operands, DOTALL)

    def rule(words: Sequence[Word]) -> str | None:
        for word in words:
            if word.text.startswith("-"):
                if not of_options.fits(word.text):
                    return "option"
            elif not of_operands.fits(word.text):
                return "operand"
        return None

    return Program(check=rule)


_ASKING = frozenset({"--version", "--help"})


def option_rule(program: Program, arguments: Sequence[Word]) -> str | None:
    """What speaks against these arguments of this program: a rule's name, or None."""
    texts = [word.text for word in arguments]
    if len(texts) == 1 and texts[0] in _ASKING:
        return None
    if program.subs is not None:
        return _subcommand_rule(program, program.subs, arguments)
    if program.check is not None:
        return program.check(arguments)
    if program.words and any(
        text.startswith("-") and text.lstrip("-").partition("=")[0] in program.words
        for text in texts
    ):
        return "option"
    if program.refused is not None and any(map(program.refused, texts)):
        return "operand"
    if program.known is not None:
        plain = ["key" if _is_key(program, texts, at) else one for at, one in enumerate(texts)]
        if not options_known(program.known, plain):
            return "option"
    return _options(program, texts)


def _subcommand_rule(
    program: Program, subs: Mapping[str, Program], arguments: Sequence[Word]
) -> str | None:
    rest = list(arguments)
    while rest:
        name, has_value, value = rest[0].text.partition("=")
        if name in program.leading_valued:
            if not has_value:
                value = rest[1].text if len(rest) > 1 else "-"
            # Some parsers take no word with a dash for a value, and the word behind it for the subcommand.
            bad = value.startswith("-") and not has_value
            if bad or (program.leading_value is not None and not program.leading_value(value)):
                return "subcommand"
            del rest[: 1 if has_value else 2]
        elif rest[0].text in program.leading:
            del rest[0]
        else:
            break
    if not rest and program.alone:
        return None
    sub = subs.get(rest[0].text) if rest else None
    return "subcommand" if sub is None else option_rule(sub, rest[1:])


def _options(program: Program, texts: Sequence[str]) -> str | None:
    # Wherever they stand: `--` may be a value, and `git stash list` drops it before it hands on what follows.
    if any(
        _is_option(text) and _refused(program, text) and not _is_key(program, texts, at)
        for at, text in enumerate(texts)
    ):
        return "option"
    operands = 0
    chosen = value_next = only_operands = False
    before = ""
    for text in texts:
        if only_operands:
            # These are operands, even if they begin with a dash (POSIX, 12.2, guideline 10), and a second `--` is one.
            operands += 1
        elif text == "--":
            only_operands = True
        else:
            chosen = chosen or (_chooses(program, text) and not _may_want_value(program, before))
            if value_next:
                value_next = False
            elif _is_option(text):
                value_next = _wants_value(program, text)
            else:
                operands += 1
        before = text
    too_many = program.operands is not None and operands > program.operands
    return "operand" if too_many and not chosen else None


def _is_option(text: str) -> bool:
    return len(text) > 1 and text[0] == "-" and text != "--"


def _is_key(program: Program, texts: Sequence[str], at: int) -> bool:
    """Whether a word is the value of a `keyed` option for certain (`--sort -committerdate`)."""
    if not at or texts[at - 1] not in program.keyed or not _KEY.fits(texts[at]):
        return False
    return at == 1 or not _may_want_value(program, texts[at - 2])


_KEY = Pattern(r"-[a-z]{4}[\w:.]*|-v:[\w:.]*")


def _chooses(program: Program, text: str) -> bool:
    # `-n3` is `-n` with a number.
    return text.partition("=")[0].rstrip("0123456789") in program.choosing


def _may_want_value(program: Program, text: str) -> bool:
    """Whether the word behind this one may be its value: of long options all that are not known for the contrary."""
    if text.startswith("--"):
        return "=" not in text and text not in program.plain
    return _wants_value(program, text)


def _refused(program: Program, text: str) -> bool:
    if text.startswith("--"):
        # `apt` makes no difference between capitals and others, `kubectl` none between `_` and `-`.
        name = text[2:].partition("=")[0].casefold().replace("_", "-")
        # `getopt_long` takes every unambiguous beginning of a long option.
        return any(one.startswith(name) for one in program.long)
    for letter in text[1:]:
        if letter in program.short:
            return True
        # The rest of the word is its value, no further letters.
        if letter in program.valued:
            return False
    return False


def _wants_value(program: Program, text: str) -> bool:
    if text.startswith("--") or not _is_option(text):
        return False
    for at, letter in enumerate(text[1:], 2):
        if letter in program.valued:
            return at == len(text)
    return False
