"""Rules of `code_safety` over the AST: one walk sorts the nodes of a Python tree by kind, then each rule looks at its kinds.

Theory: an object is dangerous by what it is, not by how it is spelled. Imports are judged in every form; a
name that stands for a module is followed through aliases; a module that is used as a value, where it could no
longer be followed, is refused as such; a name that is computed at run time is refused wherever it chooses a
member. Violations are sentences in the form of MGP §7.4 and all of them are collected.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from gatewright.patterns import Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_calls import (
    JUDGED_ARGUMENTS,
    JUDGED_CALLS,
    call_violations,
    joined_violation,
    names_file,
)
from gatewright.validators.code_closed import closed_violations
from gatewright.validators.code_frames import frame_violations
from gatewright.validators.code_members import (
    GUARDED,
    Rules,
    Walk,
    attribute_violation,
    is_refused_attribute,
)
from gatewright.validators.code_names import NAMING, Names, folded, makes_number, rebound
from gatewright.validators.code_source import BadSource, parsed
from gatewright.validators.code_tree import Tree

__all__ = ["violations"]

_MAX_VIOLATIONS = 50
_MAX_FORMATS = 4
# Members in a chain; `Names.paths` follows 30.
_MAX_LINKS = 20


def violations(root: ast.Module, rules: Rules) -> list[str]:
    """Every sentence that speaks against the tree, in its order, each once."""
    tree = Tree(root)
    walk = Walk(rules, Names(tree.of(*NAMING)), rebound(root))
    found: list[tuple[Any, str]] = []
    if walk.closed:
        found += closed_violations(walk, tree)
    if walk.frames:
        found += frame_violations(walk, tree)
    found += _judged(walk, tree)
    found.sort(key=_place)
    # Enough to reject it; more would only make the body long (MGP §7.4).
    return list(dict.fromkeys(sentence for _, sentence in found))[:_MAX_VIOLATIONS]


def _place(found: tuple[Any, str]) -> tuple[int, int]:
    return getattr(found[0], "lineno", 0), getattr(found[0], "col_offset", 0)


def _judged(walk: Walk, tree: Tree) -> Iterator[tuple[ast.AST, str]]:
    """What the rules of all levels say, kind by kind: what a rule marks for another one comes first."""
    if ast.NamedExpr in tree.kinds:
        walk.chained.update(id(node.value) for node in tree.of(ast.Attribute, ast.Expr))
    for kind, rule in _VISITS.items():
        if kind not in tree.kinds:
            continue
        choose = _CHOSEN.get(kind)
        for node in tree.of(kind) if choose is None else choose(walk, tree):
            for sentence in rule(walk, node):
                yield node, sentence


def _names(walk: Walk, tree: Tree) -> Iterable[ast.Name]:
    """Most names are of no interest, and there are many."""
    return chain.from_iterable(
        tree.names[name] for name in walk.interesting.intersection(tree.names)
    )


def _attributes(walk: Walk, tree: Tree) -> Iterable[ast.Attribute]:
    """Members of what is known, with a special name, or in a chain that is too long."""
    refused = {name for name in tree.members if name == "__dict__" or is_refused_attribute(name)}
    known, links, interesting = walk.names.known, walk.links, walk.interesting
    chosen = []
    for node in tree.of(ast.Attribute):
        value = node.value
        kind = type(value)
        if kind is ast.Attribute:
            links[id(value)] = links.get(id(node), 0) + 1
            value = value.value
            while type(value) is ast.Attribute:
                value = value.value
            kind = type(value)
        elif kind is ast.Name and value.id in interesting:
            walk.followed.add(id(value))
        if kind is ast.Name and value.id in known:
            if node.attr in refused or not _is_read_freely(walk, node):
                chosen.append(node)
        elif kind in _CHOOSING or node.attr in refused or links.get(id(node), 0) >= _MAX_LINKS:
            chosen.append(node)
    return chosen


def _is_read_freely(walk: Walk, node: ast.Attribute) -> bool:
    """Whether it is a member like `np.array`, of which there are many."""
    if type(node.ctx) is not ast.Load or type(node.value) is not ast.Name:
        return False
    return all(map(walk.is_read_freely, walk.names.paths(node)))


_CHOOSING = frozenset({ast.NamedExpr, ast.IfExp, ast.BoolOp, ast.Await, ast.Starred})
"""What stands for one of several things; `Names.paths` goes through it."""


def _constants(walk: Walk, tree: Tree) -> Iterable[ast.Constant]:
    del walk
    for node in tree.of(ast.Constant):
        text = node.value
        if type(text) is str and ("__" in text or "{" in text):
            yield node


def _calls(walk: Walk, tree: Tree) -> Iterable[ast.Call]:
    if walk.networked or walk.rules.read_only:
        return tree.of(ast.Call)
    chosen = [node for _, node in tree.called(JUDGED_CALLS | walk.interesting)]
    for one in tree.of(ast.keyword):
        if one.arg in JUDGED_ARGUMENTS:
            return tree.of(ast.Call)
    return [*chosen, *(node for node in tree.of(ast.Call) if names_file(node))]


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
        if path in walk.watched:
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
    elif name in GUARDED and isinstance(node.ctx, ast.Load) and id(node) not in walk.followed:
        yield f"Blocked use: '{name}' as a value"


def _visit_attribute(walk: Walk, node: ast.Attribute) -> Iterator[str]:
    # Deeper than names are followed: nobody may hide at the end of a chain.
    if walk.links.get(id(node), 0) >= _MAX_LINKS:
        yield f"Nesting: a chain of more than {_MAX_LINKS} members"
        return
    if isinstance(node.value, ast.Name | ast.NamedExpr | ast.Attribute):
        walk.followed.add(id(node.value))
    for path in () if id(node) in walk.harmless else walk.names.paths(node):
        found = walk.member_violation(path)
        if found is not None:
            yield found
        elif path in walk.watched and id(node) not in walk.followed:
            yield f"Blocked use: the module '{path}' as a value"
        elif not isinstance(node.ctx, ast.Load) and _is_patched(walk, path):
            yield f"Blocked assignment: '{path}'"
    yield from attribute_violation(node.attr)
    if node.attr == "__dict__":
        yield from _dict_of(walk, node.value)


def _is_patched(walk: Walk, path: str) -> bool:
    """Whether setting a member changes a module for everybody: a standard one; where all that passes is listed, any."""
    if path in _SETTABLE or path.startswith("pandas.options."):
        return False
    return walk.closed or path.partition(".")[0] in lists.MODULES


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
    if id(node) in walk.summed:
        walk.summed.add(id(node.left))
        return
    if isinstance(node.op, ast.Div):
        walk.summed.add(id(node.left))
        yield from joined_violation(node)
        return
    text = folded(node)
    if text is not None:
        walk.summed.add(id(node.left))
        if "__" in text:
            yield from _text_violation(text)


def _sums(walk: Walk, tree: Tree) -> Iterable[ast.BinOp]:
    """Those in which there is a text at all; numbers are put together more often."""
    del walk
    return [node for node in tree.of(ast.BinOp) if not makes_number(node.left, node.right)]


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
    walk.read.append(inner)
    for _, sentence in _judged(walk, Tree(inner)):
        yield sentence


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
    if isinstance(node, ast.NamedExpr) and id(node) not in walk.chained:
        plain = False
    value = node.value
    if (
        plain
        and isinstance(value, ast.Name | ast.Attribute)
        and walk.names.paths(value) & walk.watched
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
    ast.ClassDef: _visit_class,
    ast.Expr: _visit_expression,
    ast.Assign: _visit_binding,
    ast.AnnAssign: _visit_annotated_binding,
    ast.NamedExpr: _visit_binding,
    ast.arg: _visit_annotated,
    ast.FunctionDef: _visit_annotated,
    ast.AsyncFunctionDef: _visit_annotated,
    ast.Call: call_violations,
    ast.Attribute: _visit_attribute,
    ast.BinOp: _visit_sum,
    ast.JoinedStr: _visit_joined,
    ast.Constant: _visit_constant,
    ast.MatchClass: _visit_match,
    ast.Name: _visit_name,
}
_CHOSEN: dict[type[ast.AST], Callable[[Walk, Tree], Iterable[Any]]] = {
    ast.Name: _names,
    ast.Attribute: _attributes,
    ast.Constant: _constants,
    ast.Call: _calls,
    ast.BinOp: _sums,
}
"""Kinds of which most nodes are of no interest, and there are many: what picks the others."""
