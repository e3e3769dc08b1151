"""Commands in the help and documentation of modules: each exists, with every option and argument that it is shown with. Those in
messages are those of `tests/house_rules/test_shown_commands.py`."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

import gatewright
from gatewright.cli.app import tree

SOURCE = Path(gatewright.__file__).parent
BACKTICKED = re.compile(r"`gatewright ([^`]+)`")
BARE = re.compile(r"(?:^|: |  )gatewright ([a-z][^`;,()]*)")
VALUE = "x"


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module, with a word for what is put in while it runs."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            inside.update(id(part) for part in ast.walk(node) if part is not node)
            text = ""
            for one in node.values:
                if isinstance(one, ast.Constant):
                    text += str(one.value)
                elif not text[-1:].isalnum():  # behind a word, as in `serve{option}`, it is options
                    text += VALUE
            yield node.lineno, text
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in inside
        ):
            yield node.lineno, node.value


def shown() -> list[tuple[str, str]]:
    """Where a command stands, and its words."""
    return [
        (f"{path.relative_to(SOURCE)}:{line}", " ".join(found.split()))
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text in texts(path)
        for pattern in (BACKTICKED, BARE)
        for found in pattern.findall(text)
        if not found.startswith(VALUE)  # a version, or whatever is put in there
    ]


@cache
def commands() -> Any:
    """The whole tree, which takes a moment to put together."""
    return tree()


def flaw(text: str) -> str:
    """Why the command line would not take it, or one of the commands that `show|list` stands for; empty where it would."""
    wanted = text.split()
    choice = next((word for word in wanted if re.fullmatch(r"[a-z-]+(\|[a-z-]+)+", word)), "")
    return next(
        (
            found
            for one in choice.split("|")
            if (found := _flaw(" ".join(one if word == choice else word for word in wanted)))
        ),
        "",
    )


@cache
def _flaw(text: str) -> str:
    """Why the command line would not take it; empty where it would. A name without arguments is a mention of a command,
    and what stands for a value may be of another type than the value."""
    words = shlex.split(re.split(r" [<>|]", text.replace("[", "").replace("]", ""))[0])
    here = commands()
    while words and isinstance(here, TyperGroup) and not words[0].startswith("-"):
        found = here.commands.get(words[0])
        if found is None:
            return f"there is no command {words[0]!r}"
        here, words = found, words[1:]
    try:
        here.make_context("gatewright", list(words)).close()
    except typer.Exit:  # --help
        return ""
    except TyperException as problem:
        kind = type(problem).__name__
        mention = not words and kind in {"MissingParameter", "NoArgsIsHelpError"}
        placeholder = kind == "BadParameter"
        return "" if mention or placeholder else str(problem)
    return ""


def test_every_command_that_we_show_is_one_that_we_take() -> None:
    found = shown()
    assert len(found) > 60, "the strings of the source are found"
    wrong = {f"{where}: gatewright {text}": flaw(text) for where, text in found if flaw(text)}
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("server frobnicate", "there is no command 'frobnicate'"),
        ("sever list", "there is no command 'sever'"),
        ("server list --jason", "No such option"),
        ("server pin x --acept", "No such option"),
        ("key create x y", "unexpected extra argument"),
        ("grant add x", "Missing parameter"),
        ("grant list|lost", "there is no command 'lost'"),
    ],
)
def test_a_command_that_we_would_not_take_is_noticed(text: str, why: str) -> None:
    assert why in flaw(text)
