"""Ten thousand malformed frames at the Groundhog door, through each of its transports: answered or closed, never a crash, nothing kept."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest

from tests.behaviour.groundhog_client import DEADLINE, Groundhog
from tests.behaviour.groundhog_house import DOORS, GroundhogHouse
from tests.behaviour.test_hostile import FRAMES, hostile

pytestmark = pytest.mark.timeout(600)
GOOD = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": "1",
        "method": "tools/invoke",
        "params": {
            "tool_id": "echo__echo",
            "tool_version": "1.0.0",
            "parameters": {"message": "x", "n": [1, {"a": None}]},
            "security_context": {"user_id": "u", "session_id": "s", "permissions": ["p"]},
        },
    }
).encode()
SHARE = {
    "main websocket": FRAMES * 4 // 10,
    "websocket": FRAMES // 10,
    "http": FRAMES // 4,
    "tcp": FRAMES // 4,
}
"""Ten thousand in all: behind the four doors is one message handler."""
AT_ONCE = 100
QUIET_S = 0.5


class Flood:
    """Sends frames and counts what comes back, in whatever order it does."""

    def __init__(self, client: Groundhog) -> None:
        self.client = client
        self.answers: list[Any] = []

    async def send(self, frames: list[bytes]) -> None:
        await asyncio.gather(*(self.client.send(one) for one in frames))
        while not self.client.others.empty():
            self.answers.append(self.client.others.get_nowait())

    async def rest(self) -> None:
        """Take what still comes, until nothing has come for a while."""
        with contextlib.suppress(TimeoutError):
            while True:
                self.answers.append(await asyncio.wait_for(self.client.others.get(), QUIET_S))


@pytest.mark.parametrize("door", DOORS)
async def test_malformed_frames_are_answered_and_nothing_breaks(
    grounds: dict[str, GroundhogHouse], door: str
) -> None:
    """GRH-test-1, GRH-test-4 and GRH-err-2."""
    house = grounds[door]
    key = house.user()[1]
    frames = list(hostile(SHARE[door], 4711, GOOD))
    answers: list[Any] = []
    while frames:
        async with house.client(door, key) as client:
            flood = Flood(client)
            while frames and not client.over.done():
                now, frames = frames[:AT_ONCE], frames[AT_ONCE:]
                try:
                    await asyncio.wait_for(flood.send(now), DEADLINE)
                except (ConnectionError, RuntimeError):
                    break  # closed by the gateway: a frame that is too long, say
            await flood.rest()
            answers += flood.answers
    assert answers
    for one in answers:
        for answer in one if isinstance(one, list) else [one]:
            assert answer["jsonrpc"] == "2.0"
            assert ("result" in answer) != ("error" in answer)
            if "error" in answer:
                assert answer["error"]["data"]["error_code"] != "internal", answer
    async with house.client(door, key) as client:
        assert (await client.invoke("echo__echo", {"message": "still here"}))["status"] == "success"
    log = house.gateway.said()
    assert not [line for line in log if "Traceback" in line or "could not be served" in line]
