"""`until`: waits, with a timeout, for a condition that is tested again after each message a room participant hears."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gatewright.rooms.participants.errors import AnswerTimeoutError
from gatewright.rooms.participants.participant import ANSWER_S, Heard, Participant

__all__ = ["until"]


async def until(
    participant: Participant, condition: Callable[[], object], *, timeout_s: float = ANSWER_S
) -> None:
    """Wait until something holds; it is looked at again after each message that the participant hears.
    Raises `AnswerTimeoutError`, and `GoneError` where the place is lost meanwhile."""
    news = asyncio.Event()

    def watch(heard: Heard) -> None:
        del heard
        news.set()

    participant.watchers.append(watch)
    lost = asyncio.ensure_future(participant.until_lost())
    lost.add_done_callback(lambda _: news.set())
    try:
        async with asyncio.timeout(timeout_s):
            while not condition():
                news.clear()
                if lost.done():
                    lost.result()
                await news.wait()
    except TimeoutError:
        raise AnswerTimeoutError(f"it did not come to that within {timeout_s:g} s") from None
    finally:
        participant.watchers.remove(watch)
        lost.cancel()
