"""A link over a pipe: ids, tokens, order, endings, and everything a server may say wrongly."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

import pytest

from gatewright.call import Answer, Failure, Outcome, Refusal
from gatewright.mcp.client.link import FIRST_ID, LinkClosed, ServerFailed
from gatewright.mcp.client.pipe_link import GARBAGE, PipeLink
from gatewright.mcp.protocol.mcp_client import Handshake
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO
from gatewright.mcp.wire.versions import LATEST_LEGACY, LATEST_MODERN
from gatewright.servers.spec import ServerSpec
from gatewright.transport.memory import pair
from tests.servers.rig import DEADLINE, INFO, FakeBack, within
from tests.servers.scripted import Ear, Scripted, linked, start


def greeted(
    era: Literal["auto", "legacy", "modern"] = "auto", probe_s: float = DEADLINE
) -> tuple[PipeLink, Scripted, Any]:
    server = Scripted()
    link = PipeLink(ServerSpec(id="s", probe_s=probe_s, era=era), INFO, Ear())
    pipe, server.pipe = pair(link, server)
    handshake = Handshake(info=INFO, era=era)
    return link, server, asyncio.ensure_future(link.greet(pipe, handshake))


async def test_a_modern_server_is_not_told_that_it_is_initialized() -> None:
    link, server, greeting = greeted()
    asked = await server.next()
    assert asked["method"] == "server/discover"
    found = {
        "supportedVersions": [LATEST_MODERN],
        "capabilities": {},
        "_meta": {META_SERVER_INFO: {"name": "m"}},
    }
    server.say(id=asked["id"], result=found)
    hello = await within(greeting)
    assert (hello.revision, hello.info) == (LATEST_MODERN, {"name": "m"})
    assert link.open
    assert server.idle()


async def test_a_server_that_ignores_the_probe_is_asked_the_old_way_in_time() -> None:
    link, server, greeting = greeted(probe_s=0.01)
    assert (await server.next())["method"] == "server/discover"
    asked = await server.next()
    assert asked["method"] == "initialize"
    server.say(id=asked["id"], result={"protocolVersion": "2024-11-05", "capabilities": {}})
    assert (await within(greeting)).revision == "2024-11-05"
    assert link.open


async def test_an_answer_that_comes_in_the_moment_in_which_the_patience_ends_counts() -> None:
    """A gateway that was kept from running finds both at once, the answer and that the time is over."""
    _, server, greeting = greeted(probe_s=0.05)
    asked = await server.next()
    server.say(id=asked["id"], error={"code": -32601, "message": "Unknown method"})
    time.sleep(0.1)  # noqa: ASYNC251 - nothing else may run meanwhile
    asked = await server.next()
    assert asked["method"] == "initialize"
    assert not greeting.done()
    server.say(id=asked["id"], error={"code": -32603, "message": "not today"})
    with pytest.raises(LinkClosed, match="not today"):
        await within(greeting)


async def test_a_server_that_is_known_to_be_modern_may_take_its_time_to_start() -> None:
    _, server, greeting = greeted(era="modern", probe_s=0.01)
    asked = await server.next()
    given_up, _ = await asyncio.wait([greeting], timeout=0.1)
    assert not given_up
    assert server.idle()
    server.say(id=asked["id"], result={"supportedVersions": [LATEST_MODERN], "capabilities": {}})
    assert (await within(greeting)).revision == LATEST_MODERN


async def test_a_server_that_pings_during_the_handshake_is_answered() -> None:
    _, server, greeting = greeted(era="legacy")
    asked = await server.next()
    server.say(id="p", method="ping")
    assert await server.next() == {"jsonrpc": "2.0", "id": "p", "result": {}}
    server.say(id=asked["id"], result={"protocolVersion": LATEST_LEGACY, "capabilities": {}})
    await within(greeting)


async def test_a_server_that_goes_away_during_the_handshake_is_named_with_its_reason() -> None:
    link, server, greeting = greeted()
    await server.next()
    server.pipe.close()
    with pytest.raises(LinkClosed, match="closed by the peer"):
        await within(greeting)
    assert not link.open


async def test_a_refused_handshake_closes_the_pipe() -> None:
    _, server, greeting = greeted(era="legacy")
    asked = await server.next()
    server.say(id=asked["id"], error={"code": -1, "message": "not today"})
    with pytest.raises(LinkClosed, match="not today"):
        await within(greeting)
    assert await within(server.pipe.wait_closed()) == "closed by the peer"


async def test_calls_overtake_each_other_and_ids_are_the_links_own() -> None:
    async with linked() as (link, server):
        first, second = start(link), start(link)
        one, two = await server.next(), await server.next()
        assert [one["id"], two["id"]] == [FIRST_ID, FIRST_ID + 1]
        server.say(id=two["id"], result={"content": ["second"]})
        assert await within(second) == Answer(b'{"content": ["second"]}')
        server.say(id=one["id"], result={"content": ["first"]})
        assert await within(first) == Answer(b'{"content": ["first"]}')


async def test_params_and_results_pass_as_they_are() -> None:
    async with linked() as (link, server):
        params = {"name": "tool", "vendor": [None, 2**70], "_meta": {"traceparent": "00-x"}}
        call = start(link, params=params)
        sent = await server.next()
        assert sent["params"] == params
        server.write(b'{"id":%d,"result":{"x":1.10,"y":1e400},"jsonrpc":"2.0"}' % sent["id"])
        assert await within(call) == Answer(b'{"x":1.10,"y":1e400}')


@pytest.mark.parametrize("token", ["text", 7, 0])
async def test_progress_reaches_its_caller_with_the_callers_own_token(token: Any) -> None:
    async with linked() as (link, server):
        back, other = FakeBack(), FakeBack()
        call = start(link, back, params={"name": "t", "_meta": {"progressToken": token, "k": 1}})
        start(link, other, params={"name": "t", "_meta": {"progressToken": token}})
        sent = await server.next()
        assert sent["params"]["_meta"] == {"progressToken": sent["id"], "k": 1}
        told = {"progressToken": sent["id"], "progress": 1, "vendor": None}
        server.say(method="notifications/progress", params=told)
        server.say(id=sent["id"], result={})
        await within(call)
        assert back.of("notifications/progress") == [{**told, "progressToken": token}]
        assert other.events == []


async def test_progress_after_the_answer_or_for_nobody_is_dropped() -> None:
    async with linked() as (link, server):
        back = FakeBack()
        call = start(link, back, params={"name": "t", "_meta": {"progressToken": "p"}})
        sent = await server.next()
        server.say(id=sent["id"], result={})
        await within(call)
        for token in (sent["id"], 999, "p", None):
            server.say(method="notifications/progress", params={"progressToken": token})
        server.say(id="p", method="ping")
        await server.next()
        assert back.events == []
        assert link.dropped == 4


async def test_a_cancelled_call_is_cancelled_upstream_with_the_right_id() -> None:
    async with linked() as (link, server):
        call = start(link)
        sent = await server.next()
        call.cancel()
        told = await server.next()
        assert told["method"] == "notifications/cancelled"
        assert told["params"]["requestId"] == sent["id"]
        server.say(id=sent["id"], result={})
        after = start(link)
        server.say(id=(await server.next())["id"], result={})
        assert isinstance(await within(after), Answer)
        assert link.dropped == 1


async def test_a_call_that_is_out_of_time_ends_and_is_cancelled_upstream() -> None:
    async with linked() as (link, server):
        call = start(link, seconds=0.01)
        sent = await server.next()
        told = await server.next()
        assert told["params"]["requestId"] == sent["id"]
        outcome = await within(call)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "upstream_timeout"


async def test_upstream_errors_arrive_with_code_message_and_data() -> None:
    async with linked() as (link, server):
        call = start(link)
        sent = await server.next()
        error = b'{"code":-31001,"message":"no","data":{"n":1.10,"x":null}}'
        server.write(b'{"jsonrpc":"2.0","id":%d,"error":%s}' % (sent["id"], error))
        outcome = await within(call)
        assert isinstance(outcome, Failure)
        assert (outcome.reason, outcome.error) == ("upstream_error", error)


async def test_the_end_of_the_pipe_fails_what_is_in_flight_and_says_that_its_outcome_is_unknown() -> (
    None
):
    async with linked() as (link, server):
        call = start(link)
        await server.next()
        server.pipe.close()
        outcome = await within(call)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "upstream_unavailable"
        assert "its outcome is unknown" in outcome.message
        assert outcome.details == {"sent": True}
        assert await within(link.wait_closed()) == "closed by the peer"
        later = await within(start(link))
        assert isinstance(later, Failure)
        assert later.details == {"sent": False}


async def test_more_calls_than_a_server_may_have_are_refused_not_queued() -> None:
    async with linked(in_flight=2) as (link, server):
        calls = [start(link), start(link)]
        refused = await within(start(link))
        assert isinstance(refused, Refusal)
        assert refused.reason == "resource_exhausted"
        for call in calls:
            server.say(id=(await server.next())["id"], result={})
            await within(call)
        again = start(link)
        server.say(id=(await server.next())["id"], result={})
        assert isinstance(await within(again), Answer)


async def test_a_server_that_is_behind_gets_no_more_large_calls_and_is_not_ended_for_those() -> (
    None
):
    """Whoever sends much at once ends neither the server nor what others have asked of it."""
    async with linked() as (link, server):
        server.pipe.pause_reading()
        large = {"text": "x" * ((1 << 20) - 1024)}
        calls = [start(link, params=large) for _ in range(20)]
        small = start(link)
        refused = [one for one in calls if one.done() or await _settles(one)]
        assert len(refused) == 16
        for one in refused:
            outcome = one.result()
            assert isinstance(outcome, Refusal)
            assert (outcome.reason, outcome.details) == ("resource_exhausted", {"sent": False})
        server.pipe.resume_reading()
        for _ in range(5):
            server.say(id=(await server.next())["id"], result={})
        assert isinstance(await within(small), Answer)
        assert link.open


async def _settles(call: asyncio.Future[Outcome]) -> bool:
    await asyncio.wait([call], timeout=0)
    return call.done()


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"",
        b"null",
        b"[[[[",
        b"\xff\xfe",
        b'{"jsonrpc":"1.0","id":1}',
        b'{"jsonrpc":"2.0","id":"x","result":1}',
        b'{"jsonrpc":"2.0","id":null,"error":{}}',
        b'{"jsonrpc":"2.0","id":99999,"result":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":[1]}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{"a":1}}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}',
    ],
)
async def test_a_line_that_means_nothing_costs_nobody_a_call(line: bytes) -> None:
    async with linked() as (link, server):
        call = start(link)
        sent = await server.next()
        server.write(line)
        server.say(id=sent["id"], result={"content": []})
        assert isinstance(await within(call), Answer)
        assert link.open


async def test_a_peer_that_sends_only_garbage_is_no_server() -> None:
    async with linked() as (link, server):
        for _ in range(GARBAGE):
            server.write(b"garbage")
        assert f"{GARBAGE} unreadable messages" in (why := await within(link.wait_closed()))
        assert why.endswith("what it logs belongs on standard error")


async def test_a_server_that_prints_on_its_own_output_is_told_where_it_may(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with linked() as (link, server):
        server.write(b"Starting up!")
        server.say(id="p", method="ping")
        await server.next()
        assert link.open
    assert "what it logs belongs on standard error" in caplog.text


async def test_garbage_between_messages_is_forgiven_for_ever() -> None:
    async with linked() as (link, server):
        for _ in range(3):
            for _ in range(GARBAGE - 1):
                server.write(b"garbage")
            server.say(id="p", method="ping")
            await server.next()
        assert link.open


async def test_an_answer_that_is_both_result_and_error_fails_its_call_at_once() -> None:
    async with linked() as (link, server):
        call = start(link)
        sent = await server.next()
        server.say(id=sent["id"], result={}, error={"code": 1, "message": "x"})
        outcome = await within(call)
        assert isinstance(outcome, Failure)
        assert "broken" in outcome.message


async def test_a_broken_request_of_the_server_is_answered_with_its_flaw() -> None:
    async with linked() as (_, server):
        server.say(id="q", method="roots/list", params="no object")
        answer = await server.next()
        assert (answer["id"], answer["error"]["code"]) == ("q", -32600)


async def test_a_second_answer_to_one_call_is_dropped() -> None:
    async with linked() as (link, server):
        call = start(link)
        sent = await server.next()
        server.say(id=sent["id"], result={"n": 1})
        server.say(id=sent["id"], result={"n": 2})
        assert await within(call) == Answer(b'{"n": 1}')


async def test_a_batch_of_an_old_server_is_understood() -> None:
    async with linked("2025-03-26") as (link, server):
        first, second = start(link), start(link)
        one, two = await server.next(), await server.next()
        server.write(
            b'[{"jsonrpc":"2.0","id":%d,"result":{"n":1}},{"jsonrpc":"2.0","id":%d,"result":{}}]'
            % (one["id"], two["id"])
        )
        assert await within(first) == Answer(b'{"n":1}')
        assert await within(second) == Answer(b"{}")


async def test_a_result_that_is_not_utf_8_or_no_object_fails_its_call() -> None:
    async with linked() as (link, server):
        for result in (b'{"x":"\xff"}', b"[]", b'"text"', b"null"):
            call = start(link)
            sent = await server.next()
            server.write(b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (sent["id"], result))
            outcome = await within(call)
            assert isinstance(outcome, Failure), result
            assert outcome.reason == "upstream_error"


async def test_what_the_gateway_fetches_itself_fails_with_a_reason() -> None:
    async with linked() as (link, server):
        fetching = asyncio.ensure_future(link.fetch("tools/list", {}, DEADLINE))
        server.say(id=(await server.next())["id"], error={"code": -5, "message": "no lists"})
        with pytest.raises(ServerFailed, match="no lists"):
            await within(fetching)
        with pytest.raises(ServerFailed, match="did not answer"):
            await within(link.fetch("tools/list", {}, 0.01))


async def test_stopping_waits_for_the_pipe_and_nothing_can_be_sent_afterwards() -> None:
    async with linked() as (link, server):
        await within(link.stop(1.0))
        assert not link.open
        link.notify("notifications/x", {})
        assert await within(link.wait_closed()) == "stopped"
        assert await within(server.pipe.wait_closed()) == "closed by the peer"


async def test_a_connection_that_has_ended_hears_nothing_more_of_a_child_that_is_still_stopping() -> (
    None
):
    """By then there is another connection, and what is said of a task would be taken for one of that."""
    ear = Ear()
    async with linked(ear=ear) as (link, _):
        link.close("stopped")
        for method in ("notifications/tasks/status", "notifications/tools/list_changed"):
            link.message(jsonrpc.notification(method, {"taskId": "T-1", "status": "completed"}))
        link.message(jsonrpc.request(b"1", "roots/list"))
        assert ear.heard == []
        assert not link.wants_roots
