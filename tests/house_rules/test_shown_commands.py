"""A command in a message works as it is shown: one function spells it, and what it is given is a command that there is."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest

from gatewright.cli.app import tree
from gatewright.command_text import FILELESS
from tests.house_rules.tree import source_modules

OURS = "commands.py"
"""The one module that may put `gatewright` in front of a command."""


def leaves(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with its words."""
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from leaves(one, (*path, name))
        else:
            yield (*path, name), one


LEAVES = dict(leaves(tree()))
_WORDS = "|".join(" ".join(path) for path in LEAVES if len(path) > 1)
_SPELLED = re.compile(rf"gatewright [a-z]|`(?:{_WORDS})[ `]")


def said(text: str) -> Iterator[tuple[int, str]]:
    """The texts of a module that somebody may be shown: not its docstrings, nor the help of commands, nor comment lines in
    what is written into files."""
    nodes = list(ast.walk(ast.parse(text)))
    quiet = {id(one) for node in nodes for one in _documentation(node)}
    for node in nodes:
        if id(node) in quiet:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            lines = (line for line in node.value.splitlines() if not line.startswith("#"))
            yield node.lineno, "\n".join(lines)
        elif isinstance(node, ast.Tuple | ast.List) and _is_command_line(node.elts):
            yield node.lineno, "gatewright words"


def _documentation(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value
    if isinstance(node, ast.keyword) and node.arg == "help":
        yield from ast.walk(node.value)


def _is_command_line(words: list[ast.expr]) -> bool:
    if len(words) < 2 or not isinstance(words[1], ast.Constant | ast.Starred):
        return False
    return isinstance(words[0], ast.Constant) and words[0].value == "gatewright"


def spelled(name: str, text: str) -> list[str]:
    """Commands that a module spells itself."""
    return [f"{name}:{line}: {found}" for line, found in said(text) if _SPELLED.search(found)]


def asked(text: str) -> Iterator[tuple[int, str]]:
    """The commands that a module asks `to_type` and `Typed.shown` for, with X for each name."""
    if "to_type" not in text and "shown" not in text:
        return  # unparsed: that is most of what this costs
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if ast.unparse(node.func).rpartition(".")[2] not in {"to_type", "shown"}:
            continue
        first = node.args[0]
        if isinstance(first, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else " X" for one in first.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield node.lineno, first.value.replace("{}", "X")


def flaw(words: str) -> str:
    """What is wrong with a command; empty where a shell could run it with its names filled in."""
    given = shlex.split(words.partition(" -- ")[0])
    path = next((path for path in LEAVES if tuple(given[: len(path)]) == path), None)
    if path is None:
        return "there is no such command"
    rest, command = given[len(path) :], LEAVES[path]
    if rest == ["--help"]:
        return ""
    options = {word: one for one in command.params for word in one.opts if word.startswith("-")}
    places = [one for one in command.params if one.param_type_name == "argument"]
    taken = 1 if " -- " in words else 0
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            taken += 1
        elif word not in options:
            return f"{' '.join(path)} has no option {word}"
        elif not options[word].is_flag:
            rest = rest[1:]
    needed = sum(one.required for one in places)
    most = float("inf") if any(one.nargs == -1 for one in places) else len(places)
    return "" if needed <= taken <= most else f"it takes {needed} to {most} arguments"


@pytest.mark.parametrize(
    "line",
    [
        "hint = 'gatewright approve'",
        "hint = f'see `gatewright key list` for {name}'",
        "hint = 'look at `grant list`'",
        "words = ['gatewright', 'approve', id]",
        "words = ('gatewright', *more)",
        "raise Refusal('x', f'{name} waits: `gatewright approve {id}`')",
    ],
)
def test_a_command_that_a_message_spells_itself_is_found(line: str) -> None:
    assert len(spelled("a.py", f'"""Text."""\n{line}\n')) == 1


@pytest.mark.parametrize(
    "text",
    [
        '"""`gatewright approve`."""',
        "def f() -> None:\n    '''For `gatewright deny`.'''",
        "typer.Option(help='As `gatewright approve` shows it.')",
        "TEXT = '# `gatewright config show` prints them all'",
        "names = ('gatewright',)",
        "print(f'gatewright {__version__}')",
    ],
)
def test_documentation_names_commands_plainly(text: str) -> None:
    assert spelled("a.py", text + "\n") == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("approve X", ""),
        ("server add NAME -- COMMAND ARGS", ""),
        ("key create --help", ""),
        ("aprove X", "no such command"),
        ("server", "no such command"),
        ("server permit", "arguments"),
        ("key create NAME --nothing X", "no option"),
        ("approve X Y", "arguments"),
    ],
)
def test_a_command_that_does_not_work_is_found(words: str, why: str) -> None:
    assert why in flaw(words)
    assert bool(why) == bool(flaw(words))


def test_no_message_spells_a_command_itself() -> None:
    found = [
        one
        for name, text in source_modules().items()
        if name != OURS
        for one in spelled(name, text)
    ]
    assert found == []


def test_every_command_that_is_shown_is_one_that_there_is() -> None:
    commands = [
        (f"{name}:{line}: {words}", flaw(words))
        for name, text in source_modules().items()
        for line, words in asked(text)
    ]
    assert len(commands) > 100
    assert [one for one in commands if one[1]] == []


def test_a_configuration_is_named_to_every_command_that_takes_one() -> None:
    without = {
        " ".join(path)
        for path, one in LEAVES.items()
        if not any("--config" in param.opts for param in one.params)
    }
    assert without == set(FILELESS)
