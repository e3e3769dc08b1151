"""Builds approval rules and queue from the configuration, updates the queue on reload, and posts new requests to the webhook."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable

from gatewright.approvals.gate import Rule
from gatewright.approvals.operators import ApprovalRequests, Queue
from gatewright.approvals.queue import ApprovalQueue, Record, Tell
from gatewright.approvals.request import Approval
from gatewright.approvals.store import Approvals
from gatewright.approvals.webhook_bodies import body_of
from gatewright.call import Call, Target
from gatewright.config import Settings
from gatewright.config.changes import versions
from gatewright.storage.state import StateDatabase
from gatewright.transport.safe_fetch import Egress, EgressFailed

__all__ = ["adopt", "approval_queue_of", "by_operators", "queue_of", "rules_of", "webhook"]

log = logging.getLogger("gatewright.approvals")

_PAUSES_S = (1.0, 5.0)
"""Between the tries to tell a webhook: what restarts is back after the second."""


def approval_queue_of(
    settings: Settings,
    state: StateDatabase,
    record: Record,
    alone: Callable[[str, Call], bool] = lambda *_: False,
) -> ApprovalQueue:
    """The queue in a state. Raises `StoreError`."""
    store = Approvals(state, clock=time.time, random=os.urandom)
    desk = ApprovalQueue(store, record, alone=alone)
    adopt(desk, settings)
    return desk


def adopt(desk: ApprovalQueue, settings: Settings) -> None:
    """Go on with what a configuration says."""
    said = settings.approvals
    tell = None
    if said.webhook:
        tell = webhook(said.webhook, lambda one: body_of(said.webhook_format, one, desk.console))
    desk.adopt(lasts_s=said.expires_s, tell=tell, offered=by_operators(settings))


def queue_of(settings: Settings, desk: ApprovalRequests, page: Callable[[Approval], str]) -> Queue:
    """What the gate needs in order to ask operators under this configuration."""
    return Queue(desk, versions(settings), settings.approvals.hold_s, page)


def rules_of(settings: Settings) -> Callable[[Target], Rule]:
    """Who has to agree to the calls of which tool."""
    said, servers = settings.approvals, {one.id: one for one in settings.servers}
    general = Rule(said.approver, said.quorum)

    def rule(target: Target) -> Rule:
        server = servers.get(target.server)
        word = None if server is None else server.rule(target.name)
        if word is None or word.approver is None:
            return general
        return Rule(word.approver, said.quorum)

    return rule


def by_operators(settings: Settings) -> bool:
    """Whether any call may wait for an operator by a rule of this configuration."""
    rules = (rule.approver for server in settings.servers for rule in server.tools.values())
    return any(one not in (None, "caller") for one in (settings.approvals.approver, *rules))


def webhook(
    url: str,
    body: Callable[[Approval], bytes],
    egress: Egress | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Tell:
    """Tells `url` of each new request, by a `body` in JSON: a few tries with pauses between them, and a line in the log where none works."""
    asks = egress or Egress()

    async def tell(one: Approval) -> None:
        problem, said = "", body(one)
        for pause_s in (0.0, *_PAUSES_S):
            if pause_s:
                await sleep(pause_s)
            try:
                status, _body = await asks.ask(
                    url, {"Content-Type": "application/json"}, said, outside=False
                )
            except EgressFailed as failed:
                problem = str(failed)
                continue
            if status < 400:
                return
            problem = f"HTTP {status}"
        log.warning("the webhook was not told of %s: %s", one.id, problem)

    return tell
