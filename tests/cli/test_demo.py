"""The tour: every step is a real command on a real gateway, and what it shows is what it says."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gatewright.cli import demo
from gatewright.cli.errors import CliError
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


class Standing(demo.Tour):
    """A tour whose gateway is a script."""

    script = ""

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-c", self.script]


def test_a_gateway_that_writes_a_lot_is_not_held_up(tmp_path: Path) -> None:
    tour = Standing(tmp_path, lambda step: None)
    tour.script = "import sys, time; sys.stderr.write('x' * 10**6); print('ready', flush=True); time.sleep(60)"
    with demo._gateway(tour):
        assert (tmp_path / "serve.err").stat().st_size == 10**6


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("import time; time.sleep(60)", "not ready within"),
        ("import sys; sys.exit('no port')", "no port"),
        ("print('something else', flush=True); import time; time.sleep(60)", "did not start"),
    ],
)
def test_a_gateway_that_does_not_get_ready_ends_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    # Only the first waits that long, and for nothing.
    monkeypatch.setattr(demo, "_PATIENCE_S", 1.0 if "not ready" in said else DEADLINE_S)
    tour = Standing(tmp_path, lambda step: None)
    tour.script = script
    with pytest.raises(CliError, match=said), demo._gateway(tour):
        pass


def test_a_step_that_does_not_end_in_time_is_one_that_went_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tour = demo.Tour(tmp_path, lambda _: None)
    monkeypatch.setattr(demo, "_PATIENCE_S", 0.05)
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(demo.Tour, "command", lambda *_: slow)
    monkeypatch.setattr(demo.Tour, "operator", "token")
    tour.step("one", ("x",), wants="")
    demo._held(tour, wait=False)
    assert [(one.ok, one.said) for one in tour.steps] == [(False, "it did not end in time")] * 3


@pytest.mark.parametrize("name", ["plain", 'a"b\\c', "\U0001f4c1 folder", "\x7f\x01é"])
def test_any_path_is_a_string_of_toml(name: str) -> None:
    assert tomllib.loads(f"a = {demo._quoted(name)}") == {"a": name}
