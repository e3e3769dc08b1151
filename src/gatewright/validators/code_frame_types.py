"""Types and bytes in code that uses arrays: which make numbers and texts, and which could make an object of any address."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gatewright.patterns import ASCII, Pattern
from gatewright.validators.code_tree import Tree

__all__ = ["is_bytes", "is_plain_type", "mentioned"]

_MAX_DEPTH = 5
_NUMBERS = frozenset({"int", "float", "bool", "complex", "str", "bytes"})
_NOT_NUMBERS = frozenset({"object", "object_", "void"})
# One type: `int32`, `<f8`, `datetime64[ns]`. Not `O`, nor several with commas, in which one may be hidden.
_TEXT = Pattern(
    r"(?:u?int|float|complex)[0-9]{0,3}|bool_?|[<>=|]?[?bBhHiIlLqQefdgFDG][0-9]{0,2}|[<>=|]?[iufcbUSmM][0-9]{1,5}|"
    r"str|bytes|(?:datetime64|timedelta64)(?:\[[a-zA-Z]{1,2}\])?|category|string",
    ASCII,
)


def is_plain_type(node: ast.expr, path: Callable[[ast.expr], str], depth: int = 0) -> bool:
    """Whether an expression is a type of numbers or texts; `path` says which member of a module an expression is."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and _TEXT.fits(node.value)
    if isinstance(node, ast.List) and depth < _MAX_DEPTH:
        return all(
            isinstance(one, ast.Tuple)
            and len(one.elts) > 1
            and is_plain_type(one.elts[1], path, depth + 1)
            for one in node.elts
        )
    if isinstance(node, ast.Call) and path(node.func) == "numpy.dtype" and len(node.args) == 1:
        return not node.keywords and is_plain_type(node.args[0], path, depth + 1)
    module, _, name = path(node).rpartition(".")
    if module == "numpy":
        return name not in _NOT_NUMBERS
    return isinstance(node, ast.Name) and node.id in _NUMBERS


def is_bytes(node: ast.expr) -> bool:
    """Whether an expression certainly makes bytes that no other object holds."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, bytes)
    func = node.func if isinstance(node, ast.Call) else None
    # Methods of anything but a constant text could hand out what they like.
    return (
        isinstance(func, ast.Attribute)
        and func.attr == "encode"
        and isinstance(func.value, ast.Constant)
    )


def mentioned(tree: Tree, tests: frozenset[str]) -> set[int]:
    """Every node that only says which type something has: in annotations, and what one of the builtins `tests` is given."""
    roots: list[ast.AST | None] = []
    roots += [node.annotation for node in tree.of(ast.arg, ast.AnnAssign)]
    roots += [node.returns for node in tree.of(ast.FunctionDef, ast.AsyncFunctionDef)]
    for _, call in tree.called(tests):
        roots += call.args[1:2]
    found: set[int] = set()
    while roots:
        node = roots.pop()
        if isinstance(node, ast.Name | ast.Attribute):
            found.add(id(node))
        elif isinstance(node, ast.Tuple | ast.List):
            roots += node.elts
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            roots += (node.left, node.right)
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name | ast.Attribute):
            # `list[X]`; whatever else is subscribed, or called, could be it.
            roots.append(node.slice)
    return found
