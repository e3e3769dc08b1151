"""`gatewright console`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.console.client import Visitor
from tests.console.running import DEMO, Console, running


def test_it_prints_a_url_that_opens_the_console(console: Console) -> None:
    said = console.command("console", "--no-open")
    assert said.returncode == 0
    assert Visitor(console).open(said.stdout.strip().partition("#")[2]).status == 200
    assert json.loads(console.command("console", "--no-open", "--json").stdout)["opened"] is False


def test_it_says_so_where_none_is_served(tmp_path: Path) -> None:
    with running(tmp_path, DEMO, "enabled = false") as found:
        said = found.command("console")
        assert said.returncode == 4
        assert "serves no console" in said.stderr


def test_where_keys_alone_prove_an_operator_it_takes_one(tmp_path: Path) -> None:
    with running(tmp_path, gateway='operators = "key"') as found:
        said = found.command("console", "--no-open")
        assert said.returncode == 6
        first = Visitor(found)
        first.open(found.sign_in_url.partition("#")[2])
        assert "local · viewer" in first.get("/inbox").text
