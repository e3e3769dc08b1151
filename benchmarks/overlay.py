"""A copy of the package in which a mistake is made, and whether tests notice: what the benchmarks of mutants share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import ROOT

__all__ = ["SOURCE", "caught", "overlaid", "twins"]

SOURCE = ROOT / "src" / "gatewright"


@contextmanager
def overlaid() -> Iterator[Path]:
    """A folder with a copy of the package, to be imported before the one in the tree."""
    with tempfile.TemporaryDirectory() as place:
        leave = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCE, Path(place) / "gatewright", ignore=leave)
        yield Path(place)


def caught(
    overlay: Path,
    file: Path,
    text: str,
    groups: Iterable[Sequence[str]],
    patience_s: float,
    more: Mapping[str, str] | None = None,
) -> int:
    """The number of the first group of tests, from 1, of which one fails or does not end in time while `file` of the tree says `text` in the
    copy; 0 where all pass. `more` are environment variables of the tests."""
    inside = overlay / file.relative_to(SOURCE.parent)
    before = inside.read_text(encoding="utf-8")
    inside.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(overlay), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= more or {}
    try:
        for number, tests in enumerate(groups, 1):
            if _fails(tests, patience_s, environment):
                return number
    finally:
        inside.write_text(before, encoding="utf-8")
    return 0


def _fails(tests: Sequence[str], patience_s: float, environment: Mapping[str, str]) -> bool:
    options = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        return bool(
            subprocess.run(
                [sys.executable, *options, *tests],
                check=False,
                cwd=ROOT,
                env=environment,
                capture_output=True,
                timeout=patience_s,
            ).returncode
        )
    except subprocess.TimeoutExpired:
        return True


def twins(folder: Path, stem: str) -> list[Path]:
    """The tests of a folder that mirror a file."""
    return [*folder.glob(f"test_{stem}.py"), *folder.glob(f"test_{stem}_*.py")]
