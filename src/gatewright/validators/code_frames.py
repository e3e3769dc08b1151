"""`code_safety` rules for numpy and pandas at `strict` and `readonly`: members, names of functions and texts that pass are listed.

While tables or arrays are in use, a member that any object there has is refused unless it is listed; a name that none has is a column or a field
of the program. Functions by name are constants that reduce, a table is read from a `StringIO` that is made in the call and written to a text, and
bytes become numbers only. There are no queries, no styles and no plots. The lists are those of `code_frames.toml`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeGuard

from gatewright.patterns import Pattern
from gatewright.validators.code_frame_types import is_bytes, is_plain_type, mentioned
from gatewright.validators.code_lists import FRAME_LISTS, FRAME_MEMBERS
from gatewright.validators.code_members import Walk
from gatewright.validators.code_tree import Tree

__all__ = ["frame_violations"]

Found = Iterator[tuple[Any, str]]

_READS = frozenset({"read_csv", "read_json"})
_SETS = frozenset({"set_option", "option_context", "reset_option"})
_AS_TEXT = frozenset("to_csv to_json to_string to_markdown info".split())
_BY_NAME = frozenset("agg aggregate apply transform pipe".split())
"""Methods that look another one up where they are given its name."""
_MAPS = frozenset({"map", "applymap"})
_PIVOTS = frozenset({"pivot_table", "crosstab"})
_DIRECT = _READS | _SETS | _AS_TEXT | _BY_NAME | _MAPS | _PIVOTS | {"format", "frombuffer"}
"""Members that pass only where they are called, with arguments that are looked at."""
_BUILTINS = frozenset(
    "sum len min max abs round str int float bool list tuple set sorted any all dict".split()
)
_REFUSED_NAMES = frozenset("getattr setattr delattr hasattr vars type dir help memoryview".split())
_DUNDERS = frozenset({"__name__", "__version__", "__init__"})
_NOT_DEFINED = frozenset("__new__ __get__ __set__ __delete__ __index__".split())
_NAMED_ONLY = frozenset({"numpy.ndarray", "numpy.void"})
"""Classes that make an object of any bytes: they may be named, not called."""
_LAST_NAMES = frozenset({"ndarray", "void"})
_OF_MEMORY = frozenset({"data", "dtype"})
"""Fields by which an array's memory becomes another one's."""
_NAMING = frozenset({ast.Name, ast.Attribute})
_OPTION = Pattern(r"(?:display|mode)\.[a-z_]+(?:\.[a-z_]+)?")
_FIELDS = Pattern(r"\{[^{}:]*[.\[]")
_PIVOT_POSITIONS = 3

_EXISTING: frozenset[str] = FRAME_LISTS["existing"]
_FIELD_NAMES: frozenset[str] = FRAME_LISTS["fields"]
_LISTED = FRAME_LISTS["attributes"] | _FIELD_NAMES | _EXISTING
_STORABLE: frozenset[str] = FRAME_LISTS["storable"]
_FUNCTIONS = {path: path for path in FRAME_LISTS["functions"]}


def frame_violations(walk: Walk, tree: Tree) -> Found:
    """What speaks against code that uses tables or arrays, each with its node. Calls that only turn a text into a table are
    marked as harmless in the walk."""
    yield from _Frames(walk, tree).violations()


def _is_refused(name: str) -> bool:
    """Whether some object has a member of that name, and it is not listed."""
    return name in _EXISTING or name in _DIRECT


class _Frames:
    """The names of one tree and which of its members are called in a way that passes."""

    def __init__(self, walk: Walk, tree: Tree) -> None:
        self._walk = walk
        self._tree = tree
        self._bound = Counter(_bindings(tree))
        self._imported: dict[str, str] = {}
        self._functions: set[str] = set()
        self._values: dict[str, list[ast.expr]] = {}
        """Names → what a statement or a loop gives them, where that is written there."""
        self._take()
        self._passing: set[int] = set()
        """Members and names that have been judged with the call or member they stand in."""
        self._given: Counter[str] = Counter()
        """How often a name stands where functions are given by name."""

    def _take(self) -> None:
        """Take in what names are bound to."""
        tree = self._tree
        for node in tree.of(ast.Import):
            named = [one for one in node.names if one.asname is not None or "." not in one.name]
            self._imported |= {one.asname or one.name: one.name for one in named}
        for node in tree.of(ast.ImportFrom):
            if not node.level:
                self._imported |= {
                    one.asname or one.name: f"{node.module}.{one.name}" for one in node.names
                }
        self._functions = {
            node.name for node in tree.of(ast.FunctionDef) if not node.decorator_list
        }
        for node in tree.of(ast.Assign):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._values[node.targets[0].id] = [node.value]
        for node in chain(tree.of(ast.For), tree.of(ast.comprehension)):
            if isinstance(node.target, ast.Name) and isinstance(node.iter, ast.List | ast.Tuple):
                self._values[node.target.id] = node.iter.elts

    def violations(self) -> Found:
        """Every sentence that speaks against the tree, with its node."""
        for name, call in self._tree.called(_BY_NAME | _PIVOTS):
            if isinstance(call.func, ast.Attribute) and name == call.func.attr:
                given = [*call.args, *(one.value for one in call.keywords)]
                self._given.update(one.id for one in given if isinstance(one, ast.Name))
        for rule, nodes in (
            (self._printed, self._tree.calls.get("print", ())),
            (self._type, self._tree.of(ast.Call)),
            (self._direct, [node for _, node in self._tree.called(_DIRECT)]),
            (self._import, self._tree.of(ast.Import)),
            (self._import_from, self._tree.of(ast.ImportFrom)),
            (self._class, self._tree.of(ast.ClassDef)),
            (_matched, self._tree.of(ast.MatchClass)),
        ):
            for node in nodes:
                for sentence in rule(node):
                    yield node, sentence
        yield from self._attributes()
        yield from self._names()
        yield from self._annotations()
        yield from self._named_only()

    # -- names

    def _is(self, node: ast.expr, path: str) -> bool:
        """Whether an expression certainly is this member: by a name that an import binds, and nothing else."""
        if isinstance(node, ast.Name):
            return self._bound[node.id] == 1 and self._imported.get(node.id) == path
        parent, _, member = path.rpartition(".")
        return (
            isinstance(node, ast.Attribute) and node.attr == member and self._is(node.value, parent)
        )

    def _path(self, node: ast.expr) -> str:
        """The path that an expression certainly has, or nothing."""
        if isinstance(node, ast.Name):
            return self._imported.get(node.id, "") if self._bound[node.id] == 1 else ""
        if not isinstance(node, ast.Attribute):
            return ""
        parent = self._path(node.value)
        return f"{parent}.{node.attr}" if parent else ""

    def _known(self, node: ast.expr) -> list[ast.expr]:
        """What an expression is: itself, or what the only binding of its name gives it."""
        if isinstance(node, ast.Name) and self._bound[node.id] == 1:
            return self._values.get(node.id, [node])
        return [node]

    def _names(self) -> Found:
        for name in self._tree.names.keys() & _REFUSED_NAMES:
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
            if not listed and _is_refused(alias.name):
                yield f"Blocked import: '{node.module}.{alias.name}' beside tables or arrays"

    # -- members

    def _attributes(self) -> Found:
        members = self._tree.members
        for node in members.get("__name__", ()):
            if _is_type_of(node.value):
                self._passing.add(id(node.value.func))
        for name in members:
            if _is_refused(name) or (name[0] == "_" and _is_private(name)):
                for node in members[name]:
                    if not self._passes_as_member(node):
                        yield node, f"Blocked attribute: '{name}' beside tables or arrays"
        for name in (members.keys() & _FIELD_NAMES & self._tree.calls.keys()) - self._methods():
            for call in self._tree.calls[name]:
                if isinstance(call.func, ast.Attribute):
                    yield call, f"Blocked call: '{name}' beside tables or arrays"
        stored = [node for node in self._tree.of(ast.Attribute) if not _is_load(node)]
        own = self._own(stored)
        for node in stored:
            name = node.attr
            free = name in own or name in _STORABLE or name not in _LISTED
            if not (free or _is_of_self(node) or self._is_option(node.value)):
                yield node, f"Blocked assignment: '{name}' beside tables or arrays"

    def _passes_as_member(self, node: ast.Attribute) -> bool:
        """Whether a member is a listed module of a package, or has been judged with what it stands in."""
        if id(node) in self._passing or self._is_plain_format(node):
            return True
        paths = self._walk.names.paths(node)
        return bool(paths) and paths <= FRAME_MEMBERS.keys()

    def _is_option(self, node: ast.expr) -> bool:
        paths = self._walk.names.paths(node)
        return bool(paths) and all(path.startswith("pandas.options.") for path in paths)

    def _own(self, stored: list[ast.Attribute]) -> set[str]:
        """Fields that classes of the program have: set on `self`, or annotated in the class."""
        own = {node.attr for node in stored if _is_of_self(node)}
        for node in self._tree.of(ast.AnnAssign):
            if isinstance(node.target, ast.Name):
                own.add(node.target.id)
        return own - _OF_MEMORY

    def _methods(self) -> set[str]:
        return {node.name for node in self._tree.of(ast.FunctionDef, ast.AsyncFunctionDef)}

    def _named_only(self) -> Found:
        """Classes that make an object of any bytes pass where a type is named: annotations, `isinstance`."""
        found = [
            node
            for node in chain(*(self._tree.members.get(name, ()) for name in _LAST_NAMES), *(
                nodes for name, nodes in self._tree.names.items() if name in self._imported
            ))
            if _is_load(node) and not self._walk.names.paths(node).isdisjoint(_NAMED_ONLY)
        ]
        named = mentioned(self._tree) if found else set()
        for node in found:
            if id(node) not in named:
                yield node, "Blocked use: a class that makes objects of bytes"

    # -- calls

    def _printed(self, node: ast.Call) -> Iterator[str]:
        """What is printed goes nowhere else."""
        if isinstance(node.func, ast.Name) and not self._bound["print"]:
            self._passing |= {id(one.func) for one in node.args if _is_type_of(one)}
        return iter(())

    def _type(self, node: ast.Call) -> Iterator[str]:
        func = node.func
        if type(func) not in _NAMING or "numpy.dtype" not in self._walk.names.paths(func):
            return
        if _is_hidden(node) or not all(self._is_type(one) for one in node.args):
            yield "Blocked call: 'dtype' of something else than numbers and texts"

    def _direct(self, node: ast.Call) -> Iterator[str]:
        func = node.func
        if not isinstance(func, ast.Attribute):
            return
        if _is_hidden(node) or not self._passes(node, func):
            yield f"Blocked call: '{func.attr}' with arguments that are not known to compute only"
        # It has been spoken of.
        self._passing.add(id(func))

    def _is_type(self, node: ast.expr) -> bool:
        return all(is_plain_type(one, self._path) for one in self._known(node))

    def _passes(self, node: ast.Call, func: ast.Attribute) -> bool:
        name = func.attr
        if name in _READS:
            return self._reads_text(node, func)
        if name in _SETS:
            texts = [one.value if isinstance(one, ast.Constant) else None for one in node.args[::2]]
            shown = all(isinstance(one, str) and _OPTION.fits(one) for one in texts)
            return bool(texts) and shown and not node.keywords and self._is(func, f"pandas.{name}")
        if name in _AS_TEXT:
            return not node.args and all(one.arg in FRAME_LISTS["shaping"] for one in node.keywords)
        if name == "format":
            return self._is_plain_format(func)
        if name in _PIVOTS:
            named = [one.value for one in node.keywords if one.arg == "aggfunc"]
            return len(node.args) <= _PIVOT_POSITIONS and all(map(self._computes, named))
        if name == "frombuffer":
            return self._is(func, "numpy.frombuffer") and self._reads_bytes(node)
        if name in _MAPS:
            return self._maps(node)
        return self._takes_function(node)

    def _reads_bytes(self, node: ast.Call) -> bool:
        """Whether numbers are read from bytes that nothing else shares."""
        types = [*node.args[1:2], *(one.value for one in node.keywords if one.arg == "dtype")]
        data = node.args[:1] or [one.value for one in node.keywords if one.arg == "buffer"]
        return all(map(self._is_type, types)) and all(
            is_bytes(one) for given in data for one in self._known(given)
        )

    def _maps(self, node: ast.Call) -> bool:
        """`map` looks nothing up by a name; what is a text all the same was meant for another method."""
        named = {one.arg for one in node.keywords} - {"na_action", "arg", "func"}
        given = [*node.args, *(one.value for one in node.keywords if one.arg in {"arg", "func"})]
        return not named and len(given) == 1 and not any(map(_is_text, self._known(given[0])))

    def _reads_text(self, node: ast.Call, func: ast.Attribute) -> bool:
        """Whether a table is read from a text that is wrapped in the call itself."""
        text = node.args[0] if len(node.args) == 1 else None
        if not (isinstance(text, ast.Call) and self._is(text.func, "io.StringIO")):
            return False
        if not self._is(func, f"pandas.{func.attr}") or len(text.args) > 1 or _is_hidden(text):
            return False
        self._walk.harmless.add(id(func))
        return True

    def _takes_function(self, node: ast.Call) -> bool:
        """Whether all that may name a function is a constant name that reduces, or a function that can be seen."""
        # A method of the class itself (`DataFrame.apply(f, "__globals__")`) would look up members of its first argument.
        if any(not _is_number(one) for one in node.args[1:]):
            return False
        given = node.args[:1] + [one.value for one in node.keywords if one.arg in {"func", "arg"}]
        if given:
            # A function of the program gets what it asks for; others get nothing that they might evaluate.
            plain = all(one.arg in _KEYWORDS for one in node.keywords)
            return (plain or all(map(self._is_own, given))) and all(map(self._computes, given))
        return bool(node.keywords) and all(self._is_named(one.value) for one in node.keywords)

    def _is_own(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._functions and self._bound[node.id] == 1
        return isinstance(node, ast.Lambda)

    def _is_named(self, node: ast.expr) -> bool:
        """Whether an argument is a named aggregation: `("column", "sum")`, `NamedAgg("column", "sum")`, or a function."""
        parts: list[ast.expr] | None = None
        if isinstance(node, ast.Tuple):
            parts = node.elts
        elif isinstance(node, ast.Call) and self._is(node.func, "pandas.NamedAgg"):
            if _is_hidden(node):
                return False
            parts = [*node.args, *(one.value for one in node.keywords if one.arg == "column")]
            parts += [one.value for one in node.keywords if one.arg == "aggfunc"]
        if parts is None:
            return self._computes(node)
        pair = len(parts) == 2 and isinstance(parts[0], ast.Constant)
        return pair and self._computes(parts[1])

    def _computes(self, node: ast.expr) -> bool:
        """Whether an expression certainly is a function, or a name of one, that computes."""
        if isinstance(node, ast.Constant):
            return node.value in FRAME_LISTS["reducing"]
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Name):
            return self._is_function(node)
        if isinstance(node, ast.Attribute):
            return self._is_listed(node)
        if isinstance(node, ast.List | ast.Tuple):
            return bool(node.elts) and all(self._is_one(one) for one in node.elts)
        if isinstance(node, ast.Call):
            partial = self._path(node.func) == "functools.partial" and bool(node.args)
            return partial and not _is_hidden(node) and self._is_one(node.args[0])
        if isinstance(node, ast.Dict):
            several = ast.List | ast.Tuple
            return None not in node.keys and all(
                self._computes(one) if isinstance(one, several) else self._is_one(one)
                for one in node.values
            )
        return False

    def _is_function(self, node: ast.Name) -> bool:
        """Whether a name is a function, or what is written where it is bound and nobody can have changed since."""
        name = node.id
        if self._bound[name] != 1:
            return name in _BUILTINS and self._bound[name] == 0
        if name in self._functions or self._path(node) in _FUNCTIONS:
            return True
        values = self._values.get(name, [])
        if any(isinstance(one, ast.Name) for one in values):
            return False
        shared = any(isinstance(one, ast.List | ast.Dict) for one in values)
        if shared and sum(map(_is_load, self._tree.names[name])) != self._given[name]:
            return False
        return bool(values) and all(map(self._computes, values))

    def _is_listed(self, node: ast.Attribute) -> bool:
        """Whether it certainly is a function that computes, of numpy or another module, or a method of texts."""
        path = self._path(node)
        if path in _FUNCTIONS:
            return True
        if path.startswith("numpy.") and path not in _NAMED_ONLY | {"numpy.dtype"}:
            return node.attr in FRAME_MEMBERS["numpy"] and path.count(".") == 1
        base = node.value
        of_texts = isinstance(base, ast.Name) and base.id == "str" and not self._bound["str"]
        joined = isinstance(base, ast.Constant) and isinstance(base.value, str)
        plain = (of_texts or joined) and not _is_refused(node.attr) and node.attr[0] != "_"
        return plain or self._is_plain_format(node)

    def _is_one(self, node: ast.expr) -> bool:
        """The same of a single function; of a pair (`("label", "sum")`) the second is one."""
        if isinstance(node, ast.List | ast.Tuple | ast.Dict):
            return False
        return self._computes(node)

    def _is_plain_format(self, node: ast.Attribute) -> bool:
        """Whether it is `format` of a constant text that looks no members up."""
        if node.attr != "format":
            return False
        texts = [one.value if isinstance(one, ast.Constant) else None for one in self._known(node.value)]
        return all(isinstance(one, str) and not _FIELDS.search(one) for one in texts)

    # -- classes and annotations

    def _class(self, node: ast.ClassDef) -> Iterator[str]:
        """A class that tells packages where memory is, or that makes classes of what it is given."""
        for base in node.bases:
            for path in self._walk.names.paths(base):
                bound = any(isinstance(one, ast.Assign | ast.AnnAssign) for one in node.body)
                # An enumeration with members cannot be made into another one.
                if path.startswith("enum.") and not bound:
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


def _is_private(name: str) -> bool:
    """Whether a member with an underscore is one of a package, or special and not one of a few."""
    return name in FRAME_LISTS["private"] or (name.startswith("__") and name not in _DUNDERS)


def _is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


_KEYWORDS = FRAME_LISTS["by_name_keywords"] | {"func", "arg"}


def _is_load(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr | ast.BinOp) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_type_of(node: ast.expr) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "type" and len(node.args) == 1


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_hidden(node: ast.Call) -> bool:
    """Whether arguments are unpacked from something that is not seen."""
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    return starred or any(one.arg is None for one in node.keywords)


def _bindings(tree: Tree) -> Iterator[str]:
    """Every name that the code binds, unbinds or declares, each time anew."""
    for name, nodes in tree.names.items():
        for node in nodes:
            if not _is_load(node):
                yield name
    for node in tree.of(ast.arg):
        yield node.arg
    for node in tree.of(ast.Import, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    for node in tree.of(ast.Global, ast.Nonlocal):
        yield from node.names
    # `def`, `class`, `except … as`, `case … as`, `*rest` and `**rest` have their name as a text.
    for node in tree.of(*_NAMED_AS_TEXT):
        name = node.rest if isinstance(node, ast.MatchMapping) else node.name
        yield from [name] if name is not None else []


_NAMED_AS_TEXT = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
    ast.MatchMapping,
)


def _module(name: str) -> Iterator[str]:
    if name.partition(".")[0] not in FRAME_LISTS["companions"]:
        yield f"Blocked import: '{name}' beside tables or arrays"


def _matched(node: ast.MatchClass) -> Iterator[str]:
    """A pattern looks members up, too."""
    for name in node.kwd_attrs:
        if _is_refused(name):
            yield f"Blocked attribute: '{name}' beside tables or arrays"
