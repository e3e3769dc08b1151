"""`Permissions`: operators' decisions on server permissions in the state database, cached, with expiry; outbox of changes to audit.

A decision (`Word`) is about one server and one permission; a later one takes the place of an earlier one. It holds until its
time is over, over restarts of server and gateway. Where there is none, the policy decides (`access/permission_policy.py`).

What another process writes meanwhile (`gatewright server permit`) is read when the state database is looked at, several times
a second. Each change leaves a row in `permission_changes` in the same transaction, until the gateway has put it into
the audit trail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from gatewright.storage.changes import Changes
from gatewright.storage.migrations import upsert
from gatewright.storage.state import StateDatabase

__all__ = ["PermissionChange", "Permissions", "Word"]

_COMMENT_CHARS = 500
_NAME_CHARS = 256
_COLUMNS = "server, permission, value, by, decided, expires, comment"
_PUT = upsert("permissions")

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
    """The words in one state database. Use it from one thread at a time. Every method raises `StoreError`."""

    def __init__(self, state: StateDatabase, *, clock: Callable[[], float]) -> None:
        """`clock` gives Unix seconds."""
        self._rows = state.section("permissions", "the permissions")
        self._changes = Changes(self._rows, "permission_changes", ("action", "word"))
        self._clock = clock
        self._stale = False
        self._words: dict[tuple[str, str], Word] = {}
        self._ends = float("inf")
        self._rows.listen(self._heard, rereads=True)
        self._expire()
        self._load()

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

    def put(self, *words: Word) -> list[Word]:
        """Say something, all of it or nothing, and return it with the time in it. Raises `ValueError` for what cannot be said."""
        now = self._clock()
        said = [
            msgspec.structs.replace(one, decided=now, comment=one.comment[:_COMMENT_CHARS])
            for one in words
        ]
        for name in (name for one in said for name in (one.server, one.permission, one.by)):
            if not 1 <= len(name) <= _NAME_CHARS or not name.isprintable():
                raise ValueError(f"a name has 1 to {_NAME_CHARS} printable characters")
        with self._rows.changing():
            for one in said:
                self._put(one)
        self._load()
        return said

    def _put(self, word: Word) -> None:
        before = self._get(word.server, word.permission)
        had = before is not None and before.value == "approved" and before.holds(word.decided)
        action: Action = "granted" if word.value == "approved" else "denied"
        self._rows.execute(_PUT, msgspec.structs.astuple(word))
        # MGP §6.4 tells a denial of what was allowed (PERMISSION_REVOKED) from one of what was not.
        self._note("revoked" if had and action == "denied" else action, word)

    def refresh_if_changed(self) -> bool:
        """Read the words again where another process was heard to have changed them, or one has come to its end."""
        if not self._stale and self._clock() < self._ends:
            return False
        self._expire()
        self._load()
        return True

    def changes(self) -> list[PermissionChange]:
        """Changes that the audit trail does not have yet, oldest first."""
        with self._rows.reading():
            return [
                PermissionChange(number, action, msgspec.json.decode(word, type=Word))
                for number, action, word in self._changes.waiting()
            ]

    def recorded(self, number: int) -> None:
        """The audit trail has every change up to `number`."""
        self._changes.recorded(number)

    def close(self) -> None:
        """Nothing is followed any more."""
        self._rows.close()

    def _expire(self) -> None:
        """What has come to its end goes, and leaves its row for the record."""
        now = self._clock()
        # Asked first: `changing` writes in any case, and wakes every process that follows the section.
        if not self._rows.rows("SELECT 1 FROM permissions WHERE expires <= ? LIMIT 1", (now,)):
            return
        with self._rows.changing():
            rows = self._rows.execute(
                f"DELETE FROM permissions WHERE expires <= ? RETURNING {_COLUMNS}",  # noqa: S608 - a constant
                (now,),
            ).fetchall()
            for row in rows:
                self._note("expired", Word(*row))

    def _load(self) -> None:
        rows = self._rows.rows(
            f"SELECT {_COLUMNS} FROM permissions ORDER BY server, permission"  # noqa: S608 - a constant
        )
        self._stale = False
        self._rows.read()
        words = [Word(*row) for row in rows]
        self._words = {(one.server, one.permission): one for one in words}
        self._ends = min((one.expires for one in words if one.expires is not None), default=_NEVER)

    def _get(self, server: str, permission: str) -> Word | None:
        row = self._rows.execute(
            f"SELECT {_COLUMNS} FROM permissions WHERE server = ? AND permission = ?",  # noqa: S608 - a constant
            (server, permission),
        ).fetchone()
        return None if row is None else Word(*row)

    def _note(self, action: Action, word: Word) -> None:
        self._changes.add(action, msgspec.json.encode(word).decode())

    def _heard(self) -> None:
        self._stale = True


_NEVER = float("inf")
