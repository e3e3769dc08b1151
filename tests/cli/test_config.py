"""`config check`, `show` and `path`."""

from tests.cli.shell import Shell

FILE = """\
[gateway]
port = 9000
prot = 1
[[servers]]
id = "files"
command = "python3"
args = ["a", "b"]
[servers.env]
TOKEN = "${TOKEN}"
[servers.mgp]
trust_level = "sandboxed"
[[grants]]
agent = "bot"
server = "files"
"""


def test_a_right_file_is_right(shell: Shell) -> None:
    shell.write("mgp.toml", FILE.replace("prot = 1\n", ""))
    done = shell.run("config", "check", environ={"TOKEN": "x"})
    assert (done.code, done.out) == (0, "")
    assert "the configuration is right" in done.err
    assert shell.run("config", "check", "--json", environ={"TOKEN": "x"}).document == []


def test_where_nothing_is_configured_nothing_is_called_right(shell: Shell) -> None:
    """A missing file, and one without servers, are what a person forgot; both work."""
    done = shell.run("config", "check")
    assert (done.code, "is right" in done.err, shell.typed("init") in done.err) == (0, False, True)
    shell.write("mgp.toml", "[gateway]\n")
    done = shell.run("config", "check")
    assert (done.code, "is right" in done.err, shell.typed("server add") in done.err) == (
        0,
        True,
        True,
    )


def test_warnings_are_told_and_pass(shell: Shell) -> None:
    shell.write("mgp.toml", FILE)
    done = shell.run("config", "check", environ={"TOKEN": "x"})
    assert done.code == 0
    ((level, text),) = done.rows
    assert level == "warning"
    assert "mgp.toml:3: gateway.prot: " in text


def test_what_is_wrong_is_told_with_place_and_way_out_and_exit_code_8(shell: Shell) -> None:
    shell.write("mgp.toml", FILE.replace("9000", "'x'").replace("sandboxed", "high"))
    done = shell.run("config", "check", "--json", environ={"TOKEN": "x"})
    assert done.code == 8
    assert [(one["level"], one["line"], one["key"]) for one in done.document] == [
        ("error", 2, "gateway.port"),
        ("error", 11, "servers.files.mgp.trust_level"),
    ]
    assert all(one["hint"] and one["message"] for one in done.document)


def test_a_server_that_stays_down_is_an_error_of_the_check(shell: Shell) -> None:
    shell.write("mgp.toml", FILE)
    done = shell.run("config", "check")
    assert done.code == 8
    assert [row[0] for row in done.rows] == ["error", "warning"]
    assert "the environment variable TOKEN is not set" in done.rows[0][1]


def test_what_is_in_force_is_shown_with_its_origin_and_without_secrets(shell: Shell) -> None:
    path = shell.write("mgp.toml", FILE)
    done = shell.run("config", "show", "--origin", environ={"TOKEN": "hunter2"})
    assert done.code == 0
    assert "hunter2" not in done.out
    values = {row[0]: row[1:] for row in done.rows}
    assert values["gateway.port"] == ["9000", f"{path}:2"]
    assert values["gateway.host"] == ["127.0.0.1", "default"]
    assert values["servers.files.args"] == ["a, b", f"{path}:7"]
    assert values["servers.files.env.TOKEN"] == ["${TOKEN}", f"{path}:9"]
    assert values["servers.files.mgp.trust_level"] == ["sandboxed", f"{path}:11"]
    assert values["servers.files.restart.max_restarts"] == ["5", "default"]
    assert values["grants.0.agent"] == ["bot", f"{path}:13"]
    plain = shell.run("config", "show", environ={"TOKEN": "hunter2"})
    assert ["gateway.port", "9000"] in plain.rows
    document = shell.run("config", "show", "--json", environ={"TOKEN": "hunter2"})
    assert document.document["gateway.port"] == {"value": 9000, "origin": f"{path}:2"}
    assert "hunter2" not in document.out


def test_why_a_server_stays_down_is_shown(shell: Shell) -> None:
    shell.write("mgp.toml", FILE)
    values = dict(shell.run("config", "show").rows)
    assert values["servers.files.stays_down"] == "the environment variable TOKEN is not set"


def test_the_files_that_count_are_named(shell: Shell) -> None:
    project = shell.write("mgp.toml", FILE)
    user = shell.folder / ".config/mgp/servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text("")
    assert shell.run("config", "path").rows == [[str(project)], [str(user)]]
    assert shell.run("config", "path", "-c", str(user)).rows == [[str(user)]]
    assert shell.run("config", "path", "--json").document == [str(project), str(user)]


def test_without_a_file_the_one_that_would_be_read_is_named(shell: Shell) -> None:
    done = shell.run("config", "path")
    assert (done.code, done.out) == (0, "")
    assert "mgp.toml" in done.err


def test_what_comes_from_the_secret_store_is_shown_as_it_is_written(shell: Shell) -> None:
    shell.run("secret", "set", "token", given="hunter2")
    shell.write(
        "mgp.toml",
        """\
[[servers]]
id = "a"
command = "x"
args = ["--token", "${secret:token}"]
env = { WHOLE = "Bearer ${secret:token}", PART = "hunter3${secret:token}", LITERAL = "hunter4" }
[[servers]]
id = "b"
url = "http://127.0.0.1:1/mcp?key=${secret:token}"
""",
    )
    for extra in ((), ("--json",), ("--origin",)):
        done = shell.run("config", "show", *extra)
        assert done.code == 0
        assert not any(word in done.out for word in ("hunter2", "hunter3", "hunter4"))
    values = {row[0]: row[1] for row in done.rows}
    assert values["servers.a.args"] == "--token, ${secret:token}"
    assert values["servers.a.env.WHOLE"] == "Bearer ${secret:token}"
    assert (values["servers.a.env.PART"], values["servers.a.env.LITERAL"]) == ("***", "***")
    assert values["servers.b.url"].endswith("key=${secret:token}")


def test_the_schema_is_printed(shell: Shell) -> None:
    done = shell.run("config", "schema")
    assert (done.code, done.document["title"]) == (0, "mgp.toml")
    assert shell.run("config", "schema", "--json").document == done.document


def test_a_word_that_is_nearly_right_is_corrected(shell: Shell) -> None:
    shell.write(
        "mgp.toml",
        '[gatway]\n[gateway]\nprot = 1\nanonymous = "alow"\n[[servers]]\nid = "a"\ncomand = "x"\n',
    )
    done = shell.run("config", "check", "--json")
    hints = {(one["line"], one["key"]): one["hint"] for one in done.document}
    assert hints[4, "gateway.anonymous"].startswith('did you mean "allow"? write one of')
    shell.write("mgp.toml", "[gatway]\n[gateway]\nprot = 1\n")
    done = shell.run("config", "check", "--json")
    hints = {(one["line"], one["key"]): one["hint"] for one in done.document}
    assert hints == {
        (1, "gatway"): "did you mean gateway?",
        (3, "gateway.prot"): "did you mean port?",
    }
