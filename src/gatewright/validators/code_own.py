"""`code_safety` at `strict`, `readonly`: `__dict__`, `vars`, `setattr`, `delattr` of `self` only in methods, called on instances.

`self.__dict__[name]` of a class, such as `type`, gives what no text names. So `self` is what a method is called with, and not what a function is given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gatewright.validators.code_tree import Tree

__all__ = ["OWN", "own_violations"]

Found = Iterator[tuple[Any, str]]

OWN = frozenset({"self", "cls", "other"})
"""What methods call objects of their class."""
_CALLS = frozenset({"vars", "setattr", "delattr"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda)


def own_violations(tree: Tree) -> Found:
    """What uses all members of a name that may be anything, or hands a class to a method that does."""
    uses = {id(base): (node, base) for node, base in _uses(tree)}
    if not uses:
        return
    bound = {name for name in OWN if any(_is_bound(one) for one in tree.names.get(name, ()))}
    inside: set[int] = set()
    using: set[str] = set()
    for method in _methods(tree):
        found = {id(one) for one in _own_names(method)}
        inside |= found
        if not found.isdisjoint(uses):
            using.add(method.name)
    for at, (node, base) in uses.items():
        if at not in inside or base.id in bound:
            yield node, f"Blocked use: all members of '{base.id}' outside of a method"
    classes = {node.name for node in tree.of(ast.ClassDef)}
    first = {id(node.func): node.args[0] for node in tree.of(ast.Call) if node.args}
    for node in (one for name in using for one in tree.members.get(name, ())):
        # `Base.__init__(self, …)` is called with the same object.
        if _is_class(node.value, classes) and id(first.get(id(node))) not in inside:
            yield node, f"Blocked use: the method '{node.attr}' of a class"


def _uses(tree: Tree) -> Iterator[tuple[Any, ast.Name]]:
    found: list[tuple[Any, ast.expr]] = []
    found += [(node, node.value) for node in tree.members.get("__dict__", ())]
    found += [(node, node.args[0]) for _, node in tree.called(_CALLS) if node.args]
    return ((node, base) for node, base in found if isinstance(base, ast.Name) and base.id in OWN)


def _is_bound(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _methods(tree: Tree) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions in the bodies of classes that are called with an object of the class."""
    for node in tree.of(ast.ClassDef):
        for one in node.body:
            if isinstance(one, _FUNCTIONS) and _first(one.args) in OWN:
                named = [part.id for part in one.decorator_list if isinstance(part, ast.Name)]
                if "staticmethod" not in named:
                    yield one


def _first(args: ast.arguments) -> str:
    every = [*args.posonlyargs, *args.args]
    return every[0].arg if every else ""


def _own_names(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Name]:
    """The names of objects of the class in a method; not those that are arguments of functions in it."""
    own = {_first(method.args)} | ({"other"} if method.name[:2] == "__" else set())
    waiting: list[ast.AST] = [*method.body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and node.id in own:
            yield node
        if not isinstance(node, _SCOPES) or own.isdisjoint(one.arg for one in _arguments(node)):
            waiting += ast.iter_child_nodes(node)


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    args = node.args
    more = [one for one in (args.vararg, args.kwarg) if one is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *more]


def _is_class(node: ast.expr, classes: set[str]) -> bool:
    """Whether an expression certainly is a class: by its name, or as the type of something."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    return isinstance(node, ast.Name) and node.id in classes
