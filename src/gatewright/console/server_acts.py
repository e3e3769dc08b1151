"""Actions on tool servers: start, restart, drain, stop; enable or disable server or tool in `mgp.toml`; accept, refuse, hide held definitions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gatewright.audit.records import Subject
from gatewright.command_text import to_type
from gatewright.config import Server as Configured
from gatewright.config.edit import set_server_value, set_tool_value
from gatewright.console.config_edits import edit, recorded
from gatewright.console.definition_pages import must_be_shown
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.console.server_requests import Accepting
from gatewright.lifecycle.methods import SHUTDOWN
from gatewright.pins.decisions import Decisions
from gatewright.pins.store import Pin

__all__ = ["DRAIN_S", "Acted", "Acts", "Why"]

DRAIN_S = 30
"""How long calls have to end where nothing else is said."""
_ENDS_CALLS = frozenset({"restart", "stop"})
"""Calls that run end with it, which nothing undoes."""


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """Why it is done, for the record; needed where calls that run are ended by it."""

    reason: Annotated[str, Meta(max_length=500)] = ""
    drain_seconds: Annotated[int, Meta(ge=0, le=3600)] = DRAIN_S
    """Of a drain: how long calls have to end."""


class Acted(msgspec.Struct, frozen=True, kw_only=True):
    """How a server stands after that."""

    id: str
    state: str
    note: str = ""


class Acts:
    """What can be done, each by its name."""

    def __init__(self, parts: Dependencies, decisions: Decisions | None) -> None:
        self._ground = parts.ground
        self._calls = parts.calls
        self._changes = parts.changes
        self._texts = parts.texts
        self._decisions = decisions

    async def act(self, person: Person, act: str, server: str, given: Why) -> Acted:
        """Raises `ApiError`."""
        if act in _ENDS_CALLS and not given.reason.strip():
            said = f"to {act} a server ends the calls that run there: it needs a reason"
            raise ApiError(422, "no_reason", said, "say why, in a sentence")
        if act in ("enable", "disable"):
            found = await self._switch(person, server, given.reason, enabled=act == "enable")
        elif act == "drain":
            found = await self._drain(person, server, given)
        else:
            found = await self._told(person, act, server, given.reason)
        self._changes.tell("servers", "tools", "health")
        return found

    async def _told(self, person: Person, act: str, server: str, why: str) -> Acted:
        params = {"server": server, **({"reason": why} if why else {})}
        found = await self._calls.ask(person, f"gatewright/server/{act}", params)
        return Acted(id=server, state=str(found.get("status")), note=str(found.get("reason", "")))

    async def _drain(self, person: Person, server: str, given: Why) -> Acted:
        params: dict[str, Any] = {
            "server_id": server,
            "reason": "operator_request",
            "timeout_ms": given.drain_seconds * 1000,
        }
        target, event = Subject(server_id=server), "dev.gatewright.server.drain"
        # The method knows reasons of its own, and nobody's words.
        why = recorded(self._ground.audit, person.id, event, target, given.reason, door="console")
        with why if given.reason.strip() else nullcontext():
            found = await self._calls.ask(person, SHUTDOWN, params)
        pending = found.get("pending_requests", 0)
        more = f"; {found['note']}" if found.get("note") else ""
        return Acted(id=server, state="draining", note=f"{pending} calls in flight{more}")

    # -- in mgp.toml

    async def _switch(self, person: Person, server: str, why: str, *, enabled: bool) -> Acted:
        configured = self._configured(server)
        done = "enabled" if enabled else "disabled"
        target = Subject(server_id=server)
        event = f"dev.gatewright.server.{done}"
        with recorded(self._ground.audit, person.id, event, target, why, door="console"):
            await edit(
                configured.origin.file,
                lambda draft: set_server_value(draft, server, "enabled", enabled),
            )
        return Acted(id=server, state=done, note=_TAKEN_OVER)

    async def switch_tool(
        self, person: Person, server: str, tool: str, why: str, *, enabled: bool
    ) -> Acted:
        """Hide a tool from everybody, or show it again; `tool` is its own name. Raises `ApiError`."""
        configured = self._configured(server)
        done = "enabled" if enabled else "disabled"
        target = Subject(server_id=server, tool_name=tool)
        event = f"dev.gatewright.tool.{done}"
        with recorded(self._ground.audit, person.id, event, target, why, door="console"):
            await edit(
                configured.origin.file,
                lambda draft: set_tool_value(draft, server, tool, "enabled", enabled),
            )
        self._changes.tell("servers", "tools", "inbox")
        return Acted(id=server, state=f"tool {done}", note=_TAKEN_OVER)

    def _configured(self, server: str) -> Configured:
        found = self._ground.now.settings.server(server)
        if found is None:
            raise ApiError(404, "not_found", "there is no such server", to_type("server list"))
        if found.created_by:
            said = "it was registered while the gateway runs, and stands in no file"
            raise ApiError(409, "not_configured", said, "stop it instead")
        return found

    # -- pins

    def pin(self, server: str, tool: str) -> Pin:
        """What is known of a tool. Raises `ApiError`, `StoreError`."""
        known = {} if self._decisions is None else self._decisions.some(server, [tool])
        found = known.get(tool)
        if found is None:
            raise ApiError(404, "not_found", "no gateway has seen such a tool")
        return found

    async def accept(self, person: Person, server: str, given: Accepting) -> Pin:
        """Rely on what a tool says now. Raises `ApiError`, `StoreError`."""
        tool, digest = given.tool, given.digest
        known = {} if self._decisions is None else self._decisions.some(server, [tool])
        pin = known.get(tool)
        if pin is not None and pin.digest == digest:  # else the acceptance says so
            await must_be_shown(self._texts, person.id, pin, given.whole)
        return self._decided(lambda of: of.accept(server, tool, digest=digest, by=person.id))

    def refuse(self, person: Person, server: str, tool: str, digest: str, why: str) -> Pin:
        """Leave a tool held back for as long as it says what it says now. Raises `ApiError`, `StoreError`."""
        if not why.strip():
            raise ApiError(422, "no_reason", "a refusal needs a reason", "say why, in a sentence")
        return self._decided(
            lambda of: of.refuse(server, tool, digest=digest, by=person.id, why=why)
        )

    async def hide(self, person: Person, server: str, tool: str, why: str) -> Acted:
        """Hide a tool from everybody, in `mgp.toml`; nobody is asked about its definition any more. Raises `ApiError`, `StoreError`."""
        found = await self.switch_tool(person, server, tool, why, enabled=False)
        known = None if self._decisions is None else self._decisions.some(server, [tool]).get(tool)
        if known is not None and known.standing != "pinned" and not known.by:
            self.refuse(person, server, tool, known.digest, why)
        return found

    def _decided(self, decide: Callable[[Decisions], Pin]) -> Pin:
        if self._decisions is None:
            raise ApiError(404, "not_found", "this gateway pins no tools")
        try:
            found = decide(self._decisions)
        except KeyError:
            raise ApiError(409, "over", "it has been forgotten meanwhile") from None
        except ValueError as problem:
            raise ApiError(409, "not_shown", str(problem), "look at it again") from None
        self._changes.tell("servers", "tools", "inbox", "audit")
        return found


_TAKEN_OVER = "written to mgp.toml; the gateway takes it over within a second or two"
