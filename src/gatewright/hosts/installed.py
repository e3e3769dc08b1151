"""Finds the version of a package last installed in the npx and uvx caches, to pin it.

That is the version to pin: the one that is known to work. Nothing is asked of a package index.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

from gatewright.hosts.model import CannotRead
from gatewright.hosts.whole_file import read_bytes
from gatewright.patterns import Pattern

__all__ = ["MOST", "installed_version"]

MOST = 2000
"""How many folders of a cache are looked into."""

_JOINTS = Pattern(r"[-_.]+")
_NAME = Pattern(r"(?:@[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
_VERSION = Pattern(r"v?\d+(?:\.\d+)+[-+.\w]*")


def installed_version(name: str, kind: str, home: Path) -> str:
    """The version that was fetched last; empty where none was. `kind` is `npx` or `uvx`."""
    # The name becomes part of a path below: it has no `..`, and a slash only behind a scope of npm.
    if not _NAME.fullmatch(name):
        return ""
    found = _of_npx(name, home) if kind == "npx" else _of_uvx(name, home) if kind == "uvx" else ()
    return max(found, default=(0.0, ""))[1]


def _of_npx(name: str, home: Path) -> Iterator[tuple[float, str]]:
    for folder in _folders(home / ".npm" / "_npx"):
        path = folder / "node_modules" / name / "package.json"
        try:
            version = json.loads(read_bytes(path)).get("version")
            changed = path.stat().st_mtime
        except (CannotRead, OSError, ValueError, AttributeError, RecursionError):
            continue
        if isinstance(version, str) and _VERSION.fullmatch(version):
            yield changed, version


def _of_uvx(name: str, home: Path) -> Iterator[tuple[float, str]]:
    wheel = _JOINTS.sub("_", name).lower()
    for folder in _folders(home / ".cache" / "uv" / "archive-v0"):
        try:
            for path in folder.glob(f"{wheel}-*.dist-info"):
                version = path.name.removesuffix(".dist-info").partition("-")[2]
                if _VERSION.fullmatch(version):
                    yield path.stat().st_mtime, version
        except OSError:
            continue


def _folders(cache: Path) -> list[Path]:
    try:
        return list(itertools.islice(cache.iterdir(), MOST))
    except OSError:
        return []
