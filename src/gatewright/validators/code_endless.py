"""`code_safety` rules at `strict` and `readonly` for code that plainly has no end or fills the memory: loops, sequences, numbers, sizes.

Whether code ends cannot be told; what is refused is what a constant or the form of a loop says at once. A limit of time and memory is needed
all the same.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator
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
_TAKING = frozenset(
    "list tuple set frozenset dict sum max min sorted len all deque Counter array fsum prod reduce join mean".split()
)
"""What goes through all that it is given."""
_MOST_OF = {
    "sleep": 3600,
    **dict.fromkeys("zfill ljust rjust center".split(), 10**8),
    **dict.fromkeys("factorial comb perm".split(), 10**6),
    **dict.fromkeys("zeros ones empty full eye identity rand randn arange".split(), _MOST_ITEMS),
}
"""Function → most that its first argument may be; the sizes of arrays are multiplied."""
_BOUNDED = frozenset(_MOST_OF)
_ALL_SIZES = frozenset({"rand", "randn"})
_GIVING = frozenset(
    {ast.Call, ast.Starred, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.BoolOp, ast.IfExp}
)
_EXITS = frozenset({"exit", "next", "pop", "popleft", "heappop", "fail", "quit"})
"""`next(x)` and `x.pop()` raise where nothing is left."""
_EMPTY = frozenset("int float bool str bytes list dict tuple set frozenset object".split())
"""Types that are made anew, and alike, with each call: as a function for `iter` they never give what ends it."""


def endless_violations(walk: Walk, tree: Tree) -> Iterator[tuple[Any, str]]:
    """What speaks against loops and calls, each with its node."""
    if tree.has({ast.While, ast.For}):
        yield from _loops(walk, tree)
    for node in tree.of(ast.Starred):
        if _is_endless(walk, node):
            yield node, "Endless: all of what has no end"
    for name, node in tree.called(_TAKING):
        if any(type(one) in _GIVING and _is_endless(walk, one) for one in node.args):
            yield node, f"Endless: '{name}' of what has no end"
    for name, node in tree.called(_BOUNDED):
        size = _product(node.args if name in _ALL_SIZES else node.args[:1])
        if size > _MOST_OF[name]:
            yield node, f"Size: '{name}' of {size:g}, at most {_MOST_OF[name]}"
    yield from _sizes(tree)


def _sizes(tree: Tree) -> Iterator[tuple[Any, str]]:
    inner: set[int] = set()
    for node in tree.of(ast.BinOp):
        if type(node.op) in _GROWING and id(node) not in inner and _size(node) > _MOST_BITS:
            # Said once of the whole.
            inner.update((id(node.left), id(node.right)))
            yield node, "Size: a number or text without a bound"


def _loops(walk: Walk, tree: Tree) -> Iterator[tuple[Any, str]]:
    loops = [node for node in tree.of(ast.While) if _truth(node.test)]
    loops += [node for node in tree.of(ast.For) if _is_endless(walk, node.iter)]
    left: dict[int, bool] = {}
    # Those inside first, so that each statement is looked at once.
    for node in sorted(loops, key=lambda one: one.lineno, reverse=True):
        if not _ends(node, left):
            of = "that nothing ends" if isinstance(node, ast.While) else "over what has no end"
            yield node, f"Endless: a loop {of}"


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


def _ends(loop: ast.While | ast.For, left: dict[int, bool]) -> bool:
    """Whether anything in a loop may leave it, or lets others go on. Keeps in `left` whether that leaves what is around it, too."""
    waiting: list[tuple[ast.AST, bool]] = [(one, False) for one in loop.body]
    broken = left[id(loop)] = False
    while waiting:
        node, nested = waiting.pop()
        func: Any = node.func if isinstance(node, ast.Call) else None
        name = getattr(func, "attr", getattr(func, "id", ""))
        if isinstance(node, _LEAVES) or name in _EXITS or left.get(id(node), False):
            left[id(loop)] = True
            return True
        broken = broken or (isinstance(node, ast.Break) and not nested)
        if not isinstance(node, _SCOPES) and id(node) not in left:
            below = nested or isinstance(node, ast.For | ast.AsyncFor | ast.While)
            waiting.extend((one, below) for one in ast.iter_child_nodes(node))
    return broken


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
    args = node.args
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in {"map", "filter", "enumerate", "list"}:
        return any(_is_endless(walk, one) for one in args)
    if name == "range":
        return any((_number(one) or 0) > _MOST_ITEMS for one in args[:2])
    if name == "iter":
        return len(args) > 1 and isinstance(args[0], ast.Name) and args[0].id in _EMPTY
    paths = walk.names.paths(node.func)
    if "itertools.repeat" in paths:
        return len(args) == 1 and not node.keywords
    return not paths.isdisjoint({"itertools.count", "itertools.cycle"})


def _number(node: ast.expr, depth: int = 0) -> float | None:
    """The number that an expression always is, infinite if it is too large for a float; None where it is not known."""
    if isinstance(node, ast.Constant):
        known = type(node.value) in {int, float}
        return _computed(operator.mul, node.value, 1) if known else None
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand, depth + 1)
        return None if value is None else -value
    compute = _OPERATORS.get(type(node.op)) if isinstance(node, ast.BinOp) else None
    if not isinstance(node, ast.BinOp) or compute is None:
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
    except OverflowError:
        return math.inf
    # `(-2.0) ** 0.5` is complex.
    except (ZeroDivisionError, TypeError):
        return None


def _size(node: ast.BinOp) -> float:
    """Bits of a number, or items of a text or a list times eight, at least; 0 where it is not known or small."""
    if isinstance(node.op, ast.Mult):
        for one, times in ((node.left, node.right), (node.right, node.left)):
            items = _items(one)
            if items:
                return (_number(times) or 0) * items * _PER_ITEM
        return 0
    bits = _number(node.right)
    if isinstance(node.op, ast.LShift) or not bits:
        return bits or 0
    base = _number(node.left)
    if base is None:
        # Whatever it is a power of.
        return bits if bits == math.inf else 0
    return bits * math.log2(base) if base > 1 else 0


_PER_ITEM = _MOST_BITS / (_MOST_ITEMS / 10)


def _items(node: ast.expr) -> int:
    if isinstance(node, ast.Constant):
        return len(node.value) if isinstance(node.value, str | bytes) else 0
    return len(node.elts) if isinstance(node, ast.List | ast.Tuple) else 0


def _product(args: list[ast.expr]) -> float:
    """How many items sizes make together, of those that are constants."""
    total = 1.0
    for arg in args:
        for one in arg.elts if isinstance(arg, ast.Tuple | ast.List) else [arg]:
            total *= max(_number(one) or 1, 1)
    return total
