"""What the rest of the gateway gives the servers reaches them from the first one on, and without any all is as servers say."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gatewright.call import Tool
from gatewright.servers.reserved_names import Reserved
from gatewright.servers.supervisor_dependencies import NOTHING
from tests.servers.rig import python, running


async def test_tools_are_looked_at_before_they_are_shown_and_their_names_are_reserved() -> None:
    seen: list[tuple[str, str, list[str]]] = []

    async def looks(server: str, tools: Sequence[Tool]) -> None:
        await asyncio.sleep(0)
        seen.append(("looks", server, [one.target.name for one in tools]))

    def shelved(server: str, tools: Sequence[Tool]) -> None:
        seen.append(("shelved", server, [one.target.name for one in tools]))

    reserved = Reserved({"gone": ["t"]})
    async with running(python("echo"), looks=looks, shelved=shelved, reserved=reserved) as found:
        assert seen == [("looks", "echo", ["echo"]), ("shelved", "echo", ["echo"])]
        assert found.catalogue.reserved is reserved
        assert reserved.of("echo") == {"echo"}
        assert reserved.of("gone") == {"t"}


async def test_with_nothing_given_servers_are_as_they_say() -> None:
    params = {"data": "x"}
    assert NOTHING.clean("s", "notifications/message", params) is params
    assert not NOTHING.leads_here("http://127.0.0.1:7777/approvals/x")
    assert [*NOTHING.keep.all()] == []
    async with running(python("echo")) as found:
        assert found.status()[0].state == "connected"
        assert found.fleet.permissions("echo") == {}
