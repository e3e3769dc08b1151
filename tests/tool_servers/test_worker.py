"""The server of tasks numbers them from one and keeps no secret."""

from __future__ import annotations

from tests.tool_servers.drive import started
from tests.tool_servers.worker import STATUS, app, main


async def test_tasks_are_counted_and_their_state_is_told_to_everybody() -> None:
    assert callable(app)
    assert callable(main)
    async with started("worker") as child:
        await child.hello()
        first = await child.request("tools/call", {"name": "work", "task": {}})
        assert first["task"]["taskId"] == "T-1"
        found = await child.request("tasks/get", {"taskId": "T-1"})
        assert found["statusMessage"] == "private word about T-1"
        told = [one["params"] for one in child.seen if one.get("method") == STATUS]
        assert told == [found]
        refused = await child.refused("tasks/get", {"taskId": "T-2"})
        assert refused["code"] == -32602
