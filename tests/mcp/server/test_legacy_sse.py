"""HTTP+SSE of 2024-11-05: a stream to the host, and a path to post to."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Caller, Outcome, Question, Refusal
from gatewright.mcp.server.long_lived import Dismissing
from gatewright.mcp.wire import jsonrpc
from tests.dialects.client import Answered, Wire, modern, rpc, within
from tests.dialects.house import _KEYS, ANN, BOB, House, text
from tests.dialects.steps import CALL, TOLD, Hang, progress, progressed


class Host:
    """A client with its stream and its path."""

    def __init__(self, house: House, stream: Wire, path: str, options: dict[str, Any]) -> None:
        self.house = house
        self.stream = stream
        self.path = path
        self.options = options

    async def post(self, message: bytes, **options: Any) -> Answered:
        """Post one message."""
        return await self.house.post(message, path=self.path, **(self.options | options))

    async def ask(self, method: str, params: Any = None, ident: Any = 1) -> Any:
        """Post a request; the next message on the stream."""
        answered = await self.post(rpc(method, params, ident))
        assert (answered.status, answered.body) == (202, b"")
        return await self.stream.message()


async def connected(house: House, **options: Any) -> Host:
    stream = house.open(method="GET", path="/sse", **options)
    status, headers = await stream.head()
    assert (status, headers["content-type"]) == (200, "text/event-stream")
    first = await stream.event()
    assert first.event == "endpoint"
    return Host(house, stream, first.data.decode(), options)


async def test_the_first_event_names_the_path_to_post_to() -> None:
    async with House() as house:
        hosts = [await connected(house) for _ in range(2)]
        for host in hosts:
            assert re.fullmatch(r"/messages\?session_id=[0-9a-f]{64}", host.path)
        assert hosts[0].path != hosts[1].path


async def test_answers_travel_on_the_stream() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        back.emit(progress(1))
        return text("done")

    async with House() as house:
        house.script.does("echo", tool)
        host = await connected(house, key="key-ann")
        hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {}}
        assert (await host.ask("initialize", hello))["result"]["protocolVersion"] == "2024-11-05"
        assert await host.ask("tools/call", TOLD, "x") == progressed(1)
        assert (await host.stream.message())["id"] == "x"
        call = house.script.calls[0]
        assert (call.caller, call.door, call.credential) == (ANN, "sse", "key-ann")
        assert house.front.owners[call.session or ""] == ("agent", "ann")


async def test_a_host_is_asked_on_the_stream_and_answers_with_a_post() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        learned = await back.ask(Question("sampling/createMessage", {}))
        return Answer(jsonrpc.encode({"learned": learned}))

    async with House() as house:
        house.script.does("echo", tool)
        host = await connected(house)
        able = {"protocolVersion": "2024-11-05", "capabilities": {"sampling": {}}}
        await host.ask("initialize", able)
        asked = await host.ask("tools/call", CALL, "x")
        assert asked["method"] == "sampling/createMessage"
        await host.post(jsonrpc.encode({"jsonrpc": "2.0", "id": asked["id"], "result": {"n": 1}}))
        assert (await host.stream.message())["result"] == {"learned": {"n": 1}}


async def test_a_caller_of_another_kind_cannot_post_to_a_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An operator and an agent may have one name."""
    async with House() as house:
        host = await connected(house, key="key-ann")
        monkeypatch.setitem(_KEYS, "key-ann-2", Caller("ann", "operator"))
        assert (await host.post(rpc("ping", None, 1), key="key-ann-2")).status == 404
        assert (await host.post(rpc("ping", None, 1))).status == 202


async def test_what_servers_say_comes_on_the_stream() -> None:
    async with House() as house:
        host = await connected(house)
        await host.ask("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})
        house.upstream.tell("notifications/tools/list_changed")
        assert (await host.stream.message())["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize("key", ["key-bob", None])
async def test_a_foreign_path_is_answered_like_one_that_never_was(key: str | None) -> None:
    async with House() as house:
        host = await connected(house, key="key-ann")
        foreign = await host.post(rpc("ping", None, 1), key=key)
        never = await house.post(rpc("ping", None, 1), path="/messages?session_id=0", key=key)
        bare = await house.post(rpc("ping", None, 1), path="/messages", key=key)
        assert (foreign.status, foreign.body) == (404, never.body)
        assert (never.status, bare.status) == (404, 404)
        assert BOB.who not in house.front.owners.values()


async def test_a_key_may_change_while_the_stream_is_open() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        host = await connected(house, key="key-ann")
        await host.post(rpc("tools/call", CALL, 1), key="key-ann-2")
        await host.stream.message()
        assert house.script.calls[0].credential == "key-ann-2"


async def test_other_parameters_of_the_path_do_not_matter() -> None:
    async with House() as house:
        host = await connected(house)
        host.path += "&x=1"
        assert (await host.ask("ping"))["result"] == {}


async def test_each_door_knows_one_method() -> None:
    async with House() as house:
        posted = await house.open(method="POST", path="/sse").whole()
        got = await house.open(method="GET", path="/messages").whole()
        assert (posted.status, posted.headers["allow"]) == (405, "GET")
        assert (got.status, got.headers["allow"]) == (405, "POST")


async def test_a_broken_post_is_refused_and_a_broken_message_answered_on_the_stream() -> None:
    async with House(frame_bytes=1000) as house:
        host = await connected(house)
        assert (await host.post(b"x" * 1001)).status == 413
        assert (await host.post(b"{}", headers={"content-type": "text/plain"})).status == 415
        assert (await host.post(b"nonsense")).status == 202
        assert (await host.stream.message())["error"]["code"] == -32700


async def test_a_host_that_leaves_ends_its_calls_and_its_path() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        hosts = [await connected(house) for _ in range(20)]
        for host in hosts:
            await host.post(rpc("tools/call", CALL, 1))
        await within(hang.began.wait())
        for host in hosts:
            host.stream.leave()
        await house.quiet()
        assert house.script.cancelled == ["echo"] * 20
        assert house.front.owners == {}
        assert (await hosts[0].post(rpc("ping", None, 1))).status == 404


async def test_the_gateway_closes_its_streams() -> None:
    async with House() as house:
        host = await connected(house)
        await house.app.close()
        await within(host.stream.task)
        with pytest.raises(EOFError):
            await host.stream.event()


async def test_a_host_that_does_not_read_is_cut() -> None:
    big = "x" * (1 << 20)

    async with House() as house:
        house.script.does("echo", text(big))
        host, other = await connected(house), await connected(house)
        host.stream.reading.clear()
        for number in range(24):
            await host.post(rpc("tools/call", CALL, number))
        await within(host.stream.task)
        assert (await other.ask("ping"))["result"] == {}
        assert len(house.front.owners) == 1


@pytest.mark.parametrize(
    "place",
    ["/messages/small", "/mcp/small", "/profiles/small/messages", "/sse/small", "/small/messages"],
)
async def test_a_stream_is_unknown_at_the_paths_of_a_profile(place: str) -> None:
    """By the id in the query, and as the id of a session of HTTP."""
    async with House() as house:
        host = await connected(house)
        query = host.path.partition("?")[2]
        ping = rpc("ping", None, 1)
        posted = await house.post(ping, path=f"{place}?{query}")
        named = {"mcp-session-id": query.partition("=")[2], "mcp-protocol-version": "2025-11-25"}
        again = await house.post(ping, path=place, headers=named)
        assert again.status == 404
        assert posted.status == 404 or place == "/mcp/small"  # which answers it itself
        assert (await host.ask("ping", ident=7))["id"] == 7  # and nothing came before


async def test_a_stream_is_of_the_profile_that_it_was_opened_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever leads there."""
    async with House() as house:
        route = house.app._route

        def led(path: str) -> Any:
            name = path.removesuffix("/small")
            return (route(name)[0], "small") if name != path else route(path)

        monkeypatch.setattr(house.app, "_route", led)
        host = await connected(house)
        query = host.path.partition("?")[2]
        ping = rpc("ping", None, 1)
        assert (await house.post(ping, path=f"/messages/small?{query}")).status == 404
        stream = house.open(method="GET", path="/sse/small")
        await stream.head()
        path = (await stream.event()).data.decode()
        assert (await house.post(ping, path=path)).status == 404
        other = path.replace("/messages", "/messages/small")
        assert (await house.post(ping, path=other)).status == 202
        assert (await stream.message())["id"] == 1
        assert (await host.ask("ping", ident=7))["id"] == 7


async def test_a_query_of_thousands_of_fields_names_no_stream() -> None:
    async with House() as house:
        host = await connected(house)
        many = await house.post(rpc("ping", None, 1), path=host.path + "&a" * 9000)
        assert many.status == 404


HELLO = {"protocolVersion": "2024-11-05", "capabilities": {}}
LISTEN = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})


@pytest.mark.parametrize("said", [rpc("initialize", HELLO, 1), LISTEN.body, rpc("tools/call", CALL, 1)])  # fmt: skip
async def test_what_arrives_after_its_stream_has_ended_begins_nothing(said: bytes) -> None:
    """The last byte of a message is held back until the stream is gone."""
    async with House() as house:
        host = await connected(house)
        rest = asyncio.Event()
        late = house.open(said, path=host.path, held=rest)
        await within(late.received.wait())
        host.stream.leave()
        await within(host.stream.task)
        rest.set()
        assert (await late.whole()).status == 404
        await house.quiet()
        assert (house.upstream.watching, house.front.listening, house.script.calls) == ({}, {}, [])


async def test_a_session_that_ends_during_its_handshake_hears_of_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Describing waits for servers that are starting."""
    async with House() as house:
        asked, go = asyncio.Event(), asyncio.Event()

        async def describe(profile: str, caller: Caller) -> Any:
            asked.set()
            await go.wait()
            return {}, ""

        monkeypatch.setattr(house.upstream, "describe", describe)
        session = house.open(rpc("initialize", HELLO, 1))
        await within(asked.wait())
        await house.app.streamable.sessions.close_all()
        go.set()
        await session.whole()
        assert house.upstream.watching == {}


async def test_a_key_with_other_limits_posts_to_no_stream_of_its_caller() -> None:
    """What it asks would be heard by who opened the stream, and what servers say by its rights."""
    async with House() as house:
        house.script.does("echo", text("secret"))
        for opens, posts in (("key-ann-less", "key-ann"), ("key-ann", "key-ann-less")):
            host = await connected(house, key=opens)
            foreign = await host.post(rpc("tools/call", CALL, 1), key=posts)
            never = await house.post(rpc("ping"), path="/messages?session_id=0", key=posts)
            assert (foreign.status, foreign.body) == (404, never.body)
            assert (await host.ask("ping"))["result"] == {}
        assert house.script.calls == []


async def test_a_token_with_further_scopes_ends_the_stream_once_nothing_runs_on_it() -> None:
    """Its client had asked for it in the middle of a session, and posted to a stream that it could not know to be of no use any more."""
    async with House() as house:
        hang = Hang()
        house.script.does("echo", hang)
        host = await connected(house, key="token-ann")
        await host.post(rpc("tools/call", CALL, 1))
        await hang.began.wait()
        assert (await host.post(rpc("ping", None, 2), key="token-ann-more")).status == 404
        assert (await host.ask("ping", None, 3))["result"] == {}
        hang.end.set()
        await host.stream.message()
        assert (await host.post(rpc("ping", None, 4), key="token-ann-more")).status == 404
        assert (await host.stream.whole()).messages == []


async def test_a_stream_is_of_the_key_that_opened_it_also_where_another_posts() -> None:
    async with House() as house:
        host = await connected(house, key="key-ann")
        other = await connected(house, key="key-ann")
        for one in (host, other):
            await one.ask("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})
            await one.post(rpc("ping", None, 1), key="key-ann-2")
            await one.stream.message()
        looks = Dismissing(house.front)
        house.gone.add("key-ann-2")  # who posted ends nothing of it
        await looks.look()
        assert (await host.ask("ping"))["result"] == {}
        house.gone.clear()
        await other.post(rpc("ping", None, 1), key="key-ann-2")
        await other.stream.message()
        house.gone.add("key-ann")
        house.upstream.tell("notifications/tools/list_changed")
        await looks.look()
        for one in (host, other):
            assert (await one.stream.whole()).messages == []


async def test_a_stream_goes_on_with_what_was_posted_with_once_its_own_credential_has_come_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with House() as house:
        host = await connected(house, key="key-ann")
        await host.post(rpc("ping", None, 1), key="key-ann-2")
        await host.stream.message()
        known = house.front.identify

        def identify(door: str, credential: str | None) -> Caller | Refusal:
            ended = Refusal("auth_expired", "it has expired")
            return ended if credential == "key-ann" else known(door, credential)

        house.front.identify = identify
        looks = Dismissing(house.front)
        await looks.look()
        host.options["key"] = "key-ann-2"
        assert (await host.ask("ping"))["result"] == {}
        house.gone.add("key-ann-2")
        await looks.look()
        assert (await host.stream.whole()).messages == []
