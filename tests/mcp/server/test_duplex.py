"""Hosts at the end of a pipe: many requests at once, both eras, and nothing left when they go."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Outcome, Question
from gatewright.mcp.server.duplex import Duplex
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_CLIENT_CAPABILITIES, META_SUBSCRIPTION
from gatewright.mcp.wire.versions import LEGACY
from gatewright.transport.base import Limits
from gatewright.transport.memory import pair
from tests.dialects.client import rpc, within
from tests.dialects.hosts import Host
from tests.dialects.house import ANN, INFO, MGP_OFFER, House, text
from tests.dialects.steps import CALL, TOLD, Hang, progress, progressed

NAME = Question("elicitation/create", {"message": "name?"})


class Line:
    """A pipe with a host at one end and a door at the other."""

    def __init__(self, house: House, limits: Limits | None = None, **options: Any) -> None:
        self.door = Duplex(
            house.front, ANN, door="stdio", credential=None, profile="small", **options
        )
        self.host = Host()
        self.pipe, back = pair(self.host, self.door, limits or Limits())
        self.host.send = self.pipe.send
        self.door.attach(back)


async def connected(house: House, **options: Any) -> Host:
    line = Line(house, **options)
    house.leaving.append(line.pipe.close)
    return line.host


def asks(question: Question) -> Any:
    async def tool(call: Call, back: Back) -> Outcome:
        return Answer(jsonrpc.encode({"content": [], "learned": await back.ask(question)}))

    return tool


async def test_a_host_shakes_hands_and_calls() -> None:
    """MGP-1.1-1: no member of MGP in sight."""
    async with House() as house:
        house.script.does("echo", text("hi"))
        host = await connected(house)
        assert await host.hello("2024-11-05") == {
            "protocolVersion": "2024-11-05",
            "capabilities": house.upstream.capabilities,
            "serverInfo": INFO,
        }
        answered = await host.ask("tools/call", CALL, "a")
        content = [{"type": "text", "text": "hi"}]
        assert answered == {"jsonrpc": "2.0", "id": "a", "result": {"content": content}}
        call = house.script.calls[0]
        assert (call.caller, call.door, call.profile) == (ANN, "stdio", "small")
        assert house.front.owners == {call.session: ("agent", "ann")}


async def test_both_eras_come_on_one_pipe() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        host = await connected(house)
        host.modern("server/discover")
        assert (await host.next())["result"]["resultType"] == "complete"
        host.modern("tools/call", CALL)
        assert (await host.next())["result"]["resultType"] == "complete"
        await host.hello()
        assert "resultType" not in (await host.ask("tools/call", CALL))["result"]


async def test_mgp_is_agreed_upon_in_the_handshake() -> None:
    """MGP-2.1-1 and MGP-2.3-1."""
    async with House() as house:
        host = await connected(house)
        hello = await host.hello(mgp=MGP_OFFER)
        assert hello["capabilities"]["mgp"] == MGP_OFFER


async def test_a_slow_call_holds_nobody_up() -> None:
    async with House() as house:
        house.script.does("slow", hang := Hang())
        house.script.does("echo", text("hi"))
        host = await connected(house)
        slow = host.began("tools/call", {"name": "slow"})
        assert (await host.ask("tools/call", CALL))["result"]
        hang.end.set()
        assert (await host.next())["id"] == slow


async def test_progress_goes_before_the_answer() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        back.emit(progress(1))
        return text("done")

    async with House() as house:
        house.script.does("echo", tool)
        host = await connected(house)
        ident = host.began("tools/call", TOLD)
        assert await host.next() == progressed(1)
        assert (await host.next())["id"] == ident


async def test_a_cancelled_request_is_not_answered() -> None:
    """In either era; and a request may be cancelled in the breath that made it."""
    async with House() as house:
        house.script.does("echo", hang := Hang())
        host = await connected(house)
        for begin in (host.began, host.modern):
            running = begin("tools/call", CALL)
            await within(hang.began.wait())
            hang.began.clear()
            host.send(rpc("notifications/cancelled", {"requestId": running}))
            at_once = begin("tools/call", CALL)
            host.send(rpc("notifications/cancelled", {"requestId": at_once}))
        assert (await host.ask("ping"))["result"] == {}
        assert host.silent()
        assert house.script.cancelled == ["echo", "echo"]


async def test_a_legacy_host_is_asked_and_answers_on_the_pipe() -> None:
    async with House() as house:
        house.script.does("echo", asks(NAME))
        host = await connected(house)
        await host.hello(elicitation={})
        ident = host.began("tools/call", CALL)
        asked = await host.next()
        assert (asked["method"], asked["params"]) == (NAME.method, NAME.params)
        host.send(jsonrpc.encode({"jsonrpc": "2.0", "id": asked["id"], "result": {"n": 1}}))
        answered = await host.next()
        assert (answered["id"], answered["result"]["learned"]) == (ident, {"n": 1})


async def test_a_modern_host_is_answered_with_what_is_missing_and_comes_back() -> None:
    async with House() as house:
        house.script.does("echo", asks(NAME))
        host = await connected(house)
        able: dict[str, Any] = {META_CLIENT_CAPABILITIES: {"elicitation": {}}}
        host.modern("tools/call", CALL, **able)
        asked = (await host.next())["result"]
        again = {**CALL, "requestState": asked["requestState"], "inputResponses": {"q1": {"n": 1}}}
        ident = host.modern("tools/call", again, **able)
        answered = await host.next()
        assert (answered["id"], answered["result"]["learned"]) == (ident, {"n": 1})


async def test_a_request_that_was_answered_cannot_be_cancelled_and_its_repetition_can() -> None:
    async with House() as house:
        house.script.does("echo", asks(NAME))
        host = await connected(house)
        able: dict[str, Any] = {META_CLIENT_CAPABILITIES: {"elicitation": {}}}
        first = host.modern("tools/call", CALL, **able)
        asked = (await host.next())["result"]
        host.send(rpc("notifications/cancelled", {"requestId": first}))
        part = {**CALL, "requestState": asked["requestState"], "inputResponses": {}}
        host.modern("tools/call", part, **able)
        state = (await host.next())["result"]["requestState"]
        house.script.does("echo", Hang())
        last = host.modern("tools/call", {**part, "requestState": state}, **able)
        host.send(rpc("notifications/cancelled", {"requestId": last}))
        await host.ask("ping")
        assert house.script.cancelled == ["echo"]
        gone = {**part, "requestState": state, "inputResponses": {"q1": {}}}
        host.modern("tools/call", gone, **able)
        assert (await host.next())["error"]["code"] == -32602


async def test_a_host_hears_what_it_may_and_wants() -> None:
    async with House() as house:
        house.script.does("resources/subscribe", Answer(b"{}"))
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        host = await connected(house)
        await host.hello()
        await host.ask("resources/subscribe", {"uri": "u"})
        house.upstream.tell("notifications/resources/updated", {"uri": "v"})
        house.upstream.tell("notifications/mgp.lifecycle", {"x": 1})
        house.upstream.tell("notifications/resources/updated", {"uri": "u"})
        updated = {"method": "notifications/resources/updated", "params": {"uri": "u"}}
        assert await host.next() == {"jsonrpc": "2.0"} | updated
        await host.ask("resources/unsubscribe", {"uri": "u"})
        house.upstream.tell("notifications/resources/updated", {"uri": "u"})
        house.upstream.tell("notifications/tools/list_changed")
        assert (await host.next())["method"] == "notifications/tools/list_changed"


async def test_a_modern_host_listens_until_it_cancels() -> None:
    async with House() as house:
        host = await connected(house)
        ident = host.modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        acknowledged = await host.next()
        assert acknowledged["params"]["_meta"] == {META_SUBSCRIPTION: ident}
        house.upstream.tell("notifications/tools/list_changed")
        assert (await host.next())["params"]["_meta"] == {META_SUBSCRIPTION: ident}
        host.send(rpc("notifications/cancelled", {"requestId": ident}))
        await host.ask("ping")
        assert house.upstream.watching == {}
        assert host.silent()


async def test_what_is_cancelled_before_its_acknowledgement_is_not_acknowledged() -> None:
    """A server may take its time to say whether it tells of a resource."""
    async with House() as house:
        waits = asyncio.Event()

        async def silent(call: Call, back: Back) -> Outcome:
            waits.set()
            await asyncio.get_running_loop().create_future()
            return Answer(b"{}")

        house.script.does("resources/subscribe", silent)
        host = await connected(house)
        wanted = {"notifications": {"resourceSubscriptions": ["u"]}}
        ident = host.modern("subscriptions/listen", wanted)
        await within(waits.wait())
        host.send(rpc("notifications/cancelled", {"requestId": ident}))
        await host.ask("ping")
        assert host.silent()


# -- what is wrong


@pytest.mark.parametrize(
    ("frame", "code", "ident"),
    [
        (b"nonsense", -32700, None),
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"7", -32600, None),
        (b'{"jsonrpc":"1.0","id":3,"method":"x"}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":7}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"x","params":7}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"x","params":[7]}', -32602, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":7}}', -32602, 3),
        (b'{"jsonrpc":"2.0","id":[3],"method":"x"}', -32600, None),
    ],
)
async def test_a_broken_frame_is_answered_and_the_pipe_goes_on(
    frame: bytes, code: int, ident: Any
) -> None:
    """MGP-14.2-1."""
    async with House() as house:
        host = await connected(house)
        host.send(frame)
        answered = await host.next()
        assert (answered["error"]["code"], answered["id"]) == (code, ident)
        assert (await host.ask("ping"))["result"] == {}


async def test_one_connection_runs_only_so_much_at_once() -> None:
    """MGP-14.3-11 and MGP-14.4-1."""
    async with House() as house:
        house.script.does("echo", hang := Hang())
        host = await connected(house, in_flight=2)
        await host.hello(mgp=MGP_OFFER)
        for _ in range(2):
            host.began("tools/call", CALL)
            await house.began()
        busy = (await host.ask("tools/call", CALL))["error"]
        assert (busy["code"], busy["data"]["_mgp"]["retryable"]) == (3001, True)
        host.modern("subscriptions/listen", {"notifications": {}})
        assert (await host.next())["error"]["code"] == 3001
        assert (await host.ask("ping"))["result"] == {}
        hang.end.set()
        await host.next()
        await host.next()
        house.script.does("echo", text("hi"))
        assert "result" in await host.ask("tools/call", CALL)


# -- batches


async def test_a_batch_is_answered_together_once_all_is_done() -> None:
    async with House() as house:
        house.script.does("slow", hang := Hang())
        house.script.does("echo", text("hi"))
        host = await connected(house)
        await host.hello("2025-03-26")
        frames = [
            rpc("tools/call", {"name": "slow"}, 1),
            rpc("tools/call", CALL, 2),
            rpc("notifications/x"),
            rpc("tools/call", {"name": "slow"}, 3),
            b"7",
        ]
        host.send(b" [" + b",".join(frames) + b"]")
        await within(hang.began.wait())
        host.send(rpc("notifications/cancelled", {"requestId": 3}))
        assert (await host.ask("ping", ident="p"))["id"] == "p"
        hang.end.set()
        answered = await host.next()
        assert sorted(str(one.get("id")) for one in answered) == ["1", "2", "None"]


async def test_a_batch_that_asks_nothing_is_not_answered() -> None:
    async with House() as house:
        host = await connected(house)
        await host.hello("2025-03-26")
        host.send(b"[" + rpc("notifications/x") + b"]")
        assert (await host.ask("ping"))["result"] == {}
        for broken in (b"[]", b"[1", b"[" + b",".join([rpc("ping", None, 1)] * 51) + b"]"):
            host.send(broken)
            assert (await host.next())["id"] is None


@pytest.mark.parametrize("revision", [None, *(one for one in LEGACY if one != "2025-03-26")])
async def test_other_revisions_have_no_batches(revision: str | None) -> None:
    async with House() as house:
        host = await connected(house)
        if revision is not None:
            await host.hello(revision)
        host.send(b"[" + rpc("ping", None, 1) + b"]")
        assert (await host.next())["error"]["code"] == -32600


# -- the end


async def test_a_host_that_goes_leaves_nothing_behind() -> None:
    async with House() as house:
        house.script.does("echo", Hang())
        house.script.does("asks", asks(NAME))
        lines = [Line(house) for _ in range(20)]
        for line in lines:
            host = line.host
            await host.hello(elicitation={})
            host.began("tools/call", CALL)
            host.began("tools/call", {"name": "asks"})
            host.modern(
                "tools/call", {"name": "asks"}, **{META_CLIENT_CAPABILITIES: {"elicitation": {}}}
            )
            host.modern("subscriptions/listen", {"notifications": {}})
            for _ in range(3):
                await host.next()
        for line in lines:
            line.pipe.close()
        await house.quiet()
        assert len(house.trails.ended) == 60
        assert (house.front.owners, house.upstream.watching, house.front.listening) == ({}, {}, {})
        assert len([one for one in house.upstream.forgotten if not one.startswith("listen ")]) == 20


async def test_a_host_that_does_not_read_is_cut_and_its_calls_with_it() -> None:
    async def flood(call: Call, back: Back) -> Outcome:
        while True:
            back.emit(progress(1))
            await asyncio.sleep(0)

    async with House() as house:
        house.script.does("echo", flood)
        line = Line(house, Limits(queue_bytes=1000, burst_bytes=1000))
        line.pipe.pause_reading()
        line.host.began("tools/call", TOLD)
        await within(line.host.ended)
        await house.quiet()
        assert house.script.cancelled == ["echo"]


async def test_a_door_waits_for_its_calls_only_so_long() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        line = Line(house)
        await within(line.door.drained(5))
        line.host.began("tools/call", CALL)
        await within(hang.began.wait())
        await within(line.door.drained(0.01))
        assert line.host.silent()
        hang.end.set()
        await within(line.door.drained(5))
        assert (await line.host.next())["id"] == 1
        line.pipe.close()
