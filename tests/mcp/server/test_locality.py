"""Who is at this machine, and what others hear."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Answer, Call, Caller, Client, Failure, Outcome, Refusal
from gatewright.command_text import Typed, heard_elsewhere, to_type, typed_as
from gatewright.mcp.server.locality import is_near, is_passed_on, told, worded

HOST = {b"host": b"127.0.0.1:8420"}
OWN = Typed("/opt/bin/gatewright", "GATEWRIGHT_STATE=/srv/state ", "/srv/mgp.toml")


@pytest.mark.parametrize(
    "more",
    [
        {b"forwarded": b"for=1.2.3.4"},
        {b"x-forwarded-for": b"127.0.0.1"},
        {b"x-forwarded-proto": b"https"},
        {b"via": b"1.1 proxy"},
        {b"x-real-ip": b"10.0.0.1"},
        {b"host": b"gateway.example"},
        {b"host": b"192.168.0.2:8420"},
        {b"host": b"localhost.example"},
        {b"host": b""},
    ],
)
def test_what_was_passed_on_is_of_somebody_elsewhere(more: dict[bytes, bytes]) -> None:
    assert is_passed_on({**HOST, **more})
    assert not is_near({"client": ("127.0.0.1", 1)}, passed_on=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1", "[::1]:8420", "a.localhost", "[::1]"])
@pytest.mark.parametrize("peer", ["127.0.0.1", "127.9.9.9", "::1"])
def test_a_program_of_this_machine_is_near(host: str, peer: str) -> None:
    assert not is_passed_on({b"host": host.encode(), b"user-agent": b"x"})
    assert is_near({"client": (peer, 1)}, passed_on=False)


@pytest.mark.parametrize("client", [None, ("10.0.0.1", 1), ("fe80::1%eth0", 1), ("unix", None)])
def test_every_other_peer_is_not(client: Any) -> None:
    assert not is_near({"client": client}, passed_on=False)
    assert not is_near({}, passed_on=False)


@pytest.mark.parametrize(
    ("caller", "shown"),
    [
        (Caller("root", "operator"), OWN.shown("approve")),
        (Caller("ann"), "gatewright approve"),
        (Refusal("auth_failed", "no"), "gatewright approve"),
    ],
)
async def test_operators_alone_hear_of_folders(caller: Any, shown: str) -> None:
    typed_as(OWN)
    heard: list[str] = []

    async def serve() -> None:
        heard.append(to_type("approve"))

    await told(serve, caller)
    assert [*heard, to_type("approve")] == [shown, OWN.shown("approve")]


class Inner:
    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    async def walk(self, call: Call, back: Any) -> Outcome:
        return self._outcome


@pytest.mark.parametrize("kind", [Refusal, Failure])
async def test_a_refusal_that_was_worded_before_has_no_folders_either(kind: Any) -> None:
    typed_as(OWN)
    said = f"it waits: `{to_type('approve ap_1')}` or `{to_type('server enable a')}`"
    call = Call(
        id="1",
        door="test",
        kind="tool",
        method="tools/call",
        name="a",
        params={},
        caller=Caller("ann"),
        client=Client("2025-11-25"),
        trace_id="t",
    )
    mute: Any = None
    inner = Inner(kind("pending", said, {"a": 1}))
    assert await worded(call, mute, inner.walk) == kind("pending", said, {"a": 1})
    with heard_elsewhere():
        heard = await worded(call, mute, inner.walk)
        assert heard == kind(
            "pending",
            "it waits: `gatewright approve ap_1` or `gatewright server enable a`",
            {"a": 1},
        )
        answer = Answer(b'{"x":"/srv/state"}')
        assert await worded(call, mute, Inner(answer).walk) is answer
