"""How a subscription ends."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Answer, Back, Call, Outcome
from gatewright.mcp.server import listening
from tests.dialects.client import modern, within
from tests.dialects.house import House


@pytest.mark.parametrize("goodbye", [False, True])
async def test_servers_that_do_not_answer_keep_no_subscription_from_ending(
    goodbye: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is told, a few at a time, and all of them together have so long as the acknowledgement has."""
    uris = [f"u{number}" for number in range(30)]
    asked: list[str] = []

    async def silent(call: Call, back: Back) -> Outcome:
        asked.append(call.params["uri"])
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(listening, "STEP_S", 0.001)
    async with House() as house:
        house.script.does("resources/subscribe", Answer(b"{}"))
        house.script.does("resources/unsubscribe", silent)
        wanted = {"notifications": {"resourceSubscriptions": uris}}
        wire = house.open(modern("subscriptions/listen", wanted))
        await wire.message()
        monkeypatch.setattr(listening, "ACKNOWLEDGED_S", 0.3)
        [open_] = house.front.listening.values()
        [one] = open_
        (one.end if goodbye else wire.leave)()
        await within(wire.task)
        await house.quiet()
        assert house.front.listening == {}
        # All of them on an idle machine: a busy one comes less far in the time that there is.
        assert asked == uris[: len(asked)] != []
        assert len(house.upstream.forgotten) == 1


async def test_a_subscription_ends_without_a_wait_where_servers_answer() -> None:
    async with House() as house:
        house.script.does("resources/subscribe", Answer(b"{}"))
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        uris = [f"u{number}" for number in range(9)]
        wire = house.open(
            modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": uris}})
        )
        await wire.message()
        [[one]] = house.front.listening.values()
        one.end()
        assert "result" in await wire.message()
        told = [call.params["uri"] for call in house.script.calls if "un" in call.method]
        assert told == uris
