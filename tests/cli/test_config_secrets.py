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
    assert values["servers.a.auth.client_secret"] == "${SECRET}"
    assert values["servers.a.auth.client_id"] == "me"
    assert values["servers.a.auth.bearer"] == ""
    assert values["servers.b.auth.bearer"] == "${SECRET}"


def test_secrets_in_plain_text_are_warned_of_and_moved_by_a_fix(shell: Shell) -> None:
    file = shell.write(
        "mgp.toml",
        '[[servers]]\nid = "a"\ncommand = "x"\n[servers.env]\nTOKEN = "hunter2-hunter2" # which\n',
    )
    warned = shell.run("config", "check", "--json")
    assert (warned.code, [(one["level"], one["key"]) for one in warned.document]) == (
        0,
        [("warning", "servers.a.env.TOKEN")],
    )
    fixed = shell.run("config", "check", "--fix")
    assert (fixed.code, fixed.out) == (0, "")
    assert "servers.a.env.TOKEN: moved to the secret store; ${secret:a.TOKEN}" in fixed.err
    assert 'TOKEN = "${secret:a.TOKEN}" # which' in file.read_text()
    assert shell.run("secret", "test").rows == [["a.TOKEN", "ok"]]
    assert not any("hunter2" in one.out + one.err for one in (warned, fixed))
    assert "the configuration is right" in shell.run("config", "check").err
