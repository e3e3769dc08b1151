"""Prepared calls that become ordinary ones, and what is cancelled, revoked or broken in that moment."""

from __future__ import annotations

import asyncio
import json
import logging
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from gatewright.access.grants import Grant
from gatewright.call import Answer
from gatewright.mcp.client.pipe_link import PipeLink
from gatewright.mcp.protocol.mcp_server import Cancelled
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.secret_scanning.chunks import CHUNK
from gatewright.standing import NOTHING
from tests.prepared_house import PreparedHouse, RawClient, prepared_house, settings_of, told

TELL = "obedient__tell"


async def on_its_way(house: PreparedHouse, client: RawClient, ident: int = 7) -> Any:
    """A prepared call that its server never answers."""
    await house.warm(client)
    call = {"name": TELL, "arguments": {"text": "so", "how": "never"}}
    before = set(house.gateway.kernel._forwarded)
    client.send({"id": ident, "method": "tools/call", "params": call})
    async with asyncio.timeout(5):
        while not (new := set(house.gateway.kernel._forwarded) - before):
            await asyncio.sleep(0.001)
    (going,) = new
    return going


def clean(house: PreparedHouse) -> None:
    """Nothing is left of any call."""
    kernel = house.gateway.kernel
    assert kernel.in_flight == 0
    assert not kernel.running()
    assert not house.prepared.going_on
    assert not kernel._forwarded


@pytest.mark.parametrize("ended", ["cancelled", "closed"])
async def test_a_call_that_is_cancelled_before_its_task_runs_ends_in_order(
    tmp_path: Path, ended: str
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        going = await on_its_way(house, client)
        peer, link = going.session.peer, going.prepared.line._link
        going.promote()
        if ended == "cancelled":
            peer.take(Cancelled(b"7"))
        else:
            peer.close()
        async with asyncio.timeout(5):
            while house.gateway.kernel.in_flight:
                await asyncio.sleep(0.001)
        _, body = await client.receive()
        assert json.loads(body)["error"]["code"] == -32800
        clean(house)
        assert not link._pending
        assert not peer.running
        client.close()


async def test_a_revocation_in_slices_misses_no_call_that_became_an_ordinary_one(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        going = await on_its_way(house, client)
        kernel, ended = house.gateway.kernel, list[Any]()
        gates: Any = kernel.policy.gates
        access = next(one for one in gates if one.name == "access")
        access._grants._issued.put(Grant("*", "obedient", permission="deny", granted_by="test"))
        slices = kernel._ask_again(tuple(kernel._forwarded), None, ended)
        going.promote()
        async with asyncio.timeout(5):
            while going in kernel._forwarded or not kernel._forwarded:
                await asyncio.sleep(0)
        for _ in slices:
            pass
        assert len(ended) == 1
        _, body = await client.receive()
        assert told(json.loads(body)) == "access_denied"
        clean(house)
        client.close()


async def test_a_number_without_a_form_of_ours_is_counted_once_and_says_nothing_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    limits = {"calls": {"caller": {"per_minute": 20}}}
    async with prepared_house(tmp_path, limits=limits) as house:
        client = await house.client()
        await house.warm(client)
        used = house.prepared.served
        body = b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"obedient__tell","arguments":{"text":"a","n":1e400}}}'
        with caplog.at_level(logging.WARNING):
            said = [json.loads(await posted(client, body)) for _ in range(3)]
        assert all("result" in one for one in said)
        assert house.prepared.served == used
        assert "Traceback" not in caplog.text
        assert not [one for one in caplog.records if one.name == "gatewright.mcp.server"]
        client.close()


async def posted(client: RawClient, body: bytes) -> bytes:
    """The body of the answer to this one."""
    client.send({"id": 0, "method": "ping"})  # the same head but for its length
    await client.receive()
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{client._port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Session-Id: {client.session}",
        f"MCP-Protocol-Version: {client._revision}",
        f"Content-Length: {len(body)}",
    ]
    client.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    return (await client.receive())[1]


@pytest.mark.parametrize("broken", ["recorder", "hook"])
async def test_an_end_that_breaks_is_answered_all_the_same(tmp_path: Path, broken: str) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        (made,) = house.prepared.known.values()

        def breaks(*_: Any) -> None:
            raise RuntimeError("broken on purpose")

        if broken == "recorder":
            made.recorder.answered = breaks
        else:
            made._hear = (breaks,)
        async with asyncio.timeout(5):
            said = await client.text(TELL, "so")
        assert said == ("audit_unavailable" if broken == "recorder" else "so")
        clean(house)
        client.close()


async def test_another_level_has_calls_prepared_anew(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        await client.ask("logging/setLevel", {"level": "error"}, 9)
        assert (await house.served(client, TELL, "so")) == ("so", False)
        await house.warm(client)
        client.close()


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (b'{"content":[],"isError":false}', True),
        (b'{"isError": false,"content":[]}', True),
        (b'{"content":[],"isError":true}', False),
        (b'{"content":[],"isError":0}', False),
        (b'{"content":[],"isError" :false}', False),
        (b'{"content":[{"isError":false}],"isError":true}', False),
        (b'{"content":[{"type":"text","text":"isError"}]}', False),
        (b'{"a":[' + b'{"a":1},' * 10_001 + b"1]}", False),
    ],
)
async def test_results_that_are_no_errors_travel_as_they_are(
    tmp_path: Path, text: bytes, plain: bool
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        (made,) = house.prepared.known.values()
        assert made.line.is_plain(text) is plain
        client.close()


async def test_calls_that_waited_in_a_gate_over_a_reload_prepare_nothing(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client, other = await house.client(), await house.client()
        other._session = client.session
        waits, kernel = asyncio.Event(), house.gateway.kernel

        class Slow:
            name = "slow"

            async def _later(self, call: Any) -> Any:
                await waits.wait()
                return call

            def stands(self, call: Any) -> Any:
                return NOTHING

            def __call__(self, call: Any, back: Any) -> Any:
                return self._later(call) if call.arguments["text"] == "slow" else call

        before = kernel.policy
        before.gates = (*before.gates, Slow())
        for one, ident in ((client, 11), (other, 12)):
            call = {"name": TELL, "arguments": {"text": "slow"}}
            one.send({"id": ident, "method": "tools/call", "params": call})
        async with asyncio.timeout(5):
            while kernel.in_flight < 2:
                await asyncio.sleep(0.001)
        await house.gateway.adopt(settings_of(tmp_path, redaction={"terms": ["Nightjar"]}))
        assert kernel.policy is not before
        waits.set()
        for one in (client, other):
            await one.receive()
        assert not house.prepared.known
        for at in range(6):
            assert "Nightjar" not in await client.text(TELL, f"Nightjar {at}")
        client.close()
        other.close()


async def test_only_what_concerns_a_call_makes_an_ordinary_one_of_it(tmp_path: Path) -> None:
    """A server's ping, and what it says of nobody's call, or of somebody else's, leave all others as they are."""
    async with prepared_house(tmp_path) as house:
        client, other = await house.client(), await house.client()
        going = await on_its_way(house, client)
        await house.warm(other)
        for _ in range(3):
            assert await house.served(other, TELL, "so", "chatty") == ("so", True)
        assert not going.done
        going.cancel()
        await client.receive()
        clean(house)
        client.close()
        other.close()


async def test_a_chunk_makes_an_ordinary_call_of_its_own(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        going = await on_its_way(house, client)
        link = going.prepared.line._link
        chunk = {"request_id": going.ident, "index": 0, "content": {"type": "text", "text": "so"}}
        for _ in range(2):
            link._notes.take(CHUNK, dict(chunk), None)
        assert going.done
        assert link._pending[going.ident].heard
        going.cancel()
        await client.receive()
        clean(house)
        client.close()


async def test_a_log_line_of_the_only_call_reaches_its_caller(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        arguments = {"text": "so", "how": "log"}
        call = {"id": 7, "method": "tools/call", "params": {"name": TELL, "arguments": arguments}}
        _, body = await client.post(call)
        assert b"notifications/message" in body
        client.close()


async def test_what_always_becomes_an_ordinary_call_is_prepared_more_and_more_seldom(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        prepared = [(await house.served(client, TELL, "so", "error"))[1] for _ in range(70)]
        assert sum(prepared[:8]) == 8
        assert not any(prepared[8:22])
        assert 8 < sum(prepared) < 32
        said = [(await house.served(client, TELL, "so"))[1] for _ in range(140)]
        assert said[-1]  # and it is found out that it pays again
        client.close()


async def test_some_calls_that_become_ordinary_ones_cost_nothing(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        for at in range(40):
            assert await house.served(client, TELL, "so", ("error", "plain")[at % 2]) == (
                "so",
                True,
            )
        client.close()


SPOKEN: ContextVar[str] = ContextVar("spoken", default="the client's")


async def test_what_becomes_an_ordinary_call_runs_in_the_context_of_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message, run, seen = PipeLink.message, ServedRequest.run, []

    def read(self: Any, data: bytes) -> None:
        SPOKEN.set("the server's")
        message(self, data)

    async def ran(self: Any, *said: Any) -> None:
        seen.append(SPOKEN.get())
        await run(self, *said)

    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        monkeypatch.setattr(PipeLink, "message", read)
        monkeypatch.setattr(ServedRequest, "run", ran)
        assert await house.served(client, TELL, "so", "error") == ("so", True)
        assert seen == ["the client's"]
        client.close()


@pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("how", ["walked", "on its way", "just an ordinary one"])
async def test_a_call_that_runs_when_the_server_stops_is_recorded(
    tmp_path: Path, how: str, revision: str
) -> None:
    heard: list[bytes] = []
    async with prepared_house(tmp_path) as house:
        client = await house.client(revision=revision)
        await house.warm(client)
        house.gateway.audit.heard.listen(heard.append)
        if how == "walked":
            house.prepared.clear()
        call = {"name": TELL, "arguments": {"text": "so", "how": "never"}}
        client.send({"id": 7, "method": "tools/call", "params": call})
        async with asyncio.timeout(5):
            while not (found := list(house.gateway.kernel._forwarded)):
                await asyncio.sleep(0.001)
        assert hasattr(found[0], "promote") is (how != "walked")
        if how == "just an ordinary one":
            found[0].promote()  # type: ignore[attr-defined]
        kernel = house.gateway.kernel
    assert kernel.in_flight == 0
    assert not kernel.prepared.going_on
    assert [json.loads(one)["outcome"] for one in heard if b"TOOL_" in one] == ["cancelled"]
    client.close()


async def test_a_call_leaves_once(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        going = await on_its_way(house, client)
        going.prepared.line.over(going)
        going.answer, going.done, going.spent_s = Answer(b'{"content":[]}'), True, 0.0
        going.leave()
        before = house.gateway.kernel.in_flight
        going.leave()
        assert house.gateway.kernel.in_flight == before
        await client.receive()
        client.close()


async def test_a_session_under_a_modern_head_is_served_by_no_prepared_call(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        before, client._revision = house.prepared.served, "2026-07-28"
        for ident in (31, 32, 33):
            params = {"name": TELL, "arguments": {"text": "so"}}
            said = await client.ask("tools/call", params, ident)
            assert said["error"]["code"] == -32602
        assert house.prepared.served == before
        client.close()
