"""A gateway whose doors are all open for hostile callers: approvals by operators and by callers, Groundhog over TLS, rooms with the
gateway and an orchestrator in them, servers that can be listened to, one of which goes away.

`house(folder)` gives a `House`: where its doors are, and the credentials of who comes to them.
"""

from __future__ import annotations

import itertools
import json
import os
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.commands import gatewright
from benchmarks.hostile.caller import Hostile
from benchmarks.hostile.certificate import made
from benchmarks.hostile.sockets import WebSocket
from benchmarks.mcp_client import MODERN
from benchmarks.processes import ROOT, Process, free_port, started
from gatewright.approvals.store import Approvals
from gatewright.identity.keys import KeyStore
from gatewright.storage.opening import open_state
from gatewright.storage.state import StateDatabase

__all__ = ["EVERYTHING", "HOLD_S", "OFFER", "PEOPLE", "TOPIC", "House", "house", "modern"]

HOLD_S = 1.0
"""How long a call waits for an operator before its caller is told to come back."""
TOPIC = "lobby"
OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "access_control", "discovery", "tool_discovery", "audit"]}}  # fmt: skip
EVERYTHING = {"mgp": {"version": "0.2.0", "extensions": [*OFFER["mgp"]["extensions"], "lifecycle", "streaming", "bidirectional"]}}  # fmt: skip
PEOPLE = {"low": "proposal-only", "full": "full", "reader": "read-only"}
"""Participant → profile."""
_MOST = 100_000
_SERVERS = ("calm", "hostile", "gone", "foreign")

CONFIG = """
[gateway]
anonymous = "allow"
[storage]
path = {state}
[limits]
call_timeout_s = 60
frame_bytes = 12582912
subscriptions_per_client = 2000
[approvals]
approver = "operator"
hold_s = {hold_s}
[redaction]
level = "personal"
[[servers]]
id = "calm"
transport = "stdio"
command = {python}
args = [{calm}, "--era", "legacy"]
[[servers]]
id = "hostile"
transport = "stdio"
command = {python}
args = [{hostile}, "--wishes", "wish"]
[servers.tools.held]
risk_level = "dangerous"
[servers.tools.asked]
risk_level = "dangerous"
approver = "caller"
[[servers]]
id = "gone"
transport = "stdio"
command = {python}
args = [{hostile}, "--wishes", "gone"]
[[servers]]
id = "foreign"
transport = "stdio"
command = {python}
args = [{foreign}]
mgp = {{ extensions = ["security", "streaming", "bidirectional", "lifecycle"] }}
{grants}
[registration]
folders = ["scripts"]
[rooms]
[rooms.kernel]
topics = ["{topic}"]
[rooms.orchestrator]
topics = ["{topic}"]
people = ["full"]
{people}
[mcp.protocol.security]
require_authentication = false
max_concurrent_sessions = 1000
[mcp.protocol.rate_limits]
{rates}
[mcp.protocol.transport]
port = {port}
[mcp.protocol.transport.tls]
enabled = true
cert_file = {certificate}
key_file = {key}
"""


def _token(participant: str) -> str:
    return f"token-of-{participant}-for-a-benchmark"


def _config(folder: Path, port: int) -> Path:
    certificate, key = made(folder)
    servers = ROOT / "benchmarks"
    grants = (f'[[grants]]\nagent = "*"\nserver = "{one}"' for one in _SERVERS)
    people = (
        f'[[rooms.participants]]\nid = "{one}"\ntoken = "{_token(one)}"\nprofile = "{profile}"'
        for one, profile in PEOPLE.items()
    )
    rates = (
        f"{who}_requests_per_{span} = {_MOST}"
        for who in ("global", "user", "tool")
        for span in ("second", "minute")
    )
    text = CONFIG.format(
        state=json.dumps(str(folder / "state")),
        python=json.dumps(sys.executable),
        calm=json.dumps(str(servers / "servers" / "echo_stdio.py")),
        hostile=json.dumps(str(servers / "hostile" / "server.py")),
        foreign=json.dumps(str(servers / "hostile" / "mgp_server.py")),
        hold_s=HOLD_S,
        grants="\n".join(grants),
        people="\n".join(people),
        rates="\n".join(rates),
        topic=TOPIC,
        port=port,
        certificate=json.dumps(str(certificate)),
        key=json.dumps(str(key)),
    )
    path = folder / "mgp.toml"
    path.write_text(text, encoding="utf-8")
    return path


def modern(method: str, params: dict[str, Any], can: dict[str, Any]) -> bytes:
    """A request of the modern era by a client with these capabilities."""
    prefix = "io.modelcontextprotocol/"
    about = {"protocolVersion": MODERN, "clientCapabilities": can, "clientInfo": {"name": "a", "version": "1"}}  # fmt: skip
    meta = {f"{prefix}{name}": value for name, value in about.items()}
    params = {**params, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}).encode()


class House:
    """The doors of one gateway."""

    def __init__(self, gateway: Process, folder: Path, tls_port: int) -> None:
        where = urlsplit(gateway.url)
        self.url, self.pid = gateway.url, gateway.pid
        self.host, self.port, self.tls_port = where.hostname or "", where.port or 80, tls_port
        self.folder = folder
        said = json.loads((folder / "state" / "gateway.json").read_text(encoding="utf-8"))
        self.operator: str = said["operator_token"]
        self._numbers = itertools.count(1)
        self.key = self.somebody()
        self._hostile: Hostile | None = None

    @property
    def hostile(self) -> Hostile:
        """A caller with a session of its own."""
        if self._hostile is None:
            self._hostile = Hostile(self.url, key=self.key)
        return self._hostile

    def close(self) -> None:
        """Hang up."""
        if self._hostile is not None:
            self._hostile.close()

    def somebody(self) -> str:
        """The key of an agent whom nobody saw before."""
        with self._state() as state:
            callers = KeyStore(state, clock=time.time, random=os.urandom)
            return callers.create(f"eve-{next(self._numbers)}", by="benchmark")[1]

    @contextmanager
    def _state(self) -> Iterator[StateDatabase]:
        """As another process has it."""
        state = open_state(self.folder / "state", lambda _: None)
        try:
            yield state
        finally:
            state.close()

    @contextmanager
    def queue(self) -> Iterator[Approvals]:
        """What waits for a person, as another process sees it that decides."""
        with self._state() as state:
            yield Approvals(state, clock=time.time, random=os.urandom)

    def mcp(self, key: str = "", *, can: dict[str, Any] | None = None) -> WebSocket:
        """A WebSocket of MCP, whose client has said hello with these capabilities."""
        socket = self.groundhog(key, protocol="mcp")
        hello = {"protocolVersion": "2025-11-25", "capabilities": can or {}, "clientInfo": {"name": "a", "version": "1"}}  # fmt: skip
        socket.say(json.dumps({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}).encode())  # fmt: skip
        socket.answer("hello")
        socket.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return socket

    def groundhog(self, key: str = "", *, protocol: str = "") -> WebSocket:
        """A WebSocket of Groundhog at the gateway's own address."""
        return WebSocket(self.host, self.port, "/mcp", protocol=protocol, key=key or self.key)

    def secure(self, key: str = "") -> WebSocket:
        """A WebSocket of Groundhog at the address that has TLS."""
        return WebSocket(self.host, self.tls_port, "/mcp", key=key or self.key, tls=self.context())

    def context(self) -> ssl.SSLContext:
        """What a client needs to get through TLS here."""
        return ssl.create_default_context(cafile=str(self.folder / "certificate.pem"))

    def room(self, participant: str, topic: str = TOPIC) -> WebSocket:
        """A place in a topic."""
        path = f"/ws?topic={topic}"
        return WebSocket(self.host, self.port, path, protocol="mcpx", key=_token(participant))


@contextmanager
def house(folder: Path) -> Iterator[House]:
    """A running gateway with all of it."""
    with ExitStack() as stack:
        port = free_port()
        command = gatewright("serve", "--config", str(_config(folder, port)), "--port", "0")
        found = House(stack.enter_context(started("gatewright", command, folder)), folder, port)
        stack.callback(found.close)
        time.sleep(1.0)
        yield found
