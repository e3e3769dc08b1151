"""Lines that are made at random beside a model of a shell: where they may end up, which words a variable may have, what a path means."""

from __future__ import annotations

import posixpath
import random
from itertools import product

import pytest

from gatewright.validators import readonly
from gatewright.validators.sandbox import prepare

DEVELOP, INSPECT = prepare({"allow": ["develop"]}), prepare({"allow": ["inspect"]})
READONLY = readonly.prepare({}, "run_command")
LINES = 2_000

Ends = set[tuple[tuple[str, ...], bool]]
"""Where a statement may leave the shell, and whether it has succeeded."""
OUT = ("..",)


def _went(folder: tuple[str, ...], to: str) -> tuple[str, ...]:
    if to == "..":
        return folder[:-1] if folder and folder[-1] != ".." else (*folder, "..")
    return (*folder, to)


class _Shells:
    """Statements at random, each with what a shell may make of it: a `cd` to a folder may fail, one to the folder above does not."""

    def __init__(self, seed: int) -> None:
        self._any = random.Random(seed)

    def statement(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        """Its text, and how it may end where it may begin as `ends` says."""
        kinds = ["true", "false", "cd x", "cd ..", "ls"]
        if depth:
            kinds += ["and", "or", "then", "group", "shell", "not", "pipe", "if", "job"]
        kind = self._any.choice(kinds)
        made = getattr(self, f"_{kind}", None)
        return self._plain(kind, ends) if made is None else made(depth - 1, ends)

    def _plain(self, text: str, ends: Ends) -> tuple[str, Ends]:
        name, _, to = text.partition(" ")
        folders = {folder for folder, _ in ends}
        if name == "cd":
            gone = {(_went(one, to), True) for one in folders}
            return text, gone if to == ".." else gone | {(one, False) for one in folders}
        return text, {(one, name != "false") for one in folders}

    def _joined(self, depth: int, ends: Ends, sign: str, goes_on: bool) -> tuple[str, Ends]:
        first, after = self.statement(depth, ends)
        going = {one for one in after if one[1] is goes_on}
        second, last = self.statement(depth, going or {((), True)})
        return f"{first} {sign} {second}", (last if going else set()) | (after - going)

    def _and(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        return self._joined(depth, ends, "&&", True)

    def _or(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        return self._joined(depth, ends, "||", False)

    def _then(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        first, after = self.statement(depth, ends)
        second, last = self.statement(depth, after)
        return f"{{ {first}; {second}; }}", last

    def _group(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        text, after = self.statement(depth, ends)
        return f"{{ {text}; }}", after

    def _shell(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        text, found = "", set()
        for folder, said in sorted(ends):
            state = self._any.getstate()
            text, after = self.statement(depth, {(folder, said)})
            found |= {(folder, succeeded) for _, succeeded in after}
            if (folder, said) != max(ends):
                self._any.setstate(state)
        return f"({text})", found

    def _not(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        text, after = self.statement(0, ends)
        return f"! {text}", {(folder, not said) for folder, said in after}

    def _pipe(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        text, _ = self.statement(0, ends)
        group, _ = self._group(min(depth, 1), ends)
        # The last part of a pipeline is run by some shells themselves: where that leads is asked of those that do not.
        return f"{text} | {group}", {(folder, said) for folder, _ in ends for said in (True, False)}

    def _if(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        asked, after = self.statement(0, ends)
        yes = {one for one in after if one[1]}
        then, done = self.statement(depth, yes or {((), True)})
        no = {(folder, True) for folder, said in after if not said}
        return f"if {asked}; then {then}; fi", (done if yes else set()) | no

    def _job(self, depth: int, ends: Ends) -> tuple[str, Ends]:
        text, _ = self.statement(0, ends)
        return f"{{ {text} & true; }}", {(folder, True) for folder, _ in ends}


@pytest.mark.parametrize("sign", ["&&", "||", ";"])
def test_a_line_is_judged_in_every_folder_in_which_it_may_be(sign: str) -> None:
    """MGP-4.5-1: all of the workspace, or of the folder above it, would go."""
    shells = _Shells(11)
    wrong, inside = [], 0
    for _ in range(LINES):
        text, ends = shells.statement(3, {((), True)})
        runs = [folder for folder, said in ends if sign == ";" or said is (sign == "&&")]
        line = f"{text} {sign} rm -rf *"
        said = DEVELOP.judge(line)
        if any(not one or OUT[0] in one for one in runs):
            wrong += [line] if said is None else []
        else:
            inside += said is None
    assert wrong == []
    assert bool(inside) is (sign == "&&")


WORDS = ("a", "b", ".env", "'a .env'", "'x -o y'", "*.md", "'x -o '*")
MAY_READ = {"a": "a", "b": "b", "*.md": "*.md"}


def _loops(chosen: random.Random, depth: int, values: dict[str, str | None]) -> tuple[str, bool]:
    """Statements that loop and read, and whether they read anything but plain files of the workspace."""
    kind = chosen.choice(["read", "both", "loop", "loop", "while"] if depth else ["read"])
    name = chosen.choice("fg")
    if kind == "read":
        return f"sort ${name}", values.get(name, "?") not in MAY_READ
    if kind == "both":
        first, harmful = _loops(chosen, depth - 1, values)
        second, later = _loops(chosen, depth - 1, values)
        return f"{first}; {second}", harmful or later
    if kind == "while":
        text, harmful = _loops(chosen, depth - 1, values | {name: None})
        values[name] = None  # once it has run
        return f"while read {name}; do {text}; done < names", harmful
    words = chosen.choices(WORDS, k=chosen.randint(1, 2))
    state, harmful, text = chosen.getstate(), False, ""
    for word in words:
        chosen.setstate(state)
        values[name] = word
        text, found = _loops(chosen, depth - 1, values)
        harmful |= found
    return f"for {name} in {' '.join(words)}; do {text}; done", harmful


def test_a_variable_of_a_loop_is_any_word_that_it_may_have() -> None:
    """MGP-4.5-1"""
    chosen = random.Random(12)
    wrong, passed = [], 0
    for _ in range(LINES):
        line, harmful = _loops(chosen, 4, {})
        said = INSPECT.judge(line)
        wrong += [line] if harmful and said is None else []
        passed += not harmful and said is None
    assert wrong == []
    assert passed


HOME, HERE = "/home/u", "/home/u/proj"
BEFORE = ["", "..", "a", "../", "./", "/", ".", "a/", "../..", "../../.."]
AFTER = [
    "",
    "/a",
    "/a/b",
    "-old",
    "*",
    "..",
    "/..",
    "2",
    ".bak",
    "/../x",
    "/../../x",
    "/.",
    "/a/..",
    "/*/..",
    "~",
]
VARIABLES = {"$PWD": HERE, "${PWD}": HERE, "$HOME": HOME, "${HOME}": HOME, "$(pwd)": HERE}


@pytest.mark.parametrize("quote", ["", '"'])
def test_what_grows_together_with_a_folder_is_no_longer_below_it(quote: str) -> None:
    """MGP-4.5-1"""
    wrong, passed = list[str](), list[str]()
    for before, variable, after in product(BEFORE, VARIABLES, AFTER):
        line = f"rm -rf {quote}{before}{variable}{after}{quote}"
        means = posixpath.normpath(posixpath.join(HERE, before + VARIABLES[variable] + after))
        inside = means.startswith(f"{HERE}/") and "*" not in means
        said = DEVELOP.judge(line)
        if said is None:
            (passed if inside else wrong).append(line)
    assert wrong == []
    assert f"rm -rf {quote}$PWD/a{quote}" in passed


@pytest.mark.parametrize("value", ["x[$(id)]", "x[`id`]", "1 + y[$(id)]"])
@pytest.mark.parametrize("name", ["a", "f", "i", "x"])
@pytest.mark.parametrize("use", ["$(({}))", "$(( {} + 1 ))", "$((-{}))", "$((2*{}))"])
def test_arithmetic_evaluates_no_name(value: str, name: str, use: str) -> None:
    """MGP-4.5-1: what a name stands for is evaluated in turn, commands in subscripts too."""
    for line in (f"for {name} in '{value}'; do echo {use.format(name)}; done", f"while read {name}; do echo {use.format(name)}; done < f"):  # fmt: skip
        assert INSPECT.judge(line) is not None, line
        assert DEVELOP.judge(line) is not None, line


@pytest.mark.parametrize(
    "before", ["time ", "time -p ", "time -- ", "time time ", "/usr/bin/time ", "", "-p "]
)
@pytest.mark.parametrize(("value", "word"), [("cd", "$c /etc"), ("cd", '"$c" /etc'), ("pushd", "$c /etc"), ("'cd /etc'", "$c"), ("d", "c$c /etc"), ("chdir", "$c /etc")])  # fmt: skip
@pytest.mark.parametrize("form", ["for c in {}; do {}; done; {}", "for c in {}; do ({}; {}); done", "for c in ls {}; do {} && {}; done"])  # fmt: skip
def test_where_a_word_of_a_loop_goes_is_not_guessed(before: str, value: str, word: str, form: str) -> None:  # fmt: skip
    """MGP-4.5-1"""
    for validator, last in ((INSPECT, "cat shadow"), (DEVELOP, "cat shadow"), (DEVELOP, "rm x"), (READONLY, "rm x")):  # fmt: skip
        assert validator.judge(form.format(value, before + word, last)) is not None


def test_a_word_of_a_loop_behind_what_goes_somewhere_is_followed() -> None:
    assert INSPECT.judge("for d in a b; do (time cd $d && ls); done") is None
    assert INSPECT.judge("for d in a /etc; do (time cd $d && cat shadow); done") is not None
