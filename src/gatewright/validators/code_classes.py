"""`code_safety` for classes at `strict`, `readonly`: refuses computed `__slots__`, empty enums, risky positional patterns; allows known bases.

A class whose members are computed has special ones that no text names: other code looks them up, and dataclasses run them as text. So classes
are written out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from gatewright.validators.code_frame_names import mentioned
from gatewright.validators.code_lists import CALLED, FRAME_LISTS
from gatewright.validators.code_members import ENUMERATIONS, Walk
from gatewright.validators.code_names import folded
from gatewright.validators.code_tree import Tree

__all__ = ["making_violations", "match_violations", "slots_violations"]

Found = Iterator[tuple[Any, str]]

_NAMED = frozenset({"typing.TypedDict", "typing_extensions.TypedDict"})
_TUPLES = CALLED & {"collections.namedtuple", "typing.NamedTuple", "typing_extensions.NamedTuple"}
_DATACLASS, _FIELD = frozenset({"dataclasses.dataclass"}), frozenset({"dataclasses.field"})
_FORMATTER = frozenset({"logging.Formatter"})
"""A log's lines are formatted by the class that writes `format` itself, and not in a style that looks members up."""
_BASES = _NAMED | _TUPLES | ENUMERATIONS
_BESIDE = frozenset({"defaults", "module", "rename"})
"""Arguments of what makes tuples that name no field."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def making_violations(walk: Walk, tree: Tree) -> Found:
    """What speaks against enumerations. What makes a class where it may, in the head of one, is marked in the walk."""
    for head, making in _heads(walk, tree):
        one = head.func if isinstance(head, ast.Call) else head
        if walk.names.paths(one) <= making:
            walk.followed.add(id(one))
    # What something is said, or asked, to be.
    enums = set(walk.names.standing_for(ENUMERATIONS))
    if enums or "type" in tree.names:
        said = mentioned(tree, {"isinstance", "issubclass"} - walk.rebound)
        known = [one for one in said if getattr(one, "id", "type") in enums | {"type"}]
        walk.followed.update(id(one) for one in known if not walk.names.paths(one) - ENUMERATIONS)
    for node in tree.of(ast.ClassDef):
        # An enumeration with members cannot be made into another one.
        inherits = any(walk.names.paths(one) & ENUMERATIONS for one in node.bases)
        if inherits and not any(map(_is_member, node.body)):
            yield node, f"Blocked class: '{node.name}' without members"


def _heads(walk: Walk, tree: Tree) -> Iterator[tuple[ast.expr, frozenset[str]]]:
    """What stands in the heads of classes and functions and at fields, each with what may stand there; of decorators of a class the one that
    is given it as it was written."""
    for node in tree.of(ast.ClassDef):
        written = any(
            isinstance(one, ast.FunctionDef) and one.name == "format" for one in node.body
        )
        own = _BASES | _FORMATTER if written else _BASES
        yield from ((one, own) for one in node.bases)
        yield from ((one.value, frozenset({"abc.ABCMeta"})) for one in node.keywords)
        for one in node.decorator_list[-1:]:
            if not isinstance(one, ast.Call) or not one.args:
                yield one, _DATACLASS
            # Of any other class the field itself would be a member.
            if walk.names.paths(one.func if isinstance(one, ast.Call) else one) == _DATACLASS:
                values = (part.value for part in node.body if isinstance(part, ast.AnnAssign))
                yield from ((value, _FIELD) for value in values if isinstance(value, ast.Call))
    for node in tree.of(*_FUNCTIONS):
        for one in node.decorator_list:
            if isinstance(one, ast.Call) and len(one.args) == 1 and not one.keywords:
                yield one, frozenset({"functools.wraps"})


def _is_member(node: ast.stmt) -> bool:
    """Whether a statement in the body of an enumeration certainly makes a member."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    named = isinstance(target, ast.Name) and target.id[0] != "_"
    return named and isinstance(getattr(node, "value", None), ast.Constant | ast.Tuple | ast.Call)


_OF_ANY_OBJECT = frozenset({"__dict__", "__weakref__"})


def slots_violations(walk: Walk, tree: Tree) -> Found:
    """`__slots__` is written out, and none of its names is a special one: such a class has that member, and its objects say what it does."""
    said: dict[int, ast.expr | None] = {}
    for node in tree.of(ast.Assign, ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if len(targets) == 1:  # under another name a list could still grow
            said[id(targets[0])] = node.value
    for name in tree.names.get("__slots__", ()):
        if isinstance(name.ctx, ast.Load):
            continue
        value = said.get(id(name), name)
        if value is None:  # it is annotated, and not bound
            continue
        if not all(map(_is_slot, _parts(value))):
            yield name, "Blocked class: '__slots__' that are computed or have a special name"


def _is_slot(node: ast.expr) -> bool:
    text = folded(node)
    special = text is not None and text[:2] == "__" == text[-2:]
    return text is not None and (not special or text in _OF_ANY_OBJECT)


def _parts(node: ast.expr) -> list[ast.expr]:
    """What is written in a list, or the keys of a dictionary; what is neither stands alone."""
    if isinstance(node, ast.Dict):
        return [one or node for one in node.keys]
    return node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]


def match_violations(walk: Walk, tree: Tree) -> Found:
    """A position in a pattern stands for a member that a class of the program names: for none by which objects give others away."""
    nodes = [node for node in tree.of(ast.MatchClass) if node.patterns]
    if not nodes:
        return
    fields = [
        node.target.id for node in tree.of(ast.AnnAssign) if isinstance(node.target, ast.Name)
    ]
    ends = {path.rpartition(".")[2] for path in _TUPLES}
    for _, node in tree.called(ends.union(walk.names.standing_for(_TUPLES))):
        named = [*node.args, *(one.value for one in node.keywords if one.arg not in _BESIDE)]
        parts = [one for part in named for one in getattr(part, "elts", [part])]
        texts = [str(one.value) if isinstance(one, ast.Constant) else "_" for one in parts]
        fields += [word for text in texts for word in text.replace(",", " ").split()]
    refused = FRAME_LISTS["existing"] if walk.frames else frozenset()
    if any(walk.is_refused_name(one) or one in refused for one in fields):
        yield (
            nodes[0],
            "Blocked match: positions of a class whose fields are computed or called like special members",
        )
