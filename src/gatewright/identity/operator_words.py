"""Whether what an operator said still counts: the API key that said it is in force, or not revoked; by name and time where no key is known.

Theory. A word is kept under its operator's name, but it was a key that proved the name, and whoever revokes a key says that it may have been
in wrong hands. So what is said is kept with the id of that key, and no other key of the same name stands for it: the operator says it again. A key
that comes to its end by itself, also after an overlap with its successor, proves nothing from then on, but what was decided while it was good was decided.

What was kept before ids were is judged by the keys that the name had at that time (`is_operator_since`, `revoked_since`).

Read in the transaction of whoever counts: what is revoked at the same time counts or does not, and nothing in between.
"""

from __future__ import annotations

from gatewright.storage.state import Section

__all__ = ["is_in_force", "is_operator_since", "is_revoked", "revoked_since"]


def is_in_force(rows: Section, operator: str, key: str, now: float) -> bool:
    """Whether this very key is one of this operator, and neither revoked nor at its end now (Unix seconds). `rows` is any section of the state."""
    asked = (
        "SELECT 1 FROM keys WHERE id = ? AND name = ? AND kind = 'operator' "
        "AND revoked IS NULL AND (expires IS NULL OR expires > ?)"
    )
    return rows.execute(asked, (key, operator, now)).fetchone() is not None


def is_revoked(rows: Section, key: str) -> bool:
    """Whether this key has been revoked, also after its end. One that is not there was: nobody can tell."""
    asked = "SELECT 1 FROM keys WHERE id = ? AND revoked IS NULL"
    return rows.execute(asked, (key,)).fetchone() is None


def revoked_since(rows: Section, operator: str, at: float) -> bool:
    """Whether a key that this operator had then (Unix seconds) has been revoked."""
    asked = (
        "SELECT 1 FROM keys WHERE name = ? AND kind = 'operator' AND created <= ? AND revoked >= ?"
    )
    return rows.execute(asked, (operator, at, at)).fetchone() is not None


def is_operator_since(rows: Section, operator: str, at: float, now: float) -> bool:
    """Whether this operator has a key in force that was so then, and none was revoked since."""
    asked = (
        "SELECT 1 FROM keys WHERE name = ? AND kind = 'operator' AND created <= ? "
        "AND revoked IS NULL AND (expires IS NULL OR expires > ?)"
    )
    held = rows.execute(asked, (operator, at, now)).fetchone() is not None
    return held and not revoked_since(rows, operator, at)
