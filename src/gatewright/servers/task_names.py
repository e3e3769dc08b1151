"""`TaskNames`: translates task ids between a server connection and callers; `lead` installs it; `connection_name`: a connection's key.

The name of a connection has three parts: the session that has it for itself, what tells it from others that one could take for it, and
between them `#` where what a server remembers ends with the connection, else `@`. Over HTTP it does not end, so there it is what stands behind
the server's id (`origin`): whoever is put in its place was never told of those tasks, and a row of an earlier gateway without it leads nowhere.
"""

from __future__ import annotations

from gatewright.call import Call
from gatewright.mcp.client.link import Link
from gatewright.servers.origin import origin_of
from gatewright.servers.session_sink import SessionSink
from gatewright.servers.spec import ServerSpec
from gatewright.servers.task_owners import MadeTasks, has

__all__ = ["TaskNames", "connection_name", "lead", "parts_of"]


def connection_name(spec: ServerSpec, own: str | None, link: Link | None, process: str) -> str:
    """What tells a connection from all others of its server: the session that has it for itself, and, where what a server
    remembers ends with the connection, which one it is in this `process` of ours."""
    if spec.transport == "http":
        return f"{own or ''}@{origin_of(spec)}"
    return f"{own or ''}#{process}.{'' if link is None else link.number}"


def parts_of(connection: str) -> tuple[str | None, bool]:
    """The session that has a connection of this name for itself, and whether tasks end with it."""
    session, ends, _ = connection.partition("#")
    return (session if ends else connection.partition("@")[0]) or None, bool(ends)


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
        over_http = spec.transport == "http"
        self._same = connection_name(spec, own, link, made.process) if over_http else ""
        """The name where it is one for good: it is asked for with each status, and digests what stands behind the id."""

    def _name(self) -> str:
        return self._same or connection_name(*self._of, self._made.process)

    def shown(self, call: Call, task: str) -> str | None:
        """What the caller of a call knows a task by that the server calls `task`; None where it is not that caller's."""
        one = self._made.heard(self._server, self._name(), task)
        return one.id if one is not None and has(call, one) else None

    def meant(self, call: Call, name: str) -> str | None:
        """What the server calls the task that a caller knows by `name`; None where it has none of that name here."""
        one = self._made.named(call, name)
        here = one is not None and (one.server, one.connection) == (self._server, self._name())
        return one.task if one is not None and here else None
