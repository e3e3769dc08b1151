"""`code_safety` rules at `strict` and `readonly` for code that plainly has no end or fills the memory: loops, sequences, numbers, sizes.

Whether code ends cannot be told; what is refused is what a constant or the form of a loop says at once. A limit of time and memory is needed
all the same.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from gatewright.validators.code_members import Walk
from gatewright.validators.code_tree import Tree

__all__ = ["endless_violations"]

_MOST_ITEMS = 10**9
"""Items, characters or numbers in an array that code may ask for at once."""
_MOST_BITS = 10**7
_MAX_DEPTH = 20
_LEAVES = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_GROWING = frozenset({ast.Mult, ast.Pow, ast.LShift})
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TAKING = frozenset(
    "list tuple set frozenset dict sum max min sorted len all deque Counter array fsum prod reduce join mean".split()
)
"""What goes through all that it is given."""
_SIZED = frozenset("zeros ones empty full eye identity rand randn arange".split())
_MOST_OF = {
    "sleep": 3600,
    **dict.fromkeys("zfill ljust rjust center".split(), 10**8),
    **dict.fromkeys("factorial comb perm".split(), 10**6),
}
"""Function → most that its first argument may be."""
_JUDGED = _TAKING | _SIZED | frozenset(_MOST_OF)
_LOOPING = frozenset({ast.While, ast.For, ast.Starred})
_EMPTY = frozenset("int float bool str bytes list dict tuple set frozenset object".split())
"""Types that are made anew, and alike, with each call: as a function for `iter` they never give what ends it."""


def endless_violations(walk: Walk, tree: Tree) -> Iterator[tuple[Any, str]]:
    """What speaks against loops and calls, each with its node."""
    if tree.has(_LOOPING):
        yield from _loops(walk, tree)
    for name, node in tree.called(_JUDGED):
        yield from ((node, found) for found in _call(walk, name, node))
    inner: set[int] = set()
    for node in tree.of(ast.BinOp):
        if type(node.op) not in _GROWING or id(node) in inner:
            continue
        if _size(node) > _MOST_BITS and _number(node) is None:
            # Said once of the whole.
            inner.update((id(node.left), id(node.right)))
            yield node, "Size: a number or text without a bound"


def _loops(walk: Walk, tree: Tree) -> Iterator[tuple[Any, str]]:
    for node in tree.of(ast.While):
        if _truth(node.test) and not _ends(node.body):
            yield node, "Endless: a loop that nothing ends"
    for node in tree.of(ast.For):
        if _is_endless(walk, node.iter) and not _ends(node.body):
            yield node, "Endless: a loop over what has no end"
    for node in tree.of(ast.Starred):
        if _is_endless(walk, node):
            yield node, "Endless: all of what has no end"


def _call(walk: Walk, name: str, node: ast.Call) -> Iterator[str]:
    args = node.args
    first = (_number(args[0]) or 0) if args else 0
    if name in _TAKING:
        if any(_is_endless(walk, one) for one in args):
            yield f"Endless: '{name}' of what has no end"
    elif name in _SIZED:
        if _product(args[:1] if name in {"full", "arange"} else args) > _MOST_ITEMS:
            yield f"Size: '{name}' of more than {_MOST_ITEMS} items"
    elif first > _MOST_OF[name]:
        yield f"Size: '{name}' of {first:g}, at most {_MOST_OF[name]}"


def _truth(node: ast.expr, depth: int = 0) -> bool:
    """Whether a condition always holds."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return isinstance(node.operand, ast.Constant) and not node.operand.value
    if isinstance(node, ast.BoolOp) and depth < _MAX_DEPTH:
        every = all if isinstance(node.op, ast.And) else any
        return every(_truth(one, depth + 1) for one in node.values)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        pair = (node.left, node.comparators[0])
        values = [one.value for one in pair if isinstance(one, ast.Constant)]
        return len(values) == len(pair) and values[0] == values[1]
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and bool(node.elts)


def _ends(body: Iterable[ast.AST]) -> bool:
    """Whether anything in the body of a loop may leave it, or lets others go on."""
    waiting: list[tuple[ast.AST, bool]] = [(one, False) for one in body]
    while waiting:
        node, nested = waiting.pop()
        if isinstance(node, _LEAVES) or (isinstance(node, ast.Break) and not nested):
            return True
        if isinstance(node, ast.Call) and _is_exit(node.func):
            return True
        if not isinstance(node, _SCOPES):
            below = nested or isinstance(node, _LOOPS)
            waiting.extend((one, below) for one in ast.iter_child_nodes(node))
    return False


def _is_exit(func: ast.expr) -> bool:
    # `next(x)` and `x.pop()` raise where nothing is left.
    names = {"exit", "next", "pop", "popleft", "heappop", "fail", "quit"}
    return (isinstance(func, ast.Name) and func.id in names) or (
        isinstance(func, ast.Attribute) and func.attr in names
    )


def _is_endless(walk: Walk, node: ast.expr) -> bool:
    if isinstance(node, ast.Starred):
        return _is_endless(walk, node.value)
    if isinstance(node, ast.GeneratorExp | ast.ListComp | ast.SetComp):
        return _is_endless(walk, node.generators[0].iter)
    if isinstance(node, ast.BoolOp | ast.IfExp):
        parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
        return any(_is_endless(walk, one) for one in parts)
    return isinstance(node, ast.Call) and _gives_endless(walk, node)


def _gives_endless(walk: Walk, node: ast.Call) -> bool:
    func, args = node.func, node.args
    if isinstance(func, ast.Name) and func.id in {"map", "filter", "enumerate", "list"}:
        return any(_is_endless(walk, one) for one in args)
    if isinstance(func, ast.Name) and func.id == "range":
        return any((_number(one) or 0) > _MOST_ITEMS for one in args[:2])
    if isinstance(func, ast.Name) and func.id == "iter":
        return len(args) > 1 and isinstance(args[0], ast.Name) and args[0].id in _EMPTY
    paths = walk.names.paths(func)
    if "itertools.repeat" in paths:
        return len(args) == 1 and not node.keywords
    return not paths.isdisjoint({"itertools.count", "itertools.cycle"})


def _number(node: ast.expr, depth: int = 0) -> float | None:
    """The number that an expression always is; None where it is not known, or too large for a float."""
    if isinstance(node, ast.Constant):
        value = node.value
        known = isinstance(value, int | float) and not isinstance(value, bool)
        return _computed(operator.mul, value, 1) if known else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and depth < _MAX_DEPTH:
        value = _number(node.operand, depth + 1)
        return None if value is None else -value
    compute = _OPERATORS.get(type(node.op)) if isinstance(node, ast.BinOp) else None
    if not isinstance(node, ast.BinOp) or compute is None or depth > _MAX_DEPTH:
        return None
    return _computed(compute, _number(node.left, depth + 1), _number(node.right, depth + 1))


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Mult: operator.mul,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Pow: operator.pow,
    ast.LShift: lambda left, right: left * 2.0**right,
}


def _computed(compute: Callable[[Any, Any], Any], left: Any, right: Any) -> float | None:
    """A result as a float; all that goes in is a float, so that nothing large is made in order to be judged."""
    if left is None or right is None:
        return None
    try:
        return float(compute(float(left), float(right)))
    # `(-2.0) ** 0.5` is complex.
    except (OverflowError, ZeroDivisionError, TypeError):
        return None


def _size(node: ast.BinOp) -> float:
    """Bits of a number, or items of a text or a list times eight, at least; 0 where it is not known or small."""
    left, right = node.left, node.right
    if isinstance(node.op, ast.Mult):
        for one, times in ((left, right), (right, left)):
            items = _items(one)
            if items:
                return (_number(times) or 0) * items * _PER_ITEM
        return 0
    bits = _number(right)
    if bits is None:
        # A power of powers that is itself too large for a float.
        large = isinstance(right, ast.BinOp) and isinstance(right.op, ast.Pow) and _is_large(right)
        return math.inf if large else 0
    if isinstance(node.op, ast.LShift):
        return bits
    base = _number(left)
    return bits * math.log2(base) if base is not None and base > 1 else 0


_PER_ITEM = _MOST_BITS / (_MOST_ITEMS / 10)


def _is_large(node: ast.BinOp) -> bool:
    return all(isinstance(one, ast.Constant | ast.BinOp) for one in (node.left, node.right))


def _items(node: ast.expr) -> int:
    if isinstance(node, ast.Constant):
        return len(node.value) if isinstance(node.value, str | bytes) else 0
    return len(node.elts) if isinstance(node, ast.List | ast.Tuple) else 0


def _product(args: list[ast.expr]) -> float:
    """How many items sizes make together, of those that are constants."""
    total = 1.0
    for one in chain.from_iterable(
        arg.elts if isinstance(arg, ast.Tuple | ast.List) else [arg] for arg in args
    ):
        total *= max(_number(one) or 1, 1)
    return total
