"""`Issued` grants (MGP §5.4): state-database rows, copy in memory: issue, revoke, bind to tool digests; outbox of changes to audit.

They stand beside what the configuration intends (`access/grants.py` says how the two are read together)
and survive the gateway. Questions are answered from the layer and touch no database.

What another process changes meanwhile (`gatewright grant`) is read when the state database is looked at, several times a second. Each
change leaves a row in `grant_changes` in the same transaction, until the gateway has put it into the audit trail (`changes`,
`recorded`): also a change made while no gateway ran gets there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, get_args

import msgspec

from gatewright.access.grants import Grant, Key, Layer, Permission
from gatewright.mcp.wire.permissions import canonical_permission
from gatewright.schemas.lookalikes import composed, spellings
from gatewright.storage.changes import Changes
from gatewright.storage.migrations import upsert
from gatewright.storage.state import StateDatabase

__all__ = ["NAME_CHARS", "GrantChange", "Issued"]

_COLUMNS = (
    "agent, server, tool, permission, granted_by, granted_at, expires_at, justification, "
    "permissions, tool_digest"
)
_KEY = "agent = ? AND server = ? AND tool = ?"
_PUT = upsert("grants")
_WHOLE_SERVER = ""
NAME_CHARS = 256
"""So long may a name in a grant be."""
_TEXT_CHARS = 2000


class GrantChange(msgspec.Struct, frozen=True):
    """One change that the audit trail does not have yet."""

    number: int
    time: float
    action: Literal["granted", "revoked"]
    by: str
    grant: Grant
    """What was issued, or what is gone."""


class Issued:
    """The issued grants in one state database. Use it from one thread at a time."""

    def __init__(self, state: StateDatabase, *, clock: Callable[[], float]) -> None:
        """`clock` gives Unix seconds. Raises `StoreError`."""
        self._rows = state.section("grants", "the grants")
        self._changes = Changes(self._rows, "grant_changes", ("time", "action", "who", "word"))
        self._clock = clock
        self._unbound: dict[Key, Grant] = {}
        self.layer = Layer()
        """What holds, for `Grants`."""
        self._rows.listen(self._load, rereads=True)
        self._load()

    def grant(self, grant: Grant, *, by: str) -> Grant:
        """Issue one word, in place of the one with the same key, its agent in whatever Unicode form. The result has the time in it.

        `by` says who did it, for the record. Raises `ValueError` for a grant that cannot be,
        `StoreError` when the database does not take it.
        """
        agent = composed(grant.agent)
        grant = msgspec.structs.replace(grant, agent=agent, granted_at=self._clock())
        _check(grant)
        _, *others = _forms(grant.key)
        with self._rows.changing():
            for one in others:
                self._rows.execute(f"DELETE FROM grants WHERE {_KEY}", _spelled(one))  # noqa: S608 - a constant
            self._rows.execute(
                _PUT,
                _row(grant),
            )
            self._note("granted", grant, by)
        self._forget(others)
        self._keep(grant)
        self._rows.read()
        return grant

    def revoke(self, key: Key, *, by: str) -> Grant:
        """Take one word back and return it, the one of each Unicode form of its agent.

        Raises `KeyError` where none was issued for the key, `StoreError` when the database does not
        take it.
        """
        forms = _forms(key)
        gone: list[Grant] = []
        with self._rows.changing():
            for one in forms:
                found = self._rows.execute(
                    f"DELETE FROM grants WHERE {_KEY} RETURNING {_COLUMNS}",  # noqa: S608 - a constant
                    _spelled(one),
                ).fetchall()
                gone += map(_grant, found)
            if not gone:
                raise KeyError(key)
            for grant in gone:
                self._note("revoked", grant, by)
        self._forget(forms)
        self._rows.read()
        return gone[0]

    def _forget(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self.layer.remove(key)
            self._unbound.pop(key, None)

    def unbound(self) -> list[Grant]:
        """The words that allow a tool and do not name the definition they were given for."""
        return list(self._unbound.values())

    def is_unbound(self, grant: Grant) -> bool:
        """Whether this very word still is one of those."""
        return self._unbound.get(grant.key) == grant

    def bind(self, key: Key, digest: str, *, granted_at: float | None = None) -> None:
        """From now on a word counts for this definition of its tool alone. One that names a
        definition already keeps it, and so does one that was given at another time than `granted_at`. Raises `StoreError`."""
        with self._rows.changing():
            bound = self._rows.execute(
                # Only once: a server that changes its definition must not get a grant bound to the new one.
                f"UPDATE grants SET tool_digest = ? WHERE {_KEY} AND tool_digest IS NULL "  # noqa: S608
                f"AND granted_at = coalesce(?, granted_at) RETURNING {_COLUMNS}",
                (digest, *_spelled(key), granted_at),
            ).fetchone()
            self._rows.step()  # an older copy would bind the word to something else
        if bound is None:  # another process was faster
            self._load()
        else:
            self._keep(_grant(bound))
            self._rows.read()

    def grants(self) -> list[Grant]:
        """Everything that was issued and not taken back, by agent, server and tool; expired words
        included. Raises `StoreError`."""
        with self._rows.reading():
            rows = self._rows.rows(
                f"SELECT {_COLUMNS} FROM grants ORDER BY agent, server, tool"  # noqa: S608 - a constant
            )
            return [_grant(row) for row in rows]

    def changes(self) -> list[GrantChange]:
        """Changes that the audit trail does not have yet, oldest first. Raises `StoreError`."""
        with self._rows.reading():
            return [
                GrantChange(number, time, action, who, msgspec.json.decode(word, type=Grant))
                for number, time, action, who, word in self._changes.waiting()
            ]

    def recorded(self, number: int) -> None:
        """The audit trail has every change up to `number`. Raises `StoreError`."""
        self._changes.recorded(number)

    def close(self) -> None:
        """Nothing is followed any more."""
        self._rows.close()

    def _load(self) -> None:
        grants = self.grants()
        self._rows.read()
        self.layer.replace(grants)
        self._unbound = {one.key: one for one in grants if _is_unbound(one)}

    def _keep(self, grant: Grant) -> None:
        self.layer.put(grant)
        if _is_unbound(grant):
            self._unbound[grant.key] = grant
        else:
            self._unbound.pop(grant.key, None)

    def _note(self, action: str, grant: Grant, by: str) -> None:
        self._changes.add(self._clock(), action, by, msgspec.json.encode(grant).decode())


def _is_unbound(grant: Grant) -> bool:
    return grant.tool is not None and grant.tool_digest is None and grant.permission == "allow"


def _forms(key: Key) -> list[Key]:
    """The key in each Unicode form of its agent, itself first."""
    agent, server, tool = key
    return [(form, server, tool) for form in spellings(agent)]


def _spelled(key: Key) -> tuple[str, str, str]:
    agent, server, tool = key
    return agent, server, _WHOLE_SERVER if tool is None else tool


def _row(grant: Grant) -> tuple[Any, ...]:
    permissions = msgspec.json.encode(grant.permissions).decode()
    return (
        *_spelled(grant.key),
        grant.permission,
        grant.granted_by,
        grant.granted_at,
        grant.expires_at,
        grant.justification,
        permissions,
        grant.tool_digest,
    )


def _grant(row: Sequence[Any]) -> Grant:
    agent, server, tool, permission, by, at, expires, why, permissions, digest = row
    return Grant(
        agent,
        server,
        None if tool == _WHOLE_SERVER else tool,
        permission,
        by,
        at,
        expires,
        why,
        msgspec.json.decode(permissions, type=tuple[str, ...]),
        digest,
    )


def _check(grant: Grant) -> None:
    names = [grant.agent, grant.server, *([] if grant.tool is None else [grant.tool])]
    for name in names:
        if not _is_name(name):
            raise ValueError(
                "a grant names an agent, a server and perhaps a tool, each in 1 to "
                f"{NAME_CHARS} printable characters"
            )
    if grant.permission not in get_args(Permission):
        raise ValueError(f"a grant says allow or deny, not {grant.permission!r}")
    if not _is_name(grant.granted_by) or len(grant.justification) > _TEXT_CHARS:
        raise ValueError(
            f"granted_by is a name, and a justification at most {_TEXT_CHARS} characters long"
        )
    unknown = [one for one in grant.permissions if canonical_permission(one) != one]
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is no permission: write one of MGP §3.2, such as filesystem.read, or a "
            "name of your own like com.example.reports"
        )
    if grant.permissions and grant.permission == "deny":
        raise ValueError("permissions go with a grant that allows, not with one that denies")


def _is_name(text: str) -> bool:
    return 1 <= len(text) <= NAME_CHARS and text.isprintable() and text == text.strip()
