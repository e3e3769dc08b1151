"""`gatewright init`, and `serve` on a machine where nothing is."""

from __future__ import annotations

import json
import sys
import tomllib

from gatewright.config.schema import FILE
from tests.cli.gateways import EXAMPLES, serving
from tests.cli.shell import Shell


def test_on_an_empty_machine_a_file_is_written_that_is_right_and_serves(shell: Shell) -> None:
    done = shell.run("init")
    assert (done.code, done.out.splitlines()) == (
        0,
        [
            shell.typed("server add NAME -- COMMAND ARGS"),
            shell.typed("serve"),
            shell.typed("tool list"),
            shell.typed("connect HOST"),
        ],
    )
    text = (shell.folder / "mgp.toml").read_text()
    assert text.startswith(f"#:schema {FILE.as_uri()}\n")
    assert tomllib.loads(text) == {"gateway": {"host": "127.0.0.1", "port": 8420}}
    assert "the configuration is right" in shell.run("config", "check").err
    with serving(shell) as served:
        assert served.url.startswith("http://127.0.0.1:")
        assert shell.run("tool", "list", "--json").code == 0


def test_serve_without_any_file_works_and_listens_to_this_machine_alone(shell: Shell) -> None:
    with serving(shell) as served:
        assert served.url.startswith("http://127.0.0.1:")
        assert shell.run("tool", "list", "--json").code == 0
        assert shell.run("config", "path").out == ""


def test_the_next_steps_lead_to_a_call_in_the_record(shell: Shell) -> None:
    steps = shell.run("init", "--json").document["next"]
    assert steps[0] == shell.typed("server add NAME -- COMMAND ARGS")
    demo = str(EXAMPLES / "demo_server.py")
    assert shell.run("server", "add", "demo", "--", sys.executable, demo).code == 0
    with serving(shell):
        assert shell.run("tool", "call", "demo__add", "a=2", "b=3").code == 0
        assert "demo" in shell.run("audit", "tail").out


def test_a_file_that_is_there_stays_unless_it_is_to_go(shell: Shell) -> None:
    file = shell.write("mgp.toml", "# ours\n")
    done = shell.run("init")
    assert (done.code, done.error["code"], file.read_text()) == (2, "exists", "# ours\n")
    found = shell.run("init", "--force", "--json").document
    assert found["kept"] == f"{file}.bak"
    assert (shell.folder / "mgp.toml.bak").read_text() == "# ours\n"
    again = shell.run("init", "--force", "--json").document
    assert again["kept"] == f"{file}.bak1"
    assert (shell.folder / "mgp.toml.bak").read_text() == "# ours\n"
    assert "[gateway]" in file.read_text()


def test_another_file_can_be_named(shell: Shell) -> None:
    found = shell.run("init", "--config", "below/other.toml", "--json").document
    assert found["file"] == str(shell.folder / "below/other.toml")
    assert found["next"][-2] == shell.typed(f"tool list --config {shell.folder}/below/other.toml")
    assert not (shell.folder / "mgp.toml").exists()


def hosts(shell: Shell) -> str:
    """A Claude Desktop with one server that works and one that is none; its text."""
    demo = {"command": sys.executable, "args": [str(EXAMPLES / "demo_server.py")]}
    text = json.dumps({"mcpServers": {"demo": {**demo, "env": {"TOKEN": "hunter2-hunter2"}}}})
    path = shell.folder / ".config/Claude/claude_desktop_config.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return text


def test_hosts_are_detected_and_nothing_of_them_is_taken_unasked(shell: Shell) -> None:
    before = hosts(shell)
    found = shell.run("init", "--json").document
    assert (found["servers"], found["import"]) == ([], None)
    assert found["next"][0] == shell.typed("import claude-desktop")
    path = shell.folder / ".config/Claude/claude_desktop_config.json"
    assert path.read_text() == before


def test_servers_of_a_host_serve_after_one_command_more(shell: Shell) -> None:
    hosts(shell)
    done = shell.run("init", "--from", "claude-desktop")
    assert (done.code, done.rows[-1]) == (0, [shell.typed("connect claude-desktop")])
    assert "hunter2" not in (shell.folder / "mgp.toml").read_text() + done.out + done.err
    with serving(shell):
        assert shell.run("tool", "call", "demo__add", "a=2", "b=3").code == 0
        assert "demo" in shell.run("audit", "tail").out


def test_what_a_host_cannot_give_is_told_and_the_rest_is_written(shell: Shell) -> None:
    hosts(shell)
    path = shell.folder / ".config/Claude/claude_desktop_config.json"
    data = json.loads(path.read_text())
    data["mcpServers"]["broken"] = {"args": ["x"]}
    path.write_text(json.dumps(data))
    done = shell.run("init", "--from", "all", "--json")
    assert (done.code, done.document["servers"]) == (8, ["demo"])
    assert [one["server"] for one in done.document["import"]["notes"]] == ["broken"]
    nobody = shell.run("init", "--from", "nobody-at-all", "--config", "other.toml")
    assert nobody.code != 0
    assert (shell.folder / "other.toml").exists()


def test_a_place_that_cannot_remember_costs_a_question_and_not_the_command(shell: Shell) -> None:
    """What is written works; that it is the user's own is asked about once where that could not be kept."""
    shell.accepting = False
    shell.environment["XDG_STATE_HOME"] = "/proc/self/nothing"  # where nobody makes a folder
    first = shell.run("server", "add", "y", "--", "true")
    assert (first.code, "could not be kept" in first.err) == (0, True), first.err
    (shell.folder / "mgp.toml").unlink()
    done = shell.run("init")
    assert (done.code, (shell.folder / "mgp.toml").exists()) == (0, True), done.err
    assert "that it is yours could not be kept" in done.err
    assert "trust.json cannot be written" in done.err
    added = shell.run("server", "add", "x", "--config", "mgp.toml", "--", "true")
    assert added.code == 0, added.err
    assert '"true"' in (shell.folder / "mgp.toml").read_text()
    assert shell.run("config", "check").code == 6
    assert shell.run("config", "check", "--config", "mgp.toml").code == 0
    shell.environment["XDG_STATE_HOME"] = str(shell.folder / "state-home")
    assert shell.run("config", "trust").code == 0
    assert shell.run("config", "check").code == 0
