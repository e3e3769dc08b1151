"""What a pipeline costs to judge grows with its length and no faster: counted in lines of Python, whatever the machine does meanwhile."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gatewright.validators import shell_files, shell_pipes
from gatewright.validators.shell_pipes import pipe_rule
from gatewright.validators.shell_syntax import Word
from tests.costs import DOUBLED, lines_run

SIZES = (50, 100, 200, 400)
UNITS = {
    "xargs echo": [["xargs", "echo", "x"]],
    "xargs of nothing": [["xargs"]],
    "text before each": [["echo", "a", "b"], ["xargs", "echo"]],
    "filters": [["sort"], ["uniq"], ["grep", "x"]],
    "filters into xargs": [["grep", "-v", "x"], ["head", "-5"]],
    "words that hint at files": [["cat", "a/.env.x", "etc/b", "run/c"], ["xargs", "echo"]],
    "jokers": [["cat", "*a*", "?b"], ["xargs", "basename"]],
}


@pytest.fixture(autouse=True)
def _nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_files, "is_sensitive", shell_files.is_sensitive.__wrapped__)  # type: ignore[attr-defined]


def pipeline(unit: list[list[str]], size: int) -> list[list[Word]]:
    commands = [*[["ls"], *(unit * size)][:size], ["xargs", "cat"]]
    return [[Word(one, glob="*" in one or "?" in one) for one in words] for words in commands]


def lines(unit: list[list[str]], size: int) -> int:
    commands = pipeline(unit, size)
    return lines_run((shell_pipes, shell_files), lambda: pipe_rule(commands))


@pytest.mark.parametrize("name", UNITS)
def test_twice_as_many_commands_cost_twice_as_much(name: str) -> None:
    found = [lines(UNITS[name], size) for size in SIZES]
    grown = [after / before for before, after in pairwise(found)]
    assert max(grown) <= DOUBLED, found
    assert found[-1] < 400 * 1500


@pytest.mark.parametrize("name", UNITS)
def test_twice_as_many_words_cost_twice_as_much(name: str) -> None:
    def longer(size: int) -> int:
        unit = [[words[0], *(words[1:] or ["x"]) * size] for words in UNITS[name]]
        commands = pipeline(unit, 4)
        return lines_run((shell_pipes, shell_files), lambda: pipe_rule(commands))

    found = [longer(size) for size in SIZES]
    grown = [after / before for before, after in pairwise(found)]
    assert max(grown) <= DOUBLED, found
