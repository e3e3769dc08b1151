"""`subscriptions/listen`: what a listener hears is of its own profile, and what it asked for itself."""

from __future__ import annotations

from gatewright.call import Answer
from tests.dialects.client import within
from tests.dialects.house import House
from tests.mcp.server.test_listening import audited, listen


async def test_a_listener_hears_what_there_is_in_its_own_profile() -> None:
    """What changes in another profile is of servers that may not exist for it."""
    async with House() as house:
        for path, profile in (("/mcp", ""), ("/mcp/small", "small")):
            wire = listen(house, {"toolsListChanged": True}, path=path)
            await wire.message()
            assert [heard for _, heard, _ in house.upstream.watching.values()] == [profile]
            wire.leave()
            await within(wire.task)


async def test_each_listener_subscribes_to_events_under_the_name_by_which_it_is_told() -> None:
    """MGP-13.2-1 without a session: what one asked for is led to nobody else, though all are one caller's."""
    wanted = {"dev.cloto/events": {"channels": ["model.*"]}}
    async with House() as house:
        house.script.does("mgp/events/subscribe", Answer(b'{"subscribed":["model.*"]}'))
        for _ in range(3):
            await audited(house, wanted).message()
        names = [call.listen for call in house.script.calls]
        assert names == house.upstream.holders
        assert len(set(names)) == 3
