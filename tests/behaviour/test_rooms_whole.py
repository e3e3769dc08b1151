"""Rooms of a gateway as people run it: a file, keys from the command line, the record on the disk."""

from __future__ import annotations

import json
import re
import textwrap
import urllib.request
from pathlib import Path
from typing import Any

from tests.behaviour.gateway import ROOT, Gateway, config, running, server
from tests.rooms.foreign import SECONDS, Guest

SECRET = "what-was-said-between-them"
TOKEN = "the-token-of-ana-0123456789"
ROOMS: dict[str, Any] = {
    "default_profile": "proposal-only",
    "recorded": "all",
    "participants": [{"id": "ana", "token": TOKEN, "profile": "full"}],
    "topics": {"own": {"access": "private", "members": ["ana"]}},
}


def post(url: str, token: str, body: Any) -> Any:
    """One request of an operator."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
        return json.load(answer)


async def test_a_configured_gateway_has_rooms_keys_operators_and_a_record_without_content(
    tmp_path: Path,
) -> None:
    """MCPX-2.2-2, MCPX-7.1-2, MCPX-3.2.1-6, MCPX-11.3-1, MCPX-5.1-2: an agent with a key of the gateway proposes, a person
    with a token of the file carries it out; the record has who and what kinds, linked, and nowhere on the disk stands what
    was said. A key that is revoked ends its connection."""
    with running(tmp_path, config(rooms=ROOMS)) as gateway:
        operator = ("--key", gateway.operator_token)
        key = json.loads(gateway.cli("key", "create", "robot", "--json", *operator))
        ana = await Guest(gateway.urls["rooms"], "ops", TOKEN).connect()
        robot = await Guest(gateway.urls["rooms"], "ops", key["key"]).connect()
        assert (ana.id, robot.id) == ("ana", "robot")
        links = await proposed(ana, robot)
        await ana.chat(SECRET)
        await robot.next("chat")
        base = gateway.url.removesuffix("/mcp")
        changed = post(
            f"{base}/admin/participants/robot/capabilities",
            gateway.operator_token,
            {"add": ["mcp/request:tools/*"]},
        )
        assert changed["newCapabilities"][-1] == "chat"
        assert (await robot.next("system/welcome"))["payload"]["you"]["id"] == "robot"
        told = (await ana.next("system/presence"))["payload"]
        assert (told["event"], told["participant"]["id"]) == ("join", "robot")
        gateway.cli("key", "revoke", key["id"], *operator)
        assert (await robot.over())[0] == 1008
        assert (await ana.next("system/presence"))["payload"]["event"] == "leave"
        await ana.leave()
        check_record(gateway, links)
    files = [one for one in (tmp_path / "state").rglob("*") if one.is_file()]
    assert files
    for words in (SECRET, TOKEN):
        assert [one for one in files if words.encode() in one.read_bytes()] == []


async def proposed(ana: Guest, robot: Guest) -> list[tuple[str, str, str | None]]:
    """One proposes, the other carries it out and is answered: who said which message about which."""
    body = {"method": "tools/call", "params": {"name": "x", "arguments": {"a": SECRET}}}
    proposal = await robot.post("mcp/proposal:tools/call:x", body)
    assert (await ana.next("mcp/proposal:tools/call:x"))["id"] == proposal
    call = {"jsonrpc": "2.0", "id": 1, **body}
    fulfilled = await ana.post("mcp/request:tools/call:x", call, correlation_id=proposal)
    assert (await robot.next("mcp/request:tools/call:x"))["correlation_id"] == proposal
    result = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "said": SECRET}}
    answer = {"to": ["ana"], "correlation_id": fulfilled}
    answered = await robot.post("mcp/response:tools/call:x", result, **answer)
    assert (await ana.next("mcp/response:tools/call:x"))["id"] == answered
    first = ("robot", proposal, None), ("ana", fulfilled, proposal)
    return [*first, ("robot", answered, fulfilled)]


def check_record(gateway: Gateway, links: list[tuple[str, str, str | None]]) -> None:
    """The record has every kind of event, and messages with the ids that link them."""
    named = "dev.gatewright.room."
    told = [one for one in gateway.audit() if one["event_type"].startswith(named)]
    messages = [one for one in told if one["event_type"] == f"{named}message"]
    assert {
        (one["actor"]["id"], one["details"]["id"], one["details"].get("correlation_id"))
        for one in messages
        if one["details"]["kind"] != "chat"
    } == set(links)
    kinds = {one["event_type"].removeprefix(named) for one in told}
    assert kinds == {"joined", "left", "message", "participant.changed"}


async def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    """docs/rooms.md, as it stands, but for the address."""
    (code,) = re.findall(
        r"^```python\n(.*?)^```$",
        (ROOT / "docs" / "rooms.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    rooms = {**ROOMS, "kernel": {"topics": ["deploys"]}}
    with running(tmp_path, config(server("echo"), rooms=rooms)) as gateway:
        address = gateway.urls["rooms"].partition("?")[0]
        assert "ws://127.0.0.1:8420/ws" in code
        placed = textwrap.indent(code.replace("ws://127.0.0.1:8420/ws", address), "    ")
        names: dict[str, Any] = {"token": TOKEN}
        exec(f"async def page():\n{placed}\n    return ana.id, tools", names)  # noqa: S102 - ours
        who, tools = await names["page"]()
    assert who == "ana"
    assert "echo__echo" in {one["name"] for one in tools["tools"]}
