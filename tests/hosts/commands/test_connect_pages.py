"""The pages about hosts: their commands run, and what they show is what the commands print."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from gatewright.hosts.host_table import HOSTS, user_files
from gatewright.servers.names import BUDGET
from tests.cli.shell import Shell

PAGES = Path(__file__).resolve().parents[3] / "docs" / "hosts"
SHOWN_PROGRAM = "/usr/local/bin/gatewright"
PROGRAM = str(Path(sys.executable).with_name("gatewright"))

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[tuple[str, str]]:
    return _BLOCK.findall((PAGES / f"{page}.md").read_text())


def ran(shell: Shell, line: str) -> str:
    program, command, *rest = shlex.split(line)
    assert program == "gatewright"
    asks = command in {"connect", "disconnect"} and "--print" not in rest
    done = shell.run(command, *rest, *(["--yes"] if asks else []))
    assert done.code == 0, (line, done.err)
    return done.out


def test_every_host_has_a_page_and_every_page_is_in_the_index() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {"README", *HOSTS}
    index = (PAGES / "README.md").read_text()
    assert re.findall(r"\]\(([a-z-]+)\.md\)", index) == list(HOSTS)


@pytest.mark.parametrize("page", ["README", *HOSTS])
def test_the_commands_of_a_page_run_and_leave_nothing(shell: Shell, page: str) -> None:
    del shell.environment["GATEWRIGHT_STATE"]
    printed = ""
    for kind, text in blocks(page):
        if kind == "sh":
            printed = [ran(shell, line) for line in text.splitlines()][-1]
        else:
            assert text.replace(SHOWN_PROGRAM, PROGRAM) == printed
    left = {path.relative_to(shell.folder).parts[0] for path in shell.folder.rglob("*")}
    assert left <= {".local"}, "our own state is all that is left"


@pytest.mark.parametrize("page", HOSTS)
def test_a_page_says_where_the_file_is_and_how_long_a_name_may_be(page: str) -> None:
    host, text = HOSTS[page], (PAGES / f"{page}.md").read_text()
    assert f"`{host.container[0]}`" in text
    assert f"file of a project | {f'`{host.project}`' if host.project else 'none'}" in text
    most = host.name_chars - host.joint_chars - BUDGET
    assert f"`--name` may have up to {most} characters" in text
    files = user_files(host, home="/home/ada", environ={}, platform="linux")
    assert f"`{str(files[0]).replace('/home/ada', '~')}`" in text
