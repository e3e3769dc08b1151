"""The door of a host that started us, on real pipes of the operating system."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Caller, CannotAsk, Outcome, Question, Refusal
from gatewright.mcp.server import stdio
from gatewright.mcp.server.stdio import serve_stdio
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_CLIENT_CAPABILITIES
from gatewright.transport.stdio import open_stdio
from tests.dialects.client import rpc, within
from tests.dialects.hosts import Host
from tests.dialects.house import House, text
from tests.dialects.steps import CALL, TOLD, Hang, progress, progressed


class Started:
    """A gateway on its standard pipes, and the host that started it."""

    def __init__(self, host: Host, served: asyncio.Task[str], sending: int) -> None:
        self.host = host
        self.served = served
        self._sending: int | None = sending
        host.send = lambda data: self._say(data + b"\n")

    def _say(self, line: bytes) -> None:
        if self._sending is not None:
            os.write(self._sending, line)

    def hang_up(self) -> None:
        """Close the gateway's input; what it says is still read."""
        if self._sending is not None:
            os.close(self._sending)
            self._sending = None

    async def over(self) -> str:
        """Hang up and wait for the gateway's end; why it ended."""
        self.hang_up()
        return await within(self.served)


async def _listen(host: Host, descriptor: int) -> asyncio.ReadTransport:
    reader = asyncio.StreamReader(1 << 24)
    loop = asyncio.get_running_loop()
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(descriptor, "rb", 0))

    async def lines() -> None:
        while line := await reader.readline():
            host.message(line.removesuffix(b"\n"))

    host.reading = loop.create_task(lines())
    return transport


@asynccontextmanager
async def started(
    house: House,
    monkeypatch: pytest.MonkeyPatch,
    profile: str = "",
    credential: str | None = None,
) -> AsyncIterator[Started]:
    heard, our_out = os.pipe()
    our_in, sending = os.pipe()
    ours = partial(open_stdio, stdin=our_in, stdout=our_out)
    monkeypatch.setattr(stdio, "open_stdio", ours)
    host = Host()
    one = Started(host, asyncio.create_task(serve_stdio(house.front, profile, credential)), sending)
    transport = await _listen(host, heard)
    try:
        yield one
    finally:
        one.hang_up()
        one.served.cancel()
        await asyncio.wait([one.served])
        transport.close()
        for descriptor in (our_out, our_in):
            os.close(descriptor)


async def test_a_host_that_started_us_is_served_without_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        back.emit(progress(1))
        return text("done")

    async with House() as house, started(house, monkeypatch, "small") as one:
        house.script.does("echo", tool)
        hello = await one.host.hello()
        assert hello["protocolVersion"] == "2025-11-25"
        ident = one.host.began("tools/call", TOLD)
        assert await one.host.next() == progressed(1)
        assert (await one.host.next())["id"] == ident
        call = house.script.calls[0]
        assert (call.door, call.profile, call.credential) == ("stdio", "small", None)
        assert house.front.owners == {call.session: call.caller.who}
        assert await one.over() == "end of input"
        assert house.front.owners == {}


async def test_what_is_shown_for_a_host_is_with_each_of_its_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        return text("done")

    async with House() as house:
        shown: list[str | None] = []
        known = house.front.identify

        def identify(door: str, credential: str | None) -> Caller | Refusal:
            shown.append(credential)
            return known(door, None)

        house.front.identify = identify
        house.script.does("echo", tool)
        async with started(house, monkeypatch, credential="t~cursor") as one:
            await one.host.hello()
            ident = one.host.began("tools/call", TOLD)
            assert (await one.host.next())["id"] == ident
        assert shown[0] == "t~cursor"
        assert house.script.calls[0].credential == "t~cursor"


async def test_who_may_not_use_us_is_told_why() -> None:
    async with House() as house:
        house.front.identify = lambda door, credential: Refusal("auth_required", f"not at {door}")
        with pytest.raises(PermissionError, match="not at stdio"):
            await within(serve_stdio(house.front))


async def test_what_was_asked_before_the_input_ended_is_still_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`gatewright serve --stdio < requests` gets its answers."""
    async with House() as house, started(house, monkeypatch) as one:
        house.script.does("echo", hang := Hang())
        one.host.began("tools/call", CALL, 1)
        await within(hang.began.wait())
        one.hang_up()
        hang.end.set()
        assert (await one.host.next())["id"] == 1
        assert await one.over() == "end of input"


async def test_nothing_waits_for_a_host_that_will_say_nothing_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def asking(call: Call, back: Back) -> Outcome:
        try:
            learned: Any = await back.ask(Question("elicitation/create", {}))
        except CannotAsk as no:
            learned = no.message
        return Answer(jsonrpc.encode({"content": [], "learned": learned}))

    async with House() as house, started(house, monkeypatch) as one:
        house.script.does("echo", asking)
        await one.host.hello(elicitation={})
        one.host.began("tools/call", CALL)
        await one.host.next()
        able: dict[str, Any] = {META_CLIENT_CAPABILITIES: {"elicitation": {}}}
        one.host.modern("tools/call", CALL, **able)
        await one.host.next()
        one.host.modern("subscriptions/listen", {"notifications": {}})
        await one.host.next()
        assert await one.over() == "end of input"
        assert (house.front.owners, house.front.listening) == ({}, {})
        assert house.script.cancelled == ["echo"]
        assert len(house.trails.ended) == 2


async def test_a_broken_line_is_answered_and_the_pipe_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MGP-14.2-1: a line that is not JSON is -32700."""
    async with House() as house, started(house, monkeypatch) as one:
        for line, code in ((b"nonsense", -32700), (b"[]", -32600), (b"\xff", -32700)):
            one.host.send(line)
            answered = await one.host.next()
            assert (answered["id"], answered["error"]["code"]) == (None, code)
        assert (await one.host.ask("ping"))["result"] == {}


async def test_a_cancelled_request_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    async with House() as house, started(house, monkeypatch) as one:
        house.script.does("echo", hang := Hang())
        running = one.host.began("tools/call", CALL)
        await within(hang.began.wait())
        one.host.send(rpc("notifications/cancelled", {"requestId": running}))
        assert (await one.host.ask("ping"))["result"] == {}
        assert house.script.cancelled == ["echo"]


async def test_a_call_without_end_holds_us_up_only_so_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "DRAIN_S", 0.01)
    async with House() as house, started(house, monkeypatch) as one:
        house.script.does("echo", hang := Hang())
        one.host.began("tools/call", CALL)
        await within(hang.began.wait())
        await one.over()
        await house.quiet()
        assert house.script.cancelled == ["echo"]
