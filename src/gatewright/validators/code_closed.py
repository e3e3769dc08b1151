"""`code_safety` rules that hold at `strict` and `readonly` besides those of all levels: files, special and private members, classes, formats.

At these levels what passes is listed. So no file is opened, a special member is one of a few, and a private one belongs to the program.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Set
from typing import Any

from gatewright.patterns import ASCII, Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_endless import endless_violations
from gatewright.validators.code_members import Walk
from gatewright.validators.code_names import folded
from gatewright.validators.code_tree import Tree

__all__ = ["closed_violations"]

Found = Iterator[tuple[Any, str]]

_SELF = frozenset({"self", "cls", "other"})
_DUNDER = Pattern(r"__\w+__")
_FIELD = Pattern(r"\{\w*[.\[]", ASCII)
_MAIN = frozenset({"__main__", "__name__"})


def closed_violations(walk: Walk, tree: Tree) -> Found:
    """What these rules say, each with the node that it is about."""
    for kinds, rule in _RULES:
        if tree.has(kinds):
            yield from rule(walk, tree)
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


def _is_read(node: ast.Name | ast.Attribute) -> bool:
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
    for node in tree.members.get("obj", ()):
        # An `AttributeError` hands out whose member was missing.
        caught = {one.name for one in tree.of(ast.ExceptHandler)}
        if isinstance(node.value, ast.Name) and node.value.id in caught:
            yield node, "Blocked attribute: 'obj' of an error"


def _private(walk: Walk, tree: Tree) -> Found:
    """Private members that are not of the program."""
    names = [name for name in tree.members if name[0] == "_" and not _is_dunder(name)]
    own = _declared(tree) - lists.PRIVATE_MODULES if names else set()
    for name in names:
        if name not in own:
            yield from ((one, f"Blocked private member: '{name}'") for one in tree.members[name])


def _passes(name: str, of: str | None, named: bool) -> bool:
    """Whether a special member may be used of a name (None: of something else), or for its `__name__`."""
    if name == "__class__":
        return of in _SELF or (named and of is not None)
    if name == "__dict__":
        return of == "self"
    return name not in lists.CLOSED_ATTRIBUTES


def _declared(tree: Tree) -> set[str]:
    """Private names that the program itself binds as members, and those that are meant for everybody."""
    own = set(lists.PRIVATE)
    for name, nodes in tree.members.items():
        if name[0] == "_" and any(isinstance(node.ctx, ast.Store) for node in nodes):
            own.add(name)
    own.update(node.name for node in _defined(tree))
    own.update(
        name
        for name, nodes in tree.names.items()
        if name[0] == "_" and any(isinstance(node.ctx, ast.Store) for node in nodes)
    )
    return own


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
    texts = [
        node for node in tree.of(ast.Constant) if type(node.value) is str and node.value[:1] == "_"
    ]
    # What is put together begins with one of them.
    if not texts:
        return
    docstrings = {id(node.value) for node in tree.of(ast.Expr)}
    for node in (*texts, *tree.of(ast.BinOp, ast.JoinedStr, ast.Call)):
        text = folded(node)
        special = text is not None and _is_dunder(text) and _DUNDER.fullmatch(text)
        if special and text not in _MAIN and id(node) not in docstrings:
            yield node, f"Blocked text: '{(text or '')[:60]}'"


def _formats(walk: Walk, tree: Tree) -> Found:
    """Formats that look members up; where the text is not seen, all texts count."""
    for _, node in tree.called(_FORMATS):
        text = folded(node.func.value) if isinstance(node.func, ast.Attribute) else None
        if text is None:
            texts = (one.value for one in tree.of(ast.Constant))
            text = " ".join(one for one in texts if isinstance(one, str) and "{" in one)
        if _FIELD.search(text):
            yield node, "Blocked format: a member of an argument"


def _calls(walk: Walk, tree: Tree) -> Found:
    """Members by their names, copies of members, a log in a file."""
    for name, node in tree.called(_OWN_ONLY):
        first = node.args[0] if node.args else None
        own = isinstance(first, ast.Name) and first.id in _SELF
        if isinstance(node.func, ast.Name) and not own:
            yield node, f"Blocked call: '{name}' of something else than 'self'"
    for _, node in tree.called({"basicConfig"}):
        if any(one.arg in {"filename", "handlers", None} for one in node.keywords):
            yield node, "Blocked call: 'basicConfig' with a file"
    # Under whatever name: `wraps(f, assigned=["eval"])` copies that member.
    functools = walk.names.reaches(frozenset({"functools"}))
    for node in tree.of(ast.Call) if functools else ():
        plain = len(node.args) == 1 and not node.keywords
        if not plain and "functools.wraps" in walk.names.paths(node.func):
            yield node, "Blocked call: 'wraps' that chooses members"


def _private_texts(walk: Walk, tree: Tree) -> Found:
    """Private members by their names, whoever declares one so called."""
    for _, node in tree.called({"getattr"}):
        member = folded(node.args[1]) if len(node.args) > 1 else None
        if member is not None and member[:1] == "_":
            yield node, f"Blocked call: 'getattr' of '{member[:60]}'"


_FORMATS = frozenset({"format", "format_map"})
_OWN_ONLY = frozenset({"setattr", "delattr", "vars"})


def _environment(walk: Walk, tree: Tree) -> Found:
    """All variables at once; single ones may be read."""
    if not walk.names.reaches(frozenset({"os"})):
        return
    single = {id(node.value) for node in tree.of(ast.Subscript, ast.Attribute)}
    for node in tree.of(ast.Compare):
        single.update(map(id, node.comparators))
    for node in tree.of(ast.Attribute):
        if node.attr not in {"get", "setdefault"} and _is_environment(walk, node.value):
            yield node, "Blocked use: the whole of 'os.environ'"
    for node in tree.of(ast.Attribute, ast.Name):
        if id(node) not in single and _is_read(node) and _is_environment(walk, node):
            yield node, "Blocked use: the whole of 'os.environ'"


def _is_environment(walk: Walk, node: ast.expr) -> bool:
    return "os.environ" in walk.names.paths(node)


_BINDING = {ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.arg, ast.keyword, ast.MatchClass}
_DEFINING = {ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom}
_RULES: tuple[tuple[Set[type[ast.AST]], Callable[[Walk, Tree], Found]], ...] = (
    ({ast.Name}, _names),
    ({ast.Attribute}, _special),
    ({ast.Attribute}, _private),
    (_BINDING | _DEFINING, _definitions),
    ({ast.ClassDef}, _classes),
    ({ast.Constant}, _texts),
    ({ast.Call}, _formats),
    ({ast.Call}, _calls),
    ({ast.Call}, _private_texts),
    ({ast.Import, ast.ImportFrom}, _environment),
)
"""Kinds of nodes without which a rule has nothing to say, and the rule."""
