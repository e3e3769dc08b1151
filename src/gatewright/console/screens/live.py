"""Screen `live`: newest calls, filtered, one opened at the side; calls in flight, stopped by an operator; calls, refusals, errors by second."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from gatewright.approvals.queue import ApprovalQueue
from gatewright.command_text import to_type
from gatewright.console.call_details import CallDetail, detail_of
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import place_in, placed, shown_of
from gatewright.console.operations import ApiError, Asking, see
from gatewright.console.paging import url_of
from gatewright.console.recent_calls import COLUMNS, WORDS, CallPage, CallsAsked, RecentCalls
from gatewright.console.running_calls import RunningAsked, RunningCalls, Stopping
from gatewright.console.screen import Copies, Page, Screen, View, posted
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
        self._running_calls = RunningCalls(parts)
        self._traffic = parts.traffic
        self._kernel = parts.gateway.inside.kernel
        self._queue = parts.ground.of(ApprovalQueue)
        self.pages = (
            Page(path="/live", power="see", run=self._page, takes=CallsAsked),
            Page(path="/live/list", power="see", run=self._list_part, takes=CallsAsked),
            Page(path="/live/running", power="see", run=self._running, takes=RunningAsked),
            Page(
                path="/live/running/list", power="see", run=self._running_part, takes=RunningAsked
            ),
            posted("/live/running/{id}/stop", self._stop, placed(Stopping)),
            Page(path="/live/{id}", power="see", run=self._page, takes=CallsAsked),
            Page(path="/live/{id}/panel", power="see", run=self._panel_part, takes=CallsAsked),
        )
        self.operations = (
            see(
                "calls.recent",
                "/calls",
                "List the newest calls, newest first",
                self.recent,
                takes=CallsAsked,
                gives=CallPage,
            ),
            *self._running_calls.operations,
            see(
                "calls.show",
                "/calls/{id}",
                "Show one of the newest calls",
                self.show,
                gives=CallDetail,
            ),
            see(
                "calls.traffic",
                "/traffic",
                "Count calls, refusals and errors by the second",
                self.traffic,
                takes=Since,
                gives=Counted,
            ),
        )

    # -- operations

    async def recent(self, asking: Asking) -> CallPage:
        """Newest first, unless another order is asked for. Raises `ApiError`."""
        return await self._calls.page(asking.given)

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
        values = await self._values(asked, wanted)
        values |= {"opened": opened, "missing": missing, "embedded": True}
        values |= await self._of_running(asking, RunningAsked(least_s=1.0, limit=_RUNNING))
        copies = Copies(to_type("audit tail --follow"), f"GET /api/v1{url_of('/calls', asked)}")
        return View("live/page.html", values, copies, 404 if missing else 200)

    async def _list_part(self, asking: Asking) -> View:
        asked: CallsAsked = asking.given
        shared = f"?{url_of('', asked)}"  # also without a query: what is empty is not shared
        return View("live/list.html", shared=shared, later=lambda: self._values(asked, ""))

    async def _panel_part(self, asking: Asking) -> View:
        found = await self.show(asking)
        query = url_of("", asking.given)
        return View("live/panel.html", {"opened": found, "missing": False, "query": query})

    async def _values(self, asked: CallsAsked, open_id: str) -> dict[str, Any]:
        found = await self._calls.page(asked)
        return {
            "title": "Live",
            "topics": "live",
            "rows": found.calls,
            "list": shown_of("/live", asked, found.next, COLUMNS),
            "open": open_id,
            "asked": asked,
            "query": url_of("", asked),
            "total": self._traffic.total,
            "running": self._kernel.in_flight,
            "waiting": 0 if self._queue is None else self._queue.waiting,
            "states": WORDS,
        }

    # -- those that run

    async def _running(self, asking: Asking) -> View:
        asked: RunningAsked = asking.given
        values = {"title": "Running", "topics": "live", "embedded": False}
        copies = Copies(to_type("top"), f"GET /api/v1{url_of('/calls/running', asked)}")
        found = await self._of_running(asking, asked)
        return View("live/running_page.html", {**values, **found}, copies)

    async def _running_part(self, asking: Asking) -> View:
        asked: RunningAsked = asking.given
        return View(
            "live/running.html", {**await self._of_running(asking, asked), "embedded": True}
        )

    async def _of_running(self, asking: Asking, asked: RunningAsked) -> dict[str, Any]:
        page = await self._running_calls.all(replace(asking, given=asked))
        shown = self._running_calls.shown(asked, page)
        return {"page": page, "asked_running": asked, "around": shown}

    async def _stop(self, asking: Asking) -> View:
        await self._running_calls.stop(asking)
        return await self._running_part(replace(asking, given=place_in(asking.given, RunningAsked)))


_RUNNING = 5
"""Of those that run, so many stand above the others."""
