"""Screen `connect`: MCP hosts of this machine: connect with the change shown, undo it, import their servers; for the machine's own user alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from gatewright.audit.records import Subject
from gatewright.command_text import to_type
from gatewright.config import is_loopback
from gatewright.console.config_edits import recorded
from gatewright.console.definition_diff import unified
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError, Asking, Operation
from gatewright.console.people import Person
from gatewright.console.screen import Copies, Page, Screen, View
from gatewright.hosts.offered import (
    CannotChange,
    HostChange,
    HostFiles,
    HostState,
    ImportPlan,
    OfferedHosts,
)

__all__ = ["Agreed", "AgreedSome", "Connect", "Some"]

T = TypeVar("T")
C = TypeVar("C", HostChange, ImportPlan)
_LOCAL = "local"
"""Whoever has a URL of this machine, or the token of its gateway."""
_SEE = partial(Operation, method="GET", power="change")
_DO = partial(Operation, method="POST", power="change")


class Agreed(msgspec.Struct, frozen=True, kw_only=True):
    """The digest of what was shown: exactly that is done."""

    digest: Annotated[str, Meta(min_length=64, max_length=64)]


class Some(msgspec.Struct, frozen=True, kw_only=True):
    """The one server that is meant; empty: all of them."""

    only: Annotated[str, Meta(max_length=200)] = ""


class AgreedSome(Some, frozen=True, kw_only=True):
    """The same, with the digest of what was shown."""

    digest: Annotated[str, Meta(min_length=64, max_length=64)]


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
        change = partial(Page, power="change")
        self.pages = (
            Page(path="/connect", power="see", run=self._page),
            change(path="/connect/{host}/connecting", run=self._shown(self.connecting, "connect")),
            change(
                path="/connect/{host}/disconnecting",
                run=self._shown(self.disconnecting, "disconnect"),
            ),
            change(path="/connect/{host}/importing", run=self._plan, takes=Some),
            *(
                change(
                    path=f"/connect/{{host}}/{name}",
                    run=self._done(run),
                    method="POST",
                    takes=takes,
                )
                for name, run, takes in (
                    ("connect", self.connect, Agreed),
                    ("disconnect", self.disconnect, Agreed),
                    ("import", self.bring_in, AgreedSome),
                )
            ),
        )
        self.operations = self._api()

    def _api(self) -> tuple[Operation, ...]:
        at = "/hosts/{host}/"
        return (
            _SEE(
                name="connect.list",
                path="/hosts",
                summary="List the MCP hosts of this machine",
                run=self.hosts,
                gives=list[HostState],
            ),
            _SEE(
                name="connect.connecting",
                path=f"{at}connecting",
                summary="Show what connecting a host would change",
                run=self.connecting,
                gives=HostChange,
            ),
            _SEE(
                name="connect.disconnecting",
                path=f"{at}disconnecting",
                summary="Show what taking the gateway out of a host would change",
                run=self.disconnecting,
                gives=HostChange,
            ),
            _SEE(
                name="connect.importing",
                path=f"{at}importing",
                summary="Show which servers of a host would be imported",
                run=self.importing,
                takes=Some,
                gives=ImportPlan,
            ),
            _DO(
                name="connect.connect",
                path=f"{at}connect",
                summary="Write the gateway into a host's file, as it was shown",
                run=self.connect,
                takes=Agreed,
                gives=HostChange,
            ),
            _DO(
                name="connect.disconnect",
                path=f"{at}disconnect",
                summary="Take the gateway out of a host's file, as it was shown",
                run=self.disconnect,
                takes=Agreed,
                gives=HostChange,
            ),
            _DO(
                name="connect.import",
                path=f"{at}import",
                summary="Import servers of a host into mgp.toml, as it was shown",
                run=self.bring_in,
                takes=AgreedSome,
                gives=ImportPlan,
            ),
        )

    # -- operations

    async def hosts(self, asking: Asking) -> list[HostState]:
        """Raises `ApiError`."""
        return await _beside(self._known(asking.person).hosts)

    async def connecting(self, asking: Asking) -> HostChange:
        """Raises `ApiError`."""
        return await _beside(self._known(asking.person).connecting, asking.path["host"])

    async def disconnecting(self, asking: Asking) -> HostChange:
        """Raises `ApiError`."""
        return await _beside(self._known(asking.person).disconnecting, asking.path["host"])

    async def importing(self, asking: Asking) -> ImportPlan:
        """Raises `ApiError`."""
        files, host = self._known(asking.person), asking.path["host"]
        return await _beside(files.importing, host, _only(asking.given))

    async def connect(self, asking: Asking) -> HostChange:
        """Raises `ApiError`, `Unrecorded`."""
        files = self._known(asking.person)
        return await self._agreed(asking, "connected", files.connecting, files.connect)

    async def disconnect(self, asking: Asking) -> HostChange:
        """Raises `ApiError`, `Unrecorded`."""
        files = self._known(asking.person)
        return await self._agreed(asking, "disconnected", files.disconnecting, files.disconnect)

    async def bring_in(self, asking: Asking) -> ImportPlan:
        """Raises `ApiError`, `Unrecorded`."""
        files, only = self._known(asking.person), _only(asking.given)
        preview, act = partial(files.importing, only=only), partial(files.bring_in, only=only)
        return await self._agreed(asking, "imported", preview, act)

    async def _agreed(
        self, asking: Asking, what: str, preview: Callable[[str], C], act: Callable[[str, str], C]
    ) -> C:
        """Do what was shown. Nothing is recorded of a host that is none, or of what is shown otherwise by now."""
        host, digest = asking.path["host"], asking.given.digest
        if (await _beside(preview, host)).digest != digest:
            said = "the file, or what would be done to it, is another one than was shown"
            raise ApiError(409, "not_changed", said, "look at it again")
        event, target = f"dev.gatewright.host.{what}", Subject(name=host)
        with recorded(self._audit, asking.person.id, event, target, door="console"):
            return await _beside(act, host, digest)

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
        values: dict[str, Any] = {"title": "Connect", "topics": "connect", "hosts": []}
        copies = Copies(to_type("connect HOST"), "GET /api/v1/hosts")
        try:
            if not asking.person.may("change"):
                raise ApiError(403, "role", f"the role {asking.person.role} connects no hosts")
            values |= {"hosts": await self.hosts(asking), "problem": None}
        except ApiError as problem:
            values["problem"] = problem
        return View("connect/page.html", values, copies)

    def _shown(self, preview: Callable[[Asking], Awaitable[HostChange]], act: str) -> Any:
        async def run(asking: Asking) -> View:
            change = await preview(asking)
            values = {"change": change, "act": act, "lines": unified(change.diff)}
            return View("connect/change.html", values)

        return run

    async def _plan(self, asking: Asking) -> View:
        plan = await self.importing(asking)
        values = {"plan": plan, "host": asking.path["host"], "only": asking.given.only}
        return View("connect/plan.html", values)

    def _done(self, operation: Callable[[Asking], Awaitable[Any]]) -> Any:
        async def run(asking: Asking) -> View:
            done = await operation(asking)
            self._changes.tell("connect")
            hosts = await self.hosts(asking)
            return View("connect/list.html", {"hosts": hosts, "done": done})

        return run


async def _beside(work: Callable[..., T], *given: Any) -> T:
    """In a thread. Raises `ApiError`."""
    try:
        return await asyncio.to_thread(work, *given)
    except CannotChange as problem:
        raise ApiError(409, "not_changed", problem.message, problem.hint) from None


def _only(given: Some) -> list[str]:
    return [given.only] if given.only else []
