"""Resolves names in pandas and numpy code: which certainly stand for an import, a function, or a literal where they are bound."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from gatewright.patterns import Pattern
from gatewright.validators.code_tree import Tree

__all__ = ["FrameNames", "is_load"]

_FIELDS = Pattern(r"\{[^{}:]*[.\[]")


class FrameNames:
    """What the names of one tree certainly stand for: a name that is bound twice stands for nothing."""

    def __init__(self, tree: Tree) -> None:
        self.bound: dict[str, int] = defaultdict(int)
        """How often each name is bound, unbound or declared."""
        self._count(tree)
        self._imported: dict[str, str] = {}
        for node in tree.of(ast.Import):
            named = [one for one in node.names if one.asname is not None or "." not in one.name]
            self._imported |= {one.asname or one.name: one.name for one in named}
        for node in tree.of(ast.ImportFrom):
            if not node.level:
                self._imported |= {
                    one.asname or one.name: f"{node.module}.{one.name}" for one in node.names
                }
        self._functions = {
            node.name for node in tree.of(ast.FunctionDef) if not node.decorator_list
        }
        self._values: dict[str, list[ast.expr]] = {}
        for node in tree.of(ast.Assign):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._values[node.targets[0].id] = [node.value]
        for node in tree.of(ast.For, ast.comprehension):
            if isinstance(node.target, ast.Name) and isinstance(node.iter, ast.List | ast.Tuple):
                self._values[node.target.id] = node.iter.elts

    def _count(self, tree: Tree) -> None:
        for name in _bindings(tree):
            self.bound[name] += 1

    def is_function(self, name: str) -> bool:
        """Whether a name certainly is a function of the program, without decorators."""
        return name in self._functions and self.bound[name] == 1

    def is_builtin(self, node: ast.expr, name: str) -> bool:
        """Whether an expression certainly is a builtin."""
        return isinstance(node, ast.Name) and node.id == name and not self.bound[name]

    def path(self, node: ast.expr) -> str:
        """The path that an expression certainly has, by a name that an import binds and nothing else; empty for none."""
        if isinstance(node, ast.Name):
            return self._imported.get(node.id, "") if self.bound[node.id] == 1 else ""
        if not isinstance(node, ast.Attribute):
            return ""
        parent = self.path(node.value)
        return f"{parent}.{node.attr}" if parent else ""

    def known(self, node: ast.expr) -> list[ast.expr]:
        """What an expression may be: itself, or what the only binding of its name gives it."""
        if isinstance(node, ast.Name) and self.bound[node.id] == 1:
            return self._values.get(node.id, [node])
        return [node]

    def is_plain_format(self, node: ast.Attribute) -> bool:
        """Whether it is `format` of a constant text that looks no members up."""
        if node.attr != "format":
            return False
        parts = self.known(node.value)
        texts = [one.value if isinstance(one, ast.Constant) else None for one in parts]
        return all(isinstance(one, str) and not _FIELDS.search(one) for one in texts)


def is_load(node: ast.Name | ast.Attribute) -> bool:
    """Whether a name or member is read, not set."""
    return isinstance(node.ctx, ast.Load)


def _bindings(tree: Tree) -> Iterator[str]:
    """Every name that the code binds, unbinds or declares, each time anew."""
    for name, nodes in tree.names.items():
        yield from (name for node in nodes if not is_load(node))
    yield from (node.arg for node in tree.of(ast.arg))
    for node in tree.of(ast.Import, ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    for node in tree.of(ast.Global, ast.Nonlocal):
        yield from node.names
    # `def`, `class`, `except … as`, `case … as`, `*rest` and `**rest` have their name as a text.
    for node in tree.of(*_NAMED_AS_TEXT):
        text = node.rest if isinstance(node, ast.MatchMapping) else node.name
        yield from [text] if text is not None else []


_NAMED_AS_TEXT = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
)
