"""`serve --config -`: the configuration comes on standard input."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests import fork_server
from tests.cli.shell import DEADLINE_S, Shell

ECHO = Path(__file__).resolve().parents[1] / "tool_servers" / "echo.py"


def start(shell: Shell, content: str, **environ: str) -> subprocess.Popen[str]:
    process = fork_server.Popen(
        shell.command("serve", "--config", "-", "--port", "0"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=shell.folder,
        env=shell.environ(environ),
    )
    assert process.stdin is not None
    process.stdin.write(content)
    process.stdin.close()
    process.stdin = None
    return process


def said(process: subprocess.Popen[str]) -> str:
    """Its line; afterwards it is told to go on or to stop by the test."""
    assert process.stdout is not None
    return process.stdout.readline()


def stopped(process: subprocess.Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, err


def test_the_form_of_agentic_workflows_is_served_to_whoever_has_its_key(shell: Shell) -> None:
    docker = shell.write(
        "docker", f'#!/bin/sh\necho "$@" > asked\nexec {shlex.quote(sys.executable)} {ECHO}\n'
    )
    docker.chmod(0o755)
    content = {
        "mcpServers": {"echo": {"container": "image:1", "env": {"A": "b"}}},
        "gateway": {"port": 8080, "domain": "localhost", "apiKey": "${WORKFLOW_KEY}"},
    }
    path = f"{shell.folder}:{shell.environment['PATH']}"
    process = start(shell, json.dumps(content), WORKFLOW_KEY="hunter2", PATH=path)
    entry: dict[str, Any] = json.loads(said(process))["mcpServers"]["echo"]
    assert (entry["type"], entry["headers"]) == ("http", {"Authorization": "Bearer hunter2"})
    assert entry["url"].startswith("http://localhost:")
    assert entry["url"].endswith("/mcp/echo")
    assert (shell.folder / "asked").read_text() == "run --rm -i -e A image:1\n"
    tools = shell.run("tool", "list", "--url", entry["url"], "--key", "hunter2", "--json")
    assert {one["name"] for one in tools.document} == {"echo"}
    wrong = shell.run("tool", "list", "--url", entry["url"], "--key", "hunter3")
    assert wrong.code == 3
    code, err = stopped(process)
    assert (code, "hunter2" in err) == (0, False)


def test_toml_on_standard_input_is_served_and_survives_a_hangup(shell: Shell) -> None:
    process = start(
        shell, f'[[servers]]\nid = "e"\ncommand = {json.dumps(sys.executable)}\nargs = ["{ECHO}"]\n'
    )
    assert said(process).startswith("ready http://127.0.0.1:")
    process.send_signal(signal.SIGHUP)
    assert [one["id"] for one in shell.run("server", "list", "--json").document] == ["e"]
    assert stopped(process)[0] == 0


def test_what_is_undefined_or_unknown_ends_the_start(shell: Shell) -> None:
    for content, what in (
        ('[[servers]]\nid = "a"\ncommand = "${NONE}"\n', "NONE is not set"),
        ('{"mcpServers": {}, "other": 1}', "other: this field is not known"),
    ):
        done = shell.run("serve", "--config", "-", given=content)
        assert (done.code, what in done.error["message"]) == (2, True)


def test_standard_input_is_nothing_to_edit_and_carries_one_thing(shell: Shell) -> None:
    done = shell.run("server", "add", "a", "--config", "-", "--", "x")
    assert (done.code, done.error["code"]) == (2, "usage")
    assert shell.run("serve", "--stdio", "--config", "-").code == 2
    assert not (shell.folder / "-").exists()
