"""docs/identity.md: what it says to type runs, and its files load."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gatewright.config.build import build
from gatewright.config.documents import parse
from tests import forked_path
from tests.behaviour.gateway import ROOT

PAGE = (ROOT / "docs" / "identity.md").read_text()
COMMANDS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FILES = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
DEADLINE_S = 120.0


def test_the_commands_of_the_page_run_in_their_order(tmp_path: Path) -> None:
    """`jq` is what a reader has; where it is missing, Python reads the same list."""
    (tmp_path / "mgp.toml").write_text(f'[storage]\npath = "{tmp_path}/state"\n')
    text = "\n".join(COMMANDS)
    if shutil.which("jq") is None:
        picked = "import json,sys; print([k['id'] for k in json.load(sys.stdin) if k['name']=='build-bot'][0])"
        text = re.sub(r"jq -r '[^']*'", f'python -c "{picked}"', text)
    done = subprocess.run(
        [
            "bash",
            "-e",
            "-o",
            "pipefail",
            "-c",
            f"gatewright config trust\n{text}gatewright key list --json\n",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": forked_path.path(), "HOME": str(tmp_path)},
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "is not shown again" not in done.stdout
    assert '"allowed_resources":["/srv/reports/**","https://data.example/**"]' in done.stdout


@pytest.mark.parametrize("text", FILES)
def test_the_files_of_the_page_load_without_a_warning(text: str, tmp_path: Path) -> None:
    found = build([parse(text, tmp_path / "mgp.toml")], {}, tmp_path)
    assert found.warnings == ()
    assert found.agents
