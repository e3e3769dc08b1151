"""`ApprovalsFeature`: provides the approval queue and calls that wait; adds gate `confirm` and the page `/approvals/TOKEN`; counts requests."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import cache
from typing import Any

from gatewright.approvals.agreements import Agreements
from gatewright.approvals.asked_calls import AskedCalls
from gatewright.approvals.endpoint import PATH, ApprovalPage
from gatewright.approvals.gate import Confirm, OpenWorld
from gatewright.approvals.operators import Operators
from gatewright.approvals.policy import adopt, approval_queue_of, queue_of, rules_of
from gatewright.config import Settings
from gatewright.feature import Feature, GatewayParts, Ground, Making, Rules, Serving
from gatewright.limits.polls import Polls
from gatewright.servers.origin import origin_of

__all__ = ["ApprovalsFeature"]

_JUDGING = ("sanitize", "schema", "validators", "permission")
"""Gates that judge arguments: an operator may change those before agreeing."""


class ApprovalsFeature(Feature):
    """Offers the queue, which calls wait in it (`Polls`), and what is known of them (`AskedCalls`)."""

    name = "approvals"
    pages = PATH

    def __init__(self, ground: Ground) -> None:
        self._asked = AskedCalls()
        self.queue = approval_queue_of(
            ground.settings, ground.database, ground.audit.event, self._asked.alone
        )
        self._polls = ground.of(Polls) or Polls(time.monotonic)
        self._redeemed = ground.redeemed
        self._agreements = Agreements(
            time.monotonic, self.queue.undone, lambda: ground.callers.loads
        )
        self._page = ApprovalPage(self.queue, ground.now.identify, os.urandom)
        self.offers = (self.queue, self._polls, self._asked)

    def rules(self, settings: Settings) -> Rules:
        """The gate."""
        return Rules(gates={"confirm": self._confirm})

    def _confirm(self, making: Making) -> Confirm:
        settings, specs = making.settings, making.servers.specs

        @cache
        def origin(server: str) -> str:
            return origin_of(specs[server]) if server in specs else ""

        queue = queue_of(settings, self.queue, self._page.url)
        return Confirm(
            making.still,
            time.monotonic,
            operators=Operators(
                queue, self._polls, self._redeemed.send, self._asked.waiting, self._asked.began
            ),
            rule=rules_of(settings),
            open_world=OpenWorld(self._agreements, settings.approvals.open_world_s, origin),
            again=[making.made[name] for name in _JUDGING],
        )

    def serve(self, parts: GatewayParts) -> Serving:
        """The page, once it is known where this machine reaches the gateway."""
        parts.reached.listen(self._page.reached_at)
        return Serving(routes=self._page.routes, looks=(self.queue.look,))

    def adopt(self, settings: Settings) -> None:
        """How long requests wait, and who is told of them."""
        adopt(self.queue, settings)

    def numbers(self) -> Mapping[str, Any]:
        """How many requests wait."""
        return {"waiting": self.queue.waiting}

    async def close(self) -> None:
        """Give the store back."""
        self.queue.close()
