"""`Authority`: issues, revokes, restores, evaluates grants, bound to tool definitions; `look` applies others' changes and audits all."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grant_targets import granted
from gatewright.access.grants import Decision, Grant, Key, Layer
from gatewright.access.issued_grants import Issued
from gatewright.audit.records import Actor, Subject
from gatewright.call import Call, Caller, Target, Tool
from gatewright.in_force import InForce
from gatewright.listeners import Signal
from gatewright.servers.definition_digest import definition_digest, digest_steps
from gatewright.storage.errors import StoreError
from gatewright.storage.run_each import run_each
from gatewright.storage.state import StateDatabase
from gatewright.transport.slices import begun

__all__ = ["Authority", "Record"]

log = logging.getLogger("gatewright.access")


class Record(Protocol):
    """Where changes are written down: `AuditLog.event`."""

    def __call__(
        self,
        event_type: str,
        *,
        actor: Actor,
        target: Subject,
        details: dict[str, Any],
        trace_id: str | None,
    ) -> int:
        """Raises `Unrecorded`."""


class Authority:
    """The issued grants of one state. Whoever changed them, a change holds for the next call at once, and is in the record."""

    def __init__(
        self,
        state: StateDatabase,
        now: InForce,
        who: Callable[[Call, str], Caller],
        record: Record,
    ) -> None:
        """Raises `StoreError`."""
        self._state = state
        self._issued = Issued(state, clock=time.time)
        self._now = now
        self.who = who
        self._record = record
        self._applied: int | None = None
        self._binding: Generator[None, None, None] | None = None
        self._told = ""
        self.changed: Signal[None] = Signal()
        """Told when the gate's answers may be others than before, for calls that run."""

    @property
    def layer(self) -> Layer:
        """What was issued, as the access table reads it."""
        return self._issued.layer

    def close(self) -> None:
        """Close the store."""
        if self._binding is not None:
            self._binding.close()
        self._issued.close()

    def look(self, trace_id: str | None = None) -> None:
        """Apply and record what has changed. `trace_id` is of the call that changed it."""
        run_each(self._state.look, self._bind, self._apply, lambda: self._write_down(trace_id))

    def _apply(self) -> None:
        version = self._access().version()
        if version != self._applied:
            self.changed.send(None)
            self._applied = version

    def _bind(self) -> None:
        """A grant of a tool is for what the tool is when the gateway first sees both. Of many grants in slices, the first at once: each
        that is bound is a digest and a transaction."""
        if self._binding is not None:
            return
        # As the tools are now: what a server lists while others are bound gets no grant that was given before.
        unbound = ((one, self._tool(one.server, one.tool)) for one in self._issued.unbound())
        found = [(grant, tool) for grant, tool in unbound if tool is not None]
        if found:
            self._binding = self._bound(found)
            begun(self._binding)

    def _bound(self, found: Sequence[tuple[Grant, Tool]]) -> Generator[None, None, None]:
        try:
            for grant, tool in found:
                digest = yield from digest_steps(tool.definition)
                # Else it was taken back, or given anew, meanwhile.
                if self._issued.is_unbound(grant):
                    self._issued.bind(grant.key, digest, granted_at=grant.granted_at)
                yield
        except StoreError as problem:
            if repr(problem) != self._told:  # once, and not four times a second
                log.exception("grants could not be bound to their tools; trying again")
            self._told = repr(problem)
        else:
            self._told = ""
        finally:
            self._binding = None

    def _write_down(self, trace_id: str | None) -> None:
        """Every change that is not recorded yet. Raises `Unrecorded`."""
        for change in self._issued.changes():
            grant = change.grant
            self._record(
                f"ACCESS_{change.action.upper()}",
                actor=Actor(type="operator", id=change.by),
                target=Subject(server_id=grant.server, tool_name=grant.tool),
                details={
                    "agent_id": grant.agent,
                    "entry_type": grant.entry_type,
                    "permission": grant.permission,
                    "permissions": list(grant.permissions),
                    "granted_by": grant.granted_by,
                    "expires_at": grant.expires_at,
                    "justification": grant.justification,
                },
                trace_id=trace_id,
            )
            self._issued.recorded(change.number)

    def _access(self) -> Access:
        found = self._now.gate("access", Access)
        if found is None:
            raise RuntimeError("no gate says yet who may do what")
        return found

    def _tool(self, server: str, name: str | None) -> Tool | None:
        return None if name is None else self._now.catalogue().present(Target(server, name))

    # -- for those who ask (`access.methods.Authority`)

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
        return self.issue_by(call.caller.id, grant, call.trace_id)

    def take_back(self, call: Call, key: Key) -> Grant:
        """Take a grant back. Raises `KeyError` where none was issued."""
        return self.take_back_by(call.caller.id, key, call.trace_id)

    def issue_by(self, by: str, grant: Grant, trace_id: str | None = None) -> Grant:
        """As `issue`, for a person who makes no call."""
        grant = granted(grant, self._now.settings, self._now.catalogue())
        tool = self._tool(grant.server, grant.tool)
        if tool is not None and grant.permission == "allow":
            grant = replace(grant, tool_digest=definition_digest(tool.definition))
        made = self._issued.grant(grant, by=by)
        self.look(trace_id)
        return made

    def put_back_by(self, by: str, grant: Grant) -> Grant:
        """Issue a grant that there was before, for the definition that it was given for: the tool may be another one by now. Raises
        `ValueError`."""
        granted(grant, self._now.settings, self._now.catalogue())
        made = self._issued.grant(grant, by=by)
        self.look()
        return made

    def take_back_by(self, by: str, key: Key, trace_id: str | None = None) -> Grant:
        """As `take_back`, for a person who makes no call. Raises `KeyError`."""
        gone = self._issued.revoke(key, by=by)
        self.look(trace_id)
        return gone

    def written(self, key: Key) -> str:
        """Where the configuration has a grant for the same; empty where it has none."""
        grants = self._now.settings.grants
        found = (one for one in grants if (one.agent, one.server, one.tool) == key)
        return next((str(one.origin) for one in found), "")
