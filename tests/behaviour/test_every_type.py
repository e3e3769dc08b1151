"""Every member of a handshake, of an envelope and of what goes with each request, as every type of JSON: a named answer, never "internal"."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from tests.behaviour.gateway import Gateway, config, running, server

META = "io.modelcontextprotocol/"
OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security"], "x": 1}}
WHO = {
    "name": "n",
    "title": "t",
    "version": "1",
    "websiteUrl": "u",
    "icons": [{"src": "s", "sizes": ["1x1"]}],
}
OWN = {
    f"{META}protocolVersion": "2026-07-28",
    f"{META}clientInfo": WHO,
    f"{META}clientCapabilities": {"elicitation": {"form": {}}, **OFFER},
    f"{META}logLevel": "info",
    "progressToken": "p",
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}, **OFFER},
    "clientInfo": WHO,
    "_meta": {"progressToken": 1},
    "trace_id": "t",
}
ECHO = {"name": "echo__echo", "arguments": {"message": "m"}, "task": {"ttl": 1000}}
LEGACY = [
    ("initialize", INITIALIZE),
    ("ping", {"_meta": {"progressToken": 1}}),
    ("logging/setLevel", {"level": "info"}),
    ("tools/list", {"cursor": "c", "_meta": {"x": 1}}),
    ("tools/call", {**ECHO, "_meta": {"progressToken": "p"}}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "n"}, "argument": {"name": "a", "value": "v"}},
    ),
    ("tasks/get", {"taskId": "x"}),
    ("resources/subscribe", {"uri": "a://b"}),
]
MODERN = [
    ("server/discover", {"_meta": OWN}),
    ("tools/list", {"_meta": OWN}),
    ("tools/call", {**ECHO, "inputResponses": {"q": {}}, "requestState": "s", "_meta": OWN}),
    (
        "subscriptions/listen",
        {"notifications": {"toolsListChanged": True, "resourceSubscriptions": []}, "_meta": OWN},
    ),
]
TYPES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\u202e\x00",
    "x" * 5000,
    [],
    [1, "a"],
    [[{}]],
    {},
    {"a": [1]},
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("types"), config(server("echo"))) as gateway:
        yield gateway


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, one in inner:
        yield from paths(one, (*path, key))


def variants(method: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    whole = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    for path in paths(whole):
        for value in TYPES:
            changed = copy.deepcopy(whole)
            inner: Any = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            yield changed


def broke(answer: str) -> bool:
    said = answer.lower()
    return "internal" in said or "-32603" in said or '"code":5000' in said


async def posted(
    http: aiohttp.ClientSession, url: str, message: Any, headers: dict[str, str]
) -> str:
    """What comes back, or its beginning where it is a stream that stays open."""
    body = json.dumps(message)
    async with http.post(url, data=body, headers=headers) as answer:
        if answer.status >= 500:
            return f"internal: HTTP {answer.status}"
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return (await answer.content.readany()).decode()
        return await answer.text()


BOTH = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.mark.parametrize(
    ("method", "params"), [*LEGACY, *MODERN], ids=lambda one: one if isinstance(one, str) else ""
)
@pytest.mark.parametrize("door", ["mcp", "rpc"])
async def test_over_http_every_member_of_every_type_has_a_named_answer(
    plain: Gateway, door: str, method: str, params: dict[str, Any]
) -> None:
    url = plain.urls["mcp"].replace("/mcp", f"/{door}")
    headers = dict(BOTH)
    if "_meta" in params and params["_meta"] is OWN:
        headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
        headers |= {"mcp-name": params["name"]} if "name" in params else {}
    flaws = []
    asked = 0
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(20)) as http:
        for message in variants(method, params):
            asked += 1
            if broke(said := await posted(http, url, message, headers)):
                flaws.append((message, said[:300]))
    assert not flaws
    assert asked > len(TYPES)


@pytest.mark.parametrize(
    ("method", "params"), [*LEGACY, *MODERN], ids=lambda one: one if isinstance(one, str) else ""
)
async def test_over_a_websocket_every_member_of_every_type_has_a_named_answer(
    plain: Gateway, method: str, params: dict[str, Any]
) -> None:
    """A connection for each, since one shakes hands once; stdio and HTTP+SSE read with the same code."""
    flaws = []
    asked = 0
    async with aiohttp.ClientSession() as http:
        for message in variants(method, params):
            asked += 1
            async with http.ws_connect(plain.urls["mcp"], protocols=("mcp",)) as socket:
                await socket.send_str(json.dumps(message))
                await socket.send_str('{"jsonrpc":"2.0","id":"last","method":"ping"}')
                async with asyncio.timeout(20):
                    while True:
                        said = await socket.receive()
                        text = said.data if said.type is aiohttp.WSMsgType.TEXT else str(said)
                        if broke(text):
                            flaws.append((message, text[:300]))
                        if '"last"' in text or said.type is not aiohttp.WSMsgType.TEXT:
                            break
    assert not flaws
    assert asked > len(TYPES)
