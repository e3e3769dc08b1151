"""Source becomes a tree, or a refusal that names what is wrong with it."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.validators.code_source import MAX_BYTES, BadSource, blanked, parsed


@pytest.mark.parametrize(
    "code",
    [
        "",
        "x = 1",
        "# -*- coding: utf-8 -*-\nx = 1",
        '"\\d"',
        "# coding: ascii",
        "x = 1\ny = 2\n# coding: utf-7",
        "x = '" + "(" * 500 + "'",
        "(" * 100 + "1" + ")" * 100,
        "(" * 80 + "1" + ")" * 80 + "+[" * 40 + "1" + "]" * 40,
    ],
)
def test_ordinary_source_becomes_a_tree(code: str) -> None:
    assert isinstance(parsed(code), ast.Module)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("x =", "Syntax: invalid syntax"),
        ("x\x00", "Character: NUL"),
        ("x = '\ud800'", "Character: a lone surrogate"),
        ("# coding: utf-7\nx", "Encoding: utf-7"),
        ("#!/usr/bin/python\n# vim: set fileencoding=latin-1 :", "Encoding: latin-1"),
        ("(" * 201 + ")" * 201, "Syntax: too many nested parentheses"),
        ("[" * 5000, "Syntax: too many nested parentheses"),
        ("x = (" + "'" + ")" * 300 + "'" + "(" * 201, "Syntax: too many nested parentheses"),
        ("+".join(["1"] * 60_000), "Syntax: nested too deeply"),
        ("not " * 30_000 + "x", "Syntax: "),
        ("-" * 30_000 + "x", "Syntax: "),
        ("9" * 20_000, "Syntax: "),
        ("a" + ".b" * 40_000, "Syntax: nested too deeply"),
        ("if x:\n" + " x\n" + "  y", "Syntax: unexpected indent"),
    ],
)
def test_what_breaks_a_parser_is_an_ordinary_refusal(code: str, says: str) -> None:
    """MGP-7.4-1: the reason is a violation like any other."""
    with pytest.raises(BadSource) as problem:
        parsed(code)
    assert str(problem.value).startswith(says)
    assert MAX_BYTES > 10_000


def test_texts_and_comments_are_blanked_and_code_is_kept() -> None:
    code = "a('eval(') # eval(\nb(\"\"\"x\neval(\"\"\", r'\\'x')\nf'{eval(1)}'; c\n'unclosed eval("
    assert blanked(code) == "a('') \nb(\"\"\"\"\"\", r'')\nf'{eval(1)}'; c\n''"


@given(st.text(alphabet="abf'\"\\#\n{}()= ", max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        tree: ast.Module | None = parsed(text)
    except BadSource:
        tree = None
    assert tree is None or isinstance(tree, ast.Module)
    assert len(blanked(text)) <= len(text) + 3
