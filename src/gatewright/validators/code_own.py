"""`code_safety` at `strict`, `readonly`: a class from `type(x)` is only named, compared, shown; `vars`, `__dict__`, `setattr` only of `self`.

What `vars`, `__dict__`, `type` and `__class__` give of a class, a module or a file leads to what no text names. So a class is only named,
compared or shown, and all members are those of `self`, in methods that cannot be called but through their object: special ones, and those
whose every use in the program is a call with fewer arguments than a class would need.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from gatewright.validators import code_lists as lists
from gatewright.validators.code_frame_names import FrameNames
from gatewright.validators.code_lists import FRAME_MEMBERS
from gatewright.validators.code_members import Walk
from gatewright.validators.code_names import folded
from gatewright.validators.code_tree import Tree

__all__ = ["of_parameters", "own_violations"]

Found = Iterator[tuple[Any, str]]
Function = ast.FunctionDef | ast.AsyncFunctionDef

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_NAMING = frozenset({"__name__", "__qualname__"})
_SHOWING = frozenset({"print", "str", "repr"})
_SAME = ast.Is | ast.IsNot
_EQUAL = _SAME | ast.Eq | ast.NotEq | ast.In | ast.NotIn
_WRITTEN = ast.Tuple | ast.List | ast.Set
_EQ = "__eq__"
_MAKING = frozenset({"__init__", "__post_init__"})
"""Special members that make an object anew, of whatever class."""
_GIVING, _TAKING = (
    _MAKING | {"__dict__", "__class__"},
    frozenset({"vars", "setattr", "delattr", "type"}),
)
"""Members, and builtins that are called, without which none of these rules has anything to say."""
_MEANT = ("super", "property")
_LOOKING = frozenset({"getattr", "attrgetter"})
_MODULES = lists.MODULES | lists.WATCHED_MEMBERS | FRAME_MEMBERS.keys()
_PLAIN = frozenset("abc collections enum numbers typing typing_extensions".split())
"""Modules whose classes keep nothing in their objects that leads elsewhere."""
_TYPES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))


def own_violations(walk: Walk, tree: Tree) -> Found:
    """What uses all members, or the class, of what may be anything. Uses of `type` that pass are marked in the walk."""
    if not (_GIVING.isdisjoint(tree.members) and _TAKING.isdisjoint(tree.calls)):
        yield from _Own(walk, tree).violations()


class _Own:
    def __init__(self, walk: Walk, tree: Tree) -> None:
        self._walk = walk
        self._tree = tree
        self._names = FrameNames(tree)
        self._inside: dict[int, Function] = {}
        """Nodes of the name of its object in a method, and the method."""
        self._tuples: dict[str, bool] = {}
        """Names, and whether each is a tuple that is written out and keeps nothing."""
        self._supers: set[int] = set()
        """Members of `super()` in the special method that is called alike."""

    def violations(self) -> Found:
        """Every sentence, with its node."""
        uses = [*self._members(), *self._classes()]
        making = [one for name in _MAKING for one in self._tree.members.get(name, ())]
        if uses or making:
            self._look_inside()
        using: dict[str, set[Function]] = {}
        for node, base, sentence in uses:
            method = self._inside.get(id(base))
            if method is None:
                yield node, sentence
            else:
                using.setdefault(method.name, set()).add(method)
        for node, name in self._reached(using) if using else ():
            yield (
                node,
                f"Blocked use: '{name}', which uses all members of its object, by way of its class",
            )
        yield from self._made_anew(making)
        if "__dict__" in self._tree.members or "vars" in self._tree.calls:
            yield from self._inherited()

    def _inherited(self) -> Found:
        for node in self._tree.of(ast.ClassDef):
            if not all(map(self._is_plain, node.bases)):
                yield node, f"Blocked class: '{node.name}' with members of a foreign one"

    def _made_anew(self, nodes: list[ast.Attribute]) -> Found:
        """`super().__init__(…)` and `Base.__init__(self, …)` are for the method that is called so."""
        first = {id(one.func): one.args[0] for one in self._tree.of(ast.Call) if one.args and nodes}
        for node in nodes:
            method = self._inside.get(id(first.get(id(node))))
            if id(node) not in self._supers and (method is None or method.name != node.attr):
                yield node, f"Blocked attribute: '{node.attr}'"

    def _members(self) -> Iterator[tuple[Any, ast.expr | None, str]]:
        """What gives or takes members by any name, with what it is used of."""
        for member in self._tree.members.get("__dict__", ()):
            yield member, member.value, "Blocked attribute: '__dict__'"
        for name, call in self._tree.called({"vars", "setattr", "delattr"}):
            computed = name == "vars" or not call.args[1:] or folded(call.args[1]) is None
            if isinstance(call.func, ast.Name) and computed:
                base = call.args[0] if call.args else None
                yield call, base, f"Blocked call: '{name}' of what is not the object of a method"

    def _classes(self) -> Iterator[tuple[Any, ast.expr | None, str]]:
        """What gives a class that is neither named, compared nor shown, with the object if it is called."""
        found: list[tuple[Any, ast.expr]] = [
            (node, node.value) for node in self._tree.members.get("__class__", ())
        ]
        given = of_parameters(self._tree, "type") if "type" in self._tree.calls else set()
        calls = [one for one in self._tree.calls.get("type", ()) if one.args]
        found += [(one, one.args[0]) for one in calls if _is_builtin(one.func, given)]
        if not found:
            return
        passing = self._passing({id(node) for node, _ in found})
        called = {id(node.func) for node in self._tree.of(ast.Call)}
        # A method counts in its class, as it calls it.
        used = called.union(id(one.value) for one in self._tree.of(ast.Attribute) if _is_set(one))
        caught = Counter(one.name for one in self._tree.of(ast.ExceptHandler))
        for node, base in found:
            name = base.id if isinstance(base, ast.Name) else ""
            error = caught[name] and caught[name] == self._names.bound(name)
            if id(node) not in passing and not (error and id(node) in called):
                yield (
                    node,
                    base if id(node) in used else None,
                    "Blocked use: the class of an object as a value",
                )

    def _passing(self, classes: set[int]) -> set[int]:
        """Places where a class is only named, compared or shown."""
        tree = self._tree
        found = {id(one.value) for one in tree.of(ast.Attribute) if _is_shown(one)}
        found.update(id(one.value) for one in tree.of(ast.FormattedValue))
        for name, call in tree.called(_SHOWING | {"isinstance", "issubclass"}):
            if isinstance(call.func, ast.Name) and not self._names.bound(name):
                found.update(map(id, call.args))
        for node in tree.of(ast.Compare):
            found.update(map(id, self._compared(node, classes)))
        if self._is_taken_by_keys:
            return found
        # What is stored under a class can be gone through.
        read = (one for one in tree.of(ast.Subscript) if isinstance(one.ctx, ast.Load))
        found.update(id(one.slice) for one in read if self._is_dict(one.value))
        for call in tree.calls.get("get", ()):
            if isinstance(call.func, ast.Attribute) and self._is_dict(call.func.value):
                found.update(map(id, call.args[:1]))
        return found

    def _compared(self, node: ast.Compare, classes: set[int]) -> list[ast.expr]:
        """What a comparison hands to nobody: all of it, or nothing. Any object may have methods, however they came to it, that keep what it
        is compared with; so it is identity that is asked for, or each side is one that has none."""
        sides = [node.left, *node.comparators]
        parts = [part for one in sides for part in getattr(one, "elts", [one])]
        if classes.isdisjoint(map(id, parts)):
            return []
        if all(isinstance(one, _SAME) for one in node.ops):
            return parts
        asked: list[ast.expr] = [node.left]
        for operator, one in zip(node.ops, node.comparators, strict=True):
            if not isinstance(operator, _EQUAL):
                return []
            # An enumeration makes a member of what it is asked for.
            inside = isinstance(operator, ast.In | ast.NotIn)
            asked += self._elements(one, classes) if inside else [one]
        plain = [part for one in asked for part in getattr(one, "elts", [one])]
        return parts if all(self._keeps_nothing(one, classes) for one in plain) else []

    def _elements(self, node: ast.expr, classes: set[int]) -> list[ast.expr]:
        """What `in` compares with and has to be looked at; a starred expression, which never passes, where that is not written out."""
        if isinstance(node, _WRITTEN):
            return node.elts
        if isinstance(node, ast.Dict):
            return [one or node for one in node.keys]
        if self._is_dict(node) and not self._is_taken_by_keys:
            return []
        name = node.id if isinstance(node, ast.Name) else ""
        if name and name not in self._tuples:
            self._tuples[name] = all(
                isinstance(one, ast.Tuple)
                and all(self._keeps_nothing(part, classes) for part in one.elts)
                for one in self._names.known(node)
            )
        return [] if name and self._tuples[name] else [ast.Starred(node)]

    def _keeps_nothing(self, node: ast.expr, classes: set[int]) -> bool:
        """Whether an expression certainly is a class or a constant."""
        if id(node) in classes or isinstance(node, ast.Constant) or self._is_type(node):
            return True
        if isinstance(node, ast.Name) and self._names.is_class(node.id):
            return True
        path = self._names.path(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        module, _, member = path.rpartition(".")
        return module in self._modules and member not in self._stored

    @cached_property
    def _modules(self) -> frozenset[str]:
        """Modules whose members stay what they are. What a member has that is no module, a function of its own may replace
        (`logging.Logger.manager.logRecordFactory`), as one of `contextlib` does with the streams of `sys`."""
        allowed = self._walk.rules.allowed_imports or frozenset()
        return (_MODULES | allowed) - {"sys"}

    @cached_property
    def _stored(self) -> set[str]:
        """Members that the program sets or deletes, of whatever object."""
        nodes = self._tree.of(ast.Attribute)
        return {one.attr for one in nodes if not isinstance(one.ctx, ast.Load)}

    @cached_property
    def _is_taken_by_keys(self) -> bool:
        """Whether a key of a dictionary may have an `__eq__` of the program, which is given what has the same hash."""
        tree = self._tree
        defined = tree.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        named = any(one.name == _EQ for one in defined)
        set_ = (call.args[1:2] for _, call in tree.called({"setattr"}))
        written = any(folded(one) == _EQ for part in set_ for one in part)
        return named or written or _EQ in tree.names or _EQ in tree.members

    def _is_dict(self, node: ast.expr) -> bool:
        """Whether an expression certainly is a dictionary, which hands nobody what it is asked for."""
        return all(isinstance(one, ast.Dict) for one in self._names.known(node))

    def _is_type(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in _TYPES and not self._names.bound(node.id)

    def _is_plain(self, base: ast.expr) -> bool:
        """Whether a class that is inherited from is one of the program, a builtin or one that keeps nothing foreign."""
        if isinstance(base, ast.Subscript):
            base = base.value
        path = self._names.path(base.func if isinstance(base, ast.Call) else base)
        if path:
            return path.partition(".")[0] in _PLAIN
        return self._is_type(base) or (isinstance(base, ast.Name) and self._names.is_class(base.id))

    def _look_inside(self) -> None:
        """Keeps where the object of a method is named: in functions of classes that are called with `self`, and decorated at most as properties."""
        arguments = sum(one.arg == "self" for one in self._tree.of(ast.arg))
        if self._names.bound("self") != arguments or any(map(self._names.bound, _MEANT)):
            return
        for node in self._tree.of(ast.ClassDef):
            for one in node.body:
                if isinstance(one, Function) and _is_method(one):
                    self._walk_through(one)

    def _walk_through(self, method: Function) -> None:
        waiting: list[tuple[ast.AST, bool]] = [(one, True) for one in method.body]
        while waiting:
            node, direct = waiting.pop()
            if isinstance(node, ast.Name) and node.id == "self":
                self._inside[id(node)] = method
            elif direct and isinstance(node, ast.Attribute) and _is_super(node, method.name):
                self._supers.add(id(node))
            if isinstance(node, _SCOPES):
                direct = False
                if _has_argument(node, "self"):
                    continue
            waiting += [(one, direct) for one in ast.iter_child_nodes(node)]

    def _reached(self, using: dict[str, set[Function]]) -> Found:
        """Ways to call methods with something else than their object, each with the name of the method."""
        for node in self._tree.of(ast.MatchClass):
            yield from ((node, name) for name in node.kwd_attrs if name in using)
        getters = self._walk.names.standing_for({"operator.attrgetter"})
        for way, call in self._tree.called(_LOOKING.union(getters)):
            for one in call.args[way == "getattr" :]:
                text = folded(one)
                if text is None or not using.keys().isdisjoint(text.split(".")):
                    yield call, text or "getattr"
        yield from self._called(using)

    def _called(self, using: dict[str, set[Function]]) -> Found:
        calls = {id(one.func): one for one in self._tree.of(ast.Call)}
        for name, methods in using.items():
            yield from ((node, name) for node in self._tree.names.get(name, ()))
            property_ = all(one.decorator_list for one in methods)
            needed = [_needed(one.args) for one in methods]
            least, named = min(map(len, needed)), set().union(*needed)
            for node in self._tree.members.get(name, ()):
                if name[:2] == "__":
                    passes = id(node) in self._supers or name in _MAKING
                else:
                    passes = property_ or _is_bound(calls.get(id(node)), least, named)
                if not passes:
                    yield node, name


def of_parameters(tree: Tree, name: str) -> set[int]:
    """Nodes where a name is that of a parameter, as `type` often is."""
    if any(name in node.names for node in tree.of(ast.Global)):
        return set()
    found: set[int] = set()
    for node in tree.of(*_SCOPES):
        if id(node) not in found and _has_argument(node, name):
            parts = node.body if isinstance(node.body, list) else [node.body]
            found.update(id(one) for part in parts for one in ast.walk(part))
    return found


def _has_argument(node: Any, name: str) -> bool:
    parts = ast.iter_child_nodes(node.args)
    return any(isinstance(one, ast.arg) and one.arg == name for one in parts)


def _is_builtin(node: ast.expr, given: set[int]) -> bool:
    return isinstance(node, ast.Name) and id(node) not in given


def _is_name(node: ast.Attribute) -> bool:
    return node.attr in _NAMING and isinstance(node.ctx, ast.Load)


def _is_shown(node: ast.Attribute) -> bool:
    """Whether a member of a class is read that is no special one."""
    return _is_name(node) or (node.attr[0] != "_" and isinstance(node.ctx, ast.Load))


def _is_set(node: ast.Attribute) -> bool:
    return node.attr[0] != "_" and isinstance(node.ctx, ast.Store)


def _positional(args: ast.arguments) -> list[str]:
    return [one.arg for one in (*args.posonlyargs, *args.args)]


def _is_method(node: Function) -> bool:
    """Whether a function of a class is called with its object, and decorated at most as a property."""
    names = [getattr(one, "id", "") for one in node.decorator_list]
    special = node.name[:2] == "__"
    # `_missing_` is called with whatever an enumeration is asked for.
    plain = not names or (names == ["property"] and not special)
    plain = plain and (special or node.name[:1] + node.name[-1:] != "__")
    return plain and _positional(node.args)[:1] == ["self"]


def _is_super(node: ast.Attribute, name: str) -> bool:
    call = node.value
    if node.attr != name or not isinstance(call, ast.Call) or call.args:
        return False
    return isinstance(call.func, ast.Name) and call.func.id == "super"


def _needed(args: ast.arguments) -> list[str]:
    every = _positional(args)
    return every[: len(every) - len(args.defaults)]


def _is_bound(call: ast.Call | None, least: int, needed: set[str]) -> bool:
    """Whether a call has fewer arguments than a method of a class, not of its object, would need."""
    if call is None or any(isinstance(one, ast.Starred) for one in call.args):
        return False
    named = [one.arg for one in call.keywords]
    given = len(call.args) + sum(one in needed for one in named)
    return None not in named and "self" not in named and given < least
