"""Every decision that a caller has seen is in the record, also after kill -9."""

from __future__ import annotations

import asyncio
import json
import mmap
import os
import random
import sys
import uuid
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.behaviour.gateway import Gateway, config, running, server

ROUNDS = int(os.environ.get("GATEWRIGHT_KILLS", "20"))
"""So often the gateway is killed; 200 times where there is a night for it."""
CALLERS = 16
START_S = 2.0
"""So much processor time at most until the gateway serves, also on what was left of the one before."""
pytestmark = pytest.mark.timeout(60 + 20 * ROUNDS)

WORKER = """
import json, os, sys
ran = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, ident = asked["method"], asked.get("id")
    if method == "initialize":
        send(id=ident, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "worker", "version": "1"}})
    elif method == "tools/list":
        send(id=ident, result={"tools": [{"name": "work", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        os.write(ran, asked["params"]["arguments"]["trace"].encode() + b"\\n")
        send(id=ident, result={"content": [{"type": "text", "text": "done"}]})
    elif ident is not None:
        send(id=ident, error={"code": -32601, "message": "Method not found"})
"""
"""Its calls have an effect, of which it keeps a journal of its own."""


async def _load(gateway: Gateway, seconds: float) -> list[str]:
    """Call until the gateway is gone; it is killed after so long. The traces of all calls that were answered."""
    answered: list[str] = []

    async def caller(http: aiohttp.ClientSession) -> None:
        while True:
            trace = str(uuid.uuid4())
            params = {"name": "worker__work", "arguments": {"trace": trace}, "trace_id": trace}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            try:
                async with http.post(gateway.url, json=body) as answer:
                    result = (await answer.json())["result"]
            except (aiohttp.ClientError, json.JSONDecodeError, ConnectionError):
                return
            assert result["content"][0]["text"] == "done"
            answered.append(trace)

    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as http:
        asyncio.get_running_loop().call_later(seconds, gateway.process.kill)
        await asyncio.wait_for(asyncio.gather(*(caller(http) for _ in range(CALLERS))), 60)
    return answered


def _cpu_s(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _traces(records: list[dict[str, Any]]) -> set[str]:
    return {one["trace_id"] for one in records}


async def test_no_answered_call_is_missing_after_kill_9(tmp_path: Path) -> None:
    """Fault test 1: killed at random moments under load, on one and the same store. No acknowledged call lacks its record,
    no executed one its end or its intent, no record is torn but between two pages, and the next gateway serves within two seconds of processor time.

    Of the starts on what was left the quickest has to keep to that: it is the one in which the machine had the least else to do.
    """
    rng = random.Random(20)
    (tmp_path / "worker.py").write_text(WORKER)
    ran = tmp_path / "ran"
    arguments = [str(tmp_path / "worker.py"), str(ran)]
    content = config({"id": "worker", "command": sys.executable, "args": arguments})
    answered: list[str] = []
    starts: list[float] = []
    for _ in range(ROUNDS):
        with running(tmp_path, content) as gateway:
            starts.append(_cpu_s(gateway.pid))
            answered += await _load(gateway, rng.uniform(0.0, 0.3))
            assert gateway.process.wait(20) == -9
    assert min(starts[1:]) <= START_S
    assert len(answered) > ROUNDS
    with running(tmp_path, content) as gateway:
        executed, intents = (
            _traces(gateway.audit("--event", kind))
            for kind in ("TOOL_EXECUTED", "dev.gatewright.intent")
        )
        assert set(answered) - executed == set()
        assert set(ran.read_text().split()) - executed - intents == set()
        assert executed <= set(ran.read_text().split())
        # A write of several records is cut by the signal between two pages at most, before anybody was answered for them.
        torn = [one["details"] for one in gateway.audit("--event", "dev.gatewright.audit.torn")]
        assert [one for one in torn if (one["offset"] + one["bytes"]) % mmap.PAGESIZE] == []
        assert "ok" in gateway.cli("audit", "verify", timeout=120)


async def test_a_call_that_dies_with_the_gateway_is_pending_before_and_after_the_next_start(
    tmp_path: Path,
) -> None:
    """Shown while it runs, after kill -9 to whoever reads the folder, and in the chain from the next start on."""
    content = config(server("asker"))
    trace = str(uuid.uuid4())
    params = {"name": "asker__slow", "arguments": {"seconds": 60}, "trace_id": trace}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}

    def outcomes(gateway: Gateway) -> list[str]:
        return [record["outcome"] for record in gateway.audit("--trace", trace)]

    with running(tmp_path, content) as gateway:
        async with aiohttp.ClientSession() as http:
            call = asyncio.ensure_future(http.post(gateway.url, json=body))
            async with asyncio.timeout(30):
                while not await asyncio.to_thread(outcomes, gateway):
                    assert not call.done()
            assert outcomes(gateway) == ["pending"]
            gateway.process.kill()
            with pytest.raises(aiohttp.ClientError):
                await call
        assert gateway.process.wait(20) == -9
        assert outcomes(gateway) == ["pending"]
    with running(tmp_path, content) as gateway:
        assert outcomes(gateway) == ["pending"]
        assert "ok" in gateway.cli("audit", "verify")
