"""`FrameNames`: what a name certainly stands for, bound only once (import, function, class, builtin, value); `mentioned`: nodes naming types."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property

from gatewright.patterns import Pattern
from gatewright.validators.code_names import folded
from gatewright.validators.code_tree import Tree

__all__ = ["FrameNames", "mentioned"]

_MOST_VALUES = 50
_FIELDS = Pattern(r"\{[^{}:]*[.\[]")


class FrameNames:
    """What the names of one tree certainly stand for: a name that is bound twice stands for nothing."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._loads: dict[str, int] = {}

    @cached_property
    def _imported(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for node in self._tree.of(ast.Import):
            named = [one for one in node.names if one.asname is not None or "." not in one.name]
            found |= {one.asname or one.name: one.name for one in named}
        for node in self._tree.of(ast.ImportFrom):
            if not node.level:
                found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
        return found

    @cached_property
    def _functions(self) -> set[str]:
        nodes = self._tree.of(ast.FunctionDef)
        return {node.name for node in nodes if not node.decorator_list}

    def bound(self, name: str) -> int:
        """How often a name is bound, unbound or declared."""
        return self._as_texts[name] + len(self._tree.names.get(name, ())) - self.loads(name)

    def loads(self, name: str) -> int:
        """How often a name is read."""
        found = self._loads.get(name)
        if found is None:
            nodes = self._tree.names.get(name, ())
            found = self._loads[name] = sum([type(node.ctx) is ast.Load for node in nodes])
        return found

    @cached_property
    def _as_texts(self) -> Counter[str]:
        """How often names are bound that no node of a name stands for."""
        tree = self._tree
        found = Counter(node.arg for node in tree.of(ast.arg))
        for node in tree.of(ast.Import, ast.ImportFrom):
            found.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        for node in tree.of(ast.Global, ast.Nonlocal):
            found.update(node.names)
        # `def`, `class`, `except … as`, `case … as`, `*rest` and `**rest` have their name as a text.
        for node in tree.of(*_NAMED_AS_TEXT):
            found[node.rest if isinstance(node, ast.MatchMapping) else node.name] += 1
        return found

    @cached_property
    def _values(self) -> dict[str, list[ast.expr]]:
        found: dict[str, list[ast.expr]] = {}
        for node in self._tree.of(ast.Assign):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                found[node.targets[0].id] = [node.value]
        for node in self._tree.of(ast.For, ast.comprehension):
            target, values = node.target, getattr(node.iter, "elts", [])
            # More are not gone through each time that somebody asks.
            if isinstance(target, ast.Name) and 0 < len(values) <= _MOST_VALUES:
                found[target.id] = values
        return found

    def is_function(self, name: str) -> bool:
        """Whether a name certainly is a function of the program, without decorators."""
        return name in self._functions and self.bound(name) == 1

    @cached_property
    def _classes(self) -> set[str]:
        return {node.name for node in self._tree.of(ast.ClassDef) if self._is_itself(node)}

    def _is_itself(self, node: ast.ClassDef) -> bool:
        """Whether no decorator gives a class in place of the one that is written."""
        heads = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
        return all(self.path(one) in _DECORATING for one in heads)

    def is_class(self, name: str) -> bool:
        """Whether a name certainly is a class of the program, as it was written."""
        return name in self._classes and self.bound(name) == 1

    def is_builtin(self, node: ast.expr, name: str) -> bool:
        """Whether an expression certainly is a builtin."""
        return isinstance(node, ast.Name) and node.id == name and not self.bound(name)

    def path(self, node: ast.expr) -> str:
        """The path that an expression certainly has, by a name that an import binds and nothing else; empty for none."""
        members = []
        while isinstance(node, ast.Attribute):
            members.append(node.attr)
            node = node.value
        imported = self._imported.get(node.id, "") if isinstance(node, ast.Name) else ""
        if not isinstance(node, ast.Name) or not imported or self.bound(node.id) != 1:
            return ""
        return ".".join((imported, *reversed(members)))

    def known(self, node: ast.expr) -> list[ast.expr]:
        """What an expression may be: itself, or what the only binding of its name gives it."""
        if isinstance(node, ast.Name) and self.bound(node.id) == 1:
            return self._values.get(node.id, [node])
        return [node]

    def is_plain_format(self, node: ast.Attribute) -> bool:
        """Whether it is `format` of a constant text that looks no members up."""
        texts = map(folded, self.known(node.value))
        named = node.attr in {"format", "format_map"}
        return named and all(one is not None and not _FIELDS.search(one) for one in texts)


_DECORATING = frozenset(
    "dataclasses.dataclass enum.unique enum.verify functools.total_ordering typing.final typing.runtime_checkable".split()
)
"""Decorators that give the class that they are given; `functools.partial(f)` gives anything."""
_PARAMETERS = ("TypeVar", "ParamSpec", "TypeVarTuple")
"""Parameters of types, which Python has as syntax since 3.12."""
_NAMED_AS_TEXT = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
    *(getattr(ast, name) for name in _PARAMETERS if hasattr(ast, name)),
)


def mentioned(tree: Tree, tests: frozenset[str] | set[str]) -> list[ast.expr]:
    """Every node that only says which type something has: in annotations, and what one of the builtins `tests` is given."""
    roots: list[ast.AST | None] = []
    roots += [node.annotation for node in tree.of(ast.arg, ast.AnnAssign)]
    roots += [node.returns for node in tree.of(ast.FunctionDef, ast.AsyncFunctionDef)]
    for _, call in tree.called(tests):
        roots += call.args[1:2]
    found: list[ast.expr] = []
    while roots:
        node = roots.pop()
        if isinstance(node, ast.Name | ast.Attribute):
            found.append(node)
        elif isinstance(node, ast.Tuple | ast.List):
            roots += node.elts
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            roots += (node.left, node.right)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name | ast.Attribute):
            # `list[X]`; whatever else is subscribed, or called, could be it.
            found.append(node.value)
            roots.append(node.slice)
    return found
