"""Screen `servers` and its API: list, state, history; start, stop, drain, enable, disable; accept or refuse changed definitions, hide tools."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Awaitable, Callable
from typing import Any

from gatewright.command_text import to_type
from gatewright.console.definition_diff import Line, difference, is_whole
from gatewright.console.definition_pages import DefinitionPages, pages_of
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError, Asking, change, see
from gatewright.console.paging import url_of
from gatewright.console.people import Person
from gatewright.console.screen import Badge, Copies, Page, Screen, View, posted
from gatewright.console.server_acts import Acted, Acts, Why
from gatewright.console.server_facts import Act, ServerDetail, ServerFacts
from gatewright.console.server_history import (
    HistoryAsked,
    HistoryPage,
    Step,
    history,
    spans,
    table_of,
    times,
    window_of,
    with_turns,
)
from gatewright.console.server_requests import (
    TABLE,
    Accepting,
    Held,
    Hiding,
    Listing,
    OfTool,
    Refusing,
    ServerPage,
)
from gatewright.pins.store import Pin
from gatewright.servers.states import STATES, State

__all__ = ["Servers"]

_STEPS = 500
"""Of one kind within the days that are shown."""
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
        self._states = parts.traffic.states
        form, at = self._on_form, "/servers/{id}"
        whole = DefinitionPages(parts.texts, self._acts.pin, self.accept)
        self.pages = (
            Page(path="/servers", power="see", run=self._list, takes=Listing),
            Page(path="/servers/list", power="see", run=self._list_part, takes=Listing),
            Page(path="/servers/{id}", power="see", run=self._opened, takes=HistoryAsked),
            Page(path="/servers/{id}/part", power="see", run=self._part),
            Page(
                path="/servers/{id}/list", power="see", run=self._history_part, takes=HistoryAsked
            ),
            Page(path="/servers/{id}/pin", power="see", run=self._pin_part, takes=OfTool),
            *(posted(f"{at}/{act}", form(self._acting(act)), Why) for act in _SUMMARIES),
            posted(f"{at}/pin/accept", form(self.accept), Accepting),
            posted(f"{at}/pin/refuse", form(self.refuse), Refusing),
            posted(f"{at}/hide", form(self.hide), Hiding),
            *whole.pages,
        )
        self.operations = (
            *whole.operations,
            see(
                "servers.list",
                "/servers",
                "List tool servers",
                self.listed,
                takes=Listing,
                gives=ServerPage,
            ),
            see("servers.show", at, "Show one server", self.show, gives=ServerDetail),
            see(
                "servers.history",
                f"{at}/history",
                "Show what happened to a server within a week",
                self.history,
                takes=HistoryAsked,
                gives=HistoryPage,
            ),
            *(
                change(
                    f"servers.{act}",
                    f"{at}/{act}",
                    said,
                    self._acting(act),
                    takes=Why,
                    gives=Acted,
                )
                for act, said in _SUMMARIES.items()
            ),
            see(
                "servers.pin",
                f"{at}/pin",
                "Show how a tool's definition differs from the one that was accepted",
                self.pin,
                takes=OfTool,
                gives=Held,
            ),
            change(
                "servers.accept",
                f"{at}/pin/accept",
                "Accept a definition as it was shown",
                self.accept,
                takes=Accepting,
                gives=Held,
            ),
            change(
                "servers.refuse",
                f"{at}/pin/refuse",
                "Leave a tool held back for as long as its definition stays as it was shown",
                self.refuse,
                takes=Refusing,
                gives=Held,
            ),
            change(
                "servers.hide",
                f"{at}/hide",
                "Hide a tool from everybody, whatever it says, in mgp.toml",
                self.hide,
                takes=Hiding,
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
        rows, total, more = await TABLE.page(await self._facts.rows(), asking.given)
        return ServerPage(servers=rows, total=total, next=more)

    async def show(self, asking: Asking) -> ServerDetail:
        """Raises `ApiError`."""
        return await self._facts.detail(asking.path["id"])

    async def history(self, asking: Asking) -> HistoryPage:
        """The newest first, unless another order is asked for. Raises `ApiError`, `StoreError`."""
        id = asking.path["id"]
        steps, total, more = await table_of(id).page(await self._all_steps(id), asking.given)
        return HistoryPage(steps=steps, total=total, next=more)

    async def _all_steps(self, id: str) -> list[Step]:
        return with_turns(await asyncio.to_thread(self._steps, id), self._states.of(id))

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
        return _held(await self._acts.accept(asking.person, asking.path["id"], asking.given), [])

    async def refuse(self, asking: Asking) -> Held:
        """Raises `ApiError`."""
        given: Refusing = asking.given
        server = asking.path["id"]
        pin = self._acts.refuse(asking.person, server, given.tool, given.digest, given.reason)
        return _held(pin, [])

    async def hide(self, asking: Asking) -> Acted:
        """Raises `ApiError`."""
        given: Hiding = asking.given
        if not given.reason.strip():
            raise ApiError(422, "no_reason", "to hide a tool needs a reason", "say why")
        return await self._acts.hide(asking.person, asking.path["id"], given.tool, given.reason)

    # -- pages

    async def _list(self, asking: Asking) -> View:
        copies = Copies(to_type("server list"), f"GET /api/v1{url_of('/servers', asking.given)}")
        return View("servers/page.html", await self._values(asking), copies)

    async def _list_part(self, asking: Asking) -> View:
        shared = f"?{url_of('', asking.given)}"
        return View("servers/list.html", shared=shared, later=lambda: self._values(asking))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        page = await self.listed(asking)
        return {
            "title": "Servers",
            "topics": "servers,live",
            "asked": asking.given,
            "page": page,
            "every": len(self._now.servers.status()),
            "list": TABLE.shown(asking.given, page.next),
            "states": STATES,
        }

    async def _opened(self, asking: Asking) -> View:
        id = asking.path["id"]
        copies = Copies(to_type("server show {}", id), f"GET /api/v1/servers/{id}")
        history = table_of(id).shown(asking.given, "").part
        return View(
            "servers/opened.html", {**await self._of_one(asking), "history": history}, copies
        )

    async def _part(self, asking: Asking) -> View:
        return View("servers/server.html", await self._of_one(asking))

    async def _of_one(self, asking: Asking) -> dict[str, Any]:
        one = await self._facts.detail(asking.path["id"])
        return {"title": one.row.id, "topics": "servers", "one": one, "states": STATES}

    async def _history_part(self, asking: Asking) -> View:
        id = asking.path["id"]
        steps, asked = await self._all_steps(id), asking.given
        table = table_of(id)
        page, _, more = await table.page(steps, asked)
        server = self._now.servers.servers.get(id)
        now = self._clock()
        window_s = window_of(steps, now)
        shown = spans(steps, now, window_s, state="connected" if server is None else server.state)
        values = {"steps": page, "spans": shown, "id": id, "window": window_s, "asked": asked}
        around = {"list": table.shown(asked, more), "times": times(shown, window_s)}
        return View("servers/history.html", values | around)

    async def _pin_part(self, asking: Asking) -> View:
        held = await self.pin(asking)
        return View("servers/pin.html", {"held": held, "pages_of": pages_of})

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
        whole=is_whole(lines),
        by=pin.by,
    )
