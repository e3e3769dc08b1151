"""Expands a pipeline in a shell loop once for each value of its variable: `for x in a b; do ls $x; done` as `ls a` and `ls b`.

What a word does is not known before it stands where the shell puts it: it may be a subcommand, a host, a script, or be several words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from gatewright.patterns import Pattern
from gatewright.validators.shell.effects import Listed, marked
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_commands import Command
from gatewright.validators.shell_globs import mixes_class
from gatewright.validators.shell_pipelines import MARKS, Step
from gatewright.validators.shell_syntax import Word

__all__ = ["texts_of", "unrolled"]

_MOST = 64
"""How often one pipeline is judged, at most: loops within loops multiply."""
_SPLITS = Pattern(r"[\s\\]")
_JOKERS = Pattern(r"[*?\[]")

Values = Mapping[str, Word]
"""Mark → the word that stands for it this time."""


def texts_of(step: Step) -> Iterator[str]:
    """The words of a pipeline in which marks may stand."""
    for command in step.commands:
        yield from (one.text for one in command.words if not one.text.isascii())
        yield from (one for one in command.variables if not one.isascii())
        yield from (one.target.text for one in command.redirections if not one.target.text.isascii())  # fmt: skip


def unrolled(step: Step, listed: Mapping[str, tuple[Listed, ...] | None]) -> Iterator[Step]:
    """The pipeline with each of the words; as it is where it names no variable of such a loop. Raises `Refused`."""
    marks = sorted({one[0] for text in texts_of(step) for one in MARKS.finditer(text)})
    said = [(mark, words) for mark in marks if (words := _words(listed.get(mark)))]
    times = 1
    for _, words in said:
        times *= len(words)
    if times > _MOST:
        raise Refused("too_long", "for")
    if not said:
        yield step
        return
    for chosen in product(*(words for _, words in said)):
        values = dict(zip((mark for mark, _ in said), chosen, strict=True))
        yield step._replace(commands=[_command(one, values) for one in step.commands])


def _words(listed: tuple[Listed, ...] | None) -> list[Word]:
    """The words that a loop goes through; none where it goes through anything else."""
    words = [one.word for one in listed or () if one.word is not None and not marked(one.word.text)]
    return words if len(words) == len(listed or ()) else []


def _command(command: Command, values: Values) -> Command:
    redirections = tuple(one._replace(target=_put(one.target, values)) for one in command.redirections)  # fmt: skip
    variables = tuple(_put(Word(one, bare=False), values).text for one in command.variables)
    words = [word for one in command.words for word in _split(one, values)]
    return Command(words, variables, redirections)


def _split(word: Word, values: Values) -> list[Word]:
    """The words that a shell makes of one: outside of quotes the parts of the text."""
    value = values.get(word.text)
    if value is None or not word.bare or value.glob or "\\" in value.text:
        return [_put(word, values)]
    return [Word(one, _JOKERS.within(one)) for one in value.text.split()]


def _put(word: Word, values: Values) -> Word:
    """The word with what stands for its marks. A shell splits what stands outside of quotes, and looks for files by it."""
    for mark in {one[0] for one in MARKS.finditer(word.text)} & values.keys():
        value = values[mark]
        if (word.bare and _SPLITS.within(value.text)) or mixes_class(word.text, mark, value.text):
            raise Refused("unknown_arguments", value.text)
        glob = word.glob or value.glob or (word.bare and _JOKERS.within(value.text))
        word = word._replace(text=word.text.replace(mark, value.text), glob=glob)
    return word
