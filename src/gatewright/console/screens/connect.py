"""Screen `connect`: MCP hosts of this machine: preview, connect, undo; import servers of a host, file or pasted text; local user only."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from gatewright.audit.records import Subject
from gatewright.command_text import to_type
from gatewright.config import is_loopback
from gatewright.console.config_edits import recorded
from gatewright.console.definition_diff import unified
from gatewright.console.dependencies import Dependencies
from gatewright.console.host_shapes import (
    HOSTS,
    Agreed,
    AgreedFrom,
    AgreedSome,
    AgreedTaking,
    From,
    HostPage,
    Hosts,
    Some,
    Taking,
)
from gatewright.console.lists import place_in, placed
from gatewright.console.operations import ApiError, Asking, Operation, change
from gatewright.console.paging import url_of
from gatewright.console.people import Person
from gatewright.console.screen import Copies, Page, Screen, View, posted
from gatewright.hosts.offered import (
    CannotChange,
    HostChange,
    HostFiles,
    ImportPlan,
    ImportSource,
    OfferedHosts,
)

__all__ = ["Connect"]

T = TypeVar("T")
C = TypeVar("C", HostChange, ImportPlan)
_LOCAL = "local"
"""Whoever has a URL of this machine, or the token of its gateway."""


class Connect(Screen):
    """Hosts, and what of them does not go through the gateway."""

    name = "connect"
    title = "Connect"
    key = "c"
    group = 2

    def __init__(self, parts: Dependencies) -> None:
        offered = parts.ground.of(OfferedHosts)
        self._files = None if offered is None else offered.files
        self._audit = parts.ground.audit
        self._changes = parts.changes
        said = parts.ground.settings.console
        self._here = is_loopback(said.host) and not said.url
        shown, at = partial(Page, power="change"), "/connect/{host}"
        self.pages = (
            Page(path="/connect", power="see", run=self._page, takes=Hosts),
            posted("/connect/from/plan", self._plan_of(self.planning), From, reads=True),
            posted("/connect/from/import", self._done(self.take_in), placed(AgreedFrom)),
            shown(
                path=f"{at}/connecting", run=self._shown(self.connecting, "connect"), takes=Taking
            ),
            shown(path=f"{at}/disconnecting", run=self._shown(self.disconnecting, "disconnect")),
            shown(path=f"{at}/importing", run=self._plan_of(self.importing), takes=Some),
            posted(f"{at}/connect", self._done(self.connect), placed(AgreedTaking)),
            posted(f"{at}/disconnect", self._done(self.disconnect), placed(Agreed)),
            posted(f"{at}/import", self._done(self.bring_in), placed(AgreedSome)),
        )
        self.operations = self._api()

    def _api(self) -> tuple[Operation, ...]:
        at = "/hosts/{host}/"
        host, plan = partial(change, gives=HostChange), partial(change, gives=ImportPlan)
        return (
            change(
                "connect.list",
                "/hosts",
                "List the MCP hosts of this machine",
                self.hosts,
                takes=Hosts,
                gives=HostPage,
                method="GET",
            ),
            host(
                "connect.connecting",
                f"{at}connecting",
                "Show what connecting a host would change",
                self.connecting,
                takes=Taking,
                method="GET",
            ),
            host(
                "connect.disconnecting",
                f"{at}disconnecting",
                "Show what taking the gateway out of a host would change",
                self.disconnecting,
                method="GET",
            ),
            plan(
                "connect.importing",
                f"{at}importing",
                "Show which servers of a host would be imported",
                self.importing,
                takes=Some,
                method="GET",
            ),
            host(
                "connect.connect",
                f"{at}connect",
                "Write the gateway into a host's file, as it was shown",
                self.connect,
                takes=AgreedTaking,
            ),
            host(
                "connect.disconnect",
                f"{at}disconnect",
                "Take the gateway out of a host's file, as it was shown",
                self.disconnect,
                takes=Agreed,
            ),
            plan(
                "connect.import",
                f"{at}import",
                "Import servers of a host into mgp.toml, as it was shown",
                self.bring_in,
                takes=AgreedSome,
            ),
            plan(
                "imports.plan",
                "/imports/plan",
                "Show which servers of a file, or of a text, would be imported",
                self.planning,
                takes=From,
                reads=True,
            ),
            plan(
                "imports.import",
                "/imports",
                "Import servers of a file, or of a text, into mgp.toml, as it was shown",
                self.take_in,
                takes=AgreedFrom,
            ),
        )

    # -- operations

    async def hosts(self, asking: Asking) -> HostPage:
        """Sorted, filtered, one page. Raises `ApiError`."""
        every = await _beside(self._known(asking.person).hosts)
        hosts, total, more = await HOSTS.page(every, asking.given)
        return HostPage(hosts=hosts, total=total, next=more)

    async def connecting(self, asking: Asking) -> HostChange:
        """Raises `ApiError`."""
        look = partial(self._known(asking.person).connecting, take_over=asking.given.take_over)
        return await _beside(look, asking.path["host"])

    async def disconnecting(self, asking: Asking) -> HostChange:
        """Raises `ApiError`."""
        return await _beside(self._known(asking.person).disconnecting, asking.path["host"])

    async def importing(self, asking: Asking) -> ImportPlan:
        """Raises `ApiError`."""
        return await self._look_in(asking, ImportSource(host=asking.path["host"]))

    async def planning(self, asking: Asking) -> ImportPlan:
        """Raises `ApiError`."""
        return await self._look_in(asking, _source(asking.given))

    async def _look_in(self, asking: Asking, source: ImportSource) -> ImportPlan:
        return await _beside(self._known(asking.person).importing, source, _only(asking.given))

    async def connect(self, asking: Asking) -> HostChange:
        """Raises `ApiError`, `Unrecorded`."""
        files, taking = self._known(asking.person), {"take_over": asking.given.take_over}
        what = "taken_over" if asking.given.take_over else "connected"
        look, act = partial(files.connecting, **taking), partial(files.connect, **taking)
        return await self._agreed(asking, what, asking.path["host"], look, act)

    async def disconnect(self, asking: Asking) -> HostChange:
        """Raises `ApiError`, `Unrecorded`."""
        files, what = self._known(asking.person), "disconnected"
        look, act = files.disconnecting, files.disconnect
        return await self._agreed(asking, what, asking.path["host"], look, act)

    async def bring_in(self, asking: Asking) -> ImportPlan:
        """Raises `ApiError`, `Unrecorded`."""
        return await self._import(asking, ImportSource(host=(host := asking.path["host"])), host)

    async def take_in(self, asking: Asking) -> ImportPlan:
        """Raises `ApiError`, `Unrecorded`."""
        source = _source(asking.given)
        return await self._import(asking, source, source.path or "pasted text")

    async def _import(self, asking: Asking, source: ImportSource, name: str) -> ImportPlan:
        files, only = self._known(asking.person), _only(asking.given)
        look = lambda _: files.importing(source, only)  # noqa: E731
        act = lambda _, digest: files.bring_in(source, digest, only)  # noqa: E731
        return await self._agreed(asking, "imported", name, look, act)

    async def _agreed(
        self,
        asking: Asking,
        what: str,
        name: str,
        look: Callable[[str], C],
        act: Callable[[str, str], C],
    ) -> C:
        """Do what was shown. Nothing is recorded of a host that is none, or of what is shown otherwise by now."""
        digest = asking.given.digest
        if (await _beside(look, name)).digest != digest:
            said = "the file, or what would be done to it, is another one than was shown"
            raise ApiError(409, "not_changed", said, "look at it again")
        event, target = f"dev.gatewright.host.{what}", Subject(name=name)
        with recorded(self._audit, asking.person.id, event, target, door="console"):
            return await _beside(act, name, digest)

    def _known(self, person: Person) -> HostFiles:
        """The files of hosts, for whoever may touch them. Raises `ApiError`."""
        if self._files is None:
            said = "this gateway was started without its command line"
            raise ApiError(404, "not_found", said, to_type("connect HOST"))
        if not self._here or person.id != _LOCAL:
            said = "files of hosts are changed by the user of this machine, at a console of its own address alone"
            hint = f"on the machine itself: {to_type('connect HOST')}"
            raise ApiError(403, "elsewhere", said, hint)
        return self._files

    # -- pages

    async def _page(self, asking: Asking) -> View:
        call = f"GET /api/v1{url_of('/hosts', asking.given)}"
        values = await self._values(asking)
        there = [one.id for one in values["found"].hosts if one.there] if "found" in values else []
        command = to_type("connect {} --dry-run", there[0]) if there else to_type("connect --help")
        return View("connect/page.html", values, Copies(command, call))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        values: dict[str, Any] = {"title": "Connect", "topics": "connect", "asked": asking.given}
        try:
            if not asking.person.may("change"):
                raise ApiError(403, "role", f"the role {asking.person.role} connects no hosts")
            found = await self.hosts(asking)
        except ApiError as problem:
            return {**values, "problem": problem}
        values |= {"list": HOSTS.shown(asking.given, found.next), "found": found}
        return {**values, "problem": None}

    def _shown(self, preview: Callable[[Asking], Awaitable[HostChange]], act: str) -> Any:
        async def run(asking: Asking) -> View:
            change = await preview(asking)
            values = {"change": change, "act": act, "lines": unified(change.diff)}
            return View("connect/change.html", values)

        return run

    def _plan_of(self, preview: Callable[[Asking], Awaitable[ImportPlan]]) -> Any:
        async def run(asking: Asking) -> View:
            values = {"host": asking.path.get("host", ""), "given": asking.given}
            return View("connect/plan.html", {"plan": await preview(asking), **values})

        return run

    def _done(self, operation: Callable[[Asking], Awaitable[Any]]) -> Any:
        async def run(asking: Asking) -> View:
            done = await operation(asking)
            self._changes.tell("connect")
            values = await self._values(replace(asking, given=place_in(asking.given, Hosts)))
            return View("connect/list.html", {**values, "done": done})

        return run


def _source(given: From) -> ImportSource:
    return ImportSource(path=given.path, text=given.text)


async def _beside(work: Callable[..., T], *given: Any) -> T:
    """In a thread. Raises `ApiError`."""
    try:
        return await asyncio.to_thread(work, *given)
    except CannotChange as problem:
        raise ApiError(409, "not_changed", problem.message, problem.hint) from None


def _only(given: Some) -> list[str]:
    return [given.only] if given.only else []
