"""The clock of one request: it runs, it stops while somebody thinks, it ends."""

from __future__ import annotations

import asyncio

from gatewright.call import Failure
from gatewright.links.exchange import EXPIRED, Exchange
from gatewright.transport.alarms import Alarms
from gatewright.wire.jsonrpc import Response
from tests.upstream.rig import make_call, within


def exchange(**more: object) -> Exchange:
    call = make_call("tool", "tools/call", {"name": "t"}, **more)  # type: ignore[arg-type]
    return Exchange(asyncio.get_running_loop(), Alarms(), 1, call, None, None)


async def after(seconds: float) -> None:
    """Let the clock of the loop run."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    loop.call_later(seconds, over.set_result, None)
    await within(over)


async def test_an_exchange_expires_at_its_deadline() -> None:
    one = exchange()
    one.arm(asyncio.get_running_loop().time() + 0.01)
    assert await within(one.future) is EXPIRED


async def test_only_the_first_answer_counts() -> None:
    one = exchange()
    assert one.settle(Response(b"1", b"{}"))
    assert not one.settle(Failure("internal"))
    assert await within(one.future) == Response(b"1", b"{}")


async def test_the_clock_stands_still_while_paused_however_often() -> None:
    one = exchange()
    one.arm(asyncio.get_running_loop().time() + 0.02)
    one.pause()
    one.pause()
    await after(0.05)
    one.resume()
    await after(0.05)
    assert not one.future.done()
    one.resume()
    assert await within(one.future) is EXPIRED


async def test_an_ended_exchange_never_expires() -> None:
    one = exchange()
    one.arm(asyncio.get_running_loop().time() + 0.01)
    one.end()
    one.pause()
    one.resume()
    await after(0.03)
    assert not one.future.done()


async def test_a_request_without_a_time_limit_has_no_clock() -> None:
    one = exchange()
    one.arm(float("inf"))
    one.pause()
    one.resume()
    one.end()
    assert not one.future.done()


async def test_the_party_is_the_session_or_the_call_itself_or_nobody() -> None:
    assert exchange(session="s").party == "s"
    alone = exchange(session=None)
    assert alone.call is not None
    assert alone.party == alone.call.id
    assert Exchange(asyncio.get_running_loop(), Alarms(), 1, None, None, None).party == ""
