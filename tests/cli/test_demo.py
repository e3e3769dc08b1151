"""The tour: every step is a real command on a real gateway, and what it shows is what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.behaviour.test_hints import at_a_terminal
from tests.cli.shell import DEADLINE_S, Shell

STEPS = [
    "a call that is allowed",
    "a call that is refused: its argument would run more than one program",
    "an operator approves a dangerous call",
    "the dangerous call, which waited for that",
    "a tool whose server changed its definition is held back",
    "what changed in it",
    "the record of all that",
    "the proof that it is whole",
]


def test_everything_happens_once_and_nothing_is_left(shell: Shell, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    done = shell.run("demo", "--json", environ={"TMPDIR": str(scratch)})
    assert done.code == 0, done.err
    steps = done.document
    assert [one["title"] for one in steps] == STEPS
    assert all(one["ok"] for one in steps)
    said = {one["title"]: one["said"] for one in steps}
    assert "strict sandbox" in said[STEPS[1]]
    assert '+  "description": "Count the notes. Before using this tool' in said[STEPS[5]]
    assert "approval.used" in said[STEPS[6]]
    assert "gwt_" not in done.out
    assert list(scratch.iterdir()) == []


def test_a_person_may_approve_in_a_second_terminal(shell: Shell, tmp_path: Path) -> None:
    """The command that is shown works as it is shown: at a terminal it needs no key."""
    second = []

    def approve(shown: str) -> None:
        (typed,) = re.findall(r"^ +(.* approve ap_.*)$", shown, re.MULTILINE)
        second.append(at_a_terminal(typed.strip()))

    shown = shell.run_at_terminal("demo", after="mgp.toml\r\n", then=approve)
    assert shown.code == 0, shown.out
    assert "waits for you. In a second terminal" in shown.out
    assert len(second) == 1
    assert "an operator approves" not in shown.out
    assert "the dangerous call, which waited for that" in shown.out
    assert "state.db" not in shown.out


def test_its_server_is_a_server_by_itself(tmp_path: Path) -> None:
    says = tmp_path / "says"
    says.write_text("Counts.")
    asked = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n{"jsonrpc":"2.0","method":"x"}\n'
    done = subprocess.run(
        [sys.executable, "-m", "gatewright.cli.demo_server", str(says)],
        input=asked + '{"jsonrpc":"2.0","id":2,"method":"nothing"}\n',
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=True,
        env=dict(os.environ),
    )
    first, second = done.stdout.splitlines()
    assert '"description": "Counts."' in first
    assert "-32601" in second
