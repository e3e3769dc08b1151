"""`TaskNames`: translates task ids between a server connection and its callers; `connection_name`: the key of a connection."""

from __future__ import annotations

from gatewright.call import Call
from gatewright.mcp.client.link import Link
from gatewright.servers.session_sink import SessionSink
from gatewright.servers.spec import ServerSpec
from gatewright.servers.task_owners import MadeTasks, owner_of

__all__ = ["TaskNames", "connection_name", "lead"]


def connection_name(spec: ServerSpec, own: str | None, link: Link | None, process: str) -> str:
    """What tells a connection from all others of its server: the session that has it for itself, and, where what a server
    remembers ends with the connection, which one it is in this `process` of ours."""
    if spec.transport == "http":
        return own or ""
    return f"{own or ''}#{process}.{'' if link is None else link.number}"


def lead(link: Link, made: MadeTasks | None, spec: ServerSpec, sink: object) -> Link:
    """The link, which knows whose the tasks are that are named on it, where anybody does. `sink` takes what it says."""
    if made is not None:
        own = sink.session if isinstance(sink, SessionSink) else None
        link.know(TaskNames(made, spec, own, link))
    return link


class TaskNames:
    """`own` is the session that has the connection for itself."""

    def __init__(self, made: MadeTasks, spec: ServerSpec, own: str | None, link: Link) -> None:
        self._made = made
        self._server = spec.id
        self._of = spec, own, link

    def _name(self) -> str:
        return connection_name(*self._of, self._made.process)

    def shown(self, call: Call, task: str) -> str | None:
        """What the caller of a call knows a task by that the server calls `task`; None where it is not that caller's."""
        one = self._made.heard(self._server, self._name(), task)
        return one.id if one is not None and one.owner == owner_of(call) else None

    def meant(self, call: Call, name: str) -> str | None:
        """What the server calls the task that a caller knows by `name`; None where it has none of that name here."""
        one = self._made.named(call, name)
        here = one is not None and (one.server, one.connection) == (self._server, self._name())
        return one.task if one is not None and here else None
