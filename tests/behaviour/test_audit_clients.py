"""MGP clients that negotiated `audit` hear what is recorded about them, at every door that can push."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "audit"]}}
PUSHING = ("http 2025-11-25", "stdio 2025-11-25", "websocket 2025-11-25", "sse 2024-11-05")
AUDIT = "notifications/mgp.audit"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("audited"), config(server("echo"))) as found:
        yield found


@pytest.mark.parametrize("door", PUSHING)
async def test_a_client_hears_of_its_own_calls(gateway: Gateway, door: str) -> None:
    """MGP-6.3-1 and MGP-6.4-1, as notifications to a client."""
    async with host(gateway, door, can=OFFER) as client, host(gateway, door) as plain:
        await client.request(
            "tools/call",
            {"name": "echo__echo", "arguments": {"message": "m"}, "trace_id": f"trace {door}"},
        )
        note = (await client.note(AUDIT, _executed))["params"]
        assert note["trace_id"] == f"trace {door}"
        assert note["target"] == {"server_id": "echo", "tool_name": "echo"}
        assert note["result"] == "SUCCESS"
        assert note["details"]["duration_ms"] > 0
        await plain.text("echo__echo", message="m")
        assert not [one for one in plain.notes if one.get("method") == AUDIT]


async def test_a_client_without_a_name_hears_of_nobody_elses_calls(gateway: Gateway) -> None:
    async with host(gateway, can=OFFER) as one, host(gateway, can=OFFER) as other:
        await one.text("echo__echo", message="mine")
        await one.note(AUDIT, _executed)
        await other.text("echo__echo", message="theirs")
        await other.note(AUDIT, _executed)
        assert not [note for note in one.notes if note["method"] == AUDIT and _executed(note)]


def _executed(note: dict[str, Any]) -> bool:
    return bool(note["params"]["event_type"] == "TOOL_EXECUTED")
