"""What a server logs because somebody subscribes to its events, before anybody was served by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.event_house import bearer, listening, made_key, subscribed
from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import host

LOG = "notifications/message"


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-11-25"])
async def test_a_log_line_about_a_subscription_is_told_to_whom_it_is_of(
    tmp_path: Path, door: str
) -> None:
    mgp = {"extensions": ["security", "bidirectional"]}
    eventful = server("eventful", None, "--logs", mgp=mgp)
    with running(tmp_path, config(eventful, gateway={"anonymous": "deny"})) as gateway:
        keys = {name: made_key(gateway, name)["key"] for name in ("ann", "bob")}
        async with (
            listening(gateway, door, keys["ann"]) as ann,
            host(gateway, "websocket 2025-11-25", headers=bearer(keys["bob"])) as bob,
        ):
            await subscribed(ann, "model.rate_limit")
            said = await ann.note(LOG)
            assert said["params"]["data"] == "somebody wants model.rate_limit"
            await bob.tools()  # what was for him would have come before
            assert [one for one in bob.notes if one["method"] == LOG] == []
