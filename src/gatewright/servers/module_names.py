"""`is_sought`, `is_there`: whether a name in a folder of `sys.path` is a module that the gateway finds there first (shadowing).

Asked of the import system, which runs no code of a module at the top to find it. A folder without `__init__` hides no module that comes later.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from importlib.machinery import (
    BuiltinImporter,
    FrozenImporter,
    ModuleSpec,
    PathFinder,
    all_suffixes,
)
from importlib.metadata import Distribution, EntryPoint, distributions
from itertools import dropwhile
from pathlib import Path

from gatewright.transport.isolation.rules import real_path

__all__ = [
    "COMPILED",
    "is_namespace",
    "is_sought",
    "is_there",
    "listed",
    "module_name",
    "offered",
]

COMPILED = "__pycache__"
"""The folder of modules that were compiled, beside their sources."""
_AT_START = ("sitecustomize", "usercustomize")
_EXTRAS = ("asyncpg", "keyring", "onnxruntime", "opentelemetry", "tokenizers", "uvloop")
_IN_VAIN = (
    *("IPython", "Numeric", "OpenSSL", "_dummy_thread", "_interpqueues", "_interpreters"),
    *("_pytest", "_ruamel_yaml", "_ruamel_yaml_clibz", "_typeshed", "_wmi", "a2wsgi", "aiodns"),
    *("annotationlib", "async_timeout", "backports", "bcrypt", "brotli", "brotlicffi"),
    *("cStringIO", "chardet", "colorama", "compression", "configobj", "cpuinfo", "cython"),
    *("dateutil", "dbus", "dotenv", "dummy_thread", "email_validator", "exceptiongroup", "gi"),
    *("gunicorn", "h2", "importlib_metadata", "ipywidgets", "itsdangerous", "jnius"),
    *("linkify_it", "multipart"),
    *(
        "mypy_extensions",
        "numarray",
        "numpy_distutils",
        "ordereddict",
        "outcome",
        "org",
        "pluggy",
        "psutil",
    ),
    *("py3nvml", "pyodide_js", "pytest", "python_multipart", "python_socks", "pywintypes"),
    *("sentencepiece_model_pb2", "setuptools", "simplejson", "snappy", "sniffio", "socks"),
    *("sqlglotrs", "tensorflow", "thread", "tomli", "tomli_w", "torch", "trio", "tzdata"),
    *("watchfiles", "werkzeug", "win32cred", "win32ctypes", "win32pdh", "wsproto", "zttp"),
)
"""What Python (`org`, of Jython) and libraries try to import, and go on without, at the top or in a function."""
_REMOVED = (
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils"),
    *("imghdr", "imp", "lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes"),
    *("smtpd", "sndhdr", "spwd", "sunau", "telnetlib", "uu", "xdrlib"),
)
"""Of Python 3.11 and no longer of 3.13: libraries still try them."""
_METADATA = (".dist-info", ".egg-info")
"""How folders end that say which modules are loaded as plug-ins; they are looked for wherever modules are."""
_SCRIPTS = ("console_scripts", "gui_scripts")
_NO_MODULES = ("/conf.py", "__pycache__")
"""Sphinx's, as some distributions install their `docs` by mistake, which nobody imports; and what is compiled stands beside its source."""
_HOOKS = [*dropwhile(lambda one: one is not PathFinder, sys.meta_path)][1:]
"""Of editable installations: what they find is found on the path before."""
_LOADED = frozenset(one.partition(".")[0] for one in sys.modules)
"""As the gateway starts: what is installed by hooks is in no folder of its path. Later come modules of servers that run inside it."""
_NAMES = frozenset(
    {*sys.stdlib_module_names, *_AT_START, *_EXTRAS, *_IN_VAIN, *_REMOVED, *_LOADED, "gatewright"}
)


def is_sought(
    entry: str, folder: str, path: Sequence[str], position: int, more: Collection[str] = ()
) -> bool:
    """`entry` is in `folder`, before which so many entries of `path`, the gateway's path of modules, come, whether it is one of them or
    not yet; `more` are modules that the gateway imports on the word of its configuration."""
    name = module_name(entry)
    # Of the modules beside it; `EGG-INFO` is that of a folder `….egg`.
    if name == COMPILED or f".{entry.lower()}".endswith(_METADATA):
        return True
    # No identifier has to be one: Python's own `_sysconfigdata_…` has a dash.
    if "." in name or _is_earlier(name, _without(folder, path[:position])):
        return False
    return (
        name in _NAMES
        or name in more
        or _is_module(_found(name, _without(folder, path)))
        or _is_hooked(name, real_path(folder) / entry)
        or _is_installed(name, path)
    )


def is_there(entry: str, folder: str, path: Sequence[str], position: int) -> bool:
    """Whether the name has a module or a package in that folder already, which no earlier one has: whoever imports it late finds it there.
    Else as in `is_sought`."""
    name = module_name(entry)
    if "." in name or not _is_module(_found(name, [folder])):
        return False
    return not _is_earlier(name, _without(folder, path[:position]))


def is_namespace(entry: str, folder: str, path: Sequence[str]) -> bool:
    """Whether the name is a package of folders without `__init__`, of which that entry is one, as no folder of the path has a module of it."""
    name = module_name(entry)
    spec = None if "." in name else _found(name, [folder, *path])
    return spec is not None and spec.origin is None


def _without(folder: str, path: Sequence[str]) -> list[str]:
    """By what they are, as one folder may have several names, and several places on the path."""
    real = real_path(folder)
    return [one for one in path if real_path(one) != real]


@lru_cache(maxsize=1)
def offered() -> frozenset[str]:
    """Modules that installed distributions offer as plug-ins, to the gateway (validators) or to its libraries, which load them late."""
    return frozenset(
        one.value.partition(":")[0].partition(".")[0].strip()
        for distribution in distributions()
        for one in _points(distribution)
        if one.group not in _SCRIPTS
    )


def _points(distribution: Distribution) -> list[EntryPoint]:
    with contextlib.suppress(
        Exception
    ):  # whatever ails its file, the others' are read all the same
        return [*distribution.entry_points]
    return []


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


def _is_hooked(name: str, own: Path) -> bool:
    """Whether a hook finds it elsewhere than in that very entry."""
    for hook in _HOOKS:
        with contextlib.suppress(
            Exception
        ):  # whatever ails it, it then finds nothing for the gateway either
            spec = hook.find_spec(name, None)
            if spec is not None and not _is_at(spec, own):
                return True
    return False


def _is_at(spec: ModuleSpec, own: Path) -> bool:
    """It is that file, or a package whose `__init__` is in that folder: `is_there` sees it. A namespace is in several."""
    if spec.origin is None:
        return False
    origin = real_path(spec.origin)
    return own == origin or (own == origin.parent and module_name(origin.name) == "__init__")


def _is_installed(name: str, path: Sequence[str]) -> bool:
    """Whether packages are installed where it is found; a namespace is one of packages there, and no stray folder."""
    homes = tuple(
        one for one in path if any(entry.lower().endswith(_METADATA[0]) for entry in listed(one))
    )
    spec = _found(name, homes)
    if spec is None or spec.origin is not None:
        return spec is not None
    # Distributors of systems leave the records out.
    folders = spec.submodule_search_locations or ()
    return any(map(_has_packages, folders)) or name in _recorded(homes)


@lru_cache(maxsize=4)
def _recorded(homes: tuple[str, ...]) -> frozenset[str]:
    """The folders that distributions say they have modules in, at whatever depth."""
    records = map(_record, distributions(path=[*homes]))
    return frozenset(name for record in records for name in _folders_in(record))


def _record(distribution: Distribution) -> str:
    with contextlib.suppress(OSError, ValueError):  # no UTF-8
        return distribution.read_text("RECORD") or ""
    return ""


def _folders_in(record: str) -> Iterator[str]:
    endings = tuple(all_suffixes())
    for line in record.splitlines():
        # Hash and size have no comma; a name that has one is in quotation marks.
        file = line.rsplit(",", 2)[0].strip('"')
        if "/" in file and file.endswith(endings) and not any(one in file for one in _NO_MODULES):
            yield file.partition("/")[0]


def _has_packages(folder: str) -> bool:
    inner = (listed(os.path.join(folder, one)) for one in listed(folder))  # noqa: PTH118 - names alone
    return any(one.startswith("__init__.") for entries in inner for one in entries)


def listed(folder: str) -> list[str]:
    """The names in a folder; none where this user may not look, or where there is none."""
    try:
        return sorted(os.listdir(folder or "."))  # noqa: PTH208 - names alone
    except OSError:
        return []
