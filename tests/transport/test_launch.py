from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from gatewright.transport.launch import (
    CannotStart,
    CommandNotFound,
    NoSuchDirectory,
    NotExecutable,
    child_environment,
    launch,
)

PATH = os.environ["PATH"]


def output(command: str, *args: str, cwd: str | None = None, **env: str) -> str:
    process = launch(command, args, env={"PATH": PATH, **env}, cwd=cwd)
    out, _ = process.communicate(timeout=20)
    return out.decode()


def test_a_child_inherits_a_few_harmless_variables_and_no_others() -> None:
    ours = {"HOME": "/h", "PATH": "/bin", "LANG": "C", "SECRET_KEY": "x", "LC_ALL": "() { :; }"}
    assert child_environment({"A": "1"}, ours) == {
        "HOME": "/h",
        "PATH": "/bin",
        "LANG": "C",
        "A": "1",
    }


def test_what_is_given_wins_over_what_is_inherited_and_a_path_is_always_there() -> None:
    assert child_environment({"HOME": "/mine"}, {"HOME": "/h"}) == {
        "HOME": "/mine",
        "PATH": os.defpath,
    }


def test_a_secret_of_the_gateway_never_reaches_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWRIGHT_SECRET", "do-not-tell")
    assert "do-not-tell" not in output("env")
    assert "given=1" in output("env", given="1")


def test_a_child_gets_no_descriptor_but_its_three_streams(tmp_path: Path) -> None:
    look = "import os, sys; print(os.path.exists(f'/dev/fd/{sys.argv[1]}'))"
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        assert output(sys.executable, "-c", look, str(secret.fileno())) == "False\n"
        assert output(sys.executable, "-c", look, "2") == "True\n"


def test_a_child_leads_a_process_group_of_its_own() -> None:
    process = launch("cat", (), env={}, cwd=None)
    try:
        assert os.getpgid(process.pid) == process.pid
        assert os.getsid(process.pid) == process.pid
    finally:
        process.communicate(timeout=20)


def test_a_relative_command_is_looked_for_in_the_working_directory(tmp_path: Path) -> None:
    program = tmp_path / "server"
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    assert output("./server", cwd=str(tmp_path)) == f"{tmp_path.resolve()}\n"


def test_a_command_is_looked_up_on_the_path_that_the_child_is_given(tmp_path: Path) -> None:
    program = tmp_path / "only-here"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    assert output("only-here", PATH=f"{tmp_path}:{PATH}") == "found\n"


def test_a_command_that_does_not_exist_is_named_with_what_to_do() -> None:
    with pytest.raises(CommandNotFound, match=r"'no-such-server' is not on PATH; install it"):
        output("no-such-server")
    with pytest.raises(CommandNotFound, match="no file /no/such/server"):
        output("/no/such/server")
    with pytest.raises(CommandNotFound, match="empty"):
        output("")


def test_a_file_that_is_not_executable_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("hello")
    with pytest.raises(NotExecutable, match="chmod"):
        output(str(tmp_path / "plain"))
    with pytest.raises(NotExecutable, match="chmod"):
        output("plain", PATH=str(tmp_path))
    with pytest.raises(NotExecutable, match="not an executable file"):
        output(str(tmp_path) + "/")


def test_an_executable_without_a_program_in_it_is_explained(tmp_path: Path) -> None:
    for name, text in (("text", "hello"), ("script", "#!/no/such/interpreter\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    with pytest.raises(NotExecutable, match="no #! line"):
        output(str(tmp_path / "text"))
    with pytest.raises(CommandNotFound, match="interpreter in its first line"):
        output(str(tmp_path / "script"))


def test_a_missing_working_directory_is_not_blamed_on_the_command(tmp_path: Path) -> None:
    with pytest.raises(NoSuchDirectory, match="working directory"):
        output("cat", cwd=str(tmp_path / "gone"))


def test_an_argument_that_cannot_be_passed_is_an_error_with_a_name() -> None:
    with pytest.raises(CannotStart, match="null"):
        output("cat", "a\0b")
    with pytest.raises(CannotStart, match="too long"):
        output("cat", "x" * (1 << 24))
