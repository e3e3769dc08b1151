"""The examples of rooms run as they stand, beside the gateway that their mgp.toml describes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.config import load
from tests.cli.gateways import EXAMPLES, Served, serving
from tests.cli.shell import DEADLINE_S, Shell

FOLDER = EXAMPLES / "rooms"
CONFIG = str(FOLDER / "mgp.toml")
SAYS = {
    "proposal": ("do not cover", "helper proposed", "ana got 5, helper got 5"),
    "expansion": ("helper may send mcp/proposal:*", "now it sees"),
    "mixed": ("ana: hello world, says ana", "monitor sees ['greet']", "helper may not call it"),
    "delegated": ("round 3: ana approved, 42", "without ana: 42", "waits for a person: pending"),
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, Served]]:
    """A gateway with the example, and an operator's key in the environment."""
    shell = Shell(Path(tmp_path_factory.mktemp("rooms")))
    shell.environment["PYTHON"] = sys.executable
    made = shell.run("key", "create", "root", "--operator", "--json").document
    shell.environment["OPERATOR"] = made["key"]
    with serving(shell, "--config", CONFIG) as gateway:
        shell.environment["ROOMS_URL"] = gateway.urls["rooms"]
        yield shell, gateway


def test_the_example_has_nothing_to_complain_about() -> None:
    assert load(Path(CONFIG), environ={}).warnings == ()


@pytest.mark.parametrize("name", sorted(SAYS))
def test_a_flow_runs_as_a_program(beside: tuple[Shell, Served], name: str) -> None:
    """MCPX-9.1-1, MCPX-9.2-1, MCPX-9.3-1, MCPX-9.4-1, MCPX-9.4-2."""
    shell, _ = beside
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        capture_output=True,
        text=True,
        cwd=shell.folder,
        env=shell.environ(),
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for words in SAYS[name]:
        assert words in done.stdout, done.stdout


def test_every_script_of_the_folder_is_run() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py")}
    assert scripts == {*SAYS, "table"}
