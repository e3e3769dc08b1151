"""Names of modules that installed code looks for at the top: followed from statement to statement, also in functions, without running any of it."""

from __future__ import annotations

import dis
import sys
from collections.abc import Collection, Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import packages_distributions, requires
from types import CodeType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["required", "sought_in_vain"]

_IMPORT = dis.opmap["IMPORT_NAME"]
_LOADS = ("LOAD_CONST", "LOAD_SMALL_INT")


def required(name: str, extra: str = "", known: set[tuple[str, str]] | None = None) -> set[str]:
    """The distributions that come with one."""
    known = set() if known is None else known
    if (name, extra) not in known:
        known.add((name, extra))
        for said in requires(name) or ():
            one = Requirement(said)
            if one.marker is None or one.marker.evaluate({"extra": extra}):
                for each in ("", *one.extras):
                    required(canonicalize_name(one.name), each, known)
    return {one for one, _ in known}


def sought_in_vain(
    starts: Iterable[str], distributions: Collection[str], *, without: str
) -> dict[str, str]:
    """Name at the top → a module that imports it, where none of these distributions has it. Modules of others are not followed."""
    has = {one: {*map(canonicalize_name, whose)} for one, whose in packages_distributions().items()}
    found, seen, left = dict[str, str](), set[str](), [*starts]
    while left:
        name = left.pop()
        top = name.partition(".")[0]
        if name in seen or top in sys.stdlib_module_names or name.startswith(without):
            continue
        seen.add(name)
        for one in _imported(name):
            first = one.partition(".")[0]
            if first not in sys.stdlib_module_names and has.get(first, set()).isdisjoint(distributions):  # fmt: skip
                found.setdefault(first, name)
            else:
                left += [one, *_above(one)]
    return found


def _above(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:at]) for at in range(1, len(parts))]


_specs: dict[str, ModuleSpec | None] = {}


def _spec(name: str) -> ModuleSpec | None:
    """By its last name: else what it is in would have to be run."""
    if name not in _specs:
        above, _, last = name.rpartition(".")
        if not above:
            _specs[name] = PathFinder.find_spec(name)
        else:
            package = _spec(above)
            places = package.submodule_search_locations if package else None
            _specs[name] = PathFinder.find_spec(last, [*places]) if places else None
    return _specs[name]


def _imported(name: str) -> Iterator[str]:
    """Absolute, and what is taken from a package as a module of it, which it may be."""
    spec = _spec(name)
    loader = spec.loader if spec else None
    if spec is None or not isinstance(loader, SourceFileLoader):
        return
    code = loader.get_code(spec.name)
    assert code is not None
    package = name if spec.submodule_search_locations else name.rpartition(".")[0]
    for level, said, taken in _statements(code):
        whole = said
        if level:
            base = package.rsplit(".", level - 1)[0]
            whole = f"{base}.{said}" if said else base
        yield whole
        yield from (f"{whole}.{one}" for one in taken if one != "*")


def _statements(code: CodeType) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    if _IMPORT in code.co_code[::2]:
        loaded = list[object]()
        for one in dis.get_instructions(code):
            if one.opname in _LOADS:
                loaded.append(one.argval)
            elif one.opcode == _IMPORT:
                level, taken = loaded[-2:]
                assert isinstance(level, int)
                yield level, one.argval, taken if isinstance(taken, tuple) else ()
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _statements(inner)
