"""docs/cli.md: it names every command, and its blocks and examples run as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from gatewright.cli.errors import Exit
from tests import forked_path
from tests.cli.gateways import EXAMPLES, serving
from tests.cli.schemas import commands
from tests.cli.shell import DEADLINE_S, Shell

PAGE = (EXAMPLES.parent / "docs" / "cli.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ROWS = [
    (words.split(), example.replace("\\|", "|"))
    for words, example in re.findall(r"^\| `([a-z -]+)` \| .* \| `(.+)` \|$", PAGE, re.MULTILINE)
]
NOT_RUN = {
    "room who": "the example has no rooms; tests/rooms/commands/test_room.py",
    "room post": "the example has no rooms; tests/rooms/commands/test_room.py",
    "room propose": "the example has no rooms; tests/rooms/commands/test_room.py",
    "room fulfil": "the example has no rooms; tests/rooms/commands/test_room.py",
    "room watch": "the example has no rooms; tests/rooms/commands/test_room.py",
    "room join": "the example has no rooms; tests/rooms/commands/test_room.py",
    "room serve": "the example has no rooms; tests/rooms/commands/test_room.py",
    "room bridge": "the example has no rooms; tests/rooms/commands/test_room.py",
    "serve": "it runs beside all others",
    "server login": "it waits for a person",
    "deny": "it needs a request that waits, as tests/approvals/commands/test_approve.py makes one",
}


@pytest.fixture
def beside(shell: Shell) -> Iterator[Shell]:
    """A shell in a folder with the example, beside its gateway; `gatewright` is on the path."""
    for name in ("mgp.toml", "demo_server.py"):
        shutil.copy(EXAMPLES / name, shell.folder)
    shell.environment["PATH"] = forked_path.path()
    made = shell.run("key", "create", "root", "--operator", "--json").document
    with serving(shell):
        bot = shell.run("key", "create", "bot", "--json", "--key", made["key"]).document
        assert shell.run("tool", "list").code == 0
        record = shell.run("audit", "tail", "-n", "1", "--json").document
        shell.environment |= {"OPERATOR": made["key"], "KEY_ID": bot["id"]}
        shell.environment["TRACE"] = record["trace_id"]
        yield shell


def typed(shell: Shell, text: str) -> tuple[int, str]:
    """Run it as a person would type it; its exit code and what it wrote."""
    if "gatewright key " in text:  # a test sits at no terminal
        text = f'export GATEWRIGHT_KEY="$OPERATOR"\n{text.replace("KEY_ID", "$KEY_ID")}'
    text = text.replace(" TRACE", " $TRACE")
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", text],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=shell.folder,
        env=shell.environ(),
        timeout=DEADLINE_S,
        check=False,
    )
    return done.returncode, f"{text}\n{done.stdout}\n{done.stderr}"


def test_every_command_of_the_tree_is_on_the_page_and_no_other() -> None:
    assert {tuple(words) for words, _ in ROWS} == set(commands())
    assert len(ROWS) == len(commands())
    for words, example in ROWS:
        assert f"gatewright {' '.join(words)}" in example


def test_every_exit_code_is_on_the_page() -> None:
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert listed == {value for name, value in vars(Exit).items() if name.isupper()}


def test_the_blocks_run_in_their_order(beside: Shell) -> None:
    assert len(BLOCKS) >= 5
    for block in BLOCKS:
        code, said = typed(beside, block)
        assert code == 0, said


def test_the_example_of_each_command_runs(beside: Shell) -> None:
    for words, example in ROWS:
        if " ".join(words) not in NOT_RUN:
            code, said = typed(beside, example)
            assert code == 0, said
