"""Reads the SQLite and JSON state files of former versions for migration to `state.db`, and renames them afterwards.

They are read, taken over and put aside, and never written. Whoever holds one for the migration has it alone: no process of
an older version has it open, none can open it meanwhile, and one that waits to do so is refused by SQLite when it writes, because the
file has another name by then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gatewright.storage.errors import StoreBusyError, StoreError, StoreTooNewError
from gatewright.storage.migrations import MIGRATIONS
from gatewright.storage.schema import columns_of
from gatewright.storage.sqlite import Database, DatabaseError
from gatewright.storage.state import Head

__all__ = ["FILES", "Held", "Put", "former_files", "held", "put_aside", "put_aside_in", "shown"]

Put = Callable[[str, tuple[str, ...], tuple[Any, ...]], None]
"""Takes one row: its table in the state database, columns, values."""


class _File(NamedTuple):
    """One SQLite file: its section, its last form, the table whose rows were counted, and its tables as they are called
    now → as they were."""

    section: str
    form: int
    counted: str
    tables: Mapping[str, str]


_DATABASES = {
    "keys.db": _File("keys", 2, "key_changes", {"keys": "keys"}),
    "grants.db": _File("grants", 1, "grant_changes", {"grants": "grants"}),
    "permissions.db": _File("permissions", 1, "permission_changes", {"permissions": "permissions"}),
    "pins.db": _File("pins", 2, "pin_changes", {"pins": "pins", "tool_names": "names"}),
    "approvals.db": _File(
        "approvals",
        3,
        "approval_changes",
        {"approvals": "approvals", "approval_votes": "approval_votes"},
    ),
    "server_tasks.db": _File("tasks", 1, "", {"server_tasks": "server_tasks"}),
}
_SPELLED = {("server_tasks", "number"): "rowid", ("recorded", "ends"): '"offset"'}
"""Columns that had another name, or none."""
_BEFORE = {
    ("keys", "said", 2): "NULL",
    ("keys", "replaced_by", 2): "NULL",
    (
        "approvals",
        "kind",
        2,
    ): "CASE WHEN agent = 'local' THEN 'owner' WHEN agent LIKE '% operator' THEN 'operator' ELSE 'agent' END",
    (
        "approvals",
        "agent",
        2,
    ): "CASE WHEN agent LIKE '% operator' THEN substr(agent, 1, length(agent) - 9) ELSE agent END",
    # In no file of its own ever.
    ("approval_votes", "scope", 4): "NULL",
    ("approval_votes", "ends", 4): "NULL",
    ("approval_votes", "key_id", 4): "NULL",
    ("approvals", "edited", 3): "''",
    ("approvals", "session", 4): "NULL",
    ("server_tasks", "rights", 2): "NULL",
}
"""What stands for a column in a file of a form below this one."""
_ASIDE = ".former"
_FIRST = "keys.db"
"""What every gateway of a former version opens first, and nearly every command."""


class _Word(msgspec.Struct, omit_defaults=True):
    """What was said of one participant."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    blocked: bool = False
    by: str = ""
    at: str = ""
    reason: str = ""


class _Rooms(msgspec.Struct):
    mark: int
    steps: int
    words: dict[str, _Word]


class _Registered(msgspec.Struct):
    mark: int
    steps: int
    requests: list[dict[str, Any]]


class Held(NamedTuple):
    """One file whose content nobody changes now."""

    path: Path
    section: str
    take: Callable[[Put], tuple[Head, str]]
    """Hands out every row; which section it is and how far, and a digest of everything. Raises `StoreError`."""


def _rooms(text: bytes) -> tuple[int, int, list[tuple[str, str]]]:
    try:
        kept = msgspec.json.decode(text, type=_Rooms)
    except msgspec.ValidationError:  # of a gateway that did not count
        kept = _Rooms(0, 0, msgspec.json.decode(text, type=dict[str, _Word]))
    words = [(name, msgspec.json.encode(word).decode()) for name, word in kept.words.items()]
    return kept.mark, kept.steps, words


def _registered(text: bytes) -> tuple[int, int, list[tuple[str, str]]]:
    try:
        kept = msgspec.json.decode(text, type=_Registered)
    except msgspec.ValidationError:  # of a gateway that did not count
        kept = _Registered(0, 0, msgspec.json.decode(text, type=list[dict[str, Any]]))
    requests = [msgspec.json.encode(one).decode() for one in kept.requests]
    return kept.mark, kept.steps, [(str(at), one) for at, one in enumerate(requests)]


_TEXTS = {
    "rooms.json": ("rooms", _rooms),
    "registered-tools.json": ("registrations", _registered),
}
FILES: Mapping[str, str] = {
    **{name: one.section for name, one in _DATABASES.items()},
    **{name: section for name, (section, _) in _TEXTS.items()},
}
"""The files, and whose section each became."""


def former_files(folder: Path) -> list[Path]:
    """Those that lie in a folder. Raises `StoreError`."""
    try:
        found = [path for name in FILES if (path := folder / name).exists()]
        return [one for one in found if one.name != _FIRST or not _is_stone(one)]
    except OSError as problem:
        raise StoreError(
            f"the files of {folder} cannot be read: {problem}; check its owner and mode"
        ) from problem


def _is_stone(path: Path) -> bool:
    return path.is_file() and Database.is_foreign(path)


@contextmanager
def held(path: Path, *, alone: bool) -> Iterator[Held]:
    """One file, kept from all other processes while inside, or, not `alone`, as it is at this moment.

    Raises `StoreBusyError` where another process has it open, `StoreError` where it cannot be read.
    """
    if path.name in _TEXTS:
        section, read = _TEXTS[path.name]
        yield Held(path, section, lambda put: _take_text(path, section, read, put))
        return
    file = _DATABASES[path.name]
    with _damage(path):
        database = Database.open_to_hold(path) if alone else Database.open_to_look(path)
    try:
        with _damage(path):
            if alone and not database.hold():
                raise StoreBusyError(
                    f"another process of an older Gatewright uses {path}: end it, and try again"
                )
            if not alone:
                database.execute("BEGIN")
            _check(database, path, file)
        yield Held(path, file.section, lambda put: _take_rows(database, path, file, put))
    finally:
        database.close()


def put_aside(one: Held) -> None:
    """Give a file that was taken over another name; in the place of the first one a former version finds a file that it refuses,
    because it would take an empty folder for a new one. Raises `StoreError`."""
    path = shown(one.path)
    try:
        if one.path.name != _FIRST:
            one.path.rename(path)
            return
        stone = one.path.with_name(f".{_FIRST}.new")
        Database.make_foreign(stone)
        # Linked, then replaced: at no moment is there neither, which a former version would take for an empty folder.
        if not path.exists():
            path.hardlink_to(one.path)
        stone.rename(one.path)
    except (OSError, DatabaseError) as problem:
        raise StoreError(f"{one.path} cannot be renamed: {problem}") from problem


def put_aside_in(folder: Path, but: Collection[str]) -> list[str]:
    """The files of a folder that a state database has taken over: those that lie there under their other name, or whose place
    is taken. Not those of the sections `but`, whose files this process may have open."""
    others = [name for name, section in FILES.items() if section not in but]
    return [name for name in others if _is_aside(folder / name)]


def _is_aside(path: Path) -> bool:
    return path.with_name(path.name + _ASIDE).exists() or (path.name == _FIRST and _is_stone(path))


def shown(path: Path) -> Path:
    """The name that a file gets which was taken over: one that is free, or that a crash has given it already."""
    for number in range(1, 1000):
        found = path.with_name(path.name + _ASIDE + (f"-{number}" if number > 1 else ""))
        if not found.exists() or found.samefile(path):
            return found
    raise StoreError(f"a thousand files stand beside {path}: move them away")


def _check(database: Database, path: Path, file: _File) -> None:
    form = database.version()
    if form > file.form:
        raise StoreTooNewError(
            f"{path} was written by a newer Gatewright (form {form}): update Gatewright"
        )
    # Before anything is taken over: a damaged page could hide a row that forbids something.
    (said,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise StoreError(_damaged(path, said))


def _take_rows(database: Database, path: Path, file: _File, put: Put) -> tuple[Head, str]:
    with _damage(path):
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        steps = _steps(database, file, tables)
        digest = sha256(repr((database.mark, steps)).encode())
        wanted = {**file.tables, **({file.counted: file.counted} if file.counted else {})}
        if "recorded" in tables:
            wanted["recorded"] = "recorded"
        form = database.version()
        if form < file.form:
            wanted = {now: was for now, was in wanted.items() if was in tables}
        for now, was in wanted.items() if form else ():
            columns = columns_of(now, MIGRATIONS)
            for row in database.execute(_select(now, was, columns, form)):
                digest.update(repr((now, row)).encode())
                put(now, columns, row)
        return _head(database.mark, steps, digest.digest()), digest.hexdigest()


def _steps(database: Database, file: _File, tables: set[str]) -> int:
    if file.counted:
        return database.steps(file.counted) if "sqlite_sequence" in tables else 0
    last = "SELECT coalesce(max(rowid), 0) FROM server_tasks"
    return int(database.execute(last).fetchone()[0]) if "server_tasks" in tables else 0


def _select(now: str, was: str, columns: Iterable[str], form: int) -> str:
    other = {
        name: said
        for (table, name, below), said in _BEFORE.items()
        if table == now and form < below
    }
    names = ", ".join(other.get(name) or _SPELLED.get((now, name), name) for name in columns)
    return f"SELECT {names} FROM {was} ORDER BY 1"  # noqa: S608 - constants


def _take_text(
    path: Path,
    section: str,
    read: Callable[[bytes], tuple[int, int, list[tuple[str, str]]]],
    put: Put,
) -> tuple[Head, str]:
    try:
        text = path.read_bytes()
        mark, steps, documents = read(text)
    except (OSError, msgspec.MsgspecError, ValueError) as problem:
        raise StoreError(_damaged(path, problem)) from problem
    columns = columns_of("documents", MIGRATIONS)
    for place, (name, body) in enumerate(documents):
        put("documents", columns, (section, name, place, body))
    digest = sha256(text)
    return _head(mark, steps, digest.digest()), digest.hexdigest()


def _head(mark: int, steps: int, digest: bytes) -> Head:
    """A file without a mark is one of a version that gave none: it gets the same one however often it is read."""
    # Shifted into 31 bits, as SQLite's `application_id` is signed; 0 stands for no mark.
    return Head(mark or int.from_bytes(digest[:4]) >> 1 or 1, steps)


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    try:
        yield
    except DatabaseError as problem:
        raise StoreError(_damaged(path, problem)) from problem


def _damaged(path: Path, problem: object) -> str:
    return f"{path} cannot be read: {problem}; put it back from a backup, or move it away"
