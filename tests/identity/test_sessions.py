"""The session view: all for operators, their own for everybody else, and no id in full."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import ANONYMOUS, Answer, Caller, Refusal, UserContext
from gatewright.identity.sessions import METHOD, SessionList
from gatewright.mcp.server.server_context import Standing
from gatewright.mcp.wire import jsonrpc
from gatewright.transport import slices
from tests.gate_parts import AGENT, OPERATOR, Mute, a_call

ANN = Caller(
    "ann",
    "agent",
    "k1",
    user=(UserContext("analyst", "community", ("/a",), ("kernel.tools.list",)),),
)
STANDING = {
    "a" * 64: Standing("http", "reader", ANN, 100.0, 160.0, 3600.0),
    "b" * 64: Standing("websocket", "", AGENT, 130.0, 130.0),
}


class Judged:
    """The first of them has called too often."""

    def limited(self, door: str, caller: Caller) -> Refusal | None:
        return Refusal("rate_limited", "", retry_after_ms=70) if caller is ANN else None


async def _seen(caller: Caller) -> list[dict[str, Any]]:
    asked = SessionList(STANDING, Judged(), clock=lambda: 1_700_000_200.0, monotonic=lambda: 200.0)
    found = await asked(a_call("method", "", method=METHOD, caller=caller), Mute())
    assert isinstance(found, Answer)
    sessions: list[dict[str, Any]] = jsonrpc.decode(found.raw)["sessions"]
    return sessions


async def test_a_session_is_shown_with_everything_but_its_whole_id() -> None:
    """GRH-sec-1 and GRH-sec-3: id, user context, permissions, created, expires, rate-limit state."""
    first, second = await _seen(OPERATOR)
    assert first == {
        "session_id": "a" * 12,
        "door": "http",
        "profile": "reader",
        "key_id": "k1",
        "user_context": {
            "user_id": "ann",
            "role": "analyst",
            "trust_level": "community",
            "allowed_resources": ["/a"],
        },
        "permissions": ["ToolsListAll"],
        "created_at": "2023-11-14T22:15:00Z",
        "last_used_at": "2023-11-14T22:16:00Z",
        "expires_at": "2023-11-14T23:16:00Z",
        "rate_limit_state": {"limited": True, "retry_after_ms": 70},
    }
    assert second["expires_at"] is None
    assert second["rate_limit_state"] == {"limited": False, "retry_after_ms": None}


async def test_whoever_is_no_operator_sees_sessions_of_its_own() -> None:
    assert [one["user_context"]["user_id"] for one in await _seen(ANN)] == ["ann"]
    assert await _seen(Caller("bob")) == []


async def test_a_caller_without_a_name_sees_its_own_session_alone() -> None:
    standing = {one: Standing("http", "", ANONYMOUS, 0.0, 0.0) for one in ("a" * 64, "b" * 64)}
    asked = SessionList(standing, Judged())
    for session, shown in (("b" * 64, ["b" * 12]), ("c" * 64, []), (None, [])):
        call = a_call("method", "", method=METHOD, caller=ANONYMOUS, session=session)
        found = await asked(call, Mute())
        assert isinstance(found, Answer)
        assert [one["session_id"] for one in jsonrpc.decode(found.raw)["sessions"]] == shown


async def test_of_many_sessions_each_is_a_step_and_those_that_end_meanwhile_stop_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever asks may have a thousand of its own, and an operator sees ten thousand."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    asked: list[str] = []

    class Counting:
        def limited(self, door: str, caller: Caller) -> Refusal | None:
            asked.append(door)
            return None

    standing = {f"{one:064}": Standing("http", "", AGENT, 0.0, 0.0) for one in range(20)}
    call = a_call("method", "", method=METHOD, caller=OPERATOR)
    listing = asyncio.ensure_future(SessionList(standing, Counting())(call, Mute()))
    before = 0
    while not listing.done():
        await asyncio.sleep(0)
        assert len(asked) - before <= 1
        before = len(asked)
        if asked and standing:
            standing.popitem()
    found = await listing
    assert isinstance(found, Answer)
    assert len(jsonrpc.decode(found.raw)["sessions"]) == 20
