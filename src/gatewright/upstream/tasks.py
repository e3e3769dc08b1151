"""The methods of tasks, for those that servers made: each is led to the server and the connection that has the task.

Callers know tasks by ids of the gateway's own (`made_tasks`); here they are put by the server's, and back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Failure, Outcome
from gatewright.links.related import named, without
from gatewright.protocol import task_ids
from gatewright.stores.server_tasks import ServerTask
from gatewright.upstream.catalogue import Catalogue
from gatewright.upstream.made_tasks import MadeTasks
from gatewright.upstream.server import Server
from gatewright.upstream.task_subject import sees
from gatewright.upstream.task_words import unrelated, without_details
from gatewright.upstream.telling import connection_of
from gatewright.wire import jsonrpc
from gatewright.wire.mcp import TASK_STATUS
from gatewright.wire.versions import is_modern

__all__ = ["LIST", "STATUS", "ServerTasks"]

LIST = "tasks/list"
STATUS = TASK_STATUS
_ASKED_FOR = frozenset({task_ids.WORDS, *task_ids.DETAILS})
"""What is told of how a task stands to whoever asks for it, and not unasked."""

_PAGES = 64
_GONE = Failure("invalid_params", "there is no such task")


class ServerTasks:
    """See the module's text."""

    def __init__(self, made: MadeTasks) -> None:
        self.made = made

    async def noticed(self, outcome: Answer, owner: Server, call: Call) -> Outcome:
        """What a call came to, whose caller takes a task (`wanted`) and whose server may have made one of it."""
        found = task_ids.created(outcome.raw, is_modern(call.client.revision))
        if found is None:
            return outcome
        connection = connection_of(owner, call.session, self.made.process)
        made = await self.made.make(call, owner.id, connection, found.id, found.lasts_s)
        if made is None:
            return Failure(
                "upstream_error",
                f"server {owner.id} says that it made a task, and calls it what another caller's task is called: "
                "it cannot be told whose it is",
            )
        return _named(replace(outcome, raw=without_details(outcome.raw)), made)

    async def ask(
        self, owners: Mapping[str, object], catalogue: Catalogue, call: Call, back: Back
    ) -> Outcome:
        """Ask about a task, or about all of them; `owners` are all servers, `catalogue` says what exists for the caller. Nobody
        is asked about a task that is not known to be the caller's."""
        if call.method == LIST:
            return await self._list(owners, catalogue, call, back)
        made = self.made.of(call)
        owner = None if made is None else owners.get(made.server)
        if made is None or not isinstance(owner, Server):
            return _GONE
        if not sees(catalogue, call.caller, call.profile, made):
            return _GONE
        call.facts["task_of"] = made.of
        if not self._there(owner, made):
            await self.made.forget(made)
            return _GONE
        params = {**call.params, "taskId": made.task}
        outcome = await self._put(owner, made, call.method, params, call, back)
        if type(outcome) is Answer:
            return _named(outcome, made)
        if call.method == "tasks/get" and _unknown(outcome):
            await self.made.forget(made)
        return outcome

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

    def _there(self, owner: Server, made: ServerTask) -> bool:
        session = made.connection.partition("#")[0] or None
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
        session = made.connection.partition("#")[0]
        if session:
            return await owner.call(method, params, replace(call, session=session), back)
        return await owner.call_common(method, params, call, back)

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
        groups: dict[tuple[str, str], list[ServerTask]] = {}
        for one in mine:
            groups.setdefault((one.server, one.connection), []).append(one)
        found: list[msgspec.Raw] = []
        for (server, _), group in groups.items():
            owner = owners.get(server)
            if not isinstance(owner, Server) or not self._there(owner, group[0]):
                continue
            pages = await self._pages(owner, group, call, back)
            if isinstance(pages, Failure):
                return pages
            found += pages
        return Answer(jsonrpc.encode({"tasks": found}))

    async def _pages(
        self, owner: Server, group: Sequence[ServerTask], call: Call, back: Back
    ) -> list[msgspec.Raw] | Failure:
        """A server lists the tasks of everybody, since to it all are one: its caller gets its own."""
        names = {one.task: one.id for one in group}
        found: list[msgspec.Raw] = []
        params: dict[str, Any] = {}
        for _ in range(_PAGES):
            outcome = await self._put(owner, group[0], LIST, params, call, back)
            if type(outcome) is not Answer:
                return found  # it has no list: each is asked for by its id
            try:
                page, cursor = task_ids.listed(outcome.raw, names)
            except ValueError as problem:
                said = f"the tasks of server {owner.id} cannot be read: {problem}"
                return Failure("upstream_error", said)
            found += page
            if not isinstance(cursor, str) or len(found) == len(names):
                break
            params = {"cursor": cursor}
        return found


def _named(outcome: Answer, made: ServerTask) -> Outcome:
    try:
        raw = task_ids.renamed(outcome.raw, made.task, made.id)
        members: dict[str, Any] = dict(jsonrpc.decode_members(raw))
        meta = members.get("_meta")
        related = named({"_meta": None if meta is None else jsonrpc.decode(meta)})
        if related not in (None, made.id) and unrelated(members):
            raw = jsonrpc.encode(members)
        return replace(outcome, raw=raw)
    except ValueError:
        return Failure("upstream_error", f"what server {made.server} says of a task cannot be read")


def _unknown(outcome: Outcome) -> bool:
    """Whether a server says that it has no such task."""
    if not isinstance(outcome, Failure) or outcome.error is None:
        return False
    try:
        return bool(jsonrpc.decode(outcome.error).get("code") == jsonrpc.INVALID_PARAMS)
    except (ValueError, AttributeError):
        return False
