"""A gateway on loopback behind a reverse proxy: nobody but its operators hears of the folders of its machine, at no door."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import EVERY_DOOR, RpcError, host
from tests.behaviour.test_task_handles import keys

PASSED_ON = {"x-forwarded-for": "203.0.113.9"}
CALL = {"name": "echo__echo", "arguments": {"message": "m"}}
RPC = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}
PATHS = (
    ("GET", "/sse"),
    ("GET", "/metrics"),
    ("GET", "/readyz"),
    ("GET", "/nowhere"),
    ("GET", "/approvals/x"),
    ("GET", "/tools"),
    ("GET", "/openapi.json"),
    ("POST", "/mcp"),
    ("POST", "/rpc"),
    ("POST", "/messages?session_id=x"),
    ("POST", "/tools/echo__echo"),
    ("POST", "/tools/closed__echo"),
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("proxied")
    content = config(
        server("echo"),
        server("echo", "closed"),
        grants=[{"agent": "*", "server": "echo"}],
        gateway={"anonymous": "deny", "allowed_hosts": ["gateway.example"]},
    )
    with running(folder, content) as found:
        yield found


@pytest.mark.parametrize("credential", ["none", "wrong", "good"])
@pytest.mark.parametrize("more", [PASSED_ON, {"host": "gateway.example"}, {"via": "1.1 x"}])
async def test_no_answer_has_a_folder_in_it(
    gateway: Gateway, credential: str, more: dict[str, str]
) -> None:
    headers = dict(more)
    if credential == "good":
        headers |= keys(gateway.folder, "ann")[0]
    elif credential == "wrong":
        headers["authorization"] = f"Bearer gwk_{int(time.time())}_wrong"
    base = gateway.url.removesuffix("/mcp")
    seen = 0
    async with aiohttp.ClientSession(headers=headers) as http:
        for method, path in PATHS:
            body: dict[str, Any] = {} if method == "GET" else {"json": RPC}
            async with http.request(method, base + path, **body) as answer:
                text = str(answer.headers) if path == "/sse" else await answer.text()
                seen += answer.status == 401
                assert str(gateway.folder) not in text + str(answer.headers), (path, text)
    assert seen > 3 or credential == "good"


@pytest.mark.parametrize("door", [one for one in EVERY_DOOR if not one.startswith("stdio")])
@pytest.mark.parametrize("who", ["passed on", "near", "operator"])
async def test_a_caller_hears_of_folders_where_it_is_at_this_machine(
    gateway: Gateway, door: str, who: str
) -> None:
    headers = dict(PASSED_ON if who != "near" else {})
    (ann,) = keys(gateway.folder, "ann")
    operator = {"authorization": f"Bearer {gateway.operator_token}"}
    headers |= operator if who == "operator" else ann
    async with host(gateway, door, headers=headers) as client:
        try:
            said = json.dumps(await client.call("closed__echo", message="m"))
        except RpcError as no:
            said = str(no)
    assert "grant add" in said or who == "operator"
    assert (str(gateway.folder) in said) == (who == "near") or who == "operator", said


async def test_who_is_at_this_machine_is_told_a_command_that_works(gateway: Gateway) -> None:
    async with aiohttp.ClientSession() as http, http.post(gateway.url, json=RPC) as answer:
        assert str(gateway.folder) in await answer.text()
