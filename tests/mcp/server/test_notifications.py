"""Notifications of clients: calls that nobody waits for."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, CannotAsk, Client, Event, Outcome, Question
from gatewright.mcp.protocol.client_params import Notice
from gatewright.mcp.server.notifications import MOST, take
from tests.dialects.client import within
from tests.dialects.house import House
from tests.dialects.steps import Hang
from tests.mcp.server.test_client_session import peer_of

NOTICE = Notice("notifications/acme.x", {"n": 1}, Client("2025-11-25"))


async def test_whoever_gets_a_notification_can_neither_say_nor_ask_anything() -> None:
    asked: list[str] = []

    async def curious(call: Call, back: Back) -> Outcome:
        back.emit(Event("notifications/message", {}))
        with pytest.raises(CannotAsk) as no:
            await back.ask(Question("roots/list"))
        asked.append(no.value.message)
        return Answer(b"{}")

    async with House() as house:
        house.script.does(NOTICE.method, curious)
        peer = peer_of(house)
        take(peer, NOTICE)
        await house.quiet()
        assert asked == ["nobody waits for what a notification leads to"]
        assert [call.method for call, _ in house.trails.ended] == [NOTICE.method]
        peer.close()


async def test_a_notification_that_gets_lost_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("lost on purpose")

    async with House() as house:
        monkeypatch.setattr(house.front.kernel, "handle", broken)
        peer = peer_of(house)
        take(peer, NOTICE)
        await house.quiet()
        assert [record.message for record in caplog.records] == ["a notification was lost"]
        peer.close()


async def test_more_notifications_at_once_than_there_may_be_are_left_out_and_recorded_once() -> (
    None
):
    """They have no answer that could be waited for, and so no bound of their own."""
    refused: list[str] = []
    async with House(refused=lambda *said: refused.append(said[-1])) as house:
        house.script.does(NOTICE.method, (hang := Hang()))
        peer = peer_of(house)
        for _ in range(MOST + 50):
            take(peer, NOTICE)
        await within(hang.began.wait())
        for _ in range(MOST):
            await asyncio.sleep(0)
        assert len(house.script.calls) == MOST
        assert [words.partition(" notifications")[0] for words in refused] == [f"more than {MOST}"]
        hang.end.set()
        await house.quiet()
        take(peer, NOTICE)
        await house.quiet()
        assert (len(house.script.calls), peer.telling, len(refused)) == (MOST + 1, 0, 1)
        peer.close()
