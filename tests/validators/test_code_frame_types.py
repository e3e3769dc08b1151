"""Types of numbers and texts, and bytes that nothing else holds."""

import ast

import pytest

from gatewright.validators.code_frame_types import is_bytes, is_plain_type, mentioned
from gatewright.validators.code_safety import prepare
from gatewright.validators.code_tree import Tree

STRICT = prepare({"level": "strict"})
HEAD = "import numpy as np\n"


def path(node: ast.expr) -> str:
    return "numpy." + node.attr if isinstance(node, ast.Attribute) else ""


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    "text",
    ["int", "float", "'int32'", "'<f8'", "'U10'", "np.float32", "np.dtype('i4')", "'datetime64[ns]'", "[('x', 'i4'), ('y', float)]", "[('x', 'f8', (2,))]", "'?'"],
)  # fmt: skip
def test_types_of_numbers_and_texts_are_plain(text: str) -> None:
    assert is_plain_type(expression(text), path)


@pytest.mark.parametrize(
    "text",
    ["object", "'O'", "'|O'", "'O8'", "'i4,O'", "np.object_", "np.void", "[('x', 'O')]", "[('x', object)]", "[('x', [('y', 'O')])]", "{'names': ['x'], 'formats': ['O']}", "x", "f()", "'(2,)O'", "[x]", "'V8'", "np.dtype(x)"],
)  # fmt: skip
def test_what_may_hold_an_object_is_no_plain_type(text: str) -> None:
    assert not is_plain_type(expression(text), path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("b'x'", True), ("bytes([1])", False), ("'x'.encode()", True), ("x.encode()", False), ("x", False), ("bytearray(2)", False), ("'x'", False), ("memoryview(x)", False)],
)  # fmt: skip
def test_bytes_are_known_where_they_are_made(text: str, expected: bool) -> None:
    assert is_bytes(expression(text)) is expected


def test_a_type_is_only_named_in_annotations_and_for_isinstance() -> None:
    code = "def f(a: X, b: list[X] | None) -> X: isinstance(a, (X, int))\nc: X = X\nd: [X][0](1) = 2\nisinstance(a, [X][0](1))"
    tree = Tree(ast.parse(code))
    named = mentioned(tree, frozenset({"isinstance"}))
    assert sum(id(node) in named for node in tree.names["X"]) == 5
    assert len(tree.names["X"]) == 8


@pytest.mark.parametrize(
    "code",
    [
        "np.ndarray((1,), np.object_, b'A' * 8)[0]", "np.ndarray(shape=(1,), dtype='O', buffer=b'A' * 8)", "n = np.ndarray\nn((1,), object, b'A')", "[np.ndarray][0]((1,), object, b'A')", "from numpy import ndarray\nndarray((1,), 'O', b'A')",
        "class A(np.ndarray): pass", "isinstance(x, [np.ndarray][0]((1,), 'O', b'A'))", "def f(x: [np.ndarray][0]((1,), 'O', b'A')): ...", "np.void(b'A', dtype=[('a', 'O')])", "np.dtype([('a', 'O')])", "t = 'O'\nnp.dtype(t)", "np.frombuffer(b'A', dtype=object)",
        "np.frombuffer(b'A', [('a', 'O')])", "np.frombuffer(np.array([None]), np.uint8)", "x = np.array([None])\nnp.frombuffer(x, np.uint8)", "np.frombuffer(b'A', dtype=t)", "f = np.frombuffer", "import io\nio.BytesIO(b'A' * 8).readinto(np.array([None]))", "memoryview(x)", "x.view('O')", "bytes = f\nnp.frombuffer(bytes(x), np.uint8)", "class A:\n    def encode(self): return x\nnp.frombuffer(A().encode(), np.uint8)", "def isinstance(x, t): return t((1,), object, b'A')\nisinstance(1, np.ndarray)",
        "from enum import Enum\nclass A(Enum):\n    _ignore_ = []", "from enum import Enum\nclass A(Enum):\n    X = f", "from enum import Enum\nclass A([Enum][0]): pass", "from enum import Enum\nE = [Enum][0]", "import enum\nprint(enum.Flag)", "from functools import cached_property\ncached_property(f).attrname = k", "from functools import singledispatch", "f.registry",
        "x.dtype = 'O'", "x.data = y", "x.strides", "x.getfield('O')", "x.setflags(write=True)", "x.dtype.type(b'A', [('a', 'O')])", "type(x)(1)", "np.ma.frombuffer(b'A')", "np.fromstring(b'A')", "np.lib.stride_tricks.as_strided(x)",
        "class A:\n    dtype: object\nx.dtype = 'O'", "from enum import Enum\nA = Enum('A', {'__array_interface__': 1})", "from enum import Enum\nclass A(Enum): pass", "class A: pass\nA().__array_interface__ = {}", "dict(__array_struct__=1)", "import dataclasses\ndataclasses.make_dataclass('A', [])",
    ],
)  # fmt: skip
def test_no_object_is_made_of_bytes(code: str) -> None:
    assert STRICT.judge(HEAD + code) is not None


@pytest.mark.parametrize(
    "code",
    [
        "np.frombuffer(b'A', dtype=np.uint8)", "data = b'A'\nnp.frombuffer(data, np.uint8)", "np.dtype('int64')", "t = np.dtype([('x', 'i4')])\nnp.zeros(3, dtype=t)", "x.dtype == np.dtype('float64')", "x.astype(object)", "isinstance(x, np.ndarray)",
        "def f(x: np.ndarray | None) -> dict[str, np.ndarray]: ...", "class A:\n    def __init__(self, data):\n        self.data = data\n", "from enum import Enum\nclass A(Enum):\n    X = 1\n",
    ],
)  # fmt: skip
def test_numbers_are_made_of_bytes(code: str) -> None:
    assert STRICT.judge(HEAD + code) is None
