"""Judges function arguments of pandas and numpy methods: own functions, numpy members or constant reducer names pass, computed ones do not."""

from __future__ import annotations

import ast
from collections import Counter

from gatewright.validators.code_frame_names import FrameNames, is_load
from gatewright.validators.code_lists import FRAME_LISTS, FRAME_MEMBERS
from gatewright.validators.code_tree import Tree

__all__ = [
    "BY_NAME",
    "DIRECT",
    "MAPS",
    "NAMED_ONLY",
    "PIVOTS",
    "REFUSED",
    "Functions",
    "is_hidden",
]

BY_NAME = frozenset("agg aggregate apply transform pipe".split())
"""Methods that look another one up where they are given its name."""
MAPS = frozenset({"map", "applymap"})
PIVOTS = frozenset({"pivot_table", "crosstab"})
_OTHERS = "read_csv read_json set_option option_context reset_option to_csv to_json to_string to_markdown info format frombuffer"
DIRECT = BY_NAME | MAPS | PIVOTS | frozenset(_OTHERS.split())
"""Members that pass only where they are called, with arguments that are looked at."""
NAMED_ONLY = frozenset({"numpy.ndarray", "numpy.void"})
"""Classes that make an object of any bytes: they may be named, not called."""
_BUILTINS = frozenset(
    "sum len min max abs round str int float bool list tuple set sorted any all dict".split()
)
_FUNCTIONS: frozenset[str] = FRAME_LISTS["functions"]
_KEYWORDS = FRAME_LISTS["by_name_keywords"] | {"func", "arg"}


REFUSED: frozenset[str] = FRAME_LISTS["existing"] | DIRECT
"""Members that some object has, and that are not listed, or only for calls."""


def is_hidden(node: ast.Call) -> bool:
    """Whether arguments are unpacked from something that is not seen."""
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    return starred or any(one.arg is None for one in node.keywords)


class Functions:
    """Which calls of one tree are given functions that only compute."""

    def __init__(self, tree: Tree, names: FrameNames) -> None:
        self._tree = tree
        self._names = names
        self._given: Counter[str] = Counter()
        """How often a name stands where functions are given by name."""
        for name, call in tree.called(BY_NAME | PIVOTS):
            if isinstance(call.func, ast.Attribute) and name == call.func.attr:
                given = [*call.args, *(one.value for one in call.keywords)]
                self._given.update(one.id for one in given if isinstance(one, ast.Name))

    def maps(self, node: ast.Call) -> bool:
        """`map` looks nothing up by a name; what is a text all the same was meant for another method."""
        named = {one.arg for one in node.keywords} - {"na_action", "arg", "func"}
        given = [*node.args, *(one.value for one in node.keywords if one.arg in {"arg", "func"})]
        return not named and len(given) == 1 and not any(map(_is_text, self._names.known(given[0])))

    def takes_function(self, node: ast.Call) -> bool:
        """Whether all that may name a function is a constant name that reduces, or a function that can be seen."""
        # A method of the class itself (`DataFrame.apply(f, "__globals__")`) would look up members of its first argument.
        if any(not _is_number(one) for one in node.args[1:]):
            return False
        given = node.args[:1] + [one.value for one in node.keywords if one.arg in {"func", "arg"}]
        if given:
            # A function of the program gets what it asks for; others get nothing that they might evaluate.
            plain = all(one.arg in _KEYWORDS for one in node.keywords)
            return (plain or all(map(self._is_own, given))) and all(map(self.computes, given))
        return bool(node.keywords) and all(self._is_named(one.value) for one in node.keywords)

    def _is_own(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return self._names.is_function(node.id)
        return isinstance(node, ast.Lambda)

    def _is_named(self, node: ast.expr) -> bool:
        """Whether an argument is a named aggregation: `("column", "sum")`, `NamedAgg("column", "sum")`, or a function."""
        parts: list[ast.expr] | None = None
        if isinstance(node, ast.Tuple):
            parts = node.elts
        elif isinstance(node, ast.Call) and self._names.path(node.func) == "pandas.NamedAgg":
            if is_hidden(node):
                return False
            parts = [*node.args, *(one.value for one in node.keywords if one.arg == "column")]
            parts += [one.value for one in node.keywords if one.arg == "aggfunc"]
        if parts is None:
            return self.computes(node)
        pair = len(parts) == 2 and isinstance(parts[0], ast.Constant)
        return pair and self.computes(parts[1])

    def computes(self, node: ast.expr) -> bool:
        """Whether an expression certainly is a function, or a name of one, that computes."""
        if isinstance(node, ast.Constant):
            return node.value in FRAME_LISTS["reducing"]
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Name):
            return self._is_function(node)
        if isinstance(node, ast.Attribute):
            return self._is_listed(node)
        if isinstance(node, ast.List | ast.Tuple):
            return bool(node.elts) and all(self._is_one(one) for one in node.elts)
        if isinstance(node, ast.Call):
            partial = self._names.path(node.func) == "functools.partial" and bool(node.args)
            return partial and not is_hidden(node) and self._is_one(node.args[0])
        if isinstance(node, ast.Dict):
            several = ast.List | ast.Tuple
            return None not in node.keys and all(
                self.computes(one) if isinstance(one, several) else self._is_one(one)
                for one in node.values
            )
        return False

    def _is_function(self, node: ast.Name) -> bool:
        """Whether a name is a function, or what is written where it is bound and nobody can have changed since."""
        name = node.id
        if not self._names.bound[name]:
            return name in _BUILTINS
        if self._names.is_function(name) or self._names.path(node) in _FUNCTIONS:
            return True
        values = self._names.known(node)
        if any(isinstance(one, ast.Name) for one in values):
            return False
        shared = any(isinstance(one, ast.List | ast.Dict) for one in values)
        if shared and sum(map(is_load, self._tree.names[name])) != self._given[name]:
            return False
        return bool(values) and all(map(self.computes, values))

    def _is_listed(self, node: ast.Attribute) -> bool:
        """Whether it certainly is a function that computes, of numpy or another module, or a method of texts."""
        path = self._names.path(node)
        if path in _FUNCTIONS:
            return True
        if path.startswith("numpy.") and path not in NAMED_ONLY | {"numpy.dtype"}:
            return node.attr in FRAME_MEMBERS["numpy"] and path.count(".") == 1
        base = node.value
        of_texts = self._names.is_builtin(base, "str")
        joined = isinstance(base, ast.Constant) and isinstance(base.value, str)
        plain = (of_texts or joined) and node.attr not in REFUSED and node.attr[0] != "_"
        return plain or self._names.is_plain_format(node)

    def _is_one(self, node: ast.expr) -> bool:
        """The same of a single function; of a pair (`("label", "sum")`) the second is one."""
        if isinstance(node, ast.List | ast.Tuple | ast.Dict):
            return False
        return self.computes(node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.BinOp) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)
