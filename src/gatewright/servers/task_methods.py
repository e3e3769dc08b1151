"""Tasks of servers: registers those that results announce, routes `tasks/*`, merges lists, translates ids, forgets lost tasks.

Callers know tasks by ids of the gateway's own (`task_owners`); here they are put by the server's, and back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Failure, Outcome
from gatewright.mcp.client.related_tasks import named, without
from gatewright.mcp.protocol import task_ids
from gatewright.mcp.protocol.read_members import known, members_of, with_members
from gatewright.mcp.protocol.task_ids import RELATED
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import TASK_STATUS
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.versions import is_modern
from gatewright.servers.call_sender import Route
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.client_notices import connection_of
from gatewright.servers.draining import leaving
from gatewright.servers.server import Server
from gatewright.servers.task_names import connection_name, parts_of
from gatewright.servers.task_owners import MadeTasks
from gatewright.servers.task_screening import unrelated, without_details
from gatewright.servers.task_store import ServerTask
from gatewright.servers.task_subject import sees
from gatewright.transport.large_text import LARGE, holds_any
from gatewright.transport.slices import in_one, in_slices

__all__ = ["LIST", "STATUS", "ServerTasks", "within"]

log = logging.getLogger("gatewright.tasks")

LIST = "tasks/list"
STATUS = TASK_STATUS
_ASKED_FOR = frozenset({task_ids.WORDS, *task_ids.DETAILS})
"""What is told of how a task stands to whoever asks for it, and not unasked."""

_PAGES = 64
_GONE = Failure("invalid_params", "there is no such task")


class ServerTasks:
    """See the module's text."""

    def __init__(self, made: MadeTasks, former: Callable[[], Iterable[Server]] = tuple) -> None:
        """`former` are servers that others have replaced, and that end when nobody needs them any more."""
        self.made = made
        self._former = former

    async def noticed(self, outcome: Answer, owner: Server, call: Call, route: Route) -> Outcome:
        """What a call came to, whose caller takes a task (`wanted`) and whose server may have made one of it, on the connection
        of `route`: the one that serves the session now may be another."""
        if len(outcome.raw) > LARGE and not await holds_any(outcome.raw, task_ids.MADE):
            return outcome
        modern = is_modern(call.client.revision)
        found = await in_one(lambda: task_ids.created(outcome.raw, modern, known(outcome)))
        if found is None:
            return outcome
        if len(outcome.raw) > DECODED_BYTES:
            said = f"server {owner.id} says that it made a task, in more than {DECODED_BYTES} bytes"
            return Failure("upstream_error", said)
        link = route.link
        connection = connection_name(owner.spec, route.own, link, self.made.process)
        told_on = 0 if link is None else link.told_on
        made = await self.made.make(call, owner.id, connection, found.id, found.lasts_s, told_on)
        if made is None:
            return Failure(
                "upstream_error",
                f"server {owner.id} says that it made a task, and calls it what another caller's task is called: "
                "it cannot be told whose it is",
            )
        return await _named(replace(outcome, raw=without_details(outcome.raw)), made)

    async def ask(
        self, owners: Mapping[str, object], catalogue: Catalogue, call: Call, back: Back
    ) -> Outcome:
        """Ask about a task, or about all of them; `owners` are all servers, `catalogue` says what exists for the caller. Nobody
        is asked about a task that is not known to be the caller's."""
        if call.method == LIST:
            return await self._list(owners, catalogue, call, back)
        made = self.made.of(call)
        owner = None if made is None else self._owner(owners, made)
        if made is None or not isinstance(owner, Server):
            return _GONE
        if not sees(catalogue, call.caller, call.profile, made):
            return _GONE
        # So that filters judge the answer as the tool's (`Call.speaker`).
        call.facts["task_of"] = made.of
        params = {**call.params, "taskId": made.task}
        outcome = await self._put(owner, made, call.method, params, call, back)
        if isinstance(outcome, Answer):
            return await _named(outcome, made)
        # The connection may have ended while it was asked, and the task of a process with it.
        gone = not self._there(owner, made)
        if gone or (call.method == "tasks/get" and _unknown(outcome)):
            await self.made.forget(made)
        return _GONE if gone and outcome.details.get("sent") is False else outcome

    def heard(
        self, server: Server, method: str, params: dict[str, Any], session: str | None
    ) -> tuple[ServerTask, dict[str, Any]] | None:
        """Whose task a server speaks of, in a notification that names one, and what it says as that caller may hear it."""
        connection = connection_of(server, session, self.made.process)
        stands = method in STATUS
        made = self.made.heard(
            server.id, connection, params.get("taskId") if stands else named(params)
        )
        if made is None:
            return None
        if stands:
            params = {name: one for name, one in params.items() if name not in _ASKED_FOR}
        found = task_ids.renamed_params(params, made.task, made.id)
        return made, found if named(found) in (None, made.id) else without(found)

    def _owner(self, owners: Mapping[str, object], made: ServerTask) -> object:
        """Who has a task: the server of that name, or the one before it."""
        now = owners.get(made.server)
        if isinstance(now, Server) and not self._there(now, made):
            every = (one for one in self._former() if one.id == made.server)
            return next((one for one in every if self._there(one, made)), now)
        return now

    def _there(self, owner: Server, made: ServerTask) -> bool:
        session, _ = parts_of(made.connection)
        return connection_of(owner, session, self.made.process) == made.connection

    async def _put(
        self,
        owner: Server,
        made: ServerTask,
        method: str,
        params: dict[str, Any],
        call: Call,
        back: Back,
    ) -> Outcome:
        if not self._there(owner, made):
            return _GONE
        session, ends = parts_of(made.connection)
        # What ends with its connection is nobody's on the next, where others may have a task of the same name.
        keeper = owner.reconnector_of(session)
        drains = leaving(keeper.drain)
        route = Route(drains or keeper.link, leaving=drains is not None) if ends else None
        if session:
            return await owner.call(method, params, replace(call, session=session), back, route)
        return await owner.call_common(method, params, call, back, route)

    async def _list(
        self, owners: Mapping[str, object], catalogue: Catalogue, call: Call, back: Back
    ) -> Outcome:
        mine = [
            one for one in self.made.all_of(call) if sees(catalogue, call.caller, call.profile, one)
        ]
        visible = [owners.get(one) for one in catalogue.servers(call.profile, call.caller)]
        having = any(
            isinstance(one, Server) and "tasks" in one.hello.capabilities for one in visible
        )
        if not having and not mine:
            return Failure("method_not_found", f"Method not found: {LIST}")
        groups: dict[str, dict[str, list[ServerTask]]] = {}
        for one in mine:
            groups.setdefault(one.server, {}).setdefault(one.connection, []).append(one)
        each = (group for of_server in groups.values() for group in of_server.values())
        every = ((self._owner(owners, group[0]), [group]) for group in each)
        asked = (self._of(one, had, call, back) for one, had in every if isinstance(one, Server))
        found = await asyncio.gather(*asked)
        return Answer(jsonrpc.encode({"tasks": [task for some in found for task in some]}))

    async def _of(
        self, owner: Server, groups: Sequence[Sequence[ServerTask]], call: Call, back: Back
    ) -> list[msgspec.Raw]:
        """The tasks of one server as it lists them on each connection, all of it in the time of one call."""
        call = within(call, owner.spec.call_s)
        found: list[msgspec.Raw] = []
        for group in groups:
            if self._there(owner, group[0]):
                found += await self._pages(owner, group, call, back)
        return found

    async def _pages(
        self, owner: Server, group: Sequence[ServerTask], call: Call, back: Back
    ) -> list[msgspec.Raw]:
        """A server lists the tasks of everybody, since to it all are one: its caller gets its own. The list ends at a page that
        cannot be had or read."""
        names = {one.task: one.id for one in group}
        found: list[msgspec.Raw] = []
        params: dict[str, Any] = {}
        for _ in range(_PAGES):
            outcome = await self._put(owner, group[0], LIST, params, call, back)
            if type(outcome) is not Answer:
                break
            try:
                page, cursor = await in_slices(task_ids.listed(outcome.raw, names))
            except ValueError as problem:
                log.warning("the tasks of server %s cannot be read: %s", owner.id, problem)
                break
            found += page
            if not isinstance(cursor, str) or not names:
                break
            params = {"cursor": cursor}
        return found


def within(call: Call, seconds: float) -> Call:
    """The call with no more time than this, from now on, for all that is asked for it."""
    deadline = asyncio.get_running_loop().time() + seconds
    return replace(
        call, deadline=deadline if call.deadline is None else min(call.deadline, deadline)
    )


async def _named(outcome: Answer, made: ServerTask) -> Outcome:
    try:
        return await in_slices(_renamed(outcome, made))
    except ValueError:
        return Failure("upstream_error", f"what server {made.server} says of a task cannot be read")


def _renamed(answer: Answer, made: ServerTask) -> Generator[None, None, Answer]:
    """What a server says of a task, by the name that its caller knows; a step each time that all of it is gone through."""
    yield
    members = members_of(answer)
    changed = task_ids.rename(members, made.task, made.id)
    if _related(members.get("_meta")) not in (None, made.id):
        changed = unrelated(members) or changed
    yield
    if not changed:
        return answer
    raw, read = with_members(members)
    return replace(answer, raw=raw, read=read)


def _related(meta: msgspec.Raw | None) -> str | None:
    """Which task the text of `_meta` names (`named`)."""
    if meta is None or bytes(meta)[:1] != b"{":
        return None
    found = jsonrpc.members_named(meta, RELATED)
    return named({"_meta": {name: jsonrpc.decode(one) for name, one in found.items()}})


def _unknown(outcome: Outcome) -> bool:
    """Whether a server says that it has no such task."""
    if not isinstance(outcome, Failure) or outcome.error is None:
        return False
    try:
        return bool(jsonrpc.decode(outcome.error).get("code") == jsonrpc.INVALID_PARAMS)
    except (ValueError, AttributeError):
        return False
