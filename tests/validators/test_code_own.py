"""All members of an object, and its class, are for methods that cannot be called but through their object."""

import pytest

from gatewright.validators.code_safety import prepare

STRICT, READONLY = prepare({"level": "strict"}), prepare({"level": "readonly"})
PEEK = "class A:\n    def peek(self, n): return self.__dict__[n]\n"
CLONE = "class A:\n    def clone(self, x): return type(self)(x)\n"
FILL = (
    "class A:\n    def __init__(self, **kw):\n        for k, v in kw.items(): setattr(self, k, v)\n"
)
REFUSED = [
    "def peek(self, n): return self.__dict__[n]\npeek(int, n)", "def put(self, n, v): setattr(self, n, v)\nput(A, n, v)", "f = lambda self: vars(self)\nf(int)", "self = int\nvars(self)",
    PEEK + "A.peek(int, n)", PEEK + "type(a).peek(int, n)", PEEK + "f = A.peek\nf(int, n)", PEEK + "B = A\nB.peek(int, n)", PEEK + "for B in [A]: B.peek(int, n)", PEEK + "    p = classmethod(peek)\nA.p(n)",
    PEEK + "    x = peek(int, n)", PEEK + "    def go(self, n): return self.__class__.peek(int, n)", PEEK + "    @classmethod\n    def go(cls, n): return cls.peek(int, n)", PEEK + "map(A.peek, [int], [n])",
    PEEK + "A.peek(*x)", PEEK + "A.peek(**x)", PEEK + "A.peek(self=int, n=n)", PEEK + "getattr(A, 'peek')(int, n)", PEEK + "getattr(A, f'on_{x}')", PEEK + "from operator import attrgetter\nattrgetter('peek')(A)", PEEK + "match A:\n    case object(peek=p): p(int, n)",
    PEEK + "class B(A):\n    peek: object", "def deco(f): f(int, n)\nclass A:\n    @deco\n    def peek(self, n): return self.__dict__[n]", "class A:\n    @staticmethod\n    def peek(self, n): return self.__dict__[n]",
    "class A:\n    def m(self):\n        def peek(self, n): return self.__dict__[n]\n        return peek(int, n)", "class A:\n    def m(self):\n        for self in [int]: vars(self)", "f = [vars(self) for self in [int]]",
    "class A:\n    def __repr__(self): return str(vars(self))\nA.__repr__(int)", "class A:\n    def __repr__(self): return vars(self)\nclass B(A):\n    @classmethod\n    def f(cls): return super().__repr__(int)",
    "class A:\n    def __eq__(self, other): return vars(other)", "property = f\nclass A:\n    @property\n    def d(self): return vars(self)", "class A:\n    @property\n    def d(self): return vars(self)\nA.d.fget(int)",
    FILL + "A.__init__(B, **d)", FILL + "class B(A):\n    def __init__(self):\n        def f(x): super().__init__(**d)\n        f(B)", FILL + "super = f\nclass B(A):\n    def __init__(self): super().__init__(B, **d)", FILL + "def go(self): A.__init__(self, **d)\ngo(B)",
    "class A:\n    @classmethod\n    def f(cls, n, v): setattr(cls, n, v)", "import contextlib\nclass R(contextlib.redirect_stdout):\n    def f(self): return vars(self)", "from warnings import catch_warnings as w\nB = w\nclass R(B):\n    def f(self): return self.__dict__",
    "def f(B):\n    class R(B):\n        def g(self): return self.__dict__", "@f\nclass B: ...\nclass R(B):\n    def g(self): return self.__dict__", "class R([B][0]):\n    def g(self): return self.__dict__", "x.__init__('/etc/passwd')", "class A:\n    def f(self, x): x.__init__(1)", "class A:\n    def f(self): self.__init__(1)",
    CLONE + "A.clone(x, 1)", CLONE + "B = A\nB.clone(x, 1)", "def f(self): return type(self)(1)\nf(x)", "type(x)(1)", "t = type(x)", "f(type(x))", "return_ = [type(x)]", "print(t := type(x))", "def print(x): return x\nprint(type(x))(1)",
    "class G:\n    def get(self, c): return c\nG().get(type(x))(1)", "class D(dict):\n    def __missing__(self, k): return k\nD()[type(x)](1)", "class A: ...\nA.get = staticmethod(f)\nA.get(type(x))(1)", "Q.__eq__ = f\nQ() == type(x)", "def f(d): return d[type(x)]", "d = {}\nd[type(x)] = 1\nlist(d)[0](1)", PEEK + "from operator import attrgetter as g\ng('peek')(A)", "class Q:\n    def __eq__(self, o): return o\nprint(type(x) == Q())", "x.__class__(1)", "list(map(type, xs))", "class A:\n    def f(self):\n        match x:\n            case self: return type(self)(1)", "class A:\n    def f(self):\n        try: x\n        except E as self: return vars(self)", "from enum import Enum\nclass E(Enum):\n    A = 1\n    def _missing_(self): out.append(vars(self))\nE(int)", "setattr(self, '__match_args__', x)",
]  # fmt: skip
PASSING = [
    FILL + '    def __repr__(self): return f"A({self.__dict__})"\n    def update(self, d): self.__dict__.update(d); return vars(self)\nclass B(A):\n    def __init__(self, **kw):\n        super().__init__(**kw)\n        A.__init__(self, **kw)\na = A(x=1)\na.update({})\nprint(a)',
    "class A:\n    @property\n    def d(self): return {k: v for k, v in vars(self).items()}\n    @classmethod\n    def make(cls, d):\n        x = cls()\n        setattr(cls, 'n', 1)\n        return x\nprint(A().d)",
    "from enum import Enum\nfrom typing import Generic, TypeVar\nT = TypeVar('T')\nclass E(Enum): A = 1\nclass B(Generic[T]):\n    def to_dict(self): return dict(self.__dict__)\nclass C(B[int], Exception): ...\nprint(B().to_dict())",
    CLONE + "    def copy(self, deep=False): return self.__class__(self)\nprint(A(1).clone(2), A(1).copy(deep=True))", "class A:\n    def __add__(self, o): return type(self)(o)\n    def __eq__(self, o): return type(self) is type(o) and type(o) == type(self)",
    "d = {int: 'i'}\nprint(d[type(x)], d.get(type(x), 'o'), type(x), type(x).__name__, type(x) in (int, str), f'{type(x)}')", "try: x\nexcept E as e: raise type(e)('again') from e", "isinstance(x, type)\nisinstance(x, type(y))\ndef f(x: type, y: 'type', z: type[int]) -> type: ...",
    "def f(v, type): return type(v)", "n = {int: 1}\nprint(n.get(type(x), 0) + n[type(x)])", "def f(type, id=0): return {'type': type}\nf(type='a')", "class A:\n    count = 0\n    def __init__(self): type(self).count += 1",
]  # fmt: skip


@pytest.mark.parametrize("code", REFUSED)
def test_what_may_be_a_class_has_no_members_for_all(code: str) -> None:
    assert STRICT.judge(code) is not None


@pytest.mark.parametrize("code", PASSING)
def test_methods_use_the_members_and_the_class_of_their_object(code: str) -> None:
    assert STRICT.judge(code) is None


LOG = "import logging\nlogging.basicConfig()\nh = logging.getLogger()\n"
OPERATORS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne", "in": "contains"}
DEFINED = {
    "function": "class A:\n    def {name}(self, o): self.o = o\n",
    "coroutine": "class A:\n    async def {name}(self, o): self.o = o\n",
    "class": "out = []\nclass A:\n    class {name}:\n        def __init__(self, *o): out.append(o)\n",
    "lambda": "out = []\nclass A:\n    {name} = lambda s, o: out.append(o)\n",
    "loop": "def f(s, o): s.o = o\nclass A:\n    for {name} in [f]: ...\n",
    "stored": "class A: ...\nA.{name} = lambda s, o: o\n",
    "set": "class A:\n    @classmethod\n    def f(cls, g): setattr(cls, '{name}', g)\nA.f(lambda s, o: o)\n",
    "joined": "class A:\n    @classmethod\n    def f(cls, g): setattr(cls, '__' + '{bare}' + '__', g)\nA.f(lambda s, o: o)\n",
    "enum": "from enum import Enum\nclass E(Enum):\n    M = 1\n    def {name}(self, o): self.o = o\nA = lambda: E.M\n",
    "nowhere to be seen": "",
    "slot": "class A:\n    __slots__ = ('{name}', 'o')\n    def __init__(self): self.put('{name}', self.keep)\n    def put(self, n, f): setattr(self, n, f)\n    def keep(self, o): self.o = o\n",
}
CLASSES = ["type(h)", "h.__class__"]


def compared(definition: str, name: str, comparison: str) -> str:
    return LOG + DEFINED[definition].format(name=f"__{name}__", bare=name) + comparison


@pytest.mark.parametrize("definition", DEFINED)
@pytest.mark.parametrize(("operator", "name"), OPERATORS.items())
@pytest.mark.parametrize("given", CLASSES)
def test_no_comparison_hands_a_class_to_an_object(
    operator: str, name: str, definition: str, given: str
) -> None:
    sides = [f"a {operator} {given}", f"1 {operator} a {operator} {given}"]
    if operator == "in":
        sides = [
            f"{given} in a",
            f"{given} in (int, a)",
            f"{given} in [a, int]",
            f"({given}, 1) in {{a}}",
        ]
    else:
        sides += [f"{given} {operator} a", f"({given}, 1) {operator} (a, 1)"]
    for side in sides:
        assert STRICT.judge(compared(definition, name, f"a = A()\n{side}\n")) is not None, side


@pytest.mark.parametrize(
    "code",
    [
        "from enum import Enum\nclass E(Enum):\n    M = 1\n    @classmethod\n    def _missing_(cls, o): out.append(o)\ntype(h) in E",
        "import functools\n@functools.partial(f)\nclass A: ...\nA == type(h)",
        "T = [int]\ntype(h) in T",
        "T = (int, *a)\ntype(h) in T",
        "T = (int,)\nT = a\ntype(h) in T",
        "(t := type(h)) == int",
        "type(h) == int == a",
        "import json\njson.JSONDecoder = a\ntype(h) == json.JSONDecoder",
        "type(h) in {a: 1}",
        "type(h) in {**a}",
        "d = {}\nclass I(int): ...\nI.__eq__ = f\nd[I(1)] = 1\nd[type(h)]",
        "d = {}\nclass I(int):\n    @classmethod\n    def f(cls, g): setattr(cls, '__eq__', g)\nd[I(1)] = 1\nd.get(type(h))",
        "d = {}\nclass I(int):\n    class __eq__:\n        def __init__(self, o): out.append(o)\nd[I(1)] = 1\ntype(h) in d",
        "class D: ...\ntype(h).x = D()",
        "del type(3).foo",
        "h.__class__.x = 1",
        "def f(self): type(self).x = 1",
        "class A:\n    def f(self): type(self).x = 1\nA.f(h)",
        "class A:\n    def __init__(self): type(self).__eq__ = f",
    ],
)
def test_a_class_goes_to_nothing_that_might_keep_it(code: str) -> None:
    assert STRICT.judge(LOG + code) is not None


REPLACED = {
    "redirect_stdout": "import sys, contextlib\nwith contextlib.redirect_stdout(A()): {}",
    "redirect_stderr": "from sys import stderr as place\nimport sys\nfrom contextlib import redirect_stderr as r\nwith r(A()): {}",
    "a member of it": "import sys, contextlib\nclass W:\n    place = A()\nwith contextlib.redirect_stdout(W()): {}",
    "setLogRecordFactory": "logging.getLogger().manager.setLogRecordFactory(A())\n{}",
    "set_option": "import pandas as pd\npd.set_option('display.float_format', A())\n{}",
}
PLACES = {
    "redirect_stdout": "sys.stdout",
    "redirect_stderr": "sys.stderr",
    "a member of it": "sys.stdout.place",
    "setLogRecordFactory": "logging.Logger.manager.logRecordFactory",
    "set_option": "pd.options.display.float_format",
}


@pytest.mark.parametrize("way", REPLACED)
@pytest.mark.parametrize(
    "comparison", ["type(h) == {}", "{} != h.__class__", "type(h) in (int, {})"]
)
def test_what_a_function_replaces_is_compared_with_no_class(way: str, comparison: str) -> None:
    """The class of a stream opens files; an object of the program would keep it."""
    code = "class A:\n    def __call__(self, *a): ...\n    def __eq__(self, o): self.o = o\n"
    code = LOG + code + REPLACED[way].format(comparison.format(PLACES[way]))
    assert STRICT.judge(code) is not None
    assert READONLY.judge(code) is not None


@pytest.mark.parametrize(
    "code",
    [
        "class A:\n    def __eq__(self, o): return type(o) == A and type(o) in (A, int) and type(o) is not bool\n    def __lt__(self, o): return type(self) == o.__class__",
        "import datetime, decimal\nfrom collections import OrderedDict\nprint(type(x) == datetime.date, type(x) in (decimal.Decimal, OrderedDict), (type(x), type(y)) == (int, str))",
        "NUMBERS = (int, float)\nprint(type(x) in NUMBERS, type(x) not in {int, str}, type(x) in [bool], type(x) != None)",
        "d = {int: 1}\nif type(x) in d: print(d[type(x)])",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass A:\n    x: int\nprint(type(y) == A, type(y) is unknown)",
        "class A:\n    n = 0\n    def add(self): type(self).n += 1\nA().add()",
    ],
)
def test_classes_are_compared_with_classes(code: str) -> None:
    assert STRICT.judge(code) is None
