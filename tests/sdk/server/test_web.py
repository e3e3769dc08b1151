"""The server on HTTP: who is kept out, and what a plain program without any session gets."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.sdk.client.scripted import within
from tests.sdk.server.made import made


async def post(url: str, body: Any, path: str = "/mcp", **headers: str) -> tuple[int, Any]:
    """One POST as any program makes it; status and JSON body."""
    host, port = url.removeprefix("http://").partition("/")[0].split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    text = json.dumps(body).encode()
    lines = {"host": f"{host}:{port}", "content-length": str(len(text)), **headers}
    head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines.items())
    writer.write(head.encode() + b"connection: close\r\n\r\n" + text)
    answer = await within(reader.read())
    writer.close()
    start, _, found = answer.partition(b"\r\n\r\n")
    status = int(start.split()[1])
    return status, json.loads(found) if found[:1] == b"{" else found


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/mcp", {"host": "evil.example"}, 403),
        ("/mcp", {"origin": "http://evil.example"}, 403),
        ("/other", {}, 404),
        ("/mcp", {"content-type": "text/plain"}, 415),
    ],
)
async def test_foreign_pages_and_wrong_paths_are_kept_out(
    path: str, headers: dict[str, str], status: int
) -> None:
    served = await made().serve_http()
    try:
        found, _ = await post(served.url, {"jsonrpc": "2.0"}, path, **headers)
        assert found == status
    finally:
        await served.stop()


async def test_a_plain_program_gets_plain_json_without_a_session() -> None:
    """Facts §3 no. 12: JSON in, JSON out."""
    served = await made().serve_http()
    call = {"name": "add", "arguments": {"a": 1, "b": 2}}
    try:
        status, answer = await post(
            served.url,
            {"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": call},
            accept="application/json",
            **{"content-type": "application/json"},
        )
    finally:
        await served.stop()
    assert status == 200
    assert answer["id"] == "x"
    assert answer["result"]["structuredContent"] == {"result": 3}
