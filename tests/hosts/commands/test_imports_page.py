"""docs/import.md: its inputs become exactly what stands below them, and its commands run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gatewright.hosts.host_table import HOSTS
from tests import forked_path
from tests.cli.shell import DEADLINE_S, Shell
from tests.hosts.more_samples import MORE_SAMPLES

PAGE = (Path(__file__).parents[3] / "docs" / "import.md").read_text()
PAIRS = re.findall(r"^```json\n(.*?)^```$.*?^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CODE = re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
MCP = '{"mcpServers": {"files": {"command": "x"}, "other": {"command": "y"}}}'


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_an_input_of_the_page_becomes_what_stands_below_it(shell: Shell, number: int) -> None:
    given, wanted = PAIRS[number]
    shell.write("input", given)
    done = shell.run("import", "input")
    assert done.code == (8 if "evil" in given else 0)
    assert (shell.folder / "mgp.toml").read_text() == wanted


def test_the_page_has_a_pair_for_each_kind_of_rule() -> None:
    assert len(PAIRS) == 4
    assert [kind for kind, _ in CODE] == ["sh", "python"]


@pytest.mark.parametrize(("kind", "text"), CODE)
def test_the_commands_of_the_page_run_where_there_is_something(
    shell: Shell, kind: str, text: str
) -> None:
    for host in ("claude-desktop", "cursor"):
        template = HOSTS[host].files["linux"][0]
        file = shell.folder / template.format(home=".", config=".config")
        file.parent.mkdir(parents=True)
        file.write_text(MCP)
    shell.write("mcp.json", MCP)
    shell.write("server.json", MORE_SAMPLES["server.json"].text)
    shell.write("other.yaml", MORE_SAMPLES["docker-profile"].text)
    command = ["bash", "-e", "-o", "pipefail", "-c"] if kind == "sh" else [sys.executable, "-c"]
    done = subprocess.run(
        [*command, text],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=shell.folder,
        env=shell.environ({"PATH": forked_path.path()}),
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if kind == "python":
        assert done.stdout == "files stdio mcpServers\nother stdio mcpServers\n"
