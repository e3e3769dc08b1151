"""Operators and rooms: what they see, and trust that grows and shrinks while people watch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import aiohttp
import pytest
from websockets.exceptions import InvalidStatus

from gatewright.mcpx.capabilities import PROFILES
from tests.rooms.foreign import SECONDS, Guest
from tests.rooms.hall import FULL, OPERATOR, Hall, token_of
from tests.storage.parts import only_read

READ, CALL = "mcp/request:resources/read", "mcp/request:tools/call"


async def asked(
    hall: Hall, path: str = "", body: Any = None, *, token: str | None = OPERATOR, **more: Any
) -> tuple[int, Any]:
    """Status and answer of one request to the administration."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    limit = aiohttp.ClientTimeout(total=SECONDS)
    method = more.pop("method", "GET" if body is None else "POST")
    raw = {"data": body} if isinstance(body, bytes) else {"json": body}
    async with (
        aiohttp.ClientSession(timeout=limit) as session,
        session.request(
            method,
            hall.server.url + "/admin/participants" + path,
            headers=headers | more,
            **({} if body is None else raw),
        ) as response,
    ):
        return response.status, await response.json()


async def may(guest: Guest, kind: str) -> bool:
    """Whether somebody may send a kind now, by trying."""
    sent = await guest.post(kind, {})
    while (answer := await guest.next()).get("correlation_id") != sent and answer["id"] != sent:
        pass
    return bool(answer["kind"] != "system/error")


async def test_an_operator_gives_and_takes_capabilities_while_the_session_goes_on(
    tmp_path: Path,
) -> None:
    """MCPX-11.3-1, MCPX-5.1-4, MCPX-9.2-1: the answer is that of the text, and the next message is judged by it."""
    async with Hall({"agent-a": ("mcp/proposal:*", "chat"), "b": FULL}, state=tmp_path) as hall:
        a, b = await hall.all("agent-a", "b")
        assert not await may(a, CALL)
        status, answer = await asked(
            hall,
            "/agent-a/capabilities",
            {"add": ["mcp/request:tools/*"], "remove": [], "reason": "did well"},
        )
        at = answer.pop("modifiedAt")
        assert at.endswith("Z")
        assert (status, answer) == (
            200,
            {
                "participantId": "agent-a",
                "oldCapabilities": ["mcp/proposal:*", "chat"],
                "newCapabilities": ["mcp/proposal:*", "mcp/request:tools/*", "chat"],
                "modifiedBy": "boss",
            },
        )
        welcome = await a.next("system/welcome")
        assert welcome["payload"]["you"]["capabilities"] == answer["newCapabilities"]
        assert a.participants == {"b": list(FULL)}
        assert await may(a, CALL)
        heard = await b.fence()
        assert [one["kind"] for one in heard] == ["system/presence", CALL]
        told = {"id": "agent-a", "capabilities": answer["newCapabilities"]}
        assert heard[0]["payload"] == {"event": "join", "participant": told}
        changed = (
            "changed",
            "agent-a",
            *map(tuple, list(answer.values())[1:3]),
            "boss",
            "did well",
        )
        assert changed in hall.notes.lines


async def test_progressive_trust_in_four_steps_without_a_new_connection(tmp_path: Path) -> None:
    """MCPX-4.1-15: at each step what was given, and nothing else."""
    probes = [READ, READ + ":file:///a", CALL, "mcp/request:prompts/get", "mcp/response:x"]
    steps = [
        ({}, []),
        ({"add": [READ]}, probes[:2]),
        ({"add": ["mcp/request:tools/*"]}, probes[:3]),
        (
            {"add": ["mcp/*"], "remove": ["mcp/proposal:*", READ, "mcp/request:tools/*"]},
            probes,
        ),
    ]
    async with Hall({"a": ("mcp/proposal:*", "chat")}, state=tmp_path) as hall:
        a = await hall.guest("a")
        for body, allowed in steps:
            if body:
                assert (await asked(hall, "/a/capabilities", body))[0] == 200
                await a.next("system/welcome")
            found = [one for one in probes if await may(a, one)]
            assert found == allowed
            assert a.capabilities == list(hall.hub.connections("a")[0].capabilities)
        assert a.capabilities == ["mcp/*", "chat"]


async def test_only_operators_may_and_a_stranger_learns_nothing(tmp_path: Path) -> None:
    """MCPX-11.3-2: 401 and 403, 404 for whom nobody knows, and nothing has changed."""
    async with Hall({"a": PROFILES["proposal-only"], "b": FULL}, state=tmp_path) as hall:
        a = await hall.guest("a")
        body = {"add": ["mcp/*"]}
        for path in ("/a/capabilities", "/nobody/capabilities"):
            assert (await asked(hall, path, body, token=None))[0] == 401
            assert (await asked(hall, path, body, token=token_of("a")))[0] == 401
            assert (await asked(hall, path, body, token="key-ann"))[0] == 403
        assert (await asked(hall, "", token="key-ann"))[0] == 403
        assert (await asked(hall, "/nobody/capabilities", body))[0] == 404
        assert (await asked(hall, "/nobody"))[0] == 404
        assert (await asked(hall, "/nobody/routing", {"mode": "all"}))[0] == 404
        assert (await asked(hall, "/b")) == (200, {"participants": []})
        status, said = await asked(hall, "/b/routing", {"mode": "all"})
        assert (status, "in no room now" in said["message"]) == (400, True)
        foreign = await asked(hall, "/a/capabilities", body, Origin="https://evil.example")
        assert foreign[0] == 403
        assert await a.fence() == []
        assert a.capabilities == list(PROFILES["proposal-only"])


@pytest.mark.parametrize(
    "body",
    [
        {"add": ["*"]},
        {"add": ["ch*"]},
        {"add": [""]},
        {"add": "mcp/*"},
        {"adds": ["mcp/*"]},
        {"remove": ["mcp/request:tools/call"]},
        {"add": ["x/y"], "remove": ["x/y"]},
        {"add": [f"x/{number}" for number in range(100)]},
        [],
        b"nonsense",
        b"",
        b"x" * 100_000,
    ],
    ids=lambda one: str(one)[:30],
)
async def test_what_cannot_be_meant_changes_nothing(body: Any, tmp_path: Path) -> None:
    """Taking away a part of what a wider pattern gives would leave it where it was: that is said, not done."""
    async with Hall({"a": ("mcp/*", "chat")}, state=tmp_path) as hall:
        await hall.guest("a")
        status, answer = await asked(hall, "/a/capabilities", body)
        assert (status, answer["error"]) == (400, "invalid_request")
        assert hall.hub.connections()[0].capabilities == ("mcp/*", "chat")


async def test_what_was_taken_does_not_come_back_with_a_new_connection(tmp_path: Path) -> None:
    """MCPX-5.1-4: nor with a new gateway."""
    for again in (False, True):
        async with Hall({"a": FULL}, state=tmp_path) as hall:
            if not again:
                first = await hall.guest("a")
                assert (await asked(hall, "/a/capabilities", {"remove": ["mcp/*"]}))[0] == 200
                await first.next("system/welcome")
                await first.leave()
                await hall.gone()
            assert (await hall.guest("a")).capabilities == ["chat"]


async def test_a_change_that_cannot_be_recorded_or_kept_is_not_made(tmp_path: Path) -> None:
    async with Hall({"a": FULL}, state=tmp_path) as hall:
        await hall.guest("a")
        hall.notes.broken = True
        assert (await asked(hall, "/a/capabilities", {"remove": ["mcp/*"]}))[0] == 503
        hall.notes.broken = False
        only_read(hall.trust._documents._section.state)
        assert (await asked(hall, "/a/capabilities", {"remove": ["mcp/*"]}))[0] == 503
        assert hall.hub.connections()[0].capabilities == FULL


async def test_an_operator_sees_who_is_where() -> None:
    """MCPX-8.1-1, MCPX-2.1-2."""
    async with Hall({"a": FULL, "b/c d": ("chat",)}) as hall:
        await hall.guest("a", "one")
        await hall.guest("a", "two")
        await hall.guest("b/c d", "two")
        status, answer = await asked(hall)
        assert status == 200
        assert [(one["participantId"], one["topic"]) for one in answer["participants"]] == [
            ("a", "one"),
            ("a", "two"),
            ("b/c d", "two"),
        ]
        (one,) = (await asked(hall, "/b%2Fc%20d"))[1]["participants"]
        assert set(one) == {
            "connectionId",
            "participantId",
            "capabilities",
            "connectedAt",
            "topic",
            "mode",
            "echo",
        }
        assert (await asked(hall, "/a/other", {}))[0] == 404
        assert (await asked(hall, "/a", method="DELETE"))[0] == 404


async def test_an_operator_switches_routing() -> None:
    """MCPX-6.3-3, decision C-29: by the administration."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        status, answer = await asked(hall, "/b/routing", {"mode": "directed"})
        assert (status, answer["participants"][0]["mode"]) == (200, "directed")
        await a.chat("1", to=["a"])
        await a.fence()
        assert [one["payload"]["text"] for one in await b.fence()] == ["fence"]
        assert (await asked(hall, "/b/routing", {"mode": "some"}))[0] == 400


async def test_an_operator_puts_somebody_out_at_once_and_keeps_it_out(tmp_path: Path) -> None:
    """The kill switch: every place of a participant, and the door."""
    async with Hall({"a": FULL, "b": FULL}, state=tmp_path) as hall:
        a, b = await hall.all("a", "b")
        status, answer = await asked(hall, "/a/block", {"reason": "misbehaved"})
        assert (status, answer["placesLost"]) == (200, 1)
        assert await a.over() == (1008, "misbehaved")
        assert (await b.next("system/presence"))["payload"]["event"] == "leave"
        with pytest.raises(InvalidStatus, match="403"):
            await hall.guest("a")
        assert (await asked(hall, "/a/unblock", {}))[0] == 200
        assert (await hall.guest("a")).capabilities == list(FULL)
        assert (await asked(hall, "/system:x/block", {}))[0] == 400
