"""Whether what an operator said at a time still counts: an API key of that time is in force, and none was revoked since.

Theory. A word is kept under its operator's name, but it was a key that proved the name, and whoever revokes a key says that it may have been
in wrong hands. So a key of the same name that is made afterwards does not bring back what was said before: the operator says it again. A key
that comes to its end by itself proves nothing from then on, but what was decided while it was good was decided.

Read in the transaction of whoever counts: what is revoked at the same time counts or does not, and nothing in between.
"""

from __future__ import annotations

from gatewright.storage.state import Section

__all__ = ["is_operator_since", "revoked_since"]


def revoked_since(rows: Section, operator: str, at: float) -> bool:
    """Whether a key that this operator had then (Unix seconds) has been revoked. `rows` is any section of the state."""
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
