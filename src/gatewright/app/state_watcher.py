"""Issues and revokes grants for `mgp/access/*`, and applies key and grant changes of any process: ends calls, notifies, audits.

Commands write into the stores from processes of their own, and operators call methods. Wherever a change
comes from, it holds for the next call at once, ends the calls that it forbids, is told to those whose
lists it changes, and is in the record.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import count

from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grant_targets import granted
from gatewright.access.grants import Decision, Grant, Key
from gatewright.access.issued_grants import Issued
from gatewright.app.record_events import Events
from gatewright.call import ANONYMOUS, Call, Caller, Target, Tool
from gatewright.config import Settings
from gatewright.hosts.local_agents import AGENTS
from gatewright.identity.gate import LOCAL
from gatewright.identity.keys import Callers, saved_beside
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.definition_digest import definition_digest
from gatewright.storage.changes import drop
from gatewright.storage.each import run_each
from gatewright.storage.state import StateDatabase

__all__ = ["POLLED_S", "StateWatcher"]

POLLED_S = 0.25
"""How soon a change by another process holds."""

LAST_USED_TURNS = 40
"""After how many looks it is written down when keys were last used."""

log = logging.getLogger("gatewright")


class StateWatcher:
    """Keys and grants of one state, and the one look at it. `settings`, `access`, `catalogue` give the present ones;
    `end_refused` ends calls that may not go on."""

    def __init__(self, state: StateDatabase, events: Events) -> None:
        """Raises `StoreError`."""
        self._state = state
        self._folder = state.engine.path.parent
        self._events = events
        self.callers = Callers(state, clock=time.time, random=os.urandom)
        self.issued = Issued(state, clock=time.time)
        self._applied: tuple[int, int] | None = None

    def open(
        self,
        *,
        settings: Callable[[], Settings],
        access: Callable[[], Access],
        catalogue: Callable[[], Catalogue],
        end_refused: Callable[[], object],
        completed: Callable[[Caller], Caller] = lambda caller: caller,
    ) -> None:
        """Everything is there that changes are for. `completed` adds what the configuration says of a caller."""
        self._settings = settings
        self._access = access
        self._catalogue = catalogue
        self._end_refused = end_refused
        self._completed = completed

    def close(self) -> None:
        """Close the stores."""
        self.callers.close()
        self.issued.close()

    # -- following

    async def follow(
        self, others: Sequence[Callable[[], object]], tell: Callable[[], Awaitable[object]]
    ) -> None:
        """For ever: a store that fails must not keep alive what was revoked. `others` is
        what else has to be looked at, `tell` says which lists have changed."""
        told = ""
        for turn in count():
            # At first nobody listens yet: what changes from here on is told.
            steps: Sequence[Callable[[], object]] = [self.look, *others] if turn else []
            try:
                try:
                    run_each(*steps)
                finally:
                    await tell()
                if turn % LAST_USED_TURNS == LAST_USED_TURNS - 1:
                    await self._save_used()
                await self._settle()
            except Exception as problem:
                if repr(problem) != told:  # once, and not four times a second
                    log.exception("what operators change could not be followed; trying again")
                told = repr(problem)
            else:
                told = ""
            await asyncio.sleep(POLLED_S)

    async def _save_used(self) -> None:
        used = self.callers.take_used()
        if used and not await asyncio.to_thread(saved_beside, self._folder, used):
            self.callers.keep_used(used)

    async def _settle(self) -> None:
        """Changes that the record has go from the state once it is on the disk: a power cut takes neither. Beside the loop."""
        told = self._state.told()
        if told:
            await self._events.on_disk()
            if await asyncio.to_thread(drop, self._folder, told):
                self._state.dropped(told)

    def look(self, trace_id: str | None = None) -> None:
        """Apply and record what has changed. `trace_id` is of the call that changed it."""
        run_each(
            self._state.look,
            self._bind,
            self._apply,
            lambda: self._events.keys(self.callers),
            lambda: self._events.grants(self.issued, trace_id),
        )

    def _apply(self) -> None:
        now = self._access().version(), self.callers.loads
        if now != self._applied:
            self._end_refused()
            self._applied = now

    def _bind(self) -> None:
        """A grant of a tool is for what the tool is when the gateway first sees both."""
        for grant in self.issued.unbound():
            tool = self._tool(grant.server, grant.tool)
            if tool is not None:
                self.issued.bind(grant.key, definition_digest(tool.definition))

    def _tool(self, server: str, name: str | None) -> Tool | None:
        return None if name is None else self._catalogue().present(Target(server, name))

    # -- for those who ask (`builtin.access.Authority`)

    def who(self, call: Call, name: str) -> Caller:
        """Whom a name means: `local` the host of whoever runs the gateway, although its operator is
        called so too; whoever else asks about themselves, who they are; the name of a host whoever has
        a key of that name, else that host without a key."""
        known = {one.id: one for one in (call.caller, LOCAL, ANONYMOUS)}
        found = known.get(name) or self.callers.named(name) or AGENTS.get(name)
        return self._completed(found or Caller(name))

    def judged(
        self, call: Call, agent: str, server: str, tool: str | None
    ) -> tuple[bool, Decision]:
        """What the gate would say."""
        caller, access = self.who(call, agent), self._access()
        if tool is None:
            allowed, _, word = access.of_server(caller, server)
        else:
            allowed, _, word = access.of_tool(caller, server, tool, self._tool(server, tool))
        return allowed, word

    def issue(self, call: Call, grant: Grant) -> Grant:
        """Issue a grant. Raises `ValueError`, also for a server or tool that there is not."""
        grant = granted(grant, self._settings(), self._catalogue())
        tool = self._tool(grant.server, grant.tool)
        if tool is not None and grant.permission == "allow":
            grant = replace(grant, tool_digest=definition_digest(tool.definition))
        made = self.issued.grant(grant, by=call.caller.id)
        self.look(call.trace_id)
        return made

    def take_back(self, call: Call, key: Key) -> Grant:
        """Take a grant back. Raises `KeyError` where none was issued."""
        gone = self.issued.revoke(key, by=call.caller.id)
        self.look(call.trace_id)
        return gone

    def written(self, key: Key) -> str:
        """Where the configuration has a grant for the same; empty where it has none."""
        found = (one for one in self._settings().grants if (one.agent, one.server, one.tool) == key)
        return next((str(one.origin) for one in found), "")
