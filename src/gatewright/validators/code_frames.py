"""`frame_violations`: checks the AST of code using numpy or pandas (`code_safety`): members, calls, imports, assignments by allow lists.

While tables or arrays are in use, a member that any object there has is refused unless it is listed; a name that none has is a column or a field
of the program. Functions by name are constants that reduce, and a table is read from a `StringIO` that is made in the call and written to a text.
There are no queries, no styles, no plots and no arrays over given bytes. The lists are those of `code_frames.toml`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gatewright.patterns import ASCII, Pattern
from gatewright.validators.code_frame_functions import DIRECT, PIVOTS, Functions, is_hidden
from gatewright.validators.code_frame_names import FrameNames, mentioned
from gatewright.validators.code_lists import FRAME_LISTS, FRAME_MEMBERS
from gatewright.validators.code_members import TYPES, Walk
from gatewright.validators.code_names import folded
from gatewright.validators.code_tree import Tree

__all__ = ["frame_violations"]

Found = Iterator[tuple[Any, str]]

_READS = frozenset({"read_csv", "read_json"})
_SETS = frozenset({"set_option", "option_context", "reset_option"})
_AS_TEXT = frozenset("to_csv to_json to_string to_markdown to_html info".split())
_REFUSED_NAMES = frozenset({"getattr", "setattr", "memoryview"})
_DUNDERS = frozenset({"__name__", "__version__", "__init__"})
_NOT_DEFINED = frozenset("__new__ __get__ __getattr__ __set__ __delete__ __index__".split())
_OPTION = Pattern(r"(?:display|mode)\.[a-z_]+(?:\.[a-z_]+)?")
_QUERY = Pattern(
    r"[(]*(?:\s*(?:\b(?:and|or|not|in)\b\s*[(\[]*|[A-Za-z]\w*|\d+(?:\.\d+)?|'[\w :/.-]*'|\"[\w :/.-]*\"|[<>=!&|~+*/%,-]+\s*[(\[]*|[)\]]+))*\s*",
    ASCII,
)
"""Columns, constants and operators: nothing is called, subscribed, or looked up behind `@` or a point."""
_PIVOT_POSITIONS = 3

_FIELD_NAMES: frozenset[str] = FRAME_LISTS["fields"]
_REFUSED: frozenset[str] = FRAME_LISTS["existing"] | DIRECT
"""Members that some object has, and that are not listed, or only for calls."""
_SETTABLE: frozenset[str] = FRAME_LISTS["storable"]
_LISTED = FRAME_LISTS["attributes"] | FRAME_LISTS["existing"] | _FIELD_NAMES
_OF_MEMORY = frozenset({"data", "dtype"})
"""Fields by which an array's memory becomes another one's."""


def frame_violations(walk: Walk, tree: Tree) -> Found:
    """What speaks against code that uses tables or arrays, each with its node. What only names a type, and calls that turn a text
    into a table, are marked in the walk."""
    yield from _Frames(walk, tree).violations()


class _Frames:
    """Which members of one tree are called in a way that passes."""

    def __init__(self, walk: Walk, tree: Tree) -> None:
        self._walk = walk
        self._tree = tree
        self._names = FrameNames(tree)
        self._functions = Functions(tree, self._names)
        self._passing: set[int] = set()
        """Members that have been judged with the call they stand in."""

    def violations(self) -> Found:
        """Every sentence that speaks against the tree, with its node."""
        tests = {one for one in ("isinstance", "issubclass") if not self._names.bound(one)}
        names = self._walk.names
        self._walk.followed.update(
            id(one) for one in mentioned(self._tree, tests) if names.paths(one) & TYPES
        )
        yield from self._builtins()
        yield from self._imports()
        for name, node in self._tree.called(DIRECT):
            if isinstance(node.func, ast.Attribute):
                self._passing.add(id(node.func))
                if is_hidden(node) or not self._passes(node, node.func):
                    yield (
                        node,
                        f"Blocked call: '{name}' with arguments that are not known to compute only",
                    )
        yield from self._members()
        yield from self._stored()
        yield from self._classes()

    def _builtins(self) -> Found:
        """Builtins that look members up, or show memory."""
        for name in _REFUSED_NAMES.intersection(self._tree.names):
            for node in self._tree.names[name]:
                yield node, f"Blocked name: '{name}' beside tables or arrays"

    def _imports(self) -> Found:
        for node in self._tree.of(ast.Import, ast.ImportFrom):
            modules = [one.name for one in node.names]
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or "."]
                for one in node.names:
                    # What needs its arguments looked at is called as a member only.
                    if f"{node.module}.{one.name}" not in FRAME_MEMBERS and one.name in _REFUSED:
                        yield (
                            node,
                            f"Blocked import: '{node.module}.{one.name}' beside tables or arrays",
                        )
            for module in modules:
                if module.partition(".")[0] not in FRAME_LISTS["companions"]:
                    yield node, f"Blocked import: '{module}' beside tables or arrays"

    def _members(self) -> Found:
        members = self._tree.members
        refused = {name for name in members if name in _REFUSED or _is_like_refused(name)}
        for node in (one for name in refused for one in members[name]):
            # A listed module of a package passes as well.
            paths = self._walk.names.paths(node)
            listed = bool(paths) and paths <= FRAME_MEMBERS.keys()
            if id(node) not in self._passing and not listed and not self._is_format(node):
                yield node, f"Blocked attribute: '{node.attr}' beside tables or arrays"
        for node in self._tree.of(ast.MatchClass):
            for name in _REFUSED.intersection(node.kwd_attrs):
                yield node, f"Blocked attribute: '{name}' beside tables or arrays"
        methods = {one.name for one in self._tree.of(ast.FunctionDef, ast.AsyncFunctionDef)}
        for name, call in self._tree.called(_FIELD_NAMES):
            if isinstance(call.func, ast.Attribute) and name not in methods:
                yield call, f"Blocked call: '{name}' beside tables or arrays"

    def _is_format(self, node: ast.Attribute) -> bool:
        return node.attr == "format" and self._names.is_plain_format(node)

    def _stored(self) -> Found:
        """Members that are set: what is in no list, fields of the program's own classes, and a few of tables."""
        stored = [node for node in self._tree.of(ast.Attribute) if type(node.ctx) is not ast.Load]
        own = {node.attr for node in stored if _is_of_self(node)}
        fields = [node.target for node in self._tree.of(ast.AnnAssign)] if stored else []
        own.update(one.id for one in fields if isinstance(one, ast.Name))
        free = (own - _OF_MEMORY) | _SETTABLE
        for node in stored:
            if node.attr not in _LISTED or node.attr in free or _is_of_self(node):
                continue
            paths = self._walk.names.paths(node.value)
            if not paths or not all(path.startswith("pandas.options.") for path in paths):
                yield node, f"Blocked assignment: '{node.attr}' beside tables or arrays"

    def _classes(self) -> Found:
        """Classes that tell packages where memory is, or that make classes of what they are given."""
        for node in self._tree.of(ast.ClassDef):
            known = all(
                isinstance(one, ast.Name | ast.Attribute | ast.Subscript) for one in node.bases
            )
            if not known:
                yield node, f"Blocked class: '{node.name}' of a class that is computed"
        named = [node for node in self._tree.of(ast.FunctionDef) if node.name in _NOT_DEFINED]
        for name in _NOT_DEFINED.intersection(self._tree.names):
            named += self._tree.names[name]
        yield from ((node, "Blocked attribute: a special one of a class") for node in named)

    def _passes(self, node: ast.Call, func: ast.Attribute) -> bool:
        """Whether what is only called is given arguments with which it computes."""
        name = func.attr
        path = self._names.path(func)
        if name in _READS:
            return path == f"pandas.{name}" and self._reads_text(node, func)
        if name in _SETS:
            texts = [one.value if isinstance(one, ast.Constant) else None for one in node.args[::2]]
            shown = all(isinstance(one, str) and _OPTION.fits(one) for one in texts)
            return bool(texts) and shown and not node.keywords and path == f"pandas.{name}"
        if name in _AS_TEXT:
            return not node.args and all(one.arg in FRAME_LISTS["shaping"] for one in node.keywords)
        if name == "format":
            return self._names.is_plain_format(func)
        if name in {"query", "eval"}:
            text = folded(node.args[0]) if len(node.args) == 1 and not node.keywords else None
            return text is not None and _QUERY.fits(text)
        if name in PIVOTS:
            named = [one.value for one in node.keywords if one.arg == "aggfunc"]
            return len(node.args) <= _PIVOT_POSITIONS and all(map(self._functions.computes, named))
        return self._functions.takes(node, name)

    def _reads_text(self, node: ast.Call, func: ast.Attribute) -> bool:
        """Whether a table is read from a text that is wrapped in the call itself."""
        text = node.args[0] if len(node.args) == 1 else None
        if not isinstance(text, ast.Call) or self._names.path(text.func) != "io.StringIO":
            return False
        self._walk.harmless.add(id(func))
        return len(text.args) <= 1 and not is_hidden(text)


def _is_like_refused(name: str) -> bool:
    """Whether a member is private to a package, special and not one of a few, or reads or writes in some version of it."""
    if name[0] == "_":
        return name in FRAME_LISTS["private"] or (name[:2] == "__" and name not in _DUNDERS)
    return name.startswith(("to_", "read_")) and name not in FRAME_LISTS["attributes"]


def _is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"
