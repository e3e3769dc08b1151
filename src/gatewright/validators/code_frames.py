"""`code_safety` rules for numpy and pandas at `strict` and `readonly`: members, names of functions and texts that pass are listed.

While tables or arrays are in use, a member that any object there has is refused unless it is listed; a name that none has is a column or a field
of the program. Functions by name are constants that reduce, a table is read from a `StringIO` that is made in the call and written to a text, and
bytes become numbers only. There are no queries, no styles and no plots. The lists are those of `code_frames.toml`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import Any, TypeGuard

from gatewright.patterns import Pattern
from gatewright.validators.code_frame_functions import (
    DIRECT,
    MAPS,
    NAMED_ONLY,
    PIVOTS,
    REFUSED,
    Functions,
    is_hidden,
)
from gatewright.validators.code_frame_names import FrameNames, is_load
from gatewright.validators.code_frame_types import is_bytes, is_plain_type, mentioned
from gatewright.validators.code_lists import FRAME_LISTS, FRAME_MEMBERS
from gatewright.validators.code_members import Walk
from gatewright.validators.code_tree import Tree

__all__ = ["frame_violations"]

Found = Iterator[tuple[Any, str]]

_READS = frozenset({"read_csv", "read_json"})
_SETS = frozenset({"set_option", "option_context", "reset_option"})
_AS_TEXT = frozenset("to_csv to_json to_string to_markdown info".split())
_REFUSED_NAMES = frozenset("getattr setattr delattr hasattr vars type dir help memoryview".split())
_DUNDERS = frozenset({"__name__", "__version__", "__init__"})
_NOT_DEFINED = frozenset("__new__ __get__ __set__ __delete__ __index__".split())
_ENUMERATIONS = frozenset(f"enum.{name}" for name in "Enum IntEnum StrEnum Flag IntFlag".split())
"""Classes that, called, make a class with members of any name."""
_LAST_NAMES = frozenset("ndarray void Enum IntEnum StrEnum Flag IntFlag".split())
_OF_MEMORY = frozenset({"data", "dtype"})
"""Fields by which an array's memory becomes another one's."""
_OPTION = Pattern(r"(?:display|mode)\.[a-z_]+(?:\.[a-z_]+)?")
_PIVOT_POSITIONS = 3

_FIELD_NAMES: frozenset[str] = FRAME_LISTS["fields"]
_LISTED = FRAME_LISTS["attributes"] | _FIELD_NAMES | FRAME_LISTS["existing"]
_STORABLE: frozenset[str] = FRAME_LISTS["storable"]


def frame_violations(walk: Walk, tree: Tree) -> Found:
    """What speaks against code that uses tables or arrays, each with its node. Calls that only turn a text into a table are
    marked as harmless in the walk."""
    yield from _Frames(walk, tree).violations()


class _Frames:
    """Which members of one tree are called in a way that passes."""

    def __init__(self, walk: Walk, tree: Tree) -> None:
        self._walk = walk
        self._tree = tree
        self._passing: set[int] = set()
        """Members and names that have been judged with the call or member they stand in."""

    @cached_property
    def _names(self) -> FrameNames:
        return FrameNames(self._tree)

    @cached_property
    def _functions(self) -> Functions:
        return Functions(self._tree, self._names)

    def violations(self) -> Found:
        """Every sentence that speaks against the tree, with its node."""
        rules: tuple[tuple[Callable[[Any], Iterator[str]], list[Any]], ...] = (
            (self._printed, self._tree.calls.get("print", [])),
            (self._type, self._calls_of("dtype", "numpy.dtype")),
            (self._direct, [node for _, node in self._tree.called(DIRECT)]),
            (self._import, self._tree.of(ast.Import)),
            (self._import_from, self._tree.of(ast.ImportFrom)),
            (self._class, self._tree.of(ast.ClassDef)),
            (_matched, self._tree.of(ast.MatchClass)),
        )
        for rule, nodes in rules:
            for node in nodes:
                for sentence in rule(node):
                    yield node, sentence
        yield from self._attributes()
        yield from self._stored()
        yield from self._refused_names()
        yield from self._annotations()
        yield from self._named_only()

    # -- names

    def _refused_names(self) -> Found:
        for name in _REFUSED_NAMES.intersection(self._tree.names):
            for node in self._tree.names[name]:
                if id(node) not in self._passing:
                    yield node, f"Blocked name: '{name}' beside tables or arrays"

    @staticmethod
    def _import(node: ast.Import) -> Iterator[str]:
        for alias in node.names:
            yield from _module(alias.name)

    @staticmethod
    def _import_from(node: ast.ImportFrom) -> Iterator[str]:
        yield from _module(node.module or ".")
        for alias in node.names:
            # What needs its arguments looked at is called as a member only.
            listed = f"{node.module}.{alias.name}" in FRAME_MEMBERS
            if not listed and alias.name in REFUSED:
                yield f"Blocked import: '{node.module}.{alias.name}' beside tables or arrays"

    # -- members

    def _attributes(self) -> Found:
        members = self._tree.members
        for node in members.get("__name__", ()):
            if _is_type_of(node.value):
                self._passing.add(id(node.value.func))
        refused = REFUSED.intersection(members)
        refused |= {name for name in members if name[:1] in "_rt" and _is_like_refused(name)}
        for node in chain.from_iterable(members[name] for name in refused):
            if not self._passes_as_member(node):
                yield node, f"Blocked attribute: '{node.attr}' beside tables or arrays"
        methods: set[str] | None = None
        for name, call in self._tree.called(_FIELD_NAMES):
            if methods is None:
                methods = {one.name for one in self._tree.of(ast.FunctionDef, ast.AsyncFunctionDef)}
            if isinstance(call.func, ast.Attribute) and name not in methods:
                yield call, f"Blocked call: '{name}' beside tables or arrays"

    def _stored(self) -> Found:
        """Members that are set: what is in no list, fields of the program's own classes, and a few of tables."""
        stored = [node for node in self._tree.of(ast.Attribute) if not is_load(node)]
        if not stored:
            return
        own = {node.attr for node in stored if _is_of_self(node)}
        own.update(
            node.target.id
            for node in self._tree.of(ast.AnnAssign)
            if isinstance(node.target, ast.Name)
        )
        free = (own - _OF_MEMORY) | _STORABLE
        for node in stored:
            listed = node.attr in _LISTED and node.attr not in free
            if listed and not _is_of_self(node) and not self._is_option(node.value):
                yield node, f"Blocked assignment: '{node.attr}' beside tables or arrays"

    def _passes_as_member(self, node: ast.Attribute) -> bool:
        """Whether a member is a listed module of a package, or has been judged with what it stands in."""
        if id(node) in self._passing or self._names.is_plain_format(node):
            return True
        paths = self._walk.names.paths(node)
        return bool(paths) and paths <= FRAME_MEMBERS.keys()

    def _is_option(self, node: ast.expr) -> bool:
        paths = self._walk.names.paths(node)
        return bool(paths) and all(path.startswith("pandas.options.") for path in paths)

    def _named_only(self) -> Found:
        """Classes that make an object of any bytes pass where a type is named: annotations, `isinstance`."""
        nodes: list[Any] = [one for name in _LAST_NAMES for one in self._tree.members.get(name, ())]
        for name in self._walk.names.standing_for(NAMED_ONLY | _ENUMERATIONS):
            nodes += self._tree.names[name]
        found = [
            node
            for node in nodes
            if is_load(node)
            and not self._walk.names.paths(node).isdisjoint(NAMED_ONLY | _ENUMERATIONS)
        ]
        if not found:
            return
        tests = {one for one in ("isinstance", "issubclass") if not self._names.bound[one]}
        passing = mentioned(self._tree, frozenset(tests))
        for one in self._tree.of(ast.ClassDef):
            enums = (base for base in one.bases if self._walk.names.paths(base) & _ENUMERATIONS)
            passing.update(map(id, enums))
        for node in found:
            if id(node) not in passing:
                yield node, "Blocked use: a class that makes objects of bytes"

    # -- calls

    def _printed(self, node: ast.Call) -> Iterator[str]:
        """What is printed goes nowhere else."""
        typed = {id(one.func) for one in node.args if _is_type_of(one)}
        if typed and self._names.is_builtin(node.func, "print"):
            self._passing |= typed
        return iter(())

    def _calls_of(self, name: str, path: str) -> list[ast.Call]:
        """Calls of what has a name, or of a name that may stand for a path."""
        named = {name, *self._walk.names.standing_for({path})}
        return [node for _, node in self._tree.called(named)]

    def _type(self, node: ast.Call) -> Iterator[str]:
        func = node.func
        if "numpy.dtype" not in self._walk.names.paths(func):
            return
        if is_hidden(node) or not all(self._is_type(one) for one in node.args):
            yield "Blocked call: 'dtype' of something else than numbers and texts"

    def _direct(self, node: ast.Call) -> Iterator[str]:
        func = node.func
        if not isinstance(func, ast.Attribute):
            return
        if is_hidden(node) or not self._passes(node, func):
            yield f"Blocked call: '{func.attr}' with arguments that are not known to compute only"
        # It has been spoken of.
        self._passing.add(id(func))

    def _is_type(self, node: ast.expr) -> bool:
        return all(is_plain_type(one, self._names.path) for one in self._names.known(node))

    def _passes(self, node: ast.Call, func: ast.Attribute) -> bool:
        name = func.attr
        if name in _READS:
            return self._reads_text(node, func)
        if name in _SETS:
            texts = [one.value if isinstance(one, ast.Constant) else None for one in node.args[::2]]
            shown = all(isinstance(one, str) and _OPTION.fits(one) for one in texts)
            return (
                bool(texts)
                and shown
                and not node.keywords
                and self._names.path(func) == f"pandas.{name}"
            )
        if name in _AS_TEXT:
            return not node.args and all(one.arg in FRAME_LISTS["shaping"] for one in node.keywords)
        if name == "format":
            return self._names.is_plain_format(func)
        if name in PIVOTS:
            named = [one.value for one in node.keywords if one.arg == "aggfunc"]
            return len(node.args) <= _PIVOT_POSITIONS and all(map(self._functions.computes, named))
        if name == "frombuffer":
            return self._names.path(func) == "numpy.frombuffer" and self._reads_bytes(node)
        if name in MAPS:
            return self._functions.maps(node)
        return self._functions.takes_function(node)

    def _reads_bytes(self, node: ast.Call) -> bool:
        """Whether numbers are read from bytes that nothing else shares."""
        types = [*node.args[1:2], *(one.value for one in node.keywords if one.arg == "dtype")]
        data = node.args[:1] or [one.value for one in node.keywords if one.arg == "buffer"]
        return all(map(self._is_type, types)) and all(
            is_bytes(one) for given in data for one in self._names.known(given)
        )

    def _reads_text(self, node: ast.Call, func: ast.Attribute) -> bool:
        """Whether a table is read from a text that is wrapped in the call itself."""
        text = node.args[0] if len(node.args) == 1 else None
        if not (isinstance(text, ast.Call) and self._names.path(text.func) == "io.StringIO"):
            return False
        if self._names.path(func) != f"pandas.{func.attr}" or len(text.args) > 1 or is_hidden(text):
            return False
        self._walk.harmless.add(id(func))
        return True

    # -- classes and annotations

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        """A class that tells packages where memory is, or that makes classes of what it is given."""
        if any(not isinstance(one, _BASES) for one in node.bases):
            yield f"Blocked class: '{node.name}' of a class that is computed"
        for base in node.bases:
            # An enumeration with members cannot be made into another one.
            enumeration = self._walk.names.paths(base) & _ENUMERATIONS
            if enumeration and not any(map(_is_member, node.body)):
                yield f"Blocked class: '{node.name}' without members"
        for one in ast.walk(node):
            name = one.name if isinstance(one, ast.FunctionDef) else None
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                name = one.id
            if name in _NOT_DEFINED:
                yield f"Blocked attribute: '{name}'"

    def _annotations(self) -> Found:
        """An annotation that is a text with a call in it."""
        kinds = (ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef)
        for node in self._tree.of(*kinds):
            found = node.annotation if isinstance(node, ast.arg | ast.AnnAssign) else node.returns
            if found is None or isinstance(found, ast.Name | ast.Attribute):
                continue
            for one in ast.walk(found):
                text = one.value if isinstance(one, ast.Constant) else None
                if isinstance(text, str) and "(" in text:
                    yield node, "Blocked annotation: a call"


def _is_like_refused(name: str) -> bool:
    """Whether a member is private to a package, special and not one of a few, or reads or writes in some version of it."""
    if name.startswith(("to_", "read_")):
        return name not in FRAME_LISTS["attributes"]
    return name in FRAME_LISTS["private"] or (name.startswith("__") and name not in _DUNDERS)


_BASES = (ast.Name, ast.Attribute, ast.Subscript)


def _is_member(node: ast.stmt) -> bool:
    """Whether a statement in the body of an enumeration certainly makes a member."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    named = isinstance(target, ast.Name) and target.id[0] != "_"
    return named and isinstance(getattr(node, "value", None), ast.Constant | ast.Tuple | ast.Call)


def _is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_type_of(node: ast.expr) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "type" and len(node.args) == 1


def _module(name: str) -> Iterator[str]:
    if name.partition(".")[0] not in FRAME_LISTS["companions"]:
        yield f"Blocked import: '{name}' beside tables or arrays"


def _matched(node: ast.MatchClass) -> Iterator[str]:
    """A pattern looks members up, too."""
    for name in node.kwd_attrs:
        if name in REFUSED:
            yield f"Blocked attribute: '{name}' beside tables or arrays"
