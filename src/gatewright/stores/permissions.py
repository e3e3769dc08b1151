"""What operators said about the permissions of servers (MGP §3): rows in a database, and all of them in memory.

A word is about one server and one permission; a later word takes the place of an earlier one. It holds until its time is
over, over restarts of server and gateway. Where there is no word, the policy decides (`compose/permitting.py`).

Another process may write meanwhile (`gatewright server permit`): whoever owns this store calls `refresh_if_changed`
several times a second. Each change leaves a row in `permission_changes` in the same transaction, until the gateway has
put it into the audit trail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from gatewright.stores.database import Database

__all__ = ["DATABASE", "PermissionChange", "Permissions", "Word"]

DATABASE = "permissions.db"
"""Its file in the state folder."""
_MIGRATIONS = (
    (
        """CREATE TABLE permissions (
            server TEXT NOT NULL, permission TEXT NOT NULL, value TEXT NOT NULL, by TEXT NOT NULL,
            decided REAL NOT NULL, expires REAL, comment TEXT NOT NULL, PRIMARY KEY (server, permission)
        ) STRICT, WITHOUT ROWID""",
        """CREATE TABLE permission_changes (
            number INTEGER PRIMARY KEY AUTOINCREMENT, action TEXT NOT NULL, word TEXT NOT NULL
        ) STRICT""",
    ),
)
_COMMENT_CHARS = 500
_NAME_CHARS = 256
_WHAT = "the permissions"

Action = Literal["granted", "denied", "revoked", "expired"]


class Word(msgspec.Struct, frozen=True):
    """What an operator said. Times are Unix seconds."""

    server: str
    permission: str
    value: Literal["approved", "denied"]
    by: str
    decided: float = 0.0
    expires: float | None = None
    comment: str = ""

    def holds(self, now: float) -> bool:
        """Whether it counts at Unix second `now`."""
        return self.expires is None or now < self.expires


class PermissionChange(msgspec.Struct, frozen=True):
    """One change that the audit trail does not have yet. `revoked` is a no to what had been approved."""

    number: int
    action: Action
    word: Word


class Permissions:
    """The words of one state folder. Use it from one thread at a time. Every method raises `StoreError`."""

    def __init__(self, path: Path, *, clock: Callable[[], float]) -> None:
        """Open or create the database at `path`; `clock` gives Unix seconds."""
        self._database = Database.open(path, _MIGRATIONS)
        self._clock = clock
        self._seen = -1
        self._words: dict[tuple[str, str], Word] = {}
        self._ends = float("inf")
        self.refresh_if_changed()

    def word(self, server: str, permission: str) -> Word | None:
        """What was said and holds."""
        found = self._words.get((server, permission))
        return found if found is not None and found.holds(self._clock()) else None

    @property
    def words(self) -> Mapping[tuple[str, str], Word]:
        """Everything that was said, as it was read last; another mapping whenever it is read again."""
        return self._words

    def of(self, server: str) -> list[Word]:
        """Everything that was said about a server and holds, by permission."""
        now = self._clock()
        return [one for one in self._words.values() if one.server == server and one.holds(now)]

    def put(self, word: Word) -> Word:
        """Say something, and return it with the time in it. Raises `ValueError` for what cannot be said."""
        word = msgspec.structs.replace(
            word, decided=self._clock(), comment=word.comment[:_COMMENT_CHARS]
        )
        for name in (word.server, word.permission, word.by):
            if not 1 <= len(name) <= _NAME_CHARS or not name.isprintable():
                raise ValueError(f"a name has 1 to {_NAME_CHARS} printable characters")
        with self._database.changing(_WHAT):
            before = self._get(word.server, word.permission)
            had = before is not None and before.value == "approved" and before.holds(word.decided)
            action: Action = "granted" if word.value == "approved" else "denied"
            self._database.execute(
                "INSERT OR REPLACE INTO permissions VALUES (?, ?, ?, ?, ?, ?, ?)",
                msgspec.structs.astuple(word),
            )
            self._note("revoked" if had and action == "denied" else action, word)
        self._load()
        return word

    def refresh_if_changed(self) -> bool:
        """Read the words again if another process has changed them or one has come to its end. A few
        microseconds if not."""
        with self._database.reported(_WHAT):
            if self._database.data_version() == self._seen and self._clock() < self._ends:
                return False
        self._expire()
        self._load()
        return True

    def changes(self) -> list[PermissionChange]:
        """Changes that the audit trail does not have yet, oldest first."""
        with self._database.reported(_WHAT):
            rows = self._database.execute(
                "SELECT number, action, word FROM permission_changes ORDER BY number"
            ).fetchall()
        return [
            PermissionChange(number, action, msgspec.json.decode(word, type=Word))
            for number, action, word in rows
        ]

    def recorded(self, number: int) -> None:
        """The audit trail has every change up to `number`."""
        with self._database.changing(_WHAT):
            self._database.execute("DELETE FROM permission_changes WHERE number <= ?", (number,))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _expire(self) -> None:
        """What has come to its end goes, and leaves its row for the record."""
        now = self._clock()
        with self._database.reported(_WHAT):
            due = self._database.execute(
                "SELECT 1 FROM permissions WHERE expires <= ? LIMIT 1", (now,)
            ).fetchone()
        if due is None:
            return
        with self._database.changing(_WHAT):
            rows = self._database.execute(
                "DELETE FROM permissions WHERE expires <= ? RETURNING *", (now,)
            ).fetchall()
            for row in rows:
                self._note("expired", Word(*row))

    def _load(self) -> None:
        with self._database.reported(_WHAT):
            self._seen = (
                self._database.data_version()
            )  # first: what changes meanwhile is read again
            rows = self._database.execute(
                "SELECT * FROM permissions ORDER BY server, permission"
            ).fetchall()
        words = [Word(*row) for row in rows]
        self._words = {(one.server, one.permission): one for one in words}
        self._ends = min((one.expires for one in words if one.expires is not None), default=_NEVER)

    def _get(self, server: str, permission: str) -> Word | None:
        row = self._database.execute(
            "SELECT * FROM permissions WHERE server = ? AND permission = ?", (server, permission)
        ).fetchone()
        return None if row is None else Word(*row)

    def _note(self, action: Action, word: Word) -> None:
        self._database.execute(
            "INSERT INTO permission_changes (action, word) VALUES (?, ?)",
            (action, msgspec.json.encode(word).decode()),
        )


_NEVER = float("inf")
