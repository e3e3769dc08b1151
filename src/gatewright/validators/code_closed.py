"""`code_safety` rules only at `strict` and `readonly`: files, dunder and private members, classes, format strings, environment.

At these levels what passes is listed. So no file is opened, a special member is one of a few, and a private one belongs to the program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Set
from typing import Any

from gatewright.patterns import ASCII, Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_classes import (
    dispatch_violations,
    making_violations,
    match_violations,
)
from gatewright.validators.code_endless import endless_violations
from gatewright.validators.code_members import Walk
from gatewright.validators.code_names import FOLDING, folded
from gatewright.validators.code_own import OWN, own_violations
from gatewright.validators.code_tree import Tree

__all__ = ["closed_violations", "environment_violations"]

Found = Iterator[tuple[Any, str]]

_DUNDER = Pattern(r"__\w+__")
_FIELD = Pattern(r"\{\w*[.\[]", ASCII)
_BEGUN = Pattern(r"(?:^|[^{])(?:\{\{)*\{\w*\Z", ASCII)
_MAIN = frozenset({"__main__", "__name__"})


def closed_violations(walk: Walk, tree: Tree) -> Found:
    """What these rules say, each with the node that it is about."""
    yield from _names(walk, tree)
    yield from _texts(walk, tree)
    for kinds, rule in _RULES:
        if tree.has(kinds):
            yield from rule(walk, tree)
    yield from own_violations(tree)
    yield from endless_violations(walk, tree)


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
    """Special members but for a few, and those by which errors give frames and objects away."""
    special = [name for name in tree.members if _is_dunder(name)]
    named = {id(node.value) for node in tree.members.get("__name__", ()) if _is_read(node)}
    for name in special:
        for node in tree.members[name]:
            of = node.value.id if isinstance(node.value, ast.Name) else None
            if not _passes(name, of, id(node) in named):
                yield node, f"Blocked attribute: '{name}'"
    for node in tree.members.get("with_traceback", ()):
        yield node, "Blocked attribute: 'with_traceback'"
    # An `AttributeError` hands out whose member was missing.
    caught = {one.name for one in tree.of(ast.ExceptHandler)}
    for node in tree.members.get("obj", ()):
        if isinstance(node.value, ast.Name) and node.value.id in caught:
            yield node, "Blocked attribute: 'obj' of an error"


def _private(walk: Walk, tree: Tree) -> Found:
    """Private members that are not of the program."""
    names = [name for name in tree.members if name[0] == "_" and not _is_dunder(name)]
    own = _declared(tree) - lists.PRIVATE_MODULES if names else frozenset()
    for name in names:
        if name not in own:
            yield from ((one, f"Blocked private member: '{name}'") for one in tree.members[name])


def _passes(name: str, of: str | None, named: bool) -> bool:
    """Whether a special member may be used of a name (None: of something else), or for its `__name__`."""
    if name == "__class__":
        return of in OWN or (named and of is not None)
    if name == "__dict__":
        return of == "self"
    return name not in lists.CLOSED_ATTRIBUTES


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
    for node in tree.of(ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.arg, ast.keyword):
        name = node.arg if isinstance(node, ast.arg | ast.keyword) else node.name
        if name is not None and _is_dunder(name):
            yield node, f"Blocked name: '{name}'"
    for node in tree.of(ast.Import, ast.ImportFrom):
        named = [one.asname for one in node.names if one.asname and _is_dunder(one.asname)]
        yield from ((node, f"Blocked name: '{name}'") for name in named)
    for node in tree.of(ast.MatchClass):
        yield from (
            (node, f"Blocked attribute: '{one}'") for one in node.kwd_attrs if one[0] == "_"
        )


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


def _texts(walk: Walk, tree: Tree) -> Found:
    """A text that is the name of a special member: somebody looks it up, or makes it one."""
    # What is put together begins with one of them.
    if not any(node.value[:1] == "_" for node in tree.texts):
        return
    docstrings = {id(node.value) for node in tree.of(ast.Expr)}
    for node in (*tree.texts, *tree.of(*FOLDING)):
        text = folded(node) or ""
        special = _is_dunder(text) and _DUNDER.fullmatch(text)
        if special and text not in _MAIN and id(node) not in docstrings:
            yield node, f"Blocked text: '{text[:60]}'"


def _formats(walk: Walk, tree: Tree) -> Found:
    """Formats that look members up; where the text is not seen, all texts count."""
    del walk
    texts = [one.value for one in tree.texts if "{" in one.value]
    unseen = any(map(_FIELD.search, texts)) or any(map(_BEGUN.search, texts))
    for node in (one for name in _FORMATS for one in tree.members.get(name, ())):
        text = folded(node.value)
        if unseen if text is None else _FIELD.search(text):
            yield node, "Blocked format: a member of an argument"


def _calls(walk: Walk, tree: Tree) -> Found:
    """Members by their names, copies of members."""
    for name, node in tree.called(_OWN_ONLY):
        first = node.args[0] if node.args else None
        own = isinstance(first, ast.Name) and first.id in OWN
        if isinstance(node.func, ast.Name) and not own:
            yield node, f"Blocked call: '{name}' of something else than 'self'"
    # Under whatever name: `wraps(f, assigned=["eval"])` copies that member.
    names = {"wraps", *walk.names.standing_for({"functools.wraps"})}
    for _, node in tree.called(names):
        plain = len(node.args) == 1 and not node.keywords
        if not plain and "functools.wraps" in walk.names.paths(node.func):
            yield node, "Blocked call: 'wraps' that chooses members"


def _places(walk: Walk, tree: Tree) -> Found:
    """A log in a file, a client that speaks to a socket of the machine."""
    for _, node in tree.called({"basicConfig", *walk.names.standing_for({"logging.basicConfig"})}):
        if any(one.arg in {"filename", "handlers", None} for one in node.keywords):
            yield node, "Blocked call: 'basicConfig' with a file"
    for name, node in tree.called(_CONNECTING.union(walk.names.standing_for(_TRANSPORTS))):
        if node.args or any(one.arg is None for one in node.keywords):
            yield node, f"Blocked call: '{name}' with hidden arguments"
    for one in tree.of(ast.keyword):
        if one.arg == "uds":
            yield one, "Blocked argument: 'uds', a socket of the machine"


_FORMATS = frozenset({"format", "format_map"})
_CONNECTING = frozenset({"HTTPTransport", "AsyncHTTPTransport"})
_TRANSPORTS = {f"httpx.{name}" for name in _CONNECTING}
_OWN_ONLY = frozenset({"setattr", "delattr", "vars"})


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
    ({ast.Attribute}, _private),
    (_BINDING | _DEFINING, _definitions),
    ({ast.ClassDef}, _classes),
    ({ast.ClassDef, ast.Call}, making_violations),
    ({ast.MatchClass}, match_violations),
    ({ast.Attribute, ast.ImportFrom}, dispatch_violations),
    ({ast.Attribute}, _formats),
    ({ast.Call}, _calls),
    ({ast.Call}, _places),
    ({ast.Import, ast.ImportFrom}, environment_violations),
)
"""Kinds of nodes without which a rule has nothing to say, and the rule."""
