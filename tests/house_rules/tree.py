"""What the house rules look at: the files of the repository, tracked or about to be."""

from __future__ import annotations

import ast
import subprocess
from functools import cache, lru_cache
from pathlib import Path

__all__ = ["ROOT", "files", "modules", "parsed", "read", "source_modules", "test_files"]

ROOT = Path(__file__).resolve().parent.parent.parent
_BUILT = {".git", ".venv", ".peers", "node_modules", "__pycache__", "build", "dist"}


@cache
def files() -> tuple[str, ...]:
    """Paths of all files that belong to the repository, relative to it, with forward slashes.

    Asks git, so that ignored results do not count; outside a git checkout every file counts that
    is not in a folder for results.
    """
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, timeout=30).stdout
    except (OSError, subprocess.CalledProcessError):
        found = (path for path in ROOT.rglob("*") if not _BUILT.intersection(path.parts))
        return tuple(sorted(str(path.relative_to(ROOT)) for path in found if path.is_file()))
    names = {name for name in listed.decode().split("\0") if name}
    return tuple(sorted(name for name in names if (ROOT / name).is_file()))


@cache
def read(name: str) -> str | None:
    """The text of a file, None when it is not text."""
    try:
        return (ROOT / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=1)
def parsed(text: str) -> ast.Module:
    """A text as a tree, which nobody changes. One is kept: parsing is most of what the rules cost, and all trees take half a
    gibibyte, so rules are asked about one file after the other."""
    return ast.parse(text)


def modules(*folders: str) -> dict[str, str]:
    """Python files below the given folders with their text; everything without a folder."""
    found = {}
    for name in files():
        if name.endswith(".py") and name.startswith(
            tuple(f"{folder}/" for folder in folders) or ""
        ):
            found[name] = read(name) or ""
    return found


def source_modules() -> dict[str, str]:
    """The modules of the package, by their path below `src/gatewright`."""
    package = "src/gatewright/"
    return {name.removeprefix(package): text for name, text in modules("src/gatewright").items()}


def test_files() -> dict[str, str]:
    """The test files, by their path below `tests`."""
    return {
        name.removeprefix("tests/"): text
        for name, text in modules("tests").items()
        if Path(name).name.startswith("test_")
    }
