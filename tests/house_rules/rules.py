"""The house rules that a linter does not know, each as a function from a text to complaints.

Every rule takes what it judges as an argument and returns one line a breach. The tests beside this file run each rule on
a small bad example, so that the rule itself is known to bite, and then on the whole tree.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath

from tests.house_rules.tree import parsed

__all__ = [
    "MAX_FIRST_LINE",
    "MAX_LINES",
    "dishonest_exports",
    "first_lines",
    "forbidden_names",
    "foreign_addresses",
    "late_parts",
    "leftovers",
    "missing_twins",
    "private_imports",
    "same_first_lines",
    "silenced_limits",
    "stray_twins",
    "too_long",
    "undocumented_methods",
    "unreadable_test_names",
    "untested_tests",
    "unwanted_marks",
]

MAX_LINES = 400
MAX_FIRST_LINE = 140
DRAWERS = {"utils", "util", "common", "shared", "core", "helpers", "services", "managers"}
FREE_TEST_FOLDERS = set(
    "agents behaviour browser conformance peers house_rules scripts benchmarks tool_servers".split()
)

_LEFTOVER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|NotImplemented" + r"Error)\b")
_LIMIT_NOQA = re.compile(r"#\s*(?:ruff:\s*)?noqa(?:\s*$|:.*(?:C901|PLR0915))")
_NAME = re.compile(r"test_[a-z0-9]+(?:_[a-z0-9]+){2,}$")
# A wait with a deadline is a check as well: it fails when what it waits for never comes.
_WAITS = "within|until|eventually|wait_for|timeout"
_CHECKS = re.compile(
    rf"(?:^|_)(?:assert|check|expect|raises|warns|fail|verify|must|{_WAITS})(?:_|$)"
)
_EXAMPLES = r"(?!(?:https?:)?//(?:x|evil)\.|/(?:tmp|etc|srv|usr|dev)/)"
_ADDRESSES = (
    re.compile(r'"resolved":\s*"https?:'),
    re.compile(rf"registry\s*=\s*[\"']?{_EXAMPLES}https?:"),
    re.compile(rf"-(?:-[\w-]*index-url|-find-links|i|f)[ =]{_EXAMPLES}(?:https?|file|/)"),
    re.compile(r"(?:files\." + r"pythonhosted\.org|pypi\." + r"org/simple|registry\." + r"npmjs)"),
    re.compile(r"/(?:work/main|work/shared|tmp/gw|root/\.pyenv|opt/pypi|opt/wheels)\b"),
)

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def too_long(name: str, text: str) -> list[str]:
    """A file that no longer fits into one head."""
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    return [f"{name}: {lines} lines, at most {MAX_LINES}"] if lines > MAX_LINES else []


def first_lines(name: str, text: str) -> list[str]:
    """A module without a first line, or with one that is no whole statement or is too long to be read at a glance."""
    line = _first_line(text)
    if not line:
        return [f"{name}: no first line"]
    if not line.endswith((".", ":")):
        return [f"{name}: {line!r} is no whole statement"]
    size = len(line)
    return [f"{name}: {size} characters, at most {MAX_FIRST_LINE}"] if size > MAX_FIRST_LINE else []


def same_first_lines(modules: Mapping[str, str]) -> list[str]:
    """Modules that the first line does not tell from another one."""
    seen: dict[str, str] = {}
    found = []
    for name, text in modules.items():
        line = _first_line(text)
        if line and seen.setdefault(line, name) != name:
            found.append(f"{name}: has the first line of {seen[line]}")
    return found


def reordered_literals(modules: Mapping[str, str]) -> list[str]:
    """Unions of equal literals in different orders: `typing` makes one of both, in the order of whichever was imported first."""
    seen: dict[frozenset[str], tuple[tuple[str, ...], str]] = {}
    found = []
    for name, text in modules.items():
        walked = ast.walk(parsed(text)) if "Literal[" in text else ()
        for node in (one for at in walked for one in _united(at)):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            values, place = tuple(map(ast.unparse, parts)), f"{name}:{node.lineno}"
            before, first = seen.setdefault(frozenset(values), (values, place))
            if before != values:
                found.append(f"{place}: {ast.unparse(node)} is in another order than in {first}")
    return found


def _united(node: ast.AST) -> list[ast.Subscript]:
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    literals = [one for one in parts if isinstance(one, ast.Subscript)]
    return [one for one in literals if _dotted(one.value).endswith("Literal")]


@cache
def _first_line(text: str) -> str:
    return (ast.get_docstring(parsed(text)) or "").partition("\n")[0]


def forbidden_names(path: str) -> list[str]:
    """A folder or module that is named like a drawer instead of like a thing of the domain."""
    parts = PurePosixPath(path).with_suffix("").parts
    return [
        f"{path}: {part!r} says nothing about what is inside" for part in parts if part in DRAWERS
    ]


def leftovers(name: str, text: str) -> list[str]:
    """Work that was left for later inside code that is called done."""
    return [
        f"{name}:{number}: {found.group()}"
        for number, line in enumerate(text.splitlines(), 1)
        if (found := _LEFTOVER.search(line))
    ]


def silenced_limits(name: str, text: str) -> list[str]:
    """A size or complexity limit that was switched off where it said something."""
    return [
        f"{name}:{number}: the limits on statements and complexity are not silenced"
        for number, line in enumerate(text.splitlines(), 1)
        if _LIMIT_NOQA.search(line)
    ]


def foreign_addresses(name: str, text: str, words: Iterable[str] = ()) -> list[str]:
    """Addresses of package indexes and paths of one machine; `words` adds those of this one."""
    return [
        f"{name}:{number}: {line.strip()[:100]}"
        for number, line in enumerate(text.splitlines(), 1)
        if any(pattern.search(line) for pattern in _ADDRESSES)
        or any(word in line for word in words)
    ]


def missing_twins(modules: Mapping[str, str], tests: Sequence[str]) -> list[str]:
    """Modules without a test file of the same name at the same place.

    `modules` maps paths below `src/gatewright` to their text, `tests` lists paths below `tests`.
    The twin of `audit/trail.py` is `audit/test_trail.py`; a long one may be several files, `audit/test_trail_chain.py` and so on. A package
    file or `__main__` that defines nothing has nothing to test; one that does has `test_init.py` or `test_main.py`. What the `feature.py` of
    a folder contributes is tested in whole gateways, with it and without it: `app/test_features_absent.py`.
    """
    named = set[str]().union(*map(_mirrored, tests))
    return [
        f"src/gatewright/{path}: no tests/{_twin(path)}.py"
        for path, text in sorted(modules.items())
        if _has_code(path, text)
        and (path == "feature.py" or PurePosixPath(path).name != "feature.py")
        and _twin(path) not in named
    ]


def late_parts(name: str, text: str) -> list[str]:
    """What makes an object complete after it was made: an attribute that is set on another one, and a lambda that stands for a
    part of its own object that is still to come."""
    found = []
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Lambda) and _names_self(node.body):
            found.append((node.lineno, f"`{ast.unparse(node)}` stands for a part to come"))
        found.extend(
            (target.lineno, f"sets {ast.unparse(target)} from outside")
            for target in _targets(node)
            if isinstance(target, ast.Attribute) and not _is_self(target.value)
        )
    return [f"{name}:{line}: {what}" for line, what in sorted(found)]


def _targets(node: ast.AST) -> Iterator[ast.AST]:
    """What a statement assigns to, each by itself."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from target.elts if isinstance(target, ast.Tuple) else [target]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        yield node.target
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr" and node.args:
        yield ast.Attribute(node.args[0], "…", lineno=node.lineno)


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _names_self(node: ast.AST) -> bool:
    return any(_is_self(one) for one in ast.walk(node))


def stray_twins(modules: Iterable[str], tests: Iterable[str]) -> list[str]:
    """Test files that mirror no module, outside the folders that are not mirrors."""
    twins = {_twin(path) for path in modules}
    return [
        f"tests/{test}: mirrors no module of src/gatewright"
        for test in tests
        if FREE_TEST_FOLDERS.isdisjoint(PurePosixPath(test).parts[:-1])
        and twins.isdisjoint(_mirrored(test))
    ]


def _twin(path: str) -> str:
    pure = PurePosixPath(path)
    return str(pure.with_name(f"test_{pure.stem.strip('_')}"))


def _mirrored(test: str) -> set[str]:
    """What a test file may be the twin of: a module of its name, or of what its name begins with."""
    stem = test.removesuffix(".py")
    return {stem, *(stem[:at] for at, sign in enumerate(stem) if sign == "_")}


def _has_code(path: str, text: str) -> bool:
    if not PurePosixPath(path).name.startswith("__"):
        return True
    return any(isinstance(node, _Definition) for node in parsed(text).body)


def dishonest_exports(name: str, text: str) -> list[str]:
    """`__all__` that is missing, names what is not there, or hides what is public.

    A package file may export what it imports; any other module exports what it defines.
    """
    tree = parsed(text)
    exported = _exported(tree)
    if exported is None:
        return [] if _only_docstring(tree) else [f"{name}: no literal __all__"]
    defined = set(_defined(tree))
    if PurePosixPath(name).name == "__init__.py":
        defined |= set(_imported(tree))
    public = {
        node.name
        for node in tree.body
        if isinstance(node, _Definition) and not node.name.startswith("_")
    }
    absent = [
        f"{name}: __all__ names {each!r}, not defined here"
        for each in exported
        if each not in defined
    ]
    hidden = [
        f"{name}: {each!r} is public but not in __all__" for each in sorted(public - set(exported))
    ]
    return absent + hidden


def _exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            try:
                return list(ast.literal_eval(node.value))  # type: ignore[attr-defined]
            except (TypeError, ValueError):
                return None
    return None


def _only_docstring(tree: ast.Module) -> bool:
    return all(
        isinstance(node, ast.Expr | ast.ImportFrom) and not _imports_names(node)
        for node in tree.body
    )


def _imports_names(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module != "__future__"


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, _Definition):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)


def private_imports(name: str, text: str, exports: Mapping[str, Iterable[str]]) -> list[str]:
    """Names taken from a module of ours that its `__all__` does not offer.

    `exports` maps dotted module names to their `__all__`; submodules count as offered.
    """
    found: list[str] = []
    for node in ast.walk(parsed(text)):
        if not isinstance(node, ast.ImportFrom) or node.level or not node.module:
            continue
        if node.module not in exports:
            continue
        offered = set(exports[node.module])
        found += [
            f"{name}:{node.lineno}: {node.module} does not export {alias.name!r}"
            for alias in node.names
            if alias.name not in offered and f"{node.module}.{alias.name}" not in exports
        ]
    return found


def undocumented_methods(name: str, text: str) -> list[str]:
    """Public methods without a docstring, in public classes that inherit nothing.

    A method of a class with bases may mean what the base says, and a stub of a protocol what its
    class says. An overload is a type, not a method.
    """
    return [
        f"{name}:{method.lineno}: {owner.name}.{method.name} has no docstring"
        for owner in parsed(text).body
        if isinstance(owner, ast.ClassDef) and not owner.bases and not owner.name.startswith("_")
        for method in owner.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        and not method.name.startswith("_")
        and not ast.get_docstring(method)
        and not any(
            ast.unparse(each).endswith((".setter", "overload")) for each in method.decorator_list
        )
    ]


def unwanted_marks(name: str, text: str) -> list[str]:
    """Ways to have a test and not run it."""
    return [
        f"{name}:{node.lineno}: {_dotted(node)}"
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Attribute | ast.Name) and _is_unwanted(_dotted(node))
    ]


def _is_unwanted(dotted: str) -> bool:
    owner, _, last = dotted.rpartition(".")
    if last == "skip":
        return owner.rpartition(".")[2] in {"pytest", "mark", "unittest"}
    return last.lower() in {
        "skip" + "if",
        "x" + "fail",
        "importor" + "skip",
        "skipunless",
        "skiptest",
    }


def unreadable_test_names(name: str, text: str) -> list[str]:
    """Test names that are no sentence: at least three words say what is promised."""
    return [
        f"{name}:{test.lineno}: {test.name} is no sentence"
        for test in _tests(text)
        if not _NAME.match(test.name)
    ]


def untested_tests(name: str, text: str) -> list[str]:
    """Tests without an assertion, an expected error or a call that is named like a check."""
    return [
        f"{name}:{test.lineno}: {test.name} asserts nothing"
        for test in _tests(text)
        if not any(_asserts(node) for node in ast.walk(test))
    ]


def _tests(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test"
        ):
            yield node


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return bool(_CHECKS.search(_dotted(node.func).rpartition(".")[2]))
    return isinstance(node, ast.Assert)


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""
