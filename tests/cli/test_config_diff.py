"""`config diff`."""

from tests.cli.shell import Shell

FILE = """\
[gateway]
port = 9000
host = "127.0.0.1"
[[servers]]
id = "a"
command = "x"
env = { K = "hunter2" }
[[grants]]
agent = "bot"
server = "a"
"""


def test_against_the_defaults_it_shows_what_the_file_changes(shell: Shell) -> None:
    path = shell.write("mgp.toml", FILE)
    done = shell.run("config", "diff")
    assert (done.code, "hunter2" in done.out) == (0, False)
    rows = {row[0]: row[1:] for row in done.rows}
    assert rows["gateway.port"] == ["8420", "9000", f"{path}:2"]
    assert rows["servers.a"] == ["", "stdio", f"{path}:4"]
    assert rows["grants.0.agent"] == ["", "bot", f"{path}:9"]
    assert not {"gateway.host", "servers", "grants"} & set(rows)


def test_against_another_file_it_shows_what_that_would_change(shell: Shell) -> None:
    shell.write("mgp.toml", FILE)
    other = shell.write(
        "other.toml",
        FILE.replace('"x"', '"y"').replace("9000", "8420")
        + '[[servers]]\nid = "b"\ncommand = "x"\n',
    )
    found = shell.run("config", "diff", "other.toml", "--json").document
    assert found == [
        {"key": "gateway.port", "before": 9000, "after": 8420, "origin": f"{other.name}:2"},
        {"key": "servers.a.command", "before": "x", "after": "y", "origin": f"{other.name}:6"},
        {"key": "servers.b", "before": None, "after": "stdio", "origin": f"{other.name}:11"},
    ]


def test_two_equal_files_have_no_difference(shell: Shell) -> None:
    shell.write("mgp.toml", FILE)
    done = shell.run("config", "diff", "mgp.toml")
    assert (done.code, done.out) == (0, "")
    assert "no difference" in done.err
