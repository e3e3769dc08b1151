"""`run`: one server behind every gate, from a command, a file or a URL, and nothing left behind."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gatewright.cli.errors import CliError
from gatewright.cli.run import server_of
from tests import fork_server
from tests.cli.gateways import EXAMPLES, Served, serving
from tests.cli.shell import DEADLINE_S, Shell

DEMO = str(EXAMPLES / "demo_server.py")


@contextmanager
def running(shell: Shell, *arguments: str, temporary: str = "") -> Iterator[Served]:
    """`gatewright run` with these arguments, until the block ends."""
    process = fork_server.Popen(
        shell.command("run", *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=shell.environ({"TMPDIR": temporary} if temporary else {}),
        cwd=shell.folder,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready "):
            _, err = process.communicate(timeout=DEADLINE_S)
            raise AssertionError(f"not ready: {line!r}; {err}")
        yield Served(process, line)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=DEADLINE_S)


@pytest.mark.parametrize("spec", [[DEMO], ["--", sys.executable, DEMO]])
def test_a_file_or_a_command_is_called_through_every_gate_and_recorded(
    shell: Shell, spec: list[str]
) -> None:
    kept = shell.folder / "kept"
    with running(shell, "--state", str(kept), *spec) as one:
        assert one.url.startswith("http://127.0.0.1:")
        called = shell.run("tool", "call", "demo_server__add", "a=2", "b=3", "--url", one.url)
        assert (called.code, called.out) == (0, "5\n")
    records = shell.run("audit", "tail", "--json", environ={"GATEWRIGHT_STATE": str(kept)})
    tools = [
        record["target"].get("tool_name") for record in map(json.loads, records.out.splitlines())
    ]
    assert "add" in tools


def test_a_url_is_a_server_like_any_other(shell: Shell) -> None:
    shell.write(
        "mgp.toml",
        '[gateway]\nanonymous = "allow"\n[[servers]]\nid = "demo"\n'
        f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(DEMO)}]\n"
        '[[grants]]\nagent = "*"\nserver = "demo"\n',
    )
    with serving(shell) as behind, running(shell, behind.url, "--id", "far") as one:
        called = shell.run("tool", "call", "far__demo__add", "a=2", "b=3", "--url", one.url)
        assert (called.code, called.out) == (0, "5\n")


def test_nothing_is_left_behind_unless_it_is_wanted(shell: Shell) -> None:
    temporary = shell.folder / "tmp"
    temporary.mkdir()
    with running(shell, DEMO, temporary=str(temporary)) as one:
        (folder,) = temporary.glob("gatewright-*")
        assert (folder / "audit.db").exists()
        assert one.stop(signal.SIGINT)[0] == 0
    assert list(temporary.iterdir()) == []
    assert not shell.state.exists()


def test_arguments_and_variables_arrive_as_they_were_written(shell: Shell) -> None:
    script = shell.write(
        "tell.py",
        "import os, sys\nopen('told', 'w').write(repr((sys.argv[1:], os.environ.get('T'))))\n",
    )
    done = shell.run("run", "--env", "T=${HOME}", str(script), "--", "--flag", "${HOME}", "a b")
    assert done.code == 4
    assert Path(shell.folder / "told").read_text() == repr(
        (["--flag", "${HOME}", "a b"], "${HOME}")
    )


def test_over_stdio_a_host_is_served_without_a_word_before(shell: Shell) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = shell.run("run", "--stdio", DEMO, given=json.dumps(hello) + "\n")
    assert done.code == 0
    assert json.loads(done.out)["result"]["protocolVersion"] == "2025-11-25"


def test_a_file_that_is_no_server_is_told_what_is_missing(shell: Shell) -> None:
    script = shell.write("decorated.py", "def tool(f): return f\n@tool\ndef add(a, b): ...\n")
    done = shell.run("run", str(script))
    assert (done.code, done.out, done.error["code"]) == (4, "", "server_down")
    assert "from gatewright.sdk import mcp_tool, serve" in done.error["hint"]
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        (["--", "no-such-program-here"], "is not on PATH"),
        (["http://127.0.0.1:9/mcp"], "cannot be reached"),
    ],
)
def test_a_server_that_does_not_start_ends_the_command_with_its_cause(
    shell: Shell, spec: list[str], why: str
) -> None:
    done = shell.run("run", *spec)
    assert (done.code, done.error["code"]) == (4, "server_down")
    assert why in done.error["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense.py"],
        ["http://127.0.0.1:9/mcp", "more"],
        ["--env", "NOT_SET_ANYWHERE", "x"],
        ["--env", "1=2", "x"],
    ],
)
def test_a_command_line_that_means_nothing_is_wrong_use(shell: Shell, arguments: list[str]) -> None:
    done = shell.run("run", *arguments)
    assert (done.code, done.error["code"]) == (2, "usage")
    assert done.error["hint"]


@pytest.mark.parametrize(
    ("spec", "ident"),
    [
        (["npx", "-y", "@scope/server-files@1.2"], "server-files"),
        (["uvx", "mcp-server-git"], "mcp-server-git"),
        (["docker", "run", "-i", "mcp/time"], "time"),
        (["python3", "-m", "some.module"], "some-module"),
        (["./tools/mgp"], "server"),
        (["python3"], "python3"),
        (["https://api.example.com/mcp"], "api-example-com"),
    ],
)
def test_a_server_is_called_by_what_runs_and_not_by_its_runner(spec: list[str], ident: str) -> None:
    assert server_of(spec).id == ident


def test_an_id_that_was_given_is_kept() -> None:
    assert server_of(["x"], name="mine").id == "mine"
    with pytest.raises(CliError, match="nothing to run"):
        server_of([])


@pytest.mark.parametrize(
    "name", ["mgp", "gatewright", "kernel", "Gate-Wright", "a/b", "", ".a", "x" * 65]
)
def test_an_id_is_one_that_a_configuration_could_have(name: str) -> None:
    with pytest.raises(CliError) as caught:
        server_of(["--", "x"], name=name)
    assert (caught.value.exit_code, caught.value.code) == (2, "usage")


@pytest.mark.parametrize("word", ["mgp", "gatewright", "kernel", "gatewr1ght", "mgp-", "-"])
def test_a_word_that_reads_as_the_gateways_own_is_no_id(word: str) -> None:
    assert server_of(["--", f"/bin/{word}"][1:]).id == "server"
    assert server_of([f"http://{word}/mcp"]).id == "server"
