"""Do the tests of a folder notice when its code is wrong? A sample of small changes, each run against the tests that mirror the file.

    python -m benchmarks.mutation [--folders access,validators] [--sample 60] [--seed 1] [--survivors]

A mutant changes one thing: a comparison, a boolean, a number, a condition, an operator, or what is returned. It stands in a copy of
the package, never in the tree. It is killed when a test of its file's twin (`tests/FOLDER/test_NAME*.py`), of the folder's own
`test_init.py` or of the twins of the files that use it fails, or when they do not end in time. What survives is either a missing test or a change that means nothing.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.overlay import caught, overlaid, twins
from benchmarks.processes import ROOT
from benchmarks.rows import Row

__all__ = ["Mutant", "main", "mutants", "mutated"]

TARGET = 85.0
PATIENCE_S = 180.0

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


class Mutant(NamedTuple):
    """The `number`-th change that a file allows, and what it does."""

    path: Path
    number: int
    line: int
    what: str


class _Change(ast.NodeTransformer):
    """Makes one change, or with a negative number only counts what could be changed."""

    def __init__(self, number: int) -> None:
        self.found: list[tuple[int, str]] = []
        self._number = number

    def _here(self, node: ast.AST, what: str) -> bool:
        self.found.append((getattr(node, "lineno", 0), what))
        return len(self.found) - 1 == self._number

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        other = _COMPARED.get(type(node.ops[0]))
        if other is not None and self._here(node, f"{ast.unparse(node)}: {other.__name__}"):
            node.ops = [other(), *node.ops[1:]]
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if self._here(node, f"{ast.unparse(node)}: and or or"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not) and self._here(node, f"{ast.unparse(node)}: without not"):
            return node.operand
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        other = _CALCULATED.get(type(node.op))
        if other is not None and self._here(node, f"{ast.unparse(node)}: {other.__name__}"):
            node.op = other()
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        if self._here(node, f"if {ast.unparse(node.test)}: never"):
            node.test = ast.Constant(value=False)
        return self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> ast.AST:
        # False instead of None changes nothing where a truth is asked for; True instead of it is a mutant already.
        nothing = node.value is None or (
            isinstance(node.value, ast.Constant) and node.value.value in (None, False)
        )
        if not nothing and self._here(node, f"return {ast.unparse(node.value or node)}: None"):
            node.value = ast.Constant(value=None)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            if self._here(node, f"{node.value}: the other"):
                return ast.Constant(value=not node.value)
        elif isinstance(node.value, int) and self._here(node, f"{node.value}: one more"):
            return ast.Constant(value=node.value + 1)
        return node

    def _body(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.body = [self.visit(one) for one in node.body]
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _body  # noqa: N815 - the names of ast

    def _unread(self, node: ast.AST) -> ast.AST:
        return node

    visit_JoinedStr = visit_arguments = visit_AnnAssign = _unread  # noqa: N815 - the names of ast
    """Texts for people, defaults and annotations are not judged."""


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change that a file allows."""
    counting = _Change(-1)
    counting.visit(ast.parse(path.read_text(encoding="utf-8")))
    for number, (line, what) in enumerate(counting.found):
        yield Mutant(path, number, line, what)


def mutated(mutant: Mutant) -> str:
    """The text of a file with one change."""
    tree = ast.parse(mutant.path.read_text(encoding="utf-8"))
    changed = _Change(mutant.number).visit(copy.deepcopy(tree))
    return ast.unparse(ast.fix_missing_locations(changed))


def _tests(path: Path) -> list[list[str]]:
    """What judges a file, what is quick first: its twins and what judges its folder; then the twins of what uses it."""
    folder = ROOT / "tests" / path.parent.name
    own = [*twins(folder, path.stem), folder / "test_init.py"]
    users = [one for stem in _users(path) for one in twins(folder, stem)]
    found = [[str(one) for one in group if one.exists()] for group in (own, users)]
    return [group for group in found if group]


def _users(path: Path) -> list[str]:
    """The files of the folder that import a file, directly or by others."""
    texts = {one.stem: one.read_text(encoding="utf-8") for one in path.parent.glob("*.py")}
    found, seen = [path.stem], {path.stem}
    for stem in found:
        name = f"gatewright.{path.parent.name}.{stem} import"
        for other, text in texts.items():
            if name in text and other not in seen:
                seen.add(other)
                found.append(other)
    return [one for one in found[1:] if one != "__init__"]


def _judge(folder: str, sample: int, seed: int, said: Callable[[str], None]) -> Row:
    files = sorted((ROOT / "src" / "gatewright" / folder).glob("*.py"))
    every = [one for path in files if path.stem != "__init__" for one in mutants(path)]
    chosen = random.Random(seed).sample(every, min(sample, len(every)))
    with overlaid() as overlay:
        killed = 0
        for one in chosen:
            dead = caught(overlay, one.path, mutated(one), _tests(one.path), PATIENCE_S)
            killed += bool(dead)
            if not dead:
                said(f"survived: {one.path.relative_to(ROOT)}:{one.line}: {one.what}")
    extras = {"killed": killed, "of": len(chosen), "possible": len(every), "seed": seed}
    share = 100.0 * killed / max(1, len(chosen))
    return Row(f"mutation.{folder}", share, "%", target=TARGET, test="ours >=", extras=extras)


def main(arguments: list[str] | None = None) -> int:
    """0 when it could be run, whatever the figures."""
    parser = argparse.ArgumentParser(description="how many small changes the tests notice")
    parser.add_argument("--folders", default="access,validators")
    parser.add_argument("--sample", type=int, default=60, help="mutants a folder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--survivors", action="store_true", help="print each one")
    options = parser.parse_args(arguments)
    for folder in options.folders.split(","):
        said: Callable[[str], None] = print if options.survivors else lambda _: None
        row = _judge(folder, options.sample, options.seed, said)
        print(row.as_json(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
