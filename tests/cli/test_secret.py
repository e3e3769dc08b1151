"""`gatewright secret`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.shell import Shell

ROOT = Path(__file__).resolve().parents[2]


def test_a_secret_is_kept_listed_tried_and_forgotten_and_never_shown(shell: Shell) -> None:
    where, file = str(shell.state / "secrets.sealed"), str(shell.folder / "mgp.toml")
    done = [
        shell.run("secret", "set", "token", given="hunter2\n"),
        shell.run("secret", "set", "token", "--json", given="hunter2"),
        shell.run("secret", "list"),
        shell.run("secret", "list", "--json"),
        shell.run("secret", "test"),
        shell.run("secret", "test", "token", "--json"),
        shell.run("secret", "rm", "token"),
        shell.run("secret", "list", "--json"),
    ]
    assert [one.code for one in done] == [0] * 8
    assert not any("hunter2" in one.out + one.err for one in done)
    kept, replaced, rows, listed, tried, tested, _, empty = done
    assert kept.out == ""
    assert "write ${secret:token}" in kept.err
    assert replaced.document == {"name": "token", "where": where, "replaced": True, "for": [file]}
    assert rows.rows == [["token", where, file]]
    assert listed.document == [{"name": "token", "where": where, "for": [file]}]
    assert tried.rows == [["token", "ok"]]
    assert tested.document == [{"name": "token", "ok": True, "message": ""}]
    assert empty.document == []


def test_ctrl_d_instead_of_a_value_ends_the_command_and_keeps_nothing(shell: Shell) -> None:
    done = shell.run_at_terminal("secret", "set", "token", answers="\x04", after="not shown")
    assert done.code == 130
    assert "internal" not in done.out + done.err
    assert shell.run("secret", "list", "--json").document == []


def test_a_person_is_asked_and_nothing_is_echoed(shell: Shell) -> None:
    done = shell.run_at_terminal("secret", "set", "token", answers="hunter2\n", after="not shown")
    assert done.code == 0
    assert "value of token (not shown)" in done.out
    assert "kept in" in done.out
    assert "hunter2" not in done.out
    assert shell.run("secret", "test").rows == [["token", "ok"]]


def test_a_value_on_the_command_line_is_refused_and_not_repeated(shell: Shell) -> None:
    for words in (("token", "hunter2"), ("token=hunter2",), ("hunter2 ",)):
        done = shell.run("secret", "set", *words, given="x")
        assert (done.code, done.error["code"]) == (2, "usage")
        assert "hunter2" not in done.out + done.err
    assert shell.run("secret", "list").out == ""


def test_nothing_is_no_value_and_a_wrong_text_is_none(shell: Shell) -> None:
    assert "empty" in shell.run("secret", "set", "token", given="\n").error["message"]
    done = shell.run("secret", "set", "token", given="a\0b")
    assert "NUL" in done.error["message"]


def test_a_name_nobody_gave_is_told(shell: Shell) -> None:
    for command in ("rm", "test"):
        done = shell.run("secret", command, "gone")
        assert (done.code, done.error["code"]) == (2, "not_found")


def test_a_key_that_others_can_read_is_refused_with_the_way_out(shell: Shell) -> None:
    shell.run("secret", "set", "token", given="hunter2")
    key = shell.state / "secrets.key"
    key.chmod(0o644)
    done = shell.run("secret", "test")
    assert done.code == 1
    assert f"chmod 600 {key}" in done.error["message"]


def test_a_secret_whose_value_is_gone_from_the_keyring_fails_the_test(shell: Shell) -> None:
    ring = shell.folder / "ring.json"
    environ = {
        "PYTHON_KEYRING_BACKEND": "tests.audit.ring.FileRing",
        "PYTHONPATH": str(ROOT),
        "TEST_RING": str(ring),
    }
    shell.run("secret", "set", "token", given="hunter2", environ=environ)
    assert "hunter2" in ring.read_text()
    assert shell.run("secret", "test", environ=environ).rows == [["token", "ok"]]
    ring.unlink()
    done = shell.run("secret", "test", environ=environ)
    assert (done.code, done.rows) == (8, [["token", "its value is gone"]])


def test_the_configuration_says_where_secrets_are_kept(shell: Shell) -> None:
    shell.write("mgp.toml", '[secrets]\nstore = "file"\nkey_file = "elsewhere/key"\n')
    assert shell.run("secret", "set", "token", given="hunter2").code == 0
    assert (shell.folder / "elsewhere/key").stat().st_mode & 0o777 == 0o600
    assert shell.run("secret", "test").rows == [["token", "ok"]]


def test_a_new_value_is_not_for_those_who_could_use_the_old_one(shell: Shell) -> None:
    one, other = (str(shell.folder / name) for name in ("one.toml", "other.toml"))
    for name in (one, other):
        Path(name).write_text("")
    assert shell.run("secret", "set", "token", "--config", one, given="old").code == 0
    done = shell.run("secret", "set", "token", "--config", other, given="new")
    assert f"it is for {other} alone" in done.err
    assert f"not for {one}, which could use the old one" in done.err
    assert shell.run("secret", "list", "--json").document == [
        {"name": "token", "where": str(shell.state / "secrets.sealed"), "for": [other]}
    ]


def test_a_new_value_of_a_secret_that_is_shared_stays_shared(shell: Shell) -> None:
    one, other = (str(shell.folder / name) for name in ("one.toml", "other.toml"))
    for name in (one, other):
        Path(name).write_text("")
    shell.run("secret", "set", "token", "--config", one, given="old")
    shell.run("secret", "allow", "token", "--config", other)
    done = shell.run("secret", "set", "token", "--config", one, given="new")
    assert f"it is for {one}, {other} alone" in done.err
    assert "the old one" not in done.err
