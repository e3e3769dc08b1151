"""Which messages go straight."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.prepared_house import prepared_house

TELL = "obedient__tell"
USUAL = {"name": TELL, "arguments": {"text": "so"}}


def _message(**more: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": USUAL, **more}
    return json.dumps(message).encode()


async def test_what_is_unusual_is_left_to_the_walk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And nobody's log is filled by it."""
    bodies = [
        _message(method="tools/list"),
        _message(params={**USUAL, "name": 7}),
        _message(params={**USUAL, "name": [TELL]}),
        _message(params={"arguments": {}}),
        _message(params={**USUAL, "_meta": {}}),
        _message(params={**USUAL, "Name": "y"}),
        _message(params=[TELL]),
        _message(trace_id="t"),
        _message(id='"\\'),
        _message(more=1),
        _message(params={**USUAL, "arguments": {"text": "x" * 5000}}),
        b"[]",
        b"no",
    ]
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        served = house.prepared.served
        for body in bodies:
            client.post_raw(body, client.head({}))
            await client.receive()
        assert house.prepared.served == served
        client.close()
    assert not [one for one in caplog.records if one.name == "gatewright.mcp.server"]


async def test_what_is_usual(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        served = house.prepared.served
        for ident in (7, "a", -1, 12345678901234567890):
            client.post_raw(_message(id=ident), client.head({}))
            said = json.loads((await client.receive())[1])
            assert (said["id"], said["result"]["content"][0]["text"]) == (ident, "so")
        assert house.prepared.served == served + 4
        client.close()
