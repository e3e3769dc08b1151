"""What a server says outside any call, and what it asks in the middle of one: nobody is told a secret."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import config, running
from tests.behaviour.hosts import host

SERVER = """
import json, sys, threading
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, ident = asked["method"], asked.get("id")
    if method == "initialize":
        send(id=ident, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "logging": {}},
                               "serverInfo": {"name": "late", "version": "1"}})
    elif method == "tools/list":
        send(id=ident, result={"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in ("later", "ask")]})
    elif method == "tools/call" and asked["params"]["name"] == "later":
        text = asked["params"]["arguments"]["text"]
        send(id=ident, result={"content": []})
        threading.Timer(0.3, lambda: send(method="notifications/message", params={"level": "error", "data": text})).start()
    elif method == "tools/call":
        held = ident
        text = asked["params"]["arguments"]["text"]
        send(id="q", method="elicitation/create", params={"message": text, "mode": "form", "requestedSchema": {"type": "object", "properties": {}}})
    elif ident == "q":
        send(id=held, result={"content": []})
    elif method == "logging/setLevel":
        send(id=ident, result={})
    elif ident is not None:
        send(id=ident, error={"code": -32601, "message": "no"})
""".replace('method, ident = asked["method"]', 'method, ident = asked.get("method")')

TOKEN = "gh" + "p_" + "a8Kd93mQz7Lw2Xc5Vb1Nf4Jh6Tg0Ry8Ue3Wq"


@pytest.mark.parametrize("door", ["http 2025-11-25", "stdio 2025-11-25", "websocket 2025-11-25"])
async def test_no_secret_comes_in_what_is_said_outside_calls_and_asked_in_them(
    tmp_path: Path, door: str
) -> None:
    """GRH-out-1"""
    (tmp_path / "late.py").write_text(SERVER)
    configured = config(
        {"id": "late", "command": sys.executable, "args": [str(tmp_path / "late.py")]}
    )
    asked: list[dict[str, Any]] = []

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {}}

    can: dict[str, Any] = {"elicitation": {}}
    with running(tmp_path, configured) as gateway:
        async with host(gateway, door, answer=answer, can=can) as client:
            await client.request("logging/setLevel", {"level": "debug"})
            await client.call("late__later", text=f"found {TOKEN} here")
            note = await client.note("notifications/message")
            assert note["params"]["data"].startswith("found [REDACTED:github-token:")
            await client.call("late__ask", text=f"found {TOKEN} here")
            assert asked[0]["message"].startswith(
                'Server "late" asks: found [REDACTED:github-token:'
            )
            if not door.startswith("stdio"):  # that gateway is another one
                gateway.reload({**configured, "redaction": {"level": "off"}})
                await client.call("late__later", text=TOKEN)
                told = await client.note("notifications/message", lambda one: TOKEN in str(one))
                assert told["params"]["data"] == TOKEN
