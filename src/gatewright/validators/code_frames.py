"""`code_safety` rules for numpy and pandas at `strict` and `readonly`: all members, names of functions and texts that pass are listed.

While tables or arrays are in use, every attribute of whatever object has to be a known one, functions by name are constants that reduce,
a table is read from a `StringIO` that is made in the call and written to a text. There are no queries, no styles and no plots. The lists
follow the references of numpy 2.0 and pandas 2.2.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeGuard

from gatewright.patterns import Pattern
from gatewright.validators.code_frame_lists import (
    ATTRIBUTES,
    COMPANIONS,
    FRAME_MEMBERS,
    REDUCING,
)
from gatewright.validators.code_members import Walk

__all__ = ["frame_violations"]

_READS = frozenset({"read_csv", "read_json"})
_SETS = frozenset({"set_option", "option_context", "reset_option"})
_AS_TEXT = frozenset("to_csv to_json to_string to_markdown info".split())
_SHAPING = frozenset(
    """
    index header columns sep na_rep float_format orient indent lines date_format date_unit double_precision force_ascii index_label decimal
    quoting quotechar line_terminator lineterminator escapechar doublequote max_rows max_cols max_colwidth min_rows justify show_dimensions
    formatters sparsify index_names line_width tablefmt floatfmt verbose memory_usage show_counts dtype name length
    """.split()
)
"""Arguments of the methods that make a text, without those that say where it goes."""
_BY_NAME = frozenset("agg aggregate apply transform map applymap pipe".split())
"""Methods that look another one up where they are given its name."""
_PIVOTS = frozenset({"pivot_table", "crosstab"})
_DIRECT = _READS | _SETS | _AS_TEXT | _BY_NAME | _PIVOTS | {"format"}
"""Members that pass only where they are called, with arguments that are looked at."""
_BUILTINS = frozenset(
    "sum len min max abs round str int float bool list tuple set sorted any all dict".split()
)
_REFUSED_NAMES = frozenset("getattr setattr delattr hasattr vars type dir help".split())
_DUNDERS = frozenset({"__name__", "__version__", "__init__"})
_DEFINED = frozenset(
    f"__{name}__"
    for name in "init post_init repr str len eq lt le gt ge ne hash iter next contains getitem setitem call bool add sub mul "
    "truediv neg radd rmul enter exit slots".split()
)
"""Special members that a class may define; `__array_interface__` says where memory is, `__match_args__` what is looked up."""
_OPTION = Pattern(r"(?:display|mode)\.[a-z_]+(?:\.[a-z_]+)?")
_FIELDS = Pattern(r"\{[^{}:]*[.\[]")
_PIVOT_POSITIONS = 3


def frame_violations(walk: Walk, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """What speaks against code that uses tables or arrays, by all of its nodes, parents first. Calls that only turn a text into a table are
    marked as harmless in the walk."""
    yield from _Frames(walk, list(nodes)).violations()


class _Frames:
    """The names of one tree and which of its members are called in a way that passes."""

    def __init__(self, walk: Walk, nodes: list[ast.AST]) -> None:
        self._walk = walk
        self._nodes = nodes
        self._bound = Counter(name for node in nodes for name in _bindings(node))
        self._imported: dict[str, str] = {}
        self._functions: set[str] = set()
        self._dicts: set[str] = set()
        for node in nodes:
            self._take(node)
        self._passing: set[int] = set()
        """Members and names that have been judged with the call or member they stand in."""

    def _take(self, node: ast.AST) -> None:
        """Take in what a name is bound to."""
        if isinstance(node, ast.Import):
            named = [one for one in node.names if one.asname is not None or "." not in one.name]
            self._imported |= {one.asname or one.name: one.name for one in named}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            self._imported |= {
                one.asname or one.name: f"{node.module}.{one.name}" for one in node.names
            }
        elif isinstance(node, ast.FunctionDef) and not node.decorator_list:
            self._functions.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda | ast.Dict):
            names = {one.id for one in node.targets if isinstance(one, ast.Name)}
            kind = self._dicts if isinstance(node.value, ast.Dict) else self._functions
            kind |= names

    def violations(self) -> Iterator[str]:
        """Every sentence that speaks against the tree."""
        rules: dict[type[ast.AST], Callable[[Any], Iterator[str]]] = {
            ast.Call: self._call,
            ast.Attribute: self._attribute,
            ast.Name: self._name,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.ClassDef: _class,
            ast.MatchClass: _matched,
            ast.arg: _annotation,
            ast.AnnAssign: _annotation,
            ast.FunctionDef: _annotation,
            ast.AsyncFunctionDef: _annotation,
        }
        for node in self._nodes:
            rule = rules.get(type(node))
            if rule is not None:
                yield from rule(node)

    # -- names

    def _is(self, node: ast.expr, path: str) -> bool:
        """Whether an expression certainly is this member: by a name that an import binds, and nothing else."""
        if isinstance(node, ast.Name):
            return self._bound[node.id] == 1 and self._imported.get(node.id) == path
        parent, _, member = path.rpartition(".")
        return (
            isinstance(node, ast.Attribute) and node.attr == member and self._is(node.value, parent)
        )

    def _name(self, node: ast.Name) -> Iterator[str]:
        name = node.id
        if name in _REFUSED_NAMES and id(node) not in self._passing:
            yield f"Blocked name: '{name}' beside tables or arrays"
        if name.startswith("__") and name not in _DUNDERS | _DEFINED:
            yield f"Blocked name: '{name}'"

    @staticmethod
    def _import(node: ast.Import) -> Iterator[str]:
        for alias in node.names:
            yield from _module(alias.name)

    @staticmethod
    def _import_from(node: ast.ImportFrom) -> Iterator[str]:
        yield from _module(node.module or ".")
        for alias in node.names:
            # What needs its arguments looked at is called as a member only.
            if alias.name not in ATTRIBUTES or alias.name in _DIRECT:
                yield f"Blocked import: '{node.module}.{alias.name}' beside tables or arrays"

    # -- members

    def _attribute(self, node: ast.Attribute) -> Iterator[str]:
        name = node.attr
        typed = node.value
        if name == "__name__" and _is_type_of(typed):
            self._passing.add(id(typed.func))
        if id(node) in self._passing or _is_plain_format(node):
            return
        if name in _DIRECT or (name not in ATTRIBUTES and name not in _DUNDERS):
            yield f"Blocked attribute: '{name}' beside tables or arrays"
        elif not isinstance(node.ctx, ast.Load):
            paths = self._walk.names.paths(node.value)
            if any(not path.startswith("pandas.options.") for path in paths):
                yield f"Blocked assignment: '{name}' of a module or its members"

    # -- calls

    def _call(self, node: ast.Call) -> Iterator[str]:
        func = node.func
        if isinstance(func, ast.Name) and func.id == "print" and not self._bound["print"]:
            # What is printed goes nowhere else.
            self._passing |= {id(one.func) for one in node.args if _is_type_of(one)}
        if not isinstance(func, ast.Attribute) or func.attr not in _DIRECT:
            return
        name = func.attr
        if _is_hidden(node) or not self._passes(node, func):
            yield f"Blocked call: '{name}' with arguments that are not known to compute only"
        # It has been spoken of.
        self._passing.add(id(func))

    def _passes(self, node: ast.Call, func: ast.Attribute) -> bool:
        name = func.attr
        if name in _READS:
            return self._reads_text(node, func)
        if name in _SETS:
            texts = [one.value if isinstance(one, ast.Constant) else None for one in node.args[::2]]
            shown = all(isinstance(one, str) and _OPTION.fits(one) for one in texts)
            return bool(texts) and shown and not node.keywords and self._is(func, f"pandas.{name}")
        if name in _AS_TEXT:
            return not node.args and all(one.arg in _SHAPING for one in node.keywords)
        if name == "format":
            return _is_plain_format(func)
        if name in _PIVOTS:
            named = [one.value for one in node.keywords if one.arg == "aggfunc"]
            return len(node.args) <= _PIVOT_POSITIONS and all(map(self._computes, named))
        if name in {"map", "applymap"} and len(node.args) == 1 and self._is_dict(node.args[0]):
            return True
        return self._takes_function(node)

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
            return all(map(self._computes, given))
        return bool(node.keywords) and all(self._is_named(one.value) for one in node.keywords)

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
            return node.value in REDUCING
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, ast.Name):
            seen = node.id in self._functions and self._bound[node.id] == 1
            return seen or (node.id in _BUILTINS and self._bound[node.id] == 0)
        if isinstance(node, ast.Attribute):
            return self._is_listed(node)
        if isinstance(node, ast.List | ast.Tuple):
            return bool(node.elts) and all(self._is_one(one) for one in node.elts)
        if isinstance(node, ast.Dict):
            several = ast.List | ast.Tuple
            return None not in node.keys and all(
                self._computes(one) if isinstance(one, several) else self._is_one(one)
                for one in node.values
            )
        return False

    def _is_listed(self, node: ast.Attribute) -> bool:
        """Whether it certainly is a member of numpy, or a method of texts, that computes."""
        of_numpy = node.attr in FRAME_MEMBERS["numpy"] and self._is(node, f"numpy.{node.attr}")
        of_texts = isinstance(node.value, ast.Name) and node.value.id == "str"
        plain = of_texts and not self._bound["str"] and node.attr not in _DIRECT
        return of_numpy or plain or _is_plain_format(node)

    def _is_one(self, node: ast.expr) -> bool:
        """The same of a single function; of a pair (`("label", "sum")`) the second is one."""
        if isinstance(node, ast.List | ast.Tuple | ast.Dict):
            return False
        return self._computes(node)

    def _is_dict(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._dicts and self._bound[node.id] == 1
        return isinstance(node, ast.Dict)


def _is_type_of(node: ast.expr) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return node.func.id == "type" and len(node.args) == 1


def _is_plain_format(node: ast.Attribute) -> bool:
    """Whether it is `format` of a constant text that looks no members up."""
    text = node.value.value if isinstance(node.value, ast.Constant) else None
    return node.attr == "format" and isinstance(text, str) and not _FIELDS.search(text)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_hidden(node: ast.Call) -> bool:
    """Whether arguments are unpacked from something that is not seen."""
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    return starred or any(one.arg is None for one in node.keywords)


def _bindings(node: ast.AST) -> Iterator[str]:
    """Every name that a node binds, unbinds or declares, each time anew."""
    if isinstance(node, ast.Name):
        yield from [] if isinstance(node.ctx, ast.Load) else [node.id]
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    else:
        # `def`, `class`, `except … as`, `case … as`, `*rest`, `**rest` and parameters of types have their name as a text.
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        yield from [name] if isinstance(name, str) else []


def _class(node: ast.ClassDef) -> Iterator[str]:
    """A class that tells packages what to look up or where memory is."""
    if node.keywords:
        yield f"Blocked class: '{node.name}' with arguments"
    for one in ast.walk(node):
        named = (
            one.name
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            else None
        )
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            named = one.id
        if named is not None and named.startswith("__") and named not in _DEFINED:
            yield f"Blocked attribute: '{named}'"


def _module(name: str) -> Iterator[str]:
    if name.partition(".")[0] not in COMPANIONS:
        yield f"Blocked import: '{name}' beside tables or arrays"


def _matched(node: ast.MatchClass) -> Iterator[str]:
    """A pattern looks members up, too."""
    for name in node.kwd_attrs:
        if name not in ATTRIBUTES or name in _DIRECT:
            yield f"Blocked attribute: '{name}' beside tables or arrays"


def _annotation(
    node: ast.arg | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[str]:
    """An annotation that is a text with a call in it."""
    found = node.annotation if isinstance(node, ast.arg | ast.AnnAssign) else node.returns
    for one in ast.walk(found) if found is not None else ():
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and "(" in one.value:
            yield "Blocked annotation: a call"
