"""How calls end that cannot be recorded, or that broke something."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from gatewright.call import Failure, Outcome, Refusal, Unrecorded
from gatewright.call_policy import UNCLEANED
from gatewright.kernel_ends import after, broken, settled, unrecorded, unsettled
from tests.kernel_parts import ANSWER, a_call


def test_what_cannot_be_recorded_is_refused_and_what_breaks_is_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    call = a_call()
    assert unrecorded(call, Unrecorded("full")) == Refusal("audit_unavailable", "full")
    assert broken(call, Unrecorded("full")) == Refusal("audit_unavailable", "full")
    assert not caplog.records
    assert unrecorded(call, ValueError("so")).reason == "audit_unavailable"
    assert broken(call, ValueError("so")) is UNCLEANED
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("outcome", "once"),
    [(ANSWER, True), (Failure("x", once=True), True), (Refusal("x", "y"), False)],
)
def test_what_may_have_run_is_not_to_be_made_again(outcome: Outcome, once: bool) -> None:
    found = after(a_call(), outcome, Refusal("audit_unavailable", "so"))
    assert getattr(found, "once", None) is once


class _Trail:
    def __init__(self, problem: Exception | None) -> None:
        self.problem = problem

    def settled(self) -> Awaitable[None] | None:
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.problem is None:
            waits.set_result(None)
        else:
            waits.set_exception(self.problem)
        return waits


async def test_an_outcome_leaves_once_it_is_recorded_and_else_says_why_not() -> None:
    good, bad = _Trail(None).settled(), _Trail(Unrecorded("full")).settled()
    assert good is not None
    assert bad is not None
    assert await settled(good, a_call(), ANSWER) is ANSWER
    said = await settled(bad, a_call(), ANSWER)
    assert isinstance(said, Refusal)
    assert (said.reason, said.once) == ("audit_unavailable", True)


async def test_why_a_cancelled_call_has_no_record() -> None:
    assert await unsettled(_Trail(None)) is None
    problem = Unrecorded("full")
    assert await unsettled(_Trail(problem)) is problem
    assert isinstance(await unsettled(_Trail(ValueError("so"))), Unrecorded)
