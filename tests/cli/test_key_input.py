"""A key reaches a command without standing in the process list, and where it does stand there, that is said."""

import os
from pathlib import Path

import pytest

from gatewright.cli.app import tree
from gatewright.cli.global_options import leaves
from gatewright.cli.key_input import IN_VIEW, key_given
from tests.cli.gateways import serving
from tests.cli.shell import Done, Shell


@pytest.fixture
def operator(shell: Shell) -> str:
    return shell.run("key", "create", "op", "--operator").out.strip()


def made(shell: Shell, *words: str, given: str = "", environ: dict[str, str] | None = None) -> Done:
    return shell.run(
        "key", "create", f"bot{os.urandom(4).hex()}", *words, given=given, environ=environ
    )


def test_every_command_that_takes_a_key_takes_it_from_a_file_and_from_standard_input() -> None:
    keyed = [
        (path, leaf)
        for path, leaf in leaves(tree())
        if any("--key" in one.opts for one in leaf.params)
    ]
    assert len(keyed) > 30
    for path, leaf in keyed:
        options = {name: one for one in leaf.params for name in one.opts}
        assert "--key-file" in options, path
        callback = options["--key"].callback
        assert callback is not None, path
        assert "standard input" in options["--key"].help, path
    assert key_given.__module__ == "gatewright.cli.key_input"


def test_a_key_on_the_command_line_is_taken_and_said_to_be_in_view(
    shell: Shell, operator: str
) -> None:
    done = made(shell, "--key", operator)
    assert done.code == 0
    assert done.err.splitlines()[0] == IN_VIEW
    assert "--key-file FILE" in IN_VIEW
    assert "GATEWRIGHT_KEY" in IN_VIEW
    assert operator not in done.err
    assert IN_VIEW not in made(shell, "--key", operator, "--quiet").err


def test_a_file_standard_input_and_the_environment_keep_it_out_of_view(
    shell: Shell, operator: str
) -> None:
    file = shell.write("key", f"{operator}\n")
    file.chmod(0o600)
    for done in (
        made(shell, "--key-file", str(file)),
        made(shell, "--key", "-", given=f"{operator}\nmore"),
        made(shell, "--key", "-", given=operator),
        made(shell, environ={"GATEWRIGHT_KEY": operator}),
        made(shell, "--key-file", str(file), environ={"GATEWRIGHT_KEY": "gw_another"}),
    ):
        assert done.code == 0, done.err
        assert "process list" not in done.err
        assert "chmod" not in done.err


def test_a_file_that_others_may_read_is_said(shell: Shell, operator: str) -> None:
    file = shell.write("key", operator)
    file.chmod(0o640)
    done = made(shell, "--key-file", str(file))
    assert done.code == 0
    assert f"chmod 600 {file}" in done.err


HOSTILE = [
    b"",
    b"\n \n",
    b"one two",
    b"PLANTED\nsecond line",
    b"PLANTED\x00",
    b"PLANTED\xff\xfe",
    "PLANTEDé".encode(),
    b"PLANTED" * 10_000,
    b"PLANTED\x1b[2J",
]


@pytest.mark.parametrize("content", HOSTILE)
def test_what_is_no_key_is_refused_and_never_repeated(shell: Shell, content: bytes) -> None:
    file = shell.folder / "key"
    file.write_bytes(content)
    done = made(shell, "--key-file", str(file))
    assert (done.code, done.error["code"]) == (2, "usage")
    assert "holds no key" in done.error["message"]
    assert "PLANTED" not in done.out + done.err


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_file_that_cannot_be_read_is_named(shell: Shell, name: str) -> None:
    done = made(shell, "--key-file", name)
    assert (done.code, done.error["code"]) == (2, "usage")
    assert f"{name} cannot be read" in done.error["message"]


def test_two_keys_at_once_are_refused(shell: Shell, operator: str) -> None:
    file = shell.write("key", operator)
    for word in ("-", operator):
        done = made(shell, "--key", word, "--key-file", str(file), given=operator)
        assert (done.code, done.error["code"]) == (2, "usage")


def test_a_bridge_keeps_its_standard_input_for_mcp(shell: Shell) -> None:
    done = shell.run("bridge", "--key", "-")
    assert (done.code, done.error["code"]) == (2, "usage")
    assert "GATEWRIGHT_KEY" in done.error["hint"]


def test_connect_writes_the_key_and_says_that_it_was_in_view(shell: Shell) -> None:
    url = ("--url", "http://127.0.0.1:8420/mcp")
    shown = shell.run("connect", "cursor", "--yes", *url, "--key", "gw_planted")
    assert IN_VIEW in shown.err
    hidden = shell.run("connect", "windsurf", "--yes", *url, "--key", "-", given="gw_planted\n")
    assert hidden.code == 0
    assert IN_VIEW not in hidden.err
    written = [*shell.folder.rglob("mcp.json"), *shell.folder.rglob("mcp_config.json")]
    assert [("gw_planted" in file.read_text()) for file in written] == [True, True]


def test_no_process_of_the_demonstration_has_a_key_in_its_arguments(shell: Shell) -> None:
    """Its record of steps is what it ran; the operator's key was in the environment of these."""
    steps = shell.run("demo", "--no-wait", "--json").document
    assert any(step["command"].startswith("gatewright approve ") for step in steps)
    for step in steps:
        assert "--key" not in step["command"]
        assert "gwt_" not in step["command"]


def test_the_processes_of_a_gateway_have_no_token_in_their_arguments(shell: Shell) -> None:
    shell.write("mgp.toml", "")
    with serving(shell):
        lines = [_arguments(one) for one in Path("/proc").glob("[0-9]*/cmdline")]
    assert not [line for line in lines if b"gwt_" in line]


def _arguments(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # it has ended
        return b""
