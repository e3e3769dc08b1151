"""Asking again: waits, repetitions, the fallback, the record of each (MGP §14.6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Answer, Failure, Outcome, Refusal
from gatewright.mcp.client.retry import Attempt, hint_of, persist
from gatewright.mcp.protocol.recovery import Hint, Policy, Retries

DONE = Answer(b"{}")


def error(code: int = 3000, **mgp: Any) -> Failure:
    """A server's own error with MGP's hints."""
    said = {"code": code, "message": "slow down", "data": {"_mgp": {"retryable": True, **mgp}}}
    return Failure("upstream_error", error=json.dumps(said).encode(), mgp=True)


class Call:
    """A call whose outcomes are written down beforehand; nothing waits."""

    def __init__(self, *outcomes: Outcome, other: Outcome | None = None, left: float = 60) -> None:
        self.outcomes = list(outcomes)
        self.other = other
        self.noted: list[Attempt] = []
        self.slept: list[float] = []
        self.tools: list[str] = []
        self._left = left

    async def again(self) -> Outcome:
        """The next outcome."""
        return self.outcomes.pop(0)

    async def instead(self, tool: str) -> Outcome | None:
        """What the fallback answers."""
        self.tools.append(tool)
        return self.other

    def left(self) -> float:
        """Seconds until the deadline, less what was slept."""
        return self._left - sum(self.slept)

    async def note(self, attempt: Attempt) -> None:
        """The record."""
        self.noted.append(attempt)

    async def sleep(self, seconds: float) -> None:
        """Takes no time."""
        self.slept.append(seconds)

    async def run(self, policy: Policy | None = None) -> Outcome:
        """The first attempt and all that follow."""
        first = await self.again()
        retries = Retries(policy or Policy(), lambda: 0.0)
        return await persist(first, self, retries, sleep=self.sleep)


async def test_a_call_is_repeated_after_the_wait_and_each_time_recorded() -> None:
    """MGP-14.6-1, MGP-14.6-5: n repetitions, n waits, n records."""
    call = Call(error(retry_after_ms=1500), error(retry_after_ms=700), DONE)
    assert await call.run() is DONE
    assert call.slept == [1.5, 0.7]
    assert call.noted == [
        Attempt(1, 1.5, 3000, "slow down"),
        Attempt(2, 0.7, 3000, "slow down"),
    ]


async def test_the_last_error_is_reported_after_the_last_repetition() -> None:
    """MGP-14.6-3."""
    last = error(retry_after_ms=3, max_retries=2)
    call = Call(error(max_retries=2), error(max_retries=2), last)
    assert await call.run() is last
    assert [one.number for one in call.noted] == [1, 2]


async def test_a_fallback_that_answers_is_the_answer_and_one_that_is_not_there_is_not() -> None:
    """MGP-14.6-4."""
    hints: dict[str, Any] = {"max_retries": 1, "fallback_tool": "other"}
    call = Call(error(**hints), error(**hints), other=DONE)
    assert await call.run() is DONE
    assert call.tools == ["other"]
    assert call.noted[-1] == Attempt(0, 0.0, 3000, "slow down", "other")
    last = error(**hints)
    assert await Call(error(**hints), last, other=None).run() is last
    failed = error(code=5000)
    assert await Call(error(**hints), last, other=failed).run() is failed


async def test_what_may_not_be_retried_is_asked_exactly_once() -> None:
    """MGP-14.6-6."""
    no = error(retryable=False, retry_after_ms=5, fallback_tool="other")
    call = Call(no, other=DONE)
    assert await call.run() is no
    assert (call.noted, call.tools, call.slept) == ([], [], [])


async def test_no_wait_goes_beyond_the_deadline() -> None:
    call = Call(error(retry_after_ms=4000), error(retry_after_ms=4000), DONE, left=6)
    assert isinstance(await call.run(), Failure)
    assert call.slept == [4.0]


async def test_a_refusal_of_our_own_is_no_servers_error_and_stays() -> None:
    refused = Refusal("resource_exhausted", "too many calls")
    assert await Call(refused).run() is refused


@pytest.mark.parametrize(
    ("failure", "hint"),
    [
        (
            Failure("upstream_unavailable", "gone", {"sent": False}, retry_after_ms=10),
            Hint(True, 10, "exponential_backoff", 3, refused=True),
        ),
        (
            Failure("upstream_unavailable", "gone", {"sent": True}),
            Hint(True, 1000, "exponential_backoff", 3),
        ),
        (Failure("invalid_args", "x"), Hint(False, 0, "fixed_delay", None)),
        (Failure("upstream_error", error=b"no json"), Hint()),
        (Failure("upstream_error", error=b"[]"), Hint()),
    ],
)
def test_what_we_found_out_ourselves_is_a_hint_as_well(failure: Failure, hint: Hint) -> None:
    """CDM-err-8: a broken connection is tried again with growing waits, where that is safe."""
    assert hint_of(failure) == hint
