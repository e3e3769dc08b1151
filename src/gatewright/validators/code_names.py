"""Name resolution for `code_safety`: which modules, members or constant texts a name or expression may stand for.

Flow is not followed: a name stands for everything that is bound to it anywhere in the source. So a name
that once was a module stays one, and the order of statements hides nothing.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Set
from functools import cached_property

from gatewright.validators.code_source import BadSource

__all__ = ["NAMING", "Names", "folded", "makes_number", "rebound"]

_MOST_FOLLOWED = 50_000
"""Bindings, and paths of each, that are gone through until nothing changes any more; some 20 ms."""
_MAX_LINKS = 6
"""Members in a path that a name is bound to: `node = node.next` makes ever longer ones."""
_MAX_DEPTH = 30
# Characters: `"a" * 10**9` must not be made in order to be judged.
_MAX_REPEATED = 100
_NOTHING: frozenset[str] = frozenset()


def folded(node: ast.expr | None, depth: int = 0) -> str | None:
    """The text that an expression always is, or None: constants, `+`, `*`, `join` of constants and f-strings."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined("", [folded(node.left, depth + 1), folded(node.right, depth + 1)])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _repeated(node, depth + 1)
    if isinstance(node, ast.JoinedStr):
        return _joined("", [folded(part, depth + 1) for part in node.values])
    if isinstance(node, ast.FormattedValue):
        plain = node.conversion == -1 and node.format_spec is None
        return folded(node.value, depth + 1) if plain else None
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "join"
    ):
        return _join(node.func.value, node.args, depth + 1)
    return None


def _repeated(node: ast.BinOp, depth: int) -> str | None:
    text, times = folded(node.left, depth), node.right
    if text is None or not isinstance(times, ast.Constant) or not isinstance(times.value, int):
        return None
    return text * times.value if len(text) * times.value <= _MAX_REPEATED else None


def _join(base: ast.expr, args: list[ast.expr], depth: int) -> str | None:
    between = folded(base, depth)
    if between is None or len(args) != 1 or not isinstance(args[0], ast.List | ast.Tuple):
        return None
    return _joined(between, [folded(part, depth) for part in args[0].elts])


def _joined(between: str, parts: Iterable[str | None]) -> str | None:
    texts = list(parts)
    return None if None in texts else between.join(text for text in texts if text is not None)


def makes_number(left: ast.expr, right: ast.expr) -> bool:
    """Whether two operands are nothing that may be a text known beforehand."""
    return type(left) in _UNKNOWN and (
        type(right) in _UNKNOWN or (type(right) is ast.Constant and type(right.value) is not str)
    )


_UNKNOWN = frozenset({ast.Name, ast.Attribute, ast.Subscript})


def rebound(tree: ast.Module) -> frozenset[str]:
    """Names of builtins that mean something else for certain: bound by a plain statement at the top."""
    bound: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.ImportFrom) and node.module not in {None, "builtins"}:
            bound.update(alias.asname or alias.name for alias in node.names)
    return frozenset(bound)


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
            if type(node) in NAMING:
                bindings.extend(self._taken(node))
        if self._known:
            self._follow(bindings)
        self._found = {}

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

    def _taken(self, node: ast.AST) -> list[tuple[str, ast.expr]]:
        """Take what an import names; what else binds is left for when all imports are known."""
        if isinstance(node, ast.Import):
            self._imports(node)
        elif isinstance(node, ast.ImportFrom):
            self._imports_from(node)
        return _bound(node)

    @cached_property
    def known(self) -> frozenset[str]:
        """The names that stand for something."""
        return frozenset(self._known)

    def standing_for(self, paths: Set[str]) -> list[str]:
        """The names that may stand for one of these."""
        return [name for name, found in self._known.items() if not found.isdisjoint(paths)]

    def reaches(self, modules: frozenset[str]) -> bool:
        """Whether any name stands for one of these modules or for something in them."""
        return not self._tops.isdisjoint(modules)

    @cached_property
    def _tops(self) -> set[str]:
        return {path.partition(".")[0] for paths in self._known.values() for path in paths}

    def paths(self, node: ast.expr | None, depth: int = 0) -> frozenset[str]:
        """Everything that an expression may stand for; empty where it is nothing known."""
        if depth > _MAX_DEPTH:
            return _NOTHING
        if isinstance(node, ast.Name):
            return self._known.get(node.id, _NOTHING)
        if isinstance(node, ast.Attribute):
            return self._member(node, depth)
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Starred):
            return self.paths(node.value, depth + 1)
        if isinstance(node, ast.IfExp):
            return self.paths(node.body, depth + 1) | self.paths(node.orelse, depth + 1)
        if isinstance(node, ast.BoolOp):
            return frozenset().union(*(self.paths(value, depth + 1) for value in node.values))
        return _NOTHING

    def _member(self, node: ast.Attribute, depth: int) -> frozenset[str]:
        found = None if self._found is None else self._found.get(id(node))
        if found is None:
            base = self.paths(node.value, depth + 1)
            found = frozenset(f"{one}.{node.attr}" for one in base) if base else _NOTHING
            # Deep down less is seen than by who asks for the node itself.
            if self._found is not None and not depth:
                self._found[id(node)] = found
        return found

    def _add(self, name: str, paths: frozenset[str]) -> None:
        if paths:
            self._known[name] = self._known.get(name, _NOTHING) | paths

    def _imports(self, node: ast.Import) -> None:
        for alias in node.names:
            self.modules.add(alias.name)
            if alias.asname is not None:
                self._add(alias.asname, frozenset({alias.name}))
            else:
                # `import a.b` binds `a`.
                top = alias.name.partition(".")[0]
                self.modules.add(top)
                self._add(top, frozenset({top}))

    def _imports_from(self, node: ast.ImportFrom) -> None:
        # Relative: whatever it names is part of the same package, and not known here.
        if node.level or node.module is None:
            return
        for alias in node.names:
            self._add(alias.asname or alias.name, frozenset({f"{node.module}.{alias.name}"}))


def _short(path: str) -> str:
    """A path, or where it is too long its module with the last member: that may be what is looked for."""
    if path.count(".") <= _MAX_LINKS:
        return path
    return f"{path.partition('.')[0]}.{path.rpartition('.')[2]}"


def _mentioned(node: ast.expr, depth: int = 0) -> Iterator[str]:
    """The names that `Names.paths` asks about for an expression."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute | ast.NamedExpr | ast.Await | ast.Starred):
        yield from _mentioned(node.value, depth + 1)
    elif isinstance(node, ast.IfExp):
        yield from _mentioned(node.body, depth + 1)
        yield from _mentioned(node.orelse, depth + 1)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _mentioned(value, depth + 1)


NAMING = frozenset(
    {ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.withitem}
)


def _bound(node: ast.AST) -> list[tuple[str, ast.expr]]:
    """Names that a statement or expression binds, with the value of each."""
    if isinstance(node, ast.Assign):
        return [(one.id, node.value) for one in node.targets if isinstance(one, ast.Name)]
    if isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        return [(node.target.id, node.value)] if isinstance(node.target, ast.Name) else []
    if isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
        return [(node.optional_vars.id, node.context_expr)]
    return []
