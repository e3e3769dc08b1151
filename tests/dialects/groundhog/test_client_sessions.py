"""Who may speak, for how long, and in which session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Caller, Refusal
from gatewright.mcp.wire import jsonrpc
from tests.dialects.groundhog.rig import Rig
from tests.dialects.house import ANN, BOB

ECHO = {"tool_id": "echo", "parameters": {"n": 1}}


def structured(**found: Any) -> Answer:
    return Answer(jsonrpc.encode({"content": [], "structuredContent": found}))


async def test_the_session_of_a_caller_is_shown_with_everything() -> None:
    """GRH-sec-1, GRH-sec-3 and GRH-cfg-1."""
    async with Rig() as rig:
        client = rig.client(ANN, "key-ann")
        view = await client.result("session/create", {"session_id": "mine"})
        assert view == {
            "session_id": "mine",
            "user_context": {
                "user_id": "ann",
                "role": "reader",
                "trust_level": "verified",
                "allowed_resources": ["/srv"],
            },
            "permissions": ["read:filesystem"],
            "created_at": "1970-01-12T13:46:40Z",
            "expires_at": "1970-01-12T14:46:40Z",
            "rate_limit_state": {"requests": 0, "limited": 0},
            "protocol_version": "1.0.0",
        }
        rig.house.script.does("echo", structured())
        await client.result("tools/invoke", ECHO)
        assert (await client.result("session/get"))["rate_limit_state"]["requests"] == 1


async def test_whoever_opens_every_session_keeps_nobody_else_out() -> None:
    async with Rig() as rig:
        rig.house.script.does("echo", structured())
        greedy = rig.client(ANN, "key-ann")
        for number in range(rig.parts.sessions.most):
            await greedy.result("session/create", {"session_id": f"s{number}"})
        more = await greedy.data("session/create", {"session_id": "one more"})
        assert more["error_code"] == "resource_limit"
        await rig.client(BOB, "key-bob").result("tools/invoke", ECHO)


async def test_an_expired_session_is_refused_until_another_one_is_opened() -> None:
    """GRH-sec-2: whether it was asked for, named, or came with the connection."""
    async with Rig() as rig:
        rig.house.script.does("echo", structured())
        client = rig.client(ANN, "key-ann")
        named = {**ECHO, "security_context": {"session_id": "named"}}
        await client.result("tools/invoke", ECHO)
        await client.result("tools/invoke", named)
        rig.now += 3600
        for params in (ECHO, named):
            data = await client.data("tools/invoke", params)
            assert (data["error_type"], data["error_code"]) == ("security_error", "session_expired")
        assert len(rig.house.script.calls) == 2
        assert (await client.data("session/get"))["error_code"] == "session_expired"
        await client.result("session/create")
        await client.result("tools/invoke", ECHO)


async def test_a_session_that_nobody_asked_for_ends_with_its_connection() -> None:
    """GRH-cfg-8: so that short connections do not use them all up."""
    async with Rig(most=2) as rig:
        rig.house.script.does("echo", structured())
        for _ in range(5):
            client = rig.client(ANN, "key-ann")
            await client.result("tools/invoke", ECHO)
            client.close()
            await asyncio.sleep(0.01)
        assert len(rig.parts.sessions) == 0
        kept = rig.client(ANN, "key-ann")
        await kept.result("session/create", {"session_id": "kept"})
        kept.close()
        await asyncio.sleep(0.01)
        assert len(rig.parts.sessions) == 1
        await rig.client(ANN, "key-ann").result("session/create")
        data = await rig.client(ANN, "key-ann").data("tools/invoke", ECHO)
        assert (data["error_type"], data["error_code"]) == ("system_error", "resource_limit")


async def test_who_has_no_credential_can_only_send_one() -> None:
    """GRH-cfg-5, GRH-err-6 and GRH-test-2."""
    async with Rig() as rig:
        client = rig.client(None)
        for method, params in (
            ("tools/list", {}),
            ("tools/invoke", ECHO),
            ("session/get", {}),
            ("session/create", {}),
            ("session/get", {"token": "key-ann"}),
            ("session/create", {"token": "wrong"}),
            ("session/create", {"security_context": {"user_id": "ann"}}),
            ("no/such", {}),
        ):
            data = await client.data(method, params)
            assert data["error_code"] == "authentication_failed", (method, params)
        assert rig.house.script.calls == []
        assert [one.caller for one in rig.notes.found] == [None] * 8
        await client.result("session/create", {"token": "key-ann"})
        rig.house.script.does("echo", structured())
        await client.result("tools/invoke", ECHO)
        assert rig.house.script.calls[0].caller == ANN


async def test_anonymous_callers_need_a_credential_where_it_is_required() -> None:
    """GRH-cfg-5."""
    async with Rig(anonymous=True) as rig:
        data = await rig.client(None).data("session/create", {})
        assert data["error_code"] == "authentication_failed"
    async with Rig(anonymous=True, require_authentication=False) as rig:
        client = rig.client(None)
        rig.house.script.does("echo", structured())
        result = await client.result(
            "tools/invoke", {**ECHO, "security_context": {"user_id": "user123"}}
        )
        assert result["status"] == "success"
        assert rig.house.script.calls[0].caller.id == "anonymous"


async def test_a_silent_connection_is_closed_when_its_time_is_over() -> None:
    """GRH-cfg-6: with a clock that the test turns."""
    async with Rig(authentication_timeout_s=30.0) as rig:
        alarms: list[tuple[float, Any]] = []
        loop = asyncio.get_running_loop()
        real = loop.call_later

        def later(delay: float, call: Any, *given: Any) -> asyncio.TimerHandle:
            if delay == 30.0:
                alarms.append((delay, call))
            return real(delay, call, *given)

        loop.call_later = later  # type: ignore[assignment,method-assign]
        try:
            silent, speaking = rig.client(None), rig.client(None)
            known = rig.client(ANN, "key-ann")
        finally:
            del loop.call_later
        assert rig.parts.waiting == 2
        await speaking.result("session/create", {"token": "key-ann"})
        assert rig.parts.waiting == 1
        assert [delay for delay, _ in alarms] == [30.0, 30.0]
        alarms[0][1]()
        await silent.wait_closed()
        await asyncio.sleep(0)
        assert rig.parts.waiting == 0
        assert not speaking.closed.is_set()
        assert not known.closed.is_set()


async def test_a_connection_without_a_credential_closes_by_itself() -> None:
    """GRH-cfg-6: the same with a real clock."""
    async with Rig(authentication_timeout_s=0.05) as rig:
        client = rig.client(None)
        assert await client.wait_closed() == "closed"


async def test_what_is_over_the_limit_of_a_caller_is_refused_before_it_does_anything() -> None:
    async with Rig() as rig:
        over = Refusal("rate_limited", "later", {}, 70)
        rig.parts.count = lambda caller: over if caller == ANN else None
        client = rig.client(ANN, "key-ann")
        for method in ("session/create", "session/get", "session/close"):
            data = await client.data(method)
            assert data["error_code"] == "rate_limit_exceeded"
        assert len(rig.parts.sessions) == 0
        assert await rig.client(BOB, "key-bob").result("session/get")


@pytest.mark.parametrize(
    "message",
    [
        b"{",
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/invoke","params":{"tool_id":7}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/invoke","params":[]}',
        b'{"jsonrpc":"2.0","id":1,"method":"session/create","params":{"token":"wrong"}}',
    ],
)
async def test_what_is_turned_down_counts_like_what_is_served(message: bytes) -> None:
    async with Rig() as rig:
        counted: list[str] = []
        over = Refusal("rate_limited", "later", {}, 70)

        def count(caller: Caller) -> Refusal | None:
            counted.append(caller.id)
            return over if len(counted) > 2 else None

        rig.parts.count = count
        client = rig.client(ANN, "key-ann")
        codes = []
        for _ in range(3):
            client.peer.message(message)
            codes.append((await client.next())["error"]["data"]["error_code"])
        assert counted == [ANN.id] * 3
        assert codes[0] == codes[1] != "rate_limit_exceeded"
        assert codes[2] == "rate_limit_exceeded"
