"""`code_safety` rules for calls: `getattr` etc., run-time classes, format strings, code loaders; at `readonly` file writes, non-GET requests."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from gatewright.patterns import Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_frame_functions import is_hidden
from gatewright.validators.code_frame_names import FrameNames, mentioned
from gatewright.validators.code_members import TYPES, Walk, is_refused_attribute
from gatewright.validators.code_names import folded
from gatewright.validators.code_tree import Tree

__all__ = ["call_violations", "write_violations"]

Found = Iterator[tuple[Any, str]]


def call_violations(walk: Walk, tree: Tree) -> Found:
    """What speaks against calls, each with its node. Names that are called are marked as judged."""
    types = walk.names.standing_for(walk.watched & _TYPES) if walk.closed else ()
    lost = walk.rebound.union(types)
    for name in walk.interesting.intersection(tree.calls) - lost:
        walk.followed.update(
            id(node.func) for node in tree.calls[name] if type(node.func) is ast.Name
        )
    # What is judged by its arguments.
    for _, node in tree.called(_ENDS.union(walk.names.standing_for(lists.CALLED))):
        walk.followed.add(id(node.func))
    named = walk.names.standing_for({"operator.attrgetter"})
    for name, node in tree.called(_RULED.union(named)):
        rule, kinds = _RULES.get(name, (_attrgetter, (ast.Name,)))
        if isinstance(node.func, kinds):
            yield from ((node, sentence) for sentence in rule(walk, node, name))
    for one in tree.of(ast.keyword):
        if one.arg in _SWITCHES and (
            one.arg == "eval_str" or _value(one.value) == _SWITCHES[one.arg]
        ):
            yield one, f"Blocked argument: '{one.arg}'"


_SWITCHES: dict[str, object] = {
    "allow_pickle": True,
    "safe_mode": False,
    "typ": "unsafe",
    "eval_str": True,
}
"""Arguments, of whatever function, with which data that it reads may be code."""


def _value(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


_SAFE_LOADERS = frozenset(
    f"yaml.{name}" for name in "SafeLoader CSafeLoader BaseLoader CBaseLoader".split()
)


def _load(walk: Walk, node: ast.Call, name: str) -> Iterator[str]:
    """A function that can load code is harmless where it is told, or made, to load nothing but data."""
    del name
    paths = walk.names.paths(node.func)
    named = {one.arg: one.value for one in node.keywords}
    loads = False
    if is_hidden(node):
        pass
    elif paths == {"numpy.load"}:
        # Beside tables listed members alone pass.
        plain = "allow_pickle" not in named or _value(named["allow_pickle"]) is False
        loads = plain and len(node.args) <= _BEFORE_ALLOW_PICKLE and not walk.frames
    elif paths == {"torch.load"}:
        loads = _value(named.get("weights_only")) is True
    elif paths and paths <= {"yaml.load", "yaml.load_all"}:
        loader = walk.names.paths(named.get("Loader", node.args[1] if node.args[1:] else None))
        loads = bool(loader) and loader <= _SAFE_LOADERS
    if loads:
        walk.harmless.add(id(node.func))
    return iter(())


_BEFORE_ALLOW_PICKLE = 2


def _getattr(walk: Walk, node: ast.Call, name: str) -> Iterator[str]:
    """`getattr`, `setattr`, `delattr`, `hasattr`: like the attribute, where its name can be read."""
    # `getattr(*x)`: what is looked up cannot be seen.
    if len(node.args) < 2 or node.keywords:
        yield f"Blocked call: '{name}' with hidden arguments"
        return
    base, member = node.args[0], folded(node.args[1])
    paths = walk.names.paths(base)
    if type(base) is ast.Name:
        walk.followed.add(id(base))
    # It tells whether there is such a member, and gives nobody the member.
    if name == "hasattr":
        return
    if paths and (walk.closed or name != "getattr"):
        yield f"Blocked call: '{name}' of a module"
    if member is not None:
        yield from _member_text(walk, member, own=name != "getattr")
        yield from filter(None, (walk.member_violation(f"{path}.{member}") for path in paths))
    elif paths or (name != "setattr" and not _has_plain_prefix(walk, node.args[1])):
        yield f"Blocked call: '{name}' with a computed name"


def _has_plain_prefix(walk: Walk, node: ast.expr) -> bool:
    """Whether a computed name begins with letters that make it no special one: `f"on_{event}"`, but not `f"gi_{x}"`."""
    first: ast.expr = node
    while isinstance(first, ast.BinOp) and isinstance(first.op, ast.Add):
        first = first.left
    if isinstance(first, ast.JoinedStr) and first.values:
        first = first.values[0]
    text = folded(first)
    if text is None or not _JOINED.begins(text):
        return False
    refused = lists.BLOCKED_ATTRIBUTES | lists.CLOSED_ATTRIBUTES
    return not (walk.closed and any(one.startswith(text) for one in refused))


def _member_text(walk: Walk, member: str, *, own: bool = False) -> Iterator[str]:
    """What speaks against a member by its name; of `self` a program may set and delete private ones of its own."""
    for part in member.split("."):
        special = part == "__dict__" or (walk.closed and part in _OF_CLASSES)
        if (special or is_refused_attribute(part)) if own else walk.is_refused_name(part):
            yield f"Blocked attribute: '{part[:60]}'"


def _attrgetter(walk: Walk, node: ast.Call, name: str) -> Iterator[str]:
    del name
    for arg in node.args:
        member = folded(arg)
        if member is None:
            yield "Blocked call: 'attrgetter' with a computed name"
        else:
            yield from _member_text(walk, member)


def _type(walk: Walk, node: ast.Call, name: str) -> Iterator[str]:
    # With three arguments `type` makes a class, whose members nobody has judged.
    del walk, name
    if (
        len(node.args) > 1
        or node.keywords
        or any(isinstance(arg, ast.Starred) for arg in node.args)
    ):
        yield "Blocked call: 'type' that makes a class"


def _vars(walk: Walk, node: ast.Call, name: str) -> Iterator[str]:
    base = node.args[0] if len(node.args) == 1 else None
    if not isinstance(base, ast.Name) or walk.names.paths(base):
        yield f"Blocked call: '{name}'"


def _format(walk: Walk, node: ast.Call, name: str) -> Iterator[str]:
    """Formats that look up private members."""
    del walk, name
    text = folded(node.func.value) if isinstance(node.func, ast.Attribute) else None
    if text is not None and _FORMAT_MEMBER.search(text):
        yield "Blocked format: a member with an underscore"


def _query(walk: Walk, node: ast.Call, name: str) -> Iterator[str]:
    """A query of a table reaches everything behind a variable of the program, modules included."""
    del walk, name
    if node.args and _QUERIED.search(folded(node.args[0]) or ""):
        yield "Blocked query: a call behind '@'"


_OF_CLASSES = lists.PRIVATE_MODULES | lists.CLOSED_ATTRIBUTES | {"__class__", "__init__"}
"""Members that the program has no reason to set by their names."""
_JOINED = Pattern(r"[a-zA-Z]\w*_")
_FORMAT_MEMBER = Pattern(r"\{[^{}]*[.\[]_")
_QUERIED = Pattern(r"@\s*\w+(?:\s*\.\s*\w+)*\s*[(\[]|__\w+__")
_NAME, _METHOD = (ast.Name,), (ast.Attribute,)
_RULES: dict[str, tuple[Callable[[Walk, ast.Call, str], Iterator[str]], tuple[type, ...]]] = {
    **dict.fromkeys(("getattr", "setattr", "delattr", "hasattr"), (_getattr, _NAME)),
    "type": (_type, _NAME),
    "vars": (_vars, _NAME),
    **dict.fromkeys(("format", "format_map"), (_format, _METHOD)),
    **dict.fromkeys(("query", "eval"), (_query, _METHOD)),
    **dict.fromkeys(("load", "load_all"), (_load, _METHOD)),
    "attrgetter": (_attrgetter, (ast.Name, ast.Attribute)),
}
"""What is called → its rule, and whether that holds for names or for methods."""
_RULED = frozenset(_RULES)
_TYPES = TYPES | lists.MAKING
_ENDS = frozenset(path.rpartition(".")[2] for path in lists.CALLED)


# -- readonly

_OPENS = frozenset("open ZipFile TarFile GzipFile BZ2File LZMAFile FileIO fdopen memmap mmap connect".split())  # fmt: skip
_MODE = Pattern(r"[rwaxbtU+:|gz2]{1,8}")
_WRITES = Pattern(r"[wax+]")
_READING_VERBS = frozenset({"GET", "HEAD", "OPTIONS"})
_OF_TABLES = lists.FRAME_LISTS["attributes"] | {"to_csv", "to_json"}
"""Methods that compute whatever they belong to, where tables are in use, or about which there are rules of their own."""


def write_violations(walk: Walk, tree: Tree) -> Found:
    """What speaks against calls in code that may only read, each with its node."""
    names = walk.names
    writing = lists.WRITING_ATTRIBUTES | lists.SENDING_ATTRIBUTES | _BUILDING
    judged = writing.union(_OPENS, names.ending_in(writing), {"replace"}) - (
        _OF_TABLES if walk.frames else set()
    )
    own, defined = _own_senders(walk, tree), FrameNames(tree)
    given = _given(tree, own & judged) if own & judged else set()
    for name, node in tree.called(judged):
        if name in own and id(node) not in given:
            continue
        sentence = _call_sentence(walk, defined, node, name)
        if sentence is not None:
            yield node, sentence
    if walk.networked:
        yield from _sending_values(tree)
        yield from _building_names(walk, tree)
        yield from _methods_set(tree)
    if names.tops - _LOCAL:
        yield from _verbs(tree)


def _call_sentence(walk: Walk, defined: FrameNames, node: ast.Call, name: str) -> str | None:
    """What speaks against one call of what may write."""
    paths = walk.names.paths(node.func)
    if name in _OPENS or any(path.endswith(".open") for path in paths):
        writes = _opens_to_write(node)
        return f"Blocked write: '{name}' with a mode that writes or is computed" if writes else None
    if name in _BUILDING:
        writes = not _is_own_class(defined, node.func) and _is_other_request(node, paths)
        return f"Blocked write: '{name}' of what may be no GET or HEAD" if writes else None
    return f"Blocked write: '{name}'" if _is_writing(node, name) else None


_IN_MEMORY = frozenset({"put", "send", "write", "writelines"})


def _own_senders(walk: Walk, tree: Tree) -> frozenset[str]:
    """Methods that the program defines, or that queues, generators and buffers have, where nothing that it imports could be meant."""
    if walk.names.tops - _LOCAL:
        return frozenset()
    return _IN_MEMORY.union(node.name for node in tree.of(ast.FunctionDef))


def _verbs(tree: Tree) -> Found:
    for one in tree.of(ast.keyword):
        if one.arg == "method" and (folded(one.value) or "").upper() not in _READING_VERBS:
            yield one, "Blocked write: a request that is no GET or HEAD"


def _given(tree: Tree, names: frozenset[str]) -> set[int]:
    """Calls of methods of what nothing in the program binds: it is given to it, as a connection is."""
    bound = FrameNames(tree).bound
    bases = [(node, getattr(node.func, "value", None)) for _, node in tree.called(names)]
    return {id(node) for node, base in bases if isinstance(base, ast.Name) and not bound(base.id)}


def _sending_values(tree: Tree) -> Found:
    """Methods that send, not called but kept or passed on: as what they are called later is not seen."""
    judged = {id(node.func) for node in tree.of(ast.Call)}
    # The request that a response answers has an address of its own.
    judged.update(id(node.value) for node in tree.of(ast.Attribute))
    # What is said to be a request, or asked whether it is one, is none that is made.
    judged.update(map(id, mentioned(tree, {"isinstance"})))
    sending = lists.SENDING_ATTRIBUTES | _BUILDING
    for name in sending.intersection(tree.members):
        for node in tree.members[name]:
            if id(node) not in judged and isinstance(node.ctx, ast.Load):
                yield node, f"Blocked write: '{name}' as a value"
    named: list[tuple[Any, list[str]]] = [(one, one.kwd_attrs) for one in tree.of(ast.MatchClass)]
    for _, call in tree.called({"getattr", "attrgetter"}):
        named.append((call, [folded(one) or "" for one in call.args]))
    for node, texts in named:
        if not sending.isdisjoint(texts):
            yield node, "Blocked write: a method that sends, by its name"


def _building_names(walk: Walk, tree: Tree) -> Found:
    """What makes requests, by a name that is neither called nor says what something is: inherited from, passed on."""
    building = walk.names.ending_in(_BUILDING)
    if not building:
        return
    judged = {id(node.func) for node in tree.of(ast.Call)}
    judged.update(map(id, mentioned(tree, {"isinstance"})))
    for name in building:
        for node in tree.names.get(name, ()):
            if id(node) not in judged and isinstance(node.ctx, ast.Load):
                yield node, f"Blocked write: '{name}' as a value"


def _methods_set(tree: Tree) -> Found:
    """A request that got another method after it was made, or an object that has one as a request has."""
    found: list[Any] = [
        one for one in tree.members.get("method", ()) if not isinstance(one.ctx, ast.Load)
    ]
    for _, call in tree.called({"setattr", "__setattr__"}):
        found += [call] if any(folded(one) == "method" for one in call.args[1:2]) else []
    found += [one for one in tree.of(ast.ClassDef) if _binds(one, "method")]
    yield from ((one, "Blocked write: the method of a request") for one in found)


def _binds(node: ast.ClassDef, name: str) -> bool:
    """Whether a class makes a member so called, in whatever statement of its body."""
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if one.name == name:
                return True
        elif isinstance(one, ast.Name):
            if one.id == name and isinstance(one.ctx, ast.Store):
                return True
        else:
            waiting += ast.iter_child_nodes(one)
    return False


_BUILDING = frozenset({"Request", "build_request", "prepare_method"})
"""What makes a request, or another one of it, of a method that it is given first."""
_LOCAL = frozenset(lists.ALLOWED_IMPORTS) - lists.NETWORK


def _is_writing(node: ast.Call, name: str) -> bool:
    base = node.func.value if isinstance(node.func, ast.Attribute) else None
    # `httpx.request("GET", …)` only reads; a method that is computed may be any.
    if name in {"request", "stream"} and node.args:
        return (folded(node.args[0]) or "").upper() not in _READING_VERBS
    if name in {"write", "writelines"} and isinstance(base, ast.Attribute):
        # The program's own output is no file.
        return base.attr not in {"stdout", "stderr"}
    if name == "urlopen":
        return len(node.args) > 1 or any(one.arg == "data" for one in node.keywords)
    # `str.replace` has two arguments, `Path.replace` one.
    return name != "replace" or (base is not None and len(node.args) == 1)


def _is_own_class(defined: FrameNames, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and defined.is_class(node.id)


def _is_other_request(node: ast.Call, paths: frozenset[str]) -> bool:
    """Whether a request is made that may be none that reads; who sends it, as an authentication does, need not be in the program."""
    if paths == {"urllib.request.Request"}:
        # Its address comes first, and with data it is a POST; a method by name is judged as any.
        sends = len(node.args) > 1 or any(one.arg == "data" for one in node.keywords)
        return sends or is_hidden(node)
    verbs = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "method")]
    texts = [(folded(one) or "").upper() for one in verbs]
    return is_hidden(node) or not texts or not _READING_VERBS.issuperset(texts)


def _opens_to_write(node: ast.Call) -> bool:
    """Whether the mode, wherever it stands, is no constant that only reads."""
    modes = node.args[1:2] + [
        one.value for one in node.keywords if one.arg in {"mode", "flags", "opener"}
    ]
    if isinstance(node.func, ast.Attribute):
        modes += [one for one in node.args[:1] if _MODE.fullmatch(folded(one) or "-")]
    texts = map(folded, modes)
    return is_hidden(node) or any(text is None or _WRITES.search(text) for text in texts)
