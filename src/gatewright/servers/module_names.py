"""`is_sought`: whether a name in a folder of `sys.path` is a module that the gateway imports and finds in no earlier folder (shadowing).

Asked of the import system, which runs no code of a module at the top to find it. A folder without `__init__` hides no module that comes later.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from importlib.machinery import (
    BuiltinImporter,
    FrozenImporter,
    ModuleSpec,
    PathFinder,
    all_suffixes,
)

__all__ = ["is_sought", "listed", "module_name"]

_COMPILED = "__pycache__"
_AT_START = ("sitecustomize", "usercustomize")
_EXTRAS = ("asyncpg", "keyring", "onnxruntime", "opentelemetry", "tokenizers", "uvloop")
_IN_VAIN = (
    *("_ruamel_yaml", "_ruamel_yaml_clibz", "_wmi", "a2wsgi", "aiodns", "backports", "bcrypt"),
    *("brotli", "brotlicffi", "dbus", "gi", "multipart", "mypy_extensions"),
    *("org", "psutil", "python_multipart", "python_socks", "pywintypes", "snappy"),
    *("sniffio", "sqlglotrs", "tzdata", "watchfiles", "win32ctypes"),
)
"""What Python (`org`, of Jython) and libraries try to import, and go on without."""
_LOADED = frozenset(one.partition(".")[0] for one in sys.modules)
"""As the gateway starts: what is installed by hooks is in no folder of its path. Later come modules of servers that run inside it."""
_NAMES = frozenset(
    {*sys.stdlib_module_names, *_AT_START, *_EXTRAS, *_IN_VAIN, *_LOADED, "gatewright"}
)


def is_sought(entry: str, path: Sequence[str], position: int, more: Collection[str] = ()) -> bool:
    """`entry` is in a folder before which so many entries of `path`, the gateway's path of modules, come; `more` are modules that
    the gateway imports on the word of its configuration."""
    name = module_name(entry)
    if name == _COMPILED:  # of the modules beside it
        return True
    # No identifier has to be one: Python's own `_sysconfigdata_…` has a dash.
    if "." in name or _is_earlier(name, path[:position]):
        return False
    others = [*path[:position], *path[position + 1 :]]
    return (
        name in _NAMES
        or name in more
        or _is_module(_found(name, others))
        or _is_installed(name, path)
    )


def module_name(entry: str) -> str:
    """The module that a file or folder would be."""
    return next((entry.removesuffix(one) for one in all_suffixes() if entry.endswith(one)), entry)


def _is_earlier(name: str, before: Sequence[str]) -> bool:
    if BuiltinImporter.find_spec(name) or FrozenImporter.find_spec(name):
        return True
    return _is_module(_found(name, before))


def _found(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    return PathFinder.find_spec(name, [*folders])


def _is_module(spec: ModuleSpec | None) -> bool:
    """And no namespace, which is any folder."""
    return spec is not None and spec.origin is not None


def _is_installed(name: str, path: Sequence[str]) -> bool:
    """Whether packages are installed where it is found; a namespace is one of packages there, and no stray folder."""
    spec = _found(name, [one for one in path if any(entry.endswith(".dist-info") for entry in listed(one))])  # fmt: skip
    if spec is None or spec.origin is not None:
        return spec is not None
    return any(map(_has_packages, spec.submodule_search_locations or ()))


def _has_packages(folder: str) -> bool:
    inner = (listed(os.path.join(folder, one)) for one in listed(folder))  # noqa: PTH118 - names alone
    return any(one.startswith("__init__.") for entries in inner for one in entries)


def listed(folder: str) -> list[str]:
    """The names in a folder; none where this user may not look, or where there is none."""
    try:
        return sorted(os.listdir(folder or "."))  # noqa: PTH208 - names alone
    except OSError:
        return []
