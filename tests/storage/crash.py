"""Kills a migration before each of its steps in turn, and says for each what was left: `python crash.py FOLDER WHICH`.

A process of its own with one thread, because it divides itself.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from gatewright.storage import sqlite
from gatewright.storage.former_files import former_files
from gatewright.storage.migrations import MIGRATIONS
from gatewright.storage.opening import StateView, is_current, open_state, view_state
from tests.storage.former_folders import content, former_folder

__all__ = ["main"]


def _agree(_: StateView) -> None:
    return


class _Dying:
    """Dies, as by `kill -9`, before step number `at`."""

    def __init__(self, at: int) -> None:
        self._left = at

    def step(self) -> None:
        """One statement, or one rename."""
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _migrate(folder: Path, at: int) -> None:
    dying, execute, rename = _Dying(at), sqlite.Database.execute, Path.rename
    link = Path.hardlink_to

    def executed(self: Any, *given: Any) -> Any:
        dying.step()
        return execute(self, *given)

    def renamed(self: Path, target: Path) -> Path:
        dying.step()
        return rename(self, target)

    def linked(self: Path, target: Path) -> None:
        dying.step()
        link(self, target)

    setattr(Path, "hardlink_to", linked)  # noqa: B010
    setattr(sqlite.Database, "execute", executed)  # noqa: B010 - for this process alone
    setattr(Path, "rename", renamed)  # noqa: B010
    open_state(folder, _agree).close()


def _survives(folder: Path, at: int) -> bool:
    child = os.fork()
    if child == 0:
        try:
            _migrate(folder, at)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _said(folder: Path) -> dict[str, Any]:
    """What whoever only looks sees."""
    found = view_state(folder)
    with closing(found):
        return content(found.readable())


def main(folder: Path, which: str) -> list[str]:
    """What was left each time, in a word."""
    clean = former_folder(folder / "clean", which)
    files = sorted(path.name for path in former_files(clean))
    expected, left = _said(clean), []
    for at in range(1, 10_000):
        state = folder / "state"
        shutil.rmtree(state, ignore_errors=True)
        shutil.copytree(clean, state)
        whole = _survives(state, at)
        left.append(_judged(state, files, expected))
        with closing(open_state(state, _agree)) as database:
            assert content(database) == expected, at
        assert is_current(state)
        assert sorted(path.name for path in state.glob("*.former")) == [
            f"{name}.former" for name in files
        ]
        if whole:
            break
    return left


def _judged(state: Path, files: list[str], expected: dict[str, Any]) -> str:
    place = sqlite.SQLITE.place(state)
    form = 0
    if place is not None:
        with closing(sqlite.SQLITE.look(state)) as engine:
            form = engine.form()
    rest = sorted(path.name for path in former_files(state))
    assert form in {0, len(MIGRATIONS)}, form
    if not form:
        assert rest == files
        assert _said(state) == expected
        return "old"
    assert _said(state) == expected
    return "new, files to rename" if rest else "new"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
