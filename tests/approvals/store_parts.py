"""What tests of the queue's store share: a question, a clock, and asking."""

from __future__ import annotations

from typing import Any

from gatewright.approvals.request import Approval, Asked
from tests.approvals.voting import Voting

__all__ = ["ASKED", "HOUR", "Clock", "ask"]

ASKED = Asked("ann", "files", "wipe", "a" * 64, "d" * 64, "p1")
HOUR = 3600.0


class Clock:
    """Unix seconds that only the test moves."""

    now = 1_790_000_000.0

    def __call__(self) -> float:
        return self.now


def ask(queue: Voting, asked: Asked = ASKED, **more: Any) -> Approval:
    options = {
        "arguments": '{"path":"/"}',
        "risk": "dangerous",
        "reason": "",
        "quorum": 1,
        "lasts_s": HOUR,
    }
    made = queue.ask(asked, **options | more)  # type: ignore[arg-type]
    assert made is not None
    return made
