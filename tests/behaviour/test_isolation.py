"""`isolation` of stdio servers from outside: what a tool can see, reach and do through a real gateway, and servers that are kept down."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.hosts import DOORS, host

SERVER = """
import json, os, socket, sys
from pathlib import Path

def attempt(do, what):
    if do == "read":
        return Path(what).read_text()
    if do == "write":
        return str(Path(what).write_text("x"))
    if do == "connect":
        socket.create_connection(("127.0.0.1", int(what)), 2).close()
        return "connected"
    if do == "variable":
        return os.environ[what]
    if do == "user":
        return str(os.getuid())
    if do == "fill":
        return str(len(bytearray(os.urandom(4096)) * (int(what) // 4096)))

def answer(method, params):
    if method == "initialize":
        info = {"name": "peeking", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"do": {"type": "string"}, "what": {"type": "string"}}}
        return {"tools": [{"name": "attempt", "inputSchema": schema}]}
    given = params["arguments"]
    try:
        text, failed = attempt(given["do"], given.get("what")), False
    except (OSError, KeyError, MemoryError) as problem:
        text, failed = type(problem).__name__, True
    return {"content": [{"type": "text", "text": text}], "isError": failed}

for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") in ("initialize", "tools/list", "tools/call"):
        result = answer(message["method"], message.get("params") or {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    elif "id" in message:
        error = {"code": -32601, "message": "Unknown method"}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}), flush=True)
"""

SECRET = "canary-of-the-gateway"


def entry(ident: str, folder: Path, **more: Any) -> dict[str, Any]:
    script = folder / "code" / "server.py"
    script.parent.mkdir(exist_ok=True)
    script.write_text(SERVER)
    return {"id": ident, "command": sys.executable, "args": ["-I", "-S", str(script)], **more}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of one server at each level, and of one that is sandboxed by its trust level."""
    folder = tmp_path_factory.mktemp("isolated")
    for name in ("seen", "work"):
        (folder / name).mkdir()
        (folder / name / "file").write_text(name)
    (folder / "canary").write_text(SECRET)
    places = {"read": [str(folder / "seen")], "write": [str(folder / "work")]}
    content = config(
        entry("free", folder),
        entry("confined", folder, isolation="confined", sandbox=places, env={"GIVEN": "given"}),
        entry("strict", folder, isolation="strict", sandbox={"memory_bytes": 100_000_000}),
        entry("generated", folder, mgp={"trust_level": "sandboxed"}),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GATEWRIGHT_CANARY", SECRET)
        with running(folder, content) as gateway:
            yield gateway


async def tried(client: Any, server: str, do: str, what: str = "") -> tuple[str, bool]:
    said = await client.request(
        "tools/call",
        {"name": f"{server}__attempt", "arguments": {"do": do, "what": what}},
    )
    return said["content"][0]["text"], bool(said.get("isError"))


@pytest.mark.sandbox
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("server", ["strict", "generated"])
async def test_a_strict_server_sees_and_reaches_nothing(
    gateway: Gateway, server: str, door: str
) -> None:
    """MGP-2.3-3 MGP-15.4-2: `generated` is sandboxed, and no more is said of it."""
    folder, port = gateway.folder, gateway.url.split(":")[2].split("/")[0]
    async with host(gateway, door) as client:
        for path in ("canary", "mgp.toml", "state/gateway.json", "seen/file", "work/file"):
            assert await tried(client, server, "read", f"{folder}/{path}") == (
                "FileNotFoundError",
                True,
            )
        said, failed = await tried(client, server, "connect", port)
        assert (failed, said in {"OSError", "ConnectionRefusedError"}) == (True, True)
        assert await tried(client, server, "variable", "GATEWRIGHT_CANARY") == ("KeyError", True)
        written, failed = await tried(client, server, "write", f"{folder}/work/new")
        assert failed, written
        own, _ = await tried(client, server, "read", f"{folder}/code/server.py")
        assert own == SERVER
    assert not (folder / "work" / "new").exists()


@pytest.mark.sandbox
@pytest.mark.parametrize("door", DOORS)
async def test_a_confined_server_has_what_is_named_and_the_network(
    gateway: Gateway, door: str
) -> None:
    folder, port = gateway.folder, gateway.url.split(":")[2].split("/")[0]
    async with host(gateway, door) as client:
        assert await tried(client, "confined", "read", f"{folder}/seen/file") == ("seen", False)
        assert await tried(client, "confined", "write", f"{folder}/work/new") == ("1", False)
        assert (await tried(client, "confined", "write", f"{folder}/seen/new"))[1]
        assert await tried(client, "confined", "variable", "GIVEN") == ("given", False)
        assert await tried(client, "confined", "connect", port) == ("connected", False)
        for path in ("canary", "mgp.toml", "state/gateway.json"):
            assert await tried(client, "confined", "read", f"{folder}/{path}") == (
                "FileNotFoundError",
                True,
            )
    assert (folder / "work" / "new").read_text() == "x"


@pytest.mark.sandbox
async def test_memory_is_bounded(gateway: Gateway) -> None:
    """By a control group the server is ended and started again, by a resource limit its own request fails."""
    async with host(gateway, DOORS[0]) as client:
        said, failed = await tried(client, "strict", "fill", "400000000")
        assert failed
        assert said == "MemoryError" or "killed by SIGKILL" in said
        assert (await tried(client, "free", "fill", "400000000"))[0] == "399998976"


def test_a_server_that_cannot_be_isolated_is_not_started(tmp_path: Path) -> None:
    """On a machine with bubblewrap for want of a folder, on another for want of bubblewrap."""
    mark = tmp_path / "started"
    code = f"open({str(mark)!r}, 'w')"
    kept = {"id": "kept", "command": sys.executable, "args": ["-c", code]}
    sandbox = {"read": [str(tmp_path / "nowhere")], "write": [str(tmp_path)]}
    content = config({**kept, "isolation": "confined", "sandbox": sandbox})
    with running(tmp_path, content) as gateway:
        (found,) = json.loads(gateway.cli("server", "list", "--json"))
    assert found["status"] in {"error", "restarting", "disconnected"}
    assert "isolation 'confined' cannot be given here" in found["reason"] or (
        "nowhere" in found["reason"]
    )
    assert not mark.exists()
