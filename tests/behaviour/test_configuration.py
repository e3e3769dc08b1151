"""MGP §15.2 through the command line and a real gateway: files as the specification writes them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tests.behaviour.gateway import ROOT
from tests.cli.gateways import serving
from tests.cli.shell import DEADLINE_S, Shell

SERVERS = ROOT / "tests/tool_servers"

# The example of the section with a server of ours behind it, and not one word more.
SPECIFIED = f"""\
[[servers]]
id = "mind.cerebras"
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(SERVERS / "mgp_server.py"))}]
transport = "stdio"

[servers.mgp]
extensions = ["security", "lifecycle", "streaming"]
permissions_required = ["network.outbound"]
trust_level = "standard"
restart_policy = "on_failure"

[servers.env]
CEREBRAS_API_KEY = "${{CEREBRAS_API_KEY}}"
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def plain(name: str, ident: str) -> str:
    """A standard MCP server as the section writes one."""
    script = json.dumps(str(SERVERS / f"{name}.py"))
    return (
        f'[[servers]]\nid = "{ident}"\ncommand = {json.dumps(sys.executable)}\nargs = [{script}]\n'
    )


def listed(shell: Shell) -> dict[str, str]:
    """Server → state, as `server list` tells."""
    return {one["id"]: one["status"] for one in shell.run("server", "list", "--json").document}


@pytest.mark.parametrize("name", ["mgp.toml", "mcp.toml"])
def test_a_file_of_the_specification_runs_unchanged_under_both_names(
    shell: Shell, name: str
) -> None:
    """MGP-15.2-2 MGP-15.2-3"""
    shell.write(name, SPECIFIED)
    shell.environment["CEREBRAS_API_KEY"] = "k"
    assert shell.run("config", "check", "--json").document == []
    with serving(shell):
        (found,) = shell.run("server", "list", "--json").document
        assert (found["id"], found["status"]) == ("mind.cerebras", "connected")
        assert (found["trust_level"], found["mgp_version"] != "") == ("standard", True)
        assert shell.run("tool", "list", "--json").document


def test_an_unset_variable_keeps_its_server_down_and_names_file_line_key_and_variable(
    shell: Shell,
) -> None:
    """MGP-15.2-3"""
    file = shell.write("mgp.toml", SPECIFIED + plain("echo", "other"))
    place = f"{file}:14: servers.mind.cerebras.env.CEREBRAS_API_KEY"
    why = f"{place}: the environment variable CEREBRAS_API_KEY is not set"
    check = shell.run("config", "check")
    assert (check.code, why in check.out) == (8, True)
    with serving(shell) as served:
        states = listed(shell)
        assert states["other"] == "connected"
        assert states["mind.cerebras"] != "connected"
        _, _, err = served.stop()
    assert f"mind.cerebras stays down: {why}" in err


def test_what_the_server_gets_is_the_value_and_what_is_shown_is_the_word(shell: Shell) -> None:
    """MGP-15.2-3"""
    shell.run("secret", "set", "greeting", given="hunter2")
    shell.write("note.txt", "from a file\n")
    told = shell.folder / "told"
    # The gateway starts it again whenever it has ended, so the file is replaced whole.
    script = (
        f"import os; t = {str(told)!r}; open(t + '~', 'w').write(repr([os.environ[n] for n in 'ABC']));"
        "os.replace(t + '~', t)"
    )
    shell.write(
        "mgp.toml",
        f'[[servers]]\nid = "a"\ncommand = {json.dumps(sys.executable)}\n'
        f'args = ["-c", {json.dumps(script)}]\n[servers.env]\n'
        'A = "${secret:greeting}"\nB = "${file:note.txt}"\nC = "${NONE:-none}"\n',
    )
    with serving(shell) as served:
        assert told.read_text() == repr(["hunter2", "from a file", "none"])
        shown = shell.run("config", "show", "--json")
        _, out, err = served.stop()
    assert "hunter2" not in shown.out + out + err
    assert shown.document["servers.a.env.A"]["value"] == "${secret:greeting}"


def test_a_secret_that_is_set_while_the_gateway_runs_brings_its_server_up(shell: Shell) -> None:
    """MGP-15.2-3"""
    shell.write("mgp.toml", plain("echo", "a") + '[servers.env]\nTOKEN = "${secret:token}"\n')
    with serving(shell):
        assert listed(shell)["a"] != "connected"
        assert shell.run("secret", "set", "token", given="hunter2").code == 0
        deadline = time.monotonic() + DEADLINE_S
        while (state := listed(shell)["a"]) != "connected" and time.monotonic() < deadline:
            continue
        assert state == "connected"


def test_the_project_goes_over_the_user_and_the_variable_over_both(shell: Shell) -> None:
    """MGP-15.2-1"""
    user = shell.folder / ".config/mgp/servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text(plain("echo", "user") + plain("echo", "both").replace("echo.py", "absent.py"))
    shell.write("mgp.toml", plain("echo", "project") + plain("echo", "both"))
    named = shell.write("named.toml", plain("echo", "named"))
    with serving(shell):
        assert listed(shell) == dict.fromkeys(("project", "both", "user"), "connected")
    shell.environment["MGP_CONFIG_PATH"] = str(named)
    with serving(shell):
        assert listed(shell) == {"named": "connected"}


def test_without_an_mgp_table_nothing_of_mgp_is_spoken_to_the_server(shell: Shell) -> None:
    """MGP-15.2-4 MGP-15.2-9"""
    shell.environment["CEREBRAS_API_KEY"] = "k"
    server = f"{sys.executable} {SERVERS / 'mgp_server.py'}"
    text = SPECIFIED.replace("mind.cerebras", "full").replace(json.dumps(sys.executable), '"sh"')
    old = json.dumps(str(SERVERS / "mgp_server.py"))
    text = text.replace(old, json.dumps("-c") + ", " + json.dumps(f"tee full.log | {server}"))
    bare = text[: text.index("[servers.mgp]")].replace("full", "bare")
    shell.write("mgp.toml", text + bare)
    with serving(shell):
        found = {one["id"]: one for one in shell.run("server", "list", "--json").document}
    assert [found[name]["status"] for name in ("full", "bare")] == ["connected", "connected"]
    assert "mgp" in (shell.folder / "full.log").read_text()
    received = (shell.folder / "bare.log").read_text()
    assert "tools/list" in received
    assert "mgp" not in received
    assert found["full"]["mgp_version"]
    assert not found["bare"].get("mgp_version")


def test_what_is_not_known_is_a_warning_and_the_rest_runs(shell: Shell) -> None:
    """MGP-15.2-5"""
    text = "[future]\nx = 1\n" + plain("echo", "a") + "novel = true\n[servers.other]\ny = 2\n"
    file = shell.write("mgp.toml", text)
    done = shell.run("config", "check", "--json")
    assert done.code == 0
    assert {(one["level"], one["line"], one["key"]) for one in done.document} == {
        ("warning", 1, "future"),
        ("warning", 7, "servers.a.novel"),
        ("warning", 8, "servers.a.other"),
    }
    with serving(shell) as served:
        assert listed(shell) == {"a": "connected"}
        _, _, err = served.stop()
    assert f"warning: {file}:1: future" in err


def test_a_reader_of_plain_mcp_starts_the_same_server_from_the_same_file(shell: Shell) -> None:
    """MGP-15.2-9"""
    shell.environment["CEREBRAS_API_KEY"] = "k"
    lines = SPECIFIED.splitlines()
    mgp = slice(lines.index("[servers.mgp]"), lines.index("[servers.env]"))
    names = []
    for text in (lines, [*lines[: mgp.start], *lines[mgp.stop :]]):
        shell.write("mgp.toml", "\n".join(text))
        with serving(shell):
            names.append({one["name"] for one in shell.run("tool", "list", "--json").document})
    assert names[0] == names[1] != set()


def test_the_gateway_exports_itself_and_another_one_runs_it(shell: Shell, tmp_path: Path) -> None:
    """MGP-15.2-8"""
    shell.write("mgp.toml", plain("echo", "inner"))
    other = Shell(tmp_path / "other")
    other.folder.mkdir()
    with serving(shell):
        other.write("mgp.toml", shell.run("server", "export").out)
        other.environment["GATEWRIGHT_STATE"] = str(other.state)
        entry = "[servers.env]\n" + f"GATEWRIGHT_STATE = {json.dumps(str(shell.state))}\n"
        other.write("mgp.toml", (other.folder / "mgp.toml").read_text() + entry)
        with serving(other):
            (found,) = other.run("server", "list", "--json").document
            assert (found["id"], found["status"]) == ("gatewright-upstream", "connected")
            assert found["mgp_version"]
            names = [one["name"] for one in other.run("tool", "list", "--json").document]
            assert any("inner" in name for name in names)
