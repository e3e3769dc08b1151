"""State folders as former versions left them, made from what `former/build.py.txt` wrote down with the code of those versions."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from gatewright.storage.former_files import FILES
from gatewright.storage.state import StateDatabase

__all__ = ["ALL", "AT_HEAD", "content", "former_folder"]

AT_HEAD = "with_anchors"
"""The last version before `state.db`: the record knows every store."""
ALL = ("without_anchors", AT_HEAD)
"""The first is 42dbf9b."""


def former_folder(folder: Path, which: str) -> Path:
    """Such a folder."""
    folder.mkdir(parents=True, mode=0o700)
    said = json.loads((Path(__file__).parent / "former" / f"{which}.json").read_text())
    for name, one in said.items():
        if isinstance(one, str):
            (folder / name).write_text(one)
        else:
            _database(folder / name, one)
        (folder / name).chmod(0o600)
    (folder / "lock").write_text("recorded\n")
    return folder


def _database(path: Path, said: dict[str, Any]) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript("\n".join(said["sql"]))
        if said["sequence"]:
            database.execute("DELETE FROM sqlite_sequence")
            database.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", said["sequence"])
        database.commit()
        for name, value in said["pragmas"].items():
            database.execute(f"PRAGMA {name} = {value}")
        database.execute("PRAGMA journal_mode = WAL")


_TABLES = (
    *("keys", "key_changes", "grants", "grant_changes", "permissions", "permission_changes"),
    *("pins", "pin_changes", "tool_names", "approvals", "approval_votes", "approval_changes"),
    *("documents", "server_tasks", "recorded", "former_files"),
)


def content(state: StateDatabase) -> dict[str, list[Any]]:
    """Everything that a state says; which section it is only where a former file said so."""
    execute = state.engine.execute
    found = {one: execute(f"SELECT * FROM {one} ORDER BY 1, 2").fetchall() for one in _TABLES}  # noqa: S608
    known = {name for name, *_ in found["former_files"]}
    heads = {name: tuple(head) for name, head in state.heads().items()}
    for name in heads.keys() - FILES.values():  # never in a file of its own
        heads[name] = (0, heads[name][1])
    if "server_tasks.db" not in known:
        heads["tasks"] = (0, heads["tasks"][1])
    return found | {"heads": sorted(heads.items())}
