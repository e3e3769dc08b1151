"""Patterns of a shell against names, beside Python's own for what both read alike."""

from __future__ import annotations

import random
import shutil
import subprocess
from fnmatch import fnmatchcase
from itertools import pairwise

import pytest

from gatewright.validators import shell_globs
from gatewright.validators.sandbox import prepare
from gatewright.validators.shell_globs import (
    MOST_JOKERS,
    hides_class,
    letters_of,
    may_name,
    mixes_class,
    named_by,
)
from tests.costs import DOUBLED, lines_run

PIECES = [
    "*",
    "?",
    "a",
    "b",
    ".",
    "[a]",
    "[ab]",
    "[a-c]",
    "[!a]",
    "[!a-b]",
    "[]a]",
    "[a-]",
    "]",
    "-",
]
STRANGE = [*PIECES, "[", "[]", "[[", "[!"]


@pytest.mark.parametrize("pieces", [PIECES, STRANGE])
def test_what_both_read_alike_is_matched_alike(pieces: list[str]) -> None:
    chosen = random.Random(3)
    for _ in range(20_000):
        pattern = "".join(chosen.choices(pieces, k=chosen.randint(0, 6)))
        name = "".join(chosen.choices("ab.-]c[", k=chosen.randint(0, 5)))
        said, other = may_name(pattern, (name,)), fnmatchcase(name, pattern)
        assert said or not other, (pattern, name)
        assert said is other or pieces is STRANGE, (pattern, name)


@pytest.mark.parametrize(
    "pattern",
    [
        ".[^a]nv",
        ".[^e]nv",
        ".[[:alpha:]]nv",
        ".[[:lower:]x]nv",
        ".[[.e.]]nv",
        ".[[=e=]]nv",
        ".e[^[:digit:]]v",
        ".[!x]nv",
    ],
)
def test_a_class_that_shells_read_otherwise_is_any_letter(pattern: str) -> None:
    assert may_name(pattern, (".env",))


FOUND = """
for pattern; do
  for name in "" a b "[" "]" "[a" "a]" ab "[:" a-b "]a" "!a" ":" . = ; do
    case "$name" in $pattern) printf '%s %s\n' "$pattern" "$name" ;; esac
  done
done
"""


@pytest.mark.parametrize("shell", ["bash", "dash"])
def test_what_a_shell_finds_by_a_pattern_a_pattern_may_mean(shell: str) -> None:
    """MGP-4.5-1: whatever a class holds, and wherever the shell ends it."""
    where = shutil.which(shell)
    if where is None:
        return  # of this one nothing can be asked here
    chosen = random.Random(7)
    pieces = [*"ab]]]!^-*?:.=", *["["] * 5, "[:", "[:alpha:]", "[.a.]", "[=b=]", ":]"]
    patterns = ["".join(chosen.choices(pieces, k=chosen.randint(1, 8))) for _ in range(2000)]
    found = subprocess.run([where, "-c", FOUND, "x", *patterns], capture_output=True, text=True, check=True)  # fmt: skip
    said = [one.split(" ") for one in found.stdout.splitlines()]
    assert len(said) > 500
    assert [one for one in said if not may_name(one[0], (one[1],))] == []


@pytest.mark.parametrize(
    ("pattern", "letters"),
    [
        ("a*b?c", "abc"),
        (".[e][n]v", ".env"),
        ("[ab]x", "x"),
        ("[!a]x", "x"),
        ("*[]]", "]"),
        ("*[!]]", ""),
        ("[]a-z]*", ""),
        ("[[=a=]]!-~]*", ""),
        ("[[.a.]b", "b"),
        ("[a", "[a"),
    ],
)
def test_letters_of_a_pattern_are_those_of_each_name(pattern: str, letters: str) -> None:
    assert letters_of(pattern) == letters


def test_those_that_a_pattern_may_mean_are_told() -> None:
    assert named_by("id_*", (".env", "id_rsa", "id_dsa")) == ["id_rsa", "id_dsa"]
    assert named_by("id_rsa", ("id_rsa", "id_rsa.pub")) == ["id_rsa"]
    assert may_name("x" + "?" * MOST_JOKERS, ("x" + "y" * MOST_JOKERS,))
    assert may_name("x" + "*a" * (MOST_JOKERS + 1), ("xy",))


SECRETS = [
    "/etc/shadow",
    "~/.ssh/id_rsa",
    ".env",
    ".env.production",
    "~/.aws/credentials",
    "a/.npmrc",
    "server.key",
    "/proc/1/environ",
]
HIDDEN = [
    *("[{}]", "[{}{}]", "[!,]", "[^,]", "[[:print:]]", "[^[:space:]]", "[[.{}.]]", "?"),
    *("[[.{}.]", "[[:{}:]", "[[={}=]", "[[=,=]]{}]", "[![=,=]]{}]"),
]
"""What may stand for a letter."""
MODES = [{"allow": ["inspect"]}, {"allow": ["develop"]}, {"mode": "deny-list"}, {}]


@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_seen_behind_jokers(secret: str, options: dict[str, object]) -> None:
    """MGP-4.5-1: whichever of its letters a joker stands for, in whatever form shells know."""
    validator = prepare(options)
    for at, letter in enumerate(secret):
        # A shell puts nothing in place of a joker that begins with a dot, or is a slash or a home.
        if letter in "/~" or (letter == "." and secret[at - 1 : at] in {"", "/"}):
            continue
        for form in HIDDEN:
            joker = form.replace("{}", letter)
            if joker == "?" and (at == 0 or secret[at - 1] == "/"):
                continue  # a lone `?` before other letters names too many plain files
            line = f"cat {secret[:at]}{joker}{secret[at + 1 :]}"
            assert validator.judge(line) is not None, line


@pytest.mark.parametrize("unit", ["[", "[[:", "[a", "a*", "[^a]", "*", "[a-"])
def test_twice_as_long_a_pattern_costs_twice_as_much(unit: str) -> None:
    def counted(size: int) -> int:
        return lines_run(shell_globs, lambda: may_name("x" + unit * size, ("x" + "a" * 30,)))

    found = [counted(size) for size in (100, 200, 400, 800)]
    assert max(after / before for before, after in pairwise(found)) <= DOUBLED, found


QUOTES = ['"{}"', "'{}'", "\\{}", "$'{}'", "'q{}'"]
CLASSES = ["[q{]}@]", "[{!}@]", "[{^}@]", "[@{]}q]", "[q{[}@]", "[!<{-}>]"]
"""A letter in a class; what stands in braces is quoted. `<` and `>` are its neighbours, between which it lies where the dash spans."""


def _class_of(form: str, quote: str, letter: str) -> str:
    before, _, rest = form.partition("{")
    quoted, _, after = rest.partition("}")
    text = before + quote.format(quoted) + after
    return text.replace("@", letter).replace("<", chr(ord(letter) - 1)).replace(">", chr(ord(letter) + 1))  # fmt: skip


@pytest.mark.parametrize("options", [*MODES, {"mode": "strict"}], ids=str)
@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_seen_behind_what_is_quoted_in_a_class(secret: str, options: dict[str, object]) -> None:  # fmt: skip
    """MGP-4.5-1"""
    validator = prepare(options)
    for at, letter in enumerate(secret):
        if not letter.isalpha():
            continue
        for form in CLASSES:
            for quote in QUOTES:
                line = f"cat {secret[:at]}{_class_of(form, quote, letter)}{secret[at + 1 :]}"
                assert validator.judge(line) is not None, line


@pytest.mark.parametrize("loop", ["for x in ']'; do cat ~/.s[a\"$x\"s]h/config; done", "for x in '[a'; do cat ~/.s$x\"]\"s]h/config; done", "for x in '!'; do cat .en[\"$x\"v]; done"])  # fmt: skip
def test_a_value_of_a_loop_is_no_part_of_a_class(loop: str) -> None:
    """MGP-4.5-1"""
    assert all(prepare({"allow": [one]}).judge(loop) is not None for one in ("inspect", "develop"))


def test_what_is_quoted_beside_a_class_leaves_it_as_it_is() -> None:
    inspect = prepare({"allow": ["inspect"]})
    for line in ("cat 'my-app'/src/lib[12].py", "cat \"app/[id]\"/page*.tsx", "ls src/\\[id\\]/*.ts", "ls a\\ b[0-9].txt", "for d in my-a my-b; do ls \"$d\"/log[0-9].txt; done"):  # fmt: skip
        assert inspect.judge(line) is None, line
    assert hides_class("a[b'-'c]")
    assert not hides_class("'a-b'/c[d]")
    assert not hides_class("'[-]'/c")
    assert mixes_class("a[M]", "M", "!")
    assert mixes_class("M]", "M", "[a")
    assert not mixes_class("M/a[b]", "M", "c-d")
