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
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from importlib.util import find_spec
from itertools import dropwhile, islice
from pathlib import Path

import msgspec

from gatewright.servers.module_names import (
    COMPILED,
    is_namespace,
    is_sought,
    is_there,
    listed,
    module_name,
    offered,
)
from gatewright.servers.package_code import is_code, lineage, symlinks_in
from gatewright.transport.isolation.lookups import steps
from gatewright.transport.isolation.rules import CannotIsolate, Kept, real_path
from gatewright.validators.registry import plugged

__all__ = ["LAST", "own_code", "own_secrets", "shadowing"]

LAST = sys.maxsize
"""As `Kept.modules`: the folder is put at the end of the path of modules while the gateway runs."""
_PATH = tuple(dict.fromkeys(sys.path))
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
_NO_FOLDER = ("#", "import ", "import\t")
"""How lines of `.pth` files begin that are comments, or run."""
_LIBRARIES = ("LD_AUDIT", "LD_PRELOAD")


def own_code() -> tuple[Kept, ...]:
    """Absolute, each path once; folders before what is in them."""
    found: dict[str, Kept] = {}
    parts = (_installed, _searched, _path_files, _plug_ins, _configured, _named, _linked)
    for one in (kept for part in parts for kept in part()):
        path = _archive_of(Path(one.path).absolute())
        for name in map(str, (path, real_path(path))):
            found[name] = _both(found.get(name, one), one, name)
    return tuple(sorted(found.values(), key=_place))


def _both(known: Kept, other: Kept, path: str) -> Kept:
    """One folder may be several things: a project that is its own environment, and that `python -m` looks for modules in."""
    said = other if other.whole and not known.whole else known
    positions = [one.modules for one in (known, other) if one.modules is not None]
    first = min(positions, default=None)
    return msgspec.structs.replace(said, path=path, modules=first)


def _archive_of(path: Path) -> Path:
    """The archive whose inside a path names, as modules in archives do; else the path itself."""
    return next((one for one in path.parents if os.path.isfile(one)), path)  # noqa: PTH113 - that of Path raises where this user may not look


def shadowing(
    kept: Iterable[Kept], places: Iterable[str], more: Collection[str] = ()
) -> Iterator[Kept]:
    """Those of these places to write to, each as the entry of a folder of modules that it is or is in, or that leads to it, under whose name
    the gateway would find a module of its own there, or one of these: `html` beside the configuration comes before that of Python as soon as
    it is a package. Of code in a package that is there, the place itself: folders beside it are other servers' to write to."""
    # A link beside the configuration is imported from as well.
    changed = {name for one in places for name in _names(Path(one).absolute())}
    if not changed:
        return
    sought = {*more, *offered(), *_validators(), *_backend()}
    folders = [*kept]
    # A Python server's own are few.
    known = {real_path(one.path) for one in folders if one.whole and one.modules != LAST}
    for one in folders:
        for entry, inside in sorted(_entries(one, changed, known).items()):
            if one.whole or is_sought(entry, one.path, _PATH, one.modules or 0, sought):
                yield from _all_of(one, entry, inside)
            else:
                yield from _package(one, entry, inside)


def _names(place: Path) -> Iterator[Path]:
    """A place by all its names: with none, some or all of the links on its way followed."""
    yield real_path(place)
    for above in place.parents:
        rest = place.relative_to(above)
        if ".." in rest.parts:
            return
        yield real_path(above) / rest


def _shadow(one: Kept, entry: str, inner: Sequence[str] = (), *, whole: bool = True) -> Kept:
    """With the link that leads there, which may be far from what it makes code."""
    path = real_path(one.path).joinpath(entry, *inner)
    why = f"where the gateway would find its module {module_name(entry)}, by {one.path}"
    target = real_path(path)
    if target != path:
        why += f" (where {path} leads to {target})"
    return Kept(str(path), why, whole=whole)


def _all_of(one: Kept, entry: str, inside: Set[tuple[str, ...]]) -> Iterator[Kept]:
    """And what links in it lead to."""
    yield _shadow(one, entry)
    path = real_path(one.path) / entry
    for inner in sorted(inside):
        if not real_path(path.joinpath(*inner)).is_relative_to(real_path(path)):
            yield _shadow(one, entry, inner)


def _package(one: Kept, entry: str, inside: Set[tuple[str, ...]]) -> Iterator[Kept]:
    """Modules and packages that are there, whoever imports them, by what may be written to in them (the empty one: to all); folders in them
    may be data."""
    path = real_path(one.path) / entry
    is_package = is_there(entry, one.path, _PATH, one.modules or 0)
    if not (is_package or is_namespace(entry, one.path, _PATH)):
        return
    for inner in sorted(inside):
        if is_code(path, inner, is_package=is_package):
            has_data = COMPILED not in inner and os.path.isdir(path.joinpath(*inner))  # noqa: PTH112 - that of Path raises where this user may not look
            yield _shadow(one, entry, inner, whole=not has_data)


def _entries(one: Kept, changed: Set[Path], known: Set[Path]) -> dict[str, set[tuple[str, ...]]]:
    """What is in a folder of modules and may become others' words, and where in each: nothing for all of it. What is whole needs no
    place in it looked at, but links lead out of it."""
    found = dict[str, set[tuple[str, ...]]]()
    if one.modules is None:
        return found
    folder = real_path(one.path)
    for parts in _inside(folder, changed) if not one.whole else ():
        found.setdefault(parts[0], set()).add(parts[1:])
    for entry, *way in symlinks_in(folder, known, changed):
        link = folder.joinpath(entry, *way)
        if way and not changed.isdisjoint(lineage(link.parent) - lineage(folder / entry)):
            continue  # it lies in a place itself: no server's link decides for another
        inside = {(*way, *inner) for inner in _inside(real_path(link), changed)}
        if _is_changed(link, changed):
            inside.add((*way,))
        if inside:
            found.setdefault(entry, set()).update(inside)
    return found


def _inside(folder: Path, changed: Set[Path]) -> Iterator[tuple[str, ...]]:
    return (one.relative_to(folder).parts for one in changed if folder in one.parents)


def _is_changed(link: Path, changed: Set[Path]) -> bool:
    """It leads to a place to write to, into one, or by way of one: who changes what is there decides where it leads."""
    if real_path(link) in changed:
        return True
    own = (
        real_path(link.parent) / link.name
    )  # the folder that it is in may be reached by a link as well
    with contextlib.suppress(CannotIsolate):  # in a circle, or it is being replaced
        on_the_way = dropwhile(lambda one: one.path != own, steps(own))
        return any(
            not changed.isdisjoint(step.path.parents) for step in islice(on_the_way, 1, None)
        )
    return False


def _validators() -> Iterator[str]:
    """They are loaded late."""
    return (point.module.partition(".")[0] for point in plugged().values())


def _backend() -> Iterator[str]:
    """What keyring imports by name, as late: by a variable, or by its file."""
    named = _ENVIRON.get("PYTHON_KEYRING_BACKEND"), _keyring("default-keyring")
    return (one.strip().partition(".")[0] for one in named if one)


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
    yield from (Kept(one, _INSTALLED, whole=True) for one in _site_folders())


def _site_folders() -> list[str]:
    """The user's own is looked at where it is there, at the next start."""
    own = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [*own, *site.getsitepackages()]


def _searched() -> Iterator[Kept]:
    """Files, too: archives of modules. What is missing is looked for again at the next start."""
    said = _ENVIRON.get("PYTHONPATH")
    named = {Path(one).absolute() for one in said.split(os.pathsep)} if said else set[Path]()
    for position, one in enumerate(_PATH):
        said = "PYTHONPATH" if Path(one).absolute() in named else "its sys.path"
        yield Kept(one, f"where the gateway looks for modules ({said})", modules=position)
    if sys.pycache_prefix:
        said = "where the gateway looks for compiled modules (PYTHONPYCACHEPREFIX)"
        yield Kept(sys.pycache_prefix, said, whole=True)


def _path_files() -> Iterator[Kept]:
    """What files of paths name where packages are installed: `site` passes over what is missing, until it is there."""
    known = {*map(real_path, _PATH)}
    for folder in _site_folders():
        position = _PATH.index(folder) + 1 if folder in _PATH else 0
        for file in (Path(folder, one) for one in listed(folder) if one.endswith(".pth")):
            why = f"where the gateway looks for modules ({file})"
            for line in _lines(file):
                if line.strip() and not line.startswith(_NO_FOLDER):
                    path = Path(folder, line.rstrip())
                    # What is there has its own position on the path, after those of files before.
                    first = None if real_path(path) in known else position
                    yield Kept(str(path), why, modules=first)


def _lines(file: Path) -> list[str]:
    try:
        lines = file.read_bytes().removeprefix(BOM_UTF8).splitlines()
    except OSError:  # who cannot read it looks nowhere by it
        return []
    return [os.fsdecode(one) for one in lines if b"\0" not in one]


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
        said = "the configuration of keyring, which the gateway loads code by"
        yield Kept(str(_keyring_file()), said)
        if path := _keyring("keyring-path"):
            said = "where keyring has the gateway look for modules (keyringrc.cfg)"
            # It puts the folder before all others.
            yield Kept(os.path.expanduser(path), said, modules=0)  # noqa: PTH111 - that of Path raises for an unknown user
    trusted = Path.home() / ".postgresql"
    if find_spec("asyncpg") is not None and os.path.lexists(trusted):
        yield Kept(str(trusted), "where the gateway's certificates for PostgreSQL are")


def _keyring_file() -> Path:
    folder = Path(_ENVIRON.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "python_keyring" / "keyringrc.cfg"


def _keyring(option: str) -> str:
    """What the file of keyring says; empty where that is nothing."""
    file = _keyring_file()
    if not os.path.lexists(file):
        return ""
    from configparser import Error, RawConfigParser  # noqa: PLC0415 - few have such a file

    parser = RawConfigParser()
    with contextlib.suppress(OSError, Error, UnicodeDecodeError):
        parser.read(file, encoding="utf-8")
        return parser.get("backend", option).strip()
    return ""


def _named() -> Iterator[Kept]:
    """What loader and OpenSSL read on the word of a variable, and what the latter reads without one."""
    for name in (*_FILES, *_FOLDERS, *_LIBRARIES):
        value, said = _ENVIRON.get(name, ""), f"what {name} names to the gateway"
        if not value:
            continue
        for one in _parts(name, value):
            empty = ": the folder that it started in, by an empty part (remove the colon that stands alone)"
            yield Kept(one, f"{said}{'' if one else empty}")
    trusted = ssl.get_default_verify_paths()
    for path in (trusted.openssl_cafile, trusted.openssl_capath):
        yield Kept(path, "the certificates that the gateway trusts")
    configured = os.path.join(os.path.dirname(trusted.openssl_cafile), "openssl.cnf")  # noqa: PTH118, PTH120 - texts are compared
    yield Kept(configured, "the configuration of the gateway's OpenSSL")


def _parts(name: str, value: str) -> list[str]:
    if name in _FILES:
        return [value]
    if name in _LIBRARIES:  # a library without a folder is looked for where all are
        return [one for one in value.replace(":", " ").split(" ") if "/" in one]
    if name == "LD_LIBRARY_PATH":  # the loader takes both
        value = value.replace(";", ":")
    return value.split(":")


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
