"""Answers and cancellations of somebody else's: a question is answered by the session that was asked, once, and by nobody else."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, host

PAIRS = (
    ("http 2025-11-25", "http 2025-11-25"),
    ("websocket 2025-11-25", "http 2025-06-18"),
    ("sse 2025-11-25", "websocket 2025-11-25"),
)
CAN: dict[str, Any] = {"elicitation": {"form": {}}}
MINE = {"action": "accept", "content": {"name": "mine"}}
FORGED = {"action": "accept", "content": {"name": "forged"}}


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("asking")
    with running(folder, config(server("asker", share="session"), server("echo"))) as gateway:
        yield gateway


async def forge(client: Host, ids: list[Any]) -> None:
    """Answer everything that anybody could have been asked, give it up, and say how far it is."""
    for ident in ids:
        await client.say({"id": ident, "result": FORGED})
        await client.say({"id": ident, "error": {"code": -1, "message": "forged"}})
        gone = {"requestId": ident, "reason": "forged"}
        await client.say({"method": "notifications/cancelled", "params": gone})
        far = {"progressToken": ident, "progress": 1}
        await client.say({"method": "notifications/progress", "params": far})


@pytest.mark.parametrize(("door", "other"), PAIRS)
async def test_nobody_answers_or_ends_what_another_session_was_asked(
    asking: Gateway, door: str, other: str
) -> None:
    async with host(asking, door, can=CAN) as ann, host(asking, other, can=CAN) as eve:
        ann.answer = lambda method, params: MINE
        held = asyncio.Event()
        genuine = ann._answer

        async def later(question: dict[str, Any]) -> None:
            ids = [question["id"], "gw-1", "gw-2", *range(1, 40)]
            await forge(eve, ids)
            assert await eve.text("echo__echo", message="eve goes on") == "eve goes on"
            held.set()
            await genuine(question)

        ann._answer = later  # type: ignore[method-assign]
        said = json.loads(await ann.text("asker__ask_elicitation"))
        assert held.is_set()
        assert said == MINE


async def test_an_answer_counts_once(asking: Gateway) -> None:
    async with host(asking, "websocket 2025-11-25", can=CAN) as ann:
        numbers = itertools.count()
        genuine = ann._answer

        async def twice(question: dict[str, Any]) -> None:
            ann.answer = lambda method, params: MINE if next(numbers) == 0 else FORGED
            await genuine(question)
            await genuine(question)
            await forge(ann, [question["id"]])

        ann._answer = twice  # type: ignore[method-assign]
        assert json.loads(await ann.text("asker__ask_elicitation")) == MINE
        assert await ann.text("echo__echo", message="goes on") == "goes on"
