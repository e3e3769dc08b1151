"""Every body under every head is answered alike, whether calls are prepared or all take the walk."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from gatewright.mcp.server.straight import LONGEST
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_VERSION,
)
from gatewright.patterns import Pattern
from tests.prepared_house import RawClient, prepared_house

TELL, OTHER, MODERN = "obedient__tell", "obedient__other", "2026-07-28"
SAID: dict[str, Any] = {
    META_VERSION: MODERN,
    META_CLIENT_INFO: {"name": "raw", "version": "1"},
    META_CLIENT_CAPABILITIES: {},
}
SO = {"text": "so"}


def _body(**more: Any) -> bytes:
    params = {"name": TELL, "arguments": SO, **more.pop("plus", {})}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params, **more}
    return json.dumps({key: one for key, one in message.items() if one != "-"}).encode()


def _meta(**more: Any) -> bytes:
    return _body(plus={"_meta": {key: one for key, one in {**SAID, **more}.items() if one != "-"}})


def _with(**more: Any) -> bytes:
    """Beside what a modern client says of itself."""
    return _body(plus={"_meta": SAID, **more})


def _each(*values: Any) -> tuple[Any, ...]:
    return values


PLAIN, SPOKEN = _body(), _meta()
BODIES: list[bytes] = [
    *(PLAIN, SPOKEN),
    # What a client says of itself.
    *(_meta(progressToken=1), _meta(**{META_LOG_LEVEL: "debug"}), _meta(traceparent="00-x")),
    *(_meta(**{META_CLIENT_INFO: {"name": "else"}}), _meta(**{META_CLIENT_INFO: "-"})),
    *(_meta(**{META_VERSION: one}) for one in ("2025-06-18", "2099-01-01", 7, "-")),
    *(_meta(**{META_CLIENT_CAPABILITIES: one}) for one in _each([], None, "-", {"sampling": {}})),
    *(_body(plus={"_meta": one}) for one in _each(None, {}, [], "so", {"progressToken": 1})),
    SPOKEN.replace(b'"_meta": {', b'"_META": {'),
    SPOKEN.replace(b'"_meta": {', b'"_meta": {}, "_meta": {'),
    SPOKEN[:-2] + b', "_meta": {}}}',
    # Which tool, and how.
    *(_with(name=one) for one in (OTHER, "nobody__tell", 7, None, ["x"], "", TELL.upper())),
    *(_body(plus={"name": one}) for one in (OTHER, 7)),
    *(_with(arguments=one) for one in _each(None, [], {}, {"text": 7}, {"text": "x" * LONGEST})),
    *(_with(more=1), _with(Name=OTHER), _with(task={"ttl": 1}), _with(trace_id="t")),
    _body(plus={"arguments": {"text": META_VERSION}}),
    _body(plus={"arguments": {"_meta": SAID, **SO}}),
    PLAIN.replace(
        b'"arguments"', b'"\\u005fmeta": ' + json.dumps(SAID).encode() + b', "arguments"'
    ),
    *(_with(requestState="x"), _with(inputResponses={}), _with(arguments={"text": META_VERSION})),
    SPOKEN.replace(b'"so"', b'"\\ud800"'),
    SPOKEN.replace(b'"so"', b'"\\u0073o"'),
    SPOKEN.replace(b'"so"}', b'"so", "n": ' + b"[" * 80 + b"]" * 80 + b"}"),
    SPOKEN.replace(b'"name": ', b'"name": "obedient__other", "name": '),
    # Which message.
    *(_body(id=one, plus={"_meta": SAID}) for one in ("a", -1, 1.5, None, "-", True, 10**90)),
    *(_body(id=one) for one in ("a", None, "-")),
    SPOKEN.replace(b'"id": 7', b'"id": "\\u0061"'),
    SPOKEN.replace(b'"id": 7', b'"id": 7, "id": 8'),
    *(_body(method=one, plus={"_meta": SAID}) for one in ("tools/list", "ping", "no/such", 7)),
    *(_body(trace_id="t", plus={"_meta": SAID}), _body(more=1, plus={"_meta": SAID})),
    *(_body(params=one) for one in _each([], None, "-", "x")),
    *(_body(jsonrpc="1.0"), b"[]", b"[" + PLAIN + b"]", b"[" + SPOKEN + b"]", b"no", b"\xff", b" "),
    *(b" " + SPOKEN, b'{"jsonrpc":"2.0","id":7,"result":{}}'),
]


def _modern(*more: str, name: str = TELL, method: str = "tools/call") -> list[str]:
    said = [f"MCP-Protocol-Version: {MODERN}", f"Mcp-Method: {method}"]
    return [*said, *([f"Mcp-Name: {name}"] if name else []), *more]


def _heads(session: str) -> dict[str, list[str]]:
    named = f"MCP-Session-Id: {session}"
    return {
        "a session": [named, "MCP-Protocol-Version: 2025-06-18"],
        "a session of no revision": [named],
        "a session of another revision": [named, "MCP-Protocol-Version: 2025-11-25"],
        "a session of no such revision": [named, "MCP-Protocol-Version: 2099-01-01"],
        "modern": _modern(),
        "modern, and a session": _modern(named),
        "modern, another tool": _modern(name=OTHER),
        "modern, no tool": _modern(name=""),
        "modern, a wrapped name": _modern(
            name=f"=?base64?{base64.b64encode(TELL.encode()).decode()}?="
        ),
        "modern, another method": _modern(method="tools/list"),
        "modern, two names": _modern(f"Mcp-Name: {OTHER}"),
        "modern, an argument": _modern("Mcp-Param-Text: other"),
        "nothing": [],
    }


CHANCE = Pattern(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SERVED = {
    *("a session", "a session of no revision", "a session of another revision"),
    *("modern", "modern, and a session", "modern, an argument"),
}


@pytest.mark.parametrize("head", list(_heads("")))
async def test_every_body_is_answered_alike_under_every_head(tmp_path: Path, head: str) -> None:
    answers = []
    for mode in ("off", "on"):
        folder = tmp_path / mode
        folder.mkdir()
        async with prepared_house(folder) as house:
            house.prepared.mode = mode
            client = await house.client()
            said = _heads(client.session)[head]
            answers.append(await _answers(house.port, said))
            assert (house.prepared.served > len(BODIES)) is (mode == "on" and head in SERVED)
            assert house.gateway.kernel.in_flight == 0
            client.close()
    for at, body in enumerate(BODIES):
        assert answers[0][at] == answers[1][at], body


async def _answers(port: int, head: list[str]) -> list[Any]:
    usual = SPOKEN if f"MCP-Protocol-Version: {MODERN}" in head else PLAIN
    found = []
    client = await _connected(port)
    for body in [usual] * 4 + BODIES:
        said = []
        # What came before is forgotten by nobody: the usual call, twice, is as it was.
        for one in (usual, usual, body, usual):
            client.post_raw(one, head)
            try:
                headers, answer = await asyncio.wait_for(client.receive(), 10)
            except asyncio.IncompleteReadError:
                headers, answer = {"status": "none"}, b""
            said.append((headers["status"], CHANCE.sub("", answer.decode())))
            if headers["status"] in ("", "none") or headers.get("connection") == "close":
                client.close()
                client = await _connected(port)
        found.append(said)
    client.close()
    return found[4:]


async def _connected(port: int) -> RawClient:
    client = RawClient(port)
    client.reader, client.writer = await asyncio.open_connection("127.0.0.1", port)
    return client
