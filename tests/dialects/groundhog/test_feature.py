"""The Groundhog side put together, in a gateway of this process."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest

from gatewright.app.gateway import Gateway
from gatewright.call import SHIPPED, Answer, Call, Caller, Client, Target, Tool, Unrecorded
from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.dialects.groundhog import feature
from gatewright.dialects.groundhog.feature import Slow
from gatewright.listeners import Signal
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.listing import Listing
from gatewright.servers.spec import ServerSpec
from gatewright.telemetry.metrics import CallCounts
from gatewright.transport.connection_limits import Seats
from gatewright.transport.http_server import CannotListen
from tests.transport.authority import Authority

SECONDS = 20.0
LIST = {"jsonrpc": "2.0", "id": "1", "method": "tools/list", "params": {}}


@asynccontextmanager
async def gateway(folder: Path, text: str) -> AsyncIterator[tuple[Gateway, dict[str, str]]]:
    """A gateway and the URLs of its protocol's own listener."""
    settings = build([parse(text, folder / "mgp.toml")], {}, folder / "state")
    async with Gateway(settings) as found, AsyncExitStack() as listening:
        urls = await found._listen(listening, Seats())
        try:
            yield found, urls
        finally:
            found.app.farewell()


def transport(**said: Any) -> str:
    lines = {"port": 0, **said}
    tls = lines.pop("tls", None)
    text = "[mcp.protocol.transport]\n" + "".join(
        f"{key} = {json.dumps(value)}\n" for key, value in lines.items()
    )
    if tls is not None:
        text += "[mcp.protocol.transport.tls]\n" + "".join(
            f"{key} = {json.dumps(value)}\n" for key, value in tls.items()
        )
    return text


def operator(found: Gateway) -> dict[str, str]:
    return {"authorization": f"Bearer {found._tokens['operator']}"}


async def known(found: Gateway, url: str, tls: ssl.SSLContext | None = None) -> Any:
    """Whom a client is taken for over a WebSocket."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls or True)) as http:
        socket = await http.ws_connect(url, headers=operator(found))
        await socket.send_str(json.dumps({**LIST, "method": "session/get"}))
        answer = json.loads((await asyncio.wait_for(socket.receive(), SECONDS)).data)
        await socket.close()
    return answer["result"]["user_context"]["role"]


async def test_without_its_table_there_is_no_listener_and_no_registry(tmp_path: Path) -> None:
    async with gateway(tmp_path, "") as (found, urls):
        assert "groundhog" not in urls
        assert [one.id for one in found._side().local] == ["mgp"]
        assert dict(found.supervisor.states) == {}


async def test_its_path_and_port_are_what_is_written(tmp_path: Path) -> None:
    """GRH-cfg-2 and GRH-cfg-3."""
    async with gateway(tmp_path, transport(path="/hog/v1", host="127.0.0.1")) as (found, urls):
        assert urls["groundhog"].startswith("ws://127.0.0.1:")
        assert urls["groundhog"].endswith("/hog/v1")
        assert await known(found, urls["groundhog"]) == "operator"


async def test_wss_is_served_to_clients_with_a_certificate_of_the_ca(tmp_path: Path) -> None:
    """GRH-cfg-4."""
    ca, other = Authority(tmp_path), Authority(tmp_path, "other")
    certificate, key = map(str, ca.issue("server"))
    files = {"cert_file": certificate, "key_file": key}
    tls = {"enabled": True, **files, "ca_file": str(ca.certificate)}
    async with gateway(tmp_path, transport(tls=tls)) as (found, urls):
        url = urls["groundhog"]
        assert url.startswith("wss://localhost:")
        assert await known(found, url, ca.client_context("ann")) == "operator"
        stranger = ca.client_context()
        stranger.load_cert_chain(*map(str, other.issue("eve")))
        for context in (ca.client_context(), stranger):
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
                await known(found, url, context)
    async with gateway(tmp_path, transport(tls={"enabled": True, **files})) as (found, urls):
        assert await known(found, urls["groundhog"], ca.client_context()) == "operator"


@pytest.mark.parametrize("kind", ["websocket", "http", "tcp"])
@pytest.mark.parametrize("missing", ["cert_file", "key_file", "ca_file"])
async def test_a_certificate_that_is_not_there_is_named_at_the_start(
    tmp_path: Path, kind: str, missing: str
) -> None:
    """GRH-cfg-4: the file loads, the start fails (decision C-49)."""
    ca = Authority(tmp_path)
    certificate, key = map(str, ca.issue("server"))
    files = {"cert_file": certificate, "key_file": key, "ca_file": str(ca.certificate)}
    gone = str(tmp_path / "gone.pem")
    text = transport(type=kind, tls={"enabled": True, **files, missing: gone})
    with pytest.raises(CannotListen, match=r"\[mcp\.protocol\.transport\].*gone\.pem"):
        async with gateway(tmp_path, text):
            raise AssertionError("it started")


async def test_only_loopback_may_do_without_certificates_and_only_if_told(tmp_path: Path) -> None:
    """GRH-cfg-4: the switch for development."""
    tls = {"enabled": True, "cert_file": "/none", "key_file": "/none", "development": True}
    async with gateway(tmp_path, transport(tls=tls)) as (_, urls):
        assert urls["groundhog"].startswith("ws://")
    with pytest.raises(CannotListen, match="/none"):
        async with gateway(tmp_path, transport(host="0.0.0.0", tls=tls)):
            raise AssertionError("it started")


async def test_tcp_over_tls_is_served_too(tmp_path: Path) -> None:
    """GRH-cfg-2 and GRH-cfg-4."""
    ca = Authority(tmp_path)
    certificate, key = map(str, ca.issue("server"))
    tls = {"enabled": True, "cert_file": certificate, "key_file": key}
    async with gateway(tmp_path, transport(type="tcp", tls=tls)) as (found, urls):
        host, port = urls["groundhog"].removeprefix("tls://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port), ssl=ca.client_context())
        token = operator(found)["authorization"].removeprefix("Bearer ")
        hello = {**LIST, "method": "session/create", "params": {"token": token}}
        for message in (hello, LIST):
            writer.write(json.dumps(message).encode() + b"\n")
            answer = json.loads(await asyncio.wait_for(reader.readline(), SECONDS))
            assert "result" in answer
        writer.close()


async def test_a_port_that_is_taken_is_said_with_its_table(tmp_path: Path) -> None:
    async with gateway(tmp_path / "one", transport(type="tcp")) as (_, urls):
        port = int(urls["groundhog"].rsplit(":", 1)[1])
        with pytest.raises(CannotListen, match=r"\[mcp\.protocol\.transport\] http: .*taken"):
            async with gateway(tmp_path / "two", transport(type="http", port=port)):
                raise AssertionError("it started")


class Events:
    """A record that may be full."""

    def __init__(self) -> None:
        self.found: list[tuple[str, dict[str, Any]]] = []
        self.full = False

    def event(self, kind: str, *, details: dict[str, Any], trace_id: str) -> int:
        if self.full:
            raise Unrecorded("full")
        self.found.append((kind, details))
        return 1


def test_slow_and_large_calls_are_counted_and_recorded_once_each() -> None:
    """GRH-mon-3 and GRH-mon-4."""
    counted, events, strained = CallCounts(), Events(), Signal[tuple[Call, str]]()
    strained.listen(lambda told: counted.warn(*told))
    record: Any = events
    slow = Slow(strained, record, seconds=0.5, memory=100)
    tool = Tool(Target("files", "list"), "files__list", {})
    call = Call(
        id="1",
        door="test",
        kind="tool",
        method="tools/call",
        name="list",
        params={},
        caller=Caller("ann"),
        client=Client("2025-11-25"),
        trace_id="t",
        tool=tool,
        facts={},
    )
    slow.ended(call, Answer(b"{}"), 0.5)
    assert counted.warnings == {}
    slow.ended(call, Answer(b"{}"), 0.6)
    call.facts["memory_bytes"] = 101
    slow.ended(call, Answer(b"{}"), 0.1)
    assert counted.warnings == {
        ("files__list", "slow_execution"): 1,
        ("files__list", "high_memory"): 1,
    }
    assert [details["warning_type"] for _, details in events.found] == [
        "slow_execution",
        "high_memory",
    ]
    events.full = True
    slow.ended(call, Answer(b"{}"), 9.0)
    slow.ended(call, Answer(b"{}"), None)
    assert counted.warnings["files__list", "slow_execution"] == 2


def test_who_sees_a_tool_of_the_same_name_elsewhere_knows_nothing_of_a_registered_one() -> None:
    hello = Hello("2025-11-25", {"tools": {}}, {"name": "x", "version": "1"}, None)
    found = Catalogue([ServerSpec(id="files"), ServerSpec(id=SHIPPED, local=True)])
    tool = jsonrpc.decode_members(jsonrpc.encode({"name": "send", "inputSchema": {}}))
    found.put("files", Listing(hello, {"tools": [tool]}))
    servers: Any = SimpleNamespace(catalogue=found)
    assert feature._knows(servers, Caller("ann"), "files", "send")
    assert feature._knows(servers, Caller("ann"), SHIPPED, "")
    assert not feature._knows(servers, Caller("ann"), SHIPPED, "files/send")
    assert not feature._knows(servers, Caller("ann"), SHIPPED, "send")
    exposed = found.tool("", "files/send")
    assert exposed is not None
    assert not feature._knows(servers, Caller("ann"), SHIPPED, exposed.exposed)
