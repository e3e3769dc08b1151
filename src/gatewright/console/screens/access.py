"""Screen `access`: access of agents to tools as a grid; what decides a cell; a change shown as a diff, replayed, saved, undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.access.authority import Authority
from gatewright.command_text import to_type
from gatewright.console.access_changes import AccessChanges, Planned
from gatewright.console.access_shapes import AccessChange, AccessUndo
from gatewright.console.access_table import AccessTable, Cell, Grid, Order, Said
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import Head, place_in, placed
from gatewright.console.operations import ApiError, Asking, change, see
from gatewright.console.paging import url_of
from gatewright.console.screen import Copies, Page, Screen, View, posted
from gatewright.transport.slices import in_slices

__all__ = ["Access", "AccessQuery", "Changed", "GateWord", "OpenedCell"]

Text = Annotated[str, Meta(max_length=256)]
Place = Annotated[str, Meta(max_length=2000)]
_MARKS = {"allow": "●", "ask": "◐", "deny": "○"}
_LEVELS = {
    "tool_grant": "a grant for this tool",
    "server_grant": "a grant for the whole server",
    "default_policy": "the server's default policy",
    "owner": "whoever runs the gateway, or registered the server",
    "caller_permission": "what the caller's key or token says",
}


class AccessQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of the grid, and which cell of it is open."""

    agent: Text = ""
    server: Text = ""
    find: Text = ""
    """A text in the names of tools."""
    sort: Literal["server", "tool"] = "server"
    """What tools are sorted by; agents are by their names."""
    desc: bool = False
    agents_desc: bool = False
    agents_after: Place = ""
    """Where the agents of the page before ended: its `next_agents`."""
    tools_after: Place = ""
    """The same of tools."""
    open_agent: Text = ""
    open_server: Text = ""
    open_tool: Text = ""


class GateWord(msgspec.Struct, frozen=True, kw_only=True):
    """What one gate would say of a call, of whatever arguments."""

    gate: str
    verdict: str
    """`pass`, `ask` or `refuse`."""
    says: str


class OpenedCell(msgspec.Struct, frozen=True, kw_only=True):
    """All about one cell."""

    agent: str
    server: str
    tool: str
    cell: Cell
    grants: Sequence[Said]
    gates: Sequence[GateWord]
    version: str
    """Of the table; a change names it."""
    held: str = ""
    """Why nobody sees or calls the tool, whatever the cell says: its definition is held back. Empty where it is not."""


class Changed(msgspec.Struct, frozen=True):
    """What holds now, in words."""

    words: str


class Access(Screen):
    """The grid, and one cell."""

    name = "access"
    title = "Access"
    key = "a"
    group = 1

    def __init__(self, parts: Dependencies, authority: Authority) -> None:
        self._parts = parts
        self._table = AccessTable(parts.ground, authority, parts.clock)
        self._changes = AccessChanges(parts.ground, authority, parts.clock)
        self.pages = (
            Page(path="/access", power="see", run=self._page, takes=AccessQuery),
            Page(path="/access/grid", power="see", run=self._grid_part, takes=AccessQuery),
            posted("/access/plan", self._plan_form, AccessChange, reads=True),
            posted("/access/save", self._save_form, placed(AccessChange)),
            posted("/access/undo", self._undo_form, placed(AccessUndo)),
        )
        self.operations = (
            see(
                "access.grid",
                "/access",
                "Say who may use which tools, a part of them at a time",
                self.grid,
                takes=AccessQuery,
                gives=Grid,
            ),
            see(
                "access.cell",
                "/access/cell",
                "Say what decides whether one agent may use one tool",
                self.cell,
                takes=AccessQuery,
                gives=OpenedCell,
            ),
            change(
                "access.plan",
                "/access/plan",
                "Show what a change would write, and which recorded calls would end otherwise",
                self.plan,
                takes=AccessChange,
                gives=Planned,
                reads=True,
            ),
            change(
                "access.change",
                "/access",
                "Allow, deny, or take back what was said",
                self.change,
                takes=AccessChange,
                gives=Changed,
            ),
            change(
                "access.undo",
                "/access/undo",
                "Take your last change back",
                self.undo,
                takes=AccessUndo,
                gives=Changed,
            ),
        )

    # -- operations

    async def grid(self, asking: Asking) -> Grid:
        """A part of it."""
        query: AccessQuery = asking.given
        grid = self._table.grid(
            agent=query.agent,
            server=query.server,
            text=query.find,
            agents=Order(query.agents_after, query.agents_desc),
            tools=Order(query.tools_after, query.desc),
            by_name=query.sort == "tool",
        )
        return await in_slices(grid)

    async def cell(self, asking: Asking) -> OpenedCell:
        """Raises `ApiError`."""
        query: AccessQuery = asking.given
        agent, server, tool = query.open_agent, query.open_server, query.open_tool
        if not agent or not server or not tool:
            raise ApiError(422, "invalid", "a cell has an agent, a server and a tool")
        known = self._table.tool(server, tool)
        kernel = self._parts.gateway.inside.kernel
        verdicts = [] if known is None else await self._table.verdicts(kernel, agent, known)
        gates = []
        for one in verdicts:
            refusal = one.refusal
            asks = refusal is not None and refusal.reason == "confirmation_required"
            verdict = "pass" if refusal is None else "ask" if asks else "refuse"
            gates.append(
                GateWord(
                    gate=one.gate, verdict=verdict, says="" if refusal is None else refusal.message
                )
            )
        return OpenedCell(
            agent=agent,
            server=server,
            tool=tool,
            cell=self._table.cell(agent, server, tool),
            grants=self._table.said(agent, server, tool),
            gates=gates,
            version=self._changes.version,
            held="" if known is None else self._table.held(known),
        )

    async def plan(self, asking: Asking) -> Planned:
        """Raises `ApiError`, `StoreError`."""
        return await self._changes.plan(asking.given)

    async def change(self, asking: Asking) -> Changed:
        """Raises `ApiError`, `StoreError`, `Unrecorded`."""
        words = await self._changes.save(asking.given, asking.person.id)
        self._parts.changes.tell("access", "audit")
        return Changed(words)

    async def undo(self, asking: Asking) -> Changed:
        """Raises `ApiError`, `StoreError`, `Unrecorded`."""
        words = await self._changes.undo(asking.person.id, asking.given.of)
        self._parts.changes.tell("access", "audit")
        return Changed(words)

    # -- pages

    async def _page(self, asking: Asking) -> View:
        return View("access/page.html", await self._values(asking), self._copies(asking.given))

    async def _grid_part(self, asking: Asking) -> View:
        return View("access/grid.html", await self._values(asking))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        query: AccessQuery = asking.given
        grid = await self.grid(asking)
        opened = await self.cell(asking) if query.open_agent else None
        return {
            "title": "Access",
            "topics": "access",
            "query": query,
            "grid": grid,
            "groups": _groups(grid.tools),
            "opened": opened,
            "marks": _MARKS,
            "levels": _LEVELS,
            "servers": sorted(one.id for one in self._parts.ground.now.settings.servers),
            "undoable": self._changes.undoable(asking.person.id),
            "undo_of": self._changes.undo_of(asking.person.id),
            "url": lambda **other: _url(query, "/access", **other),
            "place": _url(query, ""),
            "here": _url(query, "/access/grid"),
            "more_tools": _url(query, "/access", tools_after=grid.next_tools),
            "more_agents": _url(query, "/access", agents_after=grid.next_agents),
            "orders": _orders(query),
        }

    async def _plan_form(self, asking: Asking) -> View:
        change: AccessChange = asking.given
        return View("access/plan.html", {"plan": await self.plan(asking), "change": change})

    async def _save_form(self, asking: Asking) -> View:
        change, query = asking.given, place_in(asking.given, AccessQuery)
        await self.change(asking)
        cell = {"open_agent": change.agent, "open_server": change.server, "open_tool": change.tool}
        return View("", location=_url(query, "/access", **cell))

    async def _undo_form(self, asking: Asking) -> View:
        query = place_in(asking.given, AccessQuery)
        await self.undo(asking)
        return View("", location=_url(query, "/access"))

    @staticmethod
    def _copies(query: AccessQuery) -> Copies:
        if not query.open_agent:
            return Copies(to_type("grant list"), f"GET {_url(query, '/api/v1/access')}")
        where = f"{query.open_server}/{query.open_tool}"
        return Copies(
            to_type("grant show {} {}", query.open_agent, where),
            f"GET {_url(query, '/api/v1/access/cell')}",
        )


def _groups(tools: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    """Each server, and how many of the columns are its."""
    found: list[tuple[str, int]] = []
    for server, _ in tools:
        if found and found[-1][0] == server:
            found[-1] = (server, found[-1][1] + 1)
        else:
            found.append((server, 1))
    return found


def _orders(query: AccessQuery) -> Sequence[Head]:
    """What the grid can be sorted by: agents down, and tools across by one of two."""
    found = [
        Head(
            "Agent",
            _url(query, "/access", agents_desc=not query.agents_desc, agents_after=""),
            "descending" if query.agents_desc else "ascending",
            numeric=False,
        )
    ]
    for name, title in (("server", "Server"), ("tool", "Tool")):
        here = query.sort == name
        url = _url(query, "/access", sort=name, desc=here and not query.desc, tools_after="")
        order = ("descending" if query.desc else "ascending") if here else ""
        found.append(Head(title, url, order, numeric=False))
    return found


def _url(query: AccessQuery, path: str, **other: Any) -> str:
    return url_of(path, query, **other)
