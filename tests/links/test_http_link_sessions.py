"""A session that a server speaks of is ours or its tool's: what ran in the one is not sent again for the other."""

from __future__ import annotations

import itertools

import pytest

from gatewright.call import Failure
from tests.links.test_http_link import DONE, begin, ended, scripted
from tests.upstream.rig import text

GONE = "Session with given id not found."
"""What the tools of a browser say, and servers that have forgotten a client."""


@pytest.mark.parametrize(("status", "again"), [*itertools.product([400, 404], ["well", "breaks"])])
async def test_a_tool_that_speaks_of_a_session_of_its_own_is_not_called_again(
    status: int, again: str
) -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).error(status, -32000, GONE)
        asked = await server.next("ping")
        assert asked.headers["mcp-session-id"] == "s-1"
        if again == "well":
            asked.result({})
        else:
            asked.drop()
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert GONE.encode() in (outcome.error or b"")
        assert outcome.details.get("sent") is not False


@pytest.mark.parametrize("status", [400, 404])
async def test_a_session_that_is_unknown_to_every_request_is_lost_under_their_own_ids_too(
    status: int,
) -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).error(status, -32000, GONE)
        (await server.next("ping")).error(status, -32000, GONE)
        await server.initialize(Mcp_Session_Id="s-2")
        await server.list_tools("t")
        (await server.next("tools/call")).result(DONE)
        assert text(await ended(calling)) == "done"


async def test_a_session_refused_in_the_way_of_the_typescript_sdk_is_lost_too() -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        refused = {"code": -32000, "message": "No valid session ID provided"}
        (await server.next("tools/call")).say(400, {"id": None, "error": refused, "jsonrpc": "2.0"})
        await server.initialize(Mcp_Session_Id="s-2")
        await server.list_tools("t")
        (await server.next("tools/call")).result(DONE)
        assert text(await ended(calling)) == "done"
