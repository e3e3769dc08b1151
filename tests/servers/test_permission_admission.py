"""Between hello and being a server of ours: what is asked, who is told, what holds a connection up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from gatewright.call import CannotAsk, Mgp
from gatewright.mcp.client.link import LinkClosed, ServerFailed
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire.permissions import Value
from gatewright.servers.permission_admission import (
    Admission,
    NotPermitted,
    Standing,
    decision,
    request_of,
)
from gatewright.servers.spec import ServerSpec
from tests.servers.rig import within

SPOKEN = Mgp("0.2.0", ("security",))


class Permits:
    """Says what the test says."""

    def __init__(self, *, hold_s: float = 0.0, **values: Value) -> None:
        self.values = {name.replace("_", "."): value for name, value in values.items()}
        self.hold_s = hold_s
        self.names: list[str] = []
        self._turn: asyncio.Future[None] | None = None

    def declared(self, server: str, permissions: Sequence[str]) -> Mapping[str, Standing]:
        return {name: Standing(self.values.get(name, "deferred"), "olga") for name in permissions}

    asked = declared

    def of(self, server: str) -> Mapping[str, Standing]:
        return {}

    def named(self, server: str, ident: str) -> None:
        self.names.append(ident)

    def turn(self) -> asyncio.Future[None]:
        if self._turn is None:
            self._turn = asyncio.get_running_loop().create_future()
        return self._turn

    def say(self, name: str, value: Value) -> None:
        self.values[name] = value
        turn, self._turn = self.turn(), None
        turn.set_result(None)


class FakeLink:
    """A connection that has said hello, and records what it is told."""

    def __init__(self, *needs: str, mgp: Mgp | None = SPOKEN) -> None:
        self.hello = Hello("2025-11-25", mgp=mgp, permissions=needs)
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.closed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def fetch(self, method: str, params: dict[str, Any], timeout_s: float) -> bytes:
        self.told.append((method, params))
        raise ServerFailed("what it answers is not looked at")

    async def wait_closed(self) -> str:
        return await asyncio.shield(self.closed)


class Holding:
    """Records for what a connection is held up."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.held = asyncio.Event()

    @contextmanager
    def __call__(self, reason: str) -> Iterator[None]:
        self.reasons.append(reason)
        self.held.set()
        yield


def admission(permits: Permits, **spec: Any) -> Admission:
    found = ServerSpec(id="files", **spec)
    return Admission(lambda: found, permits)


async def test_a_server_that_needs_nothing_is_not_held_up() -> None:
    link, hold = FakeLink(), Holding()
    await admission(Permits()).admit(link, hold)  # type: ignore[arg-type]
    assert (link.told, hold.reasons) == ([], [])


async def test_a_server_waits_until_all_is_approved_and_was_told_so_once() -> None:
    """MGP-3.4-1 and MGP-3.5-1"""
    permits, link, hold = Permits(memory_read="approved"), FakeLink("camera", "shell"), Holding()
    admitting = asyncio.ensure_future(admission(permits).admit(link, hold))  # type: ignore[arg-type]
    await within(hold.held.wait())
    permits.say("camera", "approved")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not admitting.done()
    permits.say("shell.execute", "approved")
    await within(admitting)
    assert link.told == [
        (
            "mgp/permission/request",
            {
                "request_id": "files-1",
                "permissions": ["camera", "shell.execute"],
                "policy": "interactive",
                "message": "Waiting for operator approval",
            },
        )
    ]
    assert permits.names == ["files-1"]
    assert "camera, shell.execute" in hold.reasons[0]


async def test_a_denied_permission_ends_the_start() -> None:
    """MGP-3.4-2: at once, and also after a wait."""
    with pytest.raises(NotPermitted, match="camera, which was denied"):
        await admission(Permits(camera="denied")).admit(FakeLink("camera"), Holding())  # type: ignore[arg-type]
    permits, hold = Permits(), Holding()
    admitting = asyncio.ensure_future(admission(permits).admit(FakeLink("camera"), hold))  # type: ignore[arg-type]
    await within(hold.held.wait())
    permits.say("camera", "denied")
    with pytest.raises(NotPermitted):
        await within(admitting)


async def test_a_server_that_goes_away_while_it_waits_is_gone() -> None:
    link, hold = FakeLink("camera"), Holding()
    admitting = asyncio.ensure_future(admission(Permits()).admit(link, hold))  # type: ignore[arg-type]
    await within(hold.held.wait())
    link.closed.set_result("it exited")
    with pytest.raises(LinkClosed, match="it exited"):
        await within(admitting)


async def test_who_does_with_less_is_told_and_goes_on() -> None:
    """MGP-3.6-3 and MGP-3.6-4"""
    link, hold = FakeLink("camera", "shell"), Holding()
    permits = Permits(shell_execute="denied")
    await admission(permits, degrades=True).admit(link, hold)  # type: ignore[arg-type]
    assert hold.reasons == []
    await asyncio.sleep(0)
    assert [params["permissions"] for _, params in link.told] == [["camera"]]


async def test_who_did_not_agree_on_security_is_told_nothing_and_waits_all_the_same() -> None:
    """Decision C-13"""
    link, hold = FakeLink("camera", mgp=None), Holding()
    admitting = asyncio.ensure_future(admission(Permits()).admit(link, hold))  # type: ignore[arg-type]
    await within(hold.held.wait())
    assert link.told == []
    admitting.cancel()


async def test_what_is_no_permission_keeps_its_server_out() -> None:
    with pytest.raises(NotPermitted, match="no permission"):
        await admission(Permits()).admit(FakeLink("a\nb"), Holding())  # type: ignore[arg-type]


SEED = {
    "request_id": "perm-001",
    "permissions": ["shell.execute", "filesystem.read"],
    "policy": "interactive",
    "message": "Waiting for operator approval",
}


async def test_a_server_that_asks_gets_the_body_of_the_specification() -> None:
    """MGP-3.6-1"""
    permits = Permits(shell_execute="approved", filesystem_read="approved")
    assert await admission(permits).answer(FakeLink(), SEED) == {  # type: ignore[arg-type]
        "request_id": "perm-001",
        "grants": {"shell.execute": "approved", "filesystem.read": "approved"},
        "approved_by": "olga",
        "expires_at": None,
    }


async def test_an_answer_waits_for_an_operator_and_not_for_ever() -> None:
    """MGP-3.6-4: `deferred` is what a server hears that asks again later."""
    permits = Permits(hold_s=20.0, filesystem_read="approved")
    asking = asyncio.ensure_future(admission(permits).answer(FakeLink(), SEED))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    permits.say("shell.execute", "denied")
    assert (await within(asking))["grants"]["shell.execute"] == "denied"
    found = await admission(Permits()).answer(FakeLink(), SEED)  # type: ignore[arg-type]
    assert set(found["grants"].values()) == {"deferred"}


async def test_who_did_not_agree_on_security_cannot_ask() -> None:
    with pytest.raises(CannotAsk) as caught:
        await admission(Permits()).answer(FakeLink(mgp=None), SEED)  # type: ignore[arg-type]
    assert caught.value.code == -32601


@pytest.mark.parametrize(
    "bad",
    [
        None,
        {},
        {**SEED, "request_id": 1},
        {**SEED, "request_id": "x" * 257},
        {**SEED, "permissions": []},
        {**SEED, "permissions": "camera"},
        {**SEED, "permissions": [1]},
        {**SEED, "permissions": ["a\nb"]},
    ],
)
async def test_a_request_that_is_none_is_named(bad: Any) -> None:
    """MGP-3.5-1"""
    assert isinstance(request_of(bad), str)
    with pytest.raises(CannotAsk) as caught:
        await admission(Permits()).answer(FakeLink(), bad)  # type: ignore[arg-type]
    assert caught.value.code == -32602


def test_a_decision_ends_with_the_first_of_its_permissions() -> None:
    """MGP-3.6-1 and MGP-3.6-5"""
    one, other = Standing("approved", "ann", 1772323200.0), Standing("approved", "bob", 1e10)
    found = decision("r", {"camera": one, "shell.execute": other})
    assert found["expires_at"] == "2026-03-01T00:00:00Z"
    assert found["approved_by"] == "ann, bob"
