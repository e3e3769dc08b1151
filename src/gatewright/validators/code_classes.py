"""`code_safety` at `strict`, `readonly`: classes made at run time, positional class patterns, `register` of generic functions.

A class whose members are computed has special ones that no text names, and a class pattern reads the members that its class lists.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from gatewright.patterns import Pattern
from gatewright.validators.code_frame_names import FrameNames
from gatewright.validators.code_members import ENUMERATIONS, Walk
from gatewright.validators.code_names import folded
from gatewright.validators.code_tree import Tree

__all__ = ["dispatch_violations", "making_violations", "match_violations"]

Found = Iterator[tuple[Any, str]]

_NAMED = frozenset({"typing.TypedDict", "typing_extensions.TypedDict"})
_NAMES = Pattern(r"[ ,]*(?:[A-Za-z]\w*[ ,]*)*")
_BY_NAME = frozenset({"getattr", "attrgetter"})
_REGISTERING = frozenset({"register", "runtime_checkable"})
_TUPLES = frozenset({"collections.namedtuple", "typing.NamedTuple"})
_WITHOUT_OTHERS = _TUPLES | {"typing.Generic"} | ENUMERATIONS
_DEEPEST = 20


def making_violations(walk: Walk, tree: Tree) -> Found:
    """What speaks against calls that make classes. What makes one where it may, in the head of a class, is marked in the walk."""
    for head, making in _heads(tree):
        one = head.func if isinstance(head, ast.Call) and not head.args else head
        if walk.names.paths(one) <= making:
            walk.followed.add(id(one))
    for node in tree.of(ast.Call):
        if node.args[1:]:
            yield from _made(walk, node)


def _heads(tree: Tree) -> Iterator[tuple[ast.expr, frozenset[str]]]:
    """What stands in the heads of classes, each with what may stand there; of decorators the one that is given the class as it was written."""
    for node in tree.of(ast.ClassDef):
        yield from ((one, _NAMED) for one in node.bases)
        yield from ((one.value, frozenset({"abc.ABCMeta"})) for one in node.keywords)
        for one in node.decorator_list[-1:]:
            yield one, frozenset({"dataclasses.dataclass"})


def _made(walk: Walk, node: ast.Call) -> Found:
    paths = walk.names.paths(node.func)
    if paths & _NAMED and _has_names(node.args[1]):
        walk.followed.add(id(node.func))
    elif paths & ENUMERATIONS and not _has_names(node.args[1]):
        yield node, "Blocked call: a class with members that are computed"
    elif _is_type(node.func) and any(isinstance(one, _OF_CLASSES) for one in node.args[1:]):
        yield node, "Blocked call: 'type' that makes a class"


_OF_CLASSES = ast.Tuple | ast.Dict | ast.Starred
"""What a class is made of: its bases, its members."""


def _is_type(node: ast.expr) -> bool:
    """Whether it is the type of something: of a class that is what makes classes."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"


def _has_names(node: ast.expr) -> bool:
    """Whether names of members are constants, none of them special."""
    parts: list[Any] = [node]
    if isinstance(node, ast.Dict):
        parts = node.keys
    elif isinstance(node, ast.List | ast.Tuple):
        pairs: list[list[Any]] = []
        pairs += [one.elts[:1] if isinstance(one, ast.Tuple) else [one] for one in node.elts]
        parts = [one for pair in pairs for one in pair or [None]]
    texts = [one.value if isinstance(one, ast.Constant) else None for one in parts]
    return all(isinstance(one, str) and _NAMES.fits(one) for one in texts)


def match_violations(walk: Walk, tree: Tree) -> Found:
    """Classes whose positions may stand for members of what the program has not made of them."""
    nodes = [node for node in tree.of(ast.MatchClass) if node.patterns]
    if nodes:
        classes = _Classes(tree, _registers(walk, tree))
        for node in nodes:
            if not classes.are_closed([node.cls]):
                yield (
                    node,
                    "Blocked match: positions of a class that is computed or has others registered",
                )


def dispatch_violations(walk: Walk, tree: Tree) -> Found:
    """`register` of a generic function evaluates annotations of whatever is no type: it is given one, or decorates what has plain ones."""
    known = _DISPATCHING.intersection((*tree.members, *tree.names))
    if not known and not walk.names.ending_in(_DISPATCHING):
        return
    names = FrameNames(tree)
    passing = {
        id(node.func)
        for node in tree.calls.get("register", ())
        if node.args and not node.keywords and _says_type(names, node.args[0])
    }
    for node in tree.of(ast.FunctionDef, ast.AsyncFunctionDef):
        args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        args += [one for one in (node.args.vararg, node.args.kwarg) if one is not None]
        said = [one for one in (node.returns, *(one.annotation for one in args)) if one is not None]
        if all(_says_type(names, one) for one in said):
            passing.update(map(id, node.decorator_list[-1:]))
    for member in tree.members.get("register", ()):
        if id(member) not in passing:
            yield member, "Blocked use: 'register' of what is no plain type"
    if "getattr" in tree.names and "register" in {node.value for node in tree.texts}:
        yield tree.names["getattr"][0], "Blocked use: 'register' by its name"


_DISPATCHING = frozenset({"singledispatch", "singledispatchmethod"})


def _says_type(names: FrameNames, node: ast.expr, depth: int = 0) -> bool:
    """Whether an expression certainly is a type, or several: what an import or a class of the program binds, a builtin, nothing."""
    if depth > _DEEPEST:
        return False
    if isinstance(node, ast.BinOp):
        parts = (node.left, node.right)
        return all(_says_type(names, one, depth + 1) for one in parts)
    if isinstance(node, ast.Constant):
        return node.value is None
    if isinstance(node, ast.Name) and names.is_class(node.id):
        return True
    builtin = isinstance(node, ast.Name) and node.id in _TYPES and not names.bound(node.id)
    return builtin or bool(names.path(node))


_TYPES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))


def _registers(walk: Walk, tree: Tree) -> bool:
    """Whether anything may be registered as an instance of a class."""
    given = [folded(one) or "" for _, call in tree.called(_BY_NAME) for one in call.args]
    return (
        not _REGISTERING.isdisjoint((*tree.members, *tree.names))
        or bool(walk.names.ending_in(_REGISTERING))
        or any("register" in text.split(".") for text in given)
    )


class _Classes:
    """Of which classes nothing is an instance but what is made of them, as far as can be seen."""

    def __init__(self, tree: Tree, registers: bool) -> None:
        self._names = FrameNames(tree)
        self._classes = {node.name: node for node in tree.of(ast.ClassDef)}
        members = tree.members
        self._stored = {
            one for one in members if any(type(n.ctx) is ast.Store for n in members[one])
        }
        self._registers = registers
        self._known: dict[str, bool] = {}

    def are_closed(self, nodes: list[ast.expr], depth: int = 0) -> bool:
        """Whether all expressions are such classes."""
        return all(self._is_closed(node, depth) for node in nodes)

    def _is_closed(self, node: ast.expr, depth: int) -> bool:
        if isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Call):
            return self._names.path(node.func) in _TUPLES
        path = self._names.path(node)
        if path:
            return not self._registers or path in _WITHOUT_OTHERS
        name = self._name(node)
        if not self._names.bound(name):
            return isinstance(node, ast.Name)
        if name not in self._known:
            self._known[name] = False
            self._known[name] = self._is_own(node, name, depth)
        return self._known[name]

    def _name(self, node: ast.expr) -> str:
        """The name of a class of the program, also of one in the body of another; empty for anything else."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            own = node.value.id in self._classes and node.attr not in self._stored
            return node.attr if own else ""
        return node.id if isinstance(node, ast.Name) else ""

    def _is_own(self, node: ast.expr, name: str, depth: int) -> bool:
        if depth > _DEEPEST or self._names.bound(name) != 1:
            return False
        found = self._classes.get(name)
        if found is None:
            value = self._names.known(node)[0]
            return isinstance(value, ast.Call) and self._names.path(value.func) in _TUPLES
        heads = [one.func if isinstance(one, ast.Call) else one for one in found.decorator_list]
        plain = all(map(self._names.path, heads)) and not (self._registers and found.keywords)
        return plain and self.are_closed(found.bases, depth + 1)
