"""Every decision that a caller has seen is in the record, also after kill -9."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from pathlib import Path

import aiohttp
import pytest

from tests.behaviour.gateway import Gateway, config, running, server

pytestmark = pytest.mark.timeout(400)
ROUNDS = 20
CALLERS = 16


async def load(gateway: Gateway, kill_after: int) -> list[str]:
    """Call until the gateway is gone; it is killed at the answer with this number. The traces of
    all calls that were answered."""
    answered: list[str] = []

    async def caller(http: aiohttp.ClientSession) -> None:
        while True:
            trace = str(uuid.uuid4())
            params = {
                "name": "asker__structured",
                "arguments": {"a": 1, "b": 2},
                "trace_id": trace,
            }
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            try:
                async with http.post(gateway.url, json=body) as answer:
                    result = (await answer.json())["result"]
            except (aiohttp.ClientError, json.JSONDecodeError, ConnectionError):
                return
            assert result["structuredContent"] == {"sum": 3}
            answered.append(trace)
            if len(answered) == kill_after:
                gateway.process.kill()

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as http:
        await asyncio.wait_for(asyncio.gather(*(caller(http) for _ in range(CALLERS))), 60)
    return answered


async def test_no_answered_call_is_missing_after_kill_9(tmp_path: Path) -> None:
    """Twenty rounds, killed at twenty random moments under load, on one and the same store."""
    rng = random.Random(20)
    answered: list[str] = []
    content = config(server("asker"))
    last: Gateway | None = None
    for _ in range(ROUNDS):
        with running(tmp_path, content) as gateway:
            answered += await load(gateway, rng.randint(1, 800))
            assert gateway.process.wait(20) == -9
            last = gateway
    assert last is not None
    assert len(answered) > ROUNDS
    kept = {
        record["trace_id"]
        for record in map(
            json.loads,
            last.cli("audit", "query", "--json", "--limit", "1000000", timeout=120).splitlines(),
        )
        if record["event_type"] == "TOOL_EXECUTED"
    }
    assert set(answered) - kept == set()
    assert "ok" in last.cli("audit", "verify", timeout=120)
