"""`own_code`: paths the gateway process loads code or TLS trust from: environment, `sys.path`, plug-ins, loader and OpenSSL variables.

Who changes any of it is the gateway from its next start on, there or not as it is now. A folder of modules that a person named (`PYTHONPATH`)
may have data in folders of its own; where packages are installed, all is code.
"""

from __future__ import annotations

import contextlib
import os
import site
import ssl
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import msgspec

from gatewright.transport.isolation.rules import Kept, real_path
from gatewright.validators.registry import plugged

__all__ = ["own_code", "own_secrets", "shadowing"]

_PATH = tuple(sys.path)
"""Where modules are found as the gateway starts. Later servers that run inside it add folders, which are kept for themselves."""
_ENVIRON = dict(os.environ)
_INSTALLED = "where packages of the gateway's Python are installed"
_CODE = ("bin", "lib", "lib32", "lib64", "libexec", "pyvenv.cfg")
"""What a prefix has that runs. The rest of `/usr`, or of a project that is an environment itself, may be anybody's data."""
_FILES = (
    *("HOSTALIASES", "OPENSSL_CONF", "SSL_CERT_FILE"),
    *("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"),  # of the exporter of traces
    *(
        f"OTEL_EXPORTER_OTLP_{one}CERTIFICATE"
        for one in ("", "CLIENT_", "TRACES_", "TRACES_CLIENT_")
    ),
    *("PGSERVICEFILE", "PGSSLCERT", "PGSSLCRL", "PGSSLROOTCERT"),
)
_SECRETS = (
    *("SSLKEYLOGFILE", "PGPASSFILE", "PGSSLKEY"),
    *("OTEL_EXPORTER_OTLP_CLIENT_KEY", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY"),
)
_FOLDERS = ("GCONV_PATH", "LD_LIBRARY_PATH", "OPENSSL_ENGINES", "OPENSSL_MODULES", "SSL_CERT_DIR")
_LIBRARIES = ("LD_AUDIT", "LD_PRELOAD")


def own_code() -> tuple[Kept, ...]:
    """Absolute, each path once; folders before what is in them."""
    found: dict[str, Kept] = {}
    for one in (*_installed(), *_searched(), *_plug_ins(), *_configured(), *_named(), *_linked()):
        path = Path(one.path).absolute()
        for name in map(str, (path, real_path(path))):
            if name not in found or (one.whole and not found[name].whole):
                found[name] = msgspec.structs.replace(one, path=name)
    return tuple(sorted(found.values(), key=_place))


def shadowing(kept: Iterable[Kept], places: Iterable[str]) -> Iterator[Kept]:
    """Those of these places to write to, each as the entry of a folder of modules that it is or is in, under whose name the gateway would
    find a module of its own there: `html` beside the configuration comes before that of Python as soon as it is a package."""
    named = [Path(one).absolute() for one in places]
    # A link beside the configuration is imported from as well.
    changed = {*map(real_path, named), *(real_path(one.parent) / one.name for one in named)}
    for one in kept:
        folder = real_path(one.path)
        for place in changed if one.modules and not one.whole else ():
            if folder in place.parents:
                entry = place.relative_to(folder).parts[0]
                name = entry.partition(".")[0]
                if name in _names():
                    why = f"where the gateway would find its module {name}, by {one.path}"
                    yield Kept(str(folder / entry), why, whole=True)


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    """Modules that a gateway may import: those of Python, those that it looks for at each start, and what is installed."""
    found = {*sys.stdlib_module_names, "sitecustomize", "usercustomize"}
    for folder in site.getsitepackages():
        with contextlib.suppress(OSError):
            found |= {one.partition(".")[0] for one in os.listdir(folder)}  # noqa: PTH208 - names alone
    return frozenset(found)


def _place(one: Kept) -> str:
    """Where it lies; a link has its own place, and its target is named for itself."""
    folder, name = os.path.split(one.path)
    return str(real_path(folder) / name)


def own_secrets() -> Iterator[Path]:
    """Files of keys that variables of this process name: those that it reads, and where it writes the keys of its TLS connections."""
    return (Path(named).absolute() for one in _SECRETS if (named := _ENVIRON.get(one)))


def _installed() -> Iterator[Kept]:
    yield Kept(str(Path(__file__).parents[1]), "the gateway itself", whole=True)
    for prefix in {sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix}:
        yield Kept(prefix, "the environment that the gateway runs from")
        for name in _CODE:
            yield Kept(os.path.join(prefix, name), _INSTALLED, whole=True)  # noqa: PTH118 - texts are compared
    # Each link on the way to an interpreter leads to the one of the next start.
    for interpreter in {sys.executable, getattr(sys, "_base_executable", "")}:
        if interpreter:
            yield Kept(interpreter, "the interpreter of the gateway", whole=True)
    folders = site.getsitepackages()
    if site.ENABLE_USER_SITE:  # looked at where it is there, at the next start
        folders.append(site.getusersitepackages())
    yield from (Kept(one, _INSTALLED, whole=True) for one in folders)


def _searched() -> Iterator[Kept]:
    """Files, too: archives of modules. What is missing is looked for again at the next start."""
    said = _ENVIRON.get("PYTHONPATH")
    named = {Path(one).absolute() for one in said.split(os.pathsep)} if said else set[Path]()
    for one in dict.fromkeys(_PATH):
        said = "PYTHONPATH" if Path(one).absolute() in named else "its sys.path"
        yield Kept(one, f"where the gateway looks for modules ({said})", modules=True)
    if sys.pycache_prefix:
        said = "where the gateway looks for compiled modules (PYTHONPYCACHEPREFIX)"
        yield Kept(sys.pycache_prefix, said, whole=True)


def _plug_ins() -> Iterator[Kept]:
    """Packages of validators, which may be installed from anywhere (editable)."""
    for name, point in plugged().items():
        try:
            spec = find_spec(
                point.module.partition(".")[0]
            )  # of a package alone: nothing of it is run
        except (ImportError, ValueError):
            continue
        if spec is None:
            continue
        why = f"the validator {name}, which runs inside the gateway"
        for one in spec.submodule_search_locations or [spec.origin or ""]:
            if Path(one).is_absolute():  # no module of the interpreter itself
                yield Kept(one, why, whole=True)


def _configured() -> Iterator[Kept]:
    """What optional libraries read in a home: keyring loads whatever its file names."""
    if find_spec("keyring") is not None:
        folder = Path(_ENVIRON.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        file = folder / "python_keyring" / "keyringrc.cfg"
        yield Kept(str(file), "the configuration of keyring, which the gateway loads code by")
        yield from _backends(file)
    trusted = Path.home() / ".postgresql"
    if find_spec("asyncpg") is not None and os.path.lexists(trusted):
        yield Kept(str(trusted), "where the gateway's certificates for PostgreSQL are")


def _backends(file: Path) -> Iterator[Kept]:
    if not os.path.lexists(file):
        return
    from configparser import Error, RawConfigParser  # noqa: PLC0415 - few have such a file

    parser = RawConfigParser()
    with contextlib.suppress(OSError, Error, UnicodeDecodeError):
        parser.read(file, encoding="utf-8")
        said = "where keyring has the gateway look for modules (keyringrc.cfg)"
        yield Kept(parser.get("backend", "keyring-path").strip(), said, modules=True)


def _named() -> Iterator[Kept]:
    """What loader and OpenSSL read on the word of a variable, and what the latter reads without one."""
    for name in (*_FILES, *_FOLDERS, *_LIBRARIES):
        value, said = _ENVIRON.get(name, ""), f"what {name} names to the gateway"
        if not value:
            continue
        parts = [value] if name in _FILES else value.split(":")
        if name in _LIBRARIES:  # a library without a folder is looked for where all are
            parts = [one for one in value.replace(":", " ").split(" ") if "/" in one]
        # For the loader an empty part is the folder where the gateway starts.
        yield from (Kept(one, said) for one in parts)
    trusted = ssl.get_default_verify_paths()
    for path in (trusted.openssl_cafile, trusted.openssl_capath):
        yield Kept(path, "the certificates that the gateway trusts")
    configured = os.path.join(os.path.dirname(trusted.openssl_cafile), "openssl.cnf")  # noqa: PTH118, PTH120 - texts are compared
    yield Kept(configured, "the configuration of the gateway's OpenSSL")


def _linked() -> Iterator[Kept]:
    """uv installs hard links to what is in its cache: who may write there changes what is installed."""
    named = _ENVIRON.get("UV_CACHE_DIR")
    cache = Path(named or Path(_ENVIRON.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uv")
    if os.path.lexists(cache) and _has_other_names():
        said = "the cache of uv, of which files of the gateway are hard links"
        yield Kept(str(cache), said, whole=True)


@lru_cache(maxsize=1)
def _has_other_names() -> bool:
    """Whether anything that is installed has another name; once, as each is looked at."""
    files = (file for one in site.getsitepackages() for file in Path(one).glob("*.dist-info/METADATA"))  # fmt: skip
    return any(map(_has_another, (Path(__file__), *files)))


def _has_another(file: Path) -> bool:
    try:
        return file.stat().st_nlink > 1
    except OSError:  # it is just installed anew; who cannot read it does not run it either
        return False
