"""Extra rules of `code_safety` at level `readonly`: calls that write files, open them in a writing mode, or send data by HTTP."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gatewright.patterns import Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_names import Names, folded

__all__ = ["write_violation"]

_OPENS = frozenset(
    "open ZipFile TarFile GzipFile BZ2File LZMAFile FileIO fdopen memmap mmap connect".split()
)
_MODE = Pattern(r"[rwaxbtU+:|gz2]{1,8}")
_WRITES = Pattern(r"[wax+]")
_READING_VERBS = frozenset({"GET", "HEAD", "OPTIONS"})


def write_violation(node: ast.Call, names: Names) -> Iterator[str]:
    """What speaks against one call in code that may only read."""
    func = node.func
    if isinstance(func, ast.Attribute):
        name = func.attr
        if _is_writing_method(node, func):
            yield f"Blocked write: '{name}'"
    else:
        name = func.id if isinstance(func, ast.Name) else ""
        if any(path.rpartition(".")[2] in lists.WRITING_ATTRIBUTES for path in names.paths(func)):
            yield f"Blocked write: '{name}'"
    if name in _OPENS or any(path.endswith(".open") for path in names.paths(func)):
        yield from _mode_violation(node, name)
    yield from _request_violation(node)


def _is_writing_method(node: ast.Call, func: ast.Attribute) -> bool:
    name = func.attr
    # `httpx.request("GET", …)` only reads; a method that is computed may be any.
    if name in {"request", "stream"} and node.args:
        return (folded(node.args[0]) or "").upper() not in _READING_VERBS
    if name in {"write", "writelines"} and isinstance(func.value, ast.Attribute):
        # The program's own output is no file.
        return func.value.attr not in {"stdout", "stderr"}
    if name == "urlopen":
        return len(node.args) > 1 or any(one.arg == "data" for one in node.keywords)
    # `str.replace` has two arguments, `Path.replace` one.
    return name in lists.WRITING_ATTRIBUTES or (name == "replace" and len(node.args) == 1)


def _mode_violation(node: ast.Call, name: str) -> Iterator[str]:
    """The mode has to be a constant that only reads, wherever it stands."""
    if any(isinstance(arg, ast.Starred) for arg in node.args) or any(
        one.arg is None for one in node.keywords
    ):
        yield f"Blocked write: '{name}' with hidden arguments"
        return
    named = [one.value for one in node.keywords if one.arg in {"mode", "flags", "opener"}]
    first = [arg for arg in node.args[:1] if isinstance(node.func, ast.Attribute) and _is_mode(arg)]
    for mode in (*first, *node.args[1:2], *named):
        text = folded(mode)
        if text is None or _WRITES.search(text):
            yield f"Blocked write: '{name}' with a mode that writes or is computed"


def _is_mode(node: ast.expr) -> bool:
    text = folded(node)
    return text is not None and _MODE.fullmatch(text) is not None


def _request_violation(node: ast.Call) -> Iterator[str]:
    for one in node.keywords:
        if one.arg == "method" and (folded(one.value) or "").upper() not in _READING_VERBS:
            yield "Blocked write: a request that is no GET or HEAD"
        elif one.arg == "inplace" and not (
            isinstance(one.value, ast.Constant) and not one.value.value
        ):
            yield "Blocked write: 'inplace'"
