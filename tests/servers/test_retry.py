"""What a gateway adds to asking again: care for effects, the kernel for fallback tools, the record (MGP §14.6)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal, Target, Tool, Unrecorded
from gatewright.mcp.client.retry import Attempt
from gatewright.servers.retry import FALLBACK_OF, Persisting
from tests.servers.rig import FakeBack, make_call

DONE = Answer(b"{}")
BACK = FakeBack()


def error(code: int = 3000, **mgp: Any) -> Failure:
    said = {"code": code, "message": "no", "data": {"_mgp": {"retryable": True, **mgp}}}
    return Failure("upstream_error", error=json.dumps(said).encode(), mgp=True)


class House:
    """A server that answers in order, a kernel that says what it was asked, and a clock that does not go."""

    def __init__(self, *outcomes: Outcome, kernel: Outcome = DONE, full: bool = False) -> None:
        self.outcomes = list(outcomes)
        self.kernel = kernel
        self.noted: list[Attempt] = []
        self.slept: list[float] = []
        self.handled: list[Call] = []
        self._full = full
        self.persisting = Persisting(
            handle=self._handle,
            note=self._note,
            limit_s=lambda server: 30.0 if server == "s" else 0.0,
            random=lambda: 0.0,
            fresh=lambda: "fresh",
            sleep=self._sleep,
        )

    async def run(self, call: Call) -> Outcome:
        return await self.persisting(error_of(self.outcomes.pop(0)), call, BACK, self._put)

    async def _put(self) -> Outcome:
        return self.outcomes.pop(0)

    async def _handle(self, call: Call, back: Back) -> Outcome:
        self.handled.append(call)
        return self.kernel

    def _note(self, call: Call, attempt: Attempt) -> None:
        if self._full:
            raise Unrecorded
        self.noted.append(attempt)

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def error_of(outcome: Outcome) -> Failure:
    assert isinstance(outcome, Failure)
    return outcome


def tool(*, repeatable: bool = False, **more: Any) -> Call:
    target = Target("s", "t")
    shown = Tool(target, "s__t", {}, repeatable=repeatable)
    params = {"name": "s__t", "arguments": {"a": 1}}
    return make_call("tool", "tools/call", params, target=target, tool=shown, **more)


async def test_a_refused_call_is_made_again_after_the_wait_and_recorded() -> None:
    """MGP-14.6-1, MGP-14.6-5."""
    house = House(error(retry_after_ms=700), error(retry_after_ms=900), DONE)
    assert await house.run(tool()) is DONE
    assert house.slept == [0.7, 0.9]
    assert [one.number for one in house.noted] == [1, 2]


@pytest.mark.parametrize(
    ("code", "repeatable", "again"), [(5000, False, False), (5000, True, True), (2001, False, True)]
)
async def test_a_servers_word_alone_repeats_nothing_that_may_have_had_effects(
    code: int, repeatable: bool, again: bool
) -> None:
    house = House(error(code), DONE)
    assert (await house.run(tool(repeatable=repeatable)) is DONE) == again
    assert bool(house.noted) == again


async def test_what_may_not_be_retried_is_reported() -> None:
    """MGP-14.6-6."""
    first = error(retryable=False)
    house = House(first)
    assert await house.run(tool()) is first
    assert house.noted == []


async def test_a_fallback_tool_is_a_call_of_its_own_through_the_kernel() -> None:
    """MGP-14.6-4: policy holds for the other tool as well."""
    house = House(error(max_retries=0, fallback_tool="other"))
    call = tool()
    assert await house.run(call) is DONE
    (made,) = house.handled
    assert (made.id, made.name, made.caller) == ("fresh", "s/other", call.caller)
    assert made.params == {"name": "s/other", "arguments": {"a": 1}}
    assert (made.target, made.tool, made.facts) == (None, None, {FALLBACK_OF: call.id})
    assert house.noted == [Attempt(0, 0.0, 3000, "no", "other")]


async def test_a_fallback_that_policy_refuses_leaves_the_error_as_it_was() -> None:
    first = error(max_retries=0, fallback_tool="other")
    house = House(first, kernel=Refusal("access_denied", "no"))
    assert await house.run(tool()) is first
    own = error(4000)
    house = House(first, kernel=own)
    assert await house.run(tool()) == own


async def test_a_fallback_has_no_fallback_of_its_own() -> None:
    first = error(max_retries=0, fallback_tool="t")
    house = House(first)
    assert await house.run(tool(facts={FALLBACK_OF: "x"})) is first
    assert house.handled == []


async def test_an_attempt_that_cannot_be_recorded_is_not_made() -> None:
    first = error()
    house = House(first, DONE, full=True)
    assert await house.run(tool()) is first
    assert house.slept == []


async def test_no_wait_goes_beyond_the_time_limit_of_the_server() -> None:
    first = error(retry_after_ms=29_000, strategy="fixed_delay")
    other = make_call("tool", "tools/call", {"name": "x"}, target=Target("gone", "x"))
    house = House(first, DONE)
    assert await house.run(other) is first
    assert await House(first, DONE).run(tool()) is DONE


@pytest.mark.parametrize(
    "end",
    [
        Failure("upstream_timeout", "no answer", {"sent": True}, once=True),
        Failure("upstream_unavailable", "lost", once=True),
        Refusal("access_denied", "the call was ended while it ran", {"sent": True}, once=True),
        Refusal("audit_unavailable", "it could not be recorded", once=True),
    ],
)
async def test_a_fallback_that_may_have_run_is_not_hidden_behind_a_promise(end: Outcome) -> None:
    """The first error says that nothing ran and that the call may be made again: the fallback would run once more."""
    house = House(error(max_retries=0, fallback_tool="other"), kernel=end)
    assert await house.run(tool()) is end
