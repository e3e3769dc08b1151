"""Requests that wait while servers start, on a connection on which more is said meanwhile."""

from __future__ import annotations

import asyncio

from tests.dialects.groundhog.rig import Rig
from tests.dialects.groundhog.test_client import structured
from tests.dialects.house import ANN


async def test_a_request_that_waits_for_the_start_goes_on_in_the_session_that_its_caller_asks_for_meanwhile() -> (
    None
):
    """That ends the one which was opened for the request."""
    async with Rig() as rig:
        rig.house.script.does("echo", structured(said=1))
        client = rig.client(ANN, "key-ann")
        started = rig.starting()
        client.begin("tools/invoke", {"tool_id": "echo", "parameters": {}})
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        mine = (await client.result("session/create", {}))["session_id"]
        started.set()
        assert "result" in await client.next()
        assert [one.session for one in rig.house.script.calls] == [mine]
