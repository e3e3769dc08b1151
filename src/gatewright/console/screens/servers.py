"""Screen `servers`: list of tool servers, one opened: state, history, stderr, permissions, held back definitions; what can be done with it."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from gatewright.command_text import to_type
from gatewright.console.definition_diff import Line, difference
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError, Asking, Operation
from gatewright.console.paging import Key, page_of, url_of
from gatewright.console.people import Person
from gatewright.console.screen import Badge, Copies, Page, Screen, View
from gatewright.console.server_acts import Acted, Acts, Why
from gatewright.console.server_facts import Act, ServerDetail, ServerFacts, ServerRow
from gatewright.console.server_history import Step, history, spans, window_of
from gatewright.console.server_requests import (
    Accepting,
    Held,
    Listing,
    OfTool,
    Refusing,
    ServerPage,
)
from gatewright.pins.store import Pin
from gatewright.servers.states import STATES, State
from gatewright.transport.slices import in_slices

__all__ = ["Servers"]

_POST = partial(Page, method="POST", power="change")
_ASK = partial(Operation, method="GET", power="see")
_CHANGE = partial(Operation, method="POST", power="change")
_ACTS: tuple[Act, ...] = ("start", "restart", "drain", "stop", "enable", "disable")
_STEPS = 50
_DAYS = 7
_WRONG: frozenset[State] = frozenset(("error", "disconnected"))


class Servers(Screen):
    """The servers that the gateway has now."""

    name = "servers"
    title = "Servers"
    key = "v"
    group = 1

    def __init__(self, parts: Dependencies) -> None:
        self._facts = ServerFacts(parts)
        self._acts = Acts(parts, self._facts.decisions)
        self._now = parts.ground.now
        self._clock = parts.clock
        self._folder = parts.ground.settings.storage.path
        form = self._on_form
        self.pages = (
            Page(path="/servers", power="see", run=self._list, takes=Listing),
            Page(path="/servers/list", power="see", run=self._list_part, takes=Listing),
            Page(path="/servers/{id}", power="see", run=self._opened),
            Page(path="/servers/{id}/part", power="see", run=self._part),
            Page(path="/servers/{id}/history", power="see", run=self._history_part),
            Page(path="/servers/{id}/pin", power="see", run=self._pin_part, takes=OfTool),
            *(
                _POST(path=f"/servers/{{id}}/{act}", run=form(self._acting(act)), takes=Why)
                for act in _ACTS
            ),
            _POST(path="/servers/{id}/pin/accept", run=form(self.accept), takes=Accepting),
            _POST(path="/servers/{id}/pin/refuse", run=form(self.refuse), takes=Refusing),
        )
        self.operations = (
            _ASK(
                name="servers.list",
                path="/servers",
                summary="List tool servers",
                run=self.listed,
                takes=Listing,
                gives=ServerPage,
            ),
            _ASK(
                name="servers.show",
                path="/servers/{id}",
                summary="Show one server",
                run=self.show,
                gives=ServerDetail,
            ),
            _ASK(
                name="servers.history",
                path="/servers/{id}/history",
                summary="Show what happened to a server within a week",
                run=self.history,
                gives=list[Step],
            ),
            *(
                _CHANGE(
                    name=f"servers.{act}",
                    path=f"/servers/{{id}}/{act}",
                    summary=said,
                    run=self._acting(act),
                    takes=Why,
                    gives=Acted,
                )
                for act, said in _SUMMARIES.items()
            ),
            _ASK(
                name="servers.pin",
                path="/servers/{id}/pin",
                summary="Show how a tool's definition differs from the one that was accepted",
                run=self.pin,
                takes=OfTool,
                gives=Held,
            ),
            _CHANGE(
                name="servers.accept",
                path="/servers/{id}/pin/accept",
                summary="Rely on what a tool says now",
                run=self.accept,
                takes=Accepting,
                gives=Held,
            ),
            _CHANGE(
                name="servers.refuse",
                path="/servers/{id}/pin/refuse",
                summary="Hide a tool from everybody",
                run=self.refuse,
                takes=Refusing,
                gives=Acted,
            ),
        )

    def badge(self, person: Person) -> Badge | None:
        """How many are down that should be up."""
        servers = self._now.servers.servers.values()
        down = sum(
            one.state in _WRONG and one.spec.enabled and not one.spec.stopped and not one.life.waits
            for one in servers
        )
        return Badge(str(down), "bad", f"{down} down") if down else None

    # -- operations

    async def listed(self, asking: Asking) -> ServerPage:
        """Sorted, filtered, one page. Raises `ApiError`."""
        given: Listing = asking.given
        wanted = given.q.casefold()
        fitting = [
            one
            for one in await self._facts.rows()
            if wanted in one.id.casefold() and given.state in ("", one.state)
        ]

        def key(row: ServerRow) -> Key:
            value = getattr(row, given.sort)
            return ("" if given.sort == "id" else value), row.id

        page = page_of(fitting, key, after=given.after, limit=given.limit, descending=given.desc)
        rows, more = await in_slices(page)
        return ServerPage(servers=rows, total=len(fitting), next=more)

    async def show(self, asking: Asking) -> ServerDetail:
        """Raises `ApiError`."""
        return await self._facts.detail(asking.path["id"])

    async def history(self, asking: Asking) -> list[Step]:
        """Newest first."""
        return await asyncio.to_thread(self._steps, asking.path["id"])

    def _steps(self, id: str) -> list[Step]:
        since = dt.datetime.fromtimestamp(self._clock(), dt.UTC) - dt.timedelta(days=_DAYS)
        text = since.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return history(self._folder, id, _STEPS, text)

    def _acting(self, act: Act) -> Callable[[Asking], Awaitable[Acted]]:
        async def run(asking: Asking) -> Acted:
            return await self._acts.act(asking.person, act, asking.path["id"], asking.given)

        return run

    async def pin(self, asking: Asking) -> Held:
        """Raises `ApiError`."""
        one = self._acts.pin(asking.path["id"], asking.given.tool)
        return _held(one, await asyncio.to_thread(difference, one.pinned, one.seen))

    async def accept(self, asking: Asking) -> Held:
        """Raises `ApiError`."""
        given: Accepting = asking.given
        server = asking.path["id"]
        return _held(self._acts.accept(asking.person, server, given.tool, given.digest), [])

    async def refuse(self, asking: Asking) -> Acted:
        """Raises `ApiError`."""
        given: Refusing = asking.given
        if not given.reason.strip():
            raise ApiError(422, "no_reason", "to hide a tool needs a reason", "say why")
        return await self._acts.switch_tool(
            asking.person, asking.path["id"], given.tool, given.reason, enabled=False
        )

    # -- pages

    async def _list(self, asking: Asking) -> View:
        copies = Copies(to_type("server list"), f"GET /api/v1{url_of('/servers', asking.given)}")
        return View("servers/page.html", await self._values(asking), copies)

    async def _list_part(self, asking: Asking) -> View:
        return View("servers/list.html", await self._values(asking))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        given = asking.given
        return {
            "title": "Servers",
            "topics": "servers",
            "asked": given,
            "page": await self.listed(asking),
            "states": STATES,
            "url": lambda **changes: url_of("/servers", given, **{"after": "", **changes}),
            "part": url_of("/servers/list", given),
        }

    async def _opened(self, asking: Asking) -> View:
        id = asking.path["id"]
        copies = Copies(to_type("server show {}", id), f"GET /api/v1/servers/{id}")
        return View("servers/opened.html", await self._of_one(asking), copies)

    async def _part(self, asking: Asking) -> View:
        return View("servers/server.html", await self._of_one(asking))

    async def _of_one(self, asking: Asking) -> dict[str, Any]:
        one = await self._facts.detail(asking.path["id"])
        return {"title": one.row.id, "topics": "servers", "one": one, "states": STATES}

    async def _history_part(self, asking: Asking) -> View:
        id = asking.path["id"]
        steps = await self.history(asking)
        server = self._now.servers.servers.get(id)
        up = server is None or server.state in ("connected", "draining")
        now = self._clock()
        window_s = window_of(steps, now)
        shown = spans(steps, now, window_s, up=up)
        values = {"steps": steps, "spans": shown, "id": id, "window": window_s}
        return View("servers/history.html", values)

    async def _pin_part(self, asking: Asking) -> View:
        return View("servers/pin.html", {"held": await self.pin(asking)})

    def _on_form(
        self, operation: Callable[[Asking], Awaitable[Any]]
    ) -> Callable[[Asking], Awaitable[View]]:
        async def run(asking: Asking) -> View:
            done = await operation(asking)
            values = await self._of_one(asking)
            return View("servers/server.html", {**values, "done": done})

        return run


_SUMMARIES: dict[Act, str] = {
    "start": "Start a server that was stopped, or that gave up",
    "restart": "Start a server anew; calls that run end, so it takes a reason",
    "drain": "Stop a server once the calls that run have ended",
    "stop": "Stop a server; calls that run end, so it takes a reason",
    "enable": "Let a server run again, in mgp.toml",
    "disable": "Keep a server down, in mgp.toml",
}


def _held(pin: Pin, lines: list[Line]) -> Held:
    return Held(
        server=pin.server,
        tool=pin.tool,
        standing=pin.standing,
        why=pin.why,
        digest=pin.digest,
        lines=lines,
    )
