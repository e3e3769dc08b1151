"""Screen `sessions`: agents' sessions; one as a timeline of calls, waits, data flow; ends one; lists and ends sign-ins to the console."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import msgspec
from msgspec.structs import replace

from gatewright.command_text import to_type
from gatewright.console.agent_runs import (
    TABLE,
    AgentRuns,
    Gone,
    Run,
    RunAsked,
    RunsAsked,
    Timeline,
)
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import place_in, placed
from gatewright.console.operations import Asking, Nothing, change, see
from gatewright.console.paging import url_of
from gatewright.console.screen import Copies, Page, Screen, View, posted
from gatewright.console.sign_in_sessions import TABLE as SIGNED_IN
from gatewright.console.sign_in_sessions import SignIns, SignInsAsked

__all__ = ["RunPage", "Sessions"]

_SIGNED_IN = "/sessions/signed-in"


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some runs."""

    runs: list[Run]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where this is the last."""


class Sessions(Screen):
    """Who does what, one after the other."""

    name = "sessions"
    title = "Sessions"
    key = "s"

    def __init__(self, parts: Dependencies) -> None:
        self._runs = AgentRuns(parts)
        # For its lists alone: the site has its operations, which are about how people sign in.
        self._sign_ins = SignIns(parts, "")
        self.pages = (
            Page(path="/sessions", power="see", run=self._page, takes=RunsAsked),
            Page(path="/sessions/list", power="see", run=self._list_part, takes=RunsAsked),
            Page(path="/sessions/run", power="see", run=self._run_page, takes=RunAsked),
            Page(path="/sessions/run/part", power="see", run=self._run_part, takes=RunAsked),
            Page(path=_SIGNED_IN, power="see", run=self._signed_in_page, takes=SignInsAsked),
            Page(
                path=f"{_SIGNED_IN}/list",
                power="see",
                run=self._signed_in_part,
                takes=SignInsAsked,
            ),
            posted(f"{_SIGNED_IN}/{{id}}/end", self._sign_out, placed(Nothing)),
            posted("/sessions/{id}/end", self._end),
        )
        self.operations = (
            see(
                "sessions.list",
                "/sessions",
                "List runs of agents, the last used first",
                self.list_runs,
                takes=RunsAsked,
                gives=RunPage,
            ),
            see(
                "sessions.run",
                "/sessions/run",
                "Show the calls of one run in their order",
                self.timeline,
                takes=RunAsked,
                gives=Timeline,
            ),
            change(
                "sessions.end",
                "/sessions/{id}",
                "End a session: what runs in it is cancelled",
                self.end,
                gives=Gone,
                method="DELETE",
            ),
        )

    # -- operations

    async def list_runs(self, asking: Asking) -> RunPage:
        """The last used first, unless another order is asked for. Raises `ApiError`."""
        runs, total, more = await self._runs.page(asking.given)
        return RunPage(runs=runs, total=total, next=more)

    async def timeline(self, asking: Asking) -> Timeline:
        """Raises `ApiError`."""
        return await self._runs.timeline(asking.given)

    async def end(self, asking: Asking) -> Gone:
        """Raises `ApiError`."""
        return self._runs.end(asking.path["id"], asking.person)

    # -- pages

    async def _page(self, asking: Asking) -> View:
        values = await self._values(asking)
        values |= await self._signed_in(asking, SignInsAsked())
        return View(
            "sessions/page.html",
            values,
            Copies(to_type("session list"), f"GET /api/v1{url_of('/sessions', asking.given)}"),
        )

    async def _list_part(self, asking: Asking) -> View:
        shared = f"?{url_of('', asking.given)}"
        return View("sessions/list.html", shared=shared, later=lambda: self._values(asking))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        asked: RunsAsked = asking.given
        found = await self.list_runs(asking)
        return {
            "title": "Sessions",
            "topics": "sessions",
            "found": found,
            "asked": asked,
            "list": TABLE.shown(asked, found.next),
        }

    async def _run_page(self, asking: Asking) -> View:
        values = await self._run_values(asking)
        query = values["query"]
        command = to_type("audit query --agent {}", values["run"].agent)
        return View(
            "sessions/run.html", values, Copies(command, f"GET /api/v1/sessions/run?{query}")
        )

    async def _run_part(self, asking: Asking) -> View:
        return View("sessions/timeline.html", await self._run_values(asking))

    async def _run_values(self, asking: Asking) -> dict[str, Any]:
        asked: RunAsked = asking.given
        found = await self._runs.timeline(asked)
        said = {name: one for name, one in msgspec.structs.asdict(asked).items() if one}
        return {"title": "Session", "topics": "sessions", "run": found, "query": urlencode(said)}

    async def _signed_in(self, asking: Asking, asked: SignInsAsked) -> dict[str, Any]:
        found = await self._sign_ins.all(replace(asking, given=asked))
        around = SIGNED_IN.shown(asked, found.next)
        return {"signed_in": found, "asked_people": asked, "people": around}

    async def _signed_in_page(self, asking: Asking) -> View:
        values = {"title": "Signed in", "topics": "sessions"}
        call = f"GET /api/v1{url_of('/sign-ins', asking.given)}"
        found = await self._signed_in(asking, asking.given)
        return View("sessions/signed_in_page.html", values | found, Copies(call=call))

    async def _signed_in_part(self, asking: Asking) -> View:
        return View("sessions/signed_in.html", await self._signed_in(asking, asking.given))

    async def _sign_out(self, asking: Asking) -> View:
        asked = place_in(asking.given, SignInsAsked)
        await self._sign_ins.end(asking)
        return View("sessions/signed_in.html", await self._signed_in(asking, asked))

    async def _end(self, asking: Asking) -> View:
        ended = self._runs.end(asking.path["id"], asking.person)
        asked = RunAsked(agent=ended.agent, session=ended.session)
        return View("", location=f"/sessions/run?{urlencode(msgspec.structs.asdict(asked))}")
