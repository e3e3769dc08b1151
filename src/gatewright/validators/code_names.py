"""Name resolution for `code_safety`: which modules, members or constant texts a name or expression may be; `rebound`: redefined builtins.

Flow is not followed: a name stands for everything that is bound to it anywhere in the source. So a name
that once was a module stays one, and the order of statements hides nothing.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Set
from typing import Any

from gatewright.validators import code_lists as lists
from gatewright.validators.code_source import BadSource

__all__ = ["FOLDING", "NAMING", "REFERRING", "Names", "folded", "rebound"]

Bindings = list[tuple[str, ast.expr]]

_MOST_FOLLOWED = 50_000
"""Bindings, and paths of each, that are gone through until nothing changes any more; some 20 ms."""
_MAX_LINKS = 6
"""Members in a path that a name is bound to: `node = node.next` makes ever longer ones."""
_MAX_DEPTH = 30
# Characters: `"a" * 10**9` must not be made in order to be judged.
_MAX_REPEATED = 100
_MAX_BETWEEN = 10_000
_NOTHING: frozenset[str] = frozenset()


def folded(node: ast.expr | None, depth: int = 0) -> str | None:
    """The text that an expression always is, or None: constants, `+`, `*`, `join` of constants and f-strings."""
    kind = type(node)
    if kind is ast.Constant:
        return node.value if isinstance(node.value, str) else None  # type: ignore[union-attr]
    if kind not in FOLDING or depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add):
            return _joined("", (node.left, node.right), depth)
        return _repeated(node, depth + 1) if isinstance(node.op, ast.Mult) else None
    if isinstance(node, ast.JoinedStr):
        return _joined("", node.values, depth)
    if isinstance(node, ast.FormattedValue):
        plain = node.conversion == -1 and node.format_spec is None
        return folded(node.value, depth + 1) if plain else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _join(node.func, node.args, depth + 1)
    return None


FOLDING = frozenset({ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.Call})
"""What puts texts together."""


def _repeated(node: ast.BinOp, depth: int) -> str | None:
    text, times = folded(node.left, depth), node.right
    if text is None or not isinstance(times, ast.Constant) or not isinstance(times.value, int):
        return None
    return text * times.value if len(text) * times.value <= _MAX_REPEATED else None


def _join(func: ast.Attribute, args: list[ast.expr], depth: int) -> str | None:
    if func.attr != "join" or len(args) != 1 or not isinstance(args[0], ast.List | ast.Tuple):
        return None
    between = folded(func.value, depth)
    return None if between is None else _joined(between, args[0].elts, depth)


def _joined(between: str, parts: Iterable[ast.expr], depth: int) -> str | None:
    texts = []
    for part in parts:
        text = folded(part, depth + 1)
        if text is None:
            return None
        texts.append(text)
    # A long text between many short ones: as with `*`.
    return between.join(texts) if len(between) * len(texts) <= _MAX_BETWEEN else None


def rebound(tree: ast.Module) -> frozenset[str]:
    """Names of builtins that mean something else for certain: bound by a plain statement at the top."""
    bound: set[str] = set()
    for node in tree.body:
        kind = type(node)
        if kind is ast.ImportFrom and node.module not in {None, "builtins"}:  # type: ignore[attr-defined]
            bound.update([alias.asname or alias.name for alias in node.names])  # type: ignore[attr-defined]
        elif kind in _DEFINING:
            bound.add(node.name)  # type: ignore[attr-defined]
    guarded = bound & _GUARDED
    return frozenset(bound - _meant(tree, guarded) if guarded else bound)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINING = (*_FUNCTIONS, ast.ClassDef)
_GUARDED = lists.BLOCKED_BUILTINS | lists.CLOSED_BUILTINS | {"getattr", "vars", "delattr"}


def _meant(tree: ast.Module, names: set[str]) -> set[str]:
    """Those of these names that may still mean the builtin: something names them before they are bound, or they are given up again."""
    found: set[str] = set()
    own: set[str] = set()
    for node in tree.body:
        mentioned, given_up = _mentions(node, names)
        found |= given_up
        if isinstance(node, ast.ImportFrom):
            own.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, _FUNCTIONS) and not node.decorator_list:
            # Its body runs later; defaults are computed before it has a name.
            heads = [one for one in (node.args, node.returns) if one is not None]
            own |= {node.name} - set().union(*(_mentions(one, names)[0] for one in heads))
        found |= mentioned - own
        if isinstance(node, _DEFINING):
            own.add(node.name)
    return found


def _mentions(node: ast.AST, names: set[str]) -> tuple[set[str], set[str]]:
    """Those of these names that a statement has, and those that it gives up."""
    mentioned: set[str] = set()
    given_up: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id in names:
            (given_up if isinstance(one.ctx, ast.Del) else mentioned).add(one.id)
        elif isinstance(one, ast.ExceptHandler) and one.name in names:
            # What is caught is forgotten, and its name with it.
            given_up.add(one.name)
    return mentioned, given_up


class Names:
    """What each name of one tree may stand for, as dotted paths that begin with a module. Raises `BadSource` where its bindings
    lead to more than is followed."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self._known: dict[str, frozenset[str]] = {}
        self._found: dict[int, frozenset[str]] | None = None
        """Paths of members that have been asked for, by node, once no name changes any more."""
        self.modules: set[str] = set()
        """Modules that are imported, by their dotted names."""
        bindings: list[tuple[str, ast.expr]] = []
        for node in nodes:
            kind = type(node)
            if kind in NAMING:
                bindings += getattr(self, NAMING[kind])(node)
        if self._known and bindings:
            self._follow(bindings)
        self._found = {}
        self.known = self._known.keys()
        """The names that stand for something."""
        self.tops = {path.partition(".")[0] for found in self._known.values() for path in found}
        """Modules of which any name stands for something, by the first part of their names."""

    def _follow(self, bindings: list[tuple[str, ast.expr]]) -> None:
        """Go on until nothing changes: a binding may feed one that stands before it, and that another one."""
        fed_by: dict[str, list[int]] = {}
        for number, (_, value) in enumerate(bindings):
            for name in _mentioned(value):
                fed_by.setdefault(name, []).append(number)
        waiting = deque(range(len(bindings)))
        is_waiting = [True] * len(bindings)
        left = _MOST_FOLLOWED
        while waiting:
            number = waiting.popleft()
            is_waiting[number] = False
            name, value = bindings[number]
            found = self.paths(value)
            left -= 1 + len(found)
            if left < 0:
                raise BadSource("Names: bound to each other in more ways than are followed")
            before = len(self._known.get(name, _NOTHING))
            self._add(name, frozenset(map(_short, found)))
            if len(self._known.get(name, _NOTHING)) == before:
                continue
            for one in fed_by.get(name, ()):
                if not is_waiting[one]:
                    is_waiting[one] = True
                    waiting.append(one)

    def standing_for(self, paths: Set[str]) -> list[str]:
        """The names that may stand for one of these."""
        return [name for name, found in self._known.items() if not found.isdisjoint(paths)]

    def ending_in(self, members: Set[str]) -> list[str]:
        """The names that may stand for a member of a module that is called so."""
        ends = (
            (name, path.rpartition(".")[2]) for name in self._known for path in self._known[name]
        )
        return [name for name, end in ends if end in members]

    def reaches(self, modules: frozenset[str]) -> bool:
        """Whether any name stands for one of these modules or for something in them."""
        return not self.tops.isdisjoint(modules)

    def paths(self, node: ast.expr | None, depth: int = 0) -> frozenset[str]:
        """Everything that an expression may stand for; empty where it is nothing known."""
        kind = type(node)
        if kind is ast.Name:
            return self._known.get(node.id, _NOTHING)  # type: ignore[union-attr]
        if kind not in REFERRING or depth > _MAX_DEPTH:
            return _NOTHING
        if isinstance(node, ast.Attribute):
            return self._member(node, depth)
        return _NOTHING.union(*(self.paths(one, depth + 1) for one in _choices(node)))

    def _member(self, node: ast.Attribute, depth: int) -> frozenset[str]:
        found = None if self._found is None else self._found.get(id(node))
        if found is None:
            base = self.paths(node.value, depth + 1)
            found = frozenset([f"{one}.{node.attr}" for one in base]) if base else _NOTHING
            # Deep down less is seen than by who asks for the node itself.
            if self._found is not None and not depth:
                self._found[id(node)] = found
        return found

    def _add(self, name: str, paths: frozenset[str]) -> None:
        if paths:
            self._known[name] = self._known.get(name, _NOTHING) | paths

    def _import(self, node: ast.Import) -> Bindings:
        for alias in node.names:
            # `import a.b` binds `a`.
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self.modules.update((alias.name, name))
            self._add(alias.asname or name, frozenset((name,)))
        return []

    def _import_from(self, node: ast.ImportFrom) -> Bindings:
        # Relative: whatever it names is part of the same package, and not known here.
        for alias in node.names if node.module is not None and not node.level else ():
            # What is judged by its name is known by it, with a star, too.
            starred = alias.name == "*" and lists.BLOCKED_MEMBERS.get(node.module or "")
            for name in starred or ():
                self._add(name, frozenset((f"{node.module}.{name}",)))
            self._add(alias.asname or alias.name, frozenset((f"{node.module}.{alias.name}",)))
        return []

    @staticmethod
    def _assign(node: Any) -> Bindings:
        """Names that a statement or expression binds, each with the value, if that may be of interest."""
        targets: list[Any]
        if type(node) is ast.withitem:
            targets, value = [node.optional_vars], node.context_expr
        else:
            targets = node.targets if type(node) is ast.Assign else [node.target]
            value = node.value
        if type(value) not in REFERRING:
            return []
        return [(one.id, value) for one in targets if type(one) is ast.Name]


def _short(path: str) -> str:
    """A path, or where it is too long its module with the last member: that may be what is looked for."""
    if path.count(".") <= _MAX_LINKS:
        return path
    return f"{path.partition('.')[0]}.{path.rpartition('.')[2]}"


def _choices(node: Any) -> list[ast.expr]:
    """The parts of an expression one of which it stands for."""
    if type(node) is ast.IfExp:
        return [node.body, node.orelse]
    return list(node.values) if type(node) is ast.BoolOp else [node.value]


def _mentioned(node: ast.expr, depth: int = 0) -> Iterator[str]:
    """The names that `Names.paths` asks about for an expression."""
    if isinstance(node, ast.Name):
        yield node.id
    elif type(node) in REFERRING and depth <= _MAX_DEPTH:
        for one in _choices(node):
            yield from _mentioned(one, depth + 1)


REFERRING = frozenset(
    {ast.Name, ast.Attribute, ast.NamedExpr, ast.Await, ast.Starred, ast.IfExp, ast.BoolOp}
)
"""Expressions that may stand for a module or a member of one."""
NAMING: dict[type[ast.AST], str] = {
    ast.Import: "_import",
    ast.ImportFrom: "_import_from",
    **dict.fromkeys((ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.withitem), "_assign"),
}
"""What binds names, and the method that knows what to."""
