"""`forget_old`: deletes requests for approval that were over before a time, with their votes, a few at a time, found by an index."""

from __future__ import annotations

from gatewright.storage.state import Section

__all__ = ["forget_old"]

_EACH = 100
"""So many of each kind of what is over are forgotten at a time."""
_OVER = (
    *(f"state = '{one}'" for one in ("denied", "used", "expired")),
    "state = 'approved' AND kind = 'server'",
)
"""What is over, each found by the index; other approvals are until they are used or expire."""
_FORGOTTEN = (
    "DELETE FROM approval_votes WHERE approval IN ({})",
    "DELETE FROM approvals WHERE id IN ({})",
)


def forget_old(rows: Section, before: float) -> bool:
    """Whether none are left that were over before that Unix second. It writes: within a transaction of `rows` that tidies."""
    each = [_older(rows, one, before) for one in _OVER]
    for sql in _FORGOTTEN:
        for gone in filter(None, each):
            marks = ", ".join("?" * len(gone))
            rows.execute(sql.format(marks), tuple(gone))
    return all(len(gone) < _EACH for gone in each)


def _older(rows: Section, old: str, before: float) -> list[str]:
    found = rows.execute(
        f"SELECT id FROM approvals WHERE {old} AND expires < ? LIMIT ?",  # noqa: S608 - constants
        (before, _EACH),
    )
    return [id for (id,) in found.fetchall()]
