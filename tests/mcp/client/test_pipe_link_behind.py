"""A server that does not read what callers send: it is sent no more, and ended for nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Caller, Refusal
from gatewright.mcp.client import pipe_link
from gatewright.mcp.wire import jsonrpc
from tests.servers.rig import FakeBack, make_call, within
from tests.servers.scripted import linked, start

MIB = 1 << 20


async def test_large_answers_of_callers_do_not_end_a_server_that_is_behind() -> None:
    """Those that find no room are refused to the server; it has asked, and hears something in any case."""
    async with linked() as (link, server):
        server.pipe.pause_reading()
        large = FakeBack(sampling={"text": "x" * (MIB - 1024)})
        calls = [start(link, large, session="a") for _ in range(20)]
        await asyncio.sleep(0)
        for number in range(20):
            server.say(id=number, method="sampling/createMessage", params={})
        async with asyncio.timeout(20):
            while len(large.questions) < 20 and link.open:
                await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert link.open
        server.pipe.resume_reading()
        said = [await server.next() for _ in range(40)]
        refused = [one["error"]["message"] for one in said if "error" in one]
        assert sum("result" in one for one in said) == 8
        assert sum("has not taken" in one for one in refused) == 12
        assert not any(one.done() for one in calls)


async def test_what_a_server_may_miss_it_misses_when_it_is_behind() -> None:
    """How far a caller is, say; what is short is answered as it is."""
    async with linked() as (link, server):
        server.pipe.pause_reading()
        calls = [start(link, params={"text": "x" * (MIB - 1024)}) for _ in range(4)]
        await asyncio.sleep(0)
        for _ in range(5):
            link.notify("notifications/filler", {"text": "x" * (MIB - 1024)})
        said = jsonrpc.notification("notifications/progress", {"message": "x" * 8192})
        link._remark(said)
        server.say(id="p", method="ping")
        await asyncio.sleep(0)
        server.pipe.resume_reading()
        heard: list[dict[str, Any]] = []
        while not heard or heard[-1].get("id") != "p":
            heard.append(await server.next())
        assert heard[-1] == {"jsonrpc": "2.0", "id": "p", "result": {}}
        assert not any(one.get("method") == "notifications/progress" for one in heard)
        assert not any(one.done() for one in calls)


async def test_what_callers_tell_does_not_end_a_server_that_is_behind() -> None:
    async with linked() as (link, server):
        server.pipe.pause_reading()
        call = make_call("method", "notifications/other", {"text": "x" * (MIB - 1024)})
        told = [link.tell(call.method, call.params, call) for _ in range(20)]
        assert link.open
        assert sum(isinstance(one, Refusal) for one in told) == 16


async def test_a_call_of_any_size_may_wait_behind_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """What others send in the same moment is no sign that the server is behind."""
    monkeypatch.setattr(pipe_link, "BEHIND", MIB // 2)
    async with linked() as (link, server):
        calls = [start(link), start(link, params={"text": "x" * (MIB - 1024)})]
        for _ in calls:
            server.say(id=(await server.next())["id"], result={})
        for one in calls:
            assert isinstance(await within(one), Answer)


async def test_a_caller_who_sends_much_leaves_room_for_the_others() -> None:
    async with linked() as (link, server):
        server.pipe.pause_reading()
        text = {"text": "x" * (MIB - 1024)}
        calls = [start(link, params=text, caller=Caller("ann")) for _ in range(20)]
        others = [start(link, params=text, caller=Caller(name)) for name in ("bob", "eve")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        refused = [one.result() for one in calls if one.done()]
        assert len(refused) == 16
        for one in refused:
            assert isinstance(one, Refusal)
            assert one.reason == "resource_exhausted"
            assert "ann has its share" in one.message
        assert not any(one.done() for one in others)
        assert link.open
