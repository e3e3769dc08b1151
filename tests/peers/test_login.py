"""Foreign hosts log in at the gateway: sent away without a token, through discovery and a real authorization
server, and back with one. What they do is theirs; the gateway only said where to go."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.token_house import TokenHouse, token_house
from tests.peers.peers import DEADLINE, NODE, PACKAGES, driver, free_port, run

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenHouse]:
    """A gateway that takes tokens; its issuer gives `mcp` to who asks for nothing."""
    with token_house(tmp_path_factory.mktemp("login")) as house:
        house.corp.scopes = "mcp"
        yield house


@pytest.mark.parametrize(("era", "place"), [("legacy", "/mcp/narrow"), ("modern", "/mcp")])
def test_the_python_sdk_logs_in_by_what_the_gateway_says(
    tokens: TokenHouse, era: str, place: str
) -> None:
    """RFC 9728, 8414, 7591, 8707: metadata, registration, PKCE and the resource, without a word of ours."""
    plan = {"url": tokens.base + place, "era": era, "tools": ["echo__echo"]}
    done = run(driver("sdk2_login", json.dumps(plan)))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"said": ["hello"], "visits": ["mcp"]}
    assert tokens.corp.asked("/token")["resource"] == tokens.base + place


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_python_sdk_steps_up_when_a_tool_needs_more(tokens: TokenHouse, era: str) -> None:
    """MCP, scope challenge: the host comes back with all scopes that the challenge named."""
    plan = {"url": tokens.gateway.url, "era": era, "tools": ["echo__echo", "open__echo"]}
    done = run(driver("sdk2_login", json.dumps(plan)))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"said": ["hello", "hello"], "visits": ["mcp", "mcp mcp:all"]}


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_logs_in_as_a_person_would(
    tokens: TokenHouse, tmp_path: Path, era: str
) -> None:
    """It shows a URL; whoever opens it ends at the page that the Inspector waits with."""
    back = f"http://127.0.0.1:{free_port()}/oauth/callback"
    command = [NODE, str(PACKAGES / ".bin" / "mcp-inspector"), "--cli", tokens.gateway.url]
    command += ["--transport", "http", "--protocol-era", era, "--callback-url", back]
    command += ["--format", "json", "--method", "tools/call"]
    command += ["--tool-name", "echo__echo", "--tool-arg", "message=hello"]
    home = {"HOME": str(tmp_path), "BROWSER": "true", "MCP_STORAGE_DIR": str(tmp_path)}
    keyboard, terminal = os.openpty()  # it logs nobody in where nobody sits
    with subprocess.Popen(
        command,
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **home},
    ) as process:
        timer = threading.Timer(DEADLINE, process.kill)
        timer.start()
        try:
            said = _visited(process, tokens.corp.issuer)
            out, rest = process.communicate()
        finally:
            timer.cancel()
            process.kill()
            os.close(terminal)
            os.close(keyboard)
    assert process.returncode == 0, said + rest
    assert json.loads(out)["result"]["content"] == [{"type": "text", "text": "hello"}]
    assert tokens.corp.asked("/token")["resource"] == tokens.gateway.url


def _visited(process: subprocess.Popen[str], issuer: str) -> str:
    """Open the first URL of the issuer that the program shows, as its reader would; what it said until then."""
    said = ""
    for line in process.stderr or ():
        said += line
        shown = re.search(re.escape(issuer) + r"/authorize\S+", line)
        if shown is not None:
            with urllib.request.urlopen(shown[0], timeout=30) as page:  # noqa: S310 - our own
                page.read()
            return said
    raise AssertionError(f"it showed no URL:\n{said}")
