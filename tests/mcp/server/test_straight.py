"""Which messages go straight, and what becomes of those calls whose record fails, or that are cancelled too late."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Unrecorded
from gatewright.mcp.server.straight import LONGEST, _read
from gatewright.mcp.wire.json_bounds import Limits
from tests.prepared_house import prepared_house

TELL = "obedient__tell"


def _message(**more: Any) -> bytes:
    params = {"name": "x", "arguments": {"a": 1}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **more}).encode()  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        _message(method="tools/list"),
        _message(params={"name": 7}),
        _message(params={"name": ["x"]}),
        _message(params={"arguments": {}}),
        _message(params={"name": "x", "_meta": {}}),
        _message(params={"name": "x", "Name": "y"}),
        _message(params=["x"]),
        _message(trace_id="t"),
        _message(id=None),
        _message(id='"\\'),
        _message(more=1, method=2),
        _message(params={"name": "x", "arguments": {"a": "x" * LONGEST}}),
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/call","params":{"name":"x"}}',
        b"[]",
        b"no",
    ],
)
def test_what_is_unusual_is_left_to_the_walk(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """And nobody's log is filled by it."""
    assert _read(body, Limits()) is None
    assert not caplog.records


def test_what_is_usual() -> None:
    for ident in (7, "a", -1):
        read = _read(_message(id=ident), Limits())
        assert read is not None
        assert read[1] == {"name": "x", "arguments": {"a": 1}}


async def test_a_call_whose_end_cannot_be_recorded_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        journal = house.gateway.audit._journal

        def full(bodies: Any) -> int:
            raise Unrecorded("full")

        with monkeypatch.context() as patched:
            patched.setattr(journal, "append_all", full)
            said, prepared = await house.served(client, TELL, "so")
        assert (said, prepared) == ("audit_unavailable", True)
        kernel = house.gateway.kernel
        assert (kernel.in_flight, kernel.running()) == (0, [])
        assert await house.served(client, TELL, "and on") == ("and on", True)
        client.close()


async def test_the_same_of_several_that_end_in_one_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with prepared_house(tmp_path) as house:
        clients = [await house.client() for _ in range(4)]
        for client in clients:
            await house.warm(client)
        journal = house.gateway.audit._journal

        def full(bodies: Any) -> int:
            raise Unrecorded("full")

        params = {"name": TELL, "arguments": {"text": "so"}}
        with monkeypatch.context() as patched:
            patched.setattr(journal, "append_all", full)
            for client in clients:
                client.send({"id": 7, "method": "tools/call", "params": params})
            for client in clients:
                _, body = await client.receive()
                assert b"audit_unavailable" in body
        assert house.gateway.kernel.in_flight == 0
        for client in clients:
            assert await client.text(TELL, "so") == "so"
            client.close()
