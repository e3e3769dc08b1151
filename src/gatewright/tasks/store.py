"""In-memory store of the gateway's own MCP tasks: owner, state, result; bounded in number and bytes, with expiry.

A task belongs to the caller that made it, at the endpoint and in the profile where it did, and exists for nobody else, nor for another key of that
caller with other limits (`mcp.server.shown_rights`). Where callers have no name, it belongs to the session in which it
was made; without one whoever knows its id has it, which is why that is long and random, and not listed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from gatewright.call import Answer, Call, Outcome
from gatewright.mcp.protocol.tasks import PREFIX, Status, Task
from gatewright.mcp.server.kept_answers import About, of_call
from gatewright.mcp.server.shown_rights import at_least, shown_in
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.task_owners import Owner, is_nameless, owner_of

__all__ = ["AFTER_S", "BYTES", "EACH", "KEPT", "POLL_S", "Entry", "TaskBook"]

EACH = 100
"""So many tasks of one caller."""
KEPT = 4096
"""So many of all."""
BYTES = 64 * 1024 * 1024
"""So many bytes of all: of the arguments of those that work and the results of the others, which go where there are more."""
AFTER_S = 300.0
"""How long a result is there at least."""
POLL_S = 5.0


class Entry:
    """One task. `call` is what it runs, `approval` the request for which it waits."""

    def __init__(self, task: Task, owner: Owner, call: Call, approval: str, about: About) -> None:
        self.task = task
        self.owner = owner
        self.call = call
        self.approval = approval
        self.about = about
        """What its result is of."""
        self.bytes = len(jsonrpc.encode(call.params))
        """How long its arguments are, and then its result."""
        self.outcome: Outcome | None = None
        self.given_up = False
        """Whether somebody who has to be told that it is cancelled cancels it."""
        self.over = asyncio.Event()
        self.work: asyncio.Task[None] | None = None


class TaskBook:
    """The tasks by id. `clock` gives Unix seconds, `random(n)` gives n bytes, `of` says what a call's result is of."""

    def __init__(
        self,
        clock: Callable[[], float],
        random: Callable[[int], bytes],
        of: Callable[[Call], About] = of_call,
    ) -> None:
        self._of = of
        self._clock = clock
        self._random = random
        self._entries: dict[str, Entry] = {}
        """In the order in which they were made, or ended."""
        self._ended: dict[str, None] = {}
        """Ids of those that have ended, in that order."""
        self._bytes = 0
        """Of all of them: to sum them up for each that goes would be the square of what there is."""

    def make(
        self, call: Call, approval: str, message: str, ends: float | None = None
    ) -> Entry | None:
        """A task that works, until `ends` at most. None where its caller has too many that do, or all together have."""
        self._forget()
        owner, now = owner_of(call), self._clock()
        # By kind and id: of endpoints, profiles and sessions a caller may have any number.
        mine = [one for one in self._entries.values() if one.owner[:2] == owner[:2]]
        if len(mine) >= EACH and not self._drop(mine):
            return None
        # Counted and looked through only now: what has just gone is none of them.
        if len(self._entries) >= KEPT and not self._drop(self._entries.values()):
            return None
        task = Task(
            id=PREFIX + self._random(16).hex(),
            message=message,
            created=now,
            updated=now,
            ends=now + AFTER_S if ends is None else ends,
            poll_s=POLL_S,
        )
        entry = Entry(task, owner, call, approval, self._of(call))
        if not self._room(entry.bytes):
            return None
        self._put(entry)
        return entry

    def of(self, call: Call, id: object) -> Entry | None:
        """The task of this id, where it is the caller's."""
        self._forget()
        entry = self._entries.get(id) if isinstance(id, str) else None
        return entry if entry is not None and _is_of(call, owner_of(call), entry) else None

    def about(self, id: str) -> About | None:
        """What the result of a task is of, whoever's it is; None of an unknown one."""
        entry = self._entries.get(id)
        return None if entry is None else entry.about

    def all_of(self, call: Call) -> list[Entry]:
        """Every task of the caller, oldest first. None is listed of a caller without name and session."""
        self._forget()
        if is_nameless(call):
            return []
        owner = owner_of(call)
        return [one for one in self._entries.values() if _is_of(call, owner, one)]

    def waiting(self, approval: str) -> int:
        """How many tasks wait for this request."""
        found = (one for one in self._entries.values() if one.approval == approval)
        return sum(one.outcome is None for one in found)

    def working(self) -> Iterator[Entry]:
        """Those that have not ended."""
        return (one for one in list(self._entries.values()) if one.outcome is None)

    def note(self, entry: Entry, message: str, *, ends: float | None = None) -> None:
        """How it stands now."""
        self._change(entry, "working", message, entry.task.ends if ends is None else ends)

    def end(self, entry: Entry, status: Status, outcome: Outcome, message: str) -> None:
        """What it came to. A task ends once."""
        if entry.outcome is not None:
            return
        self._take(entry.task.id)
        entry.outcome, entry.call = outcome, replace(entry.call, params={})
        entry.bytes = len(outcome.raw) if type(outcome) is Answer else 0
        self._change(entry, status, message, max(entry.task.ends, self._clock() + AFTER_S))
        self._room(entry.bytes)
        self._put(entry)  # and to the end: those go first that ended first
        entry.over.set()

    def _room(self, wanted: int) -> bool:
        """Make room for so many bytes; whether there is."""
        while self._bytes + wanted > BYTES:
            if not self._ended:
                return False
            self._take(next(iter(self._ended)))
        return True

    def _put(self, entry: Entry) -> None:
        self._entries[entry.task.id] = entry
        self._bytes += entry.bytes
        if entry.outcome is not None:
            self._ended[entry.task.id] = None

    def _take(self, id: str) -> None:
        self._bytes -= self._entries.pop(id).bytes
        self._ended.pop(id, None)

    def _drop(self, crowd: Iterable[Entry]) -> bool:
        """Give up the first of them that has ended; whether one has."""
        ended = next((one for one in crowd if one.outcome is not None), None)
        if ended is not None:
            self._take(ended.task.id)
        return ended is not None

    def _change(self, entry: Entry, status: Status, message: str, ends: float) -> None:
        entry.task = replace(
            entry.task, status=status, message=message, updated=self._clock(), ends=ends
        )

    def _forget(self) -> None:
        """What has ended, and had its time."""
        now = self._clock()
        over = [
            id
            for id, one in self._entries.items()
            if one.outcome is not None and one.task.ends <= now
        ]
        for id in over:
            self._take(id)


def _is_of(call: Call, owner: Owner, entry: Entry) -> bool:
    """Whether a task is of whoever makes a call, and would own what it makes."""
    return entry.owner == owner and at_least(shown_in(call), shown_in(entry.call))
