"""ggen's JSON-RPC door: who is served, at which path, and how a connection ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from gatewright.call import ANONYMOUS, Answer, Back, Call, Caller, Outcome, Question
from gatewright.dialects.ggen import endpoint
from gatewright.transport.base import Limits
from gatewright.transport.http_server import serve
from tests.dialects.client import modern, rpc, within
from tests.dialects.house import ANN, House, text
from tests.dialects.steps import CALL, Hang

BEARER = {"type": "bearer", "token": "key-ann"}
LIST = rpc("tools/list", None, 1)


def asked(method: str = "tools/call", auth: Any = None, ident: Any = 1, **params: Any) -> bytes:
    body = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params or CALL}
    return json.dumps(body | ({} if auth is None else {"auth": auth})).encode()


@asynccontextmanager
async def socket(
    house: House, *, path: str = "/rpc", headers: Mapping[str, str] | None = None
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A WebSocket to the door, on a real socket."""
    server = await serve(house.app, host="127.0.0.1", port=0, limits=Limits())
    try:
        async with (
            aiohttp.ClientSession() as http,
            http.ws_connect(server.url + path, headers=headers or {}) as found,
        ):
            yield found
    finally:
        await server.stop(1.0)


# -- HTTP


async def test_a_call_is_led_through_the_kernel_as_its_door() -> None:
    """GGEN-core-1, GGEN-core-3."""
    async with House() as house:
        house.script.does("echo", text("hello"))
        said = await house.post(asked(), path="/rpc", key="key-ann")
        (call,) = house.script.calls
    assert (said.status, said.json) == (200, {"jsonrpc": "2.0", "id": 1, "result": "hello"})
    assert (call.door, call.caller, call.credential) == ("ggen", ANN, "key-ann")
    assert (call.session, call.profile) == (None, "")


async def test_a_profile_has_a_path_of_its_own() -> None:
    async with House() as house:
        house.script.does("echo", text("x"))
        await house.post(asked(), path="/rpc/small")
        assert house.script.calls[0].profile == "small"
        assert (await house.post(asked(), path="/rpc/large")).status == 404


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_only_a_post_is_answered(method: str) -> None:
    async with House() as house:
        said = await house.open(method=method, path="/rpc").whole()
        assert (said.status, said.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"accept": "text/html"}, 406),
        ({"host": "evil.example"}, 403),
        ({"origin": "http://evil.example"}, 403),
    ],
)
async def test_a_request_of_another_kind_is_refused(headers: Any, status: int) -> None:
    async with House() as house:
        assert (await house.post(asked(), path="/rpc", headers=headers)).status == status
        assert house.script.calls == []


async def test_a_body_that_is_too_long_is_refused() -> None:
    async with House(frame_bytes=100) as house:
        assert (await house.post(b" " * 101, path="/rpc")).status == 413


async def test_a_tool_that_breaks_the_gateway_is_an_internal_error() -> None:
    """GGEN-err-5: without a word of what broke, and not to be repeated: nobody knows how far it came."""

    async def broken(call: Call, back: Back) -> Outcome:
        raise RuntimeError("the password is swordfish")

    async with House() as house:
        house.script.does("echo", broken)
        said = await house.post(asked(), path="/rpc")
    error = said.json["error"]
    assert (error["code"], error["data"]["error_type"]) == (-32603, "InternalError")
    assert error["data"]["retryable"] is False
    assert "swordfish" not in said.body.decode()


async def test_an_answer_that_breaks_when_its_call_ran_is_not_to_be_asked_for_again() -> None:
    """Decision 0039."""
    async with House() as house:
        house.script.does("echo", Answer(b"{no result at all"))
        said = await house.post(asked(), path="/rpc")
    assert (said.status, said.json["error"]["code"]) == (200, -32603)
    assert said.json["error"]["data"]["retryable"] is False
    assert "retry_after_ms" not in said.json["error"]["data"]


async def test_a_server_that_asks_is_told_that_nobody_answers() -> None:
    async def asks(call: Call, back: Back) -> Outcome:
        return text(str(await back.ask(Question("elicitation/create"))))

    async with House() as house:
        house.script.does("echo", asks)
        error = (await house.post(asked(), path="/rpc")).json["error"]
    assert error["code"] == -32603


async def test_a_client_that_leaves_ends_its_call() -> None:
    async with House() as house:
        hang = Hang()
        house.script.does("echo", hang)
        wire = house.open(asked(), path="/rpc")
        await within(hang.began.wait())
        wire.leave()
        await within(wire.task)
        assert house.script.cancelled == ["echo"]


async def test_nothing_but_notifications_gets_an_empty_answer() -> None:
    async with House() as house:
        for body in (rpc("tools/list"), b"[" + rpc("tools/list") + b"]"):
            said = await house.post(body, path="/rpc")
            assert (said.status, said.body) == (204, b"")


@pytest.mark.parametrize(
    ("body", "code"), [(b"[]", -32600), (b"[1", -32700), (b"[" + b"1," * 50 + b"1]", -32600)]
)
async def test_a_batch_that_is_none_is_one_error(body: bytes, code: int) -> None:
    """Decision C-51."""
    async with House() as house:
        said = await house.post(body, path="/rpc")
    assert (said.status, said.json["error"]["code"], said.json["id"]) == (400, code, None)


async def test_the_calls_of_a_batch_run_side_by_side() -> None:
    async with House() as house:
        hang = Hang()
        house.script.does("slow", hang)

        async def ends(call: Call, back: Back) -> Outcome:
            hang.end.set()
            return text("quick")

        house.script.does("quick", ends)
        both = b"[%b,%b]" % (asked(name="slow", ident=1), asked(name="quick", ident=2))
        said = await house.post(both, path="/rpc")
    assert [one["id"] for one in said.json] == [1, 2]


# -- who asks


async def test_the_bearer_in_the_body_is_asked_who_that_is() -> None:
    """GGEN-auth-12."""
    async with House(anonymous=False) as house:
        house.script.does("echo", text("hi"))
        said = await house.post(asked(auth=BEARER), path="/rpc")
        assert said.json["result"] == "hi"
        assert [call.caller for call in house.script.calls] == [ANN]


@pytest.mark.parametrize("auth", [None, {"type": "bearer", "token": "wrong"}, {"type": "x"}, "x"])
async def test_nobody_is_answered_with_who_to_be(auth: Any) -> None:
    """GGEN-err-9, GGEN-auth-10: 401 around ggen's own error."""
    async with House(anonymous=False) as house:
        said = await house.post(asked(auth=auth, ident="a"), path="/rpc")
        assert house.script.calls == []
    assert (said.status, said.json["id"], said.json["error"]["code"]) == (401, "a", -32004)
    assert said.headers["www-authenticate"].startswith("Bearer")


async def test_the_path_of_mcp_takes_it_where_the_body_says_so() -> None:
    """GGEN-auth-12: with a header that is good, without any, and not where MCP says its revision."""
    async with House() as house:
        house.script.does("echo", text("hi"))
        assert (await house.post(asked(auth=BEARER))).json["result"] == "hi"
        said = await house.post(asked(auth=BEARER), headers={"mcp-protocol-version": "2025-11-25"})
        assert said.json["result"]["content"] == [{"type": "text", "text": "hi"}]
        assert [call.door for call in house.script.calls] == ["ggen", "http"]
        assert [call.caller for call in house.script.calls] == [ANN, ANONYMOUS]


async def test_the_path_of_mcp_still_belongs_to_mcp() -> None:
    async with House(anonymous=False) as house:
        house.script.does("echo", text("hi"))
        said = await house.post(asked(auth=BEARER))
        assert (said.status, said.json["result"]) == (200, "hi")
        for sent in (asked(), b"{", modern("tools/call", CALL, meta={"auth": BEARER})):
            refused = await house.post(sent)
            assert (refused.status, refused.json["error"]["code"]) == (401, 1002)
        wrong = await house.post(asked(auth=BEARER), key="wrong")
        assert (wrong.status, wrong.json["error"]["code"]) == (401, 1002)
        for odd in ({"content-type": "text/plain"}, {"accept": "text/html"}):
            assert (await house.post(asked(auth=BEARER), headers=odd)).status == 401
        get = await house.open(method="GET").whole()
        assert get.status == 401


async def test_what_is_refused_of_somebody_is_told_to_the_record() -> None:
    told: list[tuple[Caller, str, int, str]] = []
    async with House(refused=lambda *one: told.append(one)) as house:
        await house.post(rpc("no/such", None, 1), path="/rpc", key="key-ann")
        await house.post(asked(auth={"type": "bearer", "token": "wrong"}), path="/rpc", key="x")
    ((caller, door, code, message),) = told
    assert (caller, door, code) == (ANN, "ggen", -32601)
    assert "tools/validate" in message


# -- WebSocket


async def test_frames_are_answered_as_they_are_done() -> None:
    """GGEN-p4-9."""
    async with House() as house:
        hang = Hang()
        house.script.does("slow", hang)
        house.script.does("quick", text("quick"))
        async with socket(house, headers={"authorization": "Bearer key-ann"}) as client:
            await client.send_str(asked(name="slow", ident=1).decode())
            await client.send_str(asked(name="quick", ident=2).decode())
            first = await client.receive_json(timeout=10)
            hang.end.set()
            second = await client.receive_json(timeout=10)
        assert [first["id"], second["id"]] == [2, 1]
        assert {call.caller for call in house.script.calls} == {ANN}


async def test_each_frame_may_be_somebody_elses() -> None:
    """GGEN-auth-12."""
    async with House(anonymous=False) as house:
        house.script.does("echo", text("hi"))
        async with socket(house) as client:
            await client.send_str(asked().decode())
            nobody = await client.receive_json(timeout=10)
            await client.send_str(asked(auth=BEARER).decode())
            ann = await client.receive_json(timeout=10)
            await client.send_str(asked(auth={**BEARER, "token": "key-bob"}).decode())
            assert (await client.receive_json(timeout=10))["result"] == "hi"
        assert (nobody["error"]["code"], ann["result"]) == (-32004, "hi")
        assert [call.caller.id for call in house.script.calls] == ["ann", "bob"]


async def test_who_leaves_has_his_calls_cancelled() -> None:
    async with House() as house:
        hang = Hang()
        house.script.does("echo", hang)
        async with socket(house) as client:
            await client.send_str(asked().decode())
            await within(hang.began.wait())
        async with asyncio.timeout(10):
            while not house.script.cancelled:
                await asyncio.sleep(0.001)


async def test_a_stranger_who_shows_nothing_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "_STRANGER_S", 0.05)
    async with House(anonymous=False) as house, socket(house) as client:
        closed = await client.receive(timeout=10)
        assert closed.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)


async def test_who_showed_a_key_may_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_STRANGER_S", 0.2)
    async with House(anonymous=False) as house, socket(house) as client:
        house.script.does("echo", text("hi"))
        await client.send_str(asked(auth=BEARER).decode())
        assert (await client.receive_json(timeout=10))["result"] == "hi"
        with pytest.raises(TimeoutError):
            await client.receive(timeout=0.5)


async def test_a_host_that_is_not_ours_gets_no_socket() -> None:
    async with House() as house:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            async with socket(house, headers={"origin": "http://evil.example"}):
                pass
        assert caught.value.status == 403


async def test_no_more_than_so_many_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_IN_FLIGHT", 1)
    async with House() as house:
        hang = Hang()
        house.script.does("echo", hang)
        async with socket(house) as client:
            await client.send_str(asked(ident=1).decode())
            await within(hang.began.wait())
            await client.send_str(asked(ident=2).decode())
            busy = await client.receive_json(timeout=10)
            hang.end.set()
            assert (await client.receive_json(timeout=10))["id"] == 1
        assert "at most 1" in busy["error"]["message"]


async def test_a_defect_of_ours_is_answered_as_everything_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """GGEN-err-5: in the middle of a batch, too."""
    async with House() as house:
        house.script.does("echo", text("hi"))

        def breaks(*_: object) -> bytes:
            raise RuntimeError("the password is swordfish")

        monkeypatch.setattr("gatewright.mcp.protocol.ggen.result_of", breaks)
        said = await house.post(b"[%b,%b]" % (asked(), rpc("no/such", None, 2)), path="/rpc")
    assert [one["error"]["code"] for one in said.json] == [-32603, -32601]
    assert "swordfish" not in said.body.decode()
