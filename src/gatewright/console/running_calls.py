"""`RunningCalls`: calls in flight: caller, tool, server, the gate each waits in, since when; an operator stops one and its pending approval."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.approvals.asked_calls import AskedCalls
from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import CannotDecideError
from gatewright.audit.records import Subject
from gatewright.call import Call, Refusal
from gatewright.console.config_edits import recorded
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import Column, Paged, Shown, Table
from gatewright.console.operations import ApiError, Asking, Operation, change, see
from gatewright.gate_waits import Present

__all__ = ["RunningAsked", "RunningCall", "RunningCalls", "RunningPage", "Stopping"]

Text = Annotated[str, Meta(max_length=500)]
_ASKS = "confirm"
"""The gate in which a call waits for a person."""
_LONGEST_S = 1e9
_SHORT = 12
"""So many characters of a session's id name it, as everywhere."""


class RunningAsked(Paged, frozen=True, kw_only=True):
    """Which calls. Members left empty do not restrict."""

    agent: Text = ""
    server: Text = ""
    session: Text = ""
    """The beginning of its id."""
    least_s: Annotated[float, Meta(ge=0, le=_LONGEST_S)] = 0.0
    """Only those that have been where they are for so long."""
    sort: Literal["since", "agent", "server", "tool"] = "since"


class Stopping(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call is stopped: for the record, and for its caller."""

    reason: Annotated[str, Meta(max_length=500)]


class RunningCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call."""

    id: str
    agent: str
    server: str
    name: str
    """Of the tool, prompt or resource; the method of anything else."""
    since: float
    """Since when it is where it is, in Unix seconds."""
    gate: str
    """The gate that it waits in: `confirm` waits for a person. Empty where it is with its server."""
    session: str
    trace_id: str


class RunningPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of them, in the order that was asked for; the longest first where none was."""

    calls: list[RunningCall]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where there is none."""


_COLUMNS = (
    Column("How long", "since", lambda one: one.since, turned=True),
    Column("Agent", "agent", lambda one: one.agent),
    Column("Server", "server", lambda one: one.server),
    Column("Call", "tool", lambda one: one.name),
    Column("Where it is"),
)


class RunningCalls:
    """Of one gateway."""

    def __init__(self, parts: Dependencies) -> None:
        self._kernel = parts.gateway.inside.kernel
        self._queue = parts.ground.of(ApprovalQueue)
        self._asked = parts.ground.of(AskedCalls)
        self._audit = parts.ground.audit
        self._changes = parts.changes
        self._began = parts.clock() - monotonic()
        """The Unix time at which the monotonic clock stood at 0: asked for once, so that places in the list stay where they are."""
        self._table: Table[RunningCall] = Table(
            "/live/running", RunningAsked, _COLUMNS, lambda one: one.id, _fits
        )
        self.operations: Sequence[Operation] = (
            see(
                "calls.running",
                "/calls/running",
                "List the calls that run, or wait in a gate, the longest first",
                self.all,
                takes=RunningAsked,
                gives=RunningPage,
            ),
            change(
                "calls.stop",
                "/calls/{id}/stop",
                "End a call that runs; its caller is told why",
                self.stop,
                takes=Stopping,
                gives=RunningCall,
            ),
        )

    async def all(self, asking: Asking) -> RunningPage:
        """Sorted, filtered, one page. Raises `ApiError`."""
        asked: RunningAsked = asking.given
        until = self._began + monotonic() - asked.least_s
        rows = [_row(one, self._began) for one in self._kernel.present()]
        long = [one for one in rows if one.since <= until]
        calls, total, more = await self._table.page(long, asked)
        return RunningPage(calls=calls, total=total, next=more)

    def shown(self, asked: RunningAsked, page: RunningPage) -> Shown:
        """What is drawn around a page of them."""
        return self._table.shown(asked, page.next)

    async def stop(self, asking: Asking) -> RunningCall:
        """Raises `ApiError`, `StoreError`, `Unrecorded`."""
        id, why = asking.path["id"], asking.given.reason.strip()
        if not why:
            raise ApiError(422, "no_reason", "to stop a call needs a reason", "say why")
        found = next((one for one in self._kernel.present() if one.call.id == id), None)
        if found is None:
            raise ApiError(404, "over", "no call runs under this id: it has ended")
        row = _row(found, self._began)
        target = Subject(server_id=row.server or None, tool_name=row.name)
        event, by = "dev.gatewright.call.stopped", asking.person.id
        with recorded(self._audit, by, event, target, why, call=id, agent=row.agent):
            self._kernel.end_refused([_Stopped(id, why)])
            if row.gate == _ASKS:
                self._deny(id, by, why)
        self._changes.tell("live", "sessions", "inbox", "audit")
        return row

    def _deny(self, call: str, by: str, why: str) -> None:
        """Nobody is left to be asked about it, and a yes that comes late would let the next call like it run. What somebody has agreed
        to stays so, and what another call waits for goes on waiting."""
        approval = "" if self._asked is None else self._asked.left(call)
        if approval and self._queue is not None:
            with suppress(CannotDecideError):  # somebody was faster
                self._queue.drop(approval, by=by, comment=why)


class _Stopped:
    """Judges one call."""

    name = "operator"

    def __init__(self, id: str, why: str) -> None:
        self._id = id
        self._refusal = Refusal("cancelled", f"an operator stopped it: {why}")

    def judge(self, call: Call) -> Refusal | None:
        """Why this call may not go on."""
        return self._refusal if call.id == self._id else None


def _row(one: Present, began: float) -> RunningCall:
    """`began` is the Unix time at which the monotonic clock stood at 0."""
    call = one.call
    return RunningCall(
        id=call.id,
        agent=call.caller.id,
        server="" if call.target is None else call.target.server,
        name=call.name or call.method if call.target is None else call.target.name,
        since=began + one.since,
        gate=one.gate,
        session=(call.session or "")[:_SHORT],
        trace_id=call.trace_id,
    )


def _fits(row: RunningCall, asked: Any) -> bool:
    return (
        asked.agent in ("", row.agent)
        and asked.server in ("", row.server)
        and row.session.startswith(asked.session[:_SHORT])
    )
