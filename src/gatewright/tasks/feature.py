"""`TasksFeature`: with an approval queue, adds the kernel hook by which calls waiting for an operator become MCP tasks, and methods `tasks/*`."""

from __future__ import annotations

import time

from gatewright.approvals.queue import ApprovalQueue
from gatewright.feature import Around, Feature, Ground
from gatewright.kernel import Hooks
from gatewright.limits.polls import Polls
from gatewright.servers.supervisor import Supervisor
from gatewright.tasks.tasks import tasks_of

__all__ = ["TasksFeature"]


class TasksFeature(Feature):
    """Without the queue of approvals no call waits, and there are no tasks of the gateway's own."""

    name = "tasks"

    def __init__(self, ground: Ground) -> None:
        self._queue = ground.of(ApprovalQueue)
        self._polls = ground.of(Polls) or Polls(time.monotonic)
        self._random = ground.random

    def around(self, servers: Supervisor) -> Around:
        """The hook, the methods, and what clients hear of them."""
        if self._queue is None:
            return Around()
        tasks = tasks_of(self._queue, self._polls, servers, self._random)
        return Around(
            hooks=Hooks(around=(tasks.around,), stands=(tasks.stands,)),
            shared=tasks.methods,
            announced=tasks.announced,
            stop=tasks.close,
        )
