"""The example is the first thing anybody runs: it must work as it stands, and warn about nothing."""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gatewright.config import load
from tests.cli.gateways import EXAMPLES, serving
from tests.cli.shell import DEADLINE_S, Shell

CONFIG = str(EXAMPLES / "mgp.toml")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Commands in a folder of their own, with this Python on the path."""
    found = Shell(tmp_path)
    found.environment["PYTHON"] = sys.executable
    return found


def post(url: str, message: dict[str, Any]) -> Any:
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=DEADLINE_S)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": message["method"],
    }
    if "name" in message["params"]:
        headers["Mcp-Name"] = message["params"]["name"]
    message["params"]["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    try:
        connection.request("POST", parts.path, json.dumps(message), headers)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def test_the_example_has_nothing_to_complain_about() -> None:
    found = load(Path(CONFIG), environ={})
    assert found.warnings == ()
    assert [server.problem for server in found.servers] == [None]


def hurried(folder: Path) -> str:
    """The example, but for this: a call does not wait for somebody's word, it is told to come back."""
    (folder / "demo_server.py").write_text((EXAMPLES / "demo_server.py").read_text())
    text = Path(CONFIG).read_text() + "\n[approvals]\nhold_s = 0\n"
    (folder / "hurried.toml").write_text(text)
    return str(folder / "hurried.toml")


def test_the_example_serves_callers_without_a_key_what_it_grants_them(
    shell: Shell, tmp_path: Path
) -> None:
    with serving(shell, "--config", hurried(tmp_path)) as gateway:
        listing = post(
            gateway.url, {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        )
        names = {tool["name"] for tool in listing["result"]["tools"]}
        assert {"demo__echo", "demo__add", "demo__now", "demo__read_note"} <= names
        call = {"name": "demo__echo", "arguments": {"text": "hello"}}
        answer = post(
            gateway.url, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        )
        assert answer["result"]["content"] == [{"type": "text", "text": "hello"}]
        dangerous = {"name": "demo__delete_all_notes", "arguments": {}}
        refused = post(
            gateway.url, {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": dangerous}
        )
        assert refused["result"]["isError"] is True
        denied = shell.run("audit", "query", "--outcome", "denied").rows
        assert [(row[2], row[3], row[5]) for row in denied] == [
            ("anonymous", "demo__delete_all_notes", "permission_deferred")
        ]


def test_a_person_at_a_terminal_confirms_what_is_dangerous(shell: Shell, tmp_path: Path) -> None:
    call = ("tool", "call", "demo__delete_all_notes")
    with serving(shell, "--config", hurried(tmp_path)):
        assert shell.run(*call).error["code"] == "permission_deferred"
        declined = shell.run_at_terminal(*call, answers="n\n")
        assert (declined.code, "not confirmed" in declined.out) == (6, True)
        left = shell.run_at_terminal(*call, answers="\x04")
        assert left.code == 6
        assert "welcome" in shell.run("tool", "call", "demo__list_notes").out
        confirmed = shell.run_at_terminal(*call, answers="y\n")
        assert (confirmed.code, "gone" in confirmed.out) == (0, True)
        assert "Risk: dangerous" in confirmed.out
        assert shell.run("tool", "call", "demo__list_notes").out.strip() == ""


def test_every_tool_of_the_demo_works_from_the_command_line(shell: Shell) -> None:
    calls = {
        "echo": (["text=hi"], "hi\n"),
        "add": (["a=1", "b=2.5"], "3.5\n"),
        "count": (["to=2"], "counted to 2\n"),
        "list_notes": ([], "ideas\nwelcome\n"),
        "write_note": (["name=n", "text=t"], "written\n"),
        "read_note": (["name=n"], "t\n"),
    }
    with serving(shell, "--config", CONFIG):
        for name, (arguments, said) in calls.items():
            done = shell.run("tool", "call", f"demo__{name}", *arguments)
            assert (done.code, done.out) == (0, said)
        assert shell.run("tool", "call", "demo__now").out.startswith("20")


def test_the_demo_server_answers_whatever_it_is_asked(tmp_path: Path) -> None:
    lines = [
        "not json",
        "[]",
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","id":1,"method":"nope"}',
        '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nope"}}',
        '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add"}}',
        '{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"note:///welcome"}}',
        '{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}',
        '{"jsonrpc":"2.0","id":6,"method":"prompts/get","params":{"name":"summarise"}}',
        '{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"1999"}}',
    ]
    ended = subprocess.run(
        [sys.executable, "-I", str(EXAMPLES / "demo_server.py")],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
    )
    answers = {one["id"]: one for one in map(json.loads, ended.stdout.splitlines())}
    assert ended.stderr == ""
    assert answers[None]["error"]["code"] == -32700
    assert [answers[n]["error"]["code"] for n in (1, 2, 5)] == [-32601, -32602, -32602]
    assert answers[3]["result"]["isError"] is True
    assert answers[4]["result"]["contents"][0]["uri"] == "note:///welcome"
    assert answers[6]["result"]["messages"]
    assert answers[7]["result"]["protocolVersion"] == "2025-11-25"
