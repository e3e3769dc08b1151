"""AST walk of `code_safety`: visits every node of a Python tree and collects violations of a level's rules.

Theory: an object is dangerous by what it is, not by how it is spelled. Imports are judged in every form; a
name that stands for a module is followed through aliases; a module that is used as a value, where it could no
longer be followed, is refused as such; a name that is computed at run time is refused wherever it chooses a
member. Violations are sentences in the form of MGP §7.4 and all of them are collected.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from gatewright.patterns import Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_calls import call_violations, joined_violation
from gatewright.validators.code_frames import frame_violations
from gatewright.validators.code_members import Rules, Walk, attribute_violation
from gatewright.validators.code_names import Names, folded
from gatewright.validators.code_source import BadSource, parsed

__all__ = ["violations"]

_MAX_VIOLATIONS = 50
_MAX_FORMATS = 4
# Members in a chain; `Names.paths` follows 30.
_MAX_LINKS = 20


def violations(tree: ast.Module, rules: Rules) -> list[str]:
    """Every sentence that speaks against the tree, in its order, each once."""
    nodes = _ordered(tree)
    walk = Walk(rules, Names(nodes), _rebound(tree))
    if walk.frames:
        walk.found |= dict.fromkeys(frame_violations(walk, nodes))
    interesting, rule_of = walk.interesting, _VISITS.get
    for node in nodes:
        rule = rule_of(type(node))
        # Most names are of no interest, and there are many.
        if rule is not None and (rule is not _visit_name or node.id in interesting):
            for found in rule(walk, node):
                walk.found[found] = None
            # Enough to reject it; more would only make the body long (MGP §7.4).
            if len(walk.found) >= _MAX_VIOLATIONS:
                break
    return list(walk.found)[:_MAX_VIOLATIONS]


def _ordered(tree: ast.Module) -> list[Any]:
    """All nodes but contexts, operators and imported names, parents before children, in the order of the
    source. It keeps its own stack, so depth is no matter."""
    found: list[Any] = []
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if node is None:  # an optional part, or `**` among the keys of a dict
            continue
        found.append(node)
        parts = _PARTS[type(node)](node)
        for value in parts if type(parts) is tuple else (parts,):
            if type(value) is list:
                stack += value[::-1]
            else:
                stack.append(value)
    return found


_NO_PARTS = frozenset(
    "id ctx attr arg kind op ops name asname module level type_comment conversion simple is_async type_ignores "
    "names rest kwd_attrs".split()
)


def _no_parts(node: ast.AST) -> tuple[()]:
    del node
    return ()


class _Parts(dict[type[ast.AST], Callable[[ast.AST], Any]]):
    """Type of node → what gives its fields that hold nodes, last first: a tuple, or the value of the only one."""

    def __missing__(self, kind: type[ast.AST]) -> Callable[[ast.AST], Any]:
        leaf = kind in {ast.Constant, ast.MatchSingleton}
        names = [] if leaf else [name for name in reversed(kind._fields) if name not in _NO_PARTS]
        self[kind] = found = attrgetter(*names) if names else _no_parts
        return found


_PARTS = _Parts()


def _rebound(tree: ast.Module) -> frozenset[str]:
    """Names of builtins that mean something else for certain: bound by a plain statement at the top."""
    bound: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.ImportFrom) and node.module not in {None, "builtins"}:
            bound.update(alias.asname or alias.name for alias in node.names)
    return frozenset(bound)


def _visit_import(walk: Walk, node: ast.Import) -> Iterator[str]:
    for alias in node.names:
        found = walk.import_violation(alias.name)
        if found is not None:
            yield found


def _visit_import_from(walk: Walk, node: ast.ImportFrom) -> Iterator[str]:
    if node.level or node.module is None:
        if walk.rules.allowed_imports is not None:
            yield f"Blocked import: '{'.' * node.level}{node.module or ''}'"
        return
    found = walk.import_violation(node.module)
    if found is not None:
        yield found
        return
    for alias in node.names:
        if alias.name == "*":
            if node.module not in lists.STARS:
                yield f"Blocked import: '{node.module}.*'"
            continue
        found = walk.member_violation(f"{node.module}.{alias.name}")
        if found is not None:
            # `from os import system` calls nothing yet.
            yield found.replace("Blocked call", "Blocked import")
        yield from attribute_violation(alias.name)


def _visit_name(walk: Walk, node: ast.Name) -> Iterator[str]:
    yield from _builtin_violation(walk, node)
    if id(node) not in walk.followed and isinstance(node.ctx, ast.Load):
        yield from _value_violation(walk, walk.names.paths(node))


def _value_violation(walk: Walk, paths: frozenset[str]) -> Iterator[str]:
    """What speaks against something known that is used as a value, where it is lost from sight."""
    for path in paths:
        if path in lists.WATCHED:
            yield f"Blocked use: the module '{path}' as a value"
        elif "." in path:
            found = walk.member_violation(path)
            if found is not None:
                yield found


def _builtin_violation(walk: Walk, node: ast.Name) -> Iterator[str]:
    name = node.id
    if name in lists.BLOCKED_BUILTINS and (
        name not in walk.rebound or isinstance(node.ctx, ast.Del)
    ):
        pattern = f"{name}("
        known = pattern in walk.rules.blocked_patterns
        yield f"Blocked pattern: '{pattern}'" if known else f"Blocked name: '{name}'"
    elif name in _GUARDED and isinstance(node.ctx, ast.Load) and id(node) not in walk.followed:
        yield f"Blocked use: '{name}' as a value"
    elif (
        name == "open" and walk.rules.allowed_imports is not None and id(node) not in walk.followed
    ):
        yield "Blocked use: 'open' as a value"


_GUARDED = frozenset({"getattr", "vars", "delattr"})


def _visit_attribute(walk: Walk, node: ast.Attribute) -> Iterator[str]:
    # Deeper than names are followed: nobody may hide at the end of a chain.
    links = walk.links[id(node.value)] = walk.links.get(id(node), 0) + 1
    if links > _MAX_LINKS:
        yield f"Nesting: a chain of more than {_MAX_LINKS} members"
        return
    if isinstance(node.value, ast.Name | ast.NamedExpr | ast.Attribute):
        walk.followed.add(id(node.value))
    for path in () if id(node) in walk.harmless else walk.names.paths(node):
        found = walk.member_violation(path)
        if found is not None:
            yield found
        elif path in lists.WATCHED and id(node) not in walk.followed:
            yield f"Blocked use: the module '{path}' as a value"
        elif not isinstance(node.ctx, ast.Load) and _is_patched(path):
            yield f"Blocked assignment: '{path}'"
    yield from attribute_violation(node.attr)
    if node.attr == "__dict__":
        yield from _dict_of(walk, node.value)


def _is_patched(path: str) -> bool:
    """Whether setting a member changes a standard module for everybody."""
    return path.partition(".")[0] in lists.MODULES and path not in _SETTABLE


_SETTABLE = frozenset({"sys.stdout", "sys.stderr", "sys.stdin", "sys.path"})


def _dict_of(walk: Walk, base: ast.expr) -> Iterator[str]:
    """The members of an instance may be looked at, those of modules, classes and calls not."""
    if not isinstance(base, ast.Name) or walk.names.paths(base) or base.id in {"type", "object"}:
        yield "Blocked attribute: '__dict__'"


_SPECIAL_TEXT = Pattern(r"[\w.\[\]{}!:]*__\w+__[\w.\[\]{}!:]*")
_HIDDEN_DUNDER = Pattern(
    r"__(?:globals|builtins|subclasses|import|code|bases?|mro|getattribute|closure|self|reduce(?:_ex)?|loader|spec|"
    r"func|wrapped|init_subclass|traceback|kwdefaults|defaults|weakref|objclass)__"
)


def _visit_constant(walk: Walk, node: ast.Constant) -> Iterator[str]:
    text = node.value
    if not isinstance(text, str) or id(node) in walk.docstrings:
        return
    if "__" in text:
        yield from _text_violation(text)
    if "{" in text and _SPLICED.search(text):
        yield "Blocked format: a member that is put together"


def _visit_computed(walk: Walk, node: ast.expr) -> Iterator[str]:
    """A text that is put together from constants says what they say together."""
    text = folded(node)
    if text is not None and "__" in text:
        yield from _text_violation(text)


def _visit_sum(walk: Walk, node: ast.BinOp) -> Iterator[str]:
    """Texts and paths that operators put together. The left side has been looked at with the whole."""
    # `a + b + c` leans to the left: judged once as a whole, else the work would be the square of its length.
    walk.summed.add(id(node.left))
    if id(node) not in walk.summed:
        yield from _visit_computed(walk, node)
        yield from joined_violation(node)


def _text_violation(text: str) -> Iterator[str]:
    """A text that is nothing but the name of a special member is on its way to a look-up by name."""
    if _SPECIAL_TEXT.fullmatch(text) and _HIDDEN_DUNDER.search(text):
        yield f"Blocked text: '{text[:60]}'"
    elif _FORMAT_MEMBER.search(text):
        yield "Blocked format: a special member"


_FORMAT_MEMBER = Pattern(r"\{[^{}]*[.\[]__\w")
_SPLICED = Pattern(r"\{\w*\.[\w.]*(?:%\w|\Z)")
"""A field of a format whose member comes from somewhere else: `"{0." + name + "}"`."""


def _visit_annotated(
    walk: Walk, node: ast.arg | ast.AnnAssign | ast.FunctionDef | ast.AsyncFunctionDef
) -> Iterator[str]:
    """An annotation that is a text is code for everybody who asks for it: models, tools, dispatchers."""
    annotation = node.annotation if isinstance(node, ast.arg | ast.AnnAssign) else node.returns
    if annotation is None or isinstance(annotation, ast.Name | ast.Attribute):
        return
    for part in ast.walk(annotation):
        text = part.value if isinstance(part, ast.Constant) else None
        # PEP 563: what evaluates annotations (`typing.get_type_hints`, models) runs the calls in them.
        if isinstance(text, str) and ("(" in text or "__" in text):
            yield from _source_violations(walk, text)


def _source_violations(walk: Walk, text: str) -> Iterator[str]:
    try:
        inner = parsed(text)
    except BadSource:
        return
    for node in _ordered(inner):
        rule = _VISITS.get(type(node))
        if rule is not None:
            yield from rule(walk, node)


def _visit_joined(walk: Walk, node: ast.JoinedStr) -> Iterator[str]:
    yield from _visit_computed(walk, node)
    depth, below = 0, [node]
    while below and depth <= _MAX_FORMATS:
        depth += 1
        below = [inner for one in below for inner in _formats_in(one)]
    if below:
        yield f"Nesting: texts in texts deeper than {_MAX_FORMATS}"


def _formats_in(node: ast.JoinedStr) -> list[ast.JoinedStr]:
    values = (part.value for part in node.values if isinstance(part, ast.FormattedValue))
    return [value for value in values if isinstance(value, ast.JoinedStr)]


def _visit_expression(walk: Walk, node: ast.Expr) -> Iterator[str]:
    walk.docstrings.add(id(node.value))
    return iter(())


def _visit_annotated_binding(walk: Walk, node: ast.AnnAssign) -> Iterator[str]:
    yield from _visit_annotated(walk, node)
    yield from _visit_binding(walk, node)


def _visit_binding(walk: Walk, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Iterator[str]:
    """A module under another plain name is followed; anywhere else it is a value."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    plain = all(isinstance(one, ast.Name) for one in targets) and id(node) not in walk.in_class
    value = node.value
    if (
        plain
        and isinstance(value, ast.Name | ast.Attribute)
        and walk.names.paths(value) & lists.WATCHED
    ):
        walk.followed.add(id(value))
    return iter(())


def _visit_class(walk: Walk, node: ast.ClassDef) -> Iterator[str]:
    """What a class body binds is a member of the class, which is not followed."""
    walk.in_class.update(map(id, node.body))
    return iter(())


def _visit_match(walk: Walk, node: ast.MatchClass) -> Iterator[str]:
    for name in node.kwd_attrs:
        yield from attribute_violation(name)


_VISITS: dict[type[ast.AST], Callable[[Walk, Any], Iterator[str]]] = {
    ast.Import: _visit_import,
    ast.ImportFrom: _visit_import_from,
    ast.Name: _visit_name,
    ast.Attribute: _visit_attribute,
    ast.Call: call_violations,
    ast.Constant: _visit_constant,
    ast.BinOp: _visit_sum,
    ast.JoinedStr: _visit_joined,
    ast.Expr: _visit_expression,
    ast.Assign: _visit_binding,
    ast.AnnAssign: _visit_annotated_binding,
    ast.arg: _visit_annotated,
    ast.FunctionDef: _visit_annotated,
    ast.AsyncFunctionDef: _visit_annotated,
    ast.NamedExpr: _visit_binding,
    ast.MatchClass: _visit_match,
    ast.ClassDef: _visit_class,
}
