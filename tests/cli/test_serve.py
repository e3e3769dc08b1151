"""`serve`: one line when ready, a clean end, and a clear word when it cannot start."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.app.announce import Ready
from gatewright.cli.serve import announce
from gatewright.config import load
from tests import fork_server
from tests.cli.gateways import DEMO, EXAMPLES, serving
from tests.cli.shell import DEADLINE_S, Shell


@pytest.fixture
def configured(shell: Shell) -> Shell:
    shell.write("mgp.toml", DEMO)
    return shell


def test_the_ready_line_is_the_only_one_and_names_what_listens(configured: Shell) -> None:
    with serving(configured) as gateway:
        assert gateway.url.startswith("http://127.0.0.1:")
        assert gateway.url.endswith("/mcp")
        assert gateway.urls["mcp"] == gateway.url
        assert gateway.urls["websocket"].startswith("ws://127.0.0.1:")
        assert gateway.urls["sse"].endswith("/sse")
        code, out, err = gateway.stop()
        assert (code, out, err) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_state_file_is_private_and_gone_at_the_end(configured: Shell, number: int) -> None:
    with serving(configured) as gateway:
        path = configured.state / "gateway.json"
        assert path.stat().st_mode & 0o777 == 0o600
        found = json.loads(path.read_text())
        assert (found["url"], found["pid"]) == (gateway.url, gateway.process.pid)
        assert gateway.stop(number)[0] == 0
        assert not path.exists()


def test_the_commands_find_the_gateway_and_a_call_is_recorded(configured: Shell) -> None:
    with serving(configured):
        assert configured.run("server", "list").rows[0][:3] == ["demo", "connected", "8"]
        assert "demo__echo" in [row[0] for row in configured.run("tool", "list").rows]
        called = configured.run("tool", "call", "demo__echo", "text=hello")
        assert (called.code, called.out) == (0, "hello\n")
        failed = configured.run("tool", "call", "demo__read_note", "name=none")
        assert (failed.code, failed.out) == (5, "there is no note 'none'\n")
        wrong = configured.run("tool", "call", "demo__add", "a=1")
        assert (wrong.code, wrong.error["code"]) == (2, "invalid_args")
        unknown = configured.run("tool", "call", "demo__nope")
        assert (unknown.code, unknown.error["code"]) == (2, "tool_not_found")
        foreign = configured.run("tool", "list", "--key", "gw_invented")
        assert (foreign.code, foreign.error["code"]) == (3, "auth_failed")
        record = configured.run(
            "audit", "query", "--tool", "echo", "--event", "TOOL_EXECUTED", "--json"
        ).document
        assert (record["outcome"], record["actor"]["id"]) == ("success", "local")
        assert configured.run("audit", "verify").code == 0


def test_a_key_works_at_once_and_ends_within_a_second_of_its_end(configured: Shell) -> None:
    operator = configured.run("key", "create", "root", "--operator").out.strip()
    with serving(configured):
        secret = configured.run("key", "create", "bot", "--key", operator).out.strip()
        listed = configured.run("tool", "list", "--key", secret)
        assert (listed.code, listed.out) == (0, "")
        ident = configured.run("key", "list").rows[1][0]
        assert configured.run("key", "revoke", ident, "--key", operator).code == 0
        revoked = time.monotonic()
        # A command may be quicker than the gateway looks; one that begins a second later is refused.
        for begun in iter(time.monotonic, None):
            refused = configured.run("tool", "list", "--key", secret)
            if refused.code or begun - revoked > 1.0:
                break
        assert (refused.code, refused.error["code"]) == (3, "auth_failed")


def test_the_bridge_carries_a_session_to_the_gateway(configured: Shell) -> None:
    lines: list[dict[str, Any]] = [
        {
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"method": "notifications/initialized"},
        {
            "id": 1,
            "method": "tools/call",
            "params": {"name": "demo__add", "arguments": {"a": 1, "b": 2}},
        },
    ]
    text = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    with serving(configured):
        done = configured.run("bridge", given=text)
    assert (done.code, done.err) == (0, "")
    first, second = (json.loads(line) for line in done.out.splitlines())
    assert first["result"]["protocolVersion"] == "2025-11-25"
    assert second["result"]["structuredContent"] == {"sum": 3}


def test_only_a_host_on_standard_input_has_a_name(configured: Shell) -> None:
    done = configured.run("serve", "--as", "cursor")
    assert (done.code, done.out) == (2, "")
    assert "--as says which host speaks on standard input: add --stdio" in done.err


def test_with_stdio_nothing_but_mcp_goes_to_standard_output(configured: Shell) -> None:
    """MGP-1.4-1"""
    line = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    opening = (
        '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        '"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
    )
    done = configured.run("serve", "--stdio", given=opening + line)
    assert done.code == 0
    assert {json.loads(one)["id"] for one in done.out.splitlines()} == {0, 1}


def test_a_first_file_and_each_edit_by_a_command_are_taken_over(shell: Shell) -> None:
    """Nothing has to be started again: the file that was not there is looked for."""
    with serving(shell) as gateway:
        assert shell.run("server", "list").out == ""
        done = shell.run(
            "server", "add", "demo", "--", sys.executable, str(EXAMPLES / "demo_server.py")
        )
        assert done.code == 0
        assert _until(lambda: bool(shell.run("server", "list").out))
        assert shell.run("tool", "call", "demo__echo", "text=here").out == "here\n"
        assert shell.run("tool", "disable", "demo/echo").code == 0
        assert _until(lambda: shell.run("tool", "call", "demo__echo", "text=x").code != 0)
        _, _, err = gateway.stop()
    assert "servers.demo" in err
    assert "servers.demo.tools.echo." in err  # a table of its own, key by key


def _until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE_S
    while not (found := true()) and time.monotonic() < deadline:
        pass  # what is asked takes its time
    return found


def test_a_taken_port_is_told_with_the_way_out(configured: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = configured.run("serve", "--port", str(port))
    assert (done.code, done.out, done.error["code"]) == (1, "", "address")
    assert done.error["message"].count(f"127.0.0.1:{port}") == 1
    assert "--port 0" in done.error["hint"]


def test_a_state_folder_that_cannot_be_is_told_with_its_place_in_the_configuration(
    configured: Shell,
) -> None:
    configured.write("file", "")
    path = configured.folder / "file" / "state"
    done = configured.run("serve", "--port", "0", environ={"GATEWRIGHT_STATE": str(path)})
    assert (done.code, done.out, done.error["code"]) == (1, "", "file")
    assert f"the state folder {path} cannot be used: Not a directory" in done.error["message"]
    assert "[storage] path of mgp.toml, or GATEWRIGHT_STATE" in done.error["hint"]


def test_a_second_gateway_in_one_state_folder_is_refused(configured: Shell) -> None:
    with serving(configured) as gateway:
        done = configured.run("serve", "--port", "0")
        assert (done.code, done.out, done.error["code"]) == (1, "", "busy")
        assert gateway.process.poll() is None
        assert configured.run("server", "list").code == 0


def test_callers_without_a_key_are_not_let_in_beyond_loopback(configured: Shell) -> None:
    configured.write("mgp.toml", '[gateway]\nanonymous = "allow"\n' + DEMO)
    done = configured.run("serve", "--host", "0.0.0.0", "--port", "0")
    assert (done.code, done.out, done.error["code"]) == (2, "", "configuration")
    assert 'write anonymous = "deny"' in done.error["message"]


def test_an_unknown_profile_is_a_usage_error(configured: Shell) -> None:
    configured.write("mgp.toml", DEMO + '[profiles.small]\nservers = ["demo"]\n')
    done = configured.run("serve", "--profile", "smal")
    assert (done.code, done.error["code"]) == (2, "usage")
    assert "small" in done.error["hint"]


def test_what_is_odd_or_stays_down_is_told_and_the_rest_serves(configured: Shell) -> None:
    configured.write(
        "mgp.toml", DEMO + "oddly = 1\n" + '[[servers]]\nid = "down"\ncommand = "${GONE}"\n'
    )
    with serving(configured) as gateway:
        states = {row[0]: row[1] for row in configured.run("server", "list").rows}
        assert states["demo"] == "connected"
        assert states["down"] != "connected"
        _, _, err = gateway.stop()
    assert "warning: " in err
    assert "oddly" in err
    assert "down stays down: " in err
    assert "GONE is not set" in err


def test_without_any_configuration_it_serves_and_says_what_is_missing(shell: Shell) -> None:
    with serving(shell):
        done = shell.run("server", "list")
        assert (done.code, done.out) == (0, "")
        assert "[[servers]]" in done.err


def test_on_a_terminal_the_next_steps_are_told(configured: Shell) -> None:
    ours, theirs = os.openpty()
    process = fork_server.Popen(
        configured.command("serve", "--port", "0"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=configured.environ(),
        cwd=configured.folder,
    )
    os.close(theirs)
    assert process.stdout is not None
    ready = process.stdout.readline()
    shown = b""
    while b"tool list" not in shown:
        shown += os.read(ours, 65536)
    process.terminate()
    out, _ = process.communicate(timeout=DEADLINE_S)
    os.close(ours)
    text = shown.decode()
    assert (process.returncode, out) == (0, "")
    assert ready.split()[1] in text
    for words in (
        "gatewright connect claude-code",
        "gatewright bridge",
        "gatewright tool list",
        "audit tail -f",
    ):
        assert words in text
    assert "demo: connected" in text
    assert "gatewright key create" in text


def test_the_commands_that_are_shown_run_as_they_are_shown_from_the_same_folder(
    shell: Shell,
) -> None:
    """As `make serve` starts it: by the path of the program, with a configuration that is not the one of the folder."""
    root = EXAMPLES.parent
    theirs, ours = os.openpty()
    process = subprocess.Popen(
        shell.command("serve", "--port", "0", "--config", "examples/mgp.toml"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=ours,
        env=shell.environ({"TERM": "dumb", "PATH": os.defpath}),
        cwd=root,
    )
    os.close(ours)
    shown = b""
    while b"tool list --config" not in shown or not shown.endswith(b"\n"):
        shown += os.read(theirs, 65536)
    try:
        lines = [line.split("  ")[-1].strip() for line in shown.decode().splitlines()]
        commands = [line for line in lines if "gatewright " in line and "`" not in line]
        assert [line.split()[2:4] for line in commands] == [
            ["connect", "claude-code"],
            ["audit", "tail"],
            ["tool", "list"],
        ]
        dry = " --dry-run"
        for line in commands:
            ended = subprocess.run(
                ["/bin/sh", "-c", line.replace(" -f", "") + dry * ("connect" in line)],
                capture_output=True,
                text=True,
                cwd=root,
                env=shell.environ({"PATH": os.defpath}),
                timeout=DEADLINE_S,
                check=False,
            )
            assert (ended.returncode, line) == (0, line), ended.stderr
        assert "demo__add" in ended.stdout, "the last one calls the gateway that was started"
    finally:
        process.terminate()
        process.wait(DEADLINE_S)
        os.close(theirs)


def test_the_announcement_keeps_off_standard_output_with_stdio(
    capfd: pytest.CaptureFixture[str],
) -> None:
    settings = load(EXAMPLES / "mgp.toml", environ={})
    ready = Ready("http://127.0.0.1:1/mcp", {"sse": "http://127.0.0.1:1/sse"}, {})
    announce(settings, ready, stdio=True)
    assert capfd.readouterr().out == ""
    announce(settings, ready, stdio=False)
    assert capfd.readouterr().out == "ready http://127.0.0.1:1/mcp sse=http://127.0.0.1:1/sse\n"


def test_a_person_is_told_what_the_address_of_the_console_is_for(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatewright.cli.serve.is_terminal", lambda _: True)
    settings = load(EXAMPLES / "mgp.toml", environ={})
    url = "http://127.0.0.1:2/open#token"
    announce(settings, Ready("http://127.0.0.1:1/mcp", {"console": url}, {}), stdio=False)
    told = capfd.readouterr().err.partition(url)[2]
    assert told.startswith("\n             in a browser")
    assert "it opens once; another: `" in told
