"""What the hosts of these tests do when their connection is lost."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from tests.behaviour.groundhog_client import Groundhog
from tests.behaviour.hosts import Host
from tests.behaviour.wires import Ear


class _Wire:
    """Carries frames nowhere."""

    async def send(self, frame: bytes, host: Ear) -> None:
        """Nobody takes it."""

    async def open(self, host: Ear) -> None:
        """There is nothing to open."""

    async def close(self) -> None:
        """Nor to close."""


def _complaints() -> list[Any]:
    """What the loop will have said of what nobody looked at."""
    told: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: told.append(about))
    return told


async def test_a_lost_connection_is_told_to_whoever_asks_and_to_nobody_else() -> None:
    complaints = _complaints()
    one = Host(_Wire(), "2025-11-25")
    await one.start("subscriptions/listen")
    asked = await one.start("ping")
    one.lost("the gateway closed its output")
    with pytest.raises(ConnectionError, match="closed its output"):
        await one.finish(asked)
    del one
    gc.collect()
    assert complaints == []


class _Deaf(Groundhog):
    async def send(self, frame: bytes) -> None:
        raise ConnectionResetError("nobody takes it")


async def test_the_same_of_a_request_that_could_not_be_sent() -> None:
    complaints = _complaints()
    one = _Deaf()
    with pytest.raises(ConnectionResetError):
        await one.request("session/get")
    one.lost("the stream ended")
    del one
    gc.collect()
    assert complaints == []
