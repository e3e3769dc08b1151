"""A session that a server speaks of is ours or its tool's: what ran in the one is not sent again for the other."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from gatewright.call import Answer, Caller, Failure, Question
from gatewright.mcp.protocol.negotiate import Face
from gatewright.servers.task_names import connection_name
from tests.mcp.client.test_http_link import ASKED, DONE, NAME, begin, ended, scripted
from tests.servers.rig import FakeBack, dispatch, text, tool_call
from tests.servers.test_permission_admission import Permits

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


async def test_a_404_of_a_tool_costs_nobody_the_session_that_a_ping_is_answered_in() -> None:
    async with scripted() as (supervisor, server):
        well: dict[str, Any] = {"result": {}}
        for said in (well, {"error": {"code": -32601, "message": "no ping"}}):
            calling = begin(supervisor)
            (await server.next("tools/call")).error(404, -32000, "customer not known")
            assert isinstance(await ended(calling), Failure)
            ping = await server.next("ping")
            ping.say(404, {"jsonrpc": "2.0", "id": ping.body["id"], **said})
            again = begin(supervisor)
            asked = await server.next("tools/call")
            assert asked.headers["mcp-session-id"] == "s-1"
            asked.result(DONE)
            assert text(await ended(again)) == "done"
        assert server.idle()


async def test_a_call_is_not_made_again_because_another_lost_the_session_meanwhile() -> None:
    """That the session is another one now is no proof: the one that it was called in is asked about."""
    async with scripted() as (supervisor, server):
        calls = [begin(supervisor), begin(supervisor)]
        first, second = await server.next("tools/call"), await server.next("tools/call")
        first.error(404, -32000, "customer not known")
        (await server.next("ping")).say(404)
        await server.initialize(Mcp_Session_Id="s-2")
        await server.list_tools("t")
        second.error(400, -32000, GONE)
        ping = await server.next("ping")
        assert ping.headers["mcp-session-id"] == "s-1"
        ping.result({})
        for one in calls:
            outcome = await ended(one)
            assert isinstance(outcome, Failure)
            assert outcome.details.get("sent") is not False
        assert server.idle()


async def test_an_answer_is_passed_on_where_a_ping_is_never_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatewright.mcp.client.session_probe.PING_S", 0.05)
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).error(404, -32000, GONE)
        await server.next("ping")
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert GONE.encode() in (outcome.error or b"")


async def test_what_a_lost_session_asked_is_not_answered_in_the_next_which_may_ask_by_the_same_id() -> (
    None
):
    async with scripted() as (supervisor, server):
        asked_s: list[str] = []
        never: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

        async def slowly(question: Question) -> dict[str, Any]:
            asked_s.append("first")
            return await never

        slow = FakeBack(elicitation=slowly)
        first = begin(supervisor, slow)
        asked = await server.next("tools/call")
        asked.stream()
        asked.event({"id": 0, "method": "elicitation/create", "params": ASKED})
        await slow.until(lambda: bool(asked_s))
        other = begin(supervisor, session="other")
        (await server.next("tools/call")).say(404)
        await server.initialize(Mcp_Session_Id="s-2")
        await server.list_tools("t")
        (await server.next("tools/call")).result(DONE)
        assert text(await ended(other)) == "done"
        third = begin(supervisor, FakeBack(elicitation=NAME), session="third")
        again = await server.next("tools/call")
        again.stream()
        again.event({"id": 0, "method": "elicitation/create", "params": ASKED})
        answer = await server.next("")
        assert answer.body == {"jsonrpc": "2.0", "id": 0, "result": NAME}
        assert answer.headers["mcp-session-id"] == "s-2"
        answer.say(202)
        again.event({"id": again.body["id"], "result": DONE})
        assert text(await ended(third)) == "done"
        asked.event({"id": asked.body["id"], "result": DONE})
        assert text(await ended(first)) == "done"


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


@pytest.mark.parametrize("silent", ["initialize", "notifications/initialized"])
async def test_a_session_that_is_never_made_again_ends_the_connection_and_the_next_one_serves(
    silent: str,
) -> None:
    """All calls wait for it: it has the time that a first hello has, and no more."""
    async with scripted(connect_s=0.5) as (supervisor, server):
        first = begin(supervisor)
        (await server.next("tools/call")).say(404)
        if silent != "initialize":
            server.welcome(await server.next("initialize"), Mcp_Session_Id="s-2")
        unanswered = await server.next(silent)
        second = begin(supervisor, session="other")
        await server.hello(Mcp_Session_Id="s-3")
        await server.list_tools("t")
        for _ in range(2):
            asked = await server.next("tools/call")
            assert asked.headers["mcp-session-id"] == "s-3"
            asked.result(DONE)
        for calling in (first, second):
            assert text(await ended(calling)) == "done"
        assert not unanswered.answered.is_set()
        if silent != "initialize":
            (await server.next("DELETE")).say(200)


async def test_a_server_that_wants_permissions_with_its_new_session_holds_no_call_up() -> None:
    """Its connection ends. The next one waits for the operator, and whoever calls hears that."""
    face = Face(("security",))
    async with scripted(face=face, permits=Permits()) as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).say(404)
        mgp = {"version": "0.2.0", "extensions": ["security"], "permissions_required": ["camera"]}
        for known in (True, False):
            if not known:
                (await server.next("server/discover")).error(400, -32000, "not initialized")
            hello = await server.next("initialize")
            capabilities = {"tools": {}, "mgp": mgp}
            said = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
            hello.result({**said, "serverInfo": {}}, Mcp_Session_Id="s-2")
        (await server.next("DELETE")).say(200)
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "permission_deferred"


async def test_a_task_that_comes_when_its_session_has_ended_is_none_of_the_common_connection() -> (
    None
):
    """Where the same name may be another caller's."""
    async with scripted(share="session") as (supervisor, server):
        call = tool_call(supervisor, "s/t", session="a", caller=Caller("ann"))
        call.params["task"] = {}
        calling = asyncio.ensure_future(dispatch(supervisor)(call, FakeBack()))
        await server.hello(Mcp_Session_Id="s-2")
        asked = await server.next("tools/call")
        supervisor.forget("a")
        asked.result({"task": {"taskId": "T-1", "status": "working"}})
        assert isinstance(await ended(calling), Answer)
        (await server.next("DELETE")).say(200)
        made = supervisor.tasks.made
        spec = supervisor.fleet.servers["s"].spec
        common, own = (connection_name(spec, one, None, made.process) for one in (None, "a"))
        assert made.heard("s", common, "T-1") is None
        assert made.heard("s", own, "T-1") is not None
