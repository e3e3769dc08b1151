"""The clock of requests: it runs, it stops while somebody thinks, one timer serves all of them."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Call, Failure
from gatewright.mcp.client.pending_requests import EXPIRED, Clock, PendingRequest
from gatewright.mcp.wire.jsonrpc import Response
from tests.servers.rig import make_call, within


class Flight:
    """What is in flight on one link."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.open: dict[int, PendingRequest] = {}
        self.clock = Clock(self.open)

    def begin(self, seconds: float = float("inf"), call: Call | None = None) -> PendingRequest:
        """One more, with so much time."""
        due, ident = self.loop.time() + seconds, len(self.open)
        one = PendingRequest(ident, call, None, self.clock, self.loop.create_future(), due)
        self.open[ident] = one
        self.clock.heed(due)
        return one


async def after(seconds: float) -> None:
    """Let the clock of the loop run."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_later(seconds, over.set_result, None)
    await within(over)


async def test_an_exchange_expires_at_its_deadline() -> None:
    assert await within(Flight().begin(0.01).future) is EXPIRED


async def test_each_expires_at_its_own_deadline_whenever_it_began() -> None:
    flight = Flight()
    late, never, soon = flight.begin(0.03), flight.begin(), flight.begin(0.01)
    assert await within(soon.future) is EXPIRED
    assert not late.future.done()
    assert await within(late.future) is EXPIRED
    assert await within(flight.begin(0.01).future) is EXPIRED, "the clock goes on after a rest"
    assert not never.future.done()


async def test_what_was_answered_or_given_up_keeps_no_other_from_expiring() -> None:
    flight = Flight()
    answered, given_up, late = flight.begin(0.01), flight.begin(0.01), flight.begin(0.02)
    answered.settle(Response(b"1", b"{}"))
    given_up.future.cancel()
    assert await within(late.future) is EXPIRED
    assert answered.future.result() == Response(b"1", b"{}")


async def test_only_the_first_answer_counts() -> None:
    one = Flight().begin()
    assert one.settle(Response(b"1", b"{}"))
    assert not one.settle(Failure("internal"))
    assert await within(one.future) == Response(b"1", b"{}")


async def test_the_clock_stands_still_while_paused_however_often() -> None:
    one = Flight().begin(0.02)
    one.pause()
    one.pause()
    assert one.left == pytest.approx(0.02, abs=0.01)
    await after(0.05)
    assert one.left == pytest.approx(0.02, abs=0.01)
    one.resume()
    await after(0.05)
    assert not one.future.done()
    one.resume()
    assert await within(one.future) is EXPIRED


async def test_an_answered_exchange_never_expires() -> None:
    one = Flight().begin(0.01)
    one.pause()
    one.settle(Response(b"1", b"{}"))
    one.resume()
    await after(0.03)
    assert await within(one.future) == Response(b"1", b"{}")


async def test_a_request_without_a_time_limit_has_no_clock() -> None:
    one = Flight().begin()
    one.pause()
    one.resume()
    assert one.left == one.clock.rings == float("inf")
    assert not one.future.done()


async def test_the_party_is_the_session_or_the_call_itself_or_nobody() -> None:
    flight = Flight()
    for session in ("s", None):
        call = make_call("tool", "tools/call", {"name": "t"}, session=session)
        assert flight.begin(call=call).party == call.party
        assert call.party.partition(" ")[0] == (session or call.id)
    assert flight.begin().party == ""
