"""Screen `live`: calls as they end, a row a call, with filters and a chart of calls, refusals and errors; one call opened at the side."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec
from msgspec import Meta

from gatewright.approvals.queue import ApprovalQueue
from gatewright.command_text import to_type
from gatewright.console.call_details import CallDetail, detail_of
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError, Asking, Operation
from gatewright.console.recent_calls import ROWS, CallRow, CallsAsked, RecentCalls
from gatewright.console.screen import Copies, Page, Screen, View
from gatewright.console.traffic import Counted

__all__ = ["Live", "Since"]


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """From when on."""

    since: Annotated[int, Meta(ge=0)] = 0
    """Unix seconds."""


class Live(Screen):
    """The newest calls."""

    name = "live"
    title = "Live"
    key = "l"

    def __init__(self, parts: Dependencies) -> None:
        self._calls = RecentCalls(parts.recent)
        self._traffic = parts.traffic
        self._kernel = parts.gateway.inside.kernel
        self._queue = parts.ground.of(ApprovalQueue)
        self.pages = (
            Page(path="/live", power="see", run=self._page, takes=CallsAsked),
            Page(path="/live/list", power="see", run=self._list_part, takes=CallsAsked),
            Page(path="/live/{id}", power="see", run=self._page, takes=CallsAsked),
            Page(path="/live/{id}/panel", power="see", run=self._panel_part, takes=CallsAsked),
        )
        self.operations = (
            Operation(
                name="calls.recent",
                method="GET",
                path="/calls",
                power="see",
                summary="List the newest calls, newest first",
                run=self.recent,
                takes=CallsAsked,
                gives=list[CallRow],
            ),
            Operation(
                name="calls.show",
                method="GET",
                path="/calls/{id}",
                power="see",
                summary="Show one of the newest calls",
                run=self.show,
                gives=CallDetail,
            ),
            Operation(
                name="calls.traffic",
                method="GET",
                path="/traffic",
                power="see",
                summary="Count calls, refusals and errors by the second",
                run=self.traffic,
                takes=Since,
                gives=Counted,
            ),
        )

    # -- operations

    async def recent(self, asking: Asking) -> list[CallRow]:
        """Newest first."""
        return await self._calls.newest(asking.given)

    async def show(self, asking: Asking) -> CallDetail:
        """Raises `ApiError`."""
        record = await self._calls.record(asking.path["id"])
        found = None if record is None else detail_of(record, self._gates())
        if found is None:
            raise ApiError(
                404,
                "not_found",
                "this call is not among the newest any more",
                f"look for it in the record: `{to_type('audit query --trace ID')}`",
            )
        return found

    async def traffic(self, asking: Asking) -> Counted:
        """The seconds that are over."""
        return self._traffic.since(asking.given.since)

    def _gates(self) -> list[str]:
        return [gate.name for gate in self._kernel.policy.gates]

    # -- pages

    async def _page(self, asking: Asking) -> View:
        asked: CallsAsked = asking.given
        wanted = asking.path.get("id", "")
        opened: CallDetail | ApiError | None = None
        if wanted:
            try:
                opened = await self.show(asking)
            except ApiError as problem:
                opened = problem
        missing = isinstance(opened, ApiError)
        values = {**await self._values(asked, wanted), "opened": opened, "missing": missing}
        query = urlencode(_said(asked))
        copies = Copies(
            to_type("audit tail --follow"), f"GET /api/v1/calls{'?' if query else ''}{query}"
        )
        return View("live/page.html", values, copies, 404 if missing else 200)

    async def _list_part(self, asking: Asking) -> View:
        asked: CallsAsked = asking.given
        return View(
            "live/list.html", shared=f"?{_query(asked)}", later=lambda: self._values(asked, "")
        )

    async def _panel_part(self, asking: Asking) -> View:
        found = await self.show(asking)
        return View(
            "live/panel.html", {"opened": found, "missing": False, "query": _query(asking.given)}
        )

    async def _values(self, asked: CallsAsked, open_id: str) -> dict[str, Any]:
        rows = await self._calls.newest(asked)
        return {
            "title": "Live",
            "topics": "live",
            "rows": rows,
            "open": open_id,
            "asked": asked,
            "query": _query(asked),
            "most": ROWS,
            "total": self._traffic.total,
            "running": self._kernel.in_flight,
            "waiting": 0 if self._queue is None else self._queue.waiting,
            "states": _STATES,
        }


_STATES = {
    "allowed": "ok",
    "approved": "ok",
    "refused": "bad",
    "failed": "warn",
    "error": "bad",
    "cancelled": "warn",
    "running": "",
}
"""The state of each decision, as a class of the stylesheet."""


def _said(asked: CallsAsked) -> dict[str, str]:
    return {name: value for name, value in msgspec.structs.asdict(asked).items() if value}


def _query(asked: CallsAsked) -> str:
    query = urlencode(_said(asked))
    return f"?{query}" if query else ""
