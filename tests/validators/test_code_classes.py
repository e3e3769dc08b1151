"""Classes that are made at run time, and patterns that read members of what a class has not made."""

import pytest

from gatewright.validators.code_safety import prepare

STRICT = prepare({"level": "strict"})
MADE = [
    "from typing import Type\nt = Type[int].__origin__\nt('X', (), d)",
    "import typing\ntyping.get_origin(typing.Type[int])('X', (), d)",
    "from enum import Enum\nE = Enum('E', 'A B')",
    "from typing import TypedDict\nT = TypedDict('T', {'a': int})",
    "t = type\nt('X', (), d)",
    "[type][0]('X', (), d)",
    "def f(a=type): return a('X', (), d)",
    "import functools\nfunctools.partial(type, 'X')((), d)",
    "T = type(int)\nT('X', (), d)",
    "class M(type(int)): ...",
    "type.__setattr__(A, n, v)",
    "import typing\ntyping.ABCMeta('X', (), d)",
    "import numbers\nnumbers.ABCMeta('X', (), d)",
    "import typing\ntyping.NamedTupleMeta('X', b, d)",
    "import enum\nenum.Enum('X', names=d)",
    "import enum\nenum.Enum('X', **{'names': d})",
    "from enum import Enum\nclass E(Enum): ...\nE('X', d)",
    "from dataclasses import fields\nfields(D)[0].name = t",
    "from dataclasses import field\nF = field()\nF.name = t",
    "from dataclasses import field\nclass C:\n    x: int = field()\nC.x.name = t",
    "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    x: int = field\nC.x().name = t",
    "D.__dataclass_fields__['x'].name = t",
    "from functools import wraps\nwraps(object)(a)",
    "from enum import *\nglobal_enum(E)",
    'import abc\nX = abc.ABCMeta("X", (), d)',
    'X = type(int)("X", (), d)',
    'X = type(type(1))("X", (), {("__ann" + s): 1})',
    'import enum\nX = enum.Enum("X", d)',
    'import dataclasses, typing\nT = typing.TypedDict("T", {\'"+str(print(1))+"\': int})\nD = dataclasses.dataclass(T, init=False, eq=False)\nD.__repr__(D)',
    "from dataclasses import dataclass as d\nlist(map(d, [T]))",
    'import abc\nclass M(abc.ABCMeta): ...\nX = M("X", (), d)',
    "import enum\nE = enum.Enum('E', [(n, 1)])",
    "import enum\nE = enum.Enum('E', '__init__')",
    "import typing\nT = typing.TypedDict('T', {**d})",
    "from dataclasses import dataclass\n@dataclass\n@f\nclass A: ...",
]
MATCHED = [
    "import abc, dataclasses, types\n@dataclasses.dataclass\nclass X(abc.ABC):\n    gi_frame: object\nX.register(types.GeneratorType)\nmatch g:\n    case X(frame): print(frame)",
    "from typing import Protocol, runtime_checkable\nfrom dataclasses import dataclass\n@runtime_checkable\n@dataclass\nclass X(Protocol):\n    gi_frame: object\nmatch g:\n    case X(frame): print(frame)",
    "@dataclass\nclass X(Protocol):\n    _module: object\nmatch w:\n    case X(m): ...",
    "from collections import namedtuple\nN = namedtuple('N', 'a f_back')\nmatch g:\n    case N(a): ...",
    "from collections import namedtuple as n\nN = n('N', ['gi_' + s])\nmatch g:\n    case N(a): ...",
    "from collections import namedtuple\nN = namedtuple(field_names=[s], typename='N')\nmatch g:\n    case N(a): ...",
    "from typing import NamedTuple\nN = NamedTuple('N', [(s, int)])\nmatch g:\n    case N(a): ...",
    "import pandas as pd\nclass X(Protocol):\n    to_pickle: object\nmatch df:\n    case X(q): ...",
]
DISPATCHED = [
    'from functools import singledispatch\nT = "f(1)"\n@singledispatch\ndef g(x): ...\n@g.register\ndef _(x: T): ...',
    "from functools import singledispatch as s\n@s\ndef g(x): ...\nr = g.register\nr(f)",
    "import functools\n@functools.singledispatch\ndef g(x): ...\ng.register(f)",
    'import functools, typing\nN = typing.NamedTuple("N", [("x", "f(1)")])\n@functools.singledispatch\ndef g(x): ...\ng.register(N(1))',
    "from functools import *\n@singledispatch\ndef g(x): ...\ng.register(f)",
    'from functools import singledispatch\n@singledispatch\ndef g(x): ...\ngetattr(g, "register")(f)',
    'from functools import singledispatch\nint = "f(1)"\n@singledispatch\ndef g(x): ...\n@g.register\ndef _(x: int): ...',
]
PASSING = [
    "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int\ndef f(s):\n    match s:\n        case P(x, y): return x\n        case int(n): return n\n        case str(): return 1",
    'from collections import namedtuple\nP = namedtuple("P", "x y")\ndef f(s):\n    match s:\n        case P(x, y): return x',
    "from typing import NamedTuple\nfrom abc import ABC, abstractmethod\nclass S(ABC):\n    @abstractmethod\n    def area(self): ...\nclass P(NamedTuple):\n    x: int\nclass Q(S):\n    def area(self): return 1\nmatch P(1):\n    case P(x): print(x)\n    case Q(y): print(y)",
    "from typing import TypedDict\nclass U(TypedDict, total=False):\n    b: int",
    "import dataclasses\nfrom dataclasses import dataclass, field\nfrom functools import total_ordering\n@total_ordering\n@dataclass(frozen=True)\nclass A:\n    x: int\n@dataclasses.dataclass\nclass B:\n    y: list = field(default_factory=list)\n@dataclasses.dataclass(order=True)\nclass C: z: int",
    "from dataclasses import dataclass\n@dataclass\nclass E:\n    n: int\nclass Bus:\n    def register(self, f): ...\nbus = Bus()\nbus.register(print)\nmatch E(1):\n    case E(n): print(n)",
    "class A:\n    class B: ...\nmatch x:\n    case A.B(q): ...",
    "match x:\n    case int(n) | str(n): ...",
    "from enum import Enum\nclass E(Enum):\n    A = 1\nprint(E(1))",
]


@pytest.mark.parametrize("code", MADE)
def test_classes_of_computed_members_are_refused(code: str) -> None:
    assert STRICT.judge(code) is not None


@pytest.mark.parametrize("code", MATCHED)
def test_positions_of_other_classes_are_refused(code: str) -> None:
    found = STRICT.judge(code)
    assert found is not None
    assert "Blocked match" in str(found.details)


@pytest.mark.parametrize("code", DISPATCHED)
def test_no_annotations_are_evaluated_by_generic_functions(code: str) -> None:
    assert STRICT.judge(code) is not None


@pytest.mark.parametrize("code", PASSING)
def test_classes_that_are_written_out_pass(code: str) -> None:
    assert STRICT.judge(code) is None


SPECIAL = "eq call instancecheck subclasscheck subclasshook init_subclass set_name del reduce_ex prepare".split()
WRITTEN = [
    "__slots__ = ('a', '{}')",
    "__slots__ = ['{}']",
    "__slots__ = '{}'",
    "__slots__ = {{'{}': 'told'}}",
    "__slots__: tuple = ('{}',)",
    "__slots__ = ('__' + '{}'[2:],)",
    "__slots__ = tuple(f(x) for x in ['{}'])",
    "__slots__ = [*f('{}')]",
    "__slots__ = {{**f('{}')}}",
    "__slots__ = names = ['a']\n    names.append('{}')",
    "__slots__ = ['a']\n    __slots__ += ['{}']",
    "for __slots__ in [('{}',)]: ...",
    "(__slots__ := ('{}',))",
    "__slots__, x = ('{}',), 1",
]


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("name", SPECIAL)
def test_no_slot_is_a_special_member(written: str, name: str) -> None:
    """An object says what its slot is, by `setattr(self, name, …)`: so it would be asked by `issubclass`, or as a key."""
    assert STRICT.judge("class A:\n    " + written.format(f"__{name}__")) is not None


@pytest.mark.parametrize(
    "slots",
    ["()", "('a', '_b')", "['a']", "'a'", "{'a': 'told'}", "('a', '__dict__')", "('__kept',)"],
)
def test_slots_that_are_written_out_pass(slots: str) -> None:
    assert (
        STRICT.judge(f"class A:\n    __slots__ = {slots}\nclass B:\n    __slots__: tuple") is None
    )
