"""`code_safety` rules of `strict`, `readonly`: no file opening, unlisted dunder or private member, unsafe class or format, whole `os.environ`.

At these levels what passes is listed. So no file is opened, a special member is one of a few, and a private one belongs to the program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Set
from typing import Any

from gatewright.patterns import ASCII, Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_classes import (
    making_violations,
    match_violations,
    slots_violations,
)
from gatewright.validators.code_frame_functions import is_hidden
from gatewright.validators.code_frame_names import FrameNames
from gatewright.validators.code_members import Walk
from gatewright.validators.code_names import folded
from gatewright.validators.code_own import own_violations
from gatewright.validators.code_tree import Tree

__all__ = ["closed_violations", "environment_violations"]

Found = Iterator[tuple[Any, str]]

_FIELD = Pattern(r"\{\w*[.\[]", ASCII)


def closed_violations(walk: Walk, tree: Tree) -> Found:
    """What these rules say, each with the node that it is about."""
    yield from _names(walk, tree)
    for kinds, rule in _RULES:
        if tree.has(kinds):
            yield from rule(walk, tree)
    yield from own_violations(walk, tree)


def _is_dunder(name: str) -> bool:
    return name[:2] == "__" and name[-2:] == "__"


def _names(walk: Walk, tree: Tree) -> Found:
    """Names of builtins that open or show something, and special ones."""
    refused = lists.CLOSED_BUILTINS.intersection(tree.names) - walk.rebound
    special = {name for name in tree.names if _is_dunder(name)} - lists.READABLE_DUNDERS
    if refused - {"open"}:
        # `input` is what a layer of a network is given as well.
        refused -= {node.arg for node in tree.of(ast.arg)} - {"open"}
    for name in refused:
        nodes = tree.names[name]
        if name == "open" or not any(isinstance(node.ctx, ast.Store) for node in nodes):
            yield from ((node, f"Blocked name: '{name}'") for node in nodes if _is_read(node))
    for name in special:
        for node in tree.names[name]:
            if _is_read(node) or name not in lists.DEFINABLE:
                yield node, f"Blocked name: '{name}'"


def _is_read(node: ast.Name | ast.Attribute | ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load)


def _special(walk: Walk, tree: Tree) -> Found:
    """Members by which errors, tasks and classes give frames, modules and objects away. What is a special one of a class is looked at elsewhere."""
    for name in lists.CLOSED_ATTRIBUTES.intersection(tree.members):
        yield from ((node, f"Blocked attribute: '{name}'") for node in tree.members[name])
    first = (
        {id(one.func): one.args for one in tree.of(ast.Call)}
        if "__setattr__" in tree.members
        else {}
    )
    for node in tree.members.get("__setattr__", ()):
        # So a frozen dataclass fills in its own fields.
        base, args = node.value, first.get(id(node), [])
        own = isinstance(base, ast.Name) and base.id == "object" and len(args) == _OF_SETTING
        if not own or not _is_own(args[0]) or walk.is_refused_name(folded(args[1]) or "_"):
            yield node, "Blocked attribute: '__setattr__'"


_OF_SETTING = 3


def _private(walk: Walk, tree: Tree) -> Found:
    """Private members that are not of the program."""
    names = [name for name in tree.members if name[0] == "_" and not _is_dunder(name)]
    own = _declared(tree) - lists.PRIVATE_MODULES if names else frozenset()
    for name in names:
        if name not in own:
            yield from ((one, f"Blocked private member: '{name}'") for one in tree.members[name])
    for name in lists.PRIVATE_MODULES.intersection(tree.names):
        yield tree.names[name][0], f"Blocked private member: '{name}'"


def _declared(tree: Tree) -> frozenset[str]:
    """Private names that the program itself binds as members, and those that are meant for everybody."""
    own = lists.PRIVATE.union(node.name for node in _defined(tree))
    return own.union(
        name
        for known in (tree.members, tree.names)
        for name in known
        if name[0] == "_" and any(isinstance(node.ctx, ast.Store) for node in known[name])
    )


def _defined(tree: Tree) -> list[Any]:
    return tree.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _definitions(walk: Walk, tree: Tree) -> Found:
    """Special members of classes, and names of special members wherever a text binds one."""
    for node in _defined(tree):
        if _is_dunder(node.name) and node.name not in lists.DEFINABLE:
            yield node, f"Blocked attribute: '{node.name}'"
    bound = [(node, node.arg) for node in tree.of(ast.arg, ast.keyword)]
    bound += [(node, node.name) for node in tree.of(ast.ExceptHandler, ast.MatchAs, ast.MatchStar)]
    for node, name in bound:
        if name is not None and _is_dunder(name):
            yield node, f"Blocked name: '{name}'"
    for node in tree.of(ast.Import, ast.ImportFrom):
        named = [one.asname for one in node.names if one.asname and _is_dunder(one.asname)]
        yield from ((node, f"Blocked name: '{name}'") for name in named)
    for node in tree.of(ast.MatchClass):
        refused = filter(walk.is_refused_name, node.kwd_attrs)
        yield from ((node, f"Blocked attribute: '{one}'") for one in refused)


def _classes(walk: Walk, tree: Tree) -> Found:
    """What makes a class."""
    for node in tree.of(ast.ClassDef):
        if any(not _is_plain_argument(walk, one) for one in node.keywords) or any(
            isinstance(one, ast.Name) and one.id == "type" for one in node.bases
        ):
            yield node, f"Blocked class: '{node.name}' with arguments"


def _is_plain_argument(walk: Walk, one: ast.keyword) -> bool:
    """Whether an argument of a class is a constant, or the metaclass that has no members but abstract ones."""
    if one.arg == "metaclass":
        return walk.names.paths(one.value) == {"abc.ABCMeta"}
    return one.arg is not None and isinstance(one.value, ast.Constant)


def _formats(walk: Walk, tree: Tree) -> Found:
    """Formats that look members up, or that are not seen; without arguments there is nothing to look up."""
    names = FrameNames(tree)
    empty = {id(one.func) for one in tree.of(ast.Call) if not one.args and not one.keywords}
    for node in (one for name in _FORMATS for one in tree.members.get(name, ())):
        if id(node) not in empty and not names.is_plain_format(node):
            yield node, "Blocked format: a text that is not written where it is bound"
    if walk.names.reaches(frozenset({"logging"})):
        # In the style of braces a log looks members up as well.
        for node in tree.texts:
            if node.value == "{" or _FIELD.search(node.value):
                yield node, "Blocked format: a member of an argument"


def _calls(walk: Walk, tree: Tree) -> Found:
    """Members that are set and deleted by their names: of `self` and `cls`."""
    for name, node in tree.called(_OWN_ONLY):
        if isinstance(node.func, ast.Name) and not _is_own(node.args[0] if node.args else None):
            yield node, f"Blocked call: '{name}' of something else than 'self'"


def _is_own(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id in _OWN


def _places(walk: Walk, tree: Tree) -> Found:
    """A log in a file, a client that speaks to a socket of the machine, lines of a log in a style that looks members up."""
    for path, (most, refused) in _ARGUMENTS.items():
        name = path.rpartition(".")[2]
        renamed = walk.names.standing_for({path}) if walk.names.known else ()
        for _, node in tree.called({name, *renamed}):
            named = {one.arg for one in node.keywords}
            if is_hidden(node) or len(node.args) > most or not named.isdisjoint(refused):
                yield node, f"Blocked call: '{name}' with arguments that are refused or not seen"
    for one in tree.of(ast.keyword):
        if one.arg == "uds":
            yield one, "Blocked argument: 'uds', a socket of the machine"


_ARGUMENTS: dict[str, tuple[int, frozenset[str]]] = {
    "logging.basicConfig": (0, frozenset({"filename", "handlers", "style"})),
    "logging.Formatter": (2, frozenset({"style"})),
    "httpx.HTTPTransport": (0, frozenset()),
    "httpx.AsyncHTTPTransport": (0, frozenset()),
}
"""What is called → most arguments by position, and those by name that are refused."""
_FORMATS = ("format", "format_map")
_OWN_ONLY = frozenset({"setattr", "delattr"})
_OWN = frozenset({"self", "cls"})
"""What methods call their object and their class."""


def environment_violations(walk: Walk, tree: Tree) -> Found:
    """All variables at once; single ones may be read, and at `readonly` not set."""
    if not walk.names.reaches(frozenset({"os"})):
        return
    nodes: list[Any] = [*tree.members.get("environ", ())]
    nodes += [node for name in walk.names.standing_for({"os.environ"}) for node in tree.names[name]]
    nodes = [one for one in nodes if _is_read(one) and "os.environ" in walk.names.paths(one)]
    if not nodes:
        return
    read_only = walk.rules.read_only
    passing = {"get"} if read_only else {"get", "setdefault"}
    single = {
        id(node.value)
        for node in tree.of(ast.Subscript, ast.Attribute)
        if (
            node.attr in passing if type(node) is ast.Attribute else _is_read(node) or not read_only
        )
    }
    for node in tree.of(ast.Compare):
        single.update(map(id, node.comparators))
    for node in nodes:
        if id(node) not in single:
            yield node, "Blocked use: the whole of 'os.environ'"


_BINDING = {ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.arg, ast.keyword, ast.MatchClass}
_DEFINING = {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom}
_RULES: tuple[tuple[Set[type[ast.AST]], Callable[[Walk, Tree], Found]], ...] = (
    ({ast.Attribute}, _special),
    ({ast.Attribute, ast.ClassDef}, _private),
    (_BINDING | _DEFINING, _definitions),
    ({ast.ClassDef}, _classes),
    (
        {ast.ClassDef, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef, ast.Call},
        making_violations,
    ),
    ({ast.MatchClass}, match_violations),
    ({ast.ClassDef}, slots_violations),
    ({ast.Attribute}, _formats),
    ({ast.Call}, _calls),
    ({ast.Call}, _places),
    ({ast.Import, ast.ImportFrom}, environment_violations),
)
"""Kinds of nodes without which a rule has nothing to say, and the rule."""
