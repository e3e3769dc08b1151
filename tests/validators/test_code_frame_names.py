"""What names certainly stand for in code that uses tables or arrays."""

import ast

import pytest

from gatewright.validators.code_frame_names import FrameNames
from gatewright.validators.code_tree import Tree

HEAD = "import numpy as np\nfrom io import StringIO\n"


def names(code: str) -> FrameNames:
    return FrameNames(Tree(ast.parse(HEAD + code)))


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    "code",
    [
        "np = 1", "for np in x: ...", "def np(): ...", "class np: ...", "def f(np): ...", "with x as np: ...", "import np", "from x import np", "try: x\nexcept E as np: ...", "match x:\n    case np: ...", "match x:\n    case [*np]: ...",
        "match x:\n    case {**np}: ...", "def f():\n    global np", "del np", "(np := 1)", "np += 1", "lambda np: 0", "[0 for np in x]", "async def np(): ...",
    ],
)  # fmt: skip
def test_a_name_that_is_bound_twice_stands_for_nothing(code: str) -> None:
    assert names(code).path(expression("np.mean")) == ""
    assert names("x = np").path(expression("np.mean")) == "numpy.mean"


def test_values_and_functions_are_known_where_they_are_bound_once() -> None:
    found = names("a = 'x'\nfor b in [1, 2]: ...\nc = 1\nc = 2\ndef f(): ...\n@g\ndef h(): ...")
    assert [len(found.known(expression(name))) for name in ("a", "b", "c", "d")] == [1, 2, 1, 1]
    assert isinstance(found.known(expression("a"))[0], ast.Constant)
    assert isinstance(found.known(expression("c"))[0], ast.Name)
    assert [found.is_function(name) for name in ("f", "h", "a")] == [True, False, False]
    assert found.is_builtin(expression("str"), "str")
    assert not names("str = 1").is_builtin(expression("str"), "str")


@pytest.mark.parametrize(
    ("text", "plain"),
    [("'{:.2f}'.format", True), ("'{0.a}'.format", False), ("'{a[b]}'.format", False), ("x.format", False), ("t.format", True), ("'a'.join", False)],
)  # fmt: skip
def test_a_format_is_plain_where_it_looks_no_member_up(text: str, plain: bool) -> None:
    node = expression(text)
    assert isinstance(node, ast.Attribute)
    assert names("t = '{name}'").is_plain_format(node) is plain
