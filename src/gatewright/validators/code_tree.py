"""`Tree`: indexes the nodes of a Python syntax tree by kind and name in one walk, so that each `code_safety` rule visits only its own."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator, Set
from operator import attrgetter
from typing import Any

__all__ = ["Tree"]

_NO_PARTS = frozenset(
    "id ctx attr arg kind op ops name asname module level type_comment conversion simple is_async type_ignores "
    "names rest kwd_attrs".split()
)


class Tree:
    """The nodes of one tree: by kind, and those that have a name by their name. Each stands after the one it is in."""

    def __init__(self, root: ast.AST) -> None:
        self.root = root
        self.kinds: dict[type[ast.AST], list[Any]] = defaultdict(list)
        """Kind → nodes, but for names, constants, contexts, operators and imported names."""
        self.names: dict[str, list[ast.Name]] = defaultdict(list)
        self.texts: list[Any] = []
        """Constants that are a text."""
        self._look(root)
        self.members: dict[str, list[ast.Attribute]] = defaultdict(list)
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        """Calls by the name, or the last part of the name, of what is called; empty for anything else."""
        for node in self.kinds.get(ast.Attribute, ()):
            self.members[node.attr].append(node)
        for node in self.kinds.get(ast.Call, ()):
            func = node.func
            kind = type(func)
            name = func.attr if kind is ast.Attribute else func.id if kind is ast.Name else ""
            self.calls[name].append(node)

    def _look(self, root: ast.AST) -> None:
        """Find all nodes. It keeps its own stack, so depth is no matter; names and constants, half of all, have nothing in them."""
        kinds, names, texts = self.kinds, self.names, self.texts
        stack: list[Any] = [root]
        pop, push, parts_of = stack.pop, stack.append, _PARTS.get
        while stack:
            node = pop()
            kind = type(node)
            if kind is _NAME:
                names[node.id].append(node)
            elif kind is _CONSTANT:
                if type(node.value) is str:
                    texts.append(node)
            else:
                kinds[kind].append(node)
                parts = parts_of(kind)
                for value in parts(node) if parts is not None else ():
                    if type(value) is list:
                        stack += value
                    elif value is not None:
                        push(value)

    def of(self, *kinds: type[ast.AST]) -> list[Any]:
        """All nodes of some kinds."""
        if len(kinds) == 1:
            return self.kinds.get(kinds[0], [])
        return [node for kind in kinds if kind in self.kinds for node in self.kinds[kind]]

    def has(self, kinds: Set[type[ast.AST]]) -> bool:
        """Whether there is a node of any of these kinds."""
        return not self.kinds.keys().isdisjoint(kinds)

    def called(self, names: frozenset[str] | set[str]) -> Iterator[tuple[str, ast.Call]]:
        """Calls of what has one of these names, each with the name."""
        for name in names.intersection(self.calls):
            for node in self.calls[name]:
                yield name, node


_NAME, _CONSTANT = ast.Name, ast.Constant


def _single(name: str) -> Callable[[Any], tuple[Any]]:
    get = attrgetter(name)
    return lambda node: (get(node),)


def _parts() -> dict[type, Callable[[Any], tuple[Any, ...]]]:
    """Kind → what gives its fields that hold nodes, for kinds that have such."""
    found: dict[type, Callable[[Any], tuple[Any, ...]]] = {}
    for kind in vars(ast).values():
        if not isinstance(kind, type) or not issubclass(kind, ast.AST):
            continue
        leaf = issubclass(kind, ast.Constant | ast.MatchSingleton)
        names = [] if leaf else [name for name in kind._fields if name not in _NO_PARTS]
        if names:
            found[kind] = attrgetter(*names) if len(names) > 1 else _single(names[0])
    return found


_PARTS = _parts()
