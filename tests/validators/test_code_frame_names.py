"""What names certainly stand for in code that uses tables or arrays; classes that are only named as types."""

import ast

import pytest

from gatewright.validators.code_frame_names import (
    FrameNames,
    mentioned,
)
from gatewright.validators.code_safety import prepare
from gatewright.validators.code_tree import Tree

STRICT = prepare({"level": "strict"})
NUMPY = "import numpy as np\n"
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


def test_a_type_is_only_named_in_annotations_and_for_isinstance() -> None:
    code = "def f(a: X, b: list[X] | None) -> X: isinstance(a, (X, int))\nc: X = X\nd: [X][0](1) = 2\nisinstance(a, [X][0](1))"
    tree = Tree(ast.parse(code))
    named = {id(node) for node in mentioned(tree, frozenset({"isinstance"}))}
    assert sum(id(node) in named for node in tree.names["X"]) == 5
    assert len(tree.names["X"]) == 8


@pytest.mark.parametrize(
    "code",
    [
        "np.ndarray((1,), np.object_, b'A' * 8)[0]", "np.ndarray(shape=(1,), dtype='O', buffer=b'A' * 8)", "n = np.ndarray\nn((1,), object, b'A')", "[np.ndarray][0]((1,), object, b'A')", "from numpy import ndarray\nndarray((1,), 'O', b'A')",
        "class A(np.ndarray): pass", "isinstance(x, [np.ndarray][0]((1,), 'O', b'A'))", "def f(x: [np.ndarray][0]((1,), 'O', b'A')): ...", "np.void(b'A', dtype=[('a', 'O')])", "np.frombuffer(b'A', np.uint8)", "from numpy import frombuffer", "np.frombuffer(b'A', dtype=object)",
        "np.frombuffer(b'A', [('a', 'O')])", "np.frombuffer(np.array([None]), np.uint8)", "x = np.array([None])\nnp.frombuffer(x, np.uint8)", "np.frombuffer(b'A', dtype=t)", "f = np.frombuffer", "import io\nio.BytesIO(b'A' * 8).readinto(np.array([None]))", "memoryview(x)", "x.view('O')", "bytes = f\nnp.frombuffer(bytes(x), np.uint8)", "class A:\n    def encode(self): return x\nnp.frombuffer(A().encode(), np.uint8)", "def isinstance(x, t): return t((1,), object, b'A')\nisinstance(1, np.ndarray)",
        "from enum import Enum\nclass A(Enum):\n    _ignore_ = []", "from enum import Enum\nclass A(Enum):\n    X = f", "from enum import Enum\nclass A([Enum][0]): pass", "from enum import Enum\nE = [Enum][0]", "import enum\nprint(enum.Flag)", "from functools import cached_property\ncached_property(f).attrname = k", "from functools import singledispatch", "f.registry",
        "def f(x: np): ...", "isinstance(x, np)", "x: np = 1", "x.dtype = 'O'", "x.data = y", "x.strides", "x.getfield('O')", "x.setflags(write=True)", "x.dtype.type(b'A', [('a', 'O')])", "type(x)(1)", "np.ma.frombuffer(b'A')", "np.fromstring(b'A')", "np.lib.stride_tricks.as_strided(x)",
        "class A:\n    dtype: object\nx.dtype = 'O'", "from enum import Enum\nA = Enum('A', {'__array_interface__': 1})", "from enum import Enum\nclass A(Enum): pass", "class A: pass\nA().__array_interface__ = {}", "dict(__array_struct__=1)", "import dataclasses\ndataclasses.make_dataclass('A', [])",
    ],
)  # fmt: skip
def test_no_object_is_made_of_bytes(code: str) -> None:
    assert STRICT.judge(NUMPY + code) is not None


@pytest.mark.parametrize(
    "code",
    [
        "np.dtype('int64')", "t = np.dtype([('x', 'i4')])\nnp.zeros(3, dtype=t)", "x.dtype == np.dtype('float64')", "x.astype(object)", "isinstance(x, np.ndarray)",
        "def f(x: np.ndarray | None) -> dict[str, np.ndarray]: ...", "class A:\n    def __init__(self, data):\n        self.data = data\n", "from enum import Enum\nclass A(Enum):\n    X = 1\n",
    ],
)  # fmt: skip
def test_types_are_named_and_arrays_made(code: str) -> None:
    assert STRICT.judge(NUMPY + code) is None
