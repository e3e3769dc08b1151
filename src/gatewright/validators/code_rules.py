"""`violations`: runs the `code_safety` rules of a level over a Python syntax tree; returns their sentences in source order.

Theory: an object is dangerous by what it is, not by how it is spelled. Imports are judged in every form; a
name that stands for a module is followed through aliases; a module that is used as a value, where it could no
longer be followed, is refused as such; a name that is computed at run time is refused wherever it chooses a
member. Violations are sentences in the form of MGP §7.4 and all of them are collected.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Set
from itertools import chain
from typing import Any

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_calls import call_violations, write_violations
from gatewright.validators.code_closed import closed_violations, environment_violations
from gatewright.validators.code_frames import frame_violations
from gatewright.validators.code_members import (
    GUARDED,
    Rules,
    Walk,
    attribute_violation,
    is_refused_attribute,
)
from gatewright.validators.code_names import FOLDING, NAMING, REFERRING, Names, folded, rebound
from gatewright.validators.code_own import of_parameters
from gatewright.validators.code_source import BadSource, parsed
from gatewright.validators.code_tree import Tree
from gatewright.validators.shell_files import is_sensitive

__all__ = ["violations"]

Found = Iterator[tuple[Any, str]]

_MAX_VIOLATIONS = 50
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
    if rules.read_only:
        found += write_violations(walk, tree)
    found += _judged(walk, tree)
    found.sort(key=_place)
    # Enough to reject it; more would only make the body long (MGP §7.4).
    return list(dict.fromkeys(sentence for _, sentence in found))[:_MAX_VIOLATIONS]


def _place(found: tuple[Any, str]) -> tuple[int, int, str]:
    """Where it stands; of one place by its words, so that the same code is always answered alike."""
    node, sentence = found
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0), sentence


def _judged(walk: Walk, tree: Tree) -> Found:
    """What the rules of all levels say: what a rule marks for another one comes first."""
    for kinds, rule in _RULES:
        if tree.has(kinds):
            yield from rule(walk, tree)
    # They could be sent somewhere, secrets included.
    if walk.networked and not walk.closed:
        yield from environment_violations(walk, tree)
    yield from _names(walk, tree)
    if tree.texts:
        yield from _texts(walk, tree)


def _imports(walk: Walk, tree: Tree) -> Found:
    for node in tree.of(ast.Import):
        for alias in node.names:
            found = walk.import_violation(alias.name)
            if found is not None:
                yield node, found
    for node in tree.of(ast.ImportFrom):
        for sentence in _import_from(walk, node):
            yield node, sentence


def _import_from(walk: Walk, node: ast.ImportFrom) -> Iterator[str]:
    if node.level or node.module is None:
        if walk.closed:
            yield f"Blocked import: '{'.' * node.level}{node.module or ''}'"
        return
    found = walk.import_violation(node.module)
    if found is not None:
        yield found
        return
    for alias in node.names:
        if alias.name == "*":
            if node.module not in (lists.CLOSED_STARS if walk.closed else lists.STARS):
                yield f"Blocked import: '{node.module}.*'"
            continue
        found = walk.member_violation(f"{node.module}.{alias.name}")
        if found is not None:
            # `from os import system` calls nothing yet.
            yield found.replace("Blocked call", "Blocked import")
        yield from attribute_violation(alias.name)


# -- names and members


def _bindings(walk: Walk, tree: Tree) -> Found:
    """A module under another plain name is followed; anywhere else, as in the body of a class, it is a value."""
    in_class = {id(one) for node in tree.of(ast.ClassDef) for one in node.body}
    chained: set[int] = set()
    if ast.NamedExpr in tree.kinds:
        chained.update(id(node.value) for node in tree.of(ast.Attribute, ast.Expr))
    for node in tree.of(ast.Assign, ast.AnnAssign, ast.NamedExpr):
        value = node.value
        if type(value) not in _REFERRED or not walk.names.paths(value) & walk.watched:
            continue
        targets = node.targets if type(node) is ast.Assign else [node.target]
        plain = all(type(one) is ast.Name for one in targets) and id(node) not in in_class
        if plain and (type(node) is not ast.NamedExpr or id(node) in chained):
            walk.followed.add(id(value))
    return iter(())


_REFERRED = (ast.Name, ast.Attribute)


def _attributes(walk: Walk, tree: Tree) -> Found:
    """Members of what is known, with a refused name, or in a chain that is too long."""
    nodes = tree.of(ast.Attribute)
    walk.followed.update([id(node.value) for node in nodes])
    known = walk.names.known
    roots: dict[int, tuple[Any, int]] = {}
    # Those inside first.
    for node in reversed(nodes):
        value = node.value
        links = 0
        if type(value) is ast.Attribute:
            value, links = roots[id(value)]
        roots[id(node)] = value, links + 1
        if links >= _MAX_LINKS:
            # Deeper than names are followed: nobody may hide at the end of a chain.
            yield node, f"Nesting: a chain of more than {_MAX_LINKS} members"
        elif value.id in known if type(value) is ast.Name else type(value) in REFERRING:
            for sentence in _member(walk, node):
                yield node, sentence
    yield from _refused(walk, tree)


def _refused(walk: Walk, tree: Tree) -> Found:
    """Members by their names, of whatever object."""
    for name in filter(is_refused_attribute, tree.members):
        yield from ((node, f"Blocked attribute: '{name}'") for node in tree.members[name])
    for node in tree.members.get("__dict__", ()):
        # The members of an instance may be looked at, those of modules, classes and calls not.
        base = node.value
        if type(base) is not ast.Name or base.id in {"type", "object"} or walk.names.paths(base):
            yield node, "Blocked attribute: '__dict__'"
    for match in tree.of(ast.MatchClass):
        yield from ((match, one) for name in match.kwd_attrs for one in attribute_violation(name))


_EVALUATE = "evaluate"
_APART = frozenset(
    "get_args __args__ __annotations__ __origin__ __orig_bases__ evaluate_bound evaluate_constraints evaluate_default evaluate_value".split()
)
"""What takes a type apart, in which a text is a reference."""


def _references(walk: Walk, tree: Tree) -> Found:
    """A reference in a type is a text that is run by whoever asks it to `evaluate` (Python 3.14): what takes types apart asks nothing so."""
    asked: dict[str, Any] = {}
    getters = walk.names.standing_for({"operator.attrgetter"})
    for _, call in tree.called({"getattr", "attrgetter", *getters}):
        asked |= {name: call for arg in call.args for name in (folded(arg) or "").split(".")}
    for match in tree.of(ast.MatchClass):
        asked |= dict.fromkeys(match.kwd_attrs, match)
    if _EVALUATE not in asked and _EVALUATE not in tree.members:
        return
    asked = {name: nodes[0] for name, nodes in tree.members.items()} | asked
    named = {alias.name for node in tree.of(ast.ImportFrom) for alias in node.names}
    signed = "annotation" in asked and walk.names.reaches(frozenset({"inspect"}))
    if signed or not _APART.isdisjoint(named.union(asked, tree.names)):
        yield asked[_EVALUATE], "Blocked attribute: 'evaluate' beside what takes types apart"


def _member(walk: Walk, node: ast.Attribute) -> Iterator[str]:
    """What speaks against a member of a module."""
    for path in walk.names.paths(node):
        found = walk.member_violation(path)
        if found is not None and id(node) not in walk.harmless:
            yield found
        elif path in walk.watched and id(node) not in walk.followed:
            yield f"Blocked use: '{path}' as a value"
        elif type(node.ctx) is not ast.Load and _is_patched(walk, path):
            yield f"Blocked assignment: '{path}'"


def _is_patched(walk: Walk, path: str) -> bool:
    """Whether setting a member changes a module for everybody: a standard one; where all that passes is listed, any."""
    if path in _SETTABLE or path.startswith("pandas.options."):
        return False
    return walk.closed or path.partition(".")[0] in lists.MODULES


_SETTABLE = frozenset({"sys.stdout", "sys.stderr", "sys.stdin", "sys.path"})


def _names(walk: Walk, tree: Tree) -> Found:
    """Builtins that are refused, and what is known and used as a value, where it is lost from sight."""
    for name in walk.interesting.intersection(tree.names):
        nodes = tree.names[name]
        lost = [node for node in nodes if id(node) not in walk.followed and _is_read(node)]
        if name in lists.BLOCKED_BUILTINS:
            pattern = f"{name}("
            known = pattern in walk.rules.blocked_patterns
            sentence = f"Blocked pattern: '{pattern}'" if known else f"Blocked name: '{name}'"
            own = name in walk.rebound
            yield from ((one, sentence) for one in nodes if not own or type(one.ctx) is ast.Del)
        elif name in walk.guarded:
            given = of_parameters(tree, name) if walk.closed and lost else set()
            lost = [node for node in lost if id(node) not in given]
            yield from ((node, f"Blocked use: '{name}' as a value") for node in lost)
        for sentence in _value(walk, nodes[0]) if lost else ():
            yield from ((node, sentence) for node in lost)


def _value(walk: Walk, node: ast.Name) -> Iterator[str]:
    for path in walk.names.paths(node):
        found = walk.member_violation(path) if "." in path else None
        if path in walk.watched:
            yield f"Blocked use: '{path}' as a value"
        elif found is not None:
            yield found


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


# -- texts


def _texts(walk: Walk, tree: Tree) -> Found:
    """Texts that name special members or files of secrets, also where they are put together from constants."""
    judged = [node for node in tree.texts if _is_special(walk, node.value)]
    if judged:
        docstrings = {id(one.value) for one in tree.of(ast.Expr)}
        judged = [node for node in judged if id(node) not in docstrings]
    if not walk.closed or any("_" in node.value for node in tree.texts):
        judged += _sums(tree)
    for node in judged:
        text = folded(node)
        for sentence in _text(walk, text) if text else ():
            yield node, sentence


def _sums(tree: Tree) -> list[Any]:
    """What puts texts together, without left sides of what is looked at as a whole: else the work would be the square of its length."""
    inner: set[int] = set()
    found = [*tree.of(ast.JoinedStr)]
    for node in tree.of(ast.BinOp):
        if type(node.op) in _SUMS:
            if id(node) not in inner and _may_be_text(node.left):
                found.append(node)
            inner.add(id(node.left))
    return found


def _may_be_text(node: ast.expr) -> bool:
    """Whether what begins so may be a text: a name, as in most sums, is none that can be read."""
    kind = type(node)
    return kind in FOLDING or (kind is ast.Constant and type(node.value) is str)  # type: ignore[attr-defined]


def _is_special(walk: Walk, text: str) -> bool:
    return "__" in text or ("{" in text and bool(_SPLICED.search(text))) or _is_path(walk, text)


_SUMS = (ast.Add, ast.Mult)


def _text(walk: Walk, text: str) -> Iterator[str]:
    """What speaks against a text. `__builtins__` is never data; in a format (`{0.__class__}`) members are looked up by name."""
    if "__" in text:
        if _SPECIAL_TEXT.fullmatch(text) and _HIDDEN_DUNDER.search(text):
            yield f"Blocked text: '{text[:60]}'"
        elif _FORMAT_MEMBER.search(text):
            yield "Blocked format: a special member"
    if "{" in text and _SPLICED.search(text):
        yield "Blocked format: a member that is put together"
    # At closed levels no file is opened at all.
    if _is_path(walk, text) and _is_foreign_secret(_SCHEME.sub("", text)):
        yield f"Blocked file: '{text[:100]}'"


_SPECIAL_TEXT = Pattern(r"[\w.\[\]{}!:]*__\w+__[\w.\[\]{}!:]*")
_HIDDEN_DUNDER = Pattern(
    r"__(?:globals|builtins|subclasses|import|code|bases?|mro|getattribute|closure|self|reduce(?:_ex)?|loader|spec|"
    r"func|wrapped|init_subclass|traceback|kwdefaults|defaults|weakref|objclass)__"
)
_FORMAT_MEMBER = Pattern(r"\{[^{}]*[.\[]__\w")
_SPLICED = Pattern(r"\{\w*\.[\w.]*(?:%\w|\Z)")
"""A field of a format whose member comes from somewhere else: `"{0." + name + "}"`."""


def _is_path(walk: Walk, text: str) -> bool:
    """Whether a text may be a path, or a part of one."""
    if walk.closed or text[:1] not in _FIRST or " " in text:
        return False
    return text[0] == "." or "/" in text


_FIRST = frozenset("/~.fF")


_SCHEME = Pattern(r"^file:(?://)?", IGNORECASE)
_OWN_FILES = frozenset({".env", ".env.local", ".env.production", ".npmrc", ".pypirc"})
"""Secrets of the project itself, which its own code may well read."""


def _is_foreign_secret(path: str) -> bool:
    return path.rpartition("/")[2].casefold() not in _OWN_FILES and is_sensitive(path)


def _types(walk: Walk, nodes: list[ast.expr]) -> Iterator[ast.expr]:
    """What says a type in annotations; not what is noted beside it, and values."""
    while nodes:
        node = nodes.pop()
        yield node
        if isinstance(node, ast.Subscript):
            paths = {path.rpartition(".")[2] for path in walk.names.paths(node.value)}
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if paths != {"Literal"}:
                nodes += parts[:1] if paths == {"Annotated"} else parts
        # What is put together is read as a whole.
        elif not isinstance(node, ast.Call) and folded(node) is None:
            nodes += [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]


_IN_NO_ANNOTATION = GUARDED | lists.BLOCKED_BUILTINS | lists.CLOSED_BUILTINS


def _annotations(walk: Walk, tree: Tree) -> Found:
    """An annotation that is a text is code for everybody who asks for it, models and dispatchers: it calls nothing."""
    found = [node.annotation for node in tree.of(ast.arg, ast.AnnAssign)]
    found += [node.returns for node in tree.of(ast.FunctionDef, ast.AsyncFunctionDef)]
    # In a plain name there is no text.
    found = [one for one in found if one is not None and type(one) is not ast.Name]
    if not found or not tree.texts:
        return
    texts = {id(node): node.value for node in tree.texts if not node.value.isidentifier()}
    waiting: list[tuple[Any, str]] = []
    for part in _types(walk, found) if texts else ():
        text = texts.get(id(part)) or (folded(part) if type(part) in FOLDING else None)
        if text:
            waiting.append((part, text))
    # A text in a text is shorter than that.
    while waiting:
        part, text = waiting.pop()
        try:
            inner = Tree(parsed(text))
        except BadSource:
            continue
        walk.read.append(inner.root)
        waiting += [(part, one.value) for one in inner.texts if not one.value.isidentifier()]
        names = {*inner.names, *inner.members}
        refused = not _IN_NO_ANNOTATION.isdisjoint(names) or any(map(is_refused_attribute, names))
        paths = chain.from_iterable(map(walk.names.paths, inner.of(ast.Attribute)))
        if refused or ast.Call in inner.kinds or any(map(walk.member_violation, paths)):
            yield part, "Blocked annotation: a call or a special member"


_RULES: tuple[tuple[Set[type[ast.AST]], Callable[[Walk, Tree], Found]], ...] = (
    ({ast.Import, ast.ImportFrom}, _imports),
    ({ast.Assign, ast.AnnAssign, ast.NamedExpr}, _bindings),
    ({ast.Call}, call_violations),
    ({ast.Attribute, ast.MatchClass}, _attributes),
    ({ast.Attribute, ast.MatchClass, ast.Call}, _references),
    ({ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef}, _annotations),
)
"""Kinds of nodes without which a rule has nothing to say, and the rule."""
