"""Screen `tools`: search as an agent would, with scores, reasons and budget; the catalogue by pages; one tool opened; a call tried by hand."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.call import Tool
from gatewright.command_text import to_type
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import Column, Paged, Table
from gatewright.console.operations import ApiError, Asking, change, see
from gatewright.console.paging import url_of
from gatewright.console.schema_form import fields_of
from gatewright.console.screen import Copies, Page, Screen, View, posted
from gatewright.console.tool_facts import RISKS, ToolDetail, ToolFacts, ToolRow
from gatewright.console.tool_search import Search, Searching, Strategy, ToolSearch
from gatewright.console.tool_trial import Trial, Trying, tried
from gatewright.transport.slices import in_slices

__all__ = ["Catalogue", "Looking", "Named", "ToolPage", "Tools"]


class Catalogue(Paged, frozen=True, kw_only=True):
    """Which tools, and in which order."""

    server: Annotated[str, Meta(max_length=200)] = ""
    risk: Literal["", "safe", "moderate", "dangerous"] = ""
    sort: Literal["name", "server", "risk", "tokens"] = "name"


class Looking(Catalogue, frozen=True, kw_only=True):
    """A search, or without one the catalogue."""

    q: Annotated[str, Meta(max_length=2000)] = ""
    agent: Annotated[str, Meta(max_length=200)] = ""
    strategy: Strategy = "auto"
    most: Annotated[int, Meta(ge=1, le=50)] = 5


class ToolPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the catalogue."""

    tools: list[ToolRow]
    total: int
    """Of all tools that fit."""
    tokens: int
    """What all tools that fit cost together, as agents list them: those that are held back come into no list."""
    next: str
    """`after` of the next page; empty where there is none."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A tool by its server and its own name there."""

    server: Annotated[str, Meta(max_length=200)]
    tool: Annotated[str, Meta(max_length=512)]


class Tools(Screen):
    """What agents can find and call."""

    name = "tools"
    title = "Tools"
    key = "t"
    group = 1

    def __init__(self, parts: Dependencies) -> None:
        self._facts = ToolFacts(parts)
        self._search = ToolSearch(parts, self._facts)
        self._calls = parts.calls
        self._limits = parts.gateway.front
        self._table = _table(self._facts)
        self.pages = (
            Page(path="/tools", power="see", run=self._page, takes=Looking),
            Page(path="/tools/list", power="see", run=self._list_part, takes=Looking),
            Page(path="/tools/one", power="see", run=self._opened, takes=Named),
            posted("/tools/try", self._try_part, Trying),
        )
        self.operations = (
            see(
                "tools.list",
                "/tools",
                "List the tools of all servers",
                self.listed,
                takes=Catalogue,
                gives=ToolPage,
            ),
            see(
                "tools.search",
                "/tools/search",
                "Search among tools as an agent would",
                self.search,
                takes=Searching,
                gives=Search,
            ),
            see(
                "tools.show",
                "/tools/one",
                "Show one tool: definition, security, who may call it",
                self.show,
                takes=Named,
                gives=ToolDetail,
            ),
            change(
                "tools.try",
                "/tools/try",
                "Call a tool by hand, through every gate",
                self.attempt,
                takes=Trying,
                gives=Trial,
            ),
        )

    # -- operations

    async def listed(self, asking: Asking) -> ToolPage:
        """Sorted, filtered, one page. Raises `ApiError`."""
        given: Catalogue = asking.given
        facts = self._facts
        await facts.warm()
        fitting = await in_slices(facts.every(given.server, given.risk))
        total = await in_slices(_sum(facts, fitting))

        tools, found, more = await self._table.page(fitting, given)
        rows = [facts.row(one) for one in tools]
        return ToolPage(tools=rows, total=found, tokens=total, next=more)

    async def search(self, asking: Asking) -> Search:
        """Raises `ApiError`."""
        return await self._search(asking.given)

    async def show(self, asking: Asking) -> ToolDetail:
        """Raises `ApiError`."""
        await self._facts.warm()
        return await self._facts.detail(asking.given.server, asking.given.tool)

    async def attempt(self, asking: Asking) -> Trial:
        """Raises `ApiError`."""
        given: Trying = asking.given
        await self._facts.warm()
        name = self._facts.found(given.server, given.tool).exposed
        limits = self._limits.limits
        return await tried(self._calls, asking.person, name, given.arguments, limits)

    # -- pages

    async def _page(self, asking: Asking) -> View:
        given: Looking = asking.given
        if given.q.strip():
            copies = Copies(
                to_type("tool search {} --limit {}", given.q, str(given.most)),
                f"GET /api/v1{url_of('/tools/search', _searching(given))}",
            )
        else:
            call = f"GET /api/v1{url_of('/tools', _catalogue(given))}"
            copies = Copies(to_type("tool list"), call)
        return View("tools/page.html", await self._values(asking), copies)

    async def _list_part(self, asking: Asking) -> View:
        return View("tools/list.html", await self._values(asking))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        given: Looking = asking.given
        found = page = problem = None
        if given.q.strip():
            try:
                found = await self._search(_searching(given))
            except ApiError as wrong:
                problem = wrong
        else:
            page = await self.listed(asking)
        return {
            "title": "Tools",
            "topics": "tools",
            "asked": given,
            "found": found,
            "page": page,
            "problem": problem,
            "agents": self._facts.agents(),
            "servers": self._facts.servers(),
            "risks": RISKS,
            "list": self._table.shown(given, "" if page is None else page.next),
            "one": lambda row: url_of("/tools/one", Named(server=row.server, tool=row.tool)),
        }

    async def _opened(self, asking: Asking) -> View:
        one = await self.show(asking)
        tool = self._facts.found(one.row.server, one.row.tool)
        fields = fields_of(tool.schema)
        values = {
            "title": "Tool",
            "topics": "tools",
            "one": one,
            "fields": fields,
            "servers_of": f"/servers/{one.row.server}",
        }
        call = f"GET /api/v1{url_of('/tools/one', asking.given)}"
        return View(
            "tools/opened.html", values, Copies(to_type("tool show {}", one.row.name), call)
        )

    async def _try_part(self, asking: Asking) -> View:
        return View("tools/result.html", {"trial": await self.attempt(asking)})


def _table(facts: ToolFacts) -> Table[Tool]:
    columns = (
        Column("Tool", "name", lambda one: ""),
        Column("What it does"),
        Column("Server", "server", lambda one: one.target.server),
        Column("Risk", "risk", lambda one: RISKS.index(one.security.risk_level), falls=True),
        Column("Tokens", "tokens", facts.tokens, numeric=True),
    )
    return Table("/tools", Catalogue, columns, lambda one: one.exposed)


def _sum(facts: ToolFacts, tools: list[Tool]) -> Any:
    total = 0
    for tool in tools:
        yield
        total += 0 if facts.held(tool) else facts.tokens(tool)
    return total


def _searching(given: Looking) -> Searching:
    return Searching(q=given.q, agent=given.agent, strategy=given.strategy, most=given.most)


def _catalogue(given: Looking) -> Catalogue:
    names = ("server", "risk", "sort", "desc", "after", "limit")
    return Catalogue(**{name: getattr(given, name) for name in names})
