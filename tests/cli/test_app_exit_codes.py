"""Every exit code, provoked: a real command as a process, wherever it can be before a real gateway."""

import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest

from gatewright.cli.errors import Exit
from tests import fork_server
from tests.cli.endpoints import running_endpoint
from tests.cli.gateways import DEMO, serving
from tests.cli.shell import DEADLINE_S, Done, Shell

CONFIG = f"""\
{DEMO}[servers.tools.delete_all_notes]
risk_level = "dangerous"
[[grants]]
agent = "local"
server = "demo"
tool = "now"
permission = "deny"
[approvals]
approver = "operator"
hold_s = 0
"""


@pytest.fixture
def served(shell: Shell) -> Iterator[Shell]:
    """A shell beside a running gateway, one tool of which is denied."""
    shell.write("mgp.toml", CONFIG)
    with serving(shell):
        yield shell


def damaged(shell: Shell) -> Done:
    shell.state.mkdir()
    (shell.state / "state.db").write_bytes(b"this is no database" * 1000)
    return shell.run("key", "list")


def broken(shell: Shell) -> Done:
    shell.write("mgp.toml", CONFIG + '[[servers]]\nid = "x"\ncommand = "${NO_SUCH_VARIABLE}"\n')
    return shell.run("config", "check")


def silent(shell: Shell) -> Done:
    with running_endpoint() as endpoint:
        endpoint.replies["tools/list"] = lambda _: {"tools": [{"name": "t", "inputSchema": {}}]}
        endpoint.replies["tools/call"] = lambda _: endpoint.leave_unanswered()
        words = ("tool", "call", "t", "--url", endpoint.url, "--key", "gw_x")
        done = shell.run("--timeout", "0.5", *words)
        endpoint.over.set()
        return done


PROVOKED: dict[int, tuple[str, Callable[[Shell], Done]]] = {
    Exit.UNEXPECTED: ("store", damaged),
    Exit.USAGE: ("usage", lambda shell: shell.run("tool", "call")),
    Exit.UNREACHABLE: ("gateway_unreachable", lambda shell: shell.run("tool", "list")),
    Exit.PROBLEMS: ("configuration", broken),
    Exit.NOT_KNOWN: ("not_known", silent),
}
SERVED: dict[int, tuple[str, tuple[str, ...]]] = {
    Exit.AUTHENTICATION: ("auth_failed", ("tool", "list", "--key", "gw_invented")),
    Exit.TOOL_ERROR: ("tool_failed", ("tool", "call", "demo__read_note", "name=nonsense")),
    Exit.DENIED: ("access_denied", ("tool", "call", "demo__now")),
    Exit.WAITING: ("permission_deferred", ("tool", "call", "demo__delete_all_notes")),
}


def test_every_code_that_there_is_has_a_provocation_here() -> None:
    known = {value for name, value in vars(Exit).items() if name.isupper()}
    elsewhere = {Exit.OK, Exit.INTERRUPTED}
    assert {*PROVOKED, *SERVED} | elsewhere == known


@pytest.mark.parametrize("code", sorted(PROVOKED))
def test_what_goes_wrong_without_a_gateway_has_its_code(shell: Shell, code: int) -> None:
    word, provoke = PROVOKED[code]
    done = provoke(shell)
    assert (done.code, done.error["code"]) == (code, word)
    assert set(done.error) == {"code", "message", "hint"}
    assert done.error["hint"]


def test_what_goes_right_or_wrong_with_a_gateway_has_its_code(served: Shell) -> None:
    assert served.run("tool", "call", "demo__add", "a=1", "b=2").code == Exit.OK
    for code, (word, words) in SERVED.items():
        done = served.run(*words)
        assert (done.code, done.error["code"]) == (code, word), done.err
        assert done.error["hint"] or "`" in done.error["message"]  # the command, said once


@pytest.mark.parametrize(
    "words", [("audit", "tail", "-f"), ("top", "-i", "0.2"), ("top", "--json")]
)
def test_an_interrupted_command_ends_with_130_and_without_a_word(
    served: Shell, words: tuple[str, ...]
) -> None:
    process = fork_server.Popen(
        served.command(*words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=served.environ(),
        cwd=served.folder,
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, err) == (Exit.INTERRUPTED, "")
