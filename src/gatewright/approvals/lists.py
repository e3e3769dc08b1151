"""`ApprovalLists`: reads approval requests for the console: pending ones (filter, order, pages), any by id, votes, earlier decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from gatewright.approvals.request import Approval, approval_of
from gatewright.approvals.votes import who_voted
from gatewright.storage.state import StateDatabase

__all__ = ["MOST_BEFORE", "ApprovalLists", "Before", "Order", "Place", "Wanted", "place_of"]

MOST_BEFORE = 1_000
"""Of earlier requests in each state that are counted: the newest."""
_DECIDED = ("approved", "used", "denied", "expired")
_COLUMNS = ", ".join(Approval.__struct_fields__)


Order = Literal["oldest", "left", "agent", "server"]
"""What comes first: what has waited longest, what ends first, or by the name of the caller or of server and tool."""

_ORDERS = {
    "oldest": "requested",
    "left": "expires",
    "agent": "agent",
    "server": "server || '/' || tool",
}
Place = tuple[float | str, float, str]
"""Of one request in an order: what it is ordered by, when it was made, and its id."""


def place_of(one: Approval, order: Order) -> Place:
    """Where a request stands."""
    value: float | str = one.requested
    if order == "left":
        value = one.expires
    elif order == "agent":
        value = one.agent
    elif order == "server":
        value = f"{one.server}/{one.tool}"
    return value, one.requested, one.id


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which requests. Members left empty do not restrict."""

    agent: str = ""
    server: str = ""
    risk: str = ""


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided on calls of the same tool by the same caller, as far as the state has it (a month) and by `MOST_BEFORE` at most."""

    approved: int = 0
    denied: int = 0
    same_approved: int = 0
    """Of those the ones with the same arguments."""
    same_denied: int = 0
    last: float | None = None
    """Unix seconds."""


class ApprovalLists:
    """Reads what the store (`Approvals`) of the same database wrote. Every method raises `StoreError`."""

    def __init__(self, state: StateDatabase, clock: Callable[[], float]) -> None:
        """`clock` gives Unix seconds."""
        self._rows = state.section("approvals", "the requests for approval")
        self._clock = clock

    def waiting(
        self, wanted: Wanted, most: int, after: Place | None = None, order: Order = "oldest"
    ) -> list[Approval]:
        """Those that wait, in an order: the first, or those behind one of which this is the place."""
        where, values = self._where(wanted)
        by = _ORDERS[order]
        if after is not None:
            where += f" AND ({by}, requested, id) > (?, ?, ?)"
            values += after
        rows = self._rows.rows(
            f"SELECT {_COLUMNS} FROM approvals {where} ORDER BY {by}, requested, id LIMIT ?",  # noqa: S608 - constants
            (*values, most),
        )
        return [approval_of(row) for row in rows]

    def count(self, wanted: Wanted) -> tuple[int, float | None]:
        """How many wait, and since when the oldest does."""
        where, values = self._where(wanted)
        ((count, oldest),) = self._rows.rows(
            f"SELECT count(*), min(requested) FROM approvals {where}",  # noqa: S608 - constants
            values,
        )
        return count, oldest

    def some(self, ids: tuple[str, ...]) -> list[Approval]:
        """Those of these requests that there are, whatever became of them, oldest first."""
        marks = ", ".join("?" * len(ids))
        rows = self._rows.rows(
            f"SELECT {_COLUMNS} FROM approvals WHERE id IN ({marks}) ORDER BY requested, id",  # noqa: S608 - constants
            ids,
        )
        return [approval_of(row) for row in rows]

    def votes(self, id: str) -> tuple[list[str], list[str]]:
        """Which operators have said yes to a request so far, and of which ones that does not count any more."""
        with self._rows.reading():
            return who_voted(self._rows, id, self._clock())

    def before(self, one: Approval) -> Before:
        """What was decided before on the like of this one."""
        # By the index, whose rows of one key are in the order in which they came: there may be as many as calls of a month.
        newest = " UNION ALL ".join(
            "SELECT * FROM (SELECT id, kind, state, arguments_digest, decided FROM approvals "  # noqa: S608 - constants
            f"WHERE agent = ?1 AND server = ?2 AND tool = ?3 AND state = '{state}' "
            "ORDER BY rowid DESC LIMIT ?4)"
            for state in _DECIDED
        )
        rows = self._rows.rows(
            "SELECT state = 'denied', arguments_digest = ?5, count(*), max(decided) "  # noqa: S608 - constants
            f"FROM ({newest}) WHERE kind = ?6 AND decided IS NOT NULL AND id <> ?7 GROUP BY 1, 2",
            (one.agent, one.server, one.tool, MOST_BEFORE, one.arguments_digest, one.kind, one.id),
        )
        counts = {(bool(denied), bool(same)): count for denied, same, count, _ in rows}
        return Before(
            approved=sum(count for (denied, _), count in counts.items() if not denied),
            denied=sum(count for (denied, _), count in counts.items() if denied),
            same_approved=counts.get((False, True), 0),
            same_denied=counts.get((True, True), 0),
            last=max((last for *_, last in rows), default=None),
        )

    def _where(self, wanted: Wanted) -> tuple[str, tuple[Any, ...]]:
        said = {name: value for name, value in msgspec.structs.asdict(wanted).items() if value}
        where = "".join(f" AND {name} = ?" for name in said)
        return f"WHERE state = 'pending' AND expires > ?{where}", (self._clock(), *said.values())
