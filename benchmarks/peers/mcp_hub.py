"""mcp-hub, an aggregator of MCP servers for Node: how it is started, and what a call of it looks like.

To MCP clients it speaks HTTP+SSE of 2024-11-05 alone, where each answer is an event on a second connection. The calls here go to its
REST interface (`POST /api/servers/tools`), which leads to the same servers: one request, one answer. Loaded by turns on a busy machine the two cost it
about the same (320 to 480 us of CPU a call over SSE, 350 to 760 over REST). It looks for a public catalogue when it starts; here it finds one that is fresh, with nothing in it.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.load.generate import PLACE
from benchmarks.measure import System
from benchmarks.processes import ROOT, Process, Trouble, free_port, started

__all__ = ["as_hub", "mcp_hub"]

_MODULES = ROOT / "peers" / "node" / "node_modules"
_SERVER = "echo"
_PATIENCE_S = 30.0


@contextmanager
def mcp_hub(folder: Path, target: Sequence[str]) -> Iterator[Process]:
    """mcp-hub before a command that speaks at most 2025-06-18, over HTTP. Raises `Trouble` where it is not installed, or has no server."""
    program = _MODULES / "mcp-hub" / "dist" / "cli.js"
    if not program.exists():
        raise Trouble("the peer mcp-hub is not installed; run `make peers` first")
    port, home = free_port(), folder / "mcp_hub"
    catalogue = home / "mcp-hub" / "cache" / "registry.json"
    catalogue.parent.mkdir(parents=True)
    now = int(time.time() * 1000)
    listed = {"version": "1", "generatedAt": now, "servers": [{"id": "none", "name": "none"}]}
    known = {"registry": listed, "lastFetchedAt": now, "serverDocumentation": {}}
    catalogue.write_text(json.dumps(known), encoding="utf-8")
    first, *rest = target
    servers = {_SERVER: {"command": first, "args": rest}}
    config = home / "config.json"
    config.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    node = str(_MODULES / ".bin" / "node")
    command = [node, str(program), "--port", str(port), "--config", str(config)]
    # Nobody listens at the proxy: whatever else it may want of others stays here.
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    places = dict.fromkeys(("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), str(home))
    env = {**places, **nowhere, "HOME": str(home), "NODE_USE_ENV_PROXY": "1"}
    with started("mcp_hub", command, folder, port=port, env=env) as process:
        _until_connected(port)
        yield process


def _until_connected(port: int) -> None:
    """It listens before it has its servers."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)) as line:
            line.request("GET", "/api/health")
            said = json.loads(line.getresponse().read())
        if [one["status"] for one in said["servers"]] == ["connected"]:
            return
        time.sleep(0.05)
    raise Trouble(f"mcp-hub did not reach its server: {str(said)[:300]}")


def as_hub(process: Process) -> System:
    """It as a system, whose echo tool is called."""
    host = process.url.split("/")[2]
    arguments = {"text": f"hello {PLACE.decode()}"}
    asked = {"server_name": _SERVER, "tool": "echo", "arguments": arguments}
    body = json.dumps(asked, separators=(",", ":")).encode()
    head = f"POST /api/servers/tools HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return System("mcp_hub", process.url, process.pid, spelled=head.encode() + body)
