"""What Python code costs to judge grows with its length and no faster: counted in lines of Python, not in time."""

from __future__ import annotations

import ast
from functools import partial
from itertools import pairwise

import pytest

from gatewright.validators import (
    code_calls,
    code_classes,
    code_closed,
    code_frame_functions,
    code_frame_names,
    code_frames,
    code_members,
    code_names,
    code_own,
    code_rules,
    code_tree,
)
from gatewright.validators.code_lists import ALLOWED_IMPORTS, BLOCKED_IMPORTS, BLOCKED_PATTERNS
from gatewright.validators.code_members import Rules
from gatewright.validators.code_rules import violations
from tests.costs import DOUBLED, lines_run

MODULES = (
    *(code_calls, code_closed, code_frame_functions, code_frame_names, code_frames),
    *(code_members, code_names, code_rules, code_tree, code_classes, code_own),
)
SIZES = (24, 48, 96)
HEAD = "import os, json\nimport numpy as np\nimport pandas as pd\nfrom itertools import count\n"
LINES = [
    "x = df.groupby('a').agg(total=('b', 'sum'))", "def f(a: 'list[int]', b: np.ndarray = None): return a", "print(type(x).__name__, '{:.2f}'.format(x))", "m = {'a': 'sum'}\ndf.agg(m)", "for i in count():\n    if i: break",
    "while True:\n    x.pop()", "x = 'a' + 'b' + '__c' + d", "np = np", "a.b.c = os.path.join('a', x)", "getattr(x, 'a' + y)", "x = [1] * 5 ** 2", "os.environ['A']", "try: x\nexcept E as e: e.obj", "class A(B):\n    _x: int = 1\n    def __add__(self, o): return self._x",
    "y.format(a, '{')", "def f(a: 'b[c]' + 'd', e: list['f | g']): ...", "def f(): return eval(x)", "@dataclass\nclass A(B):\n    x: int\nmatch x:\n    case A(b): ...", "class E(Enum):\n    A = 1", "print(type(x), type(x) == int, d.get(type(x)), isinstance(x, type))", "class A:\n    def f(self, n): return type(self)(n), vars(self)\na.f()", "class A(B):\n    def __init__(self, **k):\n        super().__init__(**k)\n        for n in k: setattr(self, n, k)", "def f(type):\n    def g(type): return type(x)", "class A(B):\n    def f(self): return self.__dict__\na.f()", "P = namedtuple('P', 'a b')\nmatch x:\n    case P(a, b): ...", "x = '{} {}'.format(a, b)", "@wraps(f)\ndef g(): ...", "def input(): input()", "df.query('a > 1')", "class A:\n    class B:\n        def f(self):\n            class C:\n                def g(self): return self.__class__(1)", "class A:\n    def f(self, n):\n        def g(self): return self.x\n        return vars(self)[n]",
    "print(type(x) == os.path, type(x) in d, type(x) in (int, A), type(x) < y)", "d = {}\nprint(type(x) in d, d[type(x)])", "class Request: ...\nRequest('GET', x)\nos.build_request('GET', x)", "class A:\n    class B:\n        method = 1",
    "import httpx\nfrom httpx import Request as Q\nQ('GET', x)\nhttpx.Request('GET', x)\nclass A:\n    method = Q",
]  # fmt: skip
REPEATED = [
    ("x", ".a"), ("f(x", ", type(x)"), ("type(x)", " == type(x)"), ("type(x)", " == os.path"), ("type(x) in (int", ", os.path"), ("type(x) in {int: 1", ", A: 1"), ("x = {}", "[type(x)]"), ("class A(B", ", B"), ("os", ".path"), ("x = 1", " + 'a'"), ("x = ''", " + f'{y}'"), ("df", ".agg('sum')"), ("for how in ['sum'", ", 'mean'"), ("df.agg(['sum'", ", np.mean"), ("a0 = np", " or np"), ("f(1", ", list(map(str, x))"), ("match x:\n    case A(a=1", ", b=2"), ("x = [", "np.ndarray, "),
]  # fmt: skip
CLOSING = {"for how in ['sum'": "]: df.agg(how)", "df.agg(['sum'": "])", "f(1": ")", "type(x) in (int": ")", "type(x) in {int: 1": "}", "f(x": ")", "class A(B": "): ...", "x = [": "]", "match x:\n    case A(a=1": "): pass"}  # fmt: skip
STRICT = Rules(
    frozenset(BLOCKED_IMPORTS), frozenset(BLOCKED_PATTERNS), frozenset(ALLOWED_IMPORTS), True
)
STANDARD = Rules(frozenset(BLOCKED_IMPORTS), frozenset(BLOCKED_PATTERNS))


def judged(code: str) -> int:
    tree = ast.parse(HEAD + code)
    return sum(lines_run(MODULES, partial(violations, tree, rules)) for rules in (STRICT, STANDARD))


def worst(codes: list[str]) -> tuple[float, list[int]]:
    found = [judged(code) for code in codes]
    return max(after / before for before, after in pairwise(found)), found


@pytest.mark.parametrize("line", LINES)
def test_twice_as_many_lines_cost_twice_as_much(line: str) -> None:
    grown, found = worst([f"{line}\n" * size for size in SIZES])
    assert grown <= DOUBLED, found


@pytest.mark.parametrize(("begun", "more"), REPEATED)
def test_a_longer_expression_costs_as_much_more_as_it_is_longer(begun: str, more: str) -> None:
    grown, found = worst([begun + more * size + CLOSING.get(begun, "") for size in SIZES])
    assert grown <= DOUBLED, found


def test_calls_and_what_they_are_given_are_not_multiplied() -> None:
    """As many calls as values that the name which each is given may stand for: more than 50 are not gone through."""
    codes = [
        f"for how in [{'np.mean, ' * size}]:\n" + "    df.agg(how)\n    s.map(how)\n" * size
        for size in (60, 120, 240)
    ]
    grown, found = worst(codes)
    assert grown <= DOUBLED, found


def test_comparisons_and_the_tuple_that_they_ask_are_not_multiplied() -> None:
    codes = [f"T = ({'int, ' * size})\n" + "type(x) in T\n" * size for size in (60, 120, 240)]
    grown, found = worst(codes)
    assert grown <= DOUBLED, found


def test_what_is_in_loops_without_an_end_is_looked_at_once_however_deep_they_are() -> None:
    def nested(depth: int) -> str:
        loops = "".join(f"{' ' * at}while 1:\n{' ' * at} if x: break\n" for at in range(depth))
        return loops + (" " * depth + "a = [b, c]\n") * 100

    grown, found = worst([nested(depth) for depth in (10, 20, 40)])
    assert grown <= 1.4, found
