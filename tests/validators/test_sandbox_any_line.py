"""Validator `sandbox` judges any line of a shell's own words: it speaks for or against, and never breaks."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gatewright.validators.sandbox import prepare

LINES = 1_500
WORDS = """export declare local readonly typeset unset let set trap eval source alias return break function select time coproc [ [[ (( test ! { }
    ( ) if then else fi for in do done case esac while until -p -x -f A=1 A= A=(1) A+=2 ${A} ${A:-b} $(a) `a` <(a) > >> < << <<< &> 2>&1 | |& & && || ;
    'x' "y" $'z' * ? [a] {a,b} ~ # ls cat""".split()


@pytest.mark.parametrize(
    "options",
    [{}, {"pipes": True}, {"mode": "deny-list"}, {"allow": ["inspect"]}, {"allow": ["develop"]}],
    ids=str,
)
def test_any_line_of_a_shells_own_words_is_judged(options: dict[str, Any]) -> None:
    validator, chosen = prepare(options), random.Random(7)
    for line in (
        "export -p",
        *(" ".join(chosen.choices(WORDS, k=chosen.randint(1, 6))) for _ in range(LINES)),
    ):
        said = validator.judge(line)
        assert said is None or said.message, line
