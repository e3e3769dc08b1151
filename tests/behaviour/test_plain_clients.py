"""A client that knows the least there is to know: JSON by POST to /mcp or a line on a pipe, no session, plain JSON back.

Facts §3 no. 12, CDM-pai-1 to CDM-pai-4, CDM-con-3: the same client works unchanged with the gateway and with a server of the SDK.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests import fork_server
from tests.behaviour.gateway import COMMAND, DEADLINE, Gateway, config, running
from tests.peers.peers import DRIVERS, listening

SHOP = [sys.executable, str(DRIVERS / "own_server.py"), "shop"]
HELLO = {
    "protocolVersion": "2024-11-05",
    "capabilities": {},
    "clientInfo": {"name": "plain", "version": "0"},
}
Ask = Callable[[str, dict[str, Any]], dict[str, Any]]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of the server."""
    one = {"id": "shop", "command": SHOP[0], "args": SHOP[1:]}
    content = config(one, gateway={"unprefixed": True})
    with running(tmp_path_factory.mktemp("plain"), content) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def alone() -> Iterator[str]:
    """The server by itself, over HTTP."""
    with listening([*SHOP, "--http"]) as ready:
        yield ready.split()[1]


def posting(url: str) -> Ask:
    """The client over HTTP."""

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(  # noqa: S310 - localhost
            url,
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "Accept": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:  # noqa: S310
            assert answer.headers["Content-Type"] == "application/json"
            return dict(json.loads(answer.read()))

    return ask


@contextmanager
def piped(command: list[str]) -> Iterator[Ask]:
    """The client over the pipes of a server that it starts."""
    with fork_server.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        timer = threading.Timer(DEADLINE, process.kill)
        timer.start()
        assert process.stdin is not None
        assert process.stdout is not None
        sink, source = process.stdin, process.stdout
        count = 0

        def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            nonlocal count
            count += 1
            body = {"jsonrpc": "2.0", "id": count, "method": method, "params": params}
            sink.write(json.dumps(body).encode() + b"\n")
            sink.flush()
            while True:
                answer = json.loads(source.readline())
                if answer.get("id") == count:
                    return dict(answer)

        try:
            yield ask
        finally:
            timer.cancel()
            sink.close()
            process.wait(DEADLINE)


def conversed(ask: Ask) -> dict[str, Any]:
    """Hello, tools, a call that works, one that fails, one that cannot be: what came of each."""
    hello = ask("initialize", HELLO)["result"]
    tools = {one["name"]: one for one in ask("tools/list", {})["result"]["tools"]}
    done = ask("tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}})["result"]
    failed = ask("tools/call", {"name": "refuse", "arguments": {}})["result"]
    return {
        "revision": hello["protocolVersion"],
        "wants": tools["add"]["inputSchema"]["required"],
        "done": (done["content"], done.get("isError", False)),
        "failed": (failed["content"][0]["type"], failed["isError"]),
        "no tool": ask("tools/call", {"name": "nothing", "arguments": {}})["error"]["code"],
        "no method": ask("no/method", {})["error"]["code"],
    }


EXPECTED = {
    "revision": "2024-11-05",
    "wants": ["a", "b"],
    "done": ([{"type": "text", "text": "5"}], False),
    "failed": ("text", True),
    "no tool": -32602,
    "no method": -32601,
}


def test_a_plain_program_talks_to_the_gateway_over_http(house: Gateway) -> None:
    assert conversed(posting(house.url)) == EXPECTED


def test_a_plain_program_talks_to_a_server_of_the_sdk_over_http(alone: str) -> None:
    assert conversed(posting(alone)) == EXPECTED


def test_a_plain_program_talks_to_a_server_of_the_sdk_over_pipes() -> None:
    with piped(SHOP) as ask:
        assert conversed(ask) == EXPECTED


def test_a_plain_program_talks_to_the_gateway_over_pipes(house: Gateway) -> None:
    with piped([*COMMAND, "bridge", "--config", str(house.file)]) as ask:
        assert conversed(ask) == EXPECTED
