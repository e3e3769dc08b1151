"""The Inspector's command line in front of the gateway: both eras, over HTTP, `bridge` and `serve --stdio`."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import COMMAND, Gateway, config, running
from tests.peers.expected import WORDS
from tests.peers.peers import NODE, PACKAGES, guest, profiles, run, serving, stdio

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

INSPECTOR = [NODE, str(PACKAGES / ".bin" / "mcp-inspector"), "--cli"]
ADD = ["tools/call", "--tool-name", "add", "--tool-arg", "a=2", "--tool-arg", "b=3"]
SUM = {"content": [{"type": "text", "text": "5"}], "structuredContent": {"sum": 5}}
ADDED = ("resultType", "ttlMs", "cacheScope", "_meta", "isError")
WAYS = ("http", "bridge", "serve")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of a server of each era."""
    servers = [guest("old", "sdk1_server"), guest("new", "ts2_server", "--strict")]
    content = config(*servers, profiles=profiles(*servers))
    with running(tmp_path_factory.mktemp("inspected"), content) as gateway:
        yield gateway


def inspected(gateway: Gateway, way: str, era: str, server: str, *method: str) -> dict[str, Any]:
    """What the Inspector printed, without what the era adds to it."""
    where = [f"{gateway.url}/{server}", "--transport", "http", "--protocol-era", era]
    if way != "http":
        where = ["--config", str(_session(gateway, way, server)), "--server", "gatewright"]
        where += ["--protocol-era", era]
    done = run([*INSPECTOR, *where, "--format", "json", "--method", *method])
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)["result"]
    return {key: value for key, value in result.items() if key not in ADDED}


def _session(gateway: Gateway, way: str, server: str) -> Path:
    """The Inspector's own file of servers, as a person would write it."""
    command, *arguments = {"bridge": stdio, "serve": serving}[way](gateway, server)
    path = gateway.folder / f"inspector-{way}-{server}.json"
    entry = {"command": command, "args": arguments}
    path.write_text(json.dumps({"mcpServers": {"gatewright": entry}}))
    return path


@pytest.mark.parametrize("server", ["old", "new"])
@pytest.mark.parametrize(
    ("way", "era"),
    [("http", "auto"), *((way, era) for way in WAYS for era in ("legacy", "modern"))],
)
def test_the_inspector_calls_a_tool(two: Gateway, way: str, era: str, server: str) -> None:
    assert inspected(two, way, era, server, *ADD) == SUM


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_what_there_is(two: Gateway, era: str) -> None:
    assert inspected(two, "http", era, "old", "tools/list") == {"tools": WORDS["tools"]}


@pytest.mark.parametrize(("era", "server"), [("legacy", "new"), ("modern", "old")])
def test_the_inspector_reads_resources_and_prompts(two: Gateway, era: str, server: str) -> None:
    listed = inspected(two, "http", era, server, "resources/list")
    assert listed == {"resources": WORDS["resources"]}
    read = inspected(two, "http", era, server, "resources/read", "--uri", "guest:///alpha")
    assert read == {"contents": [WORDS["contents"]["guest:///alpha"]]}
    greet = ["prompts/get", "--prompt-name", "greet", "--prompt-args", "who=Ada"]
    words = {"type": "text", "text": "Greet Ada"}
    assert inspected(two, "http", era, server, *greet) == {
        "description": "Greets somebody",
        "messages": [{"role": "user", "content": words}],
    }


@pytest.mark.parametrize("flags", [[], ["--stdio"]], ids=["url", "bridge"])
def test_the_inspector_uses_the_file_that_connect_wrote(
    two: Gateway, tmp_path: Path, flags: list[str]
) -> None:
    subprocess.run(
        [
            *COMMAND,
            "connect",
            "inspector",
            "--yes",
            "--config",
            two.file,
            "--profile",
            "old",
            *flags,
        ],
        check=True,
        env={**os.environ, "HOME": str(tmp_path)},
        timeout=60,
    )
    file = tmp_path / ".mcp-inspector" / "mcp.json"
    where = ["--config", str(file), "--server", "gatewright", "--protocol-era", "legacy"]
    done = run([*INSPECTOR, *where, "--format", "json", "--method", *ADD])
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)["result"]
    assert {key: value for key, value in result.items() if key not in ADDED} == SUM
