"""`server show`: the configuration without secrets, and what the running gateway knows."""

from tests.cli.endpoints import Endpoint
from tests.cli.shell import Shell

TEXT = """\
[[servers]]
id = "web"
url = "https://user:hunter2@example.com/mcp?key=hunter2"
headers = { Authorization = "hunter2" }
[[servers]]
id = "local"
command = "program"
args = ["hunter2"]
env = { KEY = "hunter2" }
enabled = false
"""
ENTRY = {
    "id": "local",
    "status": "connected",
    "tools": ["local__a"],
    "extensions": [],
    "trust_level": "standard",
}


def test_what_is_configured_is_shown_without_anything_secret(shell: Shell) -> None:
    shell.write("mgp.toml", TEXT)
    done = shell.run("server", "show", "web", "--json")
    assert done.code == 0
    assert done.document["running"] is None
    assert done.document["configured"]["origin"] == f"{shell.folder / 'mgp.toml'}:1"
    local = shell.run("server", "show", "local")
    assert ["enabled", "false"] in local.rows
    assert "hunter2" not in done.out + done.err + local.out + local.err
    assert "no gateway is running" in local.err


def test_what_the_gateway_knows_stands_beside_it(shell: Shell, endpoint: Endpoint) -> None:
    shell.write("mgp.toml", TEXT)
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": [ENTRY]}
    done = shell.run("server", "show", "local", "--json")
    assert done.document["running"] == ENTRY
    assert done.document["configured"]["command"] == "program"
    rows = shell.run("server", "show", "local").rows
    assert rows[0] == ["id", "local"]
    assert ["status", "connected"] in rows
    unknown = shell.run("server", "show", "web")
    assert "does not know it" in unknown.err


def test_a_gateway_elsewhere_knows_by_itself(shell: Shell, endpoint: Endpoint) -> None:
    shell.write("mgp.toml", TEXT)
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": [{**ENTRY, "id": "far"}]}
    far = shell.run("server", "show", "far", "--url", endpoint.url, "--json")
    assert (far.document["configured"], far.document["running"]["id"]) == (None, "far")
    gone = shell.run("server", "show", "far", "--url", "http://127.0.0.1:9/mcp")
    assert gone.code == 4


def test_the_permissions_of_a_server_are_shown_with_how_they_stand(
    shell: Shell, endpoint: Endpoint
) -> None:
    """MGP-3.1-1"""
    shell.write("mgp.toml", TEXT)
    entry = ENTRY | {"permissions": {"camera": "denied", "system.info": "approved"}}
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": [entry]}
    rows = shell.run("server", "show", "local").rows
    assert ["permissions", "camera denied, system.info approved"] in rows


def test_each_tool_that_nobody_sees_is_shown_with_why(shell: Shell, endpoint: Endpoint) -> None:
    shell.write("mgp.toml", '[[servers]]\nid = "files"\ncommand = "program"\n')
    entry = ENTRY | {
        "id": "files",
        "held_back": {"count": 3, "tools": [{"name": "wipe", "why": "it has changed"}]},
        "left_out": {"count": 1, "tools": [{"name": "big", "why": "its description is long"}]},
    }
    endpoint.replies["mgp/discovery/list"] = lambda _: {"servers": [entry]}
    done = shell.run("server", "show", "files")
    assert done.rows[-3:] == [
        ["held back", "wipe: it has changed"],
        ["held back", "and 2 more"],
        ["left out", "big: its description is long"],
    ]
    assert "gatewright server pin files" in done.err
