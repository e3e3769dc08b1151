"""What a person may read over the operator's shoulder."""

from __future__ import annotations

from tests.cli.shell import Shell

FILE = """\
[[servers]]
id = "a"
url = "https://h.example/mcp"
[servers.auth]
client_id = "me"
client_secret = "${SECRET}"
issuer = "https://as.example"

[[servers]]
id = "b"
url = "https://h.example/mcp"
[servers.auth]
bearer = "${SECRET}"
"""


def test_what_gets_into_protected_servers_is_masked(shell: Shell) -> None:
    shell.write("mgp.toml", FILE)
    for extra in ((), ("--json",), ("--origin",)):
        done = shell.run("config", "show", *extra, environ={"SECRET": "hunter2"})
        assert done.code == 0
        assert "hunter2" not in done.out
    values = {row[0]: row[1] for row in done.rows}
    assert values["servers.a.auth.client_secret"] == "***"
    assert values["servers.a.auth.client_id"] == "me"
    assert values["servers.a.auth.bearer"] == ""
    assert values["servers.b.auth.bearer"] == "***"
