"""Judges function arguments of pandas and numpy methods: own functions, numpy members or constant reducer names pass, computed ones do not."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property

from gatewright.validators.code_frame_names import FrameNames
from gatewright.validators.code_lists import FRAME_LISTS, FRAME_MEMBERS
from gatewright.validators.code_members import TYPES
from gatewright.validators.code_tree import Tree

__all__ = ["DIRECT", "PIVOTS", "Functions", "is_hidden"]

_BY_NAME = frozenset("agg aggregate apply transform pipe".split())
"""Methods that look another one up where they are given its name."""
_MAPS = frozenset({"map", "applymap"})
PIVOTS = frozenset({"pivot_table", "crosstab"})
DIRECT = (_BY_NAME | _MAPS | PIVOTS).union(
    "eval query read_csv read_json set_option option_context reset_option to_csv to_json to_string to_markdown to_html info format".split()
)
"""Members that pass only where they are called, with arguments that are looked at."""
_BUILTINS = frozenset(
    "sum len min max abs round str int float bool list tuple set sorted any all dict".split()
)
_FUNCTIONS: frozenset[str] = FRAME_LISTS["functions"]
_GIVEN = frozenset({"func", "arg"})
_KEYWORDS = FRAME_LISTS["by_name_keywords"] | _GIVEN
_SEVERAL = ast.List | ast.Tuple


def is_hidden(node: ast.Call) -> bool:
    """Whether arguments are unpacked from something that is not seen."""
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    return starred or any(one.arg is None for one in node.keywords)


class Functions:
    """Which calls of one tree are given functions that only compute."""

    def __init__(self, tree: Tree, names: FrameNames) -> None:
        self._tree = tree
        self._names = names

    def takes(self, node: ast.Call, name: str) -> bool:
        """Whether all that may name a function is a constant name that reduces, or a function that can be seen."""
        named = {one.arg for one in node.keywords}
        given = node.args[:1] + [one.value for one in node.keywords if one.arg in _GIVEN]
        if name in _MAPS:
            # `map` looks nothing up by a name; what is a text all the same was meant for another method.
            single = len(node.args) <= 1 == len(given) and named <= _GIVEN | {"na_action"}
            return single and not any(map(_is_text, self._names.known(given[0])))
        # A method of the class itself (`DataFrame.apply(f, "__globals__")`) would look up members of its first argument.
        if not all(isinstance(one, ast.Constant) and isinstance(one.value, int | float) for one in node.args[1:]):  # fmt: skip
            return False
        if not given:
            return bool(named) and all(self._is_named(one.value) for one in node.keywords)
        # A function of the program gets what it asks for; others get nothing that they might evaluate.
        passes = named <= _KEYWORDS or all(map(self._is_own, given))
        return passes and all(map(self.computes, given))

    def computes(self, node: ast.expr, *, single: bool = False) -> bool:
        """Whether an expression certainly is a function, or a name of one, that computes; or several of them."""
        if isinstance(node, ast.Constant):
            return node.value in FRAME_LISTS["reducing"]
        if isinstance(node, ast.Name):
            return self._is_function(node)
        if isinstance(node, ast.Attribute):
            return self._is_listed(node)
        if isinstance(node, ast.Call):
            partial = self._names.path(node.func) == "functools.partial" and bool(node.args)
            return partial and not is_hidden(node) and self.computes(node.args[0], single=True)
        if isinstance(node, _SEVERAL) and not single:
            return bool(node.elts) and all(self.computes(one, single=True) for one in node.elts)
        if isinstance(node, ast.Dict) and not single:
            values = [(one, not isinstance(one, _SEVERAL)) for one in node.values]
            return None not in node.keys and all(self.computes(a, single=b) for a, b in values)
        return isinstance(node, ast.Lambda)

    def _is_own(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return self._names.is_function(node.id)
        return isinstance(node, ast.Lambda)

    def _is_named(self, node: ast.expr) -> bool:
        """Whether an argument is a named aggregation: `("column", "sum")`, `NamedAgg("column", "sum")`, or a function."""
        if isinstance(node, ast.Tuple):
            parts = node.elts
        elif isinstance(node, ast.Call) and self._names.path(node.func) == "pandas.NamedAgg":
            named = {one.arg: one.value for one in node.keywords}
            parts = node.args + [named[one] for one in ("column", "aggfunc") if one in named]
        else:
            return self.computes(node)
        return (
            len(parts) == 2
            and isinstance(parts[0], ast.Constant)
            and self.computes(parts[1], single=isinstance(node, ast.Tuple))
        )

    @cached_property
    def _given(self) -> Counter[str]:
        """How often a name stands where functions are given by name."""
        found: Counter[str] = Counter()
        for _, call in self._tree.called(_BY_NAME | PIVOTS):
            if isinstance(call.func, ast.Attribute):
                given = [*call.args, *(one.value for one in call.keywords)]
                found.update(one.id for one in given if isinstance(one, ast.Name))
        return found

    def _is_function(self, node: ast.Name) -> bool:
        """Whether a name is a function, or what is written where it is bound and nobody can have changed since."""
        name = node.id
        if not self._names.bound(name):
            return name in _BUILTINS
        if self._names.is_function(name) or self._names.path(node) in _FUNCTIONS:
            return True
        values = self._names.known(node)
        if not values or any(isinstance(one, ast.Name) for one in values):
            return False
        shared = any(isinstance(one, ast.List | ast.Dict) for one in values)
        if shared and self._names.loads(name) != self._given[name]:
            return False
        return all(map(self.computes, values))

    def _is_listed(self, node: ast.Attribute) -> bool:
        """Whether it certainly is a function that computes, of numpy or another module, or a method of texts."""
        path = self._names.path(node)
        if path in _FUNCTIONS:
            return True
        if path.startswith("numpy."):
            return path[6:] in FRAME_MEMBERS["numpy"] and path not in TYPES | {"numpy.dtype"}
        base = node.value
        of_texts = self._names.is_builtin(base, "str") or _is_text(base)
        plain = of_texts and node.attr[0] != "_" and node.attr not in _REFUSED
        return plain or self._names.is_plain_format(node)


_REFUSED: frozenset[str] = FRAME_LISTS["existing"] | DIRECT


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.BinOp) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
