"""Ids of requests that are not answered yet."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.mcp.server.in_flight import InFlight


async def test_an_id_is_taken_until_its_request_is_answered_or_gone() -> None:
    flight, answered = InFlight(), asyncio.Event()

    async def work() -> str:
        await answered.wait()
        return "done"

    running = asyncio.create_task(flight.through(b'"k"', work()))
    gone = asyncio.create_task(flight.through(b"1", work()))
    await asyncio.sleep(0)
    for ident in (b'"k"', b'"\\u006b"', b"1"):
        refusal = flight.taken(ident)
        assert refusal is not None
        assert refusal.reason == "invalid_request"
    assert flight.taken(b'"1"') is None
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    answered.set()
    assert await running == "done"
    assert flight.taken(b'"k"') is None
    assert flight.taken(b"1") is None


async def test_an_id_that_is_no_text_is_what_it_is_and_too_many_are_refused() -> None:
    flight = InFlight()

    async def seen() -> bool:
        return flight.taken(b'"\\ud800"') is not None

    assert await flight.through(b'"\\ud800"', seen())
    refusal = flight.taken(b"1", 5)
    assert refusal is not None
    assert refusal.reason == "resource_exhausted"
    assert refusal.message.startswith("5 requests")
