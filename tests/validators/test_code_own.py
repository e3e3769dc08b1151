"""All members of `self` are read and set in methods, of instances."""

import ast

import pytest

from gatewright.validators.code_own import own_violations
from gatewright.validators.code_safety import prepare
from gatewright.validators.code_tree import Tree

REFUSED = [
    "def peek(self, n): return self.__dict__[n]\npeek(type, n)",
    "def put(self, n, v): setattr(self, n, v)\nput(A, n, v)",
    "f = lambda self: vars(self)\nf(type)",
    "self = type\nvars(self)",
    "class A:\n    def peek(self, n): return self.__dict__[n]\nA.peek(type, n)",
    "class A:\n    @staticmethod\n    def peek(self, n): return self.__dict__[n]",
    "class A:\n    def m(self):\n        def peek(self, n): return self.__dict__[n]\n        return peek(type, n)",
    "class A:\n    def __repr__(self): return str(vars(self))\nA.__repr__(type)",
    "class A:\n    def m(self):\n        for self in [type]: vars(self)",
    "f = [vars(self) for self in [type]]",
    "class A:\n    def peek(self, n): return self.__dict__[n]\ntype(a).peek(type, n)",
    "class A:\n    def peek(self, n): return self.__dict__[n]\nf = A.peek\nf(type, n)",
]
PASSING = [
    'class A:\n    def __init__(self, **kw):\n        for k, v in kw.items():\n            setattr(self, k, v)\n    def __repr__(self): return f"A({self.__dict__})"\n    def __eq__(self, other): return self.__dict__ == other.__dict__\n    def update(self, d): self.__dict__.update(d); return vars(self)\nclass B(A):\n    def __init__(self, **kw):\n        super().__init__(**kw)\n        A.__init__(self, **kw)\na = A(x=1)\na.update({})\nprint(a)',
    'class A:\n    def __eq__(self, other): return vars(self) == vars(other)\n    @property\n    def d(self): return {k: v for k, v in vars(self).items()}\n    @classmethod\n    def make(cls, d):\n        x = cls()\n        setattr(cls, "n", 1)\n        return x',
]


@pytest.mark.parametrize("code", REFUSED)
def test_self_may_be_a_class_outside_of_methods(code: str) -> None:
    assert list(own_violations(Tree(ast.parse(code))))
    assert prepare({"level": "strict"}).judge(code) is not None


@pytest.mark.parametrize("code", PASSING)
def test_methods_use_the_members_of_their_object(code: str) -> None:
    assert not list(own_violations(Tree(ast.parse(code))))
