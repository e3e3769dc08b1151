"""All schema migrations of the state database, in order, for all features; names of its sections and which are anchored; upsert statement.

The form of a database is how many of them it has had. Nothing in this list is ever changed: what is needed later is a migration more.
"""

from __future__ import annotations

from gatewright.storage.schema import Column, Index, Migration, Table, columns_of

__all__ = ["ANCHORED", "MIGRATIONS", "SECTIONS", "upsert"]

ANCHORED = (
    "keys",
    "grants",
    "permissions",
    "pins",
    "approvals",
    "rooms",
    "registrations",
    "servers",
    "stopped",
)
"""Sections that can forbid something: the audit trail knows how many steps each of them has taken."""
SECTIONS = (*ANCHORED, "tasks")
"""The parts of the database that change independently of each other, one for each store."""

_BASE = Migration(
    "sections, and the place of the record",
    (
        Table(
            "sections",
            ("name",),
            {"name": "text", "mark": "integer", "steps": "integer", "version": "integer"},
        ),
        Table(
            "recorded",
            ("one",),
            {
                "one": "integer",
                "seq": "integer",
                "hash": "text",
                "segment": "integer",
                "ends": "integer",
            },
        ),
        Table("former_files", ("name",), {"name": "text", "digest": "text"}),
    ),
)
_KEYS = Migration(
    "API keys",
    (
        Table(
            "keys",
            ("id",),
            {
                "id": "text",
                "digest": "bytes",
                "name": "text",
                "kind": "text",
                "created": "real",
                "expires": "real?",
                "revoked": "real?",
                "last_used": "real?",
                "said": "text?",
                "replaced_by": "text?",
            },
        ),
        Table(
            "key_changes",
            ("number",),
            {
                "number": "integer",
                "time": "real",
                "action": "text",
                "key_id": "text",
                "name": "text",
                "kind": "text",
                "who": "text",
            },
        ),
    ),
)
_GRANTS = Migration(
    "issued grants",
    (
        Table(
            "grants",
            ("agent", "server", "tool"),
            {
                "agent": "text",
                "server": "text",
                "tool": "text",
                "permission": "text",
                "granted_by": "text",
                "granted_at": "real",
                "expires_at": "real?",
                "justification": "text",
                "permissions": "text",
                "tool_digest": "text?",
            },
        ),
        Table(
            "grant_changes",
            ("number",),
            {
                "number": "integer",
                "time": "real",
                "action": "text",
                "who": "text",
                "word": "text",
            },
        ),
    ),
)
_PERMISSIONS = Migration(
    "permissions of servers",
    (
        Table(
            "permissions",
            ("server", "permission"),
            {
                "server": "text",
                "permission": "text",
                "value": "text",
                "by": "text",
                "decided": "real",
                "expires": "real?",
                "comment": "text",
            },
        ),
        Table(
            "permission_changes",
            ("number",),
            {"number": "integer", "action": "text", "word": "text"},
        ),
    ),
)
_PINS = Migration(
    "pinned definitions of tools",
    (
        Table(
            "pins",
            ("server", "tool"),
            {
                "server": "text",
                "tool": "text",
                "standing": "text",
                "pinned": "text",
                "seen": "text",
                "digest": "text",
                "why": "text",
                "since": "real",
                "by": "text",
            },
        ),
        Table(
            "pin_changes",
            ("number",),
            {
                "number": "integer",
                "time": "real",
                "action": "text",
                "server": "text",
                "tool": "text",
                "digest": "text",
                "why": "text",
                "by": "text",
            },
        ),
        Table("tool_names", ("server",), {"server": "text", "tools": "text"}),
    ),
)
_APPROVALS = Migration(
    "requests for approval",
    (
        Table(
            "approvals",
            ("id",),
            {
                "id": "text",
                "agent": "text",
                "server": "text",
                "tool": "text",
                "arguments_digest": "text",
                "definition_digest": "text",
                "policy": "text",
                "arguments": "text",
                "risk": "text",
                "reason": "text",
                "quorum": "integer",
                "requested": "real",
                "expires": "real",
                "state": "text",
                "scope": "text",
                "decided": "real?",
                "by": "text",
                "comment": "text",
                "uses": "integer",
                "kind": "text",
                "edited": "text",
            },
        ),
        Index("approvals_asked", "approvals", ("agent", "server", "tool", "state")),
        Index("approvals_ending", "approvals", ("state", "expires")),
        Table(
            "approval_votes",
            ("approval", "operator"),
            {"approval": "text", "operator": "text", "time": "real"},
        ),
        Table(
            "approval_changes",
            ("number",),
            {
                "number": "integer",
                "time": "real",
                "action": "text",
                "approval": "text",
                "by": "text",
            },
        ),
    ),
)
_DOCUMENTS = Migration(
    "participants of rooms, and registered tools",
    (
        Table(
            "documents",
            ("section", "name"),
            {"section": "text", "name": "text", "place": "integer", "body": "text"},
        ),
    ),
)
_TASKS = Migration(
    "tasks of servers",
    (
        Table(
            "server_tasks",
            ("id",),
            {
                "id": "text",
                "server": "text",
                "connection": "text",
                "task": "text",
                "kind": "text",
                "caller": "text",
                "session": "text",
                "tool": "text",
                "ends": "real",
                "number": "integer",
            },
        ),
    ),
)
_SERVERS = Migration("servers that are registered while the gateway runs", ())
"""In `documents`, in a section of their own."""
_VOTES = Migration(
    "what each operator said yes to",
    (
        Column("approval_votes", "scope", "text?"),
        Column("approval_votes", "ends", "real?"),
    ),
)
_HELD = Migration(
    "definitions that are held back are found without looking at all others",
    (Index("pins_standing", "pins", ("standing", "by")),),
)
_TASK_RIGHTS = Migration(
    "with what limits the task of a server was asked for",
    (Column("server_tasks", "rights", "text?"),),
)
_VOTING_KEYS = Migration(
    "by which key each operator said yes",
    (Column("approval_votes", "key_id", "text?"),),
)
_NAMELESS = Migration(
    "requests for approval of callers without a name are told apart by their sessions",
    (Column("approvals", "session", "text?"),),
)
MIGRATIONS: tuple[Migration, ...] = (
    _BASE,
    _KEYS,
    _GRANTS,
    _PERMISSIONS,
    _PINS,
    _APPROVALS,
    _DOCUMENTS,
    _TASKS,
    _SERVERS,
    _VOTES,
    _HELD,
    _TASK_RIGHTS,
    _VOTING_KEYS,
    _NAMELESS,
)


def upsert(table: str) -> str:
    """The statement that puts a row, with every column of the table in its order, in the place of the one with the same key."""
    columns = columns_of(table, MIGRATIONS)
    key = next(
        step.key
        for one in MIGRATIONS
        for step in one.steps
        if isinstance(step, Table) and step.name == table
    )
    marks = ", ".join("?" * len(columns))
    rest = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) "  # noqa: S608 - constants
        f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {rest}"
    )
