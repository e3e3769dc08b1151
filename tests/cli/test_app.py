"""The root command: quick help, errors in one line, and nothing imported before it is needed."""

import json
import shlex
import subprocess
import sys
import time

import pytest

from gatewright.cli.app import COMMANDS
from tests.cli.shell import DEADLINE_S, Shell

HEAVY = ("mcp", "sqlalchemy", "uvicorn", "aiohttp", "starlette", "rich", "sqlite3", "websockets")

PROBE = """
import sys
before = set(sys.modules)  # what measures this run may have loaded anything
from gatewright.cli.app import run
code = run(sys.argv[2:])
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(code, *sorted(loaded & set(sys.argv[1].split(","))), file=sys.stderr)
"""


def exit_code_and_loaded(shell: Shell, *arguments: str, watched: tuple[str, ...]) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, ",".join(watched), *arguments],
        capture_output=True,
        text=True,
        env=shell.environ(),
        cwd=shell.folder,
        timeout=DEADLINE_S,
        check=True,
    )
    return ended.stderr.splitlines()[-1].split()


def test_the_help_imports_no_part_of_the_gateway(shell: Shell) -> None:
    assert exit_code_and_loaded(shell, "--help", watched=HEAVY) == ["0"]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_a_command_imports_no_server_and_no_web_stack(
    shell: Shell, command: str
) -> None:
    watched = ("mcp", "sqlalchemy", "uvicorn", "aiohttp", "starlette", "jsonschema_rs", "rich")
    assert exit_code_and_loaded(shell, command, "--help", watched=watched) == ["0"]


@pytest.mark.parametrize("words", [("bridge",), ("audit", "tail"), ("tool", "list")])
def test_a_light_command_that_runs_imports_no_server_and_no_web_stack(
    shell: Shell, words: tuple[str, ...]
) -> None:
    watched = ("mcp", "sqlalchemy", "uvicorn", "aiohttp", "starlette", "jsonschema_rs", "rich")
    assert exit_code_and_loaded(shell, *words, watched=watched) == ["4"]


def test_the_help_comes_at_once(shell: Shell) -> None:
    """Compared with Python itself, so that a slow machine does not matter."""

    def spent(*command: str) -> float:
        begun = time.perf_counter()
        subprocess.run(
            command, check=True, capture_output=True, env=shell.environ(), timeout=DEADLINE_S
        )
        return time.perf_counter() - begun

    bare = (sys.executable, "-c", "import asyncio, json, argparse, subprocess, difflib")
    rounds = [(spent(*bare), spent(*shell.command("--help"))) for _ in range(5)]
    assert min(ours for _, ours in rounds) < 4 * min(python for python, _ in rounds) + 0.1


def test_the_help_names_every_command_and_every_command_has_help(shell: Shell) -> None:
    shown = shell.run("--help")
    assert shown.code == 0
    assert "--install-completion" not in shown.out
    for name in COMMANDS:
        assert f"\n  {name} " in shown.out
        own = shell.run(name, "--help")
        assert own.code == 0
        assert f"Usage: gatewright {name}" in own.out


def test_on_a_terminal_the_help_is_for_people(shell: Shell) -> None:
    shown = shell.run_at_terminal("--help")
    assert shown.code == 0
    assert "Commands" in shown.out
    assert "bridge" in shown.out


def test_a_wrong_word_is_answered_with_the_right_one(shell: Shell) -> None:
    done = shell.run("toool", "list")
    assert (done.code, done.out) == (2, "")
    assert done.error == {
        "code": "usage",
        "message": "No such command 'toool'. Did you mean 'tool'?",
        "hint": "gatewright --help",
    }


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("tool", "call"), "gatewright tool call --help"),
        (("audit", "tail", "--nope"), "gatewright audit tail --help"),
        (("serve", "--port", "70000"), "gatewright serve --help"),
    ],
)
def test_wrong_use_exits_with_2_and_points_to_the_help(
    shell: Shell, arguments: tuple[str, ...], hint: str
) -> None:
    done = shell.run(*arguments)
    assert (done.code, done.error["code"], done.error["hint"]) == (2, "usage", hint)


@pytest.mark.parametrize("arguments", [(), ("tool",)])
def test_a_group_without_a_command_shows_its_help(shell: Shell, arguments: tuple[str, ...]) -> None:
    done = shell.run(*arguments)
    assert done.code == 2
    assert "Usage: gatewright" in done.out + done.err


def test_a_wrong_configuration_is_an_error_with_file_and_line(shell: Shell) -> None:
    shell.write("mgp.toml", "[gateway]\nport = 'x'\n")
    done = shell.run("tool", "list", "--config", "mgp.toml")
    assert done.code == 2
    assert done.error["code"] == "configuration"
    assert "mgp.toml:2: gateway.port" in done.error["message"]


def test_a_damaged_store_is_an_error_in_one_line(shell: Shell) -> None:
    shell.state.mkdir()
    (shell.state / "state.db").write_bytes(b"this is no database" * 1000)
    done = shell.run("key", "list")
    assert (done.code, done.error["code"]) == (1, "store")
    assert str(shell.state) in done.error["message"]


@pytest.mark.parametrize("command", [("key", "list"), ("serve", "--port", "0")])
def test_a_folder_that_cannot_be_is_named(shell: Shell, command: tuple[str, ...]) -> None:
    place = shell.write("file", "") / "state"
    done = shell.run(*command, environ={"GATEWRIGHT_STATE": str(place)})
    assert (done.code, done.out, done.error["code"]) == (1, "", "file")
    assert str(place) in done.error["message"]


def test_a_bug_is_one_line_and_its_traceback_comes_on_request(shell: Shell) -> None:
    (shell.state / "gateway.json").mkdir(parents=True)
    broken = shell.write("sitecustomize.py", "import json\n")
    broken.write_text(
        "import gatewright.cli.running as running\n"
        "def fail(*args, **more): raise ZeroDivisionError('planted')\n"
        "running.read_running = fail\n"
    )
    environ = {"PYTHONPATH": str(shell.folder)}
    done = shell.run("tool", "list", environ=environ)
    assert (done.code, len(done.err.splitlines())) == (1, 1)
    assert done.error["message"] == "ZeroDivisionError: planted"
    loud = shell.run("tool", "list", environ={**environ, "GATEWRIGHT_DEBUG": "1"})
    assert "Traceback" in loud.err
    assert loud.error == done.error


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(shell: Shell) -> None:
    many = "".join(f'[[servers]]\nid = "s{n}"\ncommand = "x"\n' for n in range(400))
    shell.write("mgp.toml", many)
    process = subprocess.Popen(
        shell.command("config", "show"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=shell.environ(),
        cwd=shell.folder,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(DEADLINE_S), said) == (1, b"")


def test_completion_is_offered_for_the_shell_that_asks(shell: Shell) -> None:
    # Two commands, so that bash stays and is seen as the parent.
    line = f"{shlex.join(shell.command('--show-completion'))}; exit $?"
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        env=shell.environ(),
        timeout=DEADLINE_S,
        check=True,
    )
    assert "complete -o default -F _gatewright_completion gatewright" in done.stdout


@pytest.mark.parametrize("words", [("completion", "bash"), ("version", "--json")])
def test_output_for_which_there_is_no_room_is_no_bug(shell: Shell, words: tuple[str, ...]) -> None:
    with (shell.folder / "out").open("wb") as out:
        ended = subprocess.run(
            ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *shell.command(*words)],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            env=shell.environ(),
            cwd=shell.folder,
            timeout=DEADLINE_S,
            check=False,
        )
    assert ended.returncode == 1
    error = json.loads(ended.stderr.splitlines()[-1])["error"]
    assert (error["code"], error["message"]) == (
        "not_written",
        "the output cannot be written: File too large",
    )
