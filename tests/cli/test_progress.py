"""Progress is for a person who waits: on a terminal, after two seconds, and never in the data."""

import os
import subprocess
import threading

from gatewright.cli.progress import Progress
from tests import fork_server
from tests.cli.shell import DEADLINE_S, Shell

SLOW = """\
[[servers]]
id = "slow-one"
command = "sleep"
args = ["60"]
connect_timeout_s = 4
"""


def test_a_person_who_waits_for_long_sees_what_for(shell: Shell) -> None:
    shell.write("mgp.toml", SLOW)
    done = shell.run_at_terminal("server", "check", "--timeout", "2.5")
    assert done.code == 8
    assert "starting slow-one" in done.out


def test_the_answer_stays_on_its_pipe_while_a_person_watches(shell: Shell) -> None:
    """Standard error is a terminal, standard output is not."""
    shell.write("mgp.toml", SLOW)
    ours, theirs = os.openpty()
    process = fork_server.Popen(
        shell.command("doctor"),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        cwd=shell.folder,
        env=shell.environ({"TERM": "xterm"}),
    )
    os.close(theirs)
    out, _ = process.communicate(timeout=DEADLINE_S)
    watched = os.read(ours, 1 << 20).decode()
    os.close(ours)
    rows = [row.split("\t") for row in out.splitlines()]
    assert ["problem", "server", "slow-one"] in [row[:3] for row in rows]
    assert "slow-one" in watched
    assert "\tserver\t" not in watched


def test_what_is_quick_or_for_a_program_shows_nothing(shell: Shell) -> None:
    shell.write("mgp.toml", '[[servers]]\nid = "a"\ncommand = "no-such-program-here"\n')
    assert "starting" not in shell.run_at_terminal("server", "check").out
    shell.write("mgp.toml", SLOW)
    piped = shell.run("server", "check", "--timeout", "2.5")
    assert "starting" not in piped.out + piped.err


def test_without_a_terminal_no_timer_is_started() -> None:
    before = threading.active_count()
    with Progress("waiting", after_s=0.0) as progress:
        progress.say("still waiting")
        assert threading.active_count() == before
