"""`Tasks`: turns tool calls that await an operator into MCP tasks, runs them once approved; answers `tasks/*`, asking servers about theirs.

Theory. A caller that takes tasks is told at once that its call waits, by a task instead of a refusal. From then on the gateway stands in for
it: it waits for the decision and then repeats the call, which passes every gate anew and uses the approval up. So nothing of a task is
outside of policy: whoever lost its key, its grant or its session meanwhile is refused by what holds then, a changed configuration
asks again, and the record has both calls, with the task's id in the second (`task`). What that call comes to is the task's result.

A task ends with the request that it waits for, and with the process: the request stays in the queue, and the same call made again finds it.
While it runs, nobody can be asked anything through it, and what it says on its way is not passed on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from typing import Any, Protocol

from msgspec.structs import replace

from gatewright.approvals.request import Approval
from gatewright.call import (
    Answer,
    Back,
    Call,
    CannotAsk,
    Client,
    Event,
    Failure,
    Outcome,
    Question,
    Refusal,
    Tool,
)
from gatewright.command_text import to_type
from gatewright.kernel import Further
from gatewright.limits.polls import Polls
from gatewright.mcp.protocol import outcomes, tasks
from gatewright.mcp.protocol.ended_calls import given_up
from gatewright.mcp.server.endpoints import SPEAKING_MCP
from gatewright.mcp.server.kept_answers import NOTHING_TAKEN_BACK, Kept, of_call
from gatewright.mcp.wire.versions import is_modern
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.task_owners import EACH
from gatewright.standing import NOTHING, Standing
from gatewright.tasks.store import Entry, TaskBook
from gatewright.transport.slices import in_slices

__all__ = ["Queue", "Tasks", "tasks_of"]

log = logging.getLogger("gatewright.tasks")

_Elsewhere = Callable[[Call, Back], Awaitable[Outcome]]


class Queue(Protocol):
    """The queue of what waits for a person (`approvals.queue`)."""

    @property
    def offered(self) -> bool:
        """Whether any call may wait for an operator."""

    def get(self, id: str) -> Approval | None:
        """One request, whatever became of it."""

    async def decided(self, id: str) -> None:
        """Wait until a request is no longer undecided."""

    def withdraw(self, id: str, call: Call) -> None:
        """Whoever asked by this call takes its request back, where nobody else asked and nobody has decided on it."""


class _Nobody:
    """The way back of a call that is made for a task."""

    def emit(self, event: Event) -> None:
        """Whoever made the task asks how it stands."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("nobody can be asked in the middle of a task of the gateway")


class Tasks:
    """A hook of the kernel around calls, and what answers the methods of tasks."""

    def __init__(
        self,
        queue: Queue,
        book: TaskBook,
        looks: Polls,
        *,
        tool: Callable[[Call], Tool | None],
        info: Callable[[], Mapping[str, Any]],
        random: Callable[[int], bytes],
        kept: Kept = NOTHING_TAKEN_BACK,
    ) -> None:
        """`tool` is what a call would find; `info` is what the gateway calls itself; `kept` judges what may be handed out no more."""
        self._queue = queue
        self._book = book
        self._looks = looks
        self._tool = tool
        self._info, self._kept = info, kept
        self._random = random
        self.methods: Mapping[str, Callable[[Call, Back, _Elsewhere], Awaitable[Outcome]]] = {
            "tasks/get": self._get,
            "tasks/result": self._result,
            "tasks/cancel": self._cancel,
            "tasks/update": self._update,
            "tasks/list": self._list,
        }
        """What is asked about tasks. The last argument asks the servers about those that are theirs."""

    async def close(self) -> None:
        """No task goes on."""
        work = [one.work for one in self._book.working() if one.work is not None]
        for one in work:
            one.cancel()
        await asyncio.gather(*work, return_exceptions=True)

    def announced(self, capabilities: dict[str, Any], client: Client) -> dict[str, Any]:
        """Capabilities as a client hears them, where calls may wait for operators."""
        return tasks.announced(capabilities, client) if self._queue.offered else capabilities

    # -- calls ---------------------------------------------------------------------------------------

    def around(self, call: Call, back: Back, further: Further) -> Coroutine[Any, Any, Outcome]:
        """How the call ends; with a task, where it waits for an operator and its caller takes one."""
        # Nobody at the other doors can ask how a task stands.
        if tasks.wanted(call) and call.kind == "tool" and call.door in SPEAKING_MCP:
            return self._takes_task(call, back, further)
        return further(call, back)

    def stands(self, call: Call) -> Standing | None:
        """Calls that take no task pass as they are."""
        return None if tasks.wanted(call) else NOTHING

    async def _takes_task(self, call: Call, back: Back, further: Further) -> Outcome:
        tool = self._tool(call) if tasks.in_core(call.client) else None
        if tool is not None and tasks.runs_as_task(tool.definition):
            return await further(call, back)  # its server's task, and nobody else's
        # The gate that asks operators would else hold the call itself until they decide.
        call = replace(call, facts={**call.facts, tasks.TASK: "taken"})
        outcome = await further(call, back)
        approval = _waits(outcome)
        one = None if approval is None else self._queue.get(approval)
        if one is not None:
            return self._waiting(call, one, further) or outcome
        if tool is not None and tool.as_task:
            return self._at_once(call, outcome) or outcome
        return outcome

    def _waiting(self, call: Call, one: Approval, further: Further) -> Answer | None:
        """A task for a call that waits; None where there are too many."""
        said = f"it waits for an operator's approval ({one.id}) to {one.wish}, decided with `{to_type('approve {}', one.id)}`; nothing was run yet"
        entry = self._book.make(tasks.plain(call), one.id, said, one.expires)
        if entry is None:
            return None
        with self._looks.held(_poll(call, entry), entry.task.id, _lasts(entry)):
            entry.work = asyncio.get_running_loop().create_task(self._run(entry, further))
        return self._answer(call, tasks.created(entry.task, call.client, self._info()))

    def _at_once(self, call: Call, outcome: Outcome) -> Answer | None:
        """A task that has ended already: who asked for one for a tool that offers it reads nothing else."""
        entry = self._book.make(call, "", "it runs")
        if entry is None:
            return None
        raw = tasks.created(entry.task, call.client, self._info())
        self._book.end(entry, "ended", outcome, _told(outcome))
        return self._answer(call, raw)

    async def _run(self, entry: Entry, further: Further) -> None:
        """Wait for the decision, make the call, and keep what it came to."""
        try:
            outcome = await self._awaited(entry, further)
        except asyncio.CancelledError as stopped:
            unrecorded = given_up(entry.call, stopped)
            if unrecorded is not None:
                self._end_as(entry, unrecorded)
            self._book.end(entry, "cancelled", _CANCELLED, "it was cancelled")
            raise
        except Exception:
            log.exception("task %s broke", entry.task.id)
            outcome = Failure("internal", "internal error; the details are in the gateway's log")
        self._end_as(entry, outcome)

    def _end_as(self, entry: Entry, outcome: Outcome) -> None:
        """What it came to, and was perhaps answered in place of being cancelled. MCP 2025-11-25, Tasks: whoever cancels one that works is told
        that it is cancelled, and that stays so; `tasks/result` gives what came of it all the same."""
        if entry.given_up:
            self._book.end(
                entry, "cancelled", outcome, f"it was cancelled; by then: {_told(outcome)}"
            )
        self._book.end(entry, "ended", outcome, _told(outcome))

    async def _awaited(self, entry: Entry, further: Further) -> Outcome:
        while True:
            await self._queue.decided(entry.approval)
            one = self._queue.get(entry.approval)
            if one is None or one.state in ("expired", "used"):
                return _undecided(entry)
            self._book.note(entry, f"an operator decided on {one.id}: it goes on")
            call = replace(entry.call, id=self._random(16).hex(), facts={tasks.TASK: entry.task.id})
            outcome = await further(call, _NOBODY)
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                return outcome  # cancelled, and answered instead: nobody waits for another decision
            again = _waits(outcome)
            asked = None if again is None else self._queue.get(again)
            if asked is None or asked.id == entry.approval:
                return outcome
            entry.approval = asked.id  # other rules hold now, and they ask anew
            said = f"it waits once more for an operator's approval ({asked.id}) to {asked.wish}, decided with `{to_type('approve {}', asked.id)}`"
            self._book.note(entry, said, ends=asked.expires)

    # -- what is asked about them --------------------------------------------------------------------

    async def _get(self, call: Call, back: Back, elsewhere: _Elsewhere) -> Outcome:
        entry = self._book.of(call, call.params.get("taskId"))
        if entry is None:
            return await _not_ours(call, back, elsewhere)
        if entry.outcome is not None:
            self._looks.over(call)
        return _flaw(call) or self._answer(call, self._shown(entry, call))

    async def _result(self, call: Call, back: Back, elsewhere: _Elsewhere) -> Outcome:
        entry = self._book.of(call, call.params.get("taskId"))
        if entry is None or is_modern(call.client.revision):
            return await _not_ours(call, back, elsewhere)
        if entry.outcome is None:  # MCP 2025-11-25, Tasks: `tasks/result` waits for the end
            with self._looks.held(call, entry.task.id, _lasts(entry)):
                await entry.over.wait()
        self._looks.over(call)
        if (end := self._end(entry, call)).result:
            return self._answer(call, tasks.related(end.result, entry.task.id))
        spelled = call.client.mgp is not None  # as it is for this very client
        return Failure("upstream_error", error=end.error, mgp=spelled)

    async def _cancel(self, call: Call, back: Back, elsewhere: _Elsewhere) -> Outcome:
        entry = self._book.of(call, call.params.get("taskId"))
        if entry is None:
            return await _not_ours(call, back, elsewhere)
        flaw = _flaw(call)
        if flaw is not None:
            return flaw
        if entry.outcome is not None and not is_modern(call.client.revision):
            # MCP 2025-11-25, Tasks: -32602 for one that has ended. In later revisions it is no error.
            return Failure("invalid_params", "this task has ended, so it cannot be cancelled")
        if entry.outcome is None:
            entry.given_up = entry.given_up or tasks.in_core(call.client)
            await self._end_early(entry)
        modern = is_modern(call.client.revision)
        return self._answer(call, _DONE if modern else self._shown(entry, call))

    async def _end_early(self, entry: Entry) -> None:
        """As a call that is cancelled: once that is recorded, or cannot be."""
        if entry.work is None:
            self._ended_early(entry)
            return
        if not entry.work.cancelling():  # a second one would not wait for the record
            entry.work.cancel()
        # Also where whoever cancels it is gone before it has ended.
        entry.work.add_done_callback(lambda _: self._ended_early(entry))
        await asyncio.wait([entry.work])
        self._ended_early(entry)

    def _ended_early(self, entry: Entry) -> None:
        """What had not begun, or was answered in place of the cancellation, has ended as well."""
        self._book.end(entry, "cancelled", _CANCELLED, "it was cancelled")
        if not self._book.waiting(entry.approval):
            self._queue.withdraw(entry.approval, entry.call)

    async def _update(self, call: Call, back: Back, elsewhere: _Elsewhere) -> Outcome:
        """Nothing is asked of the caller of such a task, so no answer is outstanding."""
        entry = self._book.of(call, call.params.get("taskId"))
        if entry is None or not is_modern(call.client.revision):
            return await _not_ours(call, back, elsewhere)
        return _flaw(call) or self._answer(call, _DONE)

    async def _list(self, call: Call, back: Back, elsewhere: _Elsewhere) -> Outcome:
        """The caller's own first, and then the page of whichever server has tasks."""
        found = await elsewhere(call, back)
        if is_modern(call.client.revision):
            return found
        mine = [] if call.params.get("cursor") else self._book.all_of(call)
        if type(found) is not Answer and getattr(found, "reason", "") != "method_not_found":
            return found  # what could not be found out is no empty list
        if not mine and (type(found) is Answer or not self._queue.offered):
            return found
        shown = await in_slices(self._each(mine, call))
        page = found.raw if type(found) is Answer else b""
        # Of servers no more are read either than one caller may have.
        return self._answer(call, tasks.listed(shown, page, most=EACH))

    def _each(self, entries: list[Entry], call: Call) -> Generator[None, None, list[bytes]]:
        found = []
        for one in entries:
            found.append(self._shown(one, call))
            yield
        return found

    def _shown(self, entry: Entry, call: Call) -> bytes:
        if entry.outcome is None:
            return tasks.shown(entry.task, call.client, None)
        if is_modern(call.client.revision):
            return tasks.shown(entry.task, call.client, self._end(entry, call))
        # A list has a hundred of them, and each may have come to megabytes: they are not gone through for a word.
        outcome = self._outcome(entry, call)
        failed = type(outcome) is not Answer or outcome.tool_error
        return tasks.shown(entry.task, call.client, None, failed=failed)

    def _outcome(self, entry: Entry, call: Call) -> Outcome:
        """What the call came to, for whoever asks now."""
        if self._kept.withheld(call.caller, entry.call.profile, entry.about):
            return _TAKEN_BACK
        return entry.outcome or _CANCELLED

    def _end(self, entry: Entry, call: Call) -> outcomes.Spelled:
        """The same, as its caller would have been told."""
        made, outcome = entry.call, self._outcome(entry, call)
        return outcomes.spell(outcome, made.method, call.client, made.trace_id, self._info())

    def _answer(self, call: Call, raw: bytes) -> Answer:
        return Answer(raw, modern=is_modern(call.client.revision))


def tasks_of(
    queue: Queue,
    looks: Polls,
    supervisor: Supervisor,
    random: Callable[[int], bytes],
) -> Tasks:
    """The tasks of one gateway."""

    def found(call: Call) -> Tool | None:
        catalogue = supervisor.catalogue
        return catalogue.tool(call.profile, call.name) if catalogue.knows(call.profile) else None

    kept = supervisor.kept
    book = TaskBook(
        time.time, random, lambda call: kept.meant(call.caller, call.profile, of_call(call))
    )
    kept.own = book.about
    info = lambda: supervisor.info  # noqa: E731
    return Tasks(queue, book, looks, tool=found, info=info, random=random, kept=kept)


def _waits(outcome: Outcome) -> str | None:
    """The request for approval for which a call is told to come back."""
    if type(outcome) is not Refusal or outcome.details.get("status") != "pending_approval":
        return None
    found = outcome.details.get("approval_id")
    return found if isinstance(found, str) and found else None


async def _not_ours(call: Call, back: Back, elsewhere: _Elsewhere) -> Outcome:
    """A task that is a server's, or nobody's."""
    id = call.params.get("taskId")
    if isinstance(id, str) and id.startswith(tasks.PREFIX):
        return Failure("invalid_params", "there is no such task")
    return await elsewhere(call, back)


def _flaw(call: Call) -> Failure | None:
    error = tasks.undeclared(call.client)
    return None if error is None else Failure("missing_capability", error=error)


def _poll(call: Call, entry: Entry) -> Call:
    """What the caller will ask while its task works."""
    params = {"taskId": entry.task.id}
    return replace(call, kind="method", method="tasks/get", name="", params=params, facts={})


def _lasts(entry: Entry) -> float:
    return entry.task.ends - entry.task.updated


def _undecided(entry: Entry) -> Refusal:
    return Refusal(
        "permission_denied",
        f"nobody decided on {entry.approval} in time, or its approval was used up by the same call made elsewhere. "
        "Nothing was run; make the call again to ask once more",
        {"missing": "approval", "approval_id": entry.approval},
    )


def _told(outcome: Outcome) -> str:
    if type(outcome) is Answer:
        return "it has run"
    return getattr(outcome, "message", "") or "it failed"


_NOBODY = _Nobody()
_CANCELLED = Failure("cancelled", "the task was cancelled")
_TAKEN_BACK = Refusal("access_denied", "what it came to is not for this caller any more", once=True)
_DONE = b'{"resultType":"complete"}'
