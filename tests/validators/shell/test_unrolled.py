"""A pipeline of a loop, read once for each word of it."""

import pytest

from gatewright.validators.shell.effects import Listed
from gatewright.validators.shell.places import HERE
from gatewright.validators.shell.unrolled import texts_of, unrolled
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_commands import Command, Redirection
from gatewright.validators.shell_pipelines import Step
from gatewright.validators.shell_syntax import Word

FIRST, SECOND = "\ue000", "\ue001"


def said(*words: Word) -> tuple[Listed, ...]:
    return tuple(Listed(HERE, word=one) for one in words)


def commands(word: Word, *values: Word) -> list[list[str]]:
    step = Step([Command([Word("ls"), word])])
    found = unrolled(step, {FIRST: said(*values)})
    return [[one.text for one in step.commands[0].words] for step in found]


def test_each_word_of_the_loop_is_put_in_its_place() -> None:
    assert commands(Word(f"a{FIRST}b"), Word("1"), Word("2")) == [["ls", "a1b"], ["ls", "a2b"]]


@pytest.mark.parametrize(
    ("word", "value", "words"),
    [
        (Word(FIRST), "a -b", ["ls", "a", "-b"]),
        (Word(FIRST, bare=False), "a -b", ["ls", "a -b"]),
        (Word(FIRST), "", ["ls"]),
        (Word(FIRST, bare=False), "", ["ls", ""]),
    ],
)
def test_a_shell_splits_what_stands_outside_of_quotes(word: Word, value: str, words: list[str]) -> None:  # fmt: skip
    assert commands(word, Word(value, bare=False)) == [words]


@pytest.mark.parametrize(("word", "value"), [(f"x{FIRST}", "a b"), (FIRST, "a\\ b")])
def test_parts_that_grow_together_with_others_are_refused(word: str, value: str) -> None:
    with pytest.raises(Refused):
        commands(Word(word), Word(value, bare=False))


@pytest.mark.parametrize(("bare", "glob"), [(True, True), (False, False)])
def test_a_shell_looks_for_files_by_what_stands_outside_of_quotes(bare: bool, glob: bool) -> None:
    step = Step([Command([Word("ls"), Word(f"x{FIRST}", bare=bare)])])
    (found,) = unrolled(step, {FIRST: said(Word("*", bare=False))})
    assert found.commands[0].words[1].glob is glob


def test_variables_and_redirections_get_the_word_as_well() -> None:
    command = Command([Word("ls")], (f"A={FIRST}",), (Redirection(">", Word(FIRST)),))
    assert list(texts_of(Step([command]))) == [f"A={FIRST}", FIRST]
    (found,) = unrolled(Step([command]), {FIRST: said(Word("x"))})
    assert found.commands == [Command([Word("ls")], ("A=x",), (Redirection(">", Word("x")),))]


@pytest.mark.parametrize("listed", [None, (), (Listed(HERE),), (*said(Word("a")), Listed(HERE)), said(Word(SECOND))])  # fmt: skip
def test_what_nobody_has_said_stays_a_mark(listed: tuple[Listed, ...] | None) -> None:
    step = Step([Command([Word("ls"), Word(FIRST)])])
    assert list(unrolled(step, {FIRST: listed})) == [step]


@pytest.mark.parametrize("times", [8, 9])
def test_loops_within_loops_are_bounded(times: int) -> None:
    values = said(*(Word(str(one)) for one in range(times)))
    step = Step([Command([Word("ls"), Word(FIRST + SECOND)])])
    found = unrolled(step, {FIRST: values, SECOND: values})
    if times == 8:
        assert len(list(found)) == 64
    else:
        with pytest.raises(Refused):
            list(found)
