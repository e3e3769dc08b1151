"""Tasks that servers made for callers: which server has each, and whose it is. Bounded, in memory.

To a server all callers are one client, so the gateway has to know whose a task is: an id is a handle and no credential
(MCP 2025-11-25, tasks: whoever receives requests of several requestors must bind tasks to them). A task belongs to
the caller for whom it was made. Where callers have no name, it belongs to the session, and without one whoever knows its id has it.
What is not known here any more, after a restart, nobody is told of in a list; whoever asks for it by its id is passed on.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

import msgspec

from gatewright.call import Call, Target
from gatewright.wire import jsonrpc

__all__ = ["EACH", "KEPT", "MadeTasks", "Owner", "owner_of"]

EACH = 256
"""So many tasks of one caller: whoever makes more pushes out only its own."""
KEPT = 65_536

Owner = tuple[str, str, str]


class _Made(NamedTuple):
    server: str
    owner: Owner
    tool: str = ""
    """The tool whose call it is; empty where it is of nothing that is called a tool."""


class MadeTasks:
    """One for all configurations of a gateway."""

    def __init__(self) -> None:
        self._made: OrderedDict[str, _Made] = OrderedDict()
        self._of_owner: dict[Owner, OrderedDict[str, None]] = {}

    def remember(self, raw: bytes, server: str, call: Call) -> None:
        """The result of a call may say that its server made a task (MCP tasks, both dialects)."""
        members = jsonrpc.decode_members(raw)
        try:
            found = jsonrpc.decode_members(members.get("task", raw)).get("taskId")
            name = jsonrpc.decode(found) if found is not None else None
        except ValueError:
            return
        if isinstance(name, str) and name not in self._made:
            # Nobody takes over what another one made by calling something the same.
            tool = "" if call.tool is None else call.tool.target.name
            self._keep(name, _Made(server, owner_of(call), tool))

    def _keep(self, name: str, made: _Made) -> None:
        mine = self._of_owner.setdefault(made.owner, OrderedDict())
        self._made[name], mine[name] = made, None
        if len(mine) > EACH:
            self._forget(next(iter(mine)))
        if len(self._made) > KEPT:
            self._forget(next(iter(self._made)))

    def _forget(self, name: str) -> None:
        owner = self._made.pop(name).owner
        del self._of_owner[owner][name]
        if not self._of_owner[owner]:
            del self._of_owner[owner]

    def maker(self, call: Call) -> Target | None:
        """The server that has the task which a call is about, and the tool whose call the task is; None where the call is about
        no task, or about one that is not known."""
        made = self._of(call)
        return None if made is None else Target(made.server, made.tool)

    def foreign(self, call: Call) -> bool:
        """Whether the task that a call is about is somebody else's."""
        made = self._of(call)
        return made is not None and made.owner != owner_of(call)

    def listed(self, raw: bytes, server: str, call: Call) -> bytes:
        """A server's list of tasks with those alone that are the caller's. Raises `ValueError`."""
        found = jsonrpc.decode_members(raw)
        mine = server, owner_of(call)
        tasks = msgspec.json.decode(found.get("tasks", b"[]"), type=list[msgspec.Raw])
        made = ((one, self._made.get(_id_of(one))) for one in tasks)
        kept = [one for one, by in made if by is not None and (by.server, by.owner) == mine]
        return msgspec.json.encode({**found, "tasks": kept})

    def _of(self, call: Call) -> _Made | None:
        name = call.params.get("taskId")
        return self._made.get(name) if isinstance(name, str) else None


def _id_of(task: msgspec.Raw) -> str:
    found: Any = jsonrpc.decode(task)
    name = found.get("taskId") if isinstance(found, dict) else None
    return name if isinstance(name, str) else ""


def owner_of(call: Call) -> Owner:
    """Whose the tasks of a call are."""
    caller = call.caller
    return caller.kind, caller.id, (call.session or "") if caller.kind == "anonymous" else ""
